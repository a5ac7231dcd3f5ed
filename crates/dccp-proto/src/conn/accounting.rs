//! Counts the events of a connection in its [`Stats`].

use super::in_flight::Oddities;
use super::stats::{Counters, DropReason, Mib, Resets, Stats};
use super::{Connection, Role, State};
use crate::cc::Feedback;
use crate::wire::{self, Ecn, Packet, PacketType, ResetCode};

impl Stats {
    /// This end opened the connection, or its peer did.
    pub(super) fn on_open(&mut self, role: Role) {
        match role {
            Role::Client => self.mib.active_opens += 1,
            Role::Server => self.mib.passive_opens += 1,
        }
    }

    /// A packet arrived, valid or not.
    pub(crate) fn on_received(&mut self, p: &Packet<'_>, ecn: Ecn) {
        let packet_type = p.packet_type();
        let header = wire::header_len(packet_type, p.is_short, p.options.0.len());
        self.packets_in.count(packet_type);
        let bytes = (header + p.payload.len()) as u64;
        self.counters.bytes_in += bytes;
        if packet_type == PacketType::Ack {
            self.counters.ack_bytes_in += bytes;
        }
        match ecn {
            Ecn::Ect1 => self.counters.ect1_received += 1,
            Ecn::Ce => self.counters.ce_received += 1,
            Ecn::NotEct | Ecn::Ect0 => {}
        }
    }

    /// The peer's host dropped a datagram and sent this Drop Code.
    pub(super) fn on_dropped_by_peer(&mut self, code: u8) {
        self.rx_dropped[usize::from(code)] += 1;
    }

    /// An Ack Vector with this Nonce Echo and this many cells arrived (4340-12.2-2).
    pub(super) fn on_ack_vector(&mut self, nonce: bool, cells: usize) {
        self.counters.ack_vector_bytes_in += (2 + cells) as u64;
        if nonce {
            self.counters.nonce_echoes_1 += 1;
        } else {
            self.counters.nonce_echoes_0 += 1;
        }
    }

    /// Packets left, each `bytes` long with its DCCP header.
    pub(super) fn on_sent(&mut self, packet_type: PacketType, packets: u32, bytes: usize) {
        let packets = u64::from(packets);
        self.packets_out.add(packet_type, packets);
        let bytes = packets * bytes as u64;
        self.counters.bytes_out += bytes;
        if packet_type == PacketType::Ack {
            self.counters.ack_bytes_out += bytes;
        }
    }

    /// A packet of no connection left, `bytes` long with its DCCP header.
    pub(crate) fn on_stateless_sent(&mut self, packet_type: PacketType, bytes: usize) {
        self.on_sent(packet_type, 1, bytes);
        self.mib.out_segs += 1;
        self.mib.out_rsts += u64::from(packet_type == PacketType::Reset);
    }

    /// Datagrams of `len` bytes left in packets.
    pub(super) fn on_data_sent(&mut self, datagrams: u32, len: usize) {
        let datagrams = u64::from(datagrams);
        self.counters.data_sent += datagrams;
        self.counters.data_bytes_out += datagrams * len as u64;
    }

    /// Application data arrived for the first time. Its delivery or its drop is counted too.
    pub(super) fn on_data_received(&mut self, len: usize) {
        self.counters.data_received += 1;
        self.counters.data_bytes_in += len as u64;
    }

    /// An acknowledgement arrived.
    pub(super) fn on_feedback(&mut self, fb: &Feedback<'_>) {
        let c = &mut self.counters;
        c.rtt_samples += u64::from(fb.rtt.is_some());
        c.data_acked += u64::from(fb.acked.packets);
        c.data_marked += u64::from(fb.marked.packets);
        c.data_lost += u64::from(fb.lost.packets);
        c.acks_lost += u64::from(fb.acks_lost);
        c.rate_samples += u64::from(fb.delivered_rate.is_some());
    }
}

/// The Resets of a connection. One ends it. Before, a client in REQUEST may answer others (4340-8.5-4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResetLog {
    /// Resets sent in REQUEST: "Packet Error".
    packet_errors: u32,
    /// The code of the Reset that this end ended the connection with.
    sent: Option<ResetCode>,
    /// The code of the Reset that the peer ended the connection with.
    pub(super) received: Option<ResetCode>,
}

impl ResetLog {
    /// A Reset left in this state.
    pub(super) fn on_sent(&mut self, code: ResetCode, state: State) {
        if state.is_alive() {
            self.packet_errors = self.packet_errors.saturating_add(1);
        } else {
            self.sent = Some(code);
        }
    }
}

impl Connection {
    /// The Resets of this connection, by code.
    pub fn resets(&self) -> Resets {
        let mut resets = Resets::default();
        let errors = self.resets.packet_errors.into();
        resets.sent.add(ResetCode::PACKET_ERROR, errors);
        self.resets
            .sent
            .iter()
            .for_each(|code| resets.sent.count(*code));
        let received = self.resets.received.iter();
        received.for_each(|code| resets.received.count(*code));
        resets
    }

