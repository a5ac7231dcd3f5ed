//! Two endpoints and a wire between them with a fixed delay: the smallest network.

use super::*;
use crate::path::Encap;
use crate::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use crate::wire::{Payload, Place};
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;

const ABORTED: crate::CloseReason = crate::CloseReason::Aborted(ResetCode::ABORTED);

mod train;

/// More than 2^16, where the kernel of 2007 jumped to line rate.
const PACKETS: u32 = 70_000;
const DELAY: Duration = Duration::from_millis(10);

struct Mix(u64);

impl KeyedHash for Mix {
    fn hash(&self, data: &[u8]) -> u128 {
        let step =
            |h: u128, &b: &u8| (h ^ u128::from(b)).wrapping_mul(0x0100_0000_01b3 << 40 | 0x3b);
        data.iter().fold(u128::from(self.0), step)
    }
}

#[derive(Default)]
struct Side {
    to_send: u32,
    next: u32,
    fates: Vec<(Slot, Fate)>,
}

impl Outbox for Side {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        (self.next < self.to_send).then_some(Offer {
            slot: Slot(self.next),
            len: 1000,
            is_zeros: true,
        })
    }
    fn claim_into(&mut self, _now: Instant, _slot: Slot, _place: &mut Place<'_>) -> bool {
        self.next += 1;
        true
    }
    fn refuse(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.next += 1;
        self.fates.push((slot, fate));
    }
    fn on_fate(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.fates.push((slot, fate));
    }
}

#[derive(Default)]
struct Taker(u32);

impl Inbox for Taker {
    fn deliver(&mut self, datagram: Payload<'_>, _meta: Delivery) -> Accepted {
        assert_eq!(datagram.len(), 1000);
        self.0 += 1;
        Accepted::Yes
    }
}

#[derive(Default)]
struct Apps {
    out: Side,
    taker: Taker,
}

impl Queues for Apps {
    fn with_app(&mut self, _id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        run(&mut App {
            outbox: &mut self.out,
            inbox: &mut self.taker,
        });
    }
}

struct Host {
    endpoint: Endpoint,
    apps: Apps,
    events: Vec<(ConnId, Event)>,
}

struct Net {
    now: Instant,
    hosts: [Host; 2],
    /// Arrival time, receiver, path as it sees it, bytes, zeros.
    wire: VecDeque<(Instant, usize, Path, Ecn, Vec<u8>, usize)>,
    packets: u32,
}

fn path(local: u8, remote: u8) -> Path {
    let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
    Path {
        local: ip(local),
        remote: ip(remote),
        encap: Encap::Ip,
    }
}

impl Net {
    fn new() -> Self {
        let host = |n| Host {
            endpoint: Endpoint::new(Box::new(Mix(n))),
            apps: Apps::default(),
            events: Vec::new(),
        };
        Self {
            now: Instant::ZERO,
            hosts: [host(1), host(2)],
            wire: VecDeque::new(),
            packets: 0,
        }
    }

    fn drain(&mut self, i: usize) {
        let host = &mut self.hosts[i];
        let mut batch = Batch::for_simulation(64);
        while host
            .endpoint
            .poll_transmit(self.now, &mut host.apps, &mut batch)
        {
            let (path, ecn) = batch.destination().map(|(p, e)| (*p, e)).unwrap();
            let seen = path.reversed();
            for d in batch.datagrams() {
                self.packets += 1;
                let at = self.now + DELAY;
                self.wire
                    .push_back((at, 1 - i, seen, ecn, d.bytes.to_vec(), d.zeros));
            }
            batch.clear();
        }
        while let Some(event) = host.endpoint.poll_event() {
            host.events.push(event);
        }
    }

    fn run(&mut self, until: Instant) {
        for i in 0..2 {
            self.drain(i);
        }
        loop {
            let arrival = self.wire.front().map(|w| w.0);
            let timeouts = self.hosts.iter().filter_map(|h| h.endpoint.poll_timeout());
            let Some(next) = arrival.into_iter().chain(timeouts).min() else {
                return;
            };
            if next > until {
                return;
            }
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, i, path, ecn, bytes, zeros) = self.wire.pop_front().unwrap();
                let host = &mut self.hosts[i];
                let datagram = Datagram {
                    bytes: &bytes,
                    zeros,
                };
                host.endpoint
                    .handle_datagram(self.now, &path, ecn, &datagram, &mut host.apps);
                self.drain(i);
            }
            for i in 0..2 {
                let host = &mut self.hosts[i];
                host.endpoint.handle_timeout(self.now, &mut host.apps);
                self.drain(i);
            }
        }
    }
}

