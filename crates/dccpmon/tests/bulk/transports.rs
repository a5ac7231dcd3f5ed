//! Tests over other transports than DCCP.

use crate::support::{Server, number};
use dccpmon::schema::Ledger;
use serde_json::Value;

/// The flows of a complete test over UDP. Features of DCCP are null, and each datagram is in one place.
fn flows_over_udp(document: &Value) -> Vec<Value> {
    assert_eq!(document["status"], "complete", "{document:#}");
    assert_eq!(document["requested"]["transport"], "udp");
    for negotiated in document["negotiated"].as_array().unwrap() {
        assert_eq!(negotiated["transport"], "udp");
        for absent in [
            "ccid",
            "cc",
            "ack_ratio",
            "ecn",
            "encap",
            "mps_bytes",
            "csum_cover",
        ] {
            assert!(negotiated[absent].is_null(), "{absent}: {negotiated:#}");
        }
    }
    let flows = document["summary"]["flows"].as_array().unwrap().clone();
    for flow in &flows {
        for absent in ["rtt", "acknowledged", "sender_samples", "tcp"] {
            assert!(flow[absent].is_null(), "{absent}: {flow:#}");
        }
        let ledger: Ledger = serde_json::from_value(flow["ledger"].clone()).unwrap();
        assert!(ledger.is_closed(), "{flow:#}");
        assert_eq!(ledger.dropped_ring, 0);
    }
    flows
}

// goal 1: the same senders and receivers work over UDP.
#[test]
fn udp_carries_data_in_both_directions() {
    let server = Server::start("udp");
    for direction in [&[][..], &["-R"]] {
        let arguments = ["-u", "-t", "1", "-b", "2M", "-l", "1000", "-P", "2"];
        let document = server.json(&[&arguments[..], direction].concat());
        let flows = flows_over_udp(&document);
        assert_eq!(flows.len(), 2);
        for flow in flows {
            let ledger = &flow["ledger"];
            // A busy machine ends the second late.
            assert!((240..=275).contains(&number(&ledger["sent"])), "{flow:#}");
            assert_eq!(ledger["delivered"], ledger["sent"], "{flow:#}");
            assert_eq!(flow["limited_by"]["verdict"], "application");
        }
    }
}

#[test]
fn every_datagram_of_an_unlimited_run_over_udp_has_its_place() {
    let server = Server::start("udp");
    let document = server.json(&["--transport", "udp", "-t", "0.5"]);
    let flow = &flows_over_udp(&document)[0];
    assert!(number(&flow["ledger"]["delivered"]) > 1000, "{flow:#}");
    assert_eq!(number(&flow["ledger"]["unknown"]), 0, "{flow:#}");
}
