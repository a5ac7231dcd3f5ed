//! Measures DCCP paths: throughput, delay, and where each loss happened.

mod cli;
mod cmd;
mod host;
mod invite;
mod limits;
mod load;
mod meter;
mod output;
mod plan;
mod result;
pub mod schema;
mod serve;
mod session;
mod third;
mod transport;
mod wire;

use cli::Command;
pub use cli::command;
use cli::udpmon::{Program, Translation};
use dccp_cli::{Failure, end, exit, package, print};
use std::ffi::OsString;
use std::process::ExitCode;
use third::process;

/// Runs the program with the words of the command line.
#[must_use]
pub fn run() -> ExitCode {
    let mut words = std::env::args_os().peekable();
    let name = words.next().unwrap_or_default();
    if words.peek().is_some_and(|word| word == process::WORD) {
        return end(process::run());
    }
    end(match Program::of(&name) {
        Some(program) => program.translate(words).and_then(|t| run_translated(&t)),
        None => cli::parse(words).and_then(perform),
    })
}

/// Runs the command lines that stand for one of `UDPmon`, until one does not succeed.
fn run_translated(translation: &Translation) -> Result<u8, Failure> {
    for line in &translation.lines {
        if translation.is_explained {
            print(&format!("dccpmon {}\n", line.join(" ")))?;
            continue;
        }
        let code = cli::parse(line.iter().map(OsString::from)).and_then(perform)?;
        if code != exit::DONE {
            return Ok(code);
        }
    }
    Ok(exit::DONE)
}

/// Does what a command line asks for; gives the exit code.
fn perform(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Bulk(bulk) => cmd::bulk::run(&bulk),
        Command::Third(third) => third::client::run(&third),
        Command::Sweep(sweep) => sweep.run(),
        Command::Man(folder) => package::man(cli::command(), &folder),
        Command::Completions(shell) => package::completions(cli::command(), shell),
        Command::Compare(compare) => cmd::compare::run(&compare),
        Command::Export(export) => cmd::export::run(&export),
        Command::Ping(ping) => cmd::ping::run(&ping),
        Command::Doctor(doctor) => cmd::doctor::run(&doctor),
        Command::Monitor(monitor) => cmd::monitor::run(&monitor),
        Command::Rr(rr) => cmd::rr::run(&rr),
        Command::Media(media) => cmd::media::run(&media),
        Command::Send(send) => cmd::send::run(&send),
        Command::Recv(recv) => cmd::recv::run(&recv),
        Command::Show(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    }
}
