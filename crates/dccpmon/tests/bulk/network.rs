//! Over an emulated network, and over IP.

use crate::support::{Server, assert_exact, client, number, read};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::Rate;
use dccp_emu::clock;
use dccp_emu::log::Observer;
use dccp_emu::relay::Relay;
use dccp_emu::report::Report;
use dccp_sim::loss::FaultConfig;
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};
use dccp_sim::{LinkConfig, Seed};
use dccpmon::schema::Ledger;
use serde_json::Value;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// A relay in front of a server.
pub(crate) struct Network {
    pub(crate) port: String,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

impl Network {
    pub(crate) fn to(server: &Server, link: LinkConfig) -> Self {
        Self::observed(server, link, None)
    }

    /// A relay that shows its packets on the way to the server and back.
    pub(crate) fn observed(
        server: &Server,
        link: LinkConfig,
        observers: Option<[Observer; 2]>,
    ) -> Self {
        Self::between(server, [link.clone(), link], observers)
    }

    /// A relay with a link to the server and one back.
    pub(crate) fn between(
        server: &Server,
        links: [LinkConfig; 2],
        observers: Option<[Observer; 2]>,
    ) -> Self {
        let server = SocketAddr::from(([127, 0, 0, 1], server.port.parse().unwrap()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let over = is_over.clone();
        let thread = std::thread::spawn(move || {
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let mut relay = Relay::new(any, server, links, Seed(6), Duration::ZERO).unwrap();
            if let Some(observers) = observers {
                relay.observe(observers);
            }
            tell.send(relay.local_addr().port()).unwrap();
            while !over.load(Ordering::Relaxed) {
                relay
                    .run_until(clock::now() + Duration::from_millis(50))
                    .unwrap();
            }
            relay.report()
        });
        Self {
            port: told.recv().unwrap().to_string(),
            is_over,
            thread,
        }
    }

    pub(crate) fn end(self) -> Report {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// A link of 5 ms with these faults.
pub(crate) fn lossy(faults: FaultConfig) -> LinkConfig {
    LinkConfig {
        delay: Duration::from_millis(5),
        faults,
        ..LinkConfig::default()
    }
}

/// A run through the relay with its report.
fn run(link: LinkConfig, arguments: &[&str]) -> (Value, Report) {
    let server = Server::start("udp");
    let network = Network::to(&server, link);
    let output = client(&network.port, arguments).arg("-J").output().unwrap();
    let report = network.end();
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    assert_exact(&document);
    (document, report)
}

/// A flow's losses in the network, and at all other places together.
fn losses(flow: &Value) -> [u64; 2] {
    let ledger: Ledger = serde_json::from_value(flow["ledger"].clone()).unwrap();
    let losses = ledger.losses();
    let elsewhere = losses.iter().filter(|(place, _)| *place != "network");
    let elsewhere: u64 = elsewhere.map(|(_, packets)| packets).sum();
    [ledger.lost_network, elsewhere + ledger.unknown]
}

// goal 54: the relay carries one UDP port, and that is enough.
#[test]
fn losses_are_the_networks_and_all_counts_survive_them() {
    for arguments in [
        &["-t", "2", "-b", "5M", "-l", "1000"][..],
        &["-t", "2", "-b", "5M", "-l", "1000", "--ccid", "3"],
        &["-t", "2", "-b", "5M", "-l", "1000", "-R"],
    ] {
        let link = lossy(FaultConfig {
            loss: 0.05,
            ..FaultConfig::default()
        });
        let (document, report) = run(link, arguments);
        let flow = &document["summary"]["flows"][0];
        let [network, elsewhere] = losses(flow);
        let lost = |d: &dccp_emu::report::DirectionReport| d.lost_packets.values().sum::<u64>();
        let both = lost(&report.forward) + lost(&report.back);
        assert!(
            network > 0 && network <= both,
            "{network} of {both}, {document:#}"
        );
        assert_eq!(elsewhere, 0, "{flow:#}");
    }
}

#[test]
fn what_comes_late_or_twice_is_not_lost() {
    let link = LinkConfig {
        delay: Duration::from_millis(5),
        faults: FaultConfig {
            reorder: 0.05,
            reorder_by: Duration::from_millis(4),
            duplicate: 0.05,
            ..FaultConfig::default()
        },
        ..LinkConfig::default()
    };
    let (document, _) = run(link, &["-t", "1", "-b", "5M", "-l", "1000"]);
    let flow = &document["summary"]["flows"][0];
    assert_eq!(losses(flow), [0; 2], "{flow:#}");
    assert!(number(&flow["reordered_packets"]) > 5, "{flow:#}");
    // DCCP itself drops what comes twice.
    assert_eq!(number(&flow["duplicate_packets"]), 0);
    assert!(number(&document["hosts"]["server"]["dccp"]["dropped_duplicate"]) > 5);
}

#[test]
fn a_full_queue_shows_in_round_trips_and_losses() {
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1_250_000.0)),
        delay: Duration::from_millis(5),
        queue: QueueConfig::drop_tail(Limit::Packets(50)),
        ..LinkConfig::default()
    };
    let (document, _) = run(link, &["-t", "3"]);
    let flow = &document["summary"]["flows"][0];
    let goodput = flow["goodput_bps"].as_f64().unwrap();
    assert!((5e6..1e7).contains(&goodput), "{goodput}");
    let ns = |at: &str| number(&flow["rtt"]["network_ns"][at]);
    assert!(ns("p99") > ns("min") + 20_000_000, "{flow:#}");
    assert_eq!(flow["limited_by"]["verdict"], "network_queue");
    let evidence = flow["limited_by"]["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|e| {
        e.as_str()
            .unwrap()
            .starts_with("median RTT at losses - min")
    }));
}

