//! A bench for one endpoint: the test plays the peer, packet by packet.
//!
//! The endpoint is at 192.0.2.1, the test at 192.0.2.2, over IP protocol 33. Time stands still
//! unless the test advances it.

mod app;
mod opening;
mod packet;
pub(crate) mod pair;

pub(crate) use app::Application;
pub(crate) use packet::{Pkt, RECEIVED, confirms_for, reset, response};

use dccp_proto::batch::Batch;
use dccp_proto::conn::stats::{DropReason, Stats};
use dccp_proto::conn::{ConnSnapshot, Connection, Role, State};
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Slot};
use dccp_proto::wire::{
    self, Datagram, Ecn, Kind, Options, Packet, Payload, ResetCode, ServiceCode,
};
use dccp_proto::{Config, ConnId, Endpoint, Event, IcmpError, IcmpKind, Instant, KeyedHash, Seq};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub(crate) const OUR_PORT: u16 = 5001;
pub(crate) const PEER_PORT: u16 = 40_000;
pub(crate) const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"TEST");
/// The peer's first sequence number, unless the test says otherwise.
pub(crate) const PEER_ISS: u64 = 1_000_000;
/// So small that the first window is 4 packets, which leaves the Ack Ratio at 2.
pub(crate) const MTU: usize = 1100;
/// When all tests begin.
pub(crate) const START: Instant = Instant::from_nanos(1_000_000_000);

/// A keyed hash that a test can foresee.
#[derive(Clone, Copy)]
pub(crate) struct WeakHash {
    pub(crate) key: u64,
    /// The endpoint's first sequence number, if a connection begins at [`START`].
    pub(crate) iss: Option<u64>,
}

impl KeyedHash for WeakHash {
    fn hash(&self, data: &[u8]) -> u128 {
        const PRIME: u128 = (1 << 88) + 0x13b;
        if let Some(iss) = self.iss.filter(|_| data.starts_with(b"iss")) {
            return u128::from(iss.wrapping_sub(START.as_nanos() >> 8));
        }
        let hash = data.iter().fold(u128::from(self.key), |h, &b| {
            (h ^ u128::from(b)).wrapping_mul(PRIME)
        });
        // The last bytes change only the upper half.
        hash ^ (hash >> 64).wrapping_mul(PRIME)
    }
}

/// The shortest time.
pub(crate) const NANOSECOND: Duration = Duration::from_nanos(1);

/// The longest time that is shorter.
pub(crate) fn almost(d: Duration) -> Duration {
    d.saturating_sub(NANOSECOND)
}

pub(crate) struct Bench {
    pub(crate) now: Instant,
    pub(crate) endpoint: Endpoint,
    pub(crate) app: Application,
    pub(crate) events: Vec<Event>,
    /// The connection that the test is about.
    pub(crate) id: Option<ConnId>,
    /// The sequence number that the peer used last.
    pub(crate) peer_gss: Seq,
    /// The greatest sequence number that the endpoint has sent.
    pub(crate) gss: Seq,
}

impl Bench {
    /// An endpoint without connections.
    pub(crate) fn new() -> Self {
        Self::with_hash(WeakHash { key: 7, iss: None }, PEER_ISS)
    }

    /// The same, and its connections begin with these sequence numbers.
    pub(crate) fn numbered(iss: u64, peer_iss: u64) -> Self {
        let hash = WeakHash {
            key: 7,
            iss: Some(iss),
        };
        Self::with_hash(hash, peer_iss)
    }

    /// The same, with this secret.
    pub(crate) fn keyed(key: u64) -> Self {
        Self::with_hash(WeakHash { key, iss: None }, PEER_ISS)
    }

    fn with_hash(hash: WeakHash, peer_iss: u64) -> Self {
        Self {
            now: START,
            endpoint: Endpoint::new(Box::new(hash)),
            app: Application::default(),
            events: Vec::new(),
            id: None,
            peer_gss: Seq::new(peer_iss).minus(1),
            gss: Seq::ZERO,
        }
    }

    pub(crate) fn path() -> Path {
        let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
        Path {
            local: ip(1),
            remote: ip(2),
            encap: Encap::Ip,
        }
    }

    pub(crate) fn flow() -> Flow {
        Flow {
            path: Self::path(),
            local_port: OUR_PORT,
            remote_port: PEER_PORT,
        }
    }

    /// The settings of most tests: CCID 2 both ways, no probing.
    pub(crate) fn config() -> Config {
        Config {
            tx_ccids: vec![2],
            rx_ccids: vec![2],
            service_code: SERVICE,
            probe_pmtu: false,
            mtu: MTU,
            ..Config::default()
        }
    }

    /// Settings that ask for nearly every feature, so that a Request has many options.
    pub(crate) fn all_features() -> Config {
        Config {
            tx_ccids: vec![3],
            rx_ccids: vec![3],
            ack_ratio: Some(3),
            short_seqnos: true,
            send_cscov: 15,
            min_cscov: 1,
            data_checksum: true,
            ndp_count: true,
            ack_vectors: true,
            ecn: false,
            timestamps: true,
            ..Self::config()
        }
    }

