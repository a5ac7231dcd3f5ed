//! The round-trip time of a CCID 3 sender, and how it damps oscillation (RFC 5348 §4.3, §4.5).

/// Weight of the past in both means (5348-4.3-1, 5348-4.5-1).
const Q: f64 = 0.9;

/// The round-trip time as the sender has smoothed it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RoundTrip {
    /// `r`, in seconds.
    pub(crate) r: f64,
    /// The mean of the square root of samples, `R_sqmean`.
    sqrt_mean: f64,
    /// The square root of the last sample.
    sqrt_last: f64,
}

impl RoundTrip {
    /// The estimate after the first sample, in seconds.
    pub(crate) fn first(sample: f64) -> Self {
        let sqrt = libm::sqrt(sample);
        Self {
            r: sample,
            sqrt_mean: sqrt,
            sqrt_last: sqrt,
        }
    }

    /// Takes a further sample, in seconds.
    pub(crate) fn update(&mut self, sample: f64) {
        self.r = Q * self.r + (1.0 - Q) * sample;
        self.sqrt_last = libm::sqrt(sample);
        self.sqrt_mean = Q * self.sqrt_mean + (1.0 - Q) * self.sqrt_last;
    }

    /// How much faster or slower than `x` to send right now, so that a growing queue slows the
    /// sender down before losses do (5348-4.5-1).
    pub(crate) fn damping(&self) -> f64 {
        self.sqrt_mean / self.sqrt_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} {expected}");
    }

    #[test]
    fn the_mean_moves_by_a_tenth_of_each_sample() {
        // 5348-4.3-1
        let mut t = RoundTrip::first(0.1);
        assert_near(t.r, 0.1);
        t.update(0.2);
        assert_near(t.r, 0.11);
        t.update(0.01);
        assert_near(t.r, 0.1);
    }

    #[test]
    fn a_longer_round_trip_damps_the_rate_as_pinned() {
        // 5348-4.5-1: the damping follows the square roots of the round-trip times.
        for (before, sample, after, damping) in [
            (0.316_228, 0.1, 0.316_228, 1.0),
            (0.316_228, 0.12, 0.319_246, 0.921_584),
            (0.316_228, 0.2, 0.329_326, 0.736_396),
            (0.264_575, 0.27, 0.290_079, 0.558_258),
        ] {
            let mut t = RoundTrip::first(before * before);
            assert_near(t.damping(), 1.0);
            t.update(sample);
            assert_near(t.sqrt_mean, after);
            assert_near(t.damping(), damping);
        }
    }
}
