//! CCID 248 between hosts: a narrow link is the network's.

use crate::hosts::Hosts;
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use serde_json::Value;

/// The figures of the sender.
fn seen(document: &Value) -> &Value {
    let of = &document["summary"]["flows"][0]["safe_udp"];
    assert!(of.is_object(), "{document:#}");
    of
}

/// The packets that went missing in the network and in both hosts.
fn missing(document: &Value) -> [u64; 3] {
    let missing = &seen(document)["missing"];
    ["network", "sending_host", "receiving_host"]
        .map(|place| missing[format!("{place}_packets")].as_u64().unwrap())
}

#[test]
fn link_narrower_than_the_rate_is_advised_enforced_and_attributed_to_the_network() {
    let Some(hosts) =
        Hosts::new("link_narrower_than_the_rate_is_advised_enforced_and_attributed_to_the_network")
    else {
        return;
    };
    let tunnel = hosts.emulate(&LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1e6)),
        delay: Duration::from_millis(10),
        queue: QueueConfig::drop_tail(Limit::Packets(30)),
        ..LinkConfig::default()
    });
    let server = hosts.serve(&[]);
    let document = hosts.document(&["-t", "4", "-b", "12M", "--ccid", "safeudp"]);
    drop(server);
    tunnel.stop().unwrap();
    let of = seen(&document);
    for state in ["advisory", "enforce"] {
        let time = of["time_ns"][state].as_u64();
        assert!(time > Some(100_000_000), "{of:#}");
    }
    let [network, sending, receiving] = missing(&document);
    assert!(network > 50 && sending == 0 && receiving == 0, "{of:#}");
    let ledger = &document["summary"]["flows"][0]["ledger"];
    assert_eq!(ledger["dropped_ccid"], of["dropped_packets"], "{ledger:#}");
    assert!(ledger["dropped_ccid"].as_u64() > Some(100), "{ledger:#}");
}
