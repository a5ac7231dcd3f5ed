//! Scenarios with a known limit: the verdict names it.

use crate::network::Network;
use crate::support::{Server, client, read};
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::loss::FaultConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use serde_json::Value;

/// The limit of a test over a link.
fn limit(link: LinkConfig, arguments: &[&str]) -> Value {
    let server = Server::start("udp");
    let network = Network::to(&server, link);
    let output = client(&network.port, arguments).arg("-J").output().unwrap();
    network.end();
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    let limit = document["summary"]["limited_by"].clone();
    let evidence = limit["evidence"].as_array().unwrap();
    assert!(!evidence.is_empty(), "{limit:#}");
    limit
}

/// A link of 30 ms there and back together.
fn link() -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(15),
        ..LinkConfig::default()
    }
}

// goal 34: a rate below the path's is the limit.
#[test]
fn verdict_of_a_small_rate_is_the_application() {
    let limit = limit(link(), &["-t", "1", "-b", "2M"]);
    assert_eq!(limit["verdict"], "application", "{limit:#}");
}

// goal 34: a queue of the network is the limit.
#[test]
fn verdict_of_a_full_queue_is_the_network_queue() {
    let bottleneck = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(2.5e6)),
        queue: QueueConfig::drop_tail(Limit::Packets(50)),
        ..link()
    };
    let limit = limit(bottleneck, &["-t", "2"]);
    assert_eq!(limit["verdict"], "network_queue", "{limit:#}");
}

// goal 34: the congestion control is the limit.
#[test]
fn verdict_of_random_losses_is_the_congestion_control() {
    let lossy = LinkConfig {
        faults: FaultConfig {
            loss: 0.02,
            ..FaultConfig::default()
        },
        ..link()
    };
    let limit = limit(lossy, &["-t", "2"]);
    assert_eq!(limit["verdict"], "congestion_control", "{limit:#}");
    assert_eq!(limit["command"], "--law bbr");
}
