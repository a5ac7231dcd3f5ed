//! The program reports a promise that does not hold.

use std::process::Command;

#[test]
fn broken_promise_fails_the_program_and_shows_in_the_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_dccp-attack"))
        .arg("control")
        .output()
        .expect("the program runs");
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    let row = table.lines().last().unwrap_or_default();
    assert!(
        row.contains("| BROKEN: 1 forged ones delivered: at most 0 |"),
        "{table}"
    );
}
