//! One endpoint with its applications, and its invariants.

use super::app::Apps;
use dccp_proto::batch::Batch;
use dccp_proto::config::bounds;
use dccp_proto::conn::{Connection, State};
use dccp_proto::path::{Flow, Path};
use dccp_proto::wire::{self, Datagram, Ecn, Opt, Packet, PacketType};
use dccp_proto::{ConnId, Endpoint, Event, Instant, KeyedHash, Seq};
use std::collections::BTreeMap;

/// Packets without data that one step may cause, beside those of the handshake's repetitions.
const CONTROL_MAX: usize = 64;

/// A packet on its way.
#[derive(Clone)]
pub(super) struct Sent {
    /// As the receiver sees it.
    pub(super) path: Path,
    pub(super) ecn: Ecn,
    pub(super) bytes: Vec<u8>,
    pub(super) zeros: usize,
}

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
    /// Packets that have a place in the sequence.
    packets: u64,
}

pub(super) struct End {
    pub(super) endpoint: Endpoint,
    pub(super) apps: Apps,
    /// All connections so far.
    pub(super) ids: Vec<ConnId>,
    pub(super) seen: BTreeMap<ConnId, Seen>,
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
            seen: BTreeMap::new(),
            timed: Instant::ZERO,
            batch,
        }
    }

    pub(super) fn handle(&mut self, now: Instant, packet: &Sent) {
        let datagram = Datagram {
            bytes: &packet.bytes,
            zeros: packet.zeros,
        };
        self.endpoint
            .handle_datagram(now, &packet.path, packet.ecn, &datagram, &mut self.apps);
    }

    pub(super) fn time_out(&mut self, now: Instant) {
        self.timed = now;
        self.endpoint.handle_timeout(now, &mut self.apps);
    }

    /// Takes all outputs, and checks everything.
    pub(super) fn drain(&mut self, now: Instant) -> Vec<Sent> {
        // Collects the events of connections that Requests have just created.
        self.poll_events();
        let waiting: usize = self.apps.all().map(super::app::OneApp::waiting).sum();
        let mut batch = std::mem::replace(&mut self.batch, Batch::new(1));
        let mut sent = Vec::new();
        while self.endpoint.poll_transmit(now, &mut self.apps, &mut batch) {
            assert!(!batch.is_empty());
            self.note_batch(&batch, &mut sent);
            batch.clear();
            let bound = 2 * waiting + CONTROL_MAX + bounds::STATELESS_QUEUE;
            assert!(sent.len() <= bound, "outputs do not end");
        }
        assert!(batch.is_empty());
        self.batch = batch;
        self.poll_events();
        self.check();
        sent
    }

    fn note_batch(&mut self, batch: &Batch, sent: &mut Vec<Sent>) {
        let (path, ecn) = batch.destination().expect("there are packets");
        let path = *path;
        for datagram in batch.datagrams() {
            let packet = wire::parse(&datagram, path.checksum_rule());
            let packet = packet.expect("what leaves can be parsed");
            let len = path.overhead() + datagram.len();
            self.note(&path, &packet, len);
            sent.push(Sent {
                path: path.reversed(),
                ecn,
                bytes: datagram.bytes.to_vec(),
                zeros: datagram.zeros,
            });
        }
    }

    /// A packet of this end has left.
    fn note(&mut self, path: &Path, packet: &Packet<'_>, len: usize) {
        let flow = Flow {
            path: *path,
            local_port: packet.source_port,
            remote_port: packet.dest_port,
        };
        // A Response with a cookie belongs to no connection.
        let mut options = packet.options.iter();
        let has_cookie = options.any(|o| matches!(o, Opt::InitCookie(_)));
        let is_stateless = has_cookie && packet.packet_type() == PacketType::Response;
        let Some(id) = self.find(&flow).filter(|_| !is_stateless) else {
            return;
        };
        let seen = self.seen.entry(id).or_default();
        match packet.packet_type() {
            PacketType::Listen => return,
            PacketType::Reset => {
                seen.resets += 1;
                return;
            }
            _ => {}
        }
        let conn = self.endpoint.connection(id).expect("it has been found");
        let snapshot = conn.snapshot();
        if packet.packet_type() != PacketType::Sync {
            assert!(len <= snapshot.pmtu, "{packet:?} with {len} bytes");
        }
        if packet.packet_type().is_data() {
            assert!(packet.payload.len() <= snapshot.mps);
        }
        seen.packets += 1;
        let is_short = packet.is_short || seen.is_short;
        let mask = if is_short { 0xFF_FFFF } else { u64::MAX };
        let steps = packet.seq.steps_from(seen.gss) & mask;
        if seen.has_sent {
            assert!((1..=1 + seen.resets).contains(&steps), "{packet:?}");
        }
        if packet.is_short && seen.has_sent {
            seen.gss = seen.gss.plus(steps);
        } else {
            (seen.gss, seen.is_short) = (packet.seq, packet.is_short);
        }
        if let Some(ack) = packet.ack() {
            seen.ackno = if packet.is_short {
                Seq::extend_24(ack.low_24(), seen.ackno)
            } else {
                ack
            };
        }
        (seen.has_sent, seen.resets) = (true, 0);
    }

    /// The connection of a flow that is not over.
    pub(super) fn find(&self, flow: &Flow) -> Option<ConnId> {
        let is_it = |conn: &Connection| conn.flow() == flow;
        let mut ids = self.ids.iter().rev().copied();
        ids.find(|&id| self.endpoint.connection(id).is_some_and(is_it))
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

    fn check(&self) {
        if let Some(at) = self.endpoint.poll_timeout() {
            assert!(at > self.timed, "a deadline that stays in the past");
        }
        assert!(self.endpoint.connections() <= self.ids.len());
        for app in self.apps.all() {
            app.check();
        }
        for &id in &self.ids {
            let Some(conn) = self.endpoint.connection(id) else {
                continue;
            };
            let snapshot = conn.snapshot();
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
    }

    fn check_stats(&mut self, id: ConnId) {
        use dccp_proto::conn::stats::DropReason as Why;
        let Some(conn) = self.endpoint.connection(id) else {
            panic!("an ended connection can be looked at");
        };
        let stats = conn.stats();
        let c = stats.counters;
        let seen = self.seen.get(&id).copied().unwrap_or_default();
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
