//! The rate at which data arrives (RFC 4342 §8.3 with errata 610 and 611, RFC 5348 §6.2).

use crate::number::to_f64;
use crate::time::Instant;
use core::time::Duration;

/// No interval is shorter: what a host receives in one batch arrives at one moment.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// How much data had arrived at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mark {
    at: Instant,
    bytes: u64,
}

/// Measures the receive rate between feedback packets that are a round trip apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ReceiveRate {
    /// At the last data packet.
    now: Mark,
    /// At the last feedback a round trip after the one before.
    newer: Mark,
    /// At that one.
    older: Mark,
    packets: u64,
    max: f64,
}

impl ReceiveRate {
    /// A meter whose first data packet, of this many bytes, arrives now. It begins the measurement
    /// and is no part of it, so the first rate is 0 (5348-6.3-1).
    pub(crate) fn new(now: Instant, bytes: u64) -> Self {
        let mark = Mark {
            at: now,
            bytes: counted(bytes),
        };
        Self {
            now: mark,
            newer: mark,
            older: mark,
            packets: 1,
            max: 0.0,
        }
    }

    /// A later data packet arrives.
    pub(crate) fn on_data(&mut self, now: Instant, bytes: u64, rtt: Duration) {
        // A pause before the first packet after a feedback is no part of the last round trip.
        if self.now.bytes == self.newer.bytes {
            self.newer.at = self.newer.at.max(now - interval(rtt));
        }
        self.now = Mark {
            at: now,
            bytes: self.now.bytes + counted(bytes),
        };
        self.packets += 1;
    }

    /// The rate in bytes per second up to the last data packet: over at least a round trip, back to
    /// a feedback (5348-6.2-1).
    pub(crate) fn rate(&self, rtt: Duration) -> f64 {
        let is_enough = self.now.at - self.newer.at >= enough(rtt);
        let from = if is_enough { self.newer } else { self.older };
        let time = self.now.at - from.at;
        let time = if is_enough {
            time
        } else {
            time.max(interval(rtt))
        };
        to_f64(self.now.bytes - from.bytes) / time.as_secs_f64()
    }

    /// A feedback packet reports the rate.
    pub(crate) fn on_feedback(&mut self, rtt: Duration) -> f64 {
        let rate = self.rate(rtt);
        self.max = self.max.max(rate);
        if self.now.at - self.newer.at >= enough(rtt) {
            self.older = self.newer;
            self.newer = self.now;
        }
        rate
    }

    /// The highest rate so far.
    pub(crate) fn max(&self, rtt: Duration) -> f64 {
        self.max.max(self.rate(rtt))
    }

    /// Mean size of the data packets so far, at least one byte.
    pub(crate) fn mean_size(&self) -> f64 {
        (to_f64(self.now.bytes) / to_f64(self.packets)).max(1.0)
    }
}

/// An empty datagram counts as one byte: a stream of them at a rate of 0 would never let the sender leave
/// the slowest rate (5348-4.3-2).
fn counted(bytes: u64) -> u64 {
    bytes.max(1)
}

fn interval(rtt: Duration) -> Duration {
    rtt.max(INTERVAL_MIN)
}

/// Returns the least time that counts as a round trip between feedback packets. Feedback is due once per
/// round trip of the sender (4342-10.3-1), which may be slightly early by this end's estimate. Measuring over
/// two round trips would slow the start: the rate would double in 2.7 round trips instead of two.
fn enough(rtt: Duration) -> Duration {
    interval(rtt * 7 / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + Duration::from_millis(ms)
    }

    fn assert_rate(rate: f64, expected: f64) {
        assert!(
            (rate - expected).abs() < 1e-6 * expected,
            "{rate} {expected}"
        );
    }

    #[test]
    fn the_first_feedback_tells_rate_0() {
        // 5348-6.3-1
        let mut m = ReceiveRate::new(at(0), 1000);
        assert!(m.on_feedback(RTT).abs() < f64::EPSILON);
    }

    #[test]
    fn a_steady_stream_is_measured_exactly() {
        // 4342-8.3-1
        let mut m = ReceiveRate::new(at(0), 1000);
        m.on_feedback(RTT);
        for round in 0..5 {
            for packet in 1..=10 {
                m.on_data(at(100 * round + 10 * packet), 1000, RTT);
            }
            assert_rate(m.on_feedback(RTT), 100_000.0);
        }
        assert_rate(m.max(RTT), 100_000.0);
        assert_rate(m.mean_size(), 1000.0);
    }

    #[test]
    fn feedback_before_a_round_trip_is_over_measures_back_to_an_earlier_one() {
        // 5348-6.2-1
        let mut m = ReceiveRate::new(at(0), 1000);
        m.on_data(at(100), 5_000, RTT);
        assert_rate(m.on_feedback(RTT), 50_000.0);
        m.on_data(at(110), 7_000, RTT);
        assert_rate(m.on_feedback(RTT), 12_000.0 / 0.11);
        m.on_data(at(200), 1_000, RTT);
        assert_rate(m.on_feedback(RTT), 80_000.0);
        m.on_data(at(287), 990, RTT);
        assert_rate(m.on_feedback(RTT), (8_000.0 + 990.0) / 0.187);
    }

    #[test]
    fn a_round_trip_may_be_an_eighth_short() {
        // 5348-6.2-1, 4342-10.3-1: 88 ms are enough, 87 ms are not.
        for (ms, first, second) in [
            (88, 8_000.0 / 0.088, 16_000.0 / 0.088),
            (87, 8_000.0 / 0.1, 24_000.0 / 0.174),
        ] {
            let mut m = ReceiveRate::new(at(0), 1000);
            m.on_data(at(ms), 8_000, RTT);
            assert_rate(m.on_feedback(RTT), first);
            m.on_data(at(2 * ms), 16_000, RTT);
            assert_rate(m.on_feedback(RTT), second);
        }
    }

    #[test]
    fn empty_datagrams_are_measured_as_one_byte_each() {
        let mut m = ReceiveRate::new(at(0), 0);
        m.on_feedback(RTT);
        for packet in 1..=10 {
            m.on_data(at(10 * packet), 0, RTT);
        }
        assert_rate(m.on_feedback(RTT), 100.0);
    }

    #[test]
    fn a_pause_is_not_measured() {
        // 5348-6.2-1: only the last round trip counts.
        let mut m = ReceiveRate::new(at(0), 1000);
        m.on_data(at(100), 5_000, RTT);
        m.on_feedback(RTT);
        m.on_data(at(5_000), 1_000, RTT);
        assert_rate(m.on_feedback(RTT), 10_000.0);
        m.on_data(at(5_150), 1_000, RTT);
        m.on_data(at(5_200), 1_000, RTT);
        assert_rate(m.on_feedback(RTT), 2_000.0 / 0.15);
    }

    #[test]
    fn on_a_short_path_the_interval_is_one_millisecond() {
        let rtt = Duration::from_micros(50);
        let mut m = ReceiveRate::new(at(0), 1000);
        m.on_feedback(rtt);
        m.on_data(at(0), 60_000, rtt);
        assert_rate(m.on_feedback(rtt), 6e7);
        m.on_data(at(1), 60_000, rtt);
        assert_rate(m.on_feedback(rtt), 1.2e8);
        m.on_data(at(2), 60_000, rtt);
        assert_rate(m.on_feedback(rtt), 6e7);
    }
}
