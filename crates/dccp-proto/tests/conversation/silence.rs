//! Peers that vanish: the silence is noticed, and the connections end by themselves.

use crate::bench::pair::{CLIENT, Net, Pair, SERVER};
use crate::bench::{Bench, Pkt, SERVICE, START, WeakHash};
use dccp_proto::batch::Batch;
use dccp_proto::conn::{App, State};
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, SendQueue, Slot};
use dccp_proto::wire::{Datagram, Ecn, Kind, PacketType, Payload, Place};
use dccp_proto::{CloseReason, Config, ConnId, Endpoint, Event, Instant, Queues};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);
const TIMED_OUT: Event = Event::Closed(CloseReason::TimedOut);

const fn s(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// An open pair that has exchanged a datagram and has been idle since.
fn idle_pair(client: Config) -> Pair {
    let mut pair = Pair::connecting(DELAY, client, Bench::config());
    pair.run(s(1));
    pair.ends[CLIENT].send(b"hello");
    pair.run(s(60));
    assert_eq!(pair.ends[CLIENT].state(), State::Open);
    assert_eq!(pair.ends[SERVER].got(), [b"hello"]);
    pair
}

#[test]
fn a_vanished_peer_ends_the_connection_within_two_minutes() {
    let mut pair = idle_pair(Bench::config());
    pair.net = Box::new(|_, _| Net::Lose);
    pair.ends[CLIENT].send(b"into the void");
    pair.run(s(24));
    let client = &pair.ends[CLIENT];
    assert!(
        client
            .events
            .iter()
            .any(|e| matches!(e, Event::Silent { .. }))
    );
    assert_eq!(client.state(), State::Open);
    pair.run(s(96));
    let client = &pair.ends[CLIENT];
    assert_eq!(client.events.last(), Some(&TIMED_OUT));
    assert_eq!(client.endpoint.connections(), 0);
}

#[test]
fn a_keepalive_finds_the_peer_of_an_idle_connection_dead() {
    let mut pair = idle_pair(Config {
        keepalive: Some(s(5)),
        ..Bench::config()
    });
    pair.net = Box::new(|_, _| Net::Lose);
    pair.run(s(120));
    assert_eq!(pair.ends[CLIENT].events.last(), Some(&TIMED_OUT));
}

#[test]
fn an_idle_timeout_ends_a_connection_that_only_receives() {
    let mut pair = idle_pair(Config {
        idle_timeout: Some(s(100)),
        ..Bench::config()
    });
    assert_eq!(pair.ends[CLIENT].state(), State::Open);
    pair.run(s(60));
    assert_eq!(pair.ends[CLIENT].events.last(), Some(&TIMED_OUT));
}

#[test]
fn sync_of_closing_end_after_idle_timeout_arms_no_timer() {
    let config = Config {
        idle_timeout: Some(s(1)),
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        bench.close();
        bench.advance(s(3));
        // A packet far outside the window demands a Sync. The timer of a passed idle timeout would be due forever.
        let far = bench.peer_gss.plus(1_000_000);
        let answer = bench.answer(&Pkt::new(Kind::Data, far));
        assert_eq!(answer.packet_type(), PacketType::Sync);
        bench.advance(s(1));
        assert!(matches!(bench.state(), State::CloseReq | State::Closing));
    }
}

#[test]
fn sync_of_partopen_after_idle_timeout_ends_connection() {
    let mut bench = Bench::partopen_client(Config {
        idle_timeout: Some(s(1)),
        ..Bench::config()
    });
    // The first Sync of PARTOPEN leaves after the idle timeout, and starts the detection.
    let sent = bench.advance(s(4));
    let (at, sync) = sent
        .iter()
        .find(|(_, p)| p.packet_type() == PacketType::Sync)
        .unwrap();
    assert!(*at > s(1), "{sync:?}");
    assert_eq!(bench.events.last(), Some(&TIMED_OUT));
}

#[test]
fn a_connection_survives_an_outage_of_a_minute() {
    let mut pair = idle_pair(Bench::config());
    pair.net = Box::new(|_, _| Net::Lose);
    pair.ends[CLIENT].send(b"lost");
    pair.run(s(60));
    pair.net = Box::new(|_, _| Net::Deliver);
    pair.run(s(300));
    let client = &pair.ends[CLIENT];
    assert!(
        client
            .events
            .iter()
            .any(|e| matches!(e, Event::Silent { .. }))
    );
    assert_eq!(client.state(), State::Open);
}

#[test]
fn an_idle_connection_sends_nothing() {
    let mut pair = idle_pair(Bench::config());
    let sent = pair.log.len();
    pair.run(s(3600));
    assert_eq!(pair.log.len(), sent);
    assert_eq!(pair.ends[CLIENT].state(), State::Open);
}

/// An application that sends zeros and takes everything.
struct Idle(SendQueue);

impl Outbox for Idle {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        self.0.peek()
    }

    fn claim_into(&mut self, _now: Instant, slot: Slot, _place: &mut Place<'_>) -> bool {
        self.0.claim(slot)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.0.refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.0.on_fate(now, slot, fate);
    }
}

