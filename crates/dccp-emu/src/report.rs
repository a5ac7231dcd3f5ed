//! The emulator's report, and its warnings when it cannot keep up.

use crate::channel::ChannelStats;
use dccp_sim::loss::Loss;
use dccp_stats::Spread;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counters of one direction. Packets: offered = delivered + lost + inside.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DirectionReport {
    /// Packets that arrived.
    pub offered_packets: u64,
    /// Packets that reached the far end of the link.
    pub delivered_packets: u64,
    /// Bytes of these IP packets.
    pub delivered_bytes: u64,
    /// Packets that the link lost, by reason.
    pub lost_packets: BTreeMap<&'static str, u64>,
    /// Packets still in the link.
    pub inside_packets: u64,
    /// Packets marked CE.
    pub marked_packets: u64,
    /// Packets of those delivered that arrived twice.
    pub duplicated_packets: u64,
    /// The mean time that packets waited in the queue.
    pub queue_mean_us: f64,
    /// The longest time that a packet waited in the queue.
    pub queue_max_us: u64,
    /// Most packets in the queue at once.
    pub queue_packets_max: usize,
    /// The packets in the queue that arriving packets found, also those that it dropped; null without packets.
    pub queue_packets: Option<Spread>,
    /// Drops by the emulator: packets that overflowed the system's buffers, and those of clients above the maximum.
    pub overflow_packets: u64,
    /// Drops by the emulator: packets that the system refused to send.
    pub refused_packets: u64,
    /// Packets that left more than 1 ms after their due time.
    pub late_packets: u64,
    /// The longest time between due time and departure.
    pub lateness_max_us: u64,
    /// The mean time of all packets between due time and departure.
    pub lateness_mean_us: f64,
}

/// Counters of both directions.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// From the first side (clients) to the second (server).
    pub forward: DirectionReport,
    /// From the second side to the first.
    pub back: DirectionReport,
}

impl DirectionReport {
    /// From a channel's counters and the packets that the system lost before we read them.
    #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
    pub fn new(stats: &ChannelStats, overflow: u64) -> Self {
        let link = &stats.link;
        let micros = |d: core::time::Duration| u64::try_from(d.as_micros()).unwrap_or(u64::MAX);
        let lost = Loss::ALL.iter().filter(|r| link.lost.of(**r) > 0);
        Self {
            offered_packets: link.offered,
            delivered_packets: link.delivered,
            delivered_bytes: link.delivered_bytes,
            lost_packets: lost.map(|r| (r.name(), link.lost.of(*r))).collect(),
            inside_packets: link.inside,
            marked_packets: link.marked,
            duplicated_packets: link.duplicated,
            queue_mean_us: link.sojourn_sum.as_secs_f64() * 1e6 / link.dequeued.max(1) as f64,
            queue_max_us: micros(link.sojourn_max),
            queue_packets_max: link.queue_packets_max,
            queue_packets: None,
            overflow_packets: overflow,
            refused_packets: stats.refused,
            late_packets: stats.late,
            lateness_max_us: micros(stats.lateness_max),
            lateness_mean_us: stats.lateness_sum.as_secs_f64() * 1e6 / link.delivered.max(1) as f64,
        }
    }

    /// With the queue that arriving packets found.
    #[must_use]
    pub fn with_queue(mut self, queue: Option<Spread>) -> Self {
        self.queue_packets = queue;
        self
    }

    /// A warning about this direction since an earlier report: drops by the emulator, or more than 1 % of packets late.
    pub fn complaint_since(&self, earlier: &Self) -> Option<String> {
        let own = self.overflow_packets + self.refused_packets;
        let own_before = earlier.overflow_packets + earlier.refused_packets;
        let late = self.late_packets - earlier.late_packets;
        let delivered = self.delivered_packets - earlier.delivered_packets;
        if own > own_before {
            Some(format!(
                "{} packets dropped by the emulator itself",
                own - own_before
            ))
        } else if late * 100 > delivered {
            Some(format!("{late} of {delivered} packets more than 1 ms late"))
        } else {
            None
        }
    }
}

impl Report {
    /// The warnings since an earlier report, at most one for each direction.
    pub fn complaints_since(&self, earlier: &Self) -> Vec<String> {
        let forward = self.forward.complaint_since(&earlier.forward);
        let back = self.back.complaint_since(&earlier.back);
        let named = |name: &str, c: Option<String>| c.map(|c| format!("{name}: {c}"));
        [named("forward", forward), named("back", back)]
            .into_iter()
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn stats(delivered: u64, late: u64, refused: u64) -> ChannelStats {
        let mut stats = ChannelStats {
            late,
            refused,
            lateness_max: Duration::from_millis(3),
            lateness_sum: Duration::from_millis(delivered),
            ..ChannelStats::default()
        };
        stats.link.offered = delivered + 2;
        stats.link.delivered = delivered;
        stats.link.lost.add(Loss::Queue);
        stats.link.inside = 1;
        stats
    }

    #[test]
    fn a_report_names_losses_and_means() {
        let report = DirectionReport::new(&stats(100, 1, 0), 4);
        assert_eq!(report.lost_packets, BTreeMap::from([("queue full", 1)]));
        assert_eq!((report.lateness_max_us, report.overflow_packets), (3000, 4));
        assert_eq!(report.lateness_mean_us.to_bits(), 1000.0_f64.to_bits());
    }

    #[test]
    fn own_drops_and_lateness_are_complained_of_once() {
        let calm = DirectionReport::new(&stats(100, 1, 0), 0);
        let none = DirectionReport::new(&stats(0, 0, 0), 0);
        assert_eq!(
            calm.complaint_since(&none),
            None,
            "one in a hundred is bearable"
        );
        let late = DirectionReport::new(&stats(200, 3, 0), 0);
        let complaint = late.complaint_since(&calm).unwrap();
        assert_eq!(complaint, "2 of 100 packets more than 1 ms late");
        let dropped = DirectionReport::new(&stats(200, 3, 2), 1);
        let complaint = dropped.complaint_since(&late).unwrap();
        assert_eq!(complaint, "3 packets dropped by the emulator itself");
        assert_eq!(dropped.complaint_since(&dropped), None);
    }
}