// goal 6: a sender that is held by a slow link has its delay in the send queue, not in the network.
#[test]
fn rtt_is_split_into_queue_network_and_receiver() {
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(250_000.0)),
        delay: Duration::from_millis(5),
        queue: QueueConfig::drop_tail(Limit::Packets(10)),
        ..LinkConfig::default()
    };
    let (document, _) = run(link, &["-t", "2", "-l", "1000"]);
    let rtt = &document["summary"]["flows"][0]["rtt"];
    let ns = |part: &str, at: &str| number(&rtt[part][at]);
    assert!(ns("network_ns", "min") >= 10_000_000, "{rtt:#}");
    // 512 datagrams of 4 ms wait to leave.
    assert!(ns("send_queue_ns", "p50") > 200_000_000, "{rtt:#}");
    assert!(
        ns("send_queue_ns", "p50") > 2 * ns("network_ns", "p50"),
        "{rtt:#}"
    );
    assert!(
        ns("receiver_ns", "p50") < ns("network_ns", "p50"),
        "{rtt:#}"
    );
    assert_eq!(rtt["source"], "acknowledgements");
    let queue = &document["intervals"][0]["flows"][0]["queue_ns"];
    assert!(number(&queue["n"]) > 0, "{queue:#}");
}

#[test]
fn marks_are_no_losses() {
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1_250_000.0)),
        delay: Duration::from_millis(5),
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: Limit::Packets(1000),
            mark_at: Some(Limit::Packets(20)),
        }),
        ..LinkConfig::default()
    };
    let (document, report) = run(link, &["-t", "2"]);
    let flow = &document["summary"]["flows"][0];
    assert_eq!(losses(flow), [0; 2], "{flow:#}");
    let marked = number(&flow["marked_packets"]);
    assert!(marked > 0 && marked <= report.forward.marked_packets);
    assert_eq!(document["negotiated"][0]["ecn"], true);
}

/// A process in a network namespace of its own runs this test again.
#[cfg(target_os = "linux")]
// goal 2: DCCP over UDP and over IP, with each CCID.
#[test]
fn measurements_run_over_ip() {
    if !dccp_dev::rerun::is_inside("network::measurements_run_over_ip", "") {
        return;
    }
    let server = Server::start("ip");
    for more in [&[][..], &["-R"], &["-P", "2"]] {
        let arguments = [&["--over", "ip", "-t", "1", "-b", "5M"], more].concat();
        let document = server.json(&arguments);
        assert_eq!(document["status"], "complete");
        assert_eq!(document["negotiated"][0]["encap"], "ip");
        assert_exact(&document);
        let flow = &document["summary"]["flows"][0];
        assert!(number(&flow["ledger"]["delivered"]) > 400, "{flow:#}");
    }
}
