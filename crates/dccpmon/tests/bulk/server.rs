//! A server that is misused, or whose surroundings fail.
#![cfg(target_os = "linux")]

use crate::acker::Acker;
use crate::network::Network;
use crate::support::{PROGRAM, Server, assert_exact, client, free_port, number, read};
use core::time::Duration;
use dccp::{Rate, clock};
use dccp_sim::LinkConfig;
use dccp_sim::loss::FaultConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use dccpmon::schema::Ledger;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread;

/// Waits for a message of this name, past others.
fn hear_past_others(acker: &mut Acker, name: &str) -> Value {
    let until = clock::now() + Duration::from_secs(10);
    while clock::now() < until {
        if let Ok(Some(message)) = acker.take()
            && message["message"] == name
        {
            return message;
        }
    }
    panic!("no {name}");
}

// Delays that vary, losses and a queue fill the totals of each flow with figures.
#[test]
fn totals_of_all_flows_arrive_over_a_slow_path() {
    let server = Server::start("udp");
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(2_500_000.0)),
        delay: Duration::from_millis(5),
        queue: QueueConfig::drop_tail(Limit::Packets(500)),
        faults: FaultConfig {
            loss: 0.01,
            reorder: 0.05,
            reorder_by: Duration::from_millis(4),
            ..FaultConfig::default()
        },
        ..LinkConfig::default()
    };
    let network = Network::to(&server, link);
    let arguments = ["-P", "32", "-t", "2", "-l", "300", "-J"];
    let output = client(&network.port, &arguments).output().unwrap();
    network.end();
    let document = read(&output);
    assert_eq!(output.status.code(), Some(0), "{document:#}");
    let flows = document["summary"]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 32);
    assert!(flows.iter().all(|flow| !flow["order"].is_null()));
    assert_exact(&document);
}

#[test]
fn tests_over_udp_reach_each_address_of_the_server() {
    let server = Server::start("udp");
    for direction in [&[][..], &["-R"]] {
        let output = Command::new(PROGRAM)
            .args([
                "127.0.0.5",
                "-p",
                &server.port,
                "-u",
                "-t",
                "0.5",
                "-b",
                "1M",
                "-J",
            ])
            .args(direction)
            .output()
            .unwrap();
        let document = read(&output);
        assert_eq!(document["status"], "complete", "{document:#}");
        let flow = &document["summary"]["flows"][0];
        let ledger: Ledger = serde_json::from_value(flow["ledger"].clone()).unwrap();
        assert!(ledger.sent > 0, "{flow:#}");
        assert_eq!(ledger.delivered, ledger.sent, "{flow:#}");
    }
}

/// A server whose standard output is closed after its first line.
fn server_without_reader() -> (Child, String) {
    // Another test may take the port first: the server then ends without a line.
    for _ in 0..10 {
        let port = free_port();
        let mut child = Command::new(PROGRAM)
            .args(["serve", "-4", "--over", "udp", "-p", &port])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        if line.starts_with("dccpmon ") {
            return (child, port);
        }
        assert!(line.is_empty(), "{line}");
        child.wait().unwrap();
    }
    panic!("no port is free");
}

