//! Carries UDP between two hosts over DCCP, unchanged for the applications.

use std::process::ExitCode;

fn main() -> ExitCode {
    dccp_bridge::run()
}
