//! A bench for one endpoint: the test plays the peer, packet by packet.
//!
//! The endpoint is at 192.0.2.1, the test at 192.0.2.2, over IP protocol 33. Time stands still
//! unless the test advances it.

use dccp_proto::batch::Batch;
use dccp_proto::conn::{App, ConnSnapshot, State};
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{
    self, ChecksumRule, Datagram, Ecn, Kind, Opt, OptionWriter, Options, Packet, PacketType,
    Payload, PseudoHeader, ResetCode, ServiceCode,
};
use dccp_proto::{
    Config, ConnId, Endpoint, Event, IcmpError, IcmpKind, Instant, KeyedHash, Queues, Seq,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub(crate) const OUR_PORT: u16 = 5001;
pub(crate) const PEER_PORT: u16 = 40_000;
pub(crate) const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"TEST");
/// The peer's first sequence number.
pub(crate) const PEER_ISS: u64 = 1_000_000;

/// A packet, owned: what the endpoint sent, or what the peer sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pkt {
    pub(crate) kind: Kind,
    pub(crate) seq: Seq,
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(crate) ccval: u8,
    pub(crate) cscov: u8,
    pub(crate) is_short: bool,
    pub(crate) ecn: Ecn,
}

impl Pkt {
    pub(crate) fn new(kind: Kind, seq: Seq) -> Self {
        Self {
            kind,
            seq,
            options: Vec::new(),
            payload: Vec::new(),
            ccval: 0,
            cscov: 0,
            is_short: false,
            ecn: Ecn::Ect0,
        }
    }

    /// With these options behind those that it has.
    pub(crate) fn with(mut self, options: &[Opt<'_>]) -> Self {
        let mut writer = OptionWriter::new(1000);
        for option in options {
            writer.push(option).unwrap();
        }
        self.options.extend_from_slice(writer.as_slice());
        self
    }

    /// With these bytes as options.
    pub(crate) fn with_raw_options(mut self, options: &[u8]) -> Self {
        self.options.extend_from_slice(options);
        self
    }

    pub(crate) fn with_payload(mut self, payload: &[u8]) -> Self {
        self.payload = payload.to_vec();
        self
    }

    pub(crate) fn with_ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    pub(crate) fn packet_type(&self) -> PacketType {
        self.kind.packet_type()
    }

    pub(crate) fn ack(&self) -> Option<Seq> {
        self.kind.ack()
    }

    pub(crate) fn opts(&self) -> Vec<Opt<'_>> {
        Options(&self.options)
            .iter()
            .filter(|o| *o != Opt::Padding)
            .collect()
    }

