//! Both directions of one connection.

use crate::network::{Network, lossy};
use crate::support::{Server, assert_exact, client, document_after_kill, number, read};
use crate::truth::Truth;
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::loss::FaultConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use dccpmon::schema::{Direction, Document};
use serde_json::Value;
use std::sync::{Arc, Mutex};

const ONE: [&str; 2] = ["--bidir", "--one-connection"];

/// The connections that each end has opened or accepted for the data.
fn opened(document: &Value) -> [u64; 2] {
    [
        ("client", "DCCPActiveOpens"),
        ("server", "DCCPPassiveOpens"),
    ]
    .map(|(end, counter)| number(&document["hosts"][end]["dccp"][counter]))
}

// goal 14: both half-connections of one connection are measured at once, each with a CCID of its own.
#[test]
fn both_half_connections_are_measured_at_once() {
    let server = Server::start("udp");
    let load = ["-t", "1", "-i", "0.5", "-b", "2M", "-l", "1000"];
    for ccids in [[2, 2], [2, 3], [3, 2]] {
        let [own, servers] = ccids.map(|ccid: u64| ccid.to_string());
        let choice = ["--ccid", &own, "--server-ccid", &servers];
        let document = server.json(&[&load[..], &ONE, &choice].concat());
        assert_eq!(document["status"], "complete", "{document:#}");
        assert_eq!(document["requested"]["direction"], "both");
        assert_eq!(document["requested"]["one_connection"], true);
        assert_eq!(opened(&document), [1, 1]);
        assert_exact(&document);
        let flows = document["summary"]["flows"].as_array().unwrap();
        assert_eq!(flows.len(), 2);
        for (at, flow) in flows.iter().enumerate() {
            assert_eq!(flow["direction"], ["forward", "reverse"][at]);
            assert_eq!(flow["connection"], 1);
            assert_eq!(number(&document["negotiated"][at]["ccid"]), ccids[at]);
            assert_eq!(
                number(&document["requested"]["flows"][at]["ccid"]),
                ccids[at]
            );
            let ledger = &flow["ledger"];
            assert!((100..=275).contains(&number(&ledger["sent"])), "{flow:#}");
            assert_eq!(ledger["delivered"], ledger["sent"], "{flow:#}");
            assert!(number(&flow["rtt"]["network_ns"]["n"]) > 20, "{flow:#}");
            assert!(!flow["one_way"].is_null(), "{flow:#}");
            assert!(!flow["limited_by"]["verdict"].is_null(), "{flow:#}");
        }
        for interval in document["intervals"].as_array().unwrap() {
            for flow in interval["flows"].as_array().unwrap() {
                assert!(number(&flow["sent_packets"]) > 20, "{interval:#}");
                assert!(number(&flow["received_packets"]) > 20, "{interval:#}");
            }
        }
    }
    let apart = server.json(&[&load[..], &["--bidir"]].concat());
    assert_eq!(opened(&apart), [2, 2]);
    assert_eq!(apart["summary"]["flows"][1]["connection"], 2);
}

