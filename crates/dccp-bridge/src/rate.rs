//! The rate that an encoder can rely on.
//!
//! A window divided by the round-trip time says what congestion control would permit. While the program sends less, the
//! window grows beyond what the path carries, and the figure can be several times the rate of the link. So it is bounded
//! by what has arrived:
//!
//! - If datagrams have waited for [`SUSTAINED`], the bound is the rate that arrives. It is the path's.
//! - If the path was full before, the bound is that rate. It grows by [`GROWTH`] each second, so that a faster path is found.
//! - If the path was never full, the bound is twice the rate that arrives.

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
/// A program may raise its rate to this multiple of what arrives while the path was never full.
const HEADROOM: u64 = 2;
/// The least rate that is published: one full packet each second.
const LEAST_BPS: u64 = 11_200;

/// The allowed rate of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllowedRate {
    /// The rate of the path in bit/s, as it was when the path was last full, and its growth since then.
    path_bps: Option<f64>,
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
        let delivered = hint.delivered_bits_per_s;
        let since = has_backlog.then(|| *self.backlogged_since.get_or_insert(now));
        let is_full = since.is_some_and(|since| now >= since + SUSTAINED);
        if let Some(delivered) = delivered.filter(|_| is_full) {
            self.path_bps = Some(to_f64(delivered));
        } else if let Some(path) = &mut self.path_bps {
            *path *= 1.0 + GROWTH * elapsed.as_secs_f64();
        }
        let bound = match (self.path_bps, delivered) {
            (Some(path), _) => whole(path),
            (None, Some(delivered)) => delivered.saturating_mul(HEADROOM),
            (None, None) => hint.bits_per_s,
        };
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
        let slow = hint(139 * M, Some(20 * M));
        let soon = after(&mut rate, 3000, 4100, &slow, false);
        assert!((48 * M..50 * M).contains(&soon), "{soon}");
        let late = after(&mut rate, 4100, 40_000, &slow, false);
        assert!((90 * M..110 * M).contains(&late), "{late}");
    }

    #[test]
    fn path_that_was_never_full_allows_twice_what_arrives() {
        let mut rate = AllowedRate::default();
        assert_eq!(after(&mut rate, 0, 100, &hint(12 * M, None), false), 12 * M);
        let small = hint(139 * M, Some(10 * M));
        assert_eq!(after(&mut rate, 100, 5000, &small, false), 20 * M);
    }

    #[test]
    fn single_bursts_do_not_count_as_a_full_path() {
        let mut rate = AllowedRate::default();
        let hint = hint(139 * M, Some(10 * M));
        for start in (0..10_000).step_by(1000) {
            after(&mut rate, start, start + 500, &hint, true);
            after(&mut rate, start + 500, start + 1000, &hint, false);
        }
        assert_eq!(after(&mut rate, 10_000, 10_100, &hint, false), 20 * M);
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
