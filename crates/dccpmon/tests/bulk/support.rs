//! A server, clients, and what is true of every result.

use core::time::Duration;
use dccp_dev::openmetrics;
use dccpmon::schema::Ledger;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Output, Stdio};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_dccpmon");

/// A server on a free port; ended when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: String,
    /// Its output; a closed one would end it.
    output: BufReader<std::process::ChildStdout>,
}

impl Server {
    /// A server over `udp` or `ip`.
    pub(crate) fn start(over: &str) -> Self {
        Self::start_with(over, &[])
    }

    /// A server with more arguments.
    pub(crate) fn start_with(over: &str, more: &[&str]) -> Self {
        // Another test may take the port before the server does.
        let started = (0..5).find_map(|_| Self::try_start(over, more));
        started.expect("the server starts at one of five ports")
    }

    /// The same, at one port.
    fn try_start(over: &str, more: &[&str]) -> Option<Self> {
        let port = free_port();
        let mut child = Command::new(PROGRAM)
            .args(["serve", "-4", "--over", over, "-p", &port])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        output.read_line(&mut banner).unwrap();
        let server = Self {
            child,
            port,
            output,
        };
        // A server that ended has said why on its standard error.
        if banner.is_empty() {
            return None;
        }
        assert!(banner.starts_with("dccpmon "), "{banner}");
        Some(server)
    }

    /// The address of its metrics, if it was started with `--metrics 127.0.0.1:0`.
    pub(crate) fn metrics(&mut self) -> SocketAddr {
        metrics_address(&mut self.output)
    }

    /// Runs a client.
    pub(crate) fn test(&self, arguments: &[&str]) -> Output {
        client(&self.port, arguments).output().unwrap()
    }

    /// Runs a client for its JSON, which must follow the schema.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.test(&[arguments, &["-J"]].concat());
        let document = read(&output);
        assert_eq!(document["exit_code"], output.status.code().unwrap());
        document
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn client(port: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["127.0.0.1", "-p", port]).args(arguments);
    command
}

/// A port that is free for UDP and for TCP.
pub(crate) fn free_port() -> String {
    let free = (0..20).find_map(|_| {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = udp.local_addr().unwrap();
        TcpListener::bind(at).ok().map(|_| at.port().to_string())
    });
    free.expect("one of twenty ports is free")
}

/// Runs a test of 3 s with further options and kills the server in its middle. Gives the client's document.
pub(crate) fn document_after_kill(more: &[&str]) -> Value {
    let mut server = Server::start("udp");
    let child = client(&server.port, &[&["-t", "3", "-J"], more].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    server.child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    read(&output)
}

/// The JSON document of a run, checked against the schema.
pub(crate) fn read(output: &Output) -> Value {
    let schema: Value = serde_json::from_str(include_str!("../../schema/dccpmon-1.json")).unwrap();
    let document: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    document
}

/// The address of metrics that a program prints at its start.
pub(crate) fn metrics_address(output: &mut impl BufRead) -> SocketAddr {
    let mut lines = output.lines().map(Result::unwrap);
    let at = lines.find_map(|line| {
        let at = line.strip_prefix("  metrics: http://")?;
        at.strip_suffix("/metrics")?.parse().ok()
    });
    at.expect("the program prints an address of metrics")
}

/// The metrics that a program offers at `at`.
pub(crate) fn scrape(at: SocketAddr) -> Vec<openmetrics::Family> {
    let mut stream = TcpStream::connect(at).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    openmetrics::parse(body).unwrap()
}

pub(crate) fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Each datagram is in one place.
pub(crate) fn assert_exact(document: &Value) {
    for flow in document["summary"]["flows"].as_array().unwrap() {
        let ledger: Ledger = serde_json::from_value(flow["ledger"].clone()).unwrap();
        assert!(ledger.is_closed(), "{flow:#}");
        let reported: u64 = flow["acknowledged"]
            .as_object()
            .unwrap()
            .values()
            .map(number)
            .sum();
        assert_eq!(ledger.sent, reported, "{flow:#}");
    }
}
