//! One endpoint with its applications, and its invariants.

use super::app::{Apps, OneApp};
use super::net::{Net, Sent};
use dccp_proto::batch::Batch;
use dccp_proto::config::bounds;
use dccp_proto::conn::{Connection, State};
use dccp_proto::path::{Flow, Path};
use dccp_proto::wire::{self, Opt, Packet, PacketType};
use dccp_proto::{ConnId, Endpoint, Event, Instant, KeyedHash, Seq};
use std::mem::take;

/// Packets without data that one step may cause, beside those of the handshake's repetitions.
const CONTROL_MAX: usize = 64;

/// The observed packets of a connection.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    /// The last sequence number and acknowledgement number that it sent.
    pub(super) gss: Seq,
    pub(super) ackno: Seq,
    has_sent: bool,
    /// True if only the low 24 bits of `gss` are known.
    is_short: bool,
    /// Resets since then; some have no place in the sequence.
    resets: u64,
    /// Numbers that no packet carried (4340-12.3-2).
    withheld: u64,
    /// Packets that have a place in the sequence.
    packets: u64,
    /// The longest packet but Syncs and the longest payload since the last check, in bytes.
    longest: usize,
    longest_payload: usize,
}

pub(super) struct End {
    pub(super) endpoint: Endpoint,
    pub(super) apps: Apps,
    /// All connections so far.
    pub(super) ids: Vec<ConnId>,
    /// When `handle_timeout` was called last.
    timed: Instant,
    batch: Batch,
}

struct Mix(u64);

impl KeyedHash for Mix {
    fn hash(&self, data: &[u8]) -> u128 {
        const PRIME: u128 = (1 << 88) + 0x13b;
        let hash = data.iter().fold(u128::from(self.0) + PRIME, |h, &b| {
            (h ^ u128::from(b)).wrapping_mul(PRIME)
        });
        hash ^ (hash >> 64).wrapping_mul(PRIME)
    }
}

impl End {
    pub(super) fn new(key: u64, batch: Batch) -> Self {
        Self {
            endpoint: Endpoint::new(Box::new(Mix(key))),
            apps: Apps::default(),
            ids: Vec::new(),
            timed: Instant::ZERO,
            batch,
        }
    }

    pub(super) fn handle(&mut self, now: Instant, packet: &Sent) {
        let (path, datagram) = (&packet.path, packet.datagram());
        self.endpoint
            .handle_datagram(now, path, packet.ecn, &datagram, &mut self.apps);
    }

    /// Whether a deadline is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.endpoint.poll_timeout().is_some_and(|at| at <= now)
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        self.timed = now;
        self.endpoint.handle_timeout(now, &mut self.apps);
    }

    /// Takes all outputs, sends them to the end `to`, and checks the connections that were used.
    pub(super) fn drain(&mut self, now: Instant, to: usize, net: &mut Net) {
        // Collects the events of connections that Requests have just created.
        self.poll_events();
        let waiting = self.apps.waiting();
        let bound = 2 * waiting + CONTROL_MAX + bounds::STATELESS_QUEUE;
        let mut sent = 0;
        while self
            .endpoint
            .poll_transmit(now, &mut self.apps, &mut self.batch)
        {
            assert!(!self.batch.is_empty());
            sent += self.batch.len();
            self.note_batch(to, net);
            self.batch.clear();
            assert!(sent <= bound, "outputs do not end");
        }
        assert!(self.batch.is_empty());
        self.poll_events();
        self.check();
    }

    fn note_batch(&mut self, to: usize, net: &mut Net) {
        let Self {
            endpoint,
            apps,
            ids,
            batch,
            ..
        } = self;
        let (path, ecn) = batch.destination().expect("there are packets");
        for datagram in batch.datagrams() {
            let packet = wire::parse(&datagram, path.checksum_rule());
            let packet = packet.expect("what leaves can be parsed");
            if let Some(id) = sender(endpoint, ids, path, &packet) {
                let len = path.overhead() + datagram.len();
                apps.of(id).seen.note(&packet, len);
            }
            net.carry(to, path.reversed(), ecn, &datagram);
        }
    }

    fn poll_events(&mut self) {
        let mut events = 0;
        while let Some((id, event)) = self.endpoint.poll_event() {
            events += 1;
            assert!(events <= bounds::EVENTS * (1 + self.ids.len()) + 1000);
            match event {
                Event::Accepted { .. } => self.ids.push(id),
                Event::Closed(_) => {
                    assert_eq!(self.apps.of(id).open(), 0, "all fates are told: {event:?}");
                    self.check_stats(id);
                }
                _ => {}
            }
        }
    }

    fn check(&mut self) {
        let Self { endpoint, apps, .. } = self;
        if let Some(at) = endpoint.poll_timeout() {
            assert!(
                at > self.timed,
                "a deadline at {at:?} stays after {:?}",
                self.timed
            );
        }
        assert!(endpoint.connections() <= self.ids.len());
        apps.check_touched(|id, app| {
            if let Some(conn) = endpoint.connection(id) {
                check_connection(conn, app);
            }
        });
    }

    fn check_stats(&mut self, id: ConnId) {
        use dccp_proto::conn::stats::DropReason as Why;
        let Some(conn) = self.endpoint.connection(id) else {
            panic!("an ended connection can be looked at");
        };
        let stats = conn.stats();
        let c = stats.counters;
        let seen = self.apps.seen(id);
        let resets = stats.packets_out.of(PacketType::Reset);
        let listens = stats.packets_out.of(PacketType::Listen);
        // The Response with the cookie counts for the connection that the cookie created.
        let cookies = self.endpoint.stats().counters.cookies_sent;
        let unseen = stats.packets_out.total() - resets - listens - seen.packets;
        assert!(unseen <= cookies.min(1), "{unseen} packets");
        assert_eq!(stats.packets_out.total(), stats.mib.out_segs);
        assert_eq!(stats.mib.out_datagrams, c.data_sent);
        let dropped = stats.drops.of(Why::ReceiveBuffer) + stats.drops.of(Why::NotListening);
        assert_eq!(c.data_received, c.data_delivered + dropped);
        assert_eq!(c.data_delivered, self.apps.of(id).got());
        assert!(c.data_acked + c.data_lost <= c.data_sent);
        assert_eq!(stats.mib.curr_estab, 0);
    }
}

