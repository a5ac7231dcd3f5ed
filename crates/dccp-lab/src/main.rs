//! Runs network experiments from scenario files.

mod args;
mod clock;
mod cmd;
mod folder;
mod progress;
mod store;

use args::{Command, Request};
use dccp_cli::{end, exit, print};
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = args::parse(std::env::args_os().skip(1)).and_then(|request| match request {
        Request::Do(Command::Check { file }) => cmd::check::run(&file),
        Request::Do(Command::Run(run)) => cmd::run::run(&run),
        Request::Do(Command::Reproduce(reproduce)) => cmd::reproduce::run(&reproduce),
        Request::Do(Command::Claims(claims)) => cmd::claims::run(&claims),
        Request::Do(Command::Recommend(recommend)) => cmd::recommend::run(&recommend),
        Request::Do(Command::Trace(trace)) => cmd::trace::run(&trace),
        Request::Do(Command::Report(report)) => cmd::report::run(&report),
        Request::Do(Command::Agree(agree)) => cmd::agree::run(&agree),
        Request::Do(Command::Clean) => cmd::clean::run(),
        Request::Print(text) => {
            print(&text)?;
            Ok(exit::DONE)
        }
    });
    end(outcome)
}
