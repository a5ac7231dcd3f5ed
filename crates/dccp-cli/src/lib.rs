//! Code shared by the project's command-line programs: quantities, errors in two lines, exit codes, Ctrl-C,
//! wrapped text, manual pages.

pub mod args;
pub mod exit;
mod failure;
pub mod interrupt;
pub mod law;
pub mod log;
pub mod package;
mod print;
pub mod quantity;

pub use failure::Failure;
pub use print::{print, wrapped};

use std::io::Write as _;
use std::process::ExitCode;

/// Returns the exit code of a program. Prints a failure to standard error.
pub fn end(outcome: Result<u8, Failure>) -> ExitCode {
    let code = outcome.unwrap_or_else(|failure| {
        // A closed or full standard error does not change the exit code.
        let _ = writeln!(std::io::stderr(), "{failure}");
        failure.code
    });
    ExitCode::from(code)
}
