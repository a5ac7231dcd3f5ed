//! `dccpd check`: reads a policy, and shows what it says.

use crate::policy::{Policy, Rule};
use core::fmt::Write as _;
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
    let mut text = format!("{} is valid\n", path.display());
    // Writing to a text cannot fail.
    let _ = writeln!(text, "all connections together: {}", rate(policy.rate));
    for (index, rule) in policy.rules.iter().enumerate() {
        let _ = writeln!(text, "rule {}: {}", index + 1, describe(rule));
    }
    if policy.rules.is_empty() {
        text.push_str("there is no rule: nobody may connect or listen\n");
    }
    text
}

fn describe(rule: &Rule) -> String {
    let list = |targets: &[crate::policy::Target]| {
        let all: Vec<String> = targets.iter().map(ToString::to_string).collect();
        if all.is_empty() {
            "nowhere".to_owned()
        } else {
            all.join(", ")
        }
    };
    let ccids: Vec<String> = rule.ccids.iter().map(u8::to_string).collect();
    format!(
        "connect to {}; listen at {}; CCID {}; {} connections; {}",
        list(&rule.connect),
        list(&rule.listen),
        ccids.join(", "),
        rule.connections,
        rate(rule.rate)
    )
}

fn rate(cap: Option<u64>) -> String {
    match cap {
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        Some(bits) => format!("at most {}", show::rate(bits as f64)),
        None => "no cap".into(),
    }
}
