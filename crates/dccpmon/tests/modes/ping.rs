//! `dccpmon ping` against ports in each state.

use crate::support::{PROGRAM, Server, free_port};
use std::net::UdpSocket;
use std::process::Command;

/// Runs `ping`; gives its exit code and its output without the first line.
fn ping(port: &str, count: &str, more: &[&str]) -> (Option<i32>, String) {
    let quick = ["-i", "10ms", "--timeout", "500ms"];
    let mut command = Command::new(PROGRAM);
    command.args(["ping", "127.0.0.1", "-p", port, "--count", count]);
    let output = command.args(quick).args(more).output().unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(
        first.starts_with("ping  127.0.0.1 (127.0.0.1), DCCP port "),
        "{first}"
    );
    (output.status.code(), rest.to_owned())
}

#[test]
fn open_port_answers_and_goes_on_serving() {
    let server = Server::start("udp");
    let (code, text) = ping(&server.port, "2", &[]);
    assert_eq!(code, Some(0), "{text}");
    let begin = format!(
        "  UDP port {} open (2 of 2 probes answered), RTT min/avg/max ",
        server.port
    );
    assert!(text.starts_with(&begin), "{text}");
    let after = server.test(&["-t", "0.3", "-b", "1M"]);
    assert_eq!(after.status.code(), Some(0), "{after:?}");
}

#[test]
fn closed_ports_and_other_services_are_told_apart() {
    let server = Server::start("udp");
    for (more, text) in [
        (&["--dccp-port", "9"][..], "alive, DCCP port closed, Reset "),
        (
            &["--service", "DISC"],
            "alive, another service, Reset Bad Service Code (8) ",
        ),
    ] {
        let (code, found) = ping(&server.port, "2", more);
        assert_eq!(code, Some(1), "{found}");
        assert!(found.contains(text), "{found}");
        assert!(found.ends_with("(2 of 2 probes answered)\n"), "{found}");
    }
}

// Only Linux reports ICMP errors with the packet that caused them.
#[cfg(target_os = "linux")]
#[test]
fn closed_udp_port_is_told_by_icmp() {
    let (code, text) = ping(&free_port(), "2", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains(" host alive, UDP port closed, ICMP type 3 code 3 (2 of 2 "),
        "{text}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn silent_port_of_a_live_host_is_filtered() {
    // The socket receives the packets and never answers, as behind a firewall that drops.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let (code, text) = ping(&port, "1", &[]);
    assert_eq!(code, Some(1), "{text}");
    let end = " filtered: the host is alive, this port is silent (0 of 1 probes answered)\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn wrong_values_yield_two_lines() {
    for (words, text) in [
        (
            &["ping"][..],
            "error: there is no host to probe\n next: write `dccpmon ping HOST`\n",
        ),
        (
            &["ping", "h", "--over", "tcp"],
            "error: --over tcp: there is no such choice\n next: choose one of udp, ip, both\n",
        ),
        (
            &["ping", "h", "--service", "TOOLONG"],
            "error: --service TOOLONG: is no Service Code\n next: write --service DMON or --service SC=x444D4F4E\n",
        ),
    ] {
        let output = Command::new(PROGRAM).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), text);
    }
}
