//! How long something takes, by chance.

use crate::random::Stream;
use core::time::Duration;

/// A distribution of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Spread {
    /// Always the same.
    Fixed(Duration),
    /// Exponential, with this mean.
    Exponential(Duration),
    /// Pareto: most are short, a few are very long.
    Pareto {
        /// Mean.
        mean: Duration,
        /// The smaller, the longer the longest; above 1, else there is no mean.
        shape: f64,
    },
}

impl Spread {
    /// The mean.
    pub const fn mean(self) -> Duration {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) | Self::Pareto { mean, .. } => mean,
        }
    }

    /// Draws a time, at most 10^9 times the mean.
    pub(crate) fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::Fixed(time) => time,
            // In (0, 1]: the logarithm of zero is no time.
            Self::Exponential(mean) => times(mean, -libm::log(1.0 - stream.unit())),
            Self::Pareto { mean, shape } => {
                let least = (shape - 1.0) / shape;
                times(mean, least * libm::pow(1.0 - stream.unit(), -1.0 / shape))
            }
        }
    }
}

fn times(mean: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(mean.as_secs_f64() * factor.clamp(0.0, 1e9))
        .unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    const MEAN: Duration = Duration::from_millis(10);

    /// Many draws, sorted, in means.
    fn draws(spread: Spread) -> Vec<f64> {
        let mut stream = Seed(1).stream("spread");
        let mut all: Vec<_> = (0..100_000)
            .map(|_| spread.draw(&mut stream).as_secs_f64() / MEAN.as_secs_f64())
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        all
    }

    #[expect(clippy::cast_precision_loss, reason = "a hundred thousand")]
    fn mean(all: &[f64]) -> f64 {
        all.iter().sum::<f64>() / all.len() as f64
    }

    #[test]
    fn a_fixed_time_is_fixed() {
        let mut stream = Seed(1).stream("spread");
        assert_eq!(Spread::Fixed(MEAN).draw(&mut stream), MEAN);
    }

    #[test]
    fn exponential_times_have_their_mean_and_median() {
        let all = draws(Spread::Exponential(MEAN));
        assert!((mean(&all) - 1.0).abs() < 0.01, "{}", mean(&all));
        assert!(
            (all[50_000] - core::f64::consts::LN_2).abs() < 0.01,
            "{}",
            all[50_000]
        );
    }

    #[test]
    fn pareto_times_have_their_least_their_median_and_a_long_tail() {
        // Mean 1 and shape 2.5: least 0.6, median 0.6 · 2^0.4.
        let all = draws(Spread::Pareto {
            mean: MEAN,
            shape: 2.5,
        });
        assert!((all[0] - 0.6).abs() < 0.001, "{}", all[0]);
        assert!((all[50_000] - 0.7917).abs() < 0.01, "{}", all[50_000]);
        assert!((mean(&all) - 1.0).abs() < 0.02, "{}", mean(&all));
        assert!(all[99_999] > 20.0);
    }
}
