//! Spreads packets over time, and bounds how many may be committed ahead of their time.

use crate::time::{Instant, Nanos};
use core::time::Duration;

/// No batch may hold more than this much time at the current rate, so that the application can change its mind.
const COMMIT_HORIZON: Nanos = Nanos::new(250_000);
/// A late wake-up may catch up this time, and the granularity of the caller's timers.
const CATCH_UP: Duration = Duration::from_millis(1);

/// Converts seconds, to the nanosecond. The standard library's conversion takes fifty instructions more,
/// and a paced packet needs two.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and no interval is negative"
)]
pub(crate) fn seconds(time: f64) -> Nanos {
    Nanos::new((time * 1e9 + 0.5) as u64)
}

/// Returns how many packets, `interval` apart, may be committed at once: those of 250 µs or of `most`,
/// whichever is less, and at least 1.
pub(crate) fn commit_horizon(interval: impl Into<Nanos>, most: impl Into<Nanos>) -> u32 {
    let (interval, horizon) = (interval.into(), COMMIT_HORIZON.min(most.into()));
    if interval >= horizon {
        return 1;
    }
    u32::try_from(horizon.get() / interval.get().max(1)).unwrap_or(u32::MAX)
}

/// Keeps the time at which the last packet should have left.
///
/// The next packet is scheduled from there, not from the true departure, so late wake-ups do not lower
/// the rate. The time that can be caught up is bounded, so an idle sender does not burst. A new rate
/// counts at once, also for the packet that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pacer {
    last: Option<Instant>,
    catch_up: Nanos,
}

impl Pacer {
    /// Creates a pacer whose first packet may leave at once. The caller's timers have this granularity.
    pub(crate) fn new(granularity: Duration) -> Self {
        Self {
            last: None,
            catch_up: (CATCH_UP + granularity).into(),
        }
    }

    /// When the next packet may leave, if packets leave `interval` apart.
    pub(crate) fn next(&self, interval: impl Into<Nanos>) -> Instant {
        let interval = interval.into();
        self.last.map_or(Instant::ZERO, |last| last + interval)
    }

    /// Returns how many packets may leave now, `interval` apart, or else when the next one may. A
    /// packet may leave `early` before its time.
    pub(crate) fn permit(
        &self,
        now: Instant,
        interval: Nanos,
        rtt: Nanos,
        early: Nanos,
    ) -> Result<u32, Instant> {
        let next = self.next(interval) - early;
        if now < next {
            return Err(next);
        }
        let ahead = Nanos::from(now + early - self.departure(now, interval, rtt));
        let more = ahead.get().checked_div(interval.get()).unwrap_or(u64::MAX);
        Ok(u32::try_from(more).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// Returns the time at which a packet that leaves now should have left. At most a quarter of the
    /// round-trip time is ever caught up (5348-4.6-1).
    fn departure(&self, now: Instant, interval: Nanos, rtt: Nanos) -> Instant {
        let Some(last) = self.last else { return now };
        let earliest = now - self.catch_up.min(Nanos::new(rtt.get() / 4));
        (last + interval).max(earliest)
    }

    /// Until now packets had to wait for something else, such as room in a window. That is no lateness of
    /// a timer: it is not caught up, and the next packet may leave at once.
    pub(crate) fn was_held_until(&mut self, now: Instant, interval: impl Into<Nanos>) {
        let interval = interval.into();
        self.last = self.last.map(|last| last.max(now - interval));
    }

    /// A packet leaves now.
    pub(crate) fn on_sent(&mut self, now: Instant, interval: Nanos, rtt: Nanos) {
        self.last = Some(self.departure(now, interval, rtt));
    }

    /// More packets leave together with the last one, for which [`permit`](Self::permit) allowed.
    pub(crate) fn on_more_sent(&mut self, packets: u32, interval: Nanos) {
        let time = Nanos::new(interval.get().saturating_mul(packets.into()));
        self.last = self.last.map(|last| last + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    const START: Instant = Instant::from_nanos(1_000_000_000);
    const RTT: Duration = us(100_000);

    #[test]
    fn a_batch_holds_250_us_and_at_least_one_packet() {
        for (interval_us, packets) in [(1, 250), (2, 125), (100, 2), (125, 2), (126, 1), (9_000, 1)]
        {
            assert_eq!(
                commit_horizon(us(interval_us), RTT),
                packets,
                "{interval_us} µs"
            );
        }
        assert_eq!(commit_horizon(Duration::ZERO, RTT), 250_000);
        assert_eq!(commit_horizon(us(2), us(100)), 50);
    }

    #[test]
    fn packets_leave_one_interval_apart() {
        let mut p = Pacer::new(Duration::ZERO);
        assert_eq!(p.next(us(500)), Instant::ZERO);
        p.on_sent(START, us(500).into(), RTT.into());
        assert_eq!(p.next(us(500)), START + us(500));
        p.on_sent(START, us(500).into(), RTT.into());
        p.on_sent(START, us(300).into(), RTT.into());
        assert_eq!(p.next(us(500)), START + us(1_300));
    }

    #[test]
    fn a_new_rate_counts_for_the_packet_that_waits() {
        let mut p = Pacer::new(Duration::ZERO);
        p.on_sent(START, us(1_000_000).into(), RTT.into());
        assert_eq!(p.next(us(500)), START + us(500));
    }

    #[test]
    fn a_late_wake_up_is_caught_up() {
        let mut p = Pacer::new(Duration::ZERO);
        p.on_sent(START, us(500).into(), RTT.into());
        p.on_sent(START + us(700), us(500).into(), RTT.into());
        assert_eq!(p.next(us(500)), START + us(1_000));
    }

    #[test]
    fn an_idle_sender_catches_up_one_millisecond_and_a_timer_tick_at_most() {
        let mut p = Pacer::new(us(50));
        p.on_sent(START, us(500).into(), RTT.into());
        p.on_sent(START + us(80_000), us(500).into(), RTT.into());
        assert_eq!(p.next(us(500)), START + us(80_000 - 1_050 + 500));
    }

    #[test]
    fn time_with_a_full_window_is_not_caught_up() {
        let mut p = Pacer::new(Duration::ZERO);
        p.on_sent(START, us(500).into(), RTT.into());
        p.was_held_until(START + us(900), us(500));
        assert_eq!(p.next(us(500)), START + us(900));
        // A window that opens before its time does not let the packet leave early.
        p.on_sent(START + us(900), us(500).into(), RTT.into());
        p.was_held_until(START + us(1_000), us(500));
        assert_eq!(p.next(us(500)), START + us(1_400));
    }

    #[test]
    fn on_a_short_path_a_quarter_of_the_round_trip_is_the_most() {
        let mut p = Pacer::new(us(50));
        p.on_sent(START, us(10).into(), RTT.into());
        p.on_sent(START + us(80_000), us(10).into(), us(400).into());
        assert_eq!(p.next(us(10)), START + us(80_000 - 100 + 10));
    }
}
