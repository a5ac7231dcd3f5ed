//! The text of a policy file, and its mistakes in two lines each.

use super::{Logged, Policy, Rule, StartSettings, Target};
use crate::users::UserSet;
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use dccp::Encapsulation;
use dccp::proto::cc::registry::Ccids;
use dccp::safeudp::{self, Profile};
use dccp_cli::Failure;
use dccp_cli::args::hint_of_key;
use dccp_cli::law::{self, NamedLaw};
use dccp_cli::quantity::{self, QuantityError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io::{ErrorKind, Read as _};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The greatest length of a policy file in bytes.
const FILE_MAX: u64 = 1 << 20;
/// The longest time that the engine may wait busily.
const BUSY_WAIT_MAX: Duration = Duration::from_secs(10);
/// Threads of the engine.
const THREADS: RangeInclusive<usize> = 1..=256;

/// Keys of the file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Keys {
    socket: PathBuf,
    admin_socket: PathBuf,
    admins: Vec<Word>,
    udp_port: u16,
    over: Vec<Word>,
    threads: usize,
    busy_wait: Word,
    max_connections: usize,
    max_connections_per_address: usize,
    max_memory: Word,
    max_rate: Option<Word>,
    metrics: Option<Word>,
    connection_metrics: bool,
    log: Logged,
    rule: Vec<RuleKeys>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            socket: "/run/dccpd/socket".into(),
            admin_socket: "/run/dccpd/admin".into(),
            admins: Vec::new(),
            udp_port: 6511,
            over: vec!["udp".into()],
            threads: 1,
            busy_wait: "0s".into(),
            max_connections: 4096,
            max_connections_per_address: 1024,
            max_memory: "1GiB".into(),
            max_rate: None,
            metrics: None,
            connection_metrics: false,
            log: Logged::default(),
            rule: Vec::new(),
        }
    }
}

/// Keys of a rule.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RuleKeys {
    users: Vec<Word>,
    #[serde(default)]
    connect: Vec<Word>,
    #[serde(default)]
    listen: Vec<Word>,
    ccids: Option<Vec<Word>>,
    allowed_laws: Option<Vec<Word>>,
    default_law: Option<Word>,
    safeudp_profile: Option<Word>,
    over: Option<Vec<Word>>,
    max_rate: Option<Word>,
    max_connections: Option<u32>,
    max_ring_memory: Option<Word>,
}

/// A value that may be written as a text or as a whole number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "must be a text or a whole number")]
enum Word {
    Text(String),
    Number(u64),
}

