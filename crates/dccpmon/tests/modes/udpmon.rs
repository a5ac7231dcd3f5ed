//! The names of `UDPmon`.

use crate::support::{PROGRAM, Server};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the program under another name.
fn run(name: &str, words: &[&str]) -> Output {
    // Each test makes a link of its own, because they run at the same time.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(words.concat().replace('/', ""));
    std::fs::create_dir_all(&folder).unwrap();
    let link: PathBuf = folder.join(name);
    let _ = std::fs::remove_file(&link);
    symlink(PROGRAM, &link).unwrap();
    let output = Command::new(&link).args(words).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    output
}

#[test]
fn spaced_streams_print_the_lines_of_udpmon() {
    let server = Server::start("udp");
    let words = [
        "-d",
        "127.0.0.1",
        "-u",
        &server.port,
        "-p",
        "1000",
        "-l",
        "200",
        "-w",
        "0",
        "-i",
        "1000",
        "-e",
        "1000",
    ];
    let output = run("dccpmon_bw_mon", &words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "one head, and two runs: {text}");
    for line in &lines[1..] {
        // The number of packets is exact, also without a gap between them.
        assert!(line.starts_with(" 1000; 200; "), "{line}");
        assert_eq!(line.matches(';').count(), 12, "{line}");
    }
}

#[test]
fn explanation_is_the_command_line_of_dccpmon() {
    let output = run("dccpmon_req", &["--explain", "-d", "h", "-r", "1400"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "dccpmon rr h --size 1400\n");
}

#[test]
fn letter_of_another_meaning_yields_two_lines() {
    let output = run("dccpmon_bw_mon", &["-d", "h", "-V", "1"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with("error: -V: has two meanings in UDPmon's versions\n next: leave it out"),
        "{text}"
    );
}
