//! `iperf3 -u`, unchanged.

use crate::hosts::{Hosts, LINK_BPS, Program, allowed_bps, path};
use crate::support::Side;
use core::time::Duration;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::thread;

/// The port of iperf3.
const PORT: u16 = 5201;

/// A bridge for iperf3, and its server.
struct Course {
    hosts: Hosts,
    connect: Side,
    _listen: Side,
    _server: Program,
}

impl Course {
    fn new(test: &str, more: &[&str]) -> Option<Self> {
        let hosts = Hosts::new(test, &["iperf3"])?;
        let mut server = hosts.receiver.command(&["iperf3", "-s", "--forceflush"]);
        let mut server = Program(server.stdout(Stdio::piped()).spawn().unwrap());
        // The first line is a rule, the second says that it listens.
        let mut output = BufReader::new(server.0.stdout.take().unwrap()).lines();
        output.find(|line| line.as_ref().unwrap().contains("listening"));
        thread::spawn(move || output.for_each(drop));
        let listen = hosts.listen(PORT);
        let connect = hosts.connect(PORT, more);
        hosts.relay_tcp(PORT);
        Some(Self {
            hosts,
            connect,
            _listen: listen,
            _server: server,
        })
    }

    fn start(&self, words: &[&str]) -> Child {
        let client = ["iperf3", "-c", "127.0.0.1", "-u", "-l", "1400", "-J"];
        let mut command = self.hosts.sender.command(&[&client, words].concat());
        command.stdout(Stdio::piped()).spawn().unwrap()
    }
}

/// The figures of a client that has ended.
fn figures(client: Child) -> Value {
    let output = client.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The share of lost datagrams in percent, as the server counts them.
fn lost_percent(figures: &Value) -> f64 {
    let sum = &figures["end"]["sum"];
    assert!(sum["packets"].as_u64().unwrap() > 100, "{sum}");
    sum["lost_percent"].as_f64().unwrap()
}

#[test]
fn iperf3_passes_a_rate_that_the_path_takes() {
    for ccid in ["2", "3"] {
        let file = path(&format!("rates-{ccid}.json"));
        let more = ["--ccid", ccid, "--rate-file", file.to_str().unwrap()];
        let test = "iperf3_passes_a_rate_that_the_path_takes";
        let Some(course) = Course::new(test, &more) else {
            return;
        };
        // Without the first two seconds: slow start costs datagrams, and more of them on a busy machine.
        let client = course.start(&["-b", "10M", "-t", "5", "-O", "2", "-P", "2"]);
        thread::sleep(Duration::from_secs(6));
        let allowed = allowed_bps(&file);
        let figures = figures(client);
        let lost = lost_percent(&figures);
        assert!(lost < 5.0, "CCID {ccid}: {lost} % are lost");
        let received = figures["end"]["sum"]["bits_per_second"].as_f64();
        assert!(received > Some(15e6), "CCID {ccid}: {received:?} bit/s");
        // Each flow sends 10 Mbit/s, so no encoder may be told less.
        assert!(allowed > Some(9_000_000), "CCID {ccid}: {allowed:?} bit/s");
    }
}

#[test]
fn program_that_sends_too_much_is_reported_and_the_published_rate_is_that_of_the_path() {
    let file = path("overload.json");
    let more = ["--rate-file", file.to_str().unwrap()];
    let test = "program_that_sends_too_much_is_reported";
    let Some(course) = Course::new(test, &more) else {
        return;
    };
    let client = course.start(&["-b", "80M", "-t", "8"]);
    let line = course.connect.wait_for(" enforcement: ");
    assert!(
        line.contains("datagrams older than 200 ms, or beyond 4096 that wait"),
        "{line}"
    );
    // After three seconds the queue has been full for long enough.
    thread::sleep(Duration::from_secs(3));
    let mut rates = Vec::new();
    for _ in 0..10 {
        rates.extend(allowed_bps(&file));
        thread::sleep(Duration::from_millis(200));
    }
    let figures = figures(client);
    let line = course.connect.wait_for(" recovery: ");
    assert!(!line.contains(" 0 were dropped"), "{line}");
    assert_eq!(rates.len(), 10, "{rates:?}");
    let path_bps = u64::from(LINK_BPS);
    // A window alone would say up to three times the rate of the link.
    assert!(
        rates
            .iter()
            .all(|rate| (path_bps / 5 * 2..path_bps).contains(rate)),
        "{rates:?}"
    );
    let lost = lost_percent(&figures);
    assert!((20.0..80.0).contains(&lost), "{lost} % are lost");
}

#[test]
fn safeudp_advises_enforces_and_recovers() {
    let file = path("safeudp.json");
    let more = ["--ccid", "safeudp", "--rate-file", file.to_str().unwrap()];
    let Some(course) = Course::new("safeudp_advises_enforces_and_recovers", &more) else {
        return;
    };
    let client = course.start(&["-b", "80M", "-t", "8"]);
    for change in ["advisory", "enforcement"] {
        let line = course.connect.wait_for(&format!(" {change}: "));
        assert!(line.contains("the network is congested"), "{line}");
    }
    thread::sleep(Duration::from_secs(1));
    let allowed = allowed_bps(&file).expect("a rate is published");
    assert!(allowed < u64::from(LINK_BPS), "{allowed} bit/s");
    // The program has not followed, so datagrams are lost or dropped.
    let lost = lost_percent(&figures(client));
    assert!(lost > 20.0, "{lost} % are lost");
    let line = course.connect.wait_for(" recovery: ");
    assert!(!line.contains(" 0 were dropped"), "{line}");
}