#[test]
fn several_connections_are_shared_in_pairs() {
    let server = Server::start("udp");
    let load = ["-t", "0.5", "-b", "1M", "-l", "1000", "-P", "3"];
    let document = server.json(&[&load[..], &ONE].concat());
    assert_eq!(document["status"], "complete", "{document:#}");
    assert_eq!(opened(&document), [3, 3]);
    assert_exact(&document);
    let flows = document["summary"]["flows"].as_array().unwrap();
    let connections: Vec<u64> = flows.iter().map(|f| number(&f["connection"])).collect();
    assert_eq!(connections, [1, 2, 3, 1, 2, 3]);
    for flow in flows {
        let ledger = &flow["ledger"];
        assert!(number(&ledger["sent"]) > 20, "{flow:#}");
        assert_eq!(ledger["delivered"], ledger["sent"], "{flow:#}");
    }
    let table = server.test(&[&load[..], &ONE].concat());
    let text = String::from_utf8(table.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let plan = "over 3 connections to and from 127.0.0.1:";
    assert!(words.join(" ").contains(plan), "{text}");
    assert!(text.contains("\n[ 6] reverse goodput "), "{text}");
    assert!(text.contains("[ 3] and [ 6] share one"), "{text}");
}

/// Measures both directions of one connection over this link. Each count is that of the emulator's log.
fn assert_true(link: LinkConfig, arguments: &[&str]) -> Document {
    let server = Server::start("udp");
    let truths: [Arc<Mutex<Truth>>; 2] = Default::default();
    let observers = [Truth::observer(&truths[0]), Truth::observer(&truths[1])];
    let network = Network::observed(&server, link, Some(observers));
    let mut client = client(&network.port, arguments);
    let output = client.args(ONE).arg("-J").output().unwrap();
    network.end();
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    assert_exact(&document);
    let document: Document = serde_json::from_value(document).unwrap();
    let flows = &document.summary.as_ref().unwrap().flows;
    let directions = [Direction::Forward, Direction::Reverse];
    for ((flow, truth), direction) in flows.iter().zip(&truths).zip(directions) {
        let truth = truth.lock().unwrap().clone();
        assert_eq!(flow.direction, direction);
        assert_eq!(truth.ports.len(), 1, "the connections with data");
        let ledger = flow.ledger.unwrap();
        let (offered, arrived) = (truth.offered.len() as u64, truth.arrived().len() as u64);
        assert_eq!(ledger.sent, offered, "{arguments:?} {ledger:?}");
        assert_eq!(ledger.delivered, arrived, "{arguments:?} {ledger:?}");
        assert_eq!(ledger.lost_network, offered - arrived, "{ledger:?}");
        assert_eq!(ledger.unknown + ledger.in_flight, 0, "{ledger:?}");
    }
    document
}

// goal 14: acknowledgements ride on the data of the other direction, and each loss is counted in its direction.
// goal 18: each loss is at the place where the emulator dropped it.
#[test]
fn losses_of_both_half_connections_are_exact() {
    for ccids in [["2", "2"], ["2", "3"], ["3", "2"]] {
        let faults = FaultConfig {
            loss: 0.05,
            ..FaultConfig::default()
        };
        let [own, servers] = ccids;
        let arguments = ["-t", "1", "-b", "4M", "-l", "1000", "--ccid", own];
        let arguments = [&arguments[..], &["--server-ccid", servers]].concat();
        let document = assert_true(lossy(faults), &arguments);
        for flow in &document.summary.unwrap().flows {
            let ledger = flow.ledger.unwrap();
            assert!(ledger.lost_network > 0, "{ccids:?} {ledger:?}");
        }
    }
}

// goal 14: the end of one direction takes nothing from the other.
// goal 19: all packets of both tails are counted.
#[test]
fn end_of_a_shared_connection_loses_no_tail() {
    // A full queue holds the last packets of both directions for 100 ms.
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1_250_000.0)),
        delay: Duration::from_millis(20),
        queue: QueueConfig::drop_tail(Limit::Packets(100)),
        ..LinkConfig::default()
    };
    let document = assert_true(link, &["-t", "1", "-l", "1200"]);
    for flow in &document.summary.unwrap().flows {
        let ledger = flow.ledger.unwrap();
        assert!(ledger.delivered > 100, "{ledger:?}");
    }
}

#[test]
fn both_directions_of_a_tcp_connection_are_measured() {
    let server = Server::start("udp");
    let document = server.json(&[&["--tcp", "-t", "1", "-i", "0.5"][..], &ONE].concat());
    assert_eq!(document["status"], "complete", "{document:#}");
    let flows = document["summary"]["flows"].as_array().unwrap();
    for flow in flows {
        assert_eq!(flow["connection"], 1);
        // All that was sent arrived, but for the blocks before the start.
        let received = number(&flow["received_bytes"]);
        let sent = number(&flow["tcp"]["acknowledged_bytes"]);
        assert!(received > 1_000_000, "{flow:#}");
        assert!((received..received + 1_000_000).contains(&sent), "{flow:#}");
    }
}

// goal 57: the client keeps its half of both directions.
#[test]
fn server_that_vanishes_leaves_closed_ledgers_of_both_directions() {
    let arguments = [&["-b", "2M", "-l", "1000"][..], &ONE].concat();
    let document = document_after_kill(&arguments);
    assert_eq!(document["status"], "incomplete");
    let document: Document = serde_json::from_value(document).unwrap();
    for flow in &document.summary.unwrap().flows {
        let ledger = flow.ledger.unwrap();
        assert!(ledger.is_closed() && ledger.delivered > 50, "{ledger:?}");
    }
}
