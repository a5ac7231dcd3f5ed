//! Measures DCCP paths: throughput, delay, and where each loss happened.

mod args;
mod cmd;
mod control;
mod distribution;
mod flow;
mod host;
mod invite;
mod ledger;
mod limits;
mod meter;
mod output;
mod packet;
mod plan;
mod report;
mod result;
mod verdict;

use args::Command;
use dccp_cli::{end, exit, print};
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = args::parse(std::env::args_os().skip(1)).and_then(|command| match command {
        Command::Serve(serve) => cmd::serve::run(&serve),
        Command::Bulk(bulk) => cmd::bulk::run(&bulk),
        Command::Show(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    });
    end(outcome)
}