#[test]
fn seventy_thousand_packets_of_a_slow_start_all_arrive() {
    let mut net = Net::new();
    let service = ServiceCode(42);
    net.hosts[1]
        .endpoint
        .listen(5001, &[service], Config::default())
        .unwrap();
    let flow = Flow {
        path: path(1, 2),
        local_port: 40_000,
        remote_port: 5001,
    };
    let config = Config {
        service_code: service,
        ..Config::default()
    };
    let id = net.hosts[0]
        .endpoint
        .connect(net.now, flow, config)
        .unwrap();
    net.run(Instant::from_nanos(100_000_000));
    assert_eq!(net.hosts[0].events, [(id, Event::Connected)]);
    net.hosts[0].apps.out.to_send = PACKETS;
    net.hosts[0].endpoint.on_data_ready(id);
    net.run(Instant::from_nanos(60_000_000_000));
    assert_eq!(net.hosts[1].apps.taker.0, PACKETS);
    let acked = net.hosts[0]
        .apps
        .out
        .fates
        .iter()
        .filter(|f| f.1 == Fate::Acked);
    assert_eq!(acked.count(), PACKETS as usize);
    let now = net.now;
    let host = &mut net.hosts[0];
    host.endpoint.close(now, id, &mut host.apps);
    net.run(Instant::from_nanos(70_000_000_000));
    assert_eq!(
        net.hosts[0].events.last(),
        Some(&(id, Event::Closed(crate::CloseReason::Local)))
    );
    assert_eq!(net.hosts[0].endpoint.connections(), 0);
    assert_eq!(net.hosts[1].endpoint.connections(), 0);
    assert_eq!(net.hosts[0].endpoint.resting(), 1);
}

#[test]
fn hold_off_leaves_other_ccids_and_is_that_of_all_endpoints_that_share_it() {
    // SafeUDP §6: a breaker holds CCID 248 off, not CCID 2.
    let other = Endpoint::new(Box::new(Mix(2)));
    let mut endpoint = Endpoint::new(Box::new(Mix(1)));
    endpoint.share_hold_off(&other.hold_off);
    let flow = Flow {
        path: path(1, 2),
        local_port: 40_000,
        remote_port: 5001,
    };
    let (now, until) = (Instant::ZERO, Instant::from_nanos(1));
    other.hold_off.add(now, flow.path.remote, until);
    let permitted = |now, ccids: &[u8]| {
        let config = Config {
            tx_ccids: ccids.to_vec(),
            ..Config::default()
        };
        let config = endpoint.permitted(now, &flow, Arc::new(config));
        config.map(|config| config.tx_ccids.clone())
    };
    assert_eq!(permitted(now, &[safeudp::NUMBER]), Err(until));
    assert_eq!(permitted(now, &[safeudp::NUMBER, 2]), Ok(vec![2]));
    let all = permitted(until, &[safeudp::NUMBER, 2]);
    assert_eq!(all, Ok(vec![safeudp::NUMBER, 2]));
}

#[test]
fn an_ended_connection_can_be_looked_at_until_the_next_event_is_polled() {
    let mut endpoint = Endpoint::new(Box::new(Mix(1)));
    let mut apps = Apps::default();
    let mut batch = Batch::for_simulation(64);
    let flow = Flow {
        path: path(1, 2),
        local_port: 40_000,
        remote_port: 5001,
    };
    let now = Instant::ZERO;
    let id = endpoint.connect(now, flow, Config::default()).unwrap();
    assert!(endpoint.poll_transmit(now, &mut apps, &mut batch));
    endpoint.abort(now, id, &mut apps);
    assert_eq!(endpoint.poll_event(), None, "its Reset has not left");
    batch.clear();
    assert!(endpoint.poll_transmit(now, &mut apps, &mut batch));
    batch.clear();
    assert!(!endpoint.poll_transmit(now, &mut apps, &mut batch));
    assert_eq!(endpoint.connections(), 0, "its flow is free");
    let end = Event::Closed(ABORTED);
    assert_eq!(endpoint.poll_event(), Some((id, end)));
    let sent = endpoint.connection(id).map(|c| c.stats().mib.out_rsts);
    assert_eq!(sent, Some(1));
    assert_eq!(endpoint.poll_event(), None);
    assert!(endpoint.connection(id).is_none());
    let again = endpoint.connect(now, flow, Config::default()).unwrap();
    assert_ne!(again, id, "ids are never used again");
}

