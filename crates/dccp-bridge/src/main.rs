//! Carries UDP between two hosts over DCCP, unchanged for the applications.

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    dccp_bridge::run()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("error: dccp-bridge does not run on this system\n next: use Linux or another Unix");
    ExitCode::FAILURE
}
