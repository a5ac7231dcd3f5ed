//! Confidence in the mean of a series whose values depend on their neighbours.

use dccp_proto::number::to_f64;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mean and its 95 % confidence interval, in the unit of the series.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct MeanInterval {
    /// The arithmetic mean of the series.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A shorter series does not show how its values vary.
const LENGTH_MIN: usize = 8;
/// Resampled series.
const RESAMPLES: usize = 1000;

impl MeanInterval {
    /// The interval by the moving-block bootstrap (Künsch 1989), or `None` for fewer than 8 values.
    ///
    /// A resampled series consists of blocks of ⌈n^(1/3)⌉ neighbours, so that it keeps the dependence between them. The
    /// interval lies between the 2.5th and the 97.5th percentile of the means of 1,000 such series. The same seed gives
    /// the same interval on every machine.
    pub fn new(series: &[f64], seed: u64) -> Option<Self> {
        if series.len() < LENGTH_MIN {
            return None;
        }
        let block = (1..=series.len()).find(|b| b * b * b >= series.len())?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let mut left = series.len();
                let mut sum = 0.0;
                while left > 0 {
                    let start = below(&mut random, series.len() - block + 1);
                    let taken = block.min(left);
                    sum += series[start..start + taken].iter().sum::<f64>();
                    left -= taken;
                }
                sum / to_f64(series.len() as u64)
            })
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        Some(Self {
            mean: series.iter().sum::<f64>() / to_f64(series.len() as u64),
            low: means[RESAMPLES / 40],
            high: means[RESAMPLES - 1 - RESAMPLES / 40],
        })
    }

    /// Half of the interval's width divided by the mean: 0.02 is ± 2 %. `None` for a mean of 0.
    pub fn relative_error(&self) -> Option<f64> {
        let half = (self.high - self.low) / 2.0;
        (self.mean != 0.0).then(|| (half / self.mean).abs())
    }
}

/// A number in `0..bound`. The bias of the multiplication is below 2^-32 for series of any practical length.
fn below(random: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    let product = u128::from(random.next_u64()) * (bound as u128);
    usize::try_from(product >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around 100: a sum of noise and of the value before, times `memory`.
    fn series(length: usize, memory: f64, seed: u64) -> Vec<f64> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut last = 0.0;
        (0..length)
            .map(|_| {
                let noise = to_f64(random.next_u64() >> 11) / to_f64(1 << 53) - 0.5;
                last = memory * last + noise;
                100.0 + last
            })
            .collect()
    }

    /// The true mean lies in about 95 % of the intervals; for dependent values in somewhat fewer, which is known of the
    /// method.
    #[test]
    fn interval_contains_the_true_mean() {
        for (memory, least) in [(0.0, 186), (0.5, 170)] {
            let hits = (0..200)
                .filter_map(|seed| MeanInterval::new(&series(60, memory, seed), seed))
                .filter(|i| i.low <= 100.0 && 100.0 <= i.high)
                .count();
            assert!((least..200).contains(&hits), "{hits} of 200 with {memory}");
        }
    }

    #[test]
    fn dependence_widens_the_interval() {
        let width = |memory| {
            let widths = (0..20).map(|seed| {
                let i = MeanInterval::new(&series(200, memory, seed), 1).unwrap();
                i.high - i.low
            });
            widths.sum::<f64>()
        };
        assert!(width(0.6) > 1.6 * width(0.0));
    }

    #[test]
    fn same_seed_gives_the_same_interval() {
        let values = series(50, 0.3, 1);
        assert_eq!(MeanInterval::new(&values, 7), MeanInterval::new(&values, 7));
        assert_ne!(MeanInterval::new(&values, 7), MeanInterval::new(&values, 8));
    }

    #[test]
    fn short_series_has_no_interval() {
        assert_eq!(MeanInterval::new(&[1.0; 7], 1), None);
        let steady = MeanInterval::new(&[5.0; 8], 1).unwrap();
        assert_eq!((steady.low, steady.high), (5.0, 5.0));
        assert_eq!(steady.relative_error(), Some(0.0));
        assert_eq!(
            MeanInterval::new(&[0.0; 8], 1).unwrap().relative_error(),
            None
        );
    }
}
