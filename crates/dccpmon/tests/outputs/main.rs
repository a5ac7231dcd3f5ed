//! The outputs of the real program.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::path::{Path, PathBuf};

mod checks;
mod errors;
mod formats;
mod iperf;
#[cfg(target_os = "linux")]
mod live;
#[path = "../bulk/support.rs"]
#[expect(dead_code, reason = "tests/bulk uses the rest")]
mod support;

/// An empty folder of one test.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It exists only after an earlier run.
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}