    /// The Reset code, of a Reset.
    pub(crate) fn reset_code(&self) -> Option<ResetCode> {
        match self.kind {
            Kind::Reset { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// The application: what it has to send, what it got, what became of what it sent.
#[derive(Default)]
pub(crate) struct Application {
    outbox: OutboxOf,
    inbox: InboxOf,
}

#[derive(Default)]
struct OutboxOf {
    queue: VecDeque<(Slot, Vec<u8>)>,
    pushed: u32,
    fates: Vec<(Slot, Fate)>,
}

struct InboxOf {
    got: Vec<(Vec<u8>, Delivery)>,
    answer: Accepted,
}

impl Default for InboxOf {
    fn default() -> Self {
        Self {
            got: Vec::new(),
            answer: Accepted::Yes,
        }
    }
}

impl Outbox for OutboxOf {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        self.queue.front().map(|(slot, bytes)| Offer {
            slot: *slot,
            len: bytes.len(),
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _now: Instant, slot: Slot, buf: &mut [u8]) -> bool {
        let (first, bytes) = self.queue.pop_front().unwrap();
        assert_eq!(first, slot);
        buf.copy_from_slice(&bytes);
        true
    }

    fn refuse(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        assert_eq!(self.queue.pop_front().unwrap().0, slot);
        self.fates.push((slot, fate));
    }

    fn on_fate(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.fates.push((slot, fate));
    }
}

impl Inbox for InboxOf {
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted {
        let bytes = match datagram {
            Payload::Bytes(bytes) => bytes.to_vec(),
            Payload::Zeros(n) => vec![0; n],
        };
        if self.answer == Accepted::Yes {
            self.got.push((bytes, meta));
        }
        self.answer
    }
}

impl Queues for Application {
    fn app(&mut self, _id: ConnId) -> App<'_> {
        App {
            outbox: &mut self.outbox,
            inbox: &mut self.inbox,
        }
    }
}

/// A keyed hash that a test can foresee.
pub(crate) struct WeakHash(pub(crate) u64);

impl KeyedHash for WeakHash {
    fn hash(&self, data: &[u8]) -> u128 {
        const PRIME: u128 = (1 << 88) + 0x13b;
        data.iter().fold(u128::from(self.0), |h, &b| {
            (h ^ u128::from(b)).wrapping_mul(PRIME)
        })
    }
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
    /// An endpoint without connections, at a time that is not zero.
    pub(crate) fn new() -> Self {
        Self {
            now: Instant::from_nanos(1_000_000_000),
            endpoint: Endpoint::new(Box::new(WeakHash(7))),
            app: Application::default(),
            events: Vec::new(),
            id: None,
            peer_gss: Seq::new(PEER_ISS - 1),
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
            ..Config::default()
        }
    }

    /// An endpoint that listens.
    pub(crate) fn listening(config: Config) -> Self {
        let mut bench = Self::new();
        bench.endpoint.listen(OUR_PORT, &[SERVICE], config).unwrap();
        bench
    }

    /// A client in REQUEST, and its Request.
    pub(crate) fn requesting(config: Config) -> (Self, Pkt) {
        let mut bench = Self::new();
        let id = bench
            .endpoint
            .connect(bench.now, Self::flow(), config)
            .unwrap();
        bench.id = Some(id);
        let request = bench.take_one();
        (bench, request)
    }

    /// A server in RESPOND, and its Response.
    pub(crate) fn responding(config: Config) -> (Self, Pkt) {
        let mut bench = Self::listening(config);
        let request = bench.next(Kind::Request { service: SERVICE });
        bench.give(&request);
        let response = bench.take_one();
        (bench, response)
    }

    /// A server in OPEN whose features are settled, as a peer of CCID 2 leaves it.
    pub(crate) fn open_server(config: Config) -> Self {
        let (mut bench, response) = Self::responding(config);
        let confirms = confirms_for(&response);
        let ack = bench
            .next(Kind::Ack { ack: response.seq })
            .with_raw_options(&confirms);
        bench.give(&ack);
        bench.take();
        assert_eq!(bench.state(), State::Open);
        bench
    }

    /// A client in PARTOPEN whose features are settled.
    pub(crate) fn partopen_client(config: Config) -> Self {
        let (mut bench, request) = Self::requesting(config);
        let confirms = confirms_for(&request);
        let response = bench
            .next(Kind::Response {
                ack: request.seq,
                service: SERVICE,
            })
            .with_raw_options(&confirms);
        bench.give(&response);
        bench.take();
        assert_eq!(bench.state(), State::PartOpen);
        bench
    }

    /// A client in OPEN whose features are settled.
    pub(crate) fn open_client(config: Config) -> Self {
        let mut bench = Self::partopen_client(config);
        let ack = bench.next(Kind::Ack { ack: bench.gss });
        bench.give(&ack);
        bench.take();
        assert_eq!(bench.state(), State::Open);
        bench
    }

    /// The peer's next packet.
    pub(crate) fn next(&mut self, kind: Kind) -> Pkt {
        self.peer_gss = self.peer_gss.next();
        Pkt::new(kind, self.peer_gss)
    }

    /// The peer's packet arrives.
    pub(crate) fn give(&mut self, packet: &Pkt) {
        let mut bytes = Vec::new();
        let path = Self::path();
        let view = Packet {
            source_port: PEER_PORT,
            dest_port: OUR_PORT,
            ccval: packet.ccval,
            cscov: packet.cscov,
            is_short: packet.is_short,
            seq: packet.seq,
            kind: packet.kind,
            options: Options(&packet.options),
            payload: Payload::Bytes(&packet.payload),
        };
        wire::build(
            &mut bytes,
            &view,
            ChecksumRule::Ip(PseudoHeader::new(path.remote, path.local)),
        )
        .unwrap();
        self.give_bytes(&bytes, packet.ecn);
    }

    /// These bytes arrive.
    pub(crate) fn give_bytes(&mut self, bytes: &[u8], ecn: Ecn) {
        let datagram = Datagram::new(bytes);
        self.endpoint
            .handle_datagram(self.now, &Self::path(), ecn, datagram, &mut self.app);
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
            let rule = ChecksumRule::Ip(PseudoHeader::new(path.local, path.remote));
            for datagram in batch.datagrams() {
                let p = wire::parse(datagram, rule).expect("what is sent can be parsed");
                let Payload::Bytes(payload) = p.payload else {
                    panic!("zeros on a socket")
                };
                sent.push(Pkt {
                    kind: p.kind,
                    seq: p.seq,
                    options: p.options.0.to_vec(),
                    payload: payload.to_vec(),
                    ccval: p.ccval,
                    cscov: p.cscov,
                    is_short: p.is_short,
                    ecn,
                });
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

    /// What the endpoint sends in answer to a packet.
    pub(crate) fn answers(&mut self, packet: &Pkt) -> Vec<Pkt> {
        self.give(packet);
        self.take()
    }

    /// Time passes; all that the endpoint sends meanwhile, with the time since the call.
    pub(crate) fn advance(&mut self, by: Duration) -> Vec<(Duration, Pkt)> {
        let start = self.now;
        let end = start + by;
        let mut sent = Vec::new();
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
        let slot = Slot(self.app.outbox.pushed);
        self.app.outbox.pushed += 1;
        self.app.outbox.queue.push_back((slot, bytes.to_vec()));
        if let Some(id) = self.id {
            self.endpoint.on_data_ready(id);
        }
        slot
    }

    /// What the application got so far.
    pub(crate) fn got(&self) -> Vec<&[u8]> {
        self.app
            .inbox
            .got
            .iter()
            .map(|(bytes, _)| bytes.as_slice())
            .collect()
    }

    /// What came with the datagrams that the application got.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.app.inbox.got.iter().map(|(_, meta)| *meta).collect()
    }

    /// What the application answers to datagrams from now on.
    pub(crate) fn answer_deliveries(&mut self, answer: Accepted) {
        self.app.inbox.answer = answer;
    }

    /// The fates told so far.
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
        conn.map_or(State::Closed, dccp_proto::Connection::state)
    }

    pub(crate) fn snapshot(&self) -> ConnSnapshot {
        self.endpoint
            .connection(self.id.unwrap())
            .unwrap()
            .snapshot()
    }

    /// How often packets were dropped for this reason.
    pub(crate) fn dropped(&self, reason: dccp_proto::conn::stats::DropReason) -> u64 {
        let conn = self.id.and_then(|id| self.endpoint.connection(id));
        let of_conn = conn.map_or(0, |c| c.stats().drops.of(reason));
        self.endpoint.stats().drops.of(reason) + of_conn
    }
}

/// The Confirms that a willing peer answers to the Changes of a packet: the first preference.
pub(crate) fn confirms_for(packet: &Pkt) -> Vec<u8> {
    let mut writer = OptionWriter::new(1000);
    for option in packet.opts() {
        let (kind, change, chosen) = match option {
            Opt::ChangeL(change) => (35, change, change.values),
            Opt::ChangeR(change) => (33, change, change.values),
            _ => continue,
        };
        let is_number = matches!(change.feature, 3 | 5);
        let mut data = vec![change.feature];
        if !is_number {
            data.push(chosen[0]);
        }
        data.extend_from_slice(chosen);
        writer.push_raw(kind, &data).unwrap();
    }
    writer.as_slice().to_vec()
}
