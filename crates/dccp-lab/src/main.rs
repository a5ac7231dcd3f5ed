//! Runs network experiments from scenario files.

mod args;
mod clock;
mod cmd;
mod progress;
mod store;

use args::Command;
use dccp_cli::{end, exit, print};
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = args::parse(std::env::args_os().skip(1)).and_then(|command| match command {
        Command::Check(file) => cmd::check::run(&file),
        Command::Run(run) => cmd::run::run(&run),
        Command::Show(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    });
    end(outcome)
}