#[test]
fn server_goes_on_though_nobody_reads_its_output() {
    let (mut child, port) = server_without_reader();
    for _ in 0..3 {
        let output = client(&port, &["-t", "0.3", "-b", "1M"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn one_off_server_waits_for_a_test() {
    let server = Server::start_with("udp", &["-1"]);
    let mut stranger = Acker::connect(&server, 2);
    let hello = json!({
        "message": "hello", "protocol": {"min": 2, "max": 2}, "program": "1", "nonce": "0".repeat(32),
    });
    stranger.say(&hello);
    stranger.hear("welcome");
    let request = json!({
        "flows": 1, "is_reverse": false, "length_bytes": 100,
        "duration_ns": 1_000_000_000, "interval_ns": 1_000_000_000, "rate_bps": null,
    });
    stranger.say(&json!({"message": "setup", "body": request.to_string(), "proof": null}));
    stranger.hear("ready");
    // Out of turn, so the server breaks the test off.
    stranger.say(&json!({"message": "bye"}));
    thread::sleep(Duration::from_millis(500));
    let output = server.test(&["-t", "0.3", "-b", "1M"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn series_is_charged_for_the_time_that_it_takes() {
    let server = Server::start_with("udp", &["--time-limit", "2s"]);
    let (mut acker, data) = Acker::begin(&server, 2, Duration::from_secs(1));
    thread::sleep(Duration::from_millis(1300));
    acker.say(&json!({"message": "stop"}));
    drop(data);
    hear_past_others(&mut acker, "host");
    // Two tests of one second were within the limit, but the first took more.
    let request = json!({
        "flows": 1, "is_reverse": false, "length_bytes": 100,
        "duration_ns": 1_000_000_000, "interval_ns": 1_000_000_000, "rate_bps": null,
    });
    acker.say(&json!({"message": "setup", "body": request.to_string(), "proof": null}));
    let refused = hear_past_others(&mut acker, "refused");
    assert_eq!(refused["code"], "limit");
}

#[test]
fn bursts_above_the_rate_limit_are_refused() {
    let server = Server::start_with("udp", &["--rate-limit", "10M"]);
    let output = server.test(&["-u", "-R", "--shape", "burst:1000000/1h", "-t", "1"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "error: the server allows each flow 10.0 Mbit/s, and bursts of 100ms at that rate\n \
         next: ask for smaller bursts, or for a constant rate with -b\n"
    );
}

// Half of the gaps of this shape are far shorter than their mean, so its rate is far above the one that it names.
#[test]
fn server_sends_no_faster_than_its_limit() {
    let server = Server::start_with("udp", &["--rate-limit", "1M"]);
    let arguments = [
        "-u",
        "-R",
        "--shape",
        "pareto:1M/1.01",
        "--seed",
        "1",
        "-l",
        "1000",
        "-t",
        "2",
    ];
    let document = server.json(&arguments);
    let bytes = number(&document["summary"]["flows"][0]["received_bytes"]);
    // 125,000 bytes a second, and what may leave at once.
    assert!((10_000..=340_000).contains(&bytes), "{document:#}");
}

/// Bytes of the IP packets that arrive until none came for a second, without an answer to them.
fn bytes_back(socket: &UdpSocket) -> usize {
    let mut datagram = [0; 2000];
    socket
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let mut bytes = 0;
    while let Ok(length) = socket.recv(&mut datagram) {
        bytes += length + HEADERS;
    }
    bytes
}

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

// goal 56: an address that has shown nothing gets one answer to a Request, and none to a datagram of a flow. QUIC allows
// three times the bytes.
#[test]
fn silent_addresses_get_less_than_three_times_their_bytes() {
    let server = Server::start("udp");
    let port: u16 = server.port.parse().unwrap();
    // The Request of a real client, which reaches no server.
    let witness = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = witness.local_addr().unwrap().port().to_string();
    let mut asking = client(&to, &["-t", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut request = [0; 2000];
    let length = witness.recv(&mut request).unwrap();
    asking.kill().unwrap();
    asking.wait().unwrap();
    let victim = UdpSocket::bind("127.0.0.1:0").unwrap();
    victim.connect(("127.0.0.1", port)).unwrap();
    victim.send(&request[..length]).unwrap();
    let back = bytes_back(&victim);
    assert!(back > HEADERS, "the server answers the Request");
    assert!(back < 3 * (length + HEADERS), "{back} for {length}");

    victim.connect(("127.0.0.1", port + 1)).unwrap();
    for token in 0..100_u8 {
        let mut join = [token; 1400];
        join[..4].copy_from_slice(&[b'D', b'M', 2, 1]);
        victim.send(&join).unwrap();
    }
    assert_eq!(bytes_back(&victim), 0);
}
