//! Programs of the system that speak DCCP.

use crate::support::{Running, dccprun, free_port, run_client};
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn netcat_listens_and_connects() {
    let port = free_port();
    // netcat reports on standard error that it listens.
    let listen = "exec nc.openbsd -v -Z -l 5001 2>&1";
    let mut command = dccprun(&["--udp-port", &port, "sh", "-c", listen]);
    command.stdin(Stdio::null());
    let server = Running::start(command);
    server.wait_for("Listening");
    // DCCP has no half-close, so both ends would wait for the other's end. This one waits for a second.
    let connect = "echo hello | nc.openbsd -Z -w 1 127.0.0.1 5001";
    let output = run_client(&port, &["sh", "-c", connect]);
    assert!(output.status.success());
    server.wait_for("hello");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn socat_listens_and_connects() {
    let port = free_port();
    // Versions before 1.8 have no names for DCCP, but let options choose type and protocol.
    let listen = "TCP4-LISTEN:5001,socktype=6,protocol=33";
    let words = [
        "--udp-port",
        &port,
        "sh",
        "-c",
        "exec socat -d -d \"$@\" 2>&1",
        "sh",
        listen,
        "EXEC:cat",
    ];
    let server = Running::start(dccprun(&words));
    server.wait_for("listening on");
    let connect = "TCP4:127.0.0.1:5001,socktype=6,protocol=33";
    let words = [
        "--remote-udp-port",
        &port,
        "socat",
        "-t",
        "10",
        "-",
        connect,
    ];
    // The input stays open until the echo has come: socat then ends by the peer's end.
    let mut child = dccprun(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"hello\n").unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
    assert_eq!(line, "hello\n");
    drop(input);
    assert!(child.wait().unwrap().success());
}
