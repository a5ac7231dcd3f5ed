//! Distributions of values that can be negative.

use crate::Histogram;
use serde::{Deserialize, Serialize};

/// Counts values of either sign: two histograms, of the magnitudes.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
pub struct SignedHistogram {
    /// The values from 0 on.
    above: Histogram,
    /// The magnitudes of the negative values.
    below: Histogram,
}

impl SignedHistogram {
    /// Adds a value.
    pub fn record(&mut self, value: i64) {
        let side = if value < 0 {
            &mut self.below
        } else {
            &mut self.above
        };
        side.record(value.unsigned_abs());
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.above.merge(&other.above);
        self.below.merge(&other.below);
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.above.len().saturating_add(self.below.len())
    }

    /// Whether no value was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The least value; 0 if there is none.
    pub fn least(&self) -> i64 {
        let magnitude = self.below.spread().map(|s| -s.max.cast_signed());
        magnitude
            .or_else(|| self.above.spread().map(|s| s.min.cast_signed()))
            .unwrap_or(0)
    }

    /// All values plus `shift`. A sum below 0 counts as 0. Each value moves to the middle of its bucket first, so it
    /// is wrong by at most 0.4 % of its distance from 0.
    pub fn shifted(&self, shift: i64) -> Histogram {
        let mut shifted = Histogram::default();
        let below = (self.below.buckets()).map(|b| (-(b.middle().cast_signed()), b.count));
        let above = (self.above.buckets()).map(|b| (b.middle().cast_signed(), b.count));
        for (value, count) in below.chain(above) {
            let value = value.saturating_add(shift).max(0).cast_unsigned();
            shifted.record_n(value, count);
        }
        shifted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifted_values_keep_their_distances() {
        let mut deviations = SignedHistogram::default();
        for value in [-100, 0, 50, 120] {
            deviations.record(value);
        }
        let mut expected = Histogram::default();
        for value in [900, 1000, 1050, 1120] {
            expected.record(value);
        }
        assert_eq!(deviations.shifted(1000), expected);
        assert_eq!((deviations.len(), deviations.least()), (4, -100));
        let clipped = deviations.shifted(-10).spread().unwrap();
        assert_eq!((clipped.min, clipped.max, clipped.n), (0, 110, 4));
    }

    #[test]
    fn extreme_values_neither_panic_nor_wrap() {
        let mut deviations = SignedHistogram::default();
        for value in [i64::MIN, i64::MAX] {
            deviations.record(value);
        }
        assert_eq!(deviations.shifted(i64::MAX).len(), 2);
        assert_eq!(deviations.shifted(i64::MIN).spread().unwrap().max, 0);
    }

    #[test]
    fn merged_sides_stay_apart() {
        let (mut a, mut b) = (SignedHistogram::default(), SignedHistogram::default());
        a.record(-7);
        b.record(7);
        a.merge(&b);
        assert!(!a.is_empty());
        assert_eq!(
            a.shifted(10).spread().map(|s| (s.min, s.max)),
            Some((3, 17))
        );
    }
}