#[test]
fn a_refusal_ends_the_handshake_at_once() {
    // 5595-3.3.1-1, 5595-3.3.1-2: the Reset passes the sequence checks of REQUEST (4340-8.5-4).
    let mut net = Net::new();
    let host = &mut net.hosts[1].endpoint;
    host.listen(5001, &[ServiceCode(1)], Config::default())
        .unwrap();
    for (remote_port, code) in [
        (5001, ResetCode::BAD_SERVICE_CODE),
        (5002, ResetCode::CONNECTION_REFUSED),
    ] {
        let flow = Flow {
            path: path(1, 2),
            local_port: 40_000,
            remote_port,
        };
        let host = &mut net.hosts[0];
        let id = host
            .endpoint
            .connect(net.now, flow, Config::default())
            .unwrap();
        net.run(net.now + 3 * DELAY);
        let end = net.hosts[0].events.pop();
        assert!(
            matches!(
                &end,
                Some((i, Event::Closed(crate::CloseReason::Reset { code: c, .. }))) if *i == id && *c == code
            ),
            "{end:?}"
        );
        assert_eq!(net.hosts[0].endpoint.connections(), 0);
    }
}

#[test]
fn a_packet_after_the_end_of_its_connection_changes_nothing() {
    let mut net = Net::new();
    net.hosts[1]
        .endpoint
        .listen(5001, &[ServiceCode::NONE], Config::default())
        .unwrap();
    let flow = Flow {
        path: path(1, 2),
        local_port: 40_000,
        remote_port: 5001,
    };
    let id = net.hosts[0]
        .endpoint
        .connect(net.now, flow, Config::default())
        .unwrap();
    net.run(net.now + 10 * DELAY);
    // Data is on its way to the server while that aborts, and arrives before the Reset has left.
    net.hosts[0].apps.out.to_send = 3;
    net.hosts[0].endpoint.on_data_ready(id);
    net.drain(0);
    let server = net.hosts[1].events[0].0;
    let now = net.now;
    let host = &mut net.hosts[1];
    host.endpoint.abort(now, server, &mut host.apps);
    let (_, _, path, ecn, bytes, zeros) = net.wire.pop_front().unwrap();
    let datagram = Datagram {
        bytes: &bytes,
        zeros,
    };
    let host = &mut net.hosts[1];
    host.endpoint
        .handle_datagram(now, &path, ecn, &datagram, &mut host.apps);
    net.run(now + 10 * DELAY);
    let ends: Vec<_> = net.hosts[1]
        .events
        .iter()
        .filter(|(_, e)| matches!(e, Event::Closed(_)))
        .collect();
    assert_eq!(ends, [&(server, Event::Closed(ABORTED))]);
}

#[test]
fn connections_that_share_their_udp_ports_are_told_apart_by_their_dccp_ports() {
    // 6773-3.8-3 (b)
    let mut net = Net::new();
    let service = ServiceCode(42);
    let config = Config {
        service_code: service,
        ..Config::default()
    };
    let udp = |local_port, remote_port| Encap::Udp {
        local_port,
        remote_port,
    };
    let flow = |local_port| Flow {
        path: Path {
            encap: udp(14_233, 14_234),
            ..path(1, 2)
        },
        local_port,
        remote_port: 5001,
    };
    net.hosts[1]
        .endpoint
        .listen(5001, &[service], config.clone())
        .unwrap();
    for port in [40_000, 40_001] {
        net.hosts[0]
            .endpoint
            .connect(net.now, flow(port), config.clone())
            .unwrap();
    }
    net.run(Instant::from_nanos(100_000_000));
    let connected = net.hosts[1]
        .events
        .iter()
        .filter(|(_, e)| *e == Event::Connected);
    assert_eq!(connected.count(), 2);
    assert_eq!(net.hosts[1].endpoint.connections(), 2);
}
