//! Shares of several flows and the steadiness of one.

use dccp_proto::number::to_f64;

/// Arithmetic mean; `None` if there are no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / to_f64(values.len() as u64))
}

/// Sample standard deviation; `None` of fewer than two values.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares = values.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
    Some((squares / to_f64(values.len() as u64 - 1)).sqrt())
}

/// Population standard deviation of a series divided by its mean: 0 is steady. Also aggregate
/// constancy, if the series is the sum of all flows. `None` for fewer than two values.
pub fn stability(series: &[f64]) -> Option<f64> {
    let mean = mean(series).filter(|&mean| mean > 0.0 && series.len() >= 2)?;
    let squares = series.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
    Some((squares / to_f64(series.len() as u64)).sqrt() / mean)
}

/// Jain's index of the flows' means, from 1/n (one has all) to 1 (equal shares); `None` for fewer
/// than two flows or if all are zero.
pub fn fairness(means: &[f64]) -> Option<f64> {
    let sum: f64 = means.iter().sum();
    let squares: f64 = means.iter().map(|x| x * x).sum();
    (means.len() >= 2 && squares > 0.0).then(|| sum * sum / (to_f64(means.len() as u64) * squares))
}

/// How far two means are apart, from −1 to 1: positive if the first gets more.
pub fn asymmetry(first: f64, second: f64) -> Option<f64> {
    let sum = first + second;
    (sum > 0.0).then(|| (first - second) / sum)
}

/// The [`stability`] of a series that is not kept, by Welford's method.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steadiness {
    n: u64,
    mean: f64,
    /// The sum of squared differences from the mean.
    squares: f64,
}

impl Steadiness {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / to_f64(self.n);
        self.squares += before * (value - self.mean);
    }

    /// The stability of the values so far; `None` for fewer than two values or a mean of 0.
    pub fn stability(&self) -> Option<f64> {
        (self.n >= 2 && self.mean > 0.0).then(|| (self.squares / to_f64(self.n)).sqrt() / self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Option<f64>, b: f64, within: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() <= within)
    }

    /// A linear sawtooth from (1 − b) W to W: its stability by the formula and as published.
    #[test]
    fn stability_of_an_ideal_sawtooth_is_the_published_one() {
        for (b, published) in [
            (0.5, 0.192),
            (0.3, 0.102),
            (0.27, 0.090),
            (0.2, 0.064),
            (0.125, 0.0385),
            (1.0 / 32.0, 0.009),
        ] {
            let steps = 10_000;
            let teeth: Vec<f64> = (0..3 * steps)
                .map(|k| 1.0 - b + b * (f64::from(k % steps) + 0.5) / f64::from(steps))
                .collect();
            let formula = b / 12_f64.sqrt() / (1.0 - b / 2.0);
            assert!(near(stability(&teeth), formula, 1e-6), "{b}");
            assert!((formula - published).abs() <= 6e-4, "{b}: {formula}");
        }
    }

    #[test]
    fn stability_is_the_population_deviation_over_the_mean() {
        assert_eq!(stability(&[2.0, 2.0, 2.0]), Some(0.0));
        assert!(near(stability(&[1.0, 3.0]), 0.5, 1e-15));
        assert_eq!(stability(&[]), None);
        assert_eq!(stability(&[2.0]), None, "unknown, not steady");
        assert_eq!(stability(&[0.0, 0.0]), None);
    }

    // goal 27: two flows obey the identity between fairness and asymmetry.
    #[test]
    fn fairness_and_asymmetry_of_two_flows_are_one_number() {
        for (x1, x2) in [
            (1.0, 1.0),
            (3.0, 1.0),
            (1.0, 9.0),
            (400.0, 12.5),
            (1.0, 0.0),
        ] {
            let a = asymmetry(x1, x2).unwrap();
            assert!(near(fairness(&[x1, x2]), 1.0 / (1.0 + a * a), 1e-12));
        }
        assert_eq!(asymmetry(3.0, 1.0), Some(0.5));
        assert_eq!(asymmetry(1.0, 3.0), Some(-0.5));
        assert_eq!(asymmetry(0.0, 0.0), None);
    }

    #[test]
    fn fairness_reaches_from_one_of_n_to_one() {
        assert_eq!(fairness(&[5.0; 4]), Some(1.0));
        assert_eq!(fairness(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(fairness(&[1.0]), None);
        assert_eq!(fairness(&[0.0, 0.0]), None);
    }

    #[test]
    fn deviation_needs_two_values() {
        assert_eq!(deviation(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
        assert_eq!(deviation(&[1.0]), None);
    }

    #[test]
    fn mean_of_nothing_is_none() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn steadiness_is_the_stability_of_the_series() {
        let series: Vec<f64> = (0..1_000)
            .map(|n| 1e9 + f64::from(n * 7_919 % 1_013) * 1e5)
            .collect();
        let mut steadiness = Steadiness::default();
        assert_eq!(steadiness.stability(), None);
        for value in &series {
            steadiness.add(*value);
        }
        let wanted = stability(&series).unwrap();
        assert!(near(steadiness.stability(), wanted, 1e-12));
    }
}