impl From<&str> for Word {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// A mistake in the value of a key.
fn wrong(key: &str, problem: impl fmt::Display, next: impl Into<String>) -> Failure {
    Failure::usage(format!("{key}: {problem}"), next)
}

/// Adds a place to a mistake.
fn at(place: impl fmt::Display, failure: Failure) -> Failure {
    Failure {
        what: format!("{place}: {}", failure.what),
        ..failure
    }
}

/// Reads a policy file.
pub(super) fn read(path: &Path) -> Result<Policy, Failure> {
    let read = text(path).and_then(|text| parse(&text));
    read.map_err(|failure| at(path.display(), failure))
}

fn text(path: &Path) -> Result<String, Failure> {
    let unreadable = |e: std::io::Error| {
        let next = match e.kind() {
            ErrorKind::NotFound => {
                "begin with the example in /usr/share/doc/dccpd/examples, or name another file"
            }
            ErrorKind::PermissionDenied => {
                "let the user of dccpd read it, for example with chmod 644, and open its folder (chmod 755)"
            }
            _ => "check that this is the policy: a text file in UTF-8",
        };
        Failure::usage(format!("cannot be read: {e}"), next)
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // A device has no length, and may have no end.
    let length = file.take(FILE_MAX + 1).read_to_string(&mut text);
    if length.map_err(unreadable)? as u64 > FILE_MAX {
        let next = "check that this is the policy, or write fewer rules";
        return Err(Failure::usage("is longer than 1 MiB", next));
    }
    Ok(text)
}

fn parse(text: &str) -> Result<Policy, Failure> {
    let keys: Keys = toml::from_str(text).map_err(|e| syntax(text, &e))?;
    if keys.max_connections_per_address == 0 {
        return Err(wrong(
            "max-connections-per-address",
            "0: must be at least 1",
            "write max-connections-per-address = 1024, or leave it out",
        ));
    }
    let start = start(&keys)?;
    let rules = keys.rule.iter().enumerate().map(|(index, keys)| {
        let number = index + 1;
        rule(keys, &start.over).map_err(|failure| at(format!("rule {number}"), failure))
    });
    Ok(Policy {
        max_rate: rate("max-rate", keys.max_rate.as_ref())?,
        log: keys.log,
        max_connections_per_address: keys.max_connections_per_address,
        administrators: users("admins", &keys.admins)?,
        rules: rules.collect::<Result<_, _>>()?,
        start,
    })
}

/// An error of the syntax, with its line.
fn syntax(text: &str, error: &toml::de::Error) -> Failure {
    let line = error.span().map(|span| {
        let before = text.get(..span.start).unwrap_or(text);
        before.matches('\n').count() + 1
    });
    let failure = explain(error.message());
    match line {
        Some(line) => at(format!("line {line}"), failure),
        None => failure,
    }
}

fn explain(message: &str) -> Failure {
    let message = message.replace('\n', " ");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted[..] {
        [key, ref known @ ..] if is_unknown(&message) => {
            let is_top = known.contains(&"rule");
            let (what, next) = if is_top && is_key_of::<RuleKeys>(key) {
                (
                    "is a key of a rule",
                    "write it below a line [[rule]]".into(),
                )
            } else if !is_top && is_key_of::<Keys>(key) {
                (
                    "is no key of a rule",
                    "write it above the first line [[rule]]".into(),
                )
            } else {
                (
                    "there is no such key",
                    hint_of_key(key, known.iter().copied()),
                )
            };
            Failure::usage(format!("{key}: {what}"), next)
        }
        _ => Failure::usage(
            message,
            "the guide docs/admin.md lists the keys and their values",
        ),
    }
}

fn is_unknown(message: &str) -> bool {
    message.starts_with("unknown field")
}

/// Whether `key` is one of the keys that `T` has: serde names an unknown key before it looks at a value.
fn is_key_of<T: DeserializeOwned>(key: &str) -> bool {
    let mut table = toml::Table::new();
    table.insert(key.to_owned(), toml::Value::Boolean(true));
    let read = table.try_into::<T>();
    read.map_or_else(|e| !is_unknown(e.message()), |_| true)
}

fn start(keys: &Keys) -> Result<StartSettings, Failure> {
    check_socket("socket", &keys.socket)?;
    check_socket("admin-socket", &keys.admin_socket)?;
    if keys.socket == keys.admin_socket {
        let problem = "is the place of socket";
        return Err(wrong(
            "admin-socket",
            problem,
            "give each socket a path of its own",
        ));
    }
    if keys.udp_port == 0 {
        return Err(wrong(
            "udp-port",
            "0: must be from 1 to 65535",
            "write udp-port = 6511",
        ));
    }
    if !THREADS.contains(&keys.threads) {
        let problem = format!("{}: must be from 1 to 256", keys.threads);
        return Err(wrong("threads", problem, "write threads = 1"));
    }
    let over = over(&keys.over)?;
    if over.contains(&Encapsulation::Ip) && keys.threads > 1 {
        let next = "write threads = 1, or leave ip out of over";
        return Err(wrong("threads", "DCCP over IP has one thread only", next));
    }
    let busy_wait = quantity::time(&keys.busy_wait.to_string());
    let busy_wait = busy_wait.map_err(|e| quantity_error("busy-wait", &e))?;
    if busy_wait > BUSY_WAIT_MAX {
        let problem = format!("{}: must be at most 10 s", keys.busy_wait);
        return Err(wrong(
            "busy-wait",
            problem,
            "write busy-wait = \"50us\", or leave it out",
        ));
    }
    let metrics = keys.metrics.as_ref().map(|word| {
        word.to_string().parse().map_err(|_| {
            let problem = format!("{word}: must be an IP address and a port");
            wrong("metrics", problem, "write metrics = \"127.0.0.1:9651\"")
        })
    });
    Ok(StartSettings {
        socket: keys.socket.clone(),
        admin_socket: keys.admin_socket.clone(),
        udp_port: keys.udp_port,
        over,
        threads: keys.threads,
        busy_wait,
        max_connections: keys.max_connections,
        max_memory: size("max-memory", &keys.max_memory)?,
        metrics: metrics.transpose()?,
        connection_metrics: keys.connection_metrics,
    })
}

/// Checks that a path fits into the address of a Unix socket.
fn check_socket(key: &str, path: &Path) -> Result<(), Failure> {
    let fits = |path: &Path| SocketAddr::from_pathname(path).is_ok();
    if fits(path) && !path.as_os_str().is_empty() {
        return Ok(());
    }
    let problem = format!("{}: must have 1 to 107 bytes", path.display());
    Err(wrong(key, problem, "write a shorter path below /run"))
}

fn rule(keys: &RuleKeys, carriers: &[Encapsulation]) -> Result<Rule, Failure> {
    let ccids = ccids(keys.ccids.as_deref())?;
    let default_law = keys
        .default_law
        .as_ref()
        .map(|word| default_law(word, &ccids));
    Ok(Rule {
        users: users("users", &keys.users)?,
        connect: targets("connect", &keys.connect)?,
        listen: targets("listen", &keys.listen)?,
        allowed_laws: keys.allowed_laws.as_deref().map(laws).transpose()?,
        default_law: default_law.transpose()?,
        safeudp_profile: profile(keys.safeudp_profile.as_ref(), &ccids)?,
        over: rule_over(keys.over.as_deref(), carriers)?,
        max_rate: rate("max-rate", keys.max_rate.as_ref())?,
        max_connections: keys.max_connections.unwrap_or(64),
        max_ring_memory: match &keys.max_ring_memory {
            Some(word) => size("max-ring-memory", word)?,
            None => 4 << 20,
        },
        ccids,
    })
}

fn users(key: &str, words: &[Word]) -> Result<UserSet, Failure> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    UserSet::read(&words).map_err(|failure| at(key, failure))
}

fn targets(key: &str, words: &[Word]) -> Result<Vec<Target>, Failure> {
    let next = format!("write for example {key} = [\"192.0.2.0/24 5001-5010\"]");
    let each = words.iter().map(|word| word.to_string().parse());
    let all: Result<_, String> = each.collect();
    all.map_err(|problem| wrong(key, problem, next))
}

fn ccids(words: Option<&[Word]>) -> Result<Vec<u8>, Failure> {
    let Some(words) = words else {
        return Ok(vec![2, 3]);
    };
    let known = Ccids::default();
    let next = "write for example ccids = [2, 3, \"safeudp\"]";
    let each = words.iter().map(|word| {
        let number = match word.to_string().as_str() {
            "safeudp" => Some(safeudp::NUMBER),
            text => text.parse().ok(),
        };
        let number = number.filter(|&ccid| known.find(ccid).is_some());
        number.ok_or_else(|| {
            let list: Vec<String> = known.iter().map(|c| c.number().to_string()).collect();
            let problem = format!("{word}: must be one of {}", list.join(", "));
            wrong("ccids", problem, next)
        })
    });
    let all: Vec<u8> = each.collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err(wrong("ccids", "must not be empty", next));
    }
    Ok(all)
}

