//! The meter of ns-2's TFRC: it measures the receive rate and derives the first loss interval from it.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::ccid3::{Meter, Path};
use dccp_proto::number::to_f64;
use std::collections::VecDeque;

/// The fewest ticks of the window counter for the measurement of a round trip: one more than a round trip has.
const TICKS_MIN: u64 = 5;
/// The number of stored ticks. It covers `TICKS_MIN`.
const TICKS: usize = 8;
/// The largest step of the counter between two packets that still measures time.
const STEP_MAX: u64 = 4;
/// The most packets that are stored: a third of a second at 1 Gbit/s.
const PACKETS_MAX: usize = 1 << 15;
/// The tolerance between the rate of the first loss interval and the receive rate (`p_tol_`).
const TOLERANCE: f64 = 0.05;
/// The search ends after this many steps.
const STEPS: usize = 50;

/// The last packet with one value of the window counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tick {
    counter: u64,
    at: Instant,
}

/// The meter of ns-2's receiver.
#[derive(Debug)]
pub(super) struct Ns2Meter {
    ticks: VecDeque<Tick>,
    /// The arrival times of the latest data packets, and their bytes.
    arrived: VecDeque<(Instant, u64)>,
    rtt: Duration,
    /// The time of the last feedback, or of the first data.
    last_feedback: Instant,
    /// Feedback was sent at least once.
    has_told: bool,
    /// Bytes that arrived since `last_feedback`.
    bytes: u64,
}

impl Ns2Meter {
    /// Returns the receive rate in bytes per second.
    fn measured(&self, now: Instant) -> f64 {
        let since = now - self.last_feedback;
        if since >= self.rtt {
            return to_f64(self.bytes) / since.as_secs_f64();
        }
        let newest_first = self.arrived.iter().rev();
        let recent = newest_first.take_while(|(at, _)| now - *at <= self.rtt);
        to_f64(recent.map(|(_, bytes)| bytes).sum()) / self.rtt.as_secs_f64()
    }

    /// Returns the round trip: four ticks. The length of a tick comes from the time since the last packet that is at
    /// least five ticks old. `None` if all packets arrived at one time.
    fn sample(&self) -> Option<Duration> {
        let newest = self.ticks.back()?;
        let mut later = newest.counter;
        for tick in self.ticks.iter().rev().skip(1) {
            if later - tick.counter > STEP_MAX {
                return None;
            }
            later = tick.counter;
            let ticks = newest.counter - tick.counter;
            if ticks >= TICKS_MIN {
                let rtt = (newest.at - tick.at) * 4 / u32::try_from(ticks).ok()?;
                return Some(rtt).filter(|rtt| !rtt.is_zero());
            }
        }
        None
    }
}

impl Meter for Ns2Meter {
    fn new(now: Instant, rtt: Duration) -> Self {
        Self {
            ticks: VecDeque::new(),
            arrived: VecDeque::new(),
            rtt,
            last_feedback: now,
            has_told: false,
            bytes: 0,
        }
    }

    fn on_data(&mut self, now: Instant, counter: u64, bytes: u64) {
        if self.arrived.len() == PACKETS_MAX {
            self.arrived.pop_front();
        }
        self.arrived.push_back((now, bytes));
        self.bytes += bytes;
        match self.ticks.back_mut() {
            Some(last) if last.counter == counter => last.at = now,
            _ => {
                if self.ticks.len() == TICKS {
                    self.ticks.pop_front();
                }
                self.ticks.push_back(Tick { counter, at: now });
            }
        }
        self.rtt = self.sample().unwrap_or(self.rtt);
    }

    /// Returns the rate since the last feedback, measured over at least a round trip. The first feedback reports 0.
    fn rate(&self, now: Instant) -> Option<f64> {
        Some(if self.has_told {
            self.measured(now)
        } else {
            0.0
        })
    }

    fn on_feedback(&mut self, now: Instant) {
        self.last_feedback = now;
        self.has_told = true;
        self.bytes = 0;
    }

    fn first_interval(&self, now: Instant, s: f64) -> Option<u64> {
        let path = Path::new(s, self.rtt.as_secs_f64());
        Some(packets(
            1.0 / coarse_loss_event_rate(&path, self.measured(now)),
        ))
    }
}

/// Returns a loss event rate for which the equation gives approximately `x` bytes per second.
fn coarse_loss_event_rate(path: &Path, x: f64) -> f64 {
    if x <= path.rate(1.0) {
        return 1.0;
    }
    let (mut p, mut step) = (0.5, 0.25);
    for _ in 0..STEPS {
        let rate = path.rate(p);
        if rate > (1.0 - TOLERANCE) * x && rate < (1.0 + TOLERANCE) * x {
            break;
        }
        p += if rate > x { step } else { -step };
        step /= 2.0;
    }
    p
}

