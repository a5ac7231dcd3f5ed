//! The values of several repetitions, summed up.

use serde::Serialize;

/// Mean, quartiles and range of values.
#[derive(Serialize, Clone, Copy, PartialEq, Debug)]
pub struct Quartiles {
    /// How many values there are.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The least.
    pub least: f64,
    /// A quarter of the values are at most this one.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// Three quarters of the values are at most this one.
    pub upper: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Quartiles {
    /// Of these values; `None` of nothing, or if one is not a number. Between two values, quartiles are interpolated.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (&least, &greatest) = (sorted.first()?, sorted.last()?);
        // The rank of a quarter is a multiple of a quarter.
        let quarter = |quarters: usize| {
            let ranks = (sorted.len() - 1) * quarters;
            let (low, rest) = (sorted[ranks / 4], ranks % 4);
            let high = sorted.get(ranks / 4 + 1).copied().unwrap_or(low);
            let share = [0.0, 0.25, 0.5, 0.75][rest];
            low + (high - low) * share
        };
        Some(Self {
            count: sorted.len(),
            mean: dccp_stats::mean(&sorted)?,
            least,
            lower: quarter(1),
            median: quarter(2),
            upper: quarter(3),
            greatest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated_between_neighbours() {
        let of = |values: &[f64]| {
            let q = Quartiles::of(values).expect("values");
            vec![q.mean, q.least, q.lower, q.median, q.upper, q.greatest]
        };
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0]), [2.5, 1.0, 1.75, 2.5, 3.25, 4.0]);
        assert_eq!(
            of(&[1.0, 2.0, 3.0, 4.0, 10.0]),
            [4.0, 1.0, 2.0, 3.0, 4.0, 10.0]
        );
        assert_eq!(of(&[7.0]), [7.0; 6]);
        assert_eq!(Quartiles::of(&[]), None);
        assert_eq!(Quartiles::of(&[1.0, f64::NAN]), None);
    }
}
