//! What a connection counts, in as little memory as what has happened to it needs.

use super::in_flight::Oddities;
use super::stats::{Counters, DropCounts, DropReason, Mib, PerType, Stats};
use super::{Connection, Role};
use crate::cc::Feedback;
use crate::wire::{self, Ecn, Packet, PacketType};

/// Those of the [`Stats`] that no other part of a connection knows. An idle connection has seen a handshake and no
/// more: what counts that stands here, the others are boxed when there is something to count.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    packets_out: PerType,
    packets_in: PerType,
    bytes_out: u64,
    bytes_in: u64,
    ect1_received: u64,
    nonce_echoes: [u64; 2],
    rtt_samples: u64,
    feature_changes: u64,
    /// It has been opened, by this end or by its peer.
    has_opened: bool,
    rest: Option<Box<Rest>>,
    rx_dropped: Option<Box<[u64; 8]>>,
    drops: Option<Box<DropCounts>>,
}

/// Counters of data and of what is seldom. Those that [`Tally`] or others have are zero here.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    pub(super) mib: Mib,
    pub(super) counters: Counters,
}

impl Rest {
    /// Apart, for it is called once, and its caller for each packet.
    #[cold]
    fn first() -> Box<Self> {
        Box::default()
    }
}

impl Tally {
    /// The counters of data and of what is seldom.
    pub(super) fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_with(Rest::first)
    }

    /// The connection is opened, by this end or by its peer.
    pub(super) fn on_open(&mut self) {
        self.has_opened = true;
    }

    /// A packet for this connection arrived, valid or not.
    pub(super) fn on_received(&mut self, p: &Packet<'_>, ecn: Ecn) {
        let header = wire::header_len(p.packet_type(), p.is_short, p.options.0.len());
        self.packets_in.count(p.packet_type());
        self.bytes_in += (header + p.payload.len()) as u64;
        match ecn {
            Ecn::Ect1 => self.ect1_received += 1,
            Ecn::Ce => self.rest().counters.ce_received += 1,
            Ecn::NotEct | Ecn::Ect0 => {}
        }
    }

    /// A packet, or its data, was dropped.
    pub(super) fn on_drop(&mut self, reason: DropReason) {
        self.drops.get_or_insert_default().count(reason);
    }

    /// The peer's host dropped a datagram of ours, and said why.
    pub(super) fn on_dropped_by_peer(&mut self, code: u8) {
        self.rx_dropped.get_or_insert_default()[usize::from(code)] += 1;
    }

    /// An Ack Vector with this Nonce Echo arrived (4340-12.2-2).
    pub(super) fn on_nonce_echo(&mut self, nonce: bool) {
        self.nonce_echoes[usize::from(nonce)] += 1;
    }

    /// The value of a feature changed.
    pub(super) fn on_feature_change(&mut self) {
        self.feature_changes += 1;
    }

    /// A packet of `bytes` left.
    pub(super) fn on_sent(&mut self, packet_type: PacketType, bytes: usize) {
        self.packets_out.count(packet_type);
        self.bytes_out += bytes as u64;
    }

    /// Its application data left.
    pub(super) fn on_data_sent(&mut self, len: usize) {
        let c = &mut self.rest().counters;
        c.data_sent += 1;
        c.data_bytes_out += len as u64;
    }

    /// Data packets left, each of `bytes` with `len` of application data.
    pub(super) fn on_data_packets_sent(&mut self, packets: u32, bytes: usize, len: usize) {
        let packets = u64::from(packets);
        self.packets_out.add(PacketType::Data, packets);
        self.bytes_out += packets * bytes as u64;
        let c = &mut self.rest().counters;
        c.data_sent += packets;
        c.data_bytes_out += packets * len as u64;
    }

    /// Application data arrived for the first time; what becomes of it is counted apart.
    pub(super) fn on_data_received(&mut self, len: usize) {
        let c = &mut self.rest().counters;
        c.data_received += 1;
        c.data_bytes_in += len as u64;
    }

    /// An acknowledgement arrived.
    pub(super) fn on_feedback(&mut self, fb: &Feedback<'_>) {
        self.rtt_samples += u64::from(fb.rtt.is_some());
        let packets = [
            fb.acked.packets,
            fb.marked.packets,
            fb.lost.packets,
            fb.acks_lost,
        ];
        if packets == [0; 4] && fb.delivered_rate.is_none() {
            return; // It acknowledges what has no data, as in a handshake.
        }
        let c = &mut self.rest().counters;
        c.data_acked += u64::from(fb.acked.packets);
        c.data_marked += u64::from(fb.marked.packets);
        c.data_lost += u64::from(fb.lost.packets);
        c.acks_lost += u64::from(fb.acks_lost);
        c.rate_samples += u64::from(fb.delivered_rate.is_some());
    }

    /// These counters, and those that follow from them.
    fn stats(&self, role: Role) -> Stats {
        let Rest { mib, counters } = self.rest.as_deref().cloned().unwrap_or_default();
        let [nonce_echoes_0, nonce_echoes_1] = self.nonce_echoes;
        let opens = |side| u64::from(self.has_opened && role == side);
        Stats {
            mib: Mib {
                active_opens: opens(Role::Client),
                passive_opens: opens(Role::Server),
                out_segs: self.packets_out.total(),
                out_rsts: self.packets_out.of(PacketType::Reset),
                out_datagrams: counters.data_sent,
                ..mib
            },
            counters: Counters {
                bytes_out: self.bytes_out,
                bytes_in: self.bytes_in,
                ect1_received: self.ect1_received,
                nonce_echoes_0,
                nonce_echoes_1,
                rtt_samples: self.rtt_samples,
                feature_changes: self.feature_changes,
                ..counters
            },
            packets_out: self.packets_out,
            packets_in: self.packets_in,
            rx_dropped: self.rx_dropped.as_deref().copied().unwrap_or_default(),
            drops: self.drops.as_deref().copied().unwrap_or_default(),
        }
    }
}

