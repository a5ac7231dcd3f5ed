//! `dccpd check`: reads a policy, and shows what it says.

use crate::policy::{Policy, Rule, Target};
use crate::users::UserSet;
use core::fmt::Display;
use dccp::safeudp::Profile;
use dccp_cli::quantity::show;
use dccp_cli::{Failure, exit, print};
use std::path::Path;

/// Checks a policy file.
pub(crate) fn run(path: &Path) -> Result<u8, Failure> {
    let policy = Policy::read(path)?;
    print(&summary(path, &policy))?;
    Ok(exit::DONE)
}

fn summary(path: &Path, policy: &Policy) -> String {
    let mut lines = vec![
        format!("{} is valid", path.display()),
        format!("all connections: {}", rate(policy.max_rate)),
        format!(
            "administrators: root, the user of dccpd, {}",
            policy.administrators
        ),
    ];
    for (index, rule) in policy.rules.iter().enumerate() {
        let users = if rule.users == UserSet::default() {
            "nobody".to_owned()
        } else {
            format!("users {}", rule.users)
        };
        lines.push(format!("rule {}: {users}", index + 1));
        lines.extend(describe(rule).map(|line| format!("  {line}")));
    }
    if policy.rules.is_empty() {
        lines.push("there is no rule: no user may connect or listen".into());
    }
    lines.join("\n") + "\n"
}

fn describe(rule: &Rule) -> [String; 6] {
    let laws = rule.allowed_laws.as_ref();
    let laws = laws.map_or_else(
        || "laws without options".to_owned(),
        |laws| list(laws, "no law"),
    );
    let default_law = rule.default_law.as_ref();
    let default_law = default_law.map_or_else(|| "reno".to_owned(), ToString::to_string);
    let profile = match rule.profile() {
        Profile::Shared => "",
        Profile::Provisioned => "; SafeUDP on a provisioned network",
    };
    [
        format!("connect to {}", targets(&rule.connect)),
        format!("listen at {}", targets(&rule.listen)),
        format!("over {}", list(&rule.over, "nothing")),
        format!("CCID {}{profile}", list(&rule.ccids, "none")),
        format!("{laws}; {default_law} where programs choose none"),
        format!(
            "each user: {} connections, {} for a ring, {}",
            rule.max_connections,
            show::bytes(rule.max_ring_memory),
            rate(rule.max_rate)
        ),
    ]
}

fn targets(targets: &[Target]) -> String {
    list(targets, "nowhere")
}

fn list<T: Display>(items: &[T], none: &str) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    if texts.is_empty() {
        none.to_owned()
    } else {
        texts.join(", ")
    }
}

fn rate(cap: Option<u64>) -> String {
    match cap {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        Some(bits) => format!("at most {}", show::rate(bits as f64)),
        None => "no cap".into(),
    }
}
