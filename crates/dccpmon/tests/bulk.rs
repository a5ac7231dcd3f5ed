//! The real program against itself over the loopback interface.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use core::time::Duration;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_dccpmon");

/// A server on a free port; ended when dropped.
struct Server {
    child: Child,
    port: String,
    /// Its output; a closed one would end it.
    _output: BufReader<std::process::ChildStdout>,
}

impl Server {
    fn start(more: &[&str]) -> Self {
        let port = free_port();
        let mut child = Command::new(PROGRAM)
            .args(["serve", "-4", "--over", "udp", "-p", &port])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        output.read_line(&mut banner).unwrap();
        assert!(banner.contains(&port), "{banner}");
        Self {
            child,
            port,
            _output: output,
        }
    }

    /// Runs a client.
    fn test(&self, arguments: &[&str]) -> Output {
        client(&self.port, arguments).output().unwrap()
    }

    /// Runs a client for its JSON, which must follow the schema.
    fn json(&self, arguments: &[&str]) -> Value {
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

fn client(port: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(["127.0.0.1", "-p", port]).args(arguments);
    command
}

fn free_port() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port().to_string()
}

/// The JSON document of a run, checked against the schema.
fn read(output: &Output) -> Value {
    let schema: Value = serde_json::from_str(include_str!("../schema/dccpmon-1.json")).unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}\n{document:#}");
    document
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Each datagram is in one place.
fn assert_exact(document: &Value) {
    for flow in document["summary"]["flows"].as_array().unwrap() {
        let at = |place: &str| number(&flow["ledger"][place]);
        assert_eq!(
            at("offered"),
            at("lost_app") + at("dropped_send_ring") + at("sent"),
            "{flow:#}"
        );
        let lost = [
            "lost_host",
            "lost_network",
            "lost_peer_socket",
            "lost_peer_app",
            "unknown",
        ];
        let lost: u64 = lost.into_iter().map(at).sum();
        assert_eq!(at("sent"), at("delivered") + lost, "{flow:#}");
        let told: u64 = flow["acknowledged"]
            .as_object()
            .unwrap()
            .values()
            .map(number)
            .sum();
        assert_eq!(at("sent"), told, "{flow:#}");
    }
}

#[test]
fn both_congestion_controls_carry_data() {
    let server = Server::start(&[]);
    for ccid in ["2", "3"] {
        let document = server.json(&["-t", "1", "-i", "0.5", "--ccid", ccid]);
        assert_eq!(document["status"], "complete");
        assert_eq!(document["negotiated"]["ccid_tx"].to_string(), ccid);
        assert_exact(&document);
        let flow = &document["summary"]["flows"][0];
        assert!(number(&flow["ledger"]["delivered"]) > 100, "{flow:#}");
        assert!(number(&flow["rtt_ns"]["n"]) > 50, "{flow:#}");
        assert_eq!(document["intervals"].as_array().unwrap().len(), 2);
        let mib = &document["hosts"]["server"]["dccp_mib"];
        assert_eq!(number(&mib["DCCPPassiveOpens"]), 1);
    }
}

#[test]
fn a_rate_is_kept_and_named_as_the_limit() {
    let server = Server::start(&[]);
    let document = server.json(&["-t", "1", "-b", "2M", "-l", "1000"]);
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    let sent = number(&flow["ledger"]["sent"]);
    assert!(
        (240..=251).contains(&sent),
        "{sent} packets in a second at 250 per second"
    );
    assert_eq!(flow["limited_by"]["verdict"], "application");
}

#[test]
fn the_server_sends_in_reverse() {
    let server = Server::start(&[]);
    let document = server.json(&["-t", "1", "-b", "10M", "-R"]);
    assert_eq!(document["status"], "complete");
    assert_eq!(document["requested"]["reverse"], true);
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    assert!(number(&flow["ledger"]["delivered"]) > 500, "{flow:#}");
    let opens = &document["hosts"]["client"]["dccp_mib"]["DCCPActiveOpens"];
    assert_eq!(number(opens), 1);
}

#[test]
fn flows_run_side_by_side() {
    let server = Server::start(&[]);
    let document = server.json(&["-t", "1", "-b", "5M", "-P", "2"]);
    assert_exact(&document);
    let flows = document["summary"]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    assert!(
        flows
            .iter()
            .all(|f| number(&f["ledger"]["delivered"]) > 200),
        "{flows:#?}"
    );
    for interval in document["intervals"].as_array().unwrap() {
        assert_eq!(interval["flows"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn the_table_says_what_was_measured() {
    let server = Server::start(&[]);
    let output = server.test(&["-t", "1", "-i", "0.5", "-b", "10M"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("plan  bulk, DCCP CCID 2 ("), "{text}");
    assert!(
        lines[0].contains("1 flow, 1 s, 1400 B packets at 10.0 Mbit/s each"),
        "{text}"
    );
    assert!(lines[1].starts_with("[ID]  interval"), "{text}");
    assert!(lines[2].starts_with("[ 1]  0-0.5 s"), "{text}");
    assert!(lines[3].starts_with("[ 1]  0.5-1 s"), "{text}");
    for begin in [
        " total  1.00 s",
        " where lost   app 0",
        " RTT ",
        " CPU ",
        " limited by ",
    ] {
        assert!(
            lines.iter().any(|l| l.starts_with(begin)),
            "{begin} in {text}"
        );
    }
}

#[test]
fn a_wrong_command_line_gets_two_lines_and_code_2() {
    for (arguments, text) in [
        (
            &["h", "-t", "5x"][..],
            "error: -t 5x: 'x' is not a unit of time\n next: write 5s, 5m or 5 (seconds)\n",
        ),
        (
            &["sweep", "h"],
            "error: sweep: not yet\n next: this version has `serve` and `bulk`; `dccpmon bulk --help` lists the options\n",
        ),
    ] {
        let output = Command::new(PROGRAM).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), text);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_closed_port_gets_two_lines_and_code_1() {
    let port = free_port();
    let output = client(&port, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        format!(
            "error: nothing listens at 127.0.0.1 port {port} (ICMP type 3 code 3)\n \
             next: start `dccpmon serve` there, or check the port\n"
        )
    );
}

#[test]
fn a_silent_host_gets_two_lines_and_code_1() {
    // The socket takes the packets, and nobody answers.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let output = client(&port, &["-J"]).output().unwrap();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        (&document["status"], &document["exit_code"]),
        (&"failed".into(), &1.into())
    );
    let text = String::from_utf8(output.stderr).unwrap();
    let begin =
        format!("error: nothing answers at 127.0.0.1 port {port} (3 DCCP-Request packets in 5.");
    assert!(text.starts_with(&begin), "{text}");
    assert!(text.ends_with(
        "\n next: is `dccpmon serve` running there, and do firewalls let it through?\n"
    ));
}

#[test]
fn too_many_tests_are_refused_with_code_4() {
    let server = Server::start(&[]);
    let running: Vec<Child> = (0..4)
        .map(|_| {
            client(&server.port, &["-t", "4", "-b", "100K"])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::sleep(Duration::from_millis(1500));
    let output = server.test(&["-t", "1"]);
    for mut child in running {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert_eq!(output.status.code(), Some(4));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("error: the server refused: "), "{text}");
}

#[test]
fn a_one_off_server_ends_after_its_test() {
    let mut server = Server::start(&["-1"]);
    assert_eq!(
        server
            .test(&["-t", "0.5", "-i", "0.5", "-b", "1M"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn ctrl_c_prints_the_whole_summary() {
    let server = Server::start(&[]);
    let mut child = client(&server.port, &["-t", "60", "-b", "5M", "-J"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    interrupt(&child);
    let mut stdout = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut stdout)
        .unwrap();
    let status = child.wait().unwrap();
    let stderr = Vec::new();
    let document = read(&Output {
        status,
        stdout,
        stderr,
    });
    assert_eq!(status.code(), Some(130));
    assert_eq!(document["status"], "interrupted");
    assert!(!document["hosts"]["server"].is_null());
    assert_exact(&document);
}

#[test]
fn a_server_that_vanishes_leaves_half_a_result_and_code_5() {
    let mut server = Server::start(&[]);
    let child = client(&server.port, &["-t", "3", "-b", "5M", "-J"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    server.child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(document["status"], "incomplete");
    assert_exact(&document);
    let flow = &document["summary"]["flows"][0];
    assert!(number(&flow["ledger"]["delivered"]) > 100, "{flow:#}");
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}
