//! The round-trip time estimator and the transmit timeout of a window sender (RFC 6298).

use crate::time::Nanos;
use core::time::Duration;

/// The timeout before the first sample (RFC 6298 §2).
const INITIAL_RTO: Nanos = Nanos::new(1_000_000_000);
/// No timeout is longer, however often it was doubled (RFC 6298 §2.5).
const RTO_MAX: Nanos = Nanos::new(64_000_000_000);

/// Smoothed round-trip time, its variation, and the timeout that follows from them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RttEstimator {
    smoothed: Option<Nanos>,
    variation: Nanos,
    rto_min: Nanos,
    granularity: Nanos,
    backoff: u32,
    /// The timeout as it stands: asked for with every packet, changed once in a round trip.
    rto: Nanos,
}

impl RttEstimator {
    /// An estimator without a sample. `rto_min` is the lowest timeout: 4341-5-5 lifts TCP's floor of
    /// one second. `granularity` is that of the caller's timers.
    pub fn new(rto_min: Duration, granularity: Duration) -> Self {
        let mut estimator = Self {
            smoothed: None,
            variation: Nanos::ZERO,
            rto_min: rto_min.into(),
            granularity: granularity.into(),
            backoff: 0,
            rto: Nanos::ZERO,
        };
        estimator.rto = estimator.timeout();
        estimator
    }

    /// Takes a sample, and with it ends the doubling of the timeout.
    pub fn sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        self.sample_while_doubled(rtt);
    }

    /// Takes a sample, and leaves the timeout doubled if it is.
    pub fn sample_while_doubled(&mut self, rtt: Duration) {
        // 4341-5-5: gains 1/8 and 1/4, the variation first because it needs the old mean.
        let rtt = Nanos::from(rtt).get();
        let (mean, variation) = match self.smoothed.map(Nanos::get) {
            None => (rtt, rtt / 2),
            Some(mean) => {
                let variation = self.variation.get().saturating_mul(3) / 4;
                let change = mean.abs_diff(rtt) / 4;
                (mean.saturating_mul(7) / 8 + rtt / 8, variation + change)
            }
        };
        self.smoothed = Some(Nanos::new(mean));
        self.variation = Nanos::new(variation);
        self.rto = self.timeout();
    }

    /// The smoothed round-trip time, if there was a sample.
    pub(crate) const fn smoothed(&self) -> Option<Nanos> {
        self.smoothed
    }

    /// The timeout as it stands, doubled as often as it expired since the last sample.
    pub(crate) const fn rto(&self) -> Nanos {
        self.rto
    }

    fn timeout(&self) -> Nanos {
        let base = self.smoothed.map_or(INITIAL_RTO.get(), |mean| {
            let variation = self.variation.get().saturating_mul(4);
            mean.get()
                .saturating_add(variation.max(self.granularity.get()))
        });
        let factor = 1_u64.checked_shl(self.backoff).unwrap_or(u64::MAX);
        let rto = base.max(self.rto_min.get()).saturating_mul(factor);
        Nanos::new(rto).min(RTO_MAX)
    }

    /// The timeout expired: doubles it (4341-5-5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
        self.rto = self.timeout();
    }

    /// Whether the timeout expired since the last sample.
    pub const fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn samples_move_mean_variation_and_timeout_as_pinned() {
        // 4341-5-5: the timeout follows RFC 6298.
        let mut e = RttEstimator::new(Duration::ZERO, Duration::ZERO);
        for (sample, mean, variation, rto) in [
            (ms(100), 100_000_000, 50_000_000, 300_000_000),
            (ms(120), 102_500_000, 42_500_000, 272_500_000),
            (ms(200), 114_687_500, 56_250_000, 339_687_500),
            (ms(100), 112_851_562, 45_859_375, 296_289_062),
        ] {
            e.sample(sample);
            assert_eq!(e.smoothed(), Some(Nanos::new(mean)));
            assert_eq!(e.variation, Nanos::new(variation));
            assert_eq!(e.rto().duration(), Duration::from_nanos(rto));
        }
    }

    #[test]
    fn the_first_timeout_is_one_second() {
        let e = RttEstimator::new(ms(200), us(50));
        assert_eq!(e.rto().duration(), Duration::from_secs(1));
        assert_eq!(e.smoothed(), None);
    }

    #[test]
    fn the_floor_is_settable_and_below_one_second() {
        // 4341-5-5
        let mut e = RttEstimator::new(ms(200), us(50));
        e.sample(ms(10));
        assert_eq!(e.rto().duration(), ms(200));
        let mut e = RttEstimator::new(Duration::from_secs(1), us(50));
        e.sample(ms(100));
        assert_eq!(e.rto().duration(), Duration::from_secs(1));
    }

    #[test]
    fn a_coarse_timer_counts_where_the_variation_is_smaller() {
        let mut e = RttEstimator::new(Duration::ZERO, ms(10));
        for _ in 0..100 {
            e.sample(ms(50));
        }
        // Integer division takes a few nanoseconds off the mean.
        assert!(e.rto().duration().abs_diff(ms(60)) < us(1));
    }

    #[test]
    fn a_timeout_stays_doubled_if_asked() {
        // Mean 100 ms, variation 37.5 ms: 250 ms, twice.
        let mut e = RttEstimator::new(ms(200), us(50));
        e.sample(ms(100));
        e.back_off();
        e.sample_while_doubled(ms(100));
        assert!(e.is_backed_off());
        assert_eq!(e.rto().duration(), ms(500));
        e.sample(ms(100));
        assert_eq!(e.rto().duration(), us(212_500));
    }

    #[test]
    fn each_expiry_doubles_up_to_64_s_and_a_sample_ends_it() {
        // 4341-5-5: the back-off is TCP's.
        let mut e = RttEstimator::new(ms(200), us(50));
        e.sample(ms(100));
        let mut expected = 300;
        for _ in 0..7 {
            assert_eq!(e.rto().duration(), ms(expected));
            e.back_off();
            expected *= 2;
        }
        assert_eq!(e.rto().duration(), ms(38_400));
        e.back_off();
        assert_eq!(e.rto().duration(), Duration::from_secs(64));
        for _ in 0..100 {
            e.back_off();
        }
        assert_eq!(e.rto().duration(), Duration::from_secs(64));
        assert!(e.is_backed_off());
        e.sample(ms(100));
        assert!(!e.is_backed_off());
        assert_eq!(e.rto().duration(), ms(250));
    }
}