/// Returns the least whole number that is not below `x`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and intervals are not negative"
)]
fn packets(x: f64) -> u64 {
    libm::ceil(x) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{at, ms};

    /// A meter with a round trip of 100 ms from the handshake. It received packets of 1000 bytes at these
    /// milliseconds with these counters.
    fn after(arrivals: &[(u64, u64)]) -> Ns2Meter {
        let mut meter = Ns2Meter::new(at(0), ms(100));
        for &(time, counter) in arrivals {
            meter.on_data(at(time), counter, 1000);
        }
        meter
    }

    #[test]
    fn a_round_trip_is_four_fifths_of_five_ticks() {
        // The last packet of counter 0 arrived at 5 ms.
        let mut ticks = vec![(0, 0), (5, 0), (20, 1), (40, 2), (60, 3), (80, 4)];
        assert_eq!(after(&ticks).rtt, ms(100));
        ticks.push((105, 5));
        assert_eq!(after(&ticks).rtt, ms(80));
        // No packet is five ticks old. The one that is six ticks old gives 4/6 of 90 ms.
        let skipped = [(0, 0), (30, 2), (60, 4), (90, 6)];
        assert_eq!(after(&skipped).rtt, ms(60));
        // The round trip is not smoothed.
        ticks.push((205, 6));
        assert_eq!(after(&ticks).rtt, ms(148));
    }

    #[test]
    fn a_counter_that_moves_by_five_measures_no_round_trip() {
        assert_eq!(after(&[(0, 0), (40, 4), (80, 8)]).rtt, ms(40));
        assert_eq!(after(&[(0, 0), (50, 5)]).rtt, ms(100));
    }

    #[test]
    fn packets_that_came_at_one_time_measure_no_round_trip() {
        let meter = after(&[0, 1, 2, 3, 4, 5].map(|counter| (7, counter)));
        assert_eq!(meter.rtt, ms(100));
        assert!((meter.measured(at(7)) - 60_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_rate_is_over_a_round_trip_at_least() {
        // The 100 ms before 120 ms contain four packets, starting with the one at 20 ms.
        let mut meter = after(&[(0, 0), (20, 0), (60, 0), (100, 0), (120, 0)]);
        assert_eq!(meter.rate(at(120)), Some(0.0), "the first feedback");
        meter.on_feedback(at(50));
        assert!((meter.measured(at(120)) - 40_000.0).abs() < 1e-6);
        // Only this packet was counted since the feedback at 50 ms, because `on_feedback` was called late.
        meter.on_data(at(150), 0, 700);
        assert!((meter.measured(at(150)) - 7_000.0).abs() < 1e-6);
        assert!((meter.measured(at(250)) - 3_500.0).abs() < 1e-6);
    }

    #[test]
    fn the_search_takes_the_first_that_is_near() {
        // s = 1000, r = 1. At p = 1/2: 1000 / (0.57735 + 12 · 0.43301 · 0.5 · 9) = 41.7; at 1/4: 316;
        // at 3/8: 1000 / (0.5 + 12 · 0.375 · 0.375 · 5.5) = 102.2; at 1: 4.1.
        let path = Path::new(1000.0, 1.0);
        for (x, p) in [
            (4.0, 1.0),
            (39.8, 0.5),
            (43.9, 0.5),
            (98.0, 0.375),
            (107.0, 0.375),
            (302.0, 0.25),
        ] {
            assert!((coarse_loss_event_rate(&path, x) - p).abs() < 1e-12, "{x}");
        }
        // From 1/2 to 1/4 to 3/8 to 7/16: 63.7 there.
        assert!((coarse_loss_event_rate(&path, 66.0) - 0.4375).abs() < 1e-12);
    }

    #[test]
    fn the_first_interval_is_what_ns_2_prints() {
        // `tfrc_recv_calcFirstLI` of a flow alone at 100 Mbit/s and 70 ms, with a queue of 145, 583 and 2333 packets.
        for (us, x, interval) in [
            (74_739, 11_549_234.96, 209_716),
            (105_984, 12_244_384.68, 524_288),
            (125_472, 12_237_988.29, 699_051),
        ] {
            let path = Path::new(1468.0, Duration::from_micros(us).as_secs_f64());
            assert_eq!(packets(1.0 / coarse_loss_event_rate(&path, x)), interval);
        }
        // The arrivals give 4 packets in a round trip, 40 kB/s. 3/64 gives 39.0.
        let meter = after(&[(0, 0), (25, 0), (50, 0), (75, 0)]);
        assert_eq!(meter.first_interval(at(100), 1000.0), Some(22));
    }
}
