//! The time scales of the control (SafeUDP §4): all follow from the round-trip time and the measurement interval.

use core::time::Duration;

/// No measurement interval is shorter.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
/// No grace is shorter.
const GRACE_MIN: Duration = Duration::from_secs(1);
/// No breaker window is shorter.
const BREAKER_MIN: Duration = Duration::from_secs(10);
/// No silence that opens the breaker is shorter.
const SILENCE_MIN: Duration = Duration::from_secs(1);
/// A measurement interval is extended up to this, until enough packets are judged.
const EXTENDED_MAX: Duration = Duration::from_secs(1);
/// Longer round trips count as this, so that no product overflows.
const RTT_MAX: Duration = Duration::from_mins(1);

/// Intervals of the transient test, `W`.
pub(crate) const TRANSIENT: usize = 5;

/// Durations of the control. The periods of the breakers are in measurement intervals, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeScales {
    /// The length of the measurement interval.
    pub(crate) interval: Duration,
    /// The time that an advisory leaves to the application, `G`.
    pub(crate) grace: Duration,
    /// The least sub-window of the breakers, in intervals: those that cover `G`.
    pub(crate) sub_window: u32,
    /// The breaker window in intervals.
    pub(crate) breaker_window: u32,
    /// The hold after a trip: a breaker window.
    pub(crate) hold: Duration,
    /// Silence of this length opens the breaker.
    pub(crate) silence: Duration,
}

impl TimeScales {
    /// The scales at this round-trip time, while intervals have this length.
    pub(crate) fn new(rtt: Duration, interval: Duration) -> Self {
        let rtt = rtt.min(RTT_MAX);
        let interval = interval.max(nominal_interval(rtt)).min(8 * RTT_MAX);
        let grace = (10 * rtt).max(GRACE_MIN);
        let hold = (5 * (5 * interval + grace)).max(BREAKER_MIN);
        Self {
            interval,
            grace,
            sub_window: intervals(grace, interval),
            breaker_window: intervals(hold, interval),
            hold,
            silence: (3 * nominal_interval(rtt)).max(SILENCE_MIN),
        }
    }
}

/// The measurement interval at this round-trip time, `T_m`.
pub(crate) fn nominal_interval(rtt: Duration) -> Duration {
    (4 * rtt.min(RTT_MAX)).max(INTERVAL_MIN)
}

/// The longest measurement interval at this round-trip time.
pub(crate) fn longest_interval(rtt: Duration) -> Duration {
    nominal_interval(rtt).max(EXTENDED_MAX)
}

/// Returns the number of intervals that cover `time`.
fn intervals(time: Duration, interval: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(interval.as_nanos())).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_follow_the_round_trip_time_as_pinned() {
        // SafeUDP §4: the table of time scales.
        for (rtt, interval, sub_window, window) in [
            (1, 100, 10, 100),
            (10, 100, 10, 100),
            (25, 100, 10, 100),
            (70, 280, 4, 43),
            (94, 376, 3, 39),
            (100, 400, 3, 38),
            (170, 680, 3, 38),
            (300, 1200, 3, 38),
        ] {
            let rtt = Duration::from_millis(rtt);
            let length = nominal_interval(rtt);
            assert_eq!(length, Duration::from_millis(interval));
            let scales = TimeScales::new(rtt, length);
            assert_eq!(
                (scales.sub_window, scales.breaker_window),
                (sub_window, window)
            );
            assert_eq!(scales.grace, (10 * rtt).max(Duration::from_secs(1)));
        }
    }

    #[test]
    fn silence_is_at_least_a_second() {
        for (rtt, silence) in [(1, 1000), (100, 1200), (300, 3600)] {
            let rtt = Duration::from_millis(rtt);
            let scales = TimeScales::new(rtt, nominal_interval(rtt));
            assert_eq!(scales.silence, Duration::from_millis(silence));
        }
    }

    #[test]
    fn extended_intervals_shorten_no_time() {
        let rtt = Duration::from_millis(20);
        let long = longest_interval(rtt);
        let scales = TimeScales::new(rtt, long);
        assert_eq!(long, Duration::from_secs(1));
        assert_eq!((scales.sub_window, scales.breaker_window), (1, 30));
        assert_eq!(scales.hold, Duration::from_secs(30));
    }

    #[test]
    fn absurd_round_trip_times_have_scales() {
        for rtt in [Duration::ZERO, Duration::MAX] {
            let scales = TimeScales::new(rtt, Duration::MAX);
            assert!(scales.sub_window >= 1 && scales.breaker_window >= scales.sub_window);
        }
    }
}