/// A law is for CCID 2 only.
fn default_law(word: &Word, ccids: &[u8]) -> Result<NamedLaw, Failure> {
    let law = law::parse(&word.to_string());
    let law = law.map_err(|e| wrong("default-law", e.problem, e.next))?;
    if !ccids.contains(&2) {
        let problem = "no CCID of this rule has laws";
        return Err(wrong(
            "default-law",
            problem,
            "add 2 to ccids, or leave default-law out",
        ));
    }
    Ok(law)
}

fn laws(words: &[Word]) -> Result<Vec<String>, Failure> {
    let each = words.iter().map(|word| {
        let text = word.to_string();
        let law = law::parse(&text);
        law.map_err(|e| wrong("allowed-laws", e.problem, e.next))?;
        Ok(text)
    });
    each.collect()
}

fn profile(word: Option<&Word>, ccids: &[u8]) -> Result<Profile, Failure> {
    const KEY: &str = "safeudp-profile";
    let Some(word) = word else {
        return Ok(Profile::Shared);
    };
    if !ccids.contains(&safeudp::NUMBER) {
        let next = "add \"safeudp\" to ccids, or leave safeudp-profile out";
        return Err(wrong(KEY, "this rule does not have CCID 248", next));
    }
    match word.to_string().as_str() {
        "shared" => Ok(Profile::Shared),
        "provisioned" => Ok(Profile::Provisioned),
        _ => {
            let problem = format!("{word}: must be shared or provisioned");
            Err(wrong(KEY, problem, "leave it out to use shared"))
        }
    }
}

