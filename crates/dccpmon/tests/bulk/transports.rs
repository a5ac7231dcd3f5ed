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
        let rtt = &flow["rtt"];
        assert_eq!(rtt["source"], "echoes");
        assert!(rtt["send_queue_ns"].is_null(), "{rtt:#}");
        assert!(number(&rtt["user_ns"]["n"]) > 10, "{rtt:#}");
        for absent in ["acknowledged", "sender_samples", "tcp"] {
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
    let document = server.json(&["--transport", "udp", "-b", "0", "-t", "0.5"]);
    let flow = &flows_over_udp(&document)[0];
    assert!(number(&flow["ledger"]["delivered"]) > 1000, "{flow:#}");
    assert_eq!(number(&flow["ledger"]["unknown"]), 0, "{flow:#}");
}

// goal 1: the same senders and receivers work over TCP.
// goal 3: fields of DCCP and the ledger of packets are null.
#[test]
fn tcp_carries_data_in_both_directions() {
    let server = Server::start("udp");
    for direction in [&[][..], &["-R"]] {
        let arguments = ["--tcp", "-t", "1", "-i", "0.5", "-C", "reno"];
        let document = server.json(&[&arguments[..], direction].concat());
        assert_eq!(document["status"], "complete", "{document:#}");
        for absent in ["ccid", "ack_ratio", "encap", "mps_bytes", "csum_cover"] {
            assert!(document["negotiated"][0][absent].is_null(), "{absent}");
        }
        // Each kernel has reno; without -C it is used only where cubic is missing.
        assert_eq!(document["requested"]["flows"][0]["cc"], "reno");
        assert_eq!(document["negotiated"][0]["cc"], "reno");
        assert!(number(&document["negotiated"][0]["mss_bytes"]) > 500);
        let flow = &document["summary"]["flows"][0];
        for absent in ["ledger", "acknowledged"] {
            assert!(flow[absent].is_null(), "{absent}: {flow:#}");
        }
        // All that was sent arrived. The kernel counts the end of the stream as a byte.
        let received = number(&flow["received_bytes"]);
        let sent = number(&flow["tcp"]["acknowledged_bytes"]);
        assert!(received > 1_000_000, "{flow:#}");
        assert!((received..received + 10).contains(&sent), "{flow:#}");
        assert!(number(&flow["rtt"]["network_ns"]["n"]) > 10, "{flow:#}");
        let interval = &document["intervals"][0]["flows"][0];
        assert!(interval["retransmitted_segments"].is_u64(), "{interval:#}");
        assert!(interval["cwnd_packets"].as_f64().unwrap() > 1.0);
    }
}

#[test]
fn tcp_uses_the_same_congestion_control_everywhere() {
    let server = Server::start("udp");
    let used = |direction: &[&str]| {
        let document = server.json(&[&["--tcp", "-t", "0.3"][..], direction].concat());
        assert!(document["requested"]["flows"][0]["cc"].is_null());
        document["negotiated"][0]["cc"].clone()
    };
    let cc = used(&[]);
    assert!(cc == "cubic" || cc == "reno", "{cc}");
    assert_eq!(used(&["-R"]), cc);
}
