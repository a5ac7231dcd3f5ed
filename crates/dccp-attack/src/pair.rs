//! Two endpoints with one busy connection, on a network without loss, in virtual time.

use crate::random::Random;
use crate::report::Outcome;
use crate::victim;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::conn::{App, State};
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Datagram, Ecn, PacketType, Payload, Place, ServiceCode};
use dccp_proto::{Config, ConnId, Endpoint, Event, Instant, KeyedHash, Queues};
use std::collections::VecDeque;

pub(crate) const SERVICE: ServiceCode = ServiceCode::from_ascii(victim::SERVICE);
/// The DCCP port of the server.
pub(crate) const SERVER_PORT: u16 = 5001;
const CLIENT_PORT: u16 = 40_000;
/// The time of one step.
const STEP: Duration = Duration::from_millis(1);
/// From one end to the other.
const DELAY: Duration = Duration::from_millis(5);
/// The begin of each honest datagram; its number follows.
const HONEST: &[u8; 6] = b"honest";
const HONEST_LEN: usize = HONEST.len() + 4;
/// Packets that a recording keeps.
const RECORDED_MAX: usize = 1024;
/// The content of a forged one.
pub(crate) const FORGED: &[u8] = b"forged";
/// Datagrams that each end sends in a step.
const PER_STEP: u32 = 1;
/// Datagrams that wait for congestion control at most.
const WAITING_MAX: u32 = 100;

/// A keyed hash whose key the attacker does not know.
struct Secret(u64);

impl KeyedHash for Secret {
    fn hash(&self, data: &[u8]) -> u128 {
        let mut state = self.0;
        for chunk in data.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state = Random::new(state ^ u64::from_le_bytes(word)).next();
        }
        let mut random = Random::new(state);
        (u128::from(random.next()) << 64) | u128::from(random.next())
    }
}

/// The application of one end.
#[derive(Default)]
pub(crate) struct Application {
    outbox: Sending,
    inbox: Receiving,
}

#[derive(Default)]
struct Sending {
    waiting: u32,
    next: u32,
}

/// Counters of the datagrams that arrived.
#[derive(Default)]
struct Receiving {
    /// The honest ones that have arrived, a bit each.
    seen: Vec<u64>,
    distinct: u64,
    repeated: u64,
    forged: u64,
}

impl Receiving {
    fn take(&mut self, number: u32) {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit == 0 {
            self.distinct += 1;
        } else {
            self.repeated += 1;
        }
        self.seen[word] |= bit;
    }
}

impl Outbox for Sending {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        (self.waiting > 0).then_some(Offer {
            slot: Slot(self.next),
            len: HONEST_LEN,
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _now: Instant, _slot: Slot, place: &mut Place<'_>) -> bool {
        let mut datagram = [0; HONEST_LEN];
        datagram[..HONEST.len()].copy_from_slice(HONEST);
        datagram[HONEST.len()..].copy_from_slice(&self.next.to_be_bytes());
        self.waiting -= 1;
        self.next += 1;
        place.fill(&datagram);
        true
    }

    fn refuse(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {
        self.waiting -= 1;
        self.next += 1;
    }

    fn on_fate(&mut self, _now: Instant, _slot: Slot, _fate: Fate) {}
}

impl Inbox for Receiving {
    fn deliver(&mut self, datagram: Payload<'_>, _meta: Delivery) -> Accepted {
        let number = match datagram {
            Payload::Bytes(bytes) => bytes.strip_prefix(HONEST),
            Payload::Zeros(_) => None,
        };
        match number.and_then(|number| number.try_into().ok()) {
            Some(number) => self.take(u32::from_be_bytes(number)),
            None => self.forged += 1,
        }
        Accepted::Yes
    }
}

impl Queues for Application {
    fn with_app(&mut self, _id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        run(&mut App {
            outbox: &mut self.outbox,
            inbox: &mut self.inbox,
        });
    }
}

/// One end.
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    pub(crate) app: Application,
    /// The connection as this end sees it.
    pub(crate) flow: Flow,
    id: Option<ConnId>,
    /// Datagrams that the application has offered.
    offered: u64,
    /// Bytes of all packets to other addresses than the peer's, with IP and UDP headers.
    pub(crate) stranger_bytes_out: u64,
    packets_out: u64,
}

impl End {
    fn new(key: u64, flow: Flow) -> Self {
        Self {
            endpoint: Endpoint::new(Box::new(Secret(key))),
            app: Application::default(),
            flow,
            id: None,
            offered: 0,
            stranger_bytes_out: 0,
            packets_out: 0,
        }
    }

