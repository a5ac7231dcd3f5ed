//! Shows and controls the DCCP of a host.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    dccpd::run_control()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: dccpctl does not run on this system\n next: use Linux");
    ExitCode::FAILURE
}
