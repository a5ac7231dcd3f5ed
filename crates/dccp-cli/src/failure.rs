//! The failure of a program that ends without a result.

use crate::exit;
use core::fmt;
use std::io;
use std::path::Path;

/// The error that ends a program: two lines and an exit code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The exit code: one of [`exit`].
    pub code: u8,
    /// The problem: the first line.
    pub what: String,
    /// A hint for the user: the second line.
    pub next: String,
}

impl Failure {
    /// Creates a failure for a wrong command line, or for a wrong file that it names.
    pub fn usage(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(exit::USAGE, what, next)
    }

    /// Creates a failure for a program that could not run.
    pub fn run(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(exit::FAILED, what, next)
    }

    /// Creates a failure for a peer that refused.
    pub fn refused(what: impl Into<String>, next: impl Into<String>) -> Self {
        Self::new(exit::REFUSED, what, next)
    }

    /// Creates a failure for a file that cannot be written.
    pub fn write(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        Self::run(
            format!("{path} cannot be written: {error}"),
            "check the folder and the space on the disk",
        )
    }

    fn new(code: u8, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            next: next.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [what, next] = [&self.what, &self.next].map(|text| visible(text));
        write!(f, "error: {what}\n next: {next}")
    }
}

/// A text without what could act on a terminal: it may quote a peer, a file or a file's name.
fn visible(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() || c == '\n';
    text.chars()
        .map(|c| {
            if is_harmless(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect()
}

impl core::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_control_characters_do_not_act() {
        let failure = Failure::usage("a\u{1b}[2Jb: no\r such file", "name\na file");
        assert_eq!(
            failure.to_string(),
            "error: a\u{fffd}[2Jb: no\u{fffd} such file\n next: name\na file"
        );
    }

    #[test]
    fn a_failure_is_two_lines_and_an_exit_code() {
        let failure = Failure::usage("--rate 5x: no rate", "write 5M");
        assert_eq!(
            failure.to_string(),
            "error: --rate 5x: no rate\n next: write 5M"
        );
        assert_eq!(failure.code, 2);
        assert_eq!(Failure::run("", "").code, 1);
        assert_eq!(Failure::refused("", "").code, 4);
        let full = Failure::write(Path::new("a/b"), &io::Error::other("full"));
        assert_eq!(full.what, "a/b cannot be written: full");
        assert_eq!(full.code, 1);
    }
}