struct Sink;

impl Inbox for Sink {
    fn deliver(&mut self, _datagram: Payload<'_>, _meta: Delivery) -> Accepted {
        Accepted::Yes
    }
}

#[derive(Default)]
struct Applications(HashMap<ConnId, Idle>);

impl Applications {
    fn of(&mut self, id: ConnId) -> &mut Idle {
        self.0
            .entry(id)
            .or_insert_with(|| Idle(SendQueue::new(1, 0)))
    }
}

impl Queues for Applications {
    fn with_app(&mut self, id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        run(&mut App {
            outbox: self.of(id),
            inbox: &mut Sink,
        });
    }
}

/// One address with its connections.
struct Host {
    endpoint: Endpoint,
    apps: Applications,
    events: Vec<(ConnId, Event)>,
}

impl Host {
    fn new(key: u64) -> Self {
        Self {
            endpoint: Endpoint::new(Box::new(WeakHash { key, iss: None })),
            apps: Applications::default(),
            events: Vec::new(),
        }
    }

    /// All packets that leave now.
    fn sent(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        let mut batch = Batch::new(64);
        while self.endpoint.poll_transmit(now, &mut self.apps, &mut batch) {
            sent.extend(batch.datagrams().map(|d| d.bytes.to_vec()));
            batch.clear();
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
        sent
    }

    fn receive(&mut self, now: Instant, path: &Path, packets: &[Vec<u8>]) {
        for bytes in packets {
            let datagram = Datagram::new(bytes);
            self.endpoint
                .handle_datagram(now, path, Ecn::NotEct, &datagram, &mut self.apps);
        }
    }
}

#[test]
fn a_server_frees_ten_thousand_vanished_clients() {
    const CLIENTS: u16 = 10_000;
    const PORT: u16 = 5001;
    let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
    let path = Path {
        local: ip(1),
        remote: ip(2),
        encap: Encap::Ip,
    };
    let config = Bench::config();
    let (mut clients, mut server) = (Host::new(1), Host::new(2));
    server
        .endpoint
        .listen(PORT, &[SERVICE], config.clone())
        .unwrap();
    let mut now = START;
    for local_port in 1..=CLIENTS {
        let flow = Flow {
            path,
            local_port,
            remote_port: PORT,
        };
        clients.endpoint.connect(now, flow, config.clone()).unwrap();
        for _ in 0..3 {
            let packets = clients.sent(now);
            now += Duration::from_micros(10);
            server.receive(now, &path.reversed(), &packets);
            let packets = server.sent(now);
            now += Duration::from_micros(10);
            clients.receive(now, &path, &packets);
        }
    }
    let connected = |events: &[(ConnId, Event)]| -> Vec<ConnId> {
        let open = events.iter().filter(|(_, e)| *e == Event::Connected);
        open.map(|(id, _)| *id).collect()
    };
    let ids = connected(&server.events);
    assert_eq!(ids.len(), usize::from(CLIENTS));
    // All clients vanish, and the server sends each a datagram.
    for id in &ids {
        let offer = Offer {
            slot: Slot(0),
            len: 100,
            is_zeros: true,
        };
        server.apps.of(*id).0.push(offer).unwrap();
        server.endpoint.on_data_ready(*id);
    }
    let vanished = now;
    let mut packets = server.sent(now).len();
    while let Some(at) = server.endpoint.poll_timeout() {
        now = now.max(at);
        server.endpoint.handle_timeout(now, &mut server.apps);
        packets += server.sent(now).len();
    }
    assert!(now - vanished <= s(120), "{:?}", now - vanished);
    assert_eq!(server.endpoint.connections(), 0);
    let ended = server
        .events
        .iter()
        .filter(|(_, e)| *e == TIMED_OUT)
        .count();
    assert_eq!(ended, usize::from(CLIENTS));
    // The datagram, six Syncs, the Reset, and repeated feature negotiations.
    let per_client = packets / usize::from(CLIENTS);
    assert!(per_client <= 20, "{per_client} packets for each client");
}
