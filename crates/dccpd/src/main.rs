//! DCCP for all programs of a host.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    dccpd::run_daemon()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: dccpd does not run on this system\n next: use Linux");
    ExitCode::FAILURE
}
