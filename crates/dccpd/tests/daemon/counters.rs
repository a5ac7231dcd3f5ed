//! Counters of the daemon, by each way to read them, while data flow.

use crate::support::{Daemon, OPEN, SHAPE, exchange, is_inside};
use core::fmt::Write as _;
use dccp_dev::openmetrics;
use dccp_ring_ipc::RingListenRequest;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

/// Datagrams that are sent.
const DATAGRAMS: usize = 200;
/// Connections that end at once while counters are read.
const CONNECTIONS: u32 = 100;
const ROUNDS: u64 = 5;
/// The MIB's number.
const MIB: &str = ".1.3.6.1.4.1.8072.9999.9999.4340";

/// The answers of `dccpctl snmp` to these lines of snmpd.
fn answers(daemon: &Daemon, lines: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccpctl"));
    command
        .arg("--admin-socket")
        .arg(daemon.admin())
        .arg("snmp");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn all_ways_to_read_counters_agree_while_data_flow() {
    if !is_inside("counters::all_ways_to_read_counters_agree_while_data_flow") {
        return;
    }
    let policy = format!("metrics = \"127.0.0.1:9651\"\nconnection-metrics = true\n{OPEN}");
    let daemon = Daemon::start("counters", &policy);
    let (mut client, mut server) = daemon.pair();
    for _ in 0..DATAGRAMS {
        exchange(&mut client, &mut server);
    }
    let json: serde_json::Value =
        serde_json::from_str(&daemon.show(&["counters", "--json"])).unwrap();
    let totals = &json["totals"];
    let total = |key: &str| totals[key].as_u64().unwrap();
    assert_eq!(total("datagrams_pushed"), DATAGRAMS as u64);
    assert_eq!(total("datagrams_taken"), DATAGRAMS as u64);
    // Each datagram has a fate, or waits for one in the queue or in flight.
    let fates = totals.as_object().unwrap().iter();
    let fates = fates.filter(|(key, _)| key.starts_with("datagram_fates_"));
    let fates: u64 = fates.map(|(_, value)| value.as_u64().unwrap()).sum();
    let connections = json["connections"].as_array().unwrap();
    let open = |key: &str| -> f64 {
        let each = connections
            .iter()
            .map(|c| c["gauges"][key].as_f64().unwrap_or(0.0));
        each.sum()
    };
    #[expect(clippy::cast_precision_loss, reason = "few datagrams")]
    let known = fates as f64 + open("queued_datagrams") + open("in_flight_datagrams");
    #[expect(clippy::cast_precision_loss, reason = "few datagrams")]
    let pushed = DATAGRAMS as f64;
    assert!((known - pushed).abs() < 0.5, "{known} of {pushed}: {json}");

    let mut stream = TcpStream::connect("127.0.0.1:9651").unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (_, scraped) = response.split_once("\r\n\r\n").unwrap();
    for text in [scraped, &daemon.show(&["counters", "--prometheus"])] {
        let families = openmetrics::parse(text).unwrap();
        let pushed = openmetrics::value(&families, "dccp_datagrams_pushed_total", &[]);
        assert_eq!(pushed, Some(200.0));
    }

    // A walk by snmpd: each answer is the next question.
    let mut walk = String::from("PING\n");
    let _ = write!(
        walk,
        "getnext\n{MIB}\nget\n{MIB}.1.9999.0\nset\n{MIB}.1.1.0\ninteger 1\n"
    );
    let answered = answers(&daemon, &walk);
    let lines: Vec<&str> = answered.lines().collect();
    assert_eq!(lines[0], "PONG");
    assert!(lines[1].starts_with(MIB), "{answered}");
    assert!(
        lines.contains(&"NONE") && lines.contains(&"not-writable"),
        "{answered}"
    );
}

#[test]
fn counters_never_go_down_while_connections_end() {
    if !is_inside("counters::counters_never_go_down_while_connections_end") {
        return;
    }
    let daemon = Daemon::start("monotonic", OPEN);
    let request = RingListenRequest::new("127.0.0.1:0/5001".parse().unwrap(), SHAPE);
    let mut listener = daemon.listen_to(&request.connections(CONNECTIONS)).unwrap();
    let mut most = 0;
    for _ in 0..ROUNDS {
        let mut pairs = Vec::new();
        for _ in 0..CONNECTIONS {
            let client = daemon.connect("127.0.0.1:6511/5001").unwrap();
            let (mut client, mut server) = (client, listener.accept().unwrap());
            exchange(&mut client, &mut server);
            pairs.push((client, server));
        }
        // Reading many connections takes long enough for some to end meanwhile.
        let end = std::thread::spawn(|| drop(pairs));
        loop {
            let json = daemon.show(&["counters", "--json"]);
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            let pushed = json["totals"]["datagrams_pushed"].as_u64().unwrap();
            assert!(pushed >= most, "{pushed} after {most}");
            most = pushed;
            if json["connections"].as_array().unwrap().is_empty() {
                break;
            }
        }
        end.join().unwrap();
    }
    assert_eq!(most, u64::from(CONNECTIONS) * ROUNDS);
}
