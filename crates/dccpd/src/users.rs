//! Users and groups of a policy, by name or number.

use core::fmt;
use core::ops::RangeInclusive;
use dccp_cli::Failure;
use nix::unistd::{Group, User};
use std::collections::BTreeSet;

/// A set of users. Names are looked up once, when the policy is read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct UserSet {
    /// As they were written.
    words: Vec<String>,
    has_all: bool,
    users: BTreeSet<u32>,
    groups: BTreeSet<u32>,
}

impl UserSet {
    /// Reads a list of words: `alice`, `1000`, `@video` (a group), `*` (all users).
    ///
    /// # Errors
    /// A word names no user.
    pub(crate) fn read(words: &[String]) -> Result<Self, Failure> {
        let mut set = Self {
            words: words.to_vec(),
            ..Self::default()
        };
        for word in words {
            if word == "*" {
                set.has_all = true;
            } else if let Some(name) = word.strip_prefix('@') {
                set.add_group(name)?;
            } else {
                let found = number_or(word, uid_of);
                let uid = found.ok_or_else(|| {
                    let problem = format!("{word}: there is no such user");
                    Failure::usage(problem, "write a user's name or number, @GROUP, or *")
                })?;
                set.users.insert(uid);
            }
        }
        Ok(set)
    }

    /// Adds a group: processes whose group it is, its members, and users of `/etc/passwd` whose first group it is. Without
    /// the last, such a user could take on another group for the moment.
    fn add_group(&mut self, name: &str) -> Result<(), Failure> {
        let group = match name.parse() {
            Ok(gid) => Group::from_gid(nix::unistd::Gid::from_raw(gid)),
            Err(_) => Group::from_name(name),
        };
        let Ok(Some(group)) = group else {
            let problem = format!("@{name}: there is no such group");
            let next = "write the name or number of a group after @";
            return Err(Failure::usage(problem, next));
        };
        let gid = group.gid.as_raw();
        self.groups.insert(gid);
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        self.users.extend(accounts.lines().filter_map(|line| {
            let mut fields = line.split(':').skip(2);
            let uid: u32 = fields.next()?.parse().ok()?;
            (fields.next()?.parse() == Ok(gid)).then_some(uid)
        }));
        for member in group.mem {
            if let Ok(Some(user)) = User::from_name(&member) {
                self.users.insert(user.uid.as_raw());
            }
        }
        Ok(())
    }

    /// Whether it has this user, or the user by this group.
    pub(crate) fn has(&self, uid: u32, gid: u32) -> bool {
        self.has_all || self.users.contains(&uid) || self.groups.contains(&gid)
    }
}

impl fmt::Display for UserSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.words.is_empty() {
            return f.write_str("no others");
        }
        f.write_str(&self.words.join(", "))
    }
}

/// The users who own subordinate user IDs (subuid(5)): each can have processes with thousands of user IDs, and still counts
/// once. The IDs that root hands out are users of their own.
#[derive(Clone, Default, Debug)]
pub(crate) struct Owners(Vec<(RangeInclusive<u32>, u32)>);

impl Owners {
    /// Reads `/etc/subuid`. A host without this file has no subordinate user IDs.
    pub(crate) fn read() -> Self {
        Self::parse(&std::fs::read_to_string("/etc/subuid").unwrap_or_default())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let line = |line: &str| {
            let mut fields = line.split(':');
            let owner = number_or(fields.next()?, uid_of)?;
            let first: u32 = fields.next()?.trim().parse().ok()?;
            let count: u32 = fields.next()?.trim().parse().ok()?;
            let last = first.checked_add(count.checked_sub(1)?)?;
            (owner != 0).then_some((first..=last, owner))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// The owner of a subordinate user ID, or else the user with this ID.
    pub(crate) fn of(&self, uid: u32) -> u32 {
        let owned = self.0.iter().find(|(range, _)| range.contains(&uid));
        owned.map_or(uid, |(_, owner)| *owner)
    }
}

/// The number of a user.
fn uid_of(name: &str) -> nix::Result<Option<u32>> {
    Ok(User::from_name(name)?.map(|user| user.uid.as_raw()))
}

/// Reads a number, or looks a name up.
fn number_or(word: &str, look_up: impl Fn(&str) -> nix::Result<Option<u32>>) -> Option<u32> {
    word.parse().ok().or_else(|| look_up(word).ok().flatten())
}

/// The name of a user, or the number where there is none.
pub(crate) fn name_of(uid: u32) -> String {
    match User::from_uid(nix::unistd::Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<UserSet, Failure> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        UserSet::read(&words)
    }

    #[test]
    fn users_are_named_or_numbered() {
        let set = read(&["root", "4242"]).unwrap();
        assert!(set.has(0, 77) && set.has(4242, 77) && !set.has(4243, 0));
        assert!(read(&["*"]).unwrap().has(5, 5));
        assert!(!read(&[]).unwrap().has(0, 0));
    }

    #[test]
    fn groups_count_for_processes_that_have_them() {
        let set = read(&["@root"]).unwrap();
        assert!(set.has(4242, 0) && !set.has(4242, 4242));
        // The first group of root.
        assert!(set.has(0, 4242));
        assert!(read(&["@0"]).unwrap().has(4242, 0));
    }

    #[test]
    fn subordinate_ids_belong_to_their_owner() {
        let text = "4242:100000:65536\nnobody-of-this-name:1:9\nroot:300000:65536\n\n4243:4294967295:9\n4244:5:0";
        let owners = Owners::parse(text);
        assert_eq!(
            [99_999, 100_000, 165_535].map(|uid| owners.of(uid)),
            [99_999, 4242, 4242]
        );
        assert_eq!(
            [165_536, 1, 300_000, 5].map(|uid| owners.of(uid)),
            [165_536, 1, 300_000, 5]
        );
        assert_eq!(owners.of(u32::MAX), u32::MAX);
    }

    #[test]
    fn unknown_name_is_an_error() {
        let failure = read(&["no-such-user-here"]).unwrap_err();
        assert_eq!(failure.what, "no-such-user-here: there is no such user");
        let failure = read(&["@no-such-group"]).unwrap_err();
        assert_eq!(failure.what, "@no-such-group: there is no such group");
    }
}
