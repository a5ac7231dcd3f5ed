//! The figures of a test against the emulator's own log: each packet is known by its number.

use crate::network::{Network, lossy};
use crate::support::{Server, assert_exact, client, read};
use dccp_emu::log::{Event, EventKind, Observer};
use dccp_sim::loss::FaultConfig;
use dccpmon::schema::{Document, Flow};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// The fates of the test's packets in one direction.
#[derive(Clone, Default)]
struct Truth {
    offered: BTreeSet<u64>,
    /// The numbers of the packets that left the emulator, in their order.
    delivered: Vec<u64>,
}

impl Truth {
    /// An observer that writes to the truth.
    fn observer(truth: &Arc<Mutex<Self>>) -> Observer {
        let truth = truth.clone();
        Box::new(move |event: &Event<'_>| {
            let Some(number) = number_of(event.packet) else {
                return;
            };
            let mut truth = truth.lock().unwrap();
            match event.kind {
                EventKind::Enqueued | EventKind::Dropped(_) => {
                    truth.offered.insert(number);
                }
                EventKind::Delivered | EventKind::Duplicated => truth.delivered.push(number),
                EventKind::Marked => {}
                EventKind::Refused => panic!("the system refused packet {number}"),
            }
        })
    }

    fn arrived(&self) -> BTreeSet<u64> {
        self.delivered.iter().copied().collect()
    }

    /// The lengths of the runs of lost numbers, and how often each occurred.
    fn runs(&self) -> Vec<(u64, u64)> {
        let arrived = self.arrived();
        let mut runs = BTreeMap::new();
        let mut length = 0;
        for number in 0..=*self.offered.last().unwrap() + 1 {
            let is_behind = number > *self.offered.last().unwrap();
            if !is_behind && !arrived.contains(&number) {
                length += 1;
            } else if length > 0 {
                *runs.entry(length).or_insert(0) += 1;
                length = 0;
            }
        }
        runs.into_iter().collect()
    }

    /// RFC 4737: numbers that came after a greater one. A repeated number does not count.
    fn reordered(&self) -> u64 {
        let mut seen = BTreeSet::new();
        let mut next = 0;
        let mut reordered = 0;
        for &number in &self.delivered {
            if !seen.insert(number) {
                continue;
            }
            if number < next {
                reordered += 1;
            } else {
                next = number + 1;
            }
        }
        reordered
    }
}

/// The number of a test packet in a DCCP packet with data.
fn number_of(packet: &[u8]) -> Option<u64> {
    let words = *packet.get(4)?;
    let data = packet.get(4 * usize::from(words)..)?;
    let number = data.get(16..24)?;
    data.starts_with(&[b'D', b'M', 2, 0])
        .then(|| u64::from_be_bytes(number.try_into().unwrap()))
}

/// A test through an emulator with these faults: the figures of its flow, and the truth.
fn measured(faults: FaultConfig, arguments: &[&str]) -> (Flow, Truth) {
    let server = Server::start("udp");
    let truth = Arc::new(Mutex::new(Truth::default()));
    let none: Observer = Box::new(|_| {});
    let observers = if arguments.contains(&"-R") {
        [none, Truth::observer(&truth)]
    } else {
        [Truth::observer(&truth), none]
    };
    let network = Network::observed(&server, lossy(faults), Some(observers));
    let output = client(&network.port, arguments).arg("-J").output().unwrap();
    let report = network.end();
    for direction in [&report.forward, &report.back] {
        assert_eq!(direction.overflow_packets, 0, "{report:#?}");
    }
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    assert_exact(&document);
    let document: Document = serde_json::from_value(document).unwrap();
    let flow = document.summary.unwrap().flows.remove(0);
    let truth = truth.lock().unwrap().clone();
    (flow, truth)
}

// goal 18: each loss is at the place where the emulator dropped it.
// goal 20: the runs of lost packets are those of the log.
#[test]
fn truth_emulator_dccp() {
    for direction in [&[][..], &["-R"]] {
        let faults = FaultConfig {
            loss: 0.05,
            ..FaultConfig::default()
        };
        let arguments = [&["-t", "1", "-b", "8M", "-l", "1000"], direction].concat();
        let (flow, truth) = measured(faults, &arguments);
        let ledger = flow.ledger.unwrap();
        let arrived = truth.arrived();
        let lost = truth.offered.len() - arrived.len();
        assert!(lost > 0);
        assert_eq!(ledger.sent, truth.offered.len() as u64);
        assert_eq!(ledger.delivered, arrived.len() as u64);
        assert_eq!(ledger.lost_network, lost as u64, "{ledger:?}");
        assert_eq!(ledger.unknown, 0, "{ledger:?}");
        let pattern = flow.loss_pattern.unwrap();
        assert_eq!(pattern.lost_packets, lost as u64);
        assert_eq!(pattern.runs, truth.runs());
    }
}

// goal 22: reordering is that of the log.
#[test]
fn truth_of_reordering() {
    let faults = FaultConfig {
        reorder: 0.05,
        reorder_by: core::time::Duration::from_millis(4),
        duplicate: 0.05,
        ..FaultConfig::default()
    };
    let (flow, truth) = measured(faults, &["-t", "1", "-b", "8M", "-l", "1000"]);
    let reordered = truth.reordered();
    assert!(reordered > 0);
    assert_eq!(flow.order.unwrap().reordered_packets, reordered);
    assert_eq!(flow.ledger.unwrap().lost_network, 0);
}