impl Connection {
    /// Counters, put together for each call.
    pub fn stats(&self) -> Stats {
        let mut stats = self.tally.stats(self.role);
        let is_established = self.state.is_alive() && self.seqs.osr.is_some();
        stats.mib.curr_estab = u64::from(is_established);
        let Oddities {
            spurious_losses,
            invalid_vectors,
            invalid_drops,
            ..
        } = self.in_flight.oddities();
        let pmtu = self.pmtu.counts();
        stats.counters = Counters {
            spurious_losses,
            invalid_vectors,
            invalid_data_dropped: invalid_drops,
            pmtu_probes: pmtu.probes.into(),
            pmtu_probes_acked: pmtu.probes_acked.into(),
            pmtu_black_holes: pmtu.black_holes.into(),
            ..stats.counters
        };
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{feedback, packets};
    use crate::conn::tests::ack;
    use crate::time::Rate;
    use crate::wire::{OptionWriter, Payload};
    use core::time::Duration;

    #[test]
    fn what_arrives_is_counted_by_bytes_and_ecn_field() {
        let mut tally = Tally::default();
        let options = OptionWriter::new(0);
        let mut p = ack(&options);
        p.payload = Payload::Zeros(100);
        for ecn in [Ecn::Ce, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1, Ecn::Ect0] {
            tally.on_received(&p, ecn);
        }
        let c = tally.stats(Role::Client).counters;
        assert_eq!((c.ce_received, c.ect1_received), (1, 3));
        assert_eq!(c.bytes_in, 5 * (24 + 100));
    }

    #[test]
    fn what_acknowledgements_tell_adds_up() {
        let fb = Feedback {
            acked: packets(2),
            marked: packets(3),
            lost: packets(4),
            acks_lost: 5,
            rtt: Some(Duration::from_millis(1)),
            delivered_rate: Some(Rate::from_bytes_per_s(1000.0)),
            ..feedback()
        };
        let mut tally = Tally::default();
        tally.on_feedback(&fb);
        tally.on_feedback(&fb);
        let c = tally.stats(Role::Client).counters;
        assert_eq!((c.data_acked, c.data_marked, c.data_lost), (4, 6, 8));
        assert_eq!((c.acks_lost, c.rtt_samples, c.rate_samples), (10, 2, 2));
    }

    #[test]
    fn as_many_lost_acknowledgements_as_can_be_are_counted() {
        let mut tally = Tally::default();
        tally.on_feedback(&Feedback {
            acked: packets(1),
            acks_lost: u32::MAX,
            ..feedback()
        });
        let c = tally.stats(Role::Client).counters;
        assert_eq!((c.data_acked, c.acks_lost), (1, u64::from(u32::MAX)));
    }
}
