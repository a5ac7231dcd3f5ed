//! The text of a policy file, and its mistakes in two lines each.

use super::{Logged, Policy, Rule, Service, Target};
use crate::users::UserSet;
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use dccp::Encapsulation;
use dccp::proto::cc::registry::Ccids;
use dccp::safeudp::{self, Profile};
use dccp_cli::Failure;
use dccp_cli::law;
use dccp_cli::quantity::{self, QuantityError};
use serde::Deserialize;
use std::io::Read as _;
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
    admins: Vec<String>,
    udp_port: u16,
    protocol_33: bool,
    threads: usize,
    busy_wait: String,
    connections: usize,
    memory: String,
    rate: Option<String>,
    metrics: Option<SocketAddr>,
    connection_metrics: bool,
    log: LogKey,
    rule: Vec<RuleKeys>,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            socket: "/run/dccpd/socket".into(),
            admin_socket: "/run/dccpd/admin".into(),
            admins: Vec::new(),
            udp_port: 6511,
            protocol_33: false,
            threads: 1,
            busy_wait: "0s".into(),
            connections: 4096,
            memory: "1GiB".into(),
            rate: None,
            metrics: None,
            connection_metrics: false,
            log: LogKey::Refusals,
            rule: Vec::new(),
        }
    }
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum LogKey {
    Nothing,
    Refusals,
    All,
}