/// The connection that sent a packet, if one did.
fn sender(endpoint: &Endpoint, ids: &[ConnId], path: &Path, packet: &Packet<'_>) -> Option<ConnId> {
    // A Response with a cookie belongs to no connection.
    let is_cookie = |o| matches!(o, Opt::InitCookie(_));
    if packet.packet_type() == PacketType::Response && packet.options.iter().any(is_cookie) {
        return None;
    }
    let flow = Flow {
        path: *path,
        local_port: packet.source_port,
        remote_port: packet.dest_port,
    };
    // The last connection of the flow that is not over.
    let is_of_flow = |conn: &Connection| conn.flow() == &flow;
    let mut ids = ids.iter().rev().copied();
    ids.find(|&id| endpoint.connection(id).is_some_and(is_of_flow))
}

fn check_connection(conn: &Connection, app: &mut OneApp) {
    let snapshot = conn.snapshot();
    let seen = &mut app.seen;
    let (len, payload) = (take(&mut seen.longest), take(&mut seen.longest_payload));
    assert!(
        len <= snapshot.pmtu,
        "a packet of {len} bytes: {snapshot:?}"
    );
    assert!(payload <= snapshot.mps, "{payload} bytes: {snapshot:?}");
    assert!(
        seen.withheld == 0 || seen.withheld <= conn.stats().counters.audits,
        "{} numbers of no packet: {snapshot:?}",
        seen.withheld
    );
    assert!(snapshot.ack_vector_cells <= bounds::ACK_VECTOR_CELLS);
    assert!(snapshot.mps < snapshot.pmtu);
    let is_up = matches!(conn.state(), State::PartOpen | State::Open);
    if let (2, Some(cwnd), true) = (snapshot.tx_ccid, snapshot.tx.cwnd_packets, is_up) {
        assert!(cwnd >= 1.0 && cwnd.is_finite(), "{snapshot:?}");
    }
    if let Some(rate) = snapshot.tx.rate {
        assert!(rate.bytes_per_s() >= 0.0, "{snapshot:?}");
    }
}

impl Seen {
    /// A packet of the connection has left. It takes `len` bytes with all headers.
    fn note(&mut self, packet: &Packet<'_>, len: usize) {
        match packet.packet_type() {
            PacketType::Listen => return,
            PacketType::Reset => {
                self.resets += 1;
                return;
            }
            // A Sync may probe for a larger path MTU.
            PacketType::Sync => {}
            _ => self.longest = self.longest.max(len),
        }
        if packet.packet_type().is_data() {
            self.longest_payload = self.longest_payload.max(packet.payload.len());
        }
        self.packets += 1;
        let is_short = packet.is_short || self.is_short;
        let mask = if is_short { 0xFF_FFFF } else { u64::MAX };
        let steps = packet.seq.steps_from(self.gss) & mask;
        if self.has_sent {
            assert!(steps >= 1, "{packet:?}");
            self.withheld += steps.saturating_sub(1 + self.resets);
        }
        if packet.is_short && self.has_sent {
            self.gss = self.gss.plus(steps);
        } else {
            (self.gss, self.is_short) = (packet.seq, packet.is_short);
        }
        if let Some(ack) = packet.ack() {
            self.ackno = if packet.is_short {
                Seq::extend_24(ack.low_24(), self.ackno)
            } else {
                ack
            };
        }
        (self.has_sent, self.resets) = (true, 0);
    }
}
