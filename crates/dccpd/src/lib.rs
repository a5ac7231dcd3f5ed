//! `dccpd`: DCCP for all programs of a host. `dccpctl`: shows and controls it.
//!
//! ```text
//! programs ── rings in shared memory ── dccpd: policy ── one engine ── UDP port 6511, protocol 33
//! dccpctl, snmpd, Prometheus ──────────────┘
//! ```
//!
//! `docs/admin.md` is the guide.

#![cfg(target_os = "linux")]

mod admin;
mod admission;
mod check;
mod cli;
mod ctl;
mod daemon;
mod metrics;
mod policy;
mod service;
mod trace;
mod users;

pub use cli::{control, daemon};

use cli::{ControlWords, DaemonCommand, DaemonWords, Parsed};
use dccp_cli::{Failure, end, exit, package, print};
use std::process::ExitCode;

/// Runs `dccpd` with the words of the command line.
#[must_use]
pub fn run_daemon() -> ExitCode {
    end(cli::parse(std::env::args_os().skip(1)).and_then(perform))
}

/// Runs `dccpctl` with the words of the command line.
#[must_use]
pub fn run_control() -> ExitCode {
    let parsed = cli::parse::<ControlWords>(std::env::args_os().skip(1));
    end(parsed.and_then(|parsed| match parsed {
        Parsed::Show(text) => show(&text),
        Parsed::Command(words) => ctl::perform(&words.admin_socket, &words.command),
    }))
}

fn perform(parsed: Parsed<DaemonWords>) -> Result<u8, Failure> {
    match parsed {
        Parsed::Show(text) => show(&text),
        Parsed::Command(words) => match words.command {
            None => service::run(&words.policy),
            Some(DaemonCommand::Check { file }) => check::run(&file),
            Some(DaemonCommand::Man { folder }) => package::man(daemon(), &folder),
            Some(DaemonCommand::Completions { shell }) => package::completions(daemon(), shell),
        },
    }
}

fn show(text: &str) -> Result<u8, Failure> {
    print(text)?;
    Ok(exit::DONE)
}
