//! Carries UDP between two hosts over DCCP, unchanged for the applications.
//!
//! `dccp-bridge connect` takes datagrams of local programs and sends each flow over a DCCP connection of its own.
//! `dccp-bridge listen` on the other host hands them to the program that they are for. `docs/bridge.md` is the guide.

#![cfg(unix)]

mod bridge;
mod cli;
mod context;
mod files;
mod flow;
mod limits;
mod link;
mod oversize;
mod pressure;
mod publish;
mod rate;
mod udp;

use cli::Command;
pub use cli::command;
use dccp_cli::{Failure, end, exit, package, print};
use std::process::ExitCode;

/// Runs the program with the words of the command line.
#[must_use]
pub fn run() -> ExitCode {
    end(cli::parse(std::env::args_os().skip(1)).and_then(perform))
}

/// Does what a command line requests. Returns the exit code.
fn perform(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Carry(plan) => bridge::run(&plan),
        Command::Man(folder) => package::man(cli::command(), &folder),
        Command::Completions(shell) => package::completions(cli::command(), shell),
        Command::Show(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    }
}
