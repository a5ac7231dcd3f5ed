//! Runs between machines, which are two servers on the loopback.

#![cfg(target_os = "linux")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

const SCENARIO: &str = "tests/scenarios/hosts.toml";

/// The program `dccpmon` beside `dccplab`, where runs on hosts look for it. Tests of this crate alone build it first.
fn dccpmon() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_dccplab")).with_file_name("dccpmon");
    if !path.exists() {
        let words = ["build", "--quiet", "--package", "dccpmon"];
        let status = Command::new(env!("CARGO")).args(words).status();
        assert!(status.expect("cargo starts").success());
    }
    path
}

/// A server on a free port; ended when dropped.
struct Server {
    child: Child,
    port: u16,
    /// A closed output would end it.
    _output: BufReader<ChildStdout>,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(dccpmon());
        let port = free_port();
        command.args(["serve", "-4", "--over", "udp", "--port", &port.to_string()]);
        command.args(["--third-party", "127.0.0.1"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut banner = String::new();
        output.read_line(&mut banner).expect("a banner");
        assert!(banner.starts_with("dccpmon "), "{banner}");
        Self {
            child,
            port,
            _output: output,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

/// Plays the scenario with these words.
fn play(words: &[&str]) -> Output {
    dccpmon();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.args(["run", SCENARIO]).args(words);
    command.output().expect("it starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// Checks what the flows of the scenario have delivered.
fn assert_delivered(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let schema = serde_json::from_str(include_str!("../schema/dccplab-result-1.json"));
    let validator = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    assert!(validator.is_valid(&document), "{document:#}");
    assert_eq!(document["record"]["backend"], "hosts");
    let cell = &document["cells"][0];
    let [paced, udp] = [0, 1].map(|n| &cell["summary"]["flows"][n]);
    assert_eq!(
        (&paced["broken"], &udp["broken"]),
        (&Value::Null, &Value::Null)
    );
    // At twice the rate of the scenario's link, which does not apply.
    let paced = number(&paced["throughput_after_discard_bps"]) / 1e6;
    assert!((1.6..2.2).contains(&paced), "{cell:#}");
    let delivered = number(&udp["delivered_bytes"]) / 1e6;
    // 3 Mbit/s for a second.
    assert!((0.25..0.45).contains(&delivered), "{cell:#}");
    assert_eq!(cell["summary"]["links"], serde_json::json!([]));
    let warnings = cell["warnings"].to_string();
    assert!(
        warnings.contains("[[link]] neck: rate, delay: not applied"),
        "{warnings}"
    );
}

#[test]
fn flows_run_between_this_machine_and_a_server() {
    let server = Server::start();
    let host = format!("b=127.0.0.1:{}", server.port);
    let words = [
        "--backend",
        "hosts",
        "--host",
        "a=here",
        "--host",
        &host,
        "--json",
        "-",
    ];
    let output = play(&words);
    assert_delivered(&output);
    let said = said(&output);
    assert!(
        said.starts_with("note: [[link]] neck: rate, delay: not applied"),
        "{said}"
    );
}

#[test]
fn flows_run_between_two_servers() {
    let servers = [Server::start(), Server::start()];
    let [a, b] = [("a", &servers[0]), ("b", &servers[1])]
        .map(|(node, server)| format!("{node}=127.0.0.1:{}", server.port));
    let words = [
        "--backend",
        "hosts",
        "--host",
        &a,
        "--host",
        &b,
        "--json",
        "-",
    ];
    assert_delivered(&play(&words));
}

#[test]
fn what_hosts_cannot_do_is_reported_in_two_lines() {
    let silent = format!("b=127.0.0.1:{}", free_port());
    for (words, code, what) in [
        (&["--host", "a=here", "--host", &silent][..], 1, "127.0.0.1"),
        (
            &["--host", "a=here"],
            2,
            "--backend hosts: node b of flow paced has no machine",
        ),
        (
            &["--host", "c=here"],
            2,
            "--host c=here: the scenario has no node c",
        ),
        (
            &["--host", "a=here", "--host", "b=here"],
            2,
            "[[flow]] paced: both ends",
        ),
    ] {
        let output = play(&[&["--backend", "hosts"], words].concat());
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        let lines: Vec<&str> = said
            .lines()
            .filter(|line| !line.starts_with("note: "))
            .collect();
        let [error, next] = lines[..] else {
            panic!("{said}");
        };
        assert!(
            error.starts_with("error: ") && error.contains(what),
            "{said}"
        );
        assert!(next.starts_with(" next: "), "{said}");
    }
    let output = play(&["--host", "a=here"]);
    assert!(said(&output).starts_with("error: --host a=here: only runs with --backend hosts"));
}
