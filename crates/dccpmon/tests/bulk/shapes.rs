//! Flows whose packets are due at times of their own.

use crate::support::{Server, number};
use core::sync::atomic::{AtomicBool, Ordering};
use serde_json::Value;
use std::thread;

fn only_flow(document: &Value) -> &Value {
    assert_eq!(document["status"], "complete", "{document:#}");
    &document["summary"]["flows"][0]
}

// goal 9: a constant rate and frames, with the error of the schedule beside them.
// goal 28: the achieved schedule stands beside the requested one.
#[test]
fn achieved_schedule_is_beside_the_requested_one() {
    let server = Server::start("udp");
    for (shape, gap_ns, packets) in [
        ("cbr:2000000", 4e6, 240..=275),
        ("frames:25:625000", 12.8e6, 75..=90),
    ] {
        let document = server.json(&["-t", "1", "-l", "1000", "--shape", shape]);
        let flow = only_flow(&document);
        assert_eq!(document["requested"]["flows"][0]["shape"], shape);
        let schedule = &flow["schedule"];
        assert_eq!(schedule["asked_gap_ns"].as_f64(), Some(gap_ns));
        assert!(schedule["mean_gap_ns"].as_f64().unwrap() > 0.0);
        let sent = number(&flow["ledger"]["sent"]);
        assert!(packets.contains(&sent), "{shape}: {sent}");
        assert!(number(&schedule["late_ns"]["n"]) >= sent, "{schedule:#}");
    }
    let document = server.json(&["-t", "0.3"]);
    assert!(only_flow(&document)["schedule"].is_null());
}

// goal 9: the packets of a trace file, in both directions.
#[test]
fn packets_leave_at_the_times_of_a_trace() {
    let server = Server::start("udp");
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/packets.trace");
    std::fs::write(file, "# three packets in 12 ms\n2\n2\n12\n").unwrap();
    let shape = format!("trace:{file}");
    let arguments = ["-t", "0.6", "-l", "1000", "--shape", &shape];
    let hash = |more: &[&str]| {
        let document = server.json(&[&arguments, more].concat());
        let flow = only_flow(&document);
        assert_eq!(
            document["requested"]["flows"][0]["shape"],
            "gaps:2000,0,10000"
        );
        assert_eq!(flow["schedule"]["asked_gap_ns"].as_f64(), Some(4e6));
        let sent = number(&flow["ledger"]["sent"]);
        assert!((140..=165).contains(&sent), "{sent}");
        flow["schedule"]["hash"].as_str().unwrap().to_owned()
    };
    assert_eq!(hash(&[]), hash(&["-R"]));
}

// goal 10: a seed repeats random arrivals, in both directions.
#[test]
fn same_seed_gives_the_same_schedule_in_both_directions() {
    let server = Server::start("udp");
    let hash = |seed: &str, more: &[&str]| {
        let arguments = ["-u", "-t", "0.3", "--shape", "poisson:5M", "--seed", seed];
        let document = server.json(&[&arguments, more].concat());
        assert_eq!(document["requested"]["seed"], seed);
        only_flow(&document)["schedule"]["hash"].clone()
    };
    let first = hash("7", &[]);
    assert!(first.is_string());
    assert_eq!(first, hash("7", &["-R"]));
    assert_ne!(first, hash("8", &[]));
}

// goal 11: bursts over each transport.
#[test]
fn bursts_and_spacings_set_the_number_of_packets() {
    let server = Server::start("udp");
    for (transport, option, value, packets) in [
        ("dccp", "--burst", "10/100ms", 50..=60),
        ("udp", "--burst", "10/100ms", 50..=60),
        ("udp", "--spacing", "10ms", 45..=55),
    ] {
        let document = server.json(&["--transport", transport, "-t", "0.5", option, value]);
        let sent = number(&only_flow(&document)["ledger"]["sent"]);
        assert!(packets.contains(&sent), "{transport} {option}: {sent}");
    }
}

// goal 28: a host that is too busy for a schedule shows what it achieved.
// goal 34: then the verdict does not blame the application.
#[test]
fn busy_host_shows_the_achieved_gap_and_the_reason() {
    let server = Server::start("udp");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    core::hint::spin_loop();
                }
            });
        }
        let load = ["-t", "1", "-l", "1400", "--spacing", "10us"];
        let document = server.json(&load);
        let table = server.test(&load);
        is_over.store(true, Ordering::Relaxed);
        let flow = only_flow(&document);
        let schedule = &flow["schedule"];
        assert_eq!(schedule["asked_gap_ns"], 10_000.0);
        // A packet each 10 us is 1.1 Gbit/s.
        let sent = number(&flow["ledger"]["sent"]);
        if sent < 90_000 {
            assert_ne!(flow["limited_by"]["verdict"], "application", "{flow:#}");
            assert_ne!(flow["limited_by"]["verdict"], "unknown", "{flow:#}");
        }
        assert!(
            schedule["mean_gap_ns"].as_f64().unwrap() > 9_000.0,
            "{flow:#}"
        );
        let text = String::from_utf8(table.stdout).unwrap();
        let schedule = "asked for a packet each 10.0 us, got ";
        for part in [schedule, "\n limited by "] {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}
