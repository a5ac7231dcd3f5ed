//! How ns-2's TFRC measures the receive rate, and what it takes the first loss interval for: see
//! [`Rules`](super::rules::Rules).

use super::equation::Path;
use super::{float, packets};
use crate::time::Instant;
use core::time::Duration;
use std::collections::VecDeque;

/// A round trip is measured over more than its four ticks of the window counter.
const TICKS_MIN: u64 = 5;
/// Ticks that are kept: enough to find one that far back.
const TICKS: usize = 8;
/// From one packet to the next the counter may move by so much; what it skips beyond tells no time.
const STEP_MAX: u64 = 4;
/// Packets that are kept, at most: a third of a second at 1 Gbit/s.
const PACKETS_MAX: usize = 1 << 15;
/// How near to the receive rate the rate of the first loss interval comes (`p_tol_`).
const TOLERANCE: f64 = 0.05;
/// The search gives up after so many steps.
const STEPS: usize = 50;

/// The last packet with some window counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tick {
    counter: u64,
    at: Instant,
}

/// The meter of ns-2's receiver.
#[derive(Debug)]
pub(crate) struct Ns2Meter {
    ticks: VecDeque<Tick>,
    /// When the latest data packets arrived, and their bytes.
    arrived: VecDeque<(Instant, u64)>,
    rtt: Duration,
    last_feedback: Instant,
    /// Since then.
    bytes: u64,
}

impl Ns2Meter {
    /// A meter for data that begin to arrive now; `rtt`: what is known of the round trip.
    pub(crate) fn new(now: Instant, rtt: Duration) -> Self {
        Self {
            ticks: VecDeque::new(),
            arrived: VecDeque::new(),
            rtt,
            last_feedback: now,
            bytes: 0,
        }
    }

    /// A data packet arrives; `counter`: the window counter, continued beyond 15.
    pub(crate) fn on_data(&mut self, now: Instant, counter: u64, bytes: u64) {
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

    /// The round trip: four parts of the time since the last packet that is five ticks or more back. Packets that
    /// came all at one moment tell none.
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

    /// The receive rate in bytes per second: since the last feedback, and over a round trip at least.
    pub(crate) fn rate(&self, now: Instant) -> f64 {
        let since = now - self.last_feedback;
        if since >= self.rtt {
            return float(self.bytes) / since.as_secs_f64();
        }
        let newest_first = self.arrived.iter().rev();
        let recent = newest_first.take_while(|(at, _)| now - *at <= self.rtt);
        float(recent.map(|(_, bytes)| bytes).sum()) / self.rtt.as_secs_f64()
    }

    /// Feedback leaves.
    pub(crate) fn on_feedback(&mut self, now: Instant) {
        self.last_feedback = now;
        self.bytes = 0;
    }

    /// What the first loss event ends, for packets of `s` bytes: the length of an interval in packets.
    pub(crate) fn first_interval(&self, now: Instant, s: f64) -> u64 {
        let path = Path::new(s, self.rtt.as_secs_f64());
        packets(1.0 / coarse_loss_event_rate(&path, self.rate(now)))
    }
}

/// A loss event rate at which the equation gives `x` bytes per second, more or less.
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

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + Duration::from_millis(ms)
    }

    /// A meter that knows 100 ms from the handshake, after packets of 1000 bytes at these milliseconds with these
    /// counters.
    fn after(arrivals: &[(u64, u64)]) -> Ns2Meter {
        let mut meter = Ns2Meter::new(at(0), ms(100));
        for &(time, counter) in arrivals {
            meter.on_data(at(time), counter, 1000);
        }
        meter
    }

    #[test]
    fn a_round_trip_is_four_fifths_of_five_ticks() {
        // The last packet of counter 0 came at 5 ms.
        let mut ticks = vec![(0, 0), (5, 0), (20, 1), (40, 2), (60, 3), (80, 4)];
        assert_eq!(after(&ticks).rtt, ms(100));
        ticks.push((105, 5));
        assert_eq!(after(&ticks).rtt, ms(80));
        // Six ticks back, where the fifth was passed over: 4/6 of 90 ms.
        let skipped = [(0, 0), (30, 2), (60, 4), (90, 6)];
        assert_eq!(after(&skipped).rtt, ms(60));
        // Nothing smooths it.
        ticks.push((205, 6));
        assert_eq!(after(&ticks).rtt, ms(148));
    }

    #[test]
    fn a_counter_that_moves_by_five_tells_no_time() {
        assert_eq!(after(&[(0, 0), (40, 4), (80, 8)]).rtt, ms(40));
        assert_eq!(after(&[(0, 0), (50, 5)]).rtt, ms(100));
    }

    #[test]
    fn packets_that_came_all_at_one_moment_tell_no_time() {
        let meter = after(&[0, 1, 2, 3, 4, 5].map(|counter| (7, counter)));
        assert_eq!(meter.rtt, ms(100));
        assert!((meter.rate(at(7)) - 60_000.0).abs() < 1e-6);
    }

    #[test]
    fn the_rate_is_over_a_round_trip_at_least() {
        // 100 ms back from 120 ms are four packets, from the one at 20 ms on.
        let mut meter = after(&[(0, 0), (20, 0), (60, 0), (100, 0), (120, 0)]);
        meter.on_feedback(at(50));
        assert!((meter.rate(at(120)) - 40_000.0).abs() < 1e-6);
        // Since the feedback at 50 ms, of which this meter was told late, nothing was counted but this one.
        meter.on_data(at(150), 0, 700);
        assert!((meter.rate(at(150)) - 7_000.0).abs() < 1e-6);
        assert!((meter.rate(at(250)) - 3_500.0).abs() < 1e-6);
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
        // From arrivals: 4 packets in a round trip, 40 kB/s; 3/64 gives 39.0.
        let meter = after(&[(0, 0), (25, 0), (50, 0), (75, 0)]);
        assert_eq!(meter.first_interval(at(100), 1000.0), 22);
    }
}
