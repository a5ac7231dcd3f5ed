//! Builds the library for C, `libdccp.so` and `libdccp.a`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell::{self, command_line};

/// Builds the library in a folder of its own below `target`. Returns the folder that has both files.
///
/// `rustix` then makes its system calls through the C library, which valgrind and the sanitizers understand. A feature of
/// the crate would change `rustix` in all builds of the workspace.
///
/// # Errors
/// Cargo fails.
pub fn build(target: &Path, is_release: bool) -> Result<PathBuf> {
    let target = target.join("libdccp");
    let mut cargo = command_line("cargo build --locked --quiet --package dccp-capi");
    if is_release {
        cargo.arg("--release");
    }
    cargo
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", "--cfg=rustix_use_libc")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    shell::output(&mut cargo)?;
    let folder = target.join(if is_release { "release" } else { "debug" });
    // Programs find the shared library by its SONAME.
    let link = folder.join("libdccp.so.0");
    if !link.exists() {
        std::os::unix::fs::symlink("libdccp.so", &link).context("libdccp.so.0")?;
    }
    Ok(folder)
}
