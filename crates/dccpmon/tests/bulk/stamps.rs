//! Arrival times while the receiving program cannot run: the kernel's do not show it, and those of the program do.

use crate::support::{Server, client, number, read};
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::Stdio;
use std::thread;

/// How long the server stops.
const STOP: Duration = Duration::from_millis(400);
/// How often a test is repeated on a machine that stops the sender too.
const ATTEMPTS: usize = 3;

/// The document of a test whose server stops in the midst of the data.
fn stopped(arguments: &[&str]) -> Value {
    let server = Server::start("udp");
    let words = ["-t", "2", "-b", "4M", "-l", "1000", "-J"];
    let mut test = client(&server.port, &words);
    let child = test.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let process = Pid::from_child(&server.child);
    // The path without load is probed before the data, for 0.2 s.
    thread::sleep(Duration::from_secs(1));
    kill_process(process, Signal::STOP).unwrap();
    thread::sleep(STOP);
    kill_process(process, Signal::CONT).unwrap();
    let document = read(&child.wait_with_output().unwrap());
    assert_eq!(document["status"], "complete", "{document:#}");
    document
}

/// The greatest one-way delay, and the jitter from p50 to p95.
fn delays(flow: &Value) -> [u64; 2] {
    [
        &flow["one_way"]["ns"]["max"],
        &flow["jitter"]["p95_minus_p50_ns"],
    ]
    .map(number)
}

// goal 33: the kernel notes the arrival of datagrams over UDP, so a receiver that stops adds neither delay nor jitter.
#[test]
fn receiver_that_stops_adds_no_delay_over_udp() {
    let mut seen = Vec::new();
    for _ in 0..ATTEMPTS {
        let document = stopped(&["-u"]);
        let flow = &document["summary"]["flows"][0];
        let stamps = &flow["stamps"];
        assert_eq!([&stamps["data"], &stamps["echoes"]], ["kernel"; 2]);
        for end in ["client", "server"] {
            assert_eq!(document["ends"][end]["timestamps"], "kernel");
        }
        // The receiver's part of the round trip has it. With times of the program it would be in the delay.
        let waited = number(&flow["rtt"]["receiver_ns"]["max"]);
        let [delay, jitter] = delays(flow);
        let round_trip = number(&flow["rtt"]["network_ns"]["max"]);
        if waited >= nanos(STOP / 2) && delay.max(jitter).max(round_trip) < waited / 4 {
            return;
        }
        seen.push([waited, delay, jitter, round_trip]);
    }
    panic!("waited, delay, jitter, round trip: {seen:?}");
}

// goal 33: over TCP the program takes the times, and over DCCP the engine, which stops with it.
#[test]
fn receiver_that_stops_adds_delay_to_times_of_its_process() {
    for (arguments, source) in [(&["--tcp"][..], "program"), (&[], "engine")] {
        let document = stopped(arguments);
        let flow = &document["summary"]["flows"][0];
        assert_eq!(flow["stamps"]["data"], source);
        assert_eq!(document["ends"]["server"]["timestamps"], source);
        let [delay, jitter] = delays(flow);
        let least = nanos(STOP / 2);
        assert!(delay >= least && jitter >= least / 4, "{source}: {flow:#}");
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}
