//! The figures of a test against the emulator's own log: each packet is known by its number.

use crate::network::{Network, lossy};
use crate::support::{Server, assert_exact, client, read};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp_emu::clock;
use dccp_emu::log::{Event, EventKind, Observer};
use dccp_sim::loss::FaultConfig;
use dccpmon::schema::{Document, Flow};
use std::collections::{BTreeMap, BTreeSet};
use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

/// The fates of the test's packets in one direction.
#[derive(Clone, Default)]
pub(crate) struct Truth {
    pub(crate) offered: BTreeSet<u64>,
    /// The numbers of the packets that left the emulator, in their order.
    delivered: Vec<u64>,
    /// The DCCP ports of the packets: those of each connection differ.
    pub(crate) ports: BTreeSet<[u8; 4]>,
}

impl Truth {
    /// An observer that writes to the truth.
    pub(crate) fn observer(truth: &Arc<Mutex<Self>>) -> Observer {
        let truth = truth.clone();
        Box::new(move |event: &Event<'_>| {
            let Some(number) = number_of(event.packet) else {
                return;
            };
            let mut truth = truth.lock().unwrap();
            truth.ports.extend(event.packet.first_chunk());
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

    pub(crate) fn arrived(&self) -> BTreeSet<u64> {
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

    /// The first arrivals, and for each of them the position of the earliest arrival with a greater number before it.
    fn order(&self) -> Vec<(u64, Option<usize>)> {
        let mut order: Vec<(u64, Option<usize>)> = Vec::new();
        let mut seen = BTreeSet::new();
        for &number in &self.delivered {
            if seen.insert(number) {
                let overtaken_by = order.iter().position(|&(earlier, _)| earlier > number);
                order.push((number, overtaken_by));
            }
        }
        order
    }

    /// RFC 4737 §4.2: by how many arrivals each reordered packet is late.
    fn extents(&self) -> Vec<u64> {
        let order = self.order();
        let late = order.iter().enumerate();
        late.filter_map(|(at, &(_, overtaken_by))| Some((at - overtaken_by?) as u64))
            .collect()
    }

    /// RFC 4737 §5.3: the number of packets with n greater numbers directly before them, for each n from 1 on.
    fn n_reordering(&self) -> Vec<u64> {
        let order = self.order();
        let mut counts = Vec::new();
        for (at, (number, _)) in order.iter().enumerate() {
            let before = order[..at].iter().rev();
            let n = before.take_while(|(earlier, _)| earlier > number).count();
            counts.resize(counts.len().max(n), 0);
            counts[..n].iter_mut().for_each(|count| *count += 1);
        }
        counts
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

/// Passes datagrams between a client's sockets and a server, but no data from number `lost_from` on. When the client ends
/// its data connection, its other connection waits for a moment.
fn pass_without_tail(socket: &UdpSocket, server: SocketAddr, lost_from: u64, is_over: &AtomicBool) {
    const CLOSE: u8 = 6;
    const RESET: u8 = 7;
    let look = Duration::from_millis(1);
    socket.set_read_timeout(Some(look)).unwrap();
    let mut to_server: BTreeMap<SocketAddr, UdpSocket> = BTreeMap::new();
    let mut held: Vec<(SocketAddr, Vec<u8>)> = Vec::new();
    let (mut data, mut end_at, mut memory) = (None, None, [0; 2000]);
    while !is_over.load(Ordering::Relaxed) {
        if end_at.is_some_and(|at| clock::now() - at > Duration::from_millis(300)) {
            for (client, datagram) in held.drain(..) {
                to_server[&client].send(&datagram).unwrap();
            }
            end_at = None;
        }
        for (client, from) in &to_server {
            while let Ok(length) = from.recv(&mut memory) {
                socket.send_to(&memory[..length], client).unwrap();
            }
        }
        let Ok((length, client)) = socket.recv_from(&mut memory) else {
            continue;
        };
        let datagram = &memory[..length];
        let to = to_server.entry(client).or_insert_with(|| {
            let to = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
            to.connect(server).unwrap();
            to.set_nonblocking(true).unwrap();
            to
        });
        if let Some(number) = number_of(datagram) {
            data = Some(client);
            if number >= lost_from {
                continue;
            }
        }
        if data == Some(client) {
            if matches!(datagram[8] >> 1 & 0xf, CLOSE | RESET) {
                end_at = Some(clock::now());
            }
        } else if end_at.is_some() {
            held.push((client, datagram.to_vec()));
            continue;
        }
        to.send(datagram).unwrap();
    }
}

// goal 18: the last packets are lost, and the connection ends before the receiver hears how many there were.
#[test]
fn lost_tail_counts_over_dccp() {
    let server = Server::start("udp");
    let socket = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    let to = SocketAddr::from(([127, 0, 0, 1], server.port.parse().unwrap()));
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let thread = std::thread::spawn(move || pass_without_tail(&socket, to, 200, &over));
    let words = ["-t", "1", "-b", "1M", "-l", "500", "-J"];
    let output = client(&port, &words).output().unwrap();
    is_over.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    let document = read(&output);
    assert_eq!(document["status"], "complete", "{document:#}");
    let document: Document = serde_json::from_value(document).unwrap();
    let flow = document.summary.unwrap().flows.remove(0);
    let ledger = flow.ledger.unwrap();
    assert!(ledger.is_closed() && ledger.sent > 200, "{ledger:?}");
    assert_eq!(ledger.delivered, 200, "{ledger:?}");
    let pattern = flow.loss_pattern.unwrap();
    assert_eq!(pattern.lost_packets, ledger.sent - 200, "{ledger:?}");
    assert_eq!(pattern.runs.len(), 1, "{pattern:?}");
}

// goal 22: reordered packets, their extents and n-reordering are those of the log.
#[test]
fn truth_of_reordering() {
    let faults = FaultConfig {
        reorder: 0.05,
        reorder_by: Duration::from_millis(4),
        duplicate: 0.05,
        ..FaultConfig::default()
    };
    let (flow, truth) = measured(faults, &["-t", "1", "-b", "8M", "-l", "1000"]);
    let extents = truth.extents();
    assert!(!extents.is_empty());
    let order = flow.order.unwrap();
    assert_eq!(order.reordered_packets, extents.len() as u64);
    assert_eq!(flow.reordered_packets, Some(order.reordered_packets));
    assert_eq!(order.n_reordering, truth.n_reordering());
    let found = order.extent.unwrap();
    assert_eq!(found.n, extents.len() as u64);
    assert_eq!(Some(&found.min), extents.iter().min());
    assert_eq!(Some(&found.max), extents.iter().max());
    assert_eq!(flow.ledger.unwrap().lost_network, 0);
}
