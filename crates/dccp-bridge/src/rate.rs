//! The rate that an encoder can rely on.
//!
//! A window divided by the round-trip time says what congestion control would permit. While the program sends less, the
//! window grows beyond what the path carries, and the figure can be several times the rate of the link. So it is bounded
//! by what has arrived:
//!
//! - At most 1.25 times the highest rate that has arrived, which decays by half in [`MEMORY`]. At least [`START_BPS`].
//! - After datagrams have waited for [`SUSTAINED`], also at most the rate that arrives: it is the path's. When the queue is
//!   empty again, this bound grows by [`GROWTH`] each second, so that a faster path is found.

use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::{Instant, RateHint};

/// The queue must hold datagrams for this time before the delivered rate counts as that of the path. The delivered rate is
/// smoothed over half a second.
const SUSTAINED: Duration = Duration::from_secs(1);
/// Samples that are further apart do not show that the queue held datagrams in between.
const SAMPLE_GAP: Duration = Duration::from_millis(1500);
/// Growth of the bound in each second.
const GROWTH: f64 = 0.02;
/// A program may raise its rate to this multiple of what has arrived: the steps of `docs/timely.md`.
const HEADROOM: f64 = 1.25;
/// The half-life of the highest delivered rate.
const MEMORY: Duration = Duration::from_secs(30);
/// A program may begin with this rate in bit/s if the window permits it.
const START_BPS: f64 = 1e6;
/// The least rate that is published: one full packet each second.
const LEAST_BPS: u64 = 11_200;

/// The allowed rate of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllowedRate {
    /// The rate of the path in bit/s, as it was when the path was last full, and its growth since then.
    path_bps: Option<f64>,
    /// The highest delivered rate in bit/s, which decays.
    proven_bps: f64,
    backlogged_since: Option<Instant>,
    sampled: Option<Instant>,
}

impl AllowedRate {
    /// Returns the rate in bit/s of application data. `has_backlog`: datagrams wait in the queue now.
    pub(crate) fn update(&mut self, now: Instant, hint: &RateHint, has_backlog: bool) -> u64 {
        let elapsed = self.sampled.map_or(Duration::ZERO, |at| now - at);
        self.sampled = Some(now);
        if !has_backlog || elapsed > SAMPLE_GAP {
            self.backlogged_since = None;
        }
        let delivered = hint.delivered_bits_per_s.map(to_f64);
        let age = elapsed.as_secs_f64() / MEMORY.as_secs_f64();
        let decayed = self.proven_bps * 0.5_f64.powf(age);
        self.proven_bps = decayed.max(delivered.unwrap_or(0.0));
        let since = has_backlog.then(|| *self.backlogged_since.get_or_insert(now));
        let is_full = since.is_some_and(|since| now >= since + SUSTAINED);
        if let Some(delivered) = delivered.filter(|_| is_full) {
            self.path_bps = Some(delivered);
        } else if let Some(path) = &mut self.path_bps {
            *path *= 1.0 + GROWTH * elapsed.as_secs_f64();
        }
        let proven = (HEADROOM * self.proven_bps).max(START_BPS);
        let bound = whole(self.path_bps.map_or(proven, |path| path.min(proven)));
        hint.bits_per_s.min(bound).max(LEAST_BPS)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and 2^64 stands for all above it"
)]
fn whole(bits_per_s: f64) -> u64 {
    bits_per_s as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: u64 = 1_000_000;

    fn hint(window: u64, delivered: Option<u64>) -> RateHint {
        RateHint {
            bits_per_s: window,
            delivered_bits_per_s: delivered,
            is_app_limited: false,
            wait: Duration::ZERO,
        }
    }

    /// The last rate after samples each 100 ms.
    fn after(rate: &mut AllowedRate, from_ms: u64, to_ms: u64, hint: &RateHint, full: bool) -> u64 {
        let mut last = 0;
        for ms in (from_ms..to_ms).step_by(100) {
            last = rate.update(Instant::from_nanos(ms * M), hint, full);
        }
        last
    }

    #[test]
    fn full_path_allows_what_arrives() {
        let mut rate = AllowedRate::default();
        let hint = hint(139 * M, Some(48 * M));
        assert_eq!(after(&mut rate, 0, 3000, &hint, true), 48 * M);
    }

    #[test]
    fn bound_of_a_full_path_stays_when_the_program_slows_down_and_grows_slowly() {
        let mut rate = AllowedRate::default();
        after(&mut rate, 0, 3000, &hint(139 * M, Some(48 * M)), true);
        let slow = hint(139 * M, Some(40 * M));
        let soon = after(&mut rate, 3000, 4100, &slow, false);
        assert!((48 * M..50 * M).contains(&soon), "{soon}");
        let fast = hint(139 * M, Some(90 * M));
        let late = after(&mut rate, 4100, 40_000, &fast, false);
        assert!((90 * M..110 * M).contains(&late), "{late}");
    }

    #[test]
    fn path_that_was_never_full_allows_a_step_above_what_arrives() {
        let mut rate = AllowedRate::default();
        assert_eq!(after(&mut rate, 0, 100, &hint(12 * M, None), false), M);
        let small = hint(139 * M, Some(10 * M));
        assert_eq!(after(&mut rate, 100, 5000, &small, false), 12_500_000);
    }

    #[test]
    fn single_bursts_do_not_count_as_a_full_path() {
        let mut rate = AllowedRate::default();
        let hint = hint(139 * M, Some(10 * M));
        for start in (0..10_000).step_by(1000) {
            after(&mut rate, start, start + 500, &hint, true);
            after(&mut rate, start + 500, start + 1000, &hint, false);
        }
        assert_eq!(after(&mut rate, 10_000, 10_100, &hint, false), 12_500_000);
    }

    #[test]
    fn pause_does_not_take_the_whole_rate_away() {
        let mut rate = AllowedRate::default();
        after(&mut rate, 0, 5000, &hint(139 * M, Some(10 * M)), false);
        let silent = after(&mut rate, 5000, 15_000, &hint(139 * M, Some(0)), false);
        assert!((9_900_000..12_500_000).contains(&silent), "{silent}");
        let long = after(&mut rate, 15_000, 900_000, &hint(139 * M, Some(0)), false);
        assert_eq!(long, M);
    }

    #[test]
    fn smaller_window_is_the_bound() {
        let mut rate = AllowedRate::default();
        after(&mut rate, 0, 3000, &hint(139 * M, Some(48 * M)), true);
        assert_eq!(
            after(&mut rate, 3000, 3100, &hint(5 * M, Some(48 * M)), false),
            5 * M
        );
        assert_eq!(
            after(&mut rate, 3100, 3200, &hint(1, Some(1)), false),
            LEAST_BPS
        );
    }
}
