//! Builds the daemon `dccpd` for tests of other crates.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::{self, command_line};

/// The variable that names a daemon that is built already, as `cargo xtask test` has it.
pub const BUILT: &str = "USRDCCP_DCCPD";

/// Builds the daemon in a folder of its own below `target`, and returns its path. Cargo builds programs only for the tests of
/// their own crate.
///
/// # Errors
/// Cargo fails.
pub fn build(target: &Path) -> Result<PathBuf> {
    if let Some(built) = std::env::var_os(BUILT) {
        return Ok(built.into());
    }
    let target = target.join("daemon");
    let mut cargo = command_line("cargo build --locked --quiet --package dccpd --bin dccpd");
    cargo.env("CARGO_TARGET_DIR", &target);
    shell::output(&mut cargo)?;
    Ok(target.join("debug/dccpd"))
}
