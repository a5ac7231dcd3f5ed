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
mod transport;
mod wire;

use cli::Command;
pub use cli::command;
use dccp_cli::{end, exit, print};
use std::process::ExitCode;

/// Runs the program with the words of the command line.
#[must_use]
pub fn run() -> ExitCode {
    let outcome = cli::parse(std::env::args_os().skip(1)).and_then(|command| match command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Bulk(bulk) => cmd::bulk::run(&bulk),
        Command::Man(folder) => cmd::man::run(&folder),
        Command::Completions(shell) => cmd::completions::run(shell),
        Command::Compare(compare) => cmd::compare::run(&compare),
        Command::Export(export) => cmd::export::run(&export),
        Command::Ping(ping) => cmd::ping::run(&ping),
        Command::Doctor(doctor) => cmd::doctor::run(&doctor),
        Command::Monitor(monitor) => cmd::monitor::run(&monitor),
        Command::Rr(rr) => cmd::rr::run(&rr),
        Command::Send(send) => cmd::send::run(&send),
        Command::Recv(recv) => cmd::recv::run(&recv),
        Command::Show(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    });
    end(outcome)
}
