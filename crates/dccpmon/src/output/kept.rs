//! The intervals of a run in bounded memory.

use crate::schema::{Interval, IntervalFlow, SafeUdpInterval};
use dccp_stats::Spread;

/// The intervals of flows that are kept. At this number the older half is merged in pairs.
const FLOWS_MAX: usize = 100_000;

/// Keeps intervals by rising time.
#[derive(Default)]
pub(crate) struct Kept {
    intervals: Vec<Interval>,
    /// Flows in all intervals.
    flows: usize,
}

impl Kept {
    pub(crate) fn add(&mut self, interval: Interval) {
        self.flows += interval.flows.len();
        self.intervals.push(interval);
        if self.flows > FLOWS_MAX {
            self.merge_older();
        }
    }

    pub(crate) fn into_intervals(self) -> Vec<Interval> {
        self.intervals
    }

    fn merge_older(&mut self) {
        let half = self.intervals.len() / 2;
        let newer = self.intervals.split_off(half);
        let mut older = core::mem::take(&mut self.intervals).into_iter();
        while let Some(first) = older.next() {
            let merged = match older.next() {
                Some(second) => merged(first, second),
                None => first,
            };
            self.intervals.push(merged);
        }
        self.intervals.extend(newer);
        self.flows = self.intervals.iter().map(|i| i.flows.len()).sum();
    }
}

/// Two neighbours as one interval.
fn merged(mut first: Interval, second: Interval) -> Interval {
    let times = [&first, &second].map(|i| i.t1_ns.saturating_sub(i.t0_ns));
    first.t1_ns = second.t1_ns;
    for later in second.flows {
        match first.flows.iter_mut().find(|flow| flow.id == later.id) {
            Some(flow) => merge_flow(flow, later, times),
            None => first.flows.push(later),
        }
    }
    first
}

fn merge_flow(flow: &mut IntervalFlow, later: IntervalFlow, times: [u64; 2]) {
    let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    flow.offered_packets = sum(flow.offered_packets, later.offered_packets);
    flow.sent_packets = sum(flow.sent_packets, later.sent_packets);
    flow.sent_bytes = sum(flow.sent_bytes, later.sent_bytes);
    flow.received_packets = sum(flow.received_packets, later.received_packets);
    flow.received_bytes = sum(flow.received_bytes, later.received_bytes);
    flow.lost_packets = sum(flow.lost_packets, later.lost_packets);
    flow.recovered_packets = sum(flow.recovered_packets, later.recovered_packets);
    flow.marked_packets = sum(flow.marked_packets, later.marked_packets);
    flow.retransmitted_segments = sum(flow.retransmitted_segments, later.retransmitted_segments);
    flow.held_by_cc_ns = sum(flow.held_by_cc_ns, later.held_by_cc_ns);
    flow.goodput_bps = flow.goodput_bps.zip(later.goodput_bps).map(|(a, b)| {
        let [first, second] = times.map(dccp::proto::number::to_f64);
        (a * first + b * second) / (first + second).max(1.0)
    });
    flow.rtt_ns = merge_spread(flow.rtt_ns.take(), later.rtt_ns);
    flow.queue_ns = merge_spread(flow.queue_ns.take(), later.queue_ns);
    flow.late_ns = merge_spread(flow.late_ns.take(), later.late_ns);
    // These are states at the end of an interval.
    flow.cwnd_packets = later.cwnd_packets;
    flow.ssthresh_packets = later.ssthresh_packets;
    flow.cc_rate_bps = later.cc_rate_bps;
    flow.cc_state = later.cc_state;
    flow.safe_udp = match (flow.safe_udp.take(), later.safe_udp) {
        (Some(first), Some(last)) => Some(merge_safe_udp(&first, last)),
        (one, other) => one.or(other),
    };
}

/// Counts are those of both intervals, rates and the state those at the end.
fn merge_safe_udp(first: &SafeUdpInterval, last: SafeUdpInterval) -> SafeUdpInterval {
    SafeUdpInterval {
        dropped_packets: first.dropped_packets.saturating_add(last.dropped_packets),
        lost_packets: first.lost_packets.saturating_add(last.lost_packets),
        missing: first.missing.plus(last.missing),
        trips_n: first.trips_n.saturating_add(last.trips_n),
        ..last
    }
}

/// Two spreads as one. The percentiles of the whole are between those of its parts: the greater one is kept.
fn merge_spread(first: Option<Spread>, second: Option<Spread>) -> Option<Spread> {
    let (a, b) = match (first, second) {
        (Some(a), Some(b)) => (a, b),
        (one, other) => return one.or(other),
    };
    let n = a.n.saturating_add(b.n);
    let [weight_a, weight_b] = [a.n, b.n].map(dccp::proto::number::to_f64);
    Some(Spread {
        min: a.min.min(b.min),
        p50: a.p50.max(b.p50),
        p90: a.p90.max(b.p90),
        p99: a.p99.max(b.p99),
        p999: a.p999.max(b.p999),
        max: a.max.max(b.max),
        mean: (a.mean * weight_a + b.mean * weight_b) / (weight_a + weight_b),
        n,
        hdr: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn memory_is_bounded_and_no_packet_is_forgotten() {
        let one = sample::document().intervals[0].clone();
        let mut kept = Kept::default();
        let all = 3 * FLOWS_MAX as u64;
        for n in 0..all {
            let mut interval = one.clone();
            (interval.t0_ns, interval.t1_ns) = (n * 1_000, (n + 1) * 1_000);
            kept.add(interval);
        }
        let intervals = kept.into_intervals();
        assert!(intervals.len() <= FLOWS_MAX);
        let received = |flow: &IntervalFlow| flow.received_packets.unwrap();
        let sum: u64 = intervals.iter().map(|i| received(&i.flows[0])).sum();
        assert_eq!(sum, all * received(&one.flows[0]));
        assert!(intervals.windows(2).all(|w| w[0].t1_ns == w[1].t0_ns));
        assert_eq!(intervals.last().unwrap().t1_ns, all * 1_000);
        let goodput = intervals[0].flows[0].goodput_bps.unwrap();
        assert!((goodput - one.flows[0].goodput_bps.unwrap()).abs() < 1.0);
    }
}
