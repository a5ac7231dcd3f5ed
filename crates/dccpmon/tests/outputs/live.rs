//! The live view in a terminal.

use crate::folder;
use crate::support::{PROGRAM, Server};
use core::time::Duration;
use dccpmon::schema::Document;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs a client in a terminal of its own and presses keys, each after a pause. Returns the output and the exit code.
fn in_terminal(server: &Server, more: &str, keys: &[u8]) -> (String, Option<i32>) {
    let command = format!("{PROGRAM} 127.0.0.1 -p {} -i 0.1 -b 2M {more}", server.port);
    let mut child = Command::new("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for key in keys {
        std::thread::sleep(Duration::from_millis(800));
        input.write_all(&[*key]).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    drop(input);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text, output.status.code())
}

/// Enters and leaves the alternate screen.
const SCREEN: [&str; 2] = ["\x1b[?1049h", "\x1b[?1049l"];

// goal 43: the view ends with `q`, restores the terminal and prints the summary.
#[test]
fn view_marks_and_ends_on_keys() {
    let server = Server::start("udp");
    let file = folder("live").join("run.json");
    let more = format!("-t 60 --live --save {}", file.display());
    let (text, code) = in_terminal(&server, &more, b"mq");
    assert_eq!(code, Some(130), "{text}");
    let [enter, leave] = SCREEN;
    let behind = text.split(leave).last().unwrap();
    assert!(text.contains(enter) && text.contains(leave), "{text}");
    assert!(
        text.contains("goodput") && behind.contains(" where lost "),
        "{text}"
    );
    assert!(behind.contains(" interrupted"), "{behind}");
    let saved: Document = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(saved.marks.len(), 1);
    assert_eq!(saved.marks[0].text, "mark 1");
}

#[test]
fn view_without_a_terminal_is_the_table() {
    let server = Server::start("udp");
    let output = server.test(&["-t", "0.5", "-b", "2M", "--live"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("[ID] interval s") && !text.contains('\x1b'),
        "{text}"
    );
}

#[test]
fn progress_is_shown_and_removed_on_a_terminal() {
    let server = Server::start("udp");
    let (text, code) = in_terminal(&server, "-t 1", b"");
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains(" of 1 s") && text.contains("\r\x1b[K"),
        "{text}"
    );
    let summary = text.rsplit("\x1b[K").next().unwrap();
    assert!(summary.contains(" where lost "), "{text}");
}
