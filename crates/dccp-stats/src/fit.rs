//! A straight line through points, such as latency against message size.

use dccp_proto::number::to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A line y = intercept + slope · x with the 95 % confidence of both.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Line {
    /// y at x = 0.
    pub intercept: f64,
    /// The increase of y per x.
    pub slope: f64,
    /// Half of the width of the intercept's confidence interval.
    pub intercept_error: f64,
    /// Half of the width of the slope's confidence interval.
    pub slope_error: f64,
    /// The standard deviation of the points around the line.
    pub deviation: f64,
    /// The number of points.
    pub n: u64,
}

impl Line {
    /// The line of least squares. `None` for fewer than three points, if all have the same x, or if the values are so
    /// great that a result is not finite.
    ///
    /// The confidence intervals are Student's, for errors that are independent and equally large at all points.
    pub fn new(points: &[(f64, f64)]) -> Option<Self> {
        let n = to_f64(points.len() as u64);
        if points.len() < 3 {
            return None;
        }
        let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
        let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
        let spread_x: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
        let common: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
        if spread_x <= 0.0 || !common.is_finite() {
            return None;
        }
        let slope = common / spread_x;
        let intercept = mean_y - slope * mean_x;
        let residuals = points.iter().map(|p| p.1 - intercept - slope * p.0);
        let deviation = (residuals.map(|e| e * e).sum::<f64>() / (n - 2.0)).sqrt();
        let student = student_95(points.len() - 2);
        let line = Self {
            intercept,
            slope,
            intercept_error: student * deviation * (1.0 / n + mean_x * mean_x / spread_x).sqrt(),
            slope_error: student * deviation / spread_x.sqrt(),
            deviation,
            n: points.len() as u64,
        };
        line.is_finite().then_some(line)
    }

    fn is_finite(&self) -> bool {
        let errors = [self.intercept_error, self.slope_error, self.deviation];
        (errors.iter().chain(&[self.intercept, self.slope])).all(|value| value.is_finite())
    }
}

/// The 97.5th percentile of Student's distribution: a table, then the expansion of Cornish and Fisher in
/// powers of 1/f, whose error is below 0.001.
fn student_95(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    ];
    const Z: f64 = 1.959_964;
    let tabulated = freedom.checked_sub(1).and_then(|at| TABLE.get(at));
    tabulated.copied().unwrap_or_else(|| {
        let f = to_f64(freedom as u64);
        let first = (Z.powi(3) + Z) / 4.0;
        let second = (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0;
        let third = 3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z;
        Z + first / f + second / (f * f) + third / (384.0 * f * f * f)
    })
}

/// A jump of y between two neighbours, beyond what the slope explains.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Step {
    /// The x of the point after the jump.
    pub at: f64,
    /// The height of the jump.
    pub jump: f64,
}

