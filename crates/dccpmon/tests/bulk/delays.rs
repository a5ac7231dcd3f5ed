//! Delays against links whose delays are known. Both ends run on one host and share its clock, so the true offset is 0.

use crate::network::Network;
use crate::support::{Server, client, number, read};
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use serde_json::Value;

const MS: u64 = 1_000_000;
/// A loaded machine adds up to this much.
const SLACK_NS: u64 = 5 * MS;

/// The document of a run over links to the server and back.
fn run(links: [LinkConfig; 2], arguments: &[&str]) -> Value {
    let server = Server::start("udp");
    let network = Network::between(&server, links, None);
    let output = client(&network.port, arguments).arg("-J").output().unwrap();
    network.end();
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    document
}

fn delayed_ms(delay_ms: u64) -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(delay_ms),
        ..LinkConfig::default()
    }
}

// goal 7: one-way delays match the links' delays within the stated error, with unlike delays there and back.
#[test]
fn one_way_delays_match_the_links_delays() {
    let data = ["-t", "1", "-b", "2M", "-l", "1000"];
    for (there, back, more) in [(20, 20, None), (10, 30, None), (10, 30, Some("-R"))] {
        let arguments: Vec<&str> = data.into_iter().chain(more).collect();
        let document = run([delayed_ms(there), delayed_ms(back)], &arguments);
        let clock = &document["clock"];
        let error_ns = number(&clock["error_ns"]);
        let half = u64::midpoint(there, back) * MS;
        assert!((half..half + SLACK_NS).contains(&error_ns), "{clock:#}");
        let offset_ns = clock["offset_ns"].as_i64().unwrap();
        assert!(offset_ns.unsigned_abs() <= error_ns, "{clock:#}");
        assert_eq!(clock["is_consistent"], true, "{clock:#}");

        let one_way = &document["summary"]["flows"][0]["one_way"];
        let truth = if more == Some("-R") { back } else { there } * MS;
        let stated = number(&one_way["error_ns"]);
        assert!(stated >= error_ns, "{one_way:#}");
        let found = number(&one_way["ns"]["p50"]);
        assert!(found.abs_diff(truth) <= stated + SLACK_NS, "{one_way:#}");
        if there == back {
            assert!(found.abs_diff(truth) <= SLACK_NS, "{one_way:#}");
        }
    }
}

// goal 8: the delay under load shows the queue of the link, and the idle one does not.
#[test]
fn loaded_delay_shows_the_queue_of_the_link() {
    let narrow = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1_250_000.0)),
        queue: QueueConfig::drop_tail(Limit::Packets(100)),
        ..delayed_ms(5)
    };
    let document = run([narrow, delayed_ms(5)], &["-t", "3"]);
    let idle = &document["idle"];
    let p50 = |phase: &str| number(&idle[phase]["p50"]);
    assert!(
        (10 * MS..10 * MS + 2 * SLACK_NS).contains(&p50("idle_ns")),
        "{idle:#}"
    );
    // The queue holds 100 packets, 115 ms. A window that halves leaves it partly full.
    assert!(p50("loaded_ns") > p50("idle_ns") + 20 * MS, "{idle:#}");
    assert!(p50("self_loaded_ns") > p50("idle_ns"), "{idle:#}");
    let rpm = idle["rpm"].as_f64().unwrap();
    assert!((300.0..4_000.0).contains(&rpm), "{idle:#}");
    assert_eq!(document["requested"]["idle_ns"], 300 * MS);
}

#[test]
fn test_without_probes_has_no_clocks() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "0.5", "-b", "2M", "--idle", "0"]);
    assert_eq!(document["requested"]["idle_ns"], 0);
    let flow = &document["summary"]["flows"][0];
    for absent in [&document["clock"], &document["idle"], &flow["one_way"]] {
        assert!(absent.is_null(), "{absent:#}");
    }
}

#[test]
fn repeated_test_has_one_goodput_for_each_run() {
    let server = Server::start("udp");
    let document = server.json(&["-t", "1", "-i", "0.1", "-b", "2M", "--repeat", "2"]);
    let repeat = &document["summary"]["repeat"];
    assert_eq!(repeat["goodputs_bps"].as_array().unwrap().len(), 2);
    let mean = repeat["goodput"]["mean"].as_f64().unwrap();
    assert!((1e6..3e6).contains(&mean), "{repeat:#}");
    // The second run's intervals follow on the first one's.
    let intervals = document["intervals"].as_array().unwrap();
    let starts = intervals.iter().map(|interval| number(&interval["t0_ns"]));
    let starts: Vec<u64> = starts.collect();
    assert!(starts.is_sorted(), "{starts:?}");
    assert!(
        starts.iter().any(|&start| start >= 1_000 * MS),
        "{starts:?}"
    );
}
