//! Lines of the server's output.
//!
//! A pipe may have lost its reader, or the disk may be full. Then lines are lost, and the server goes on.

use std::io::Write as _;

/// Writes a line to standard output.
pub(super) fn log(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Writes a line about trouble to standard error.
pub(super) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "dccpmon: {line}");
}