    /// A packet arrives.
    pub(crate) fn receive(&mut self, now: Instant, path: &Path, bytes: &[u8]) {
        let datagram = Datagram::new(bytes);
        self.endpoint
            .handle_datagram(now, path, Ecn::NotEct, &datagram, &mut self.app);
    }

    /// Takes all packets that leave now, and the events.
    fn drain(&mut self, now: Instant, batch: &mut Batch, mut each: impl FnMut(&Path, &[u8])) {
        while self.endpoint.poll_transmit(now, &mut self.app, batch) {
            if let Some((path, _)) = batch.destination() {
                for datagram in batch.datagrams() {
                    self.packets_out += 1;
                    if *path != self.flow.path {
                        self.stranger_bytes_out += (path.overhead() + datagram.len()) as u64;
                    }
                    each(path, datagram.bytes);
                }
            }
            batch.clear();
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            if matches!(event, Event::Accepted { .. }) && self.id.is_none() {
                self.id = Some(id);
            }
        }
    }

    fn is_open(&self) -> bool {
        let connection = self.id.and_then(|id| self.endpoint.connection(id));
        connection.is_some_and(|connection| connection.state() == State::Open)
    }

    /// Packets of a type that this end has sent on its connection.
    fn sent(&self, packet_type: PacketType) -> u64 {
        let connection = self.id.and_then(|id| self.endpoint.connection(id));
        connection.map_or(0, |c| c.stats().packets_out.of(packet_type))
    }
}

/// Replaces a packet by any number of packets, each with its additional delay.
pub(crate) type Tamper = dyn FnMut(&[u8], &mut Vec<(Duration, Vec<u8>)>);

/// Both ends and the network.
pub(crate) struct Pair {
    pub(crate) now: Instant,
    begin: Instant,
    pub(crate) client: End,
    pub(crate) server: End,
    /// Packets on their way: their arrival, whether to the server, and their bytes.
    network: VecDeque<(Instant, bool, Vec<u8>)>,
    /// The newest packets, whether to the server, and their bytes.
    pub(crate) recorded: VecDeque<(bool, Vec<u8>)>,
    /// The attacker on the path.
    pub(crate) tamper: Option<Box<Tamper>>,
    batch: Batch,
}

/// The harm that an attack has done to the datagrams of both ends.
#[derive(Clone, Copy, Default)]
pub(crate) struct Damage {
    missing: u64,
    repeated: u64,
    forged: u64,
}

impl Damage {
    /// Expects none.
    pub(crate) fn report(self, outcome: &mut Outcome) {
        self.report_within(outcome, 0);
    }

    /// Expects at most `odds` forged datagrams, each in place of an honest one.
    pub(crate) fn report_within(self, outcome: &mut Outcome, odds: u64) {
        outcome.expect_at_most("honest datagrams missing", self.missing, odds);
        outcome.expect_at_most("repeated", self.repeated, 0);
        outcome.expect_at_most("forged ones delivered", self.forged, odds);
    }

    /// Expects none, and reports figures only if there is some.
    pub(crate) fn report_quietly(self, outcome: &mut Outcome) {
        if self.missing + self.repeated + self.forged > 0 {
            self.report(outcome);
        }
    }
}

impl Pair {
    /// A listener, and a client with an open connection to it.
    pub(crate) fn open() -> Self {
        Self::with(config())
    }

    /// The same, and the listener has these settings.
    pub(crate) fn with(listener: Config) -> Self {
        let encap = Encap::Udp {
            local_port: CLIENT_PORT,
            remote_port: 14_233,
        };
        Self::over(encap, listener)
    }

    /// The same over IP, where DCCP's checksum covers all of a packet.
    pub(crate) fn over_ip() -> Self {
        Self::over(Encap::Ip, config())
    }

    fn over(encap: Encap, listener: Config) -> Self {
        let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
        let path = Path {
            local: ip(1),
            remote: ip(2),
            encap,
        };
        let flow = Flow {
            path,
            local_port: CLIENT_PORT,
            remote_port: SERVER_PORT,
        };
        let back = Flow {
            path: path.reversed(),
            local_port: SERVER_PORT,
            remote_port: CLIENT_PORT,
        };
        let begin = Instant::from_nanos(1_000_000_000);
        let mut pair = Self {
            now: begin,
            begin,
            client: End::new(0x5eed_0001, flow),
            server: End::new(0x5eed_0002, back),
            network: VecDeque::new(),
            recorded: VecDeque::new(),
            tamper: None,
            batch: Batch::new(1),
        };
        let listening = pair
            .server
            .endpoint
            .listen(SERVER_PORT, &[SERVICE], listener);
        listening.expect("the settings are valid");
        pair.connect();
        pair
    }

