//! Measures DCCP paths: throughput, delay, and where each loss happened.

use std::process::ExitCode;

fn main() -> ExitCode {
    dccpmon::run()
}
