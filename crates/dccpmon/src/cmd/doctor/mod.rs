//! `dccpmon doctor`: the settings of this host beside those that measurements need. Nothing is changed.

mod checks;
mod timer;

use checks::{Check, State, checks};
use clap::Args;
use core::fmt::Write as _;
use dccp::DEFAULT_UDP_PORT;
use dccp_cli::{Failure, exit, print};
use dccp_host::{Identity, Settings};
use serde::Serialize;
use std::net::UdpSocket;
use timer::Lateness;

/// Values of `doctor`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Doctor {
    /// One JSON document instead of text
    #[arg(short = 'J', long)]
    json: bool,
}

/// The state of this host.
struct Findings {
    host: Settings,
    /// How late a sleeping thread wakes.
    lateness: Lateness,
    /// The ports of `dccpmon serve`, and whether each is free.
    ports: Vec<(u16, bool)>,
}

/// The document of `--json`.
#[derive(Serialize, Debug)]
struct Document<'a> {
    schema: &'static str,
    program_version: &'static str,
    system: &'a str,
    checks: &'a [Check],
}

/// Prints the settings; gives the exit code.
///
/// # Errors
/// Standard output cannot be written.
pub(crate) fn run(asked: &Doctor) -> Result<u8, Failure> {
    let findings = Findings {
        host: Settings::read(),
        lateness: Lateness::measure(),
        ports: [DEFAULT_UDP_PORT, DEFAULT_UDP_PORT + 1]
            .map(|port| (port, UdpSocket::bind(("0.0.0.0", port)).is_ok()))
            .into(),
    };
    let system = Identity::read().system;
    let checks = checks(&findings);
    let text = if asked.json {
        json(&system, &checks)?
    } else {
        table(&system, &checks)
    };
    print(&text)?;
    Ok(exit::DONE)
}

fn json(system: &str, checks: &[Check]) -> Result<String, Failure> {
    let document = Document {
        schema: "dccpmon-doctor/1",
        program_version: env!("CARGO_PKG_VERSION"),
        system,
        checks,
    };
    let text = serde_json::to_string_pretty(&document);
    let text = text.map_err(|e| Failure::run(e.to_string(), "leave --json out"))?;
    Ok(text + "\n")
}

/// A line for each check, and two more for each that has a hint.
fn table(system: &str, checks: &[Check]) -> String {
    let mut text = format!("dccpmon doctor  {system}\n");
    let mut group = "";
    for check in checks {
        if check.group != group {
            group = check.group;
            let _ = writeln!(text, "\n{group}");
        }
        let value = check.value.as_deref().unwrap_or("-");
        let state = check.state.text();
        let name = &check.name;
        let _ = writeln!(text, "  {state:<7} {name:<29} {value}");
        if check.state == State::Hint {
            let (wanted, reason) = (&check.recommended, check.reason);
            let _ = writeln!(text, "          better: {wanted} ({reason})");
            let _ = writeln!(text, "          {}", check.command);
        }
    }
    let count = |state| checks.iter().filter(|check| check.state == state).count();
    let _ = writeln!(
        text,
        "\n{} ok, {} to improve, {} unknown; nothing was changed",
        count(State::Ok),
        count(State::Hint),
        count(State::Unknown)
    );
    text
}

#[cfg(test)]
mod tests;