/// The jumps between neighbours that are more than four standard deviations from the usual one. `points` must be in the
/// order of x. There are none for fewer than five points, or if two neighbours have the same x.
///
/// Medians give both the usual slope and the deviation, so that the jumps themselves hardly change them.
pub fn steps(points: &[(f64, f64)]) -> Vec<Step> {
    const SIGMAS: f64 = 4.0;
    /// The standard deviation of normal errors divided by the median of their magnitudes.
    const SIGMA_PER_MEDIAN: f64 = 1.4826;
    let pairs = || points.windows(2).map(|w| (w[0], w[1]));
    if points.len() < 5 || pairs().any(|(a, b)| a.0 >= b.0) {
        return Vec::new();
    }
    let slope = median(pairs().map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect());
    let rises = || pairs().map(|(a, b)| (b.0, b.1 - a.1 - slope * (b.0 - a.0)));
    let usual = median(rises().map(|(_, rise)| rise.abs()).collect());
    // Points that lie exactly on lines leave only rounding.
    let rounding = 1e-9 * points.iter().map(|p| p.1.abs()).fold(0.0, f64::max);
    let limit = (SIGMAS * SIGMA_PER_MEDIAN * usual).max(rounding);
    rises()
        .filter(|(_, rise)| rise.abs() > limit)
        .map(|(at, jump)| Step { at, jump })
        .collect()
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.get(middle) {
        Some(upper) if values.len().is_multiple_of(2) => f64::midpoint(values[middle - 1], *upper),
        Some(middle) => *middle,
        None => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn exact_line_is_found_without_error() {
        let points: Vec<_> = (0..10).map(f64::from).map(|x| (x, 3.0 + 0.5 * x)).collect();
        let line = Line::new(&points).unwrap();
        assert!(near(line.intercept, 3.0) && near(line.slope, 0.5));
        assert!(line.deviation < 1e-12 && line.slope_error < 1e-12 && line.n == 10);
    }

    #[test]
    fn extreme_values_give_no_line_instead_of_infinity() {
        let far = f64::MAX / 4.0;
        for points in [
            [(0.0, far), (1.0, -far), (2.0, far)],
            [(0.0, 0.0), (f64::MIN_POSITIVE, 1e300), (1e-300, 0.0)],
            [(0.0, f64::NAN), (1.0, 1.0), (2.0, 2.0)],
        ] {
            if let Some(line) = Line::new(&points) {
                assert!(line.is_finite(), "{line:?}");
            }
        }
        let huge = [(0.0, f64::MAX), (1.0, f64::MAX), (2.0, -f64::MAX)];
        assert_eq!(Line::new(&huge), None);
        assert!(steps(&[(1.0, 2.0); 6]).is_empty());
    }

    /// Four points, computed by hand: slope 1.2, intercept 0.
    #[test]
    fn confidence_follows_student() {
        let line = Line::new(&[(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 5.0)]).unwrap();
        assert!(
            near(line.slope, 1.2) && near(line.intercept, 0.0),
            "{line:?}"
        );
        // Residuals 0.8, -1.4, 0.4, 0.2: squares 2.8, so a variance of 1.4.
        assert!(near(line.deviation, 1.4_f64.sqrt()));
        assert!(near(line.slope_error, 4.303 * (1.4_f64 / 5.0).sqrt()));
        let error = 4.303 * (1.4_f64 * (0.25 + 6.25 / 5.0)).sqrt();
        assert!(near(line.intercept_error, error));
    }

    #[test]
    fn confidence_contains_the_truth_in_95_percent() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        // The sum of twelve uniform numbers is nearly normal.
        let mut normal = || {
            let unit = |bits: u64| to_f64(bits >> 11) / to_f64(1 << 53);
            (0..12).map(|_| unit(random.next_u64())).sum::<f64>() - 6.0
        };
        let mut hits = (0, 0);
        for _ in 0..1000 {
            let points: Vec<_> = (0..15)
                .map(f64::from)
                .map(|x| (x, 10.0 + 2.0 * x + normal()))
                .collect();
            let line = Line::new(&points).unwrap();
            hits.0 += u32::from((line.slope - 2.0).abs() <= line.slope_error);
            hits.1 += u32::from((line.intercept - 10.0).abs() <= line.intercept_error);
        }
        assert!((925..975).contains(&hits.0), "{hits:?}");
        assert!((925..975).contains(&hits.1), "{hits:?}");
    }

    #[test]
    fn table_and_expansion_meet() {
        for (freedom, published) in [
            (1, 12.706),
            (10, 2.228),
            (11, 2.201),
            (30, 2.042),
            (120, 1.980),
        ] {
            assert!((student_95(freedom) - published).abs() < 1e-3, "{freedom}");
        }
    }

    #[test]
    fn few_or_equal_points_have_no_line() {
        assert_eq!(Line::new(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(Line::new(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        let not_a_number = [(1.0, f64::NAN), (2.0, 2.0), (3.0, 3.0)];
        assert_eq!(Line::new(&not_a_number), None);
    }

    /// Latency against size, where each further packet of 1,400 bytes costs 12 us more.
    #[test]
    fn steps_lie_at_packet_boundaries() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let points: Vec<_> = (1..=60)
            .map(|k| {
                let size = 100 * k;
                let noise = f64::from(u8::try_from(random.next_u64() >> 56).unwrap()) / 256.0;
                let packets = f64::from((size - 1) / 1400);
                let size = f64::from(size);
                (size, 200.0 + 0.01 * size + 12.0 * packets + noise)
            })
            .collect();
        let found = steps(&points);
        let at: Vec<f64> = found.iter().map(|s| s.at).collect();
        assert_eq!(at, [1500.0, 2900.0, 4300.0, 5700.0]);
        assert!(
            found.iter().all(|s| (s.jump - 12.0).abs() < 1.5),
            "{found:?}"
        );
    }

    #[test]
    fn straight_line_has_no_steps() {
        let points: Vec<_> = (0..50).map(f64::from).map(|x| (x, 0.1 * x + 7.0)).collect();
        assert_eq!(steps(&points), []);
        assert_eq!(steps(&points[..3]), []);
    }
}