    /// Connects both ends, again if their connection has ended.
    pub(crate) fn connect(&mut self) {
        let flow = self.client.flow;
        let connected = self.client.endpoint.connect(self.now, flow, config());
        self.client.id = Some(connected.expect("the settings are valid, and the port is free"));
        self.server.id = None;
        for _ in 0..100 {
            self.step();
        }
        assert!(self.is_open(), "the handshake takes less than 100 ms");
    }

    pub(crate) fn is_open(&self) -> bool {
        self.client.is_open() && self.server.is_open()
    }

    /// Both applications send, and 1 ms passes.
    pub(crate) fn step(&mut self) {
        for end in [&mut self.client, &mut self.server] {
            if end.is_open() && end.app.outbox.waiting < WAITING_MAX {
                end.app.outbox.waiting += PER_STEP;
                end.offered += u64::from(PER_STEP);
                if let Some(id) = end.id {
                    end.endpoint.on_data_ready(id);
                }
            }
        }
        self.pass();
    }

    /// Time passes without new datagrams.
    pub(crate) fn settle(&mut self, steps: u32) {
        for _ in 0..steps {
            self.pass();
        }
    }

    fn pass(&mut self) {
        self.drain();
        self.now += STEP;
        let now = self.now;
        while let Some((_, to_server, bytes)) = self.network.pop_front_if(|(at, ..)| *at <= now) {
            let end = if to_server {
                &mut self.server
            } else {
                &mut self.client
            };
            let path = end.flow.path;
            end.receive(now, &path, &bytes);
        }
        for end in [&mut self.client, &mut self.server] {
            if end.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                end.endpoint.handle_timeout(now, &mut end.app);
            }
        }
        self.drain();
    }

    /// Lets `time` pass on idle ends.
    pub(crate) fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += Duration::from_millis(100);
            self.pass();
        }
    }

    /// Packets of the pair go to the network. Those to other addresses are counted only.
    fn drain(&mut self) {
        let at = self.now + DELAY;
        let mut tampered = Vec::new();
        for (end, to_server) in [(&mut self.client, true), (&mut self.server, false)] {
            let own = end.flow.path;
            let (network, recorded) = (&mut self.network, &mut self.recorded);
            let tamper = &mut self.tamper;
            end.drain(self.now, &mut self.batch, |path, bytes| {
                if *path != own {
                    return;
                }
                recorded.push_back((to_server, bytes.to_vec()));
                let Some(tamper) = tamper else {
                    network.push_back((at, to_server, bytes.to_vec()));
                    return;
                };
                tamper(bytes, &mut tampered);
                for (delay, bytes) in tampered.drain(..) {
                    let at = at + delay;
                    let place = network.partition_point(|(other, ..)| *other <= at);
                    network.insert(place, (at, to_server, bytes));
                }
            });
            let excess = recorded.len().saturating_sub(RECORDED_MAX);
            recorded.drain(..excess);
        }
    }

    /// Packets that both ends have sent.
    pub(crate) fn packets_out(&self) -> u64 {
        self.client.packets_out + self.server.packets_out
    }

    /// Seconds since the beginning, rounded up.
    pub(crate) fn seconds(&self) -> u64 {
        (self.now - self.begin).as_secs() + 1
    }

    /// The harm to the datagrams of both directions.
    pub(crate) fn damage(&self) -> Damage {
        let ends = [(&self.client, &self.server), (&self.server, &self.client)];
        let mut damage = Damage::default();
        for (from, to) in ends {
            let inbox = &to.app.inbox;
            damage.missing += from.offered.saturating_sub(inbox.distinct);
            damage.repeated += inbox.repeated;
            damage.forged += inbox.forged;
        }
        damage
    }

    /// The path MTU that each end uses, the smaller one.
    pub(crate) fn pmtu(&self) -> usize {
        let of = |end: &End| {
            let connection = end.id.and_then(|id| end.endpoint.connection(id));
            connection.map_or(0, |connection| connection.snapshot().pmtu)
        };
        of(&self.client).min(of(&self.server))
    }

    /// Syncs of both ends.
    pub(crate) fn syncs(&self) -> u64 {
        self.client.sent(PacketType::Sync) + self.server.sent(PacketType::Sync)
    }

    /// Ends the connection from the client. Returns whether it ended on both ends.
    pub(crate) fn close(&mut self) -> bool {
        if let Some(id) = self.client.id {
            self.client
                .endpoint
                .close(self.now, id, &mut self.client.app);
        }
        self.settle(100);
        !self.client.is_open() && !self.server.is_open()
    }
}

/// The settings of both ends.
pub(crate) fn config() -> Config {
    Config {
        service_code: SERVICE,
        ..Config::default()
    }
}