    /// The peer's next packet.
    pub(crate) fn next(&mut self, kind: Kind) -> Pkt {
        self.peer_gss = self.peer_gss.next();
        Pkt::new(kind, self.peer_gss)
    }

    /// Checks that the peer's next packet is answered as a packet of no connection (4340-8.3.1-1, 4340-8.3.1-2:
    /// Reset No Connection).
    pub(crate) fn is_unknown(&mut self, kind: Kind) {
        let packet = self.next(kind);
        let answer = self.answer(&packet);
        assert_eq!(answer.kind, reset(packet.seq, ResetCode::NO_CONNECTION));
        assert_eq!(answer.seq, packet.ack().map_or(Seq::ZERO, Seq::next));
    }

    /// The peer's next packet arrives.
    pub(crate) fn give_next(&mut self, kind: Kind) {
        let packet = self.next(kind);
        self.give(&packet);
    }

    /// Sends `n` Data packets from the peer and ignores the endpoint's answers.
    pub(crate) fn give_data(&mut self, n: usize) {
        for _ in 0..n {
            self.give_next(Kind::Data);
            self.take();
        }
    }

    /// The endpoint's answers to the peer's next packet.
    pub(crate) fn answers_next(&mut self, kind: Kind) -> Vec<Pkt> {
        let packet = self.next(kind);
        self.answers(&packet)
    }

    /// The one packet that the endpoint sends in answer to this one.
    pub(crate) fn answer(&mut self, packet: &Pkt) -> Pkt {
        self.give(packet);
        self.take_one()
    }

    /// The first packet that the endpoint sends in answer to this one: an Ack may follow.
    pub(crate) fn first_answer(&mut self, packet: &Pkt) -> Pkt {
        self.answers(packet).remove(0)
    }

    /// Exchanges `n` Syncs, which advances the endpoint's sequence numbers by `n`.
    pub(crate) fn exchange_syncs(&mut self, n: usize) {
        for _ in 0..n {
            let sync = self.next(Kind::Sync { ack: self.gss });
            let answer = self.answer(&sync);
            assert_eq!(answer.kind, Kind::SyncAck { ack: sync.seq });
        }
    }

    /// The peer's packet arrives.
    pub(crate) fn give(&mut self, packet: &Pkt) {
        self.give_on(&Self::flow(), packet);
    }

    /// A packet of another flow arrives.
    pub(crate) fn give_on(&mut self, flow: &Flow, packet: &Pkt) {
        let bytes = Self::encode(flow, packet);
        self.endpoint.handle_datagram(
            self.now,
            &flow.path,
            packet.ecn,
            &Datagram::new(&bytes),
            &mut self.app,
        );
    }

    /// The bytes of a packet of the peer.
    pub(crate) fn encode(flow: &Flow, packet: &Pkt) -> Vec<u8> {
        let mut bytes = Vec::new();
        let path = flow.path;
        let view = Packet {
            source_port: flow.remote_port,
            dest_port: flow.local_port,
            ccval: packet.ccval,
            cscov: packet.cscov,
            is_short: packet.is_short,
            seq: packet.seq,
            kind: packet.kind,
            options: Options(&packet.options),
            payload: Payload::Bytes(&packet.payload),
        };
        wire::build(&mut bytes, &view, path.reversed().checksum_rule()).unwrap();
        bytes
    }

    /// These bytes arrive.
    pub(crate) fn give_bytes(&mut self, bytes: &[u8], ecn: Ecn) {
        let datagram = Datagram::new(bytes);
        self.endpoint
            .handle_datagram(self.now, &Self::path(), ecn, &datagram, &mut self.app);
    }

    /// An ICMP error about a packet that begins with `quoted` arrives.
    pub(crate) fn give_icmp(&mut self, quoted: &[u8], kind: IcmpKind) {
        let error = IcmpError {
            path: Self::path(),
            quoted,
            kind,
        };
        self.endpoint.handle_icmp(self.now, &error, &mut self.app);
    }

