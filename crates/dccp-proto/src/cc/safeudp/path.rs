//! The round-trip time of the path as the control uses it.

use crate::time::Instant;
use core::time::Duration;

/// The least round-trip time is that of the last ten to twenty minutes.
const MEMORY: Duration = Duration::from_mins(10);
/// The weight of a new sample is one part of this.
const GAIN: u32 = 8;
/// A queue counts from this delay on, and from this part of the least round-trip time on.
const QUEUE_LEAST: Duration = Duration::from_millis(5);
const QUEUE_PART: u32 = 4;

/// Round-trip times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rtt {
    smoothed: Duration,
    is_measured: bool,
    /// The least of this period and of the one before, and when the period began.
    least: Duration,
    least_before: Duration,
    since: Instant,
}

impl Rtt {
    /// The round trip counts as `first` until one is measured.
    pub(crate) const fn new(now: Instant, first: Duration) -> Self {
        Self {
            smoothed: first,
            is_measured: false,
            least: Duration::MAX,
            least_before: Duration::MAX,
            since: now,
        }
    }

    /// Takes a sample.
    pub(crate) fn sample(&mut self, now: Instant, rtt: Duration) {
        let rtt = rtt.max(Duration::from_micros(1));
        self.smoothed = if self.is_measured {
            (self.smoothed * (GAIN - 1) + rtt) / GAIN
        } else {
            rtt
        };
        self.is_measured = true;
        if now - self.since > MEMORY {
            self.least_before = self.least;
            self.least = Duration::MAX;
            self.since = now;
        }
        self.least = self.least.min(rtt);
    }

    /// Smoothed.
    pub(crate) const fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Smoothed, in seconds, above zero.
    pub(crate) fn seconds(&self) -> f64 {
        self.smoothed.as_secs_f64()
    }

    /// Whether the path has a queue: the smoothed time exceeds the least one by more than 5 ms and a quarter.
    pub(crate) fn is_inflated(&self) -> bool {
        let least = self.least.min(self.least_before);
        self.smoothed.saturating_sub(least) > QUEUE_LEAST.max(least / QUEUE_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1);
    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn queue_shows_above_5_ms_and_a_quarter() {
        // SafeUDP §6: max(5 ms, 25 %).
        for (base, queued, is_inflated) in [
            (10, 15, false),
            (10, 16, true),
            (100, 125, false),
            (100, 126, true),
        ] {
            let mut rtt = Rtt::new(START, ms(200));
            rtt.sample(START, ms(base));
            for _ in 0..200 {
                rtt.sample(START, ms(queued));
            }
            assert_eq!(rtt.is_inflated(), is_inflated, "{base} {queued}");
        }
    }

    #[test]
    fn longer_path_is_no_queue_after_twenty_minutes() {
        let mut rtt = Rtt::new(START, ms(200));
        rtt.sample(START, ms(10));
        let mut last = true;
        for minute in 0..30 {
            let now = START + Duration::from_mins(1) * minute;
            for _ in 0..100 {
                rtt.sample(now, ms(50));
            }
            last = rtt.is_inflated();
        }
        assert!(!last);
        assert_eq!(Rtt::new(START, ms(200)).smoothed(), ms(200));
    }
}
