//! Exit codes. Each program's `--help` lists the codes that it uses.

/// Done.
pub const DONE: u8 = 0;
/// Could not run.
pub const FAILED: u8 = 1;
/// Wrong command line or file.
pub const USAGE: u8 = 2;
/// It ran, but an assertion or the comparison with a baseline failed.
pub const ASSERTION: u8 = 3;
/// The peer refused.
pub const REFUSED: u8 = 4;
/// Ran, but the result is incomplete.
pub const INCOMPLETE: u8 = 5;
/// Interrupted. The finished parts of the result are complete.
pub const INTERRUPTED: u8 = 130;
