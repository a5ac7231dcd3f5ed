//! Why the program ends without a result: two lines and an exit code.

use core::fmt;

/// Exit codes (also in `dccpmon --help`).
pub(crate) mod exit {
    /// Done.
    pub(crate) const DONE: i32 = 0;
    /// Could not run.
    pub(crate) const FAILED: i32 = 1;
    /// Wrong command line.
    pub(crate) const USAGE: i32 = 2;
    /// The peer refused.
    pub(crate) const REFUSED: i32 = 4;
    /// Ran, but the result is incomplete.
    pub(crate) const INCOMPLETE: i32 = 5;
    /// Interrupted; the summary is complete.
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

    /// The peer does not want to.
    pub(crate) fn refused(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            code: exit::REFUSED,
            what: what.into(),
            next: next.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\n next: {}", self.what, self.next)
    }
}

impl std::error::Error for Failure {}

impl From<dccp::ConnectError> for Failure {
    fn from(e: dccp::ConnectError) -> Self {
        Self::run(e.to_string(), e.next_step())
    }
}

impl From<dccp::BindError> for Failure {
    fn from(e: dccp::BindError) -> Self {
        Self::run(e.to_string(), e.next_step())
    }
}
