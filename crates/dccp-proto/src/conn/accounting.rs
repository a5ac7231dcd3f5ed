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
    bytes_out: u64,
    bytes_in: u64,
    few: Few,
    /// It has been opened, by this end or by its peer.
    has_opened: bool,
    rest: Option<Box<Rest>>,
}

/// What a handshake counts, in a byte each. Whenever one is full, [`FULL`] go to [`Rest`].
#[derive(Clone, Debug, Default)]
struct Few {
    packets_out: [u8; TYPES],
    packets_in: [u8; TYPES],
    nonce_echoes: [u8; 2],
    rtt_samples: u8,
    feature_changes: u8,
}

const TYPES: usize = PacketType::ALL.len();
const FULL: u64 = 1 << u8::BITS;

/// Counters of data and of what is seldom, and what the bytes of [`Few`] could not hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Rest {
    pub(super) mib: Mib,
    pub(super) counters: Counters,
    packets_out: PerType,
    packets_in: PerType,
    rx_dropped: Option<Box<[u64; 8]>>,
    drops: Option<Box<DropCounts>>,
}

impl Rest {
    /// Apart, for it is called once, and its caller for each packet.
    #[cold]
    fn first() -> Box<Self> {
        Box::default()
    }
}

/// One more. Returns whether the byte was full and stands at 0 again.
fn count(few: &mut u8) -> bool {
    let is_full;
    (*few, is_full) = few.overflowing_add(1);
    is_full
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
        let packet_type = p.packet_type();
        let header = wire::header_len(packet_type, p.is_short, p.options.0.len());
        self.bytes_in += (header + p.payload.len()) as u64;
        let is_full = count(&mut self.few.packets_in[packet_type as usize]);
        if is_full || matches!(ecn, Ecn::Ect1 | Ecn::Ce) {
            self.on_received_seldom(packet_type, is_full, ecn);
        }
    }

    /// Apart, so that its caller calls nothing with most packets.
    #[inline(never)]
    fn on_received_seldom(&mut self, packet_type: PacketType, is_full: bool, ecn: Ecn) {
        let rest = self.rest();
        if is_full {
            rest.packets_in.add(packet_type, FULL);
        }
        match ecn {
            Ecn::Ect1 => rest.counters.ect1_received += 1,
            Ecn::Ce => rest.counters.ce_received += 1,
            Ecn::NotEct | Ecn::Ect0 => {}
        }
    }

    /// A packet, or its data, was dropped.
    pub(super) fn on_drop(&mut self, reason: DropReason) {
        self.rest().drops.get_or_insert_default().count(reason);
    }

    /// The peer's host dropped a datagram of ours, and said why.
    pub(super) fn on_dropped_by_peer(&mut self, code: u8) {
        self.rest().rx_dropped.get_or_insert_default()[usize::from(code)] += 1;
    }

    /// An Ack Vector with this Nonce Echo arrived (4340-12.2-2).
    pub(super) fn on_nonce_echo(&mut self, nonce: bool) {
        if count(&mut self.few.nonce_echoes[usize::from(nonce)]) {
            let c = &mut self.rest().counters;
            let all = [&mut c.nonce_echoes_0, &mut c.nonce_echoes_1];
            *all[usize::from(nonce)] += FULL;
        }
    }

    /// The value of a feature changed.
    pub(super) fn on_feature_change(&mut self) {
        if count(&mut self.few.feature_changes) {
            self.rest().counters.feature_changes += FULL;
        }
    }

    /// A packet of `bytes` left.
    pub(super) fn on_sent(&mut self, packet_type: PacketType, bytes: usize) {
        self.bytes_out += bytes as u64;
        if count(&mut self.few.packets_out[packet_type as usize]) {
            self.on_sent_many(packet_type);
        }
    }

    #[cold]
    fn on_sent_many(&mut self, packet_type: PacketType) {
        self.rest().packets_out.add(packet_type, FULL);
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
        self.bytes_out += packets * bytes as u64;
        let rest = self.rest();
        rest.packets_out.add(PacketType::Data, packets);
        rest.counters.data_sent += packets;
        rest.counters.data_bytes_out += packets * len as u64;
    }

    /// Application data arrived for the first time; what becomes of it is counted apart.
    pub(super) fn on_data_received(&mut self, len: usize) {
        let c = &mut self.rest().counters;
        c.data_received += 1;
        c.data_bytes_in += len as u64;
    }

    /// An acknowledgement arrived.
    pub(super) fn on_feedback(&mut self, fb: &Feedback<'_>) {
        if fb.rtt.is_some() && count(&mut self.few.rtt_samples) {
            self.rest().counters.rtt_samples += FULL;
        }
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
        let Rest {
            mib,
            counters,
            mut packets_out,
            mut packets_in,
            rx_dropped,
            drops,
        } = self.rest.as_deref().cloned().unwrap_or_default();
        let few = &self.few;
        for packet_type in PacketType::ALL {
            let of = |few: &[u8; TYPES]| few[packet_type as usize].into();
            packets_out.add(packet_type, of(&few.packets_out));
            packets_in.add(packet_type, of(&few.packets_in));
        }
        let [echoes_0, echoes_1] = few.nonce_echoes.map(u64::from);
        let opens = |side| u64::from(self.has_opened && role == side);
        Stats {
            mib: Mib {
                active_opens: opens(Role::Client),
                passive_opens: opens(Role::Server),
                out_segs: packets_out.total(),
                out_rsts: packets_out.of(PacketType::Reset),
                out_datagrams: counters.data_sent,
                ..mib
            },
            counters: Counters {
                bytes_out: self.bytes_out,
                bytes_in: self.bytes_in,
                nonce_echoes_0: counters.nonce_echoes_0 + echoes_0,
                nonce_echoes_1: counters.nonce_echoes_1 + echoes_1,
                rtt_samples: counters.rtt_samples + u64::from(few.rtt_samples),
                feature_changes: counters.feature_changes + u64::from(few.feature_changes),
                ..counters
            },
            packets_out,
            packets_in,
            rx_dropped: rx_dropped.map_or([0; 8], |codes| *codes),
            drops: drops.map_or_else(DropCounts::default, |drops| *drops),
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
    fn what_fills_a_byte_is_counted_on() {
        let mut tally = Tally::default();
        let options = OptionWriter::new(0);
        let fb = Feedback {
            rtt: Some(Duration::from_millis(1)),
            ..feedback()
        };
        for n in 1..=600 {
            tally.on_received(&ack(&options), Ecn::NotEct);
            tally.on_sent(PacketType::Sync, 24);
            tally.on_nonce_echo(n % 3 == 0);
            tally.on_feature_change();
            tally.on_feedback(&fb);
            let stats = tally.stats(Role::Client);
            let c = stats.counters;
            assert_eq!(stats.packets_in.of(PacketType::Ack), n);
            assert_eq!(stats.packets_in.total(), n);
            assert_eq!(stats.packets_out.of(PacketType::Sync), n);
            assert_eq!(stats.packets_out.total(), n);
            assert_eq!((c.nonce_echoes_0, c.nonce_echoes_1), (n - n / 3, n / 3));
            assert_eq!((c.feature_changes, c.rtt_samples), (n, n));
        }
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