fn over(words: &[Word]) -> Result<Vec<Encapsulation>, Failure> {
    let next = "write over = [\"udp\"], or over = [\"udp\", \"ip\"]";
    let each = words.iter().map(|word| {
        let read = word.to_string().parse();
        read.map_err(|_| wrong("over", format!("{word}: must be udp or ip"), next))
    });
    let all: Vec<Encapsulation> = each.collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err(wrong("over", "must not be empty", next));
    }
    Ok(all)
}

/// The carriers of a rule: all of the daemon, or some of them.
fn rule_over(
    words: Option<&[Word]>,
    carriers: &[Encapsulation],
) -> Result<Vec<Encapsulation>, Failure> {
    let Some(words) = words else {
        return Ok(carriers.to_vec());
    };
    let all = over(words)?;
    match all.iter().find(|carrier| !carriers.contains(carrier)) {
        Some(missing) => {
            let problem = format!("{missing}: the key over at the top does not have it");
            Err(wrong("over", problem, "add it there, or leave it out here"))
        }
        None => Ok(all),
    }
}

fn rate(key: &str, word: Option<&Word>) -> Result<Option<u64>, Failure> {
    let read = word.map(|word| quantity::rate_bits_per_s(&word.to_string()));
    read.transpose().map_err(|e| quantity_error(key, &e))
}

fn size(key: &str, word: &Word) -> Result<u64, Failure> {
    quantity::size_bytes(&word.to_string()).map_err(|e| quantity_error(key, &e))
}

