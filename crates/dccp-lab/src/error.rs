//! Why the program ends without a result: two lines and an exit code.

use core::fmt;
use dccp_lab::scenario::ScenarioError;
use std::io;
use std::path::Path;

/// Exit codes (also in `dccplab --help`).
pub(crate) mod exit {
    /// Done.
    pub(crate) const DONE: i32 = 0;
    /// Could not run.
    pub(crate) const FAILED: i32 = 1;
    /// Wrong command line or scenario.
    pub(crate) const USAGE: i32 = 2;
    /// Ran, but some cells failed.
    pub(crate) const INCOMPLETE: i32 = 5;
    /// Interrupted; the finished cells are written.
    pub(crate) const INTERRUPTED: i32 = 130;
}

/// What happened, what to do, and how the program ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) code: i32,
    pub(crate) what: String,
    pub(crate) next: String,
}

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            code: exit::USAGE,
            what: what.into(),
            next: next.into(),
        }
    }

    /// It could not run.
    pub(crate) fn run(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            code: exit::FAILED,
            what: what.into(),
            next: next.into(),
        }
    }

    /// A file cannot be written.
    pub(crate) fn write(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        Self::run(
            format!("{path} cannot be written: {error}"),
            "check the folder and the space on the disk",
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n next: {}", self.what, self.next)
    }
}

impl std::error::Error for Failure {}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        let what = error.to_string();
        match error.line {
            Some(_) => Self::usage(what, error.next),
            None => Self::run(what, error.next),
        }
    }
}
