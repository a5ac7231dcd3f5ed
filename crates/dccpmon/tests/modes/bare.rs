//! The program on a host whose /etc and /proc are empty and whose file systems cannot be written.

use crate::support::PROGRAM;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

/// Lets the network work, takes the files away, and runs the program.
const ENTER: &str = "ip link set lo up
mount -o remount,bind,ro /
mount -t tmpfs -o ro none /etc
mount -t tmpfs -o ro none /proc
exec \"$0\" \"$@\"";

fn bare(arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--net", "sh", "-ec", ENTER, PROGRAM]);
    command.args(arguments);
    command
}

/// Whether this process may make such a host. If not, it says that the test `name` did not run.
fn is_possible(name: &str) -> bool {
    let output = bare(&["--version"]).output();
    let is_possible = output.is_ok_and(|output| output.status.success());
    if !is_possible {
        println!("SKIP {name}: needs unshare, and root that may mount");
    }
    is_possible
}

fn run(arguments: &[&str]) -> (Output, String) {
    let output = bare(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // A panic ends with 101.
    assert_ne!(output.status.code(), Some(101), "{arguments:?}: {errors}");
    assert!(!errors.contains("panicked"), "{arguments:?}: {errors}");
    (output, errors)
}

#[test]
fn server_starts_without_etc_and_proc() {
    if !is_possible("server_starts_without_etc_and_proc") {
        return;
    }
    let mut server = bare(&["serve"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut banner = String::new();
    output.read_line(&mut banner).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let serving = "serving DCCP-over-UDP on 0.0.0.0:14233";
    assert!(banner.contains(serving), "{banner}");
}

#[test]
fn doctor_reports_what_it_can_read() {
    if !is_possible("doctor_reports_what_it_can_read") {
        return;
    }
    let (output, errors) = run(&["doctor"]);
    assert!(!output.stdout.is_empty(), "{errors}");
}

// goal 49: errors of two lines where files are missing or cannot be written.
#[test]
fn missing_files_give_two_lines() {
    if !is_possible("missing_files_give_two_lines") {
        return;
    }
    for arguments in [
        &["man", "/pages"][..],
        &["no-such-host.invalid", "-t", "1"],
        &["127.0.0.1", "-t", "0.2", "--save", "/x.json"],
        &["monitor", "/etc/dccpmon.toml"],
    ] {
        let (output, errors) = run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let lines: Vec<_> = errors.lines().collect();
        assert_eq!(lines.len(), 2, "{arguments:?}: {errors}");
        assert!(lines[0].starts_with("error: "), "{arguments:?}: {errors}");
        assert!(lines[1].starts_with(" next: "), "{arguments:?}: {errors}");
    }
}