fn quantity_error(key: &str, error: &QuantityError) -> Failure {
    wrong(key, error, error.next_step())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_file_lets_users_do_nothing() {
        let policy = parse("").unwrap();
        assert_eq!(policy.start.udp_port, 6511);
        assert!(policy.rule(0, 0).is_none());
    }

    #[test]
    fn first_rule_that_names_a_user_counts() {
        let text = r#"
            [[rule]]
            users = [1000]
            connect = ["192.0.2.0/24 5001-5010"]
            ccids = [3, "safeudp"]
            allowed-laws = ["cubic"]
            max-rate = "5M"
            [[rule]]
            users = ["*"]
            listen = [5001]
            max-rate = 1000000
        "#;
        let policy = parse(text).unwrap();
        let first = policy.rule(1000, 1000).unwrap();
        assert_eq!(first.ccids, [3, 248]);
        assert_eq!(first.max_rate, Some(5_000_000));
        assert!(first.listen.is_empty());
        assert!(first.permits_law("cubic") && !first.permits_law("reno"));
        assert!(!first.permits_law("cubic:beta=0.8"));
        let second = policy.rule(1001, 1000).unwrap();
        assert_eq!(second.ccids, [2, 3]);
        assert_eq!(second.max_rate, Some(1_000_000));
        assert!(second.connect.is_empty() && second.permits_law("reno"));
        assert!(!second.permits_law("reno:flows=9"));
    }

    #[test]
    fn provisioned_profile_is_needed_only_with_its_ccid() {
        let rule = |keys: &str| parse(&format!("[[rule]]\nusers = []\n{keys}"));
        let with = "ccids = [\"safeudp\"]\nsafeudp-profile = \"provisioned\"";
        assert!(rule(with).unwrap().needs_provisioned());
        assert!(!rule("ccids = [\"safeudp\"]").unwrap().needs_provisioned());
    }

    #[test]
    fn mistakes_have_two_lines() {
        let rule = |keys: &str| format!("[[rule]]\nusers = []\n{keys}");
        for (text, what) in [
            (
                "max-rat = 1".to_owned(),
                "line 1: max-rat: there is no such key",
            ),
            ("\nudp-port = 70000".into(), "line 2: "),
            (
                "udp-port = 0".into(),
                "udp-port: 0: must be from 1 to 65535",
            ),
            (
                "busy-wait = \"11s\"".into(),
                "busy-wait: 11s: must be at most 10 s",
            ),
            ("max-rate = \"fast\"".into(), "max-rate: "),
            (
                "metrics = \"localhost:1\"".into(),
                "metrics: localhost:1: must be an IP",
            ),
            (
                "admins = [\"no-such\"]".into(),
                "admins: no-such: there is no such user",
            ),
            (
                "threads = 2\nover = [\"ip\"]".into(),
                "threads: DCCP over IP has one thread only",
            ),
            (
                "[[rule]]\nlisten = []".into(),
                "line 1: missing field `users`",
            ),
            (
                rule("ccids = [9]"),
                "rule 1: ccids: 9: must be one of 2, 3, 4, 248",
            ),
            (rule("allowed-laws = [\"x\"]"), "rule 1: allowed-laws: "),
            (rule("default-law = \"x\""), "rule 1: default-law: "),
            (
                rule("ccids = [3]\ndefault-law = \"cubic\""),
                "rule 1: default-law: no CCID",
            ),
            (
                rule("safeudp-profile = \"shared\""),
                "rule 1: safeudp-profile: this rule does",
            ),
            (
                rule("over = [\"ip\"]"),
                "rule 1: over: ip: the key over at the top",
            ),
            (
                rule("connect = [\"x\"]"),
                "rule 1: connect: x: is neither a network nor an address",
            ),
            (
                rule("metrics = \"127.0.0.1:1\""),
                "line 3: metrics: is no key of a rule",
            ),
            ("ccids = [2]".into(), "line 1: ccids: is a key of a rule"),
            (
                "socket = \"/a\"\nadmin-socket = \"/a\"".into(),
                "admin-socket: is the place of socket",
            ),
            ("socket = \"\"".into(), "socket: : must have 1 to 107 bytes"),
            (
                format!("admin-socket = \"/{}\"", "a".repeat(107)),
                "admin-socket: /aaa",
            ),
        ] {
            let failure = parse(&text).unwrap_err();
            assert!(failure.what.starts_with(what), "{text}: {}", failure.what);
            assert_eq!(failure.code, 2);
            assert!(!failure.next.is_empty() && !failure.what.contains('\n'));
        }
        assert_eq!(
            parse("max-rat = 1").unwrap_err().next,
            "did you mean max-rate?"
        );
    }
}
