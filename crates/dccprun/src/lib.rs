//! Runs programs written for the Linux kernel's DCCP unchanged, on kernels without it.
//!
//! The program is a child of this process. A preloaded library makes its DCCP sockets Unix sockets, whose other ends are
//! here, before the sockets of the crate `dccp`. `docs/old-programs.md` is the guide and the design.

#![cfg(target_os = "linux")]

mod child;
mod cli;
mod descent;
mod host;
mod program;
mod unix;

use cli::Command;
pub use cli::command;
use dccp_cli::{Failure, end, exit, package, print};
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit code of `dccprun`'s own failures, as `env` has it. Codes from 126 on say that the program could not be run.
pub(crate) const OWN_FAILURE: u8 = 125;

/// Runs the program with the words of the command line.
#[must_use]
pub fn run() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    end(match words.split_first() {
        Some((first, rest)) if first == child::START => child::start(rest),
        _ => cli::parse(words).and_then(perform),
    })
}

/// Does what a command line requests. Returns the exit code.
fn perform(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Run(plan) => child::run(&plan),
        Command::Man(folder) => package::man(cli::command(), &folder),
        Command::Completions(shell) => package::completions(cli::command(), shell),
        Command::Show(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    }
}

/// A failure of `dccprun` itself.
pub(crate) fn failure(what: impl Into<String>, next: impl Into<String>) -> Failure {
    Failure {
        code: OWN_FAILURE,
        ..Failure::run(what, next)
    }
}