    /// All that the endpoint sends now; also takes its events.
    pub(crate) fn take(&mut self) -> Vec<Pkt> {
        let mut sent = Vec::new();
        let mut batch = Batch::new(64);
        while self
            .endpoint
            .poll_transmit(self.now, &mut self.app, &mut batch)
        {
            let (path, ecn) = batch.destination().map(|(path, ecn)| (*path, ecn)).unwrap();
            let rule = path.checksum_rule();
            for datagram in batch.datagrams() {
                let p = wire::parse(&datagram, rule).expect("what is sent can be parsed");
                let Payload::Bytes(payload) = p.payload else {
                    panic!("zeros on a socket")
                };
                let mut packet = Pkt {
                    kind: p.kind,
                    seq: p.seq,
                    options: p.options.0.to_vec(),
                    payload: payload.to_vec(),
                    ccval: p.ccval,
                    cscov: p.cscov,
                    is_short: p.is_short,
                    ecn,
                };
                if packet.is_short {
                    // As the peer would understand it.
                    packet.seq = Seq::extend_24(packet.seq.low_24(), self.gss);
                    let ack = packet
                        .ack()
                        .map(|a| Seq::extend_24(a.low_24(), self.peer_gss));
                    packet.kind = ack.map_or(packet.kind, |ack| packet.kind.with_ack(ack));
                }
                sent.push(packet);
            }
            batch.clear();
        }
        if let Some(last) = sent
            .iter()
            .rev()
            .find(|p| !matches!(p.kind, Kind::Listen { .. }))
        {
            self.gss = last.seq;
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            if matches!(event, Event::Accepted { .. }) {
                self.id = Some(id);
            }
            self.events.push(event);
        }
        sent
    }

    /// The one packet that the endpoint sends now.
    pub(crate) fn take_one(&mut self) -> Pkt {
        let sent = self.take();
        assert_eq!(sent.len(), 1, "{sent:#?}");
        sent.into_iter().next().unwrap()
    }

    /// How many packets the endpoint sends now: for tests with many flows.
    pub(crate) fn count_sent(&mut self) -> usize {
        let mut batch = Batch::new(1);
        let mut count = 0;
        while self
            .endpoint
            .poll_transmit(self.now, &mut self.app, &mut batch)
        {
            count += batch.len();
            batch.clear();
        }
        count
    }

    /// The endpoint's answers to a packet.
    pub(crate) fn answers(&mut self, packet: &Pkt) -> Vec<Pkt> {
        self.give(packet);
        self.take()
    }

    /// Time passes; all that the endpoint sends meanwhile, with the time since the call.
    pub(crate) fn advance(&mut self, by: Duration) -> Vec<(Duration, Pkt)> {
        let start = self.now;
        let end = start + by;
        let mut sent: Vec<_> = self
            .take()
            .into_iter()
            .map(|p| (Duration::ZERO, p))
            .collect();
        while let Some(at) = self.endpoint.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.endpoint.handle_timeout(self.now, &mut self.app);
            let now = self.now;
            sent.extend(self.take().into_iter().map(|p| (now - start, p)));
        }
        self.now = end;
        sent
    }

    /// The application sends a datagram.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Slot {
        let slot = self.app.outbox.push(bytes);
        if let Some(id) = self.id {
            self.endpoint.on_data_ready(id);
        }
        slot
    }

    /// The application sends a datagram, and takes it back at the last moment.
    pub(crate) fn send_and_take_back(&mut self, bytes: &[u8]) {
        self.send(bytes);
        self.app.outbox.is_taken_back = true;
    }

    /// The payloads that the application received.
    pub(crate) fn got(&self) -> Vec<&[u8]> {
        self.app
            .inbox
            .got
            .iter()
            .map(|(bytes, _)| bytes.as_slice())
            .collect()
    }

    /// The delivery data of the received datagrams.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.app.inbox.got.iter().map(|(_, meta)| *meta).collect()
    }

    /// Sets the application's answer to further datagrams.
    pub(crate) fn answer_deliveries(&mut self, answer: Accepted) {
        self.app.inbox.answer = answer;
    }

    /// The fates reported so far.
    pub(crate) fn fates(&self) -> &[(Slot, Fate)] {
        &self.app.outbox.fates
    }

    pub(crate) fn close(&mut self) {
        let id = self.id.unwrap();
        self.endpoint.close(self.now, id, &mut self.app);
    }

    pub(crate) fn abort(&mut self) {
        let id = self.id.unwrap();
        self.endpoint.abort(self.now, id, &mut self.app);
    }

    /// The state; `Closed` when the endpoint has forgotten the connection.
    pub(crate) fn state(&self) -> State {
        let conn = self.id.and_then(|id| self.endpoint.connection(id));
        conn.map_or(State::Closed, Connection::state)
    }

    pub(crate) fn snapshot(&self) -> ConnSnapshot {
        self.conn().snapshot()
    }

    pub(crate) fn is_server(&self) -> bool {
        self.conn().role() == Role::Server
    }

    pub(crate) fn conn(&self) -> &Connection {
        self.endpoint.connection(self.id.unwrap()).unwrap()
    }

    /// Counters of the endpoint and of the connection together.
    pub(crate) fn stats(&self) -> Stats {
        let mut sum = *self.endpoint.stats();
        if let Some(conn) = self.id.and_then(|id| self.endpoint.connection(id)) {
            sum += conn.stats();
        }
        sum
    }

    /// How often packets or their data were dropped for this reason.
    pub(crate) fn dropped(&self, reason: DropReason) -> u64 {
        self.stats().drops.of(reason)
    }
}
