//! Shared by `xtask`, `dccp-testbed` and tests: runs programs, installs packages, counts instructions.
//!
//! It depends on no other crate of the project, so that `cargo xtask tidy` compiles no protocol.

pub mod daemon;
pub mod instructions;
#[cfg(unix)]
pub mod libdccp;
pub mod openmetrics;
pub mod packages;
pub mod preload;
pub mod python;
pub mod rerun;
pub mod shell;
mod stats;
mod tally;

pub use stats::median;
pub use tally::Tally;
