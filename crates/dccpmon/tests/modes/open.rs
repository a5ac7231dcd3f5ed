//! `send` and `recv`.

use crate::support::{PROGRAM, free_port};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

/// Sends to a receiver with further options of the sender; gives the words of the last line of both.
fn exchange(transport: &str, more: &[&str]) -> [Vec<String>; 2] {
    let port = free_port();
    let both = ["--transport", transport, "-p", &port, "--snapshot", "200ms"];
    let mut receiver = Command::new(PROGRAM)
        .args(["recv", "-t", "4"])
        .args(both)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut arrivals = BufReader::new(receiver.stdout.take().unwrap());
    let mut first = String::new();
    arrivals.read_line(&mut first).unwrap();
    assert!(first.starts_with("recv  "), "{first}");
    let sent = Command::new(PROGRAM)
        .args(["send", "127.0.0.1", "-t", "1", "-b", "2M", "-l", "1000"])
        .args(both)
        .args(more)
        .output()
        .unwrap();
    assert_eq!(sent.status.code(), Some(0), "{sent:?}");
    let sent = String::from_utf8(sent.stdout).unwrap();
    let mut text = String::new();
    arrivals.read_to_string(&mut text).unwrap();
    assert_eq!(receiver.wait().unwrap().code(), Some(0));
    // A receiver over DCCP forgets a sender that has ended, after its last line.
    [sent, text].map(|text| {
        let last = text.lines().last().unwrap_or_default();
        last.split_whitespace().map(str::to_owned).collect()
    })
}

// goal 17: open loop with snapshots; both ends count the same packets.
#[test]
fn receiver_counts_what_the_sender_sent() {
    for (transport, more) in [
        ("dccp", &[][..]),
        ("udp", &[]),
        ("dccp", &["--ccid", "safeudp"]),
    ] {
        let [sent, arrivals] = exchange(transport, more);
        let left: u64 = sent[2].parse().unwrap();
        assert!((200..=260).contains(&left), "{sent:?}");
        assert_eq!(arrivals[1], sent[2], "{arrivals:?}");
        assert_eq!(arrivals[3], "0", "nothing is lost: {arrivals:?}");
        assert_eq!(arrivals[5], "0", "nothing is reordered: {arrivals:?}");
    }
}

#[test]
fn sender_without_a_receiver_fails_in_two_lines() {
    let output = Command::new(PROGRAM)
        .args(["send", "127.0.0.1", "-t", "1", "-p", &free_port()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: 127.0.0.1: "), "{text}");
    assert_eq!(text.lines().count(), 2);
}
