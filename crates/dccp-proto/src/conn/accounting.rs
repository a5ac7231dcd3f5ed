//! How packets and feedback become counters.

use super::in_flight::Oddities;
use super::pmtu::PmtuCounts;
use super::stats::Stats;
use crate::cc::Feedback;
use crate::wire::{self, Ecn, Packet, PacketType};

impl Stats {
    /// A packet for this connection arrived, valid or not.
    pub(super) fn on_received(&mut self, p: &Packet<'_>, ecn: Ecn) {
        let header = wire::header_len(p.packet_type(), p.is_short, p.options.0.len());
        self.packets_in.count(p.packet_type());
        self.counters.bytes_in += (header + p.payload.len()) as u64;
        self.counters.ce_received += u64::from(ecn == Ecn::Ce);
        self.counters.ect1_received += u64::from(ecn == Ecn::Ect1);
    }

    /// A packet of `bytes` left.
    pub(super) fn on_sent(&mut self, packet_type: PacketType, bytes: usize) {
        self.packets_out.count(packet_type);
        self.counters.bytes_out += bytes as u64;
        self.mib.out_segs += 1;
        self.mib.out_rsts += u64::from(packet_type == PacketType::Reset);
    }

    /// A datagram of the application left.
    pub(super) fn on_data_sent(&mut self, len: usize) {
        self.mib.out_datagrams += 1;
        self.counters.data_sent += 1;
        self.counters.data_bytes_out += len as u64;
    }

    /// A datagram for the application arrived.
    pub(super) fn on_data_received(&mut self, len: usize) {
        self.counters.data_received += 1;
        self.counters.data_bytes_in += len as u64;
    }

    /// The search for the path MTU went on.
    pub(super) fn on_pmtu(&mut self, counts: PmtuCounts) {
        self.counters.pmtu_probes = counts.probes;
        self.counters.pmtu_probes_acked = counts.probes_acked;
        self.counters.pmtu_black_holes = counts.black_holes;
    }

    /// An acknowledgement was read.
    pub(super) fn on_feedback(&mut self, fb: &Feedback<'_>, oddities: Oddities) {
        let c = &mut self.counters;
        c.spurious_losses = oddities.spurious_losses;
        c.invalid_vectors = oddities.invalid_vectors;
        c.invalid_data_dropped = oddities.invalid_drops;
        c.data_acked += u64::from(fb.acked.packets);
        c.data_marked += u64::from(fb.marked.packets);
        c.data_lost += u64::from(fb.lost.packets);
        c.acks_lost += u64::from(fb.acks_lost);
        c.rtt_samples += u64::from(fb.rtt.is_some());
        c.rate_samples += u64::from(fb.delivered_rate.is_some());
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
        let mut stats = Stats::default();
        let options = OptionWriter::new(0);
        let mut p = ack(&options);
        p.payload = Payload::Zeros(100);
        for ecn in [Ecn::Ce, Ecn::Ect1, Ecn::Ect1, Ecn::Ect1, Ecn::Ect0] {
            stats.on_received(&p, ecn);
        }
        let c = &stats.counters;
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
        let mut stats = Stats::default();
        stats.on_feedback(&fb, Oddities::default());
        stats.on_feedback(&fb, Oddities::default());
        let c = &stats.counters;
        assert_eq!((c.data_acked, c.data_marked, c.data_lost), (4, 6, 8));
        assert_eq!((c.acks_lost, c.rtt_samples, c.rate_samples), (10, 2, 2));
    }
}
