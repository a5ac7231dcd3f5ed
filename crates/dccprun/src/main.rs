//! Runs programs written for the Linux kernel's DCCP unchanged, on kernels without it.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    dccprun::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: dccprun does not run on this system\n next: use Linux");
    ExitCode::from(125)
}
