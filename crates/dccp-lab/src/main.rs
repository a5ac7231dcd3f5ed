//! Runs network experiments from scenario files.

mod args;
mod cmd;
mod error;
mod interrupt;
mod progress;
mod store;

use args::Command;
use std::process::ExitCode;

fn main() -> ExitCode {
    let outcome = args::parse(std::env::args_os().skip(1)).and_then(|command| match command {
        Command::Check(file) => cmd::check::run(&file),
        Command::Run(run) => cmd::run::run(&run),
        Command::Show(text) => {
            cmd::print(&text)?;
            Ok(error::exit::DONE)
        }
    });
    let code = outcome.unwrap_or_else(|failure| {
        eprintln!("{failure}");
        failure.code
    });
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
