//! Some of the system calls that fail: `cargo xtask soak faults` has all.

use std::process::Command;

/// Whether this host has `strace` and lets it trace other processes.
fn can_trace() -> bool {
    let mut child = Command::new("sleep").arg("10").spawn().expect("sleep");
    let traced = Command::new("timeout")
        .args(["-s", "INT", "1", "strace", "-qq", "-o", "/dev/null", "-p"])
        .arg(child.id().to_string())
        .output();
    // The signal ends a tracer that works.
    let can_trace = traced.is_ok_and(|output| output.status.code() == Some(124));
    child.kill().expect("the process lives");
    child.wait().expect("the process has ended");
    can_trace
}

#[test]
fn transfer_survives_system_calls_that_fail() {
    if !can_trace() {
        println!(
            "SKIP transfer_survives_system_calls_that_fail: needs strace, and the right to trace"
        );
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_dccp-attack"))
        .args(["faults", "quick"])
        .output()
        .expect("the program runs");
    let table = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{table}\n{words}");
}
