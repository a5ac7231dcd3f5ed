//! Builds the library that `dccprun` loads into programs, `libdccp_preload.so`.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::shell::{self, command_line};

/// Builds the library in a folder of its own below `target`, and returns its path. No Rust crate may link it, so that cargo
/// does not build it for tests.
///
/// # Errors
/// Cargo fails.
pub fn build(target: &Path, is_release: bool) -> Result<PathBuf> {
    let target = target.join("preload");
    let mut cargo = command_line("cargo build --locked --quiet --package dccp-preload");
    if is_release {
        cargo.arg("--release");
    }
    cargo.env("CARGO_TARGET_DIR", &target);
    shell::output(&mut cargo)?;
    let folder = target.join(if is_release { "release" } else { "debug" });
    Ok(folder.join("libdccp_preload.so"))
}