    /// The counters of this connection, with those that its parts keep.
    pub fn stats(&self) -> Stats {
        let is_established = self.state.is_alive() && self.seqs.osr.is_some();
        let Oddities {
            spurious_losses,
            invalid_vectors,
            invalid_drops,
            ..
        } = self.in_flight.oddities();
        let pmtu = self.pmtu.counts();
        let has_sent = |code| u64::from(self.resets.sent == Some(code));
        let Stats {
            mib,
            counters,
            packets_out,
            ..
        } = self.stats;
        Stats {
            mib: Mib {
                curr_estab: u64::from(is_established),
                out_segs: packets_out.total(),
                out_rsts: packets_out.of(PacketType::Reset),
                out_datagrams: counters.data_sent,
                opt_mandatory_error: has_sent(ResetCode::MANDATORY_ERROR),
                invalid_opt: has_sent(ResetCode::OPTION_ERROR),
                ..mib
            },
            counters: Counters {
                spurious_losses,
                invalid_vectors,
                invalid_data_dropped: invalid_drops,
                requests_repeated: packets_out.of(PacketType::Request).saturating_sub(1),
                pmtu_probes: pmtu.probes.into(),
                pmtu_probes_acked: pmtu.probes_acked.into(),
                pmtu_black_holes: pmtu.black_holes.into(),
                ..counters
            },
            ..self.stats
        }
    }

    /// Forgets the packets until now: the endpoint has counted the Request and the Response of an Init Cookie.
    pub(crate) fn forget_packets(&mut self) {
        self.stats = Stats {
            mib: self.stats.mib,
            ..Stats::default()
        };
    }

    /// A packet, or its data, was dropped.
    pub(super) fn count_drop(&mut self, reason: DropReason) {
        self.stats.drops.count(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{feedback, packets};
    use crate::config::Config;
    use crate::conn::tests::{ack, open};
    use crate::time::Rate;
    use crate::wire::{OptionWriter, Payload};
    use core::time::Duration;

    #[test]
    fn arrivals_are_counted_by_bytes_and_ecn_field() {
        let mut stats = Stats::default();
        let options = OptionWriter::new(0);
        let mut p = ack(&options);
        p.payload = Payload::Zeros(100);
        for ecn in [Ecn::Ce, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1, Ecn::Ect0] {
            stats.on_received(&p, ecn);
        }
        let c = stats.counters;
        assert_eq!((c.ce_received, c.ect1_received), (1, 3));
        assert_eq!(c.bytes_in, 5 * (24 + 100));
        assert_eq!(stats.packets_in.of(PacketType::Ack), 5);
        assert_eq!(c.ack_bytes_in, c.bytes_in);
    }

    #[test]
    fn acks_are_counted_apart_from_data() {
        let mut stats = Stats::default();
        stats.on_sent(PacketType::Ack, 2, 30);
        stats.on_sent(PacketType::Data, 3, 500);
        stats.on_ack_vector(true, 5);
        stats.on_ack_vector(false, 1);
        let c = stats.counters;
        assert_eq!((c.ack_bytes_out, c.bytes_out), (60, 1560));
        assert_eq!((c.nonce_echoes_0, c.nonce_echoes_1), (1, 1));
        // Type and length of each option count.
        assert_eq!(c.ack_vector_bytes_in, 7 + 3);
    }

    #[test]
    fn resets_of_a_connection_are_those_that_it_answered_and_its_last() {
        let mut log = ResetLog::default();
        log.on_sent(ResetCode::PACKET_ERROR, State::Request);
        log.on_sent(ResetCode::PACKET_ERROR, State::Request);
        log.on_sent(ResetCode::ABORTED, State::Closed);
        let mut conn = open(Config::default());
        conn.resets = log;
        let resets = conn.resets();
        assert_eq!(resets.sent.of(ResetCode::PACKET_ERROR), 2);
        assert_eq!(resets.sent.of(ResetCode::ABORTED), 1);
        assert_eq!((resets.sent.total(), resets.received.total()), (3, 0));
    }

    #[test]
    fn connection_that_this_end_reset_for_an_option_is_counted_once() {
        let counts = |code| {
            let mut conn = open(Config::default());
            conn.resets.on_sent(code, State::Closed);
            let mib = conn.stats().mib;
            [mib.opt_mandatory_error, mib.invalid_opt]
        };
        assert_eq!(counts(ResetCode::MANDATORY_ERROR), [1, 0]);
        assert_eq!(counts(ResetCode::OPTION_ERROR), [0, 1]);
        assert_eq!(counts(ResetCode::ABORTED), [0, 0]);
    }

    #[test]
    fn acknowledgements_add_up() {
        let fb = Feedback {
            acked: packets(2),
            marked: packets(3),
            lost: packets(4),
            acks_lost: 5,
            rtt: Some(Duration::from_millis(1)),
            delivered_rate: Some(Rate::from_bytes_per_s(1000.0)),
            ..feedback()
        };
        let mut stats = Stats::default();
        stats.on_feedback(&fb);
        stats.on_feedback(&fb);
        let c = stats.counters;
        assert_eq!((c.data_acked, c.data_marked, c.data_lost), (4, 6, 8));
        assert_eq!((c.acks_lost, c.rtt_samples, c.rate_samples), (10, 2, 2));
    }
}
