//! The keys of our projection beside those of a real iperf3.

use crate::support::{Server, free_port};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

/// Keys that dccpmon does not know the values of.
const OMITTED: [&str; 10] = [
    "start.connected[].local_host",
    "start.connected[].local_port",
    "start.cookie",
    "start.rcvbuf_actual",
    "start.sndbuf_actual",
    "start.timestamp.time",
    "end.cpu_utilization_percent.host_system",
    "end.cpu_utilization_percent.host_user",
    "end.cpu_utilization_percent.remote_system",
    "end.cpu_utilization_percent.remote_user",
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
