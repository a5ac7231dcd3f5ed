//! The keys of our projection beside those of a real iperf3.

use crate::support::{Server, free_port};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Keys that dccpmon does not know the values of.
const OMITTED: [&str; 3] = ["start.cookie", "start.rcvbuf_actual", "start.sndbuf_actual"];

/// Values that public readers of iperf3's results need for each protocol: the Python package `iperf3`, which raises an
/// error where one is missing (`TestResult` in version 0.1.11 of `PyPI`), and the exporter `edgard/iperf3_exporter`.
const READ: [&str; 27] = [
    "start.timestamp.time",
    "start.timestamp.timesecs",
    "start.system_info",
    "start.version",
    "start.connected[].local_host",
    "start.connected[].local_port",
    "start.connected[].remote_host",
    "start.connected[].remote_port",
    "start.connecting_to.host",
    "start.test_start.protocol",
    "start.test_start.num_streams",
    "start.test_start.blksize",
    "start.test_start.omit",
    "start.test_start.duration",
    "start.test_start.reverse",
    "end.cpu_utilization_percent.host_total",
    "end.cpu_utilization_percent.host_user",
    "end.cpu_utilization_percent.host_system",
    "end.cpu_utilization_percent.remote_total",
    "end.cpu_utilization_percent.remote_user",
    "end.cpu_utilization_percent.remote_system",
    "end.sum_sent.seconds",
    "end.sum_sent.bytes",
    "end.sum_sent.bits_per_second",
    "end.sum_received.seconds",
    "end.sum_received.bytes",
    "end.sum_received.bits_per_second",
];
/// More of them, for TCP only.
const READ_TCP: [&str; 2] = ["end.sum_sent.retransmits", "start.tcp_mss_default"];
/// More of them, for UDP only. DCCP looks like UDP there.
const READ_UDP: [&str; 7] = [
    "end.sum.bytes",
    "end.sum.bits_per_second",
    "end.sum.jitter_ms",
    "end.sum.packets",
    "end.sum.lost_packets",
    "end.sum.lost_percent",
    "end.sum.seconds",
];

/// The paths of all values.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                paths(field, &format!("{path}{dot}{name}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{path}[]"), found);
            }
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

fn paths_of(json: &[u8]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(&serde_json::from_slice(json).unwrap(), "", &mut found);
    found
}

/// The result of iperf3 over UDP; `None` if it is not installed.
fn iperf3() -> Option<Vec<u8>> {
    Command::new("iperf3")
        .arg("-v")
        .stdout(Stdio::null())
        .status()
        .ok()?;
    // Another test may take the port before the server does.
    for _ in 0..5 {
        let port = free_port();
        let mut server = Command::new("iperf3")
            .args(["-s", "-1", "-p", &port])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(core::time::Duration::from_millis(300));
        let client = Command::new("iperf3")
            .args(["-c", "127.0.0.1", "-p", &port, "-u", "-b", "5M"])
            .args(["-t", "1", "-i", "0.5", "-J"])
            .output()
            .unwrap();
        // It may have ended.
        let _ = server.kill();
        let _ = server.wait();
        if client.status.success() {
            return Some(client.stdout);
        }
    }
    panic!("iperf3 fails");
}

// goal 42: the projection has the keys of iperf3, but for a list.
#[test]
fn projection_has_the_keys_of_iperf3() {
    let Some(theirs) = iperf3() else {
        eprintln!("SKIP projection_has_the_keys_of_iperf3: iperf3 is not installed");
        return;
    };
    let server = Server::start("udp");
    let ours = server.test(&["-t", "1", "-i", "0.5", "-b", "5M", "--format", "iperf3"]);
    assert_eq!(ours.status.code(), Some(0));
    let (theirs, ours) = (paths_of(&theirs), paths_of(&ours.stdout));
    let omitted: BTreeSet<String> = OMITTED.map(String::from).into();
    let missing: Vec<_> = theirs
        .difference(&ours)
        .filter(|key| !omitted.contains(*key))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let more: Vec<_> = ours.difference(&theirs).collect();
    assert_eq!(more, ["extra_data"]);
}

/// Reads a result with the Python package.
const SCRIPT: &str = "
import sys, iperf3
result = iperf3.TestResult(sys.stdin.read())
assert result.error is None and result.type == 'client'
print(result.protocol, result.sent_bytes if result.protocol == 'TCP' else result.bytes, result.reverse)
";

/// Protocol, bytes and direction of a result, read by the Python package; `None` if it is not installed.
fn read_by_python(json: &[u8]) -> Option<String> {
    let mut probe = Command::new("python3");
    let probe = probe.args(["-c", "import iperf3"]).stderr(Stdio::null());
    if !probe.status().ok()?.success() {
        return None;
    }
    let mut python = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(json).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "the package refuses the result");
    Some(String::from_utf8(output.stdout).unwrap())
}

// goal 42: the public Python package and an exporter find all values that they read.
#[test]
fn public_readers_find_their_values() {
    let server = Server::start("udp");
    for (transport, protocol) in [("dccp", "UDP"), ("udp", "UDP"), ("tcp", "TCP")] {
        for (direction, is_reverse) in [(&[][..], "False"), (&["-R"], "True")] {
            let words = ["-t", "0.5", "-b", "5M", "--format", "iperf3", "--transport"];
            let output = server.test(&[&words, &[transport][..], direction].concat());
            assert_eq!(output.status.code(), Some(0));
            let known = paths_of(&output.stdout);
            let more = if protocol == "TCP" {
                &READ_TCP[..]
            } else {
                &READ_UDP
            };
            let missing: Vec<_> = READ
                .iter()
                .chain(more)
                .filter(|key| !known.contains(**key))
                .collect();
            assert!(missing.is_empty(), "{transport}: {missing:#?}");
            let Some(read) = read_by_python(&output.stdout) else {
                eprintln!(
                    "compared the keys only: `pip install iperf3==0.1.11` adds the package itself"
                );
                continue;
            };
            let ours: Value = serde_json::from_slice(&output.stdout).unwrap();
            let sum = if protocol == "TCP" { "sum_sent" } else { "sum" };
            let bytes = &ours["end"][sum]["bytes"];
            assert_eq!(read, format!("{protocol} {bytes} {is_reverse}\n"));
        }
    }
}