/// Keys of a rule.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RuleKeys {
    users: Vec<String>,
    #[serde(default)]
    connect: Vec<String>,
    #[serde(default)]
    listen: Vec<String>,
    ccids: Option<Vec<CcidKey>>,
    laws: Option<Vec<String>>,
    law: Option<String>,
    safeudp: Option<ProfileKey>,
    over: Option<Vec<String>>,
    rate: Option<String>,
    connections: Option<u32>,
    ring_memory: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CcidKey {
    Number(u8),
    Name(String),
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum ProfileKey {
    Shared,
    Provisioned,
}

/// A mistake: where it is, what it is, and the next step.
struct Mistake {
    key: &'static str,
    problem: String,
    next: String,
}

fn mistake(key: &'static str, problem: impl Into<String>, next: impl Into<String>) -> Mistake {
    Mistake {
        key,
        problem: problem.into(),
        next: next.into(),
    }
}

/// Reads a policy file.
pub(super) fn read(path: &Path) -> Result<Policy, Failure> {
    let text = text(path).map_err(|problem| {
        let what = format!("{}: {problem}", path.display());
        Failure::usage(
            what,
            "name a policy file; docs/admin.md has one to begin with",
        )
    })?;
    parse(&text).map_err(|failure| Failure {
        what: format!("{}: {}", path.display(), failure.what),
        ..failure
    })
}

fn text(path: &Path) -> Result<String, String> {
    let unreadable = |e: std::io::Error| format!("cannot be read: {e}");
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    // A device has no length, and may have no end.
    let length = file.take(FILE_MAX + 1).read_to_string(&mut text);
    if length.map_err(unreadable)? as u64 > FILE_MAX {
        return Err("is longer than 1 MiB".into());
    }
    Ok(text)
}

fn parse(text: &str) -> Result<Policy, Failure> {
    let keys: Keys = toml::from_str(text).map_err(|e| syntax(text, &e))?;
    let policy = settle(&keys).map_err(|m| {
        let what = format!("{}: {}", m.key, m.problem);
        Failure::usage(what, m.next)
    })?;
    Ok(policy)
}

/// An error of the syntax, with its line.
fn syntax(text: &str, error: &toml::de::Error) -> Failure {
    let line = error.span().map(|span| {
        let before = text.get(..span.start).unwrap_or(text);
        before.matches('\n').count() + 1
    });
    let problem = error.message().replace('\n', " ");
    let what = match line {
        Some(line) => format!("line {line}: {problem}"),
        None => problem,
    };
    Failure::usage(
        what,
        "docs/admin.md lists the keys of the policy and their values",
    )
}

fn settle(keys: &Keys) -> Result<Policy, Mistake> {
    let administrators = UserSet::read(&keys.admins);
    let policy = Policy {
        service: service(keys)?,
        rate: rate("rate", keys.rate.as_deref())?,
        log: match keys.log {
            LogKey::Nothing => Logged::Nothing,
            LogKey::Refusals => Logged::Refusals,
            LogKey::All => Logged::All,
        },
        administrators: administrators.map_err(|(what, next)| mistake("admins", what, next))?,
        rules: Vec::new(),
    };
    let rules = keys.rule.iter().enumerate().map(|(index, keys)| {
        rule(keys, policy.service.protocol_33).map_err(|m| Mistake {
            problem: format!("{} (of rule {})", m.problem, index + 1),
            ..m
        })
    });
    let rules = rules.collect::<Result<_, _>>()?;
    Ok(Policy { rules, ..policy })
}

fn service(keys: &Keys) -> Result<Service, Mistake> {
    if keys.udp_port == 0 {
        return Err(mistake(
            "udp-port",
            "must not be 0",
            "write udp-port = 6511",
        ));
    }
    if !THREADS.contains(&keys.threads) {
        return Err(mistake(
            "threads",
            "must be from 1 to 256",
            "write threads = 1",
        ));
    }
    if keys.protocol_33 && keys.threads > 1 {
        let next = "write threads = 1, or leave protocol-33 out";
        return Err(mistake("threads", "protocol 33 has one thread only", next));
    }
    let busy_wait = quantity::time(&keys.busy_wait).map_err(|e| wrong("busy-wait", &e))?;
    if busy_wait > BUSY_WAIT_MAX {
        let next = "write busy-wait = \"50us\", or leave it out";
        return Err(mistake("busy-wait", "must be at most 10 s", next));
    }
    Ok(Service {
        socket: keys.socket.clone(),
        admin_socket: keys.admin_socket.clone(),
        udp_port: keys.udp_port,
        protocol_33: keys.protocol_33,
        threads: keys.threads,
        busy_wait,
        connections: keys.connections,
        memory: size("memory", &keys.memory)?,
        metrics: keys.metrics,
        connection_metrics: keys.connection_metrics,
    })
}

fn rule(keys: &RuleKeys, protocol_33: bool) -> Result<Rule, Mistake> {
    let users = UserSet::read(&keys.users);
    Ok(Rule {
        users: users.map_err(|(what, next)| mistake("users", what, next))?,
        connect: targets("connect", &keys.connect)?,
        listen: targets("listen", &keys.listen)?,
        ccids: ccids(keys.ccids.as_deref())?,
        laws: keys.laws.as_deref().map(laws).transpose()?,
        law: match &keys.law {
            Some(text) => Some(law::parse(text).map_err(|e| mistake("law", e.problem, e.next))?),
            None => None,
        },
        safeudp: match keys.safeudp {
            None | Some(ProfileKey::Shared) => Profile::Shared,
            Some(ProfileKey::Provisioned) => Profile::Provisioned,
        },
        over: over(keys.over.as_deref(), protocol_33)?,
        rate: rate("rate", keys.rate.as_deref())?,
        connections: keys.connections.unwrap_or(64),
        ring_memory: size("ring-memory", keys.ring_memory.as_deref().unwrap_or("4MiB"))?,
    })
}

fn targets(key: &'static str, texts: &[String]) -> Result<Vec<Target>, Mistake> {
    let next = format!("write for example {key} = [\"192.0.2.0/24 5001-5010\"]");
    let each = texts.iter().map(|text| text.parse());
    let all: Result<_, String> = each.collect();
    all.map_err(|problem| mistake(key, problem, next))
}

fn ccids(keys: Option<&[CcidKey]>) -> Result<Vec<u8>, Mistake> {
    let Some(keys) = keys else {
        return Ok(vec![2, 3]);
    };
    let known = Ccids::default();
    let next = "write for example ccids = [2, 3, \"safeudp\"]";
    let each = keys.iter().map(|key| {
        let number = match key {
            CcidKey::Number(number) => Some(*number),
            CcidKey::Name(name) => (name == "safeudp").then_some(safeudp::NUMBER),
        };
        let number = number.filter(|&ccid| known.find(ccid).is_some());
        number.ok_or_else(|| mistake("ccids", "there is no such congestion control", next))
    });
    let all: Vec<u8> = each.collect::<Result<_, _>>()?;
    if all.is_empty() {
        return Err(mistake("ccids", "must not be empty", next));
    }
    Ok(all)
}

fn laws(names: &[String]) -> Result<Vec<String>, Mistake> {
    let is_unknown = |name: &&String| !law::names().any(|known| known == name.as_str());
    if let Some(name) = names.iter().find(is_unknown) {
        let known: Vec<&str> = law::names().collect();
        let next = format!("choose of {}", known.join(", "));
        return Err(mistake(
            "laws",
            format!("{name}: there is no such law"),
            next,
        ));
    }
    Ok(names.to_vec())
}

fn over(words: Option<&[String]>, protocol_33: bool) -> Result<Vec<Encapsulation>, Mistake> {
    let Some(words) = words else {
        let ip = protocol_33.then_some(Encapsulation::Ip);
        return Ok([Encapsulation::Udp].into_iter().chain(ip).collect());
    };
    let next = "write over = [\"udp\"], or over = [\"udp\", \"ip\"]";
    let each = words.iter().map(|word| {
        let read = word.parse::<Encapsulation>();
        read.map_err(|_| mistake("over", format!("{word}: must be udp or ip"), next))
    });
    let all: Vec<Encapsulation> = each.collect::<Result<_, _>>()?;
    if all.contains(&Encapsulation::Ip) && !protocol_33 {
        let next = "write protocol-33 = true at the top of the file, or leave ip out";
        return Err(mistake(
            "over",
            "ip: the daemon does not have protocol 33",
            next,
        ));
    }
    Ok(all)
}

fn rate(key: &'static str, text: Option<&str>) -> Result<Option<u64>, Mistake> {
    let read = text.map(quantity::rate_bits_per_s).transpose();
    read.map_err(|e| wrong(key, &e))
}

fn size(key: &'static str, text: &str) -> Result<u64, Mistake> {
    quantity::size_bytes(text).map_err(|e| wrong(key, &e))
}

fn wrong(key: &'static str, error: &QuantityError) -> Mistake {
    mistake(key, error.to_string(), error.next_step())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_file_lets_nobody_do_anything() {
        let policy = parse("").unwrap();
        assert_eq!(policy.service.udp_port, 6511);
        assert!(policy.rule(0, 0).is_none());
    }

    #[test]
    fn first_rule_that_names_a_user_counts() {
        let text = r#"
            [[rule]]
            users = ["1000"]
            connect = ["192.0.2.0/24 5001-5010"]
            ccids = [3, "safeudp"]
            laws = ["cubic"]
            rate = "5M"
            [[rule]]
            users = ["*"]
            listen = ["*"]
        "#;
        let policy = parse(text).unwrap();
        let first = policy.rule(1000, 1000).unwrap();
        assert_eq!(first.ccids, [3, 248]);
        assert_eq!(first.rate, Some(5_000_000));
        assert!(first.listen.is_empty());
        assert!(first.permits_law("cubic:beta=0.8") && !first.permits_law("reno"));
        let second = policy.rule(1001, 1000).unwrap();
        assert_eq!(second.ccids, [2, 3]);
        assert!(second.connect.is_empty() && second.permits_law("reno"));
    }

    #[test]
    fn mistakes_have_two_lines() {
        for (text, what) in [
            ("prot = 1", "line 1: unknown field `prot`"),
            ("\nudp-port = 70000", "line 2: "),
            ("udp-port = 0", "udp-port: must not be 0"),
            ("busy-wait = \"11s\"", "busy-wait: must be at most 10 s"),
            ("rate = \"fast\"", "rate: "),
            (
                "admins = [\"no-such-user\"]",
                "admins: no-such-user: there is no such user",
            ),
            (
                "threads = 2\nprotocol-33 = true",
                "threads: protocol 33 has one thread only",
            ),
            ("[[rule]]\nlisten = []", "line 1: missing field `users`"),
            (
                "[[rule]]\nusers = []\nccids = [9]",
                "ccids: there is no such congestion control (of rule 1)",
            ),
            (
                "[[rule]]\nusers = []\nlaws = [\"x\"]",
                "laws: x: there is no such law",
            ),
            ("[[rule]]\nusers = []\nlaw = \"x\"", "law: "),
            (
                "[[rule]]\nusers = []\nover = [\"ip\"]",
                "over: ip: the daemon does not have protocol 33",
            ),
            (
                "[[rule]]\nusers = []\nconnect = [\"x\"]",
                "connect: x: is neither a network nor an address",
            ),
        ] {
            let failure = parse(text).unwrap_err();
            assert!(failure.what.starts_with(what), "{text}: {}", failure.what);
            assert_eq!(failure.code, 2);
            assert!(!failure.next.is_empty() && !failure.what.contains('\n'));
        }
    }
}
