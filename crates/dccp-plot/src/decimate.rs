//! Fewer points for long curves, without losing their extremes.

use crate::{Figure, Series};

impl Series {
    /// The curve with at most `points_max` points, at least 4.
    ///
    /// Neighbours are put together in groups of equal size. Each group keeps its least and its greatest value in
    /// their order, at the times of its first and of its middle point. So curves with the same times before have
    /// the same times after. A group without a finite value stays a gap.
    #[must_use]
    pub fn decimated(&self, points_max: usize) -> Self {
        let points = &self.points;
        let size = points.len().div_ceil(points_max.max(4) / 2);
        if points.len() <= points_max || size <= 2 {
            return self.clone();
        }
        let groups = points.chunks(size);
        Self {
            name: self.name.clone(),
            points: groups.flat_map(extremes).collect(),
        }
    }
}

/// The least and the greatest value of a group that is not empty.
fn extremes(group: &[(f64, f64)]) -> [(f64, f64); 2] {
    let finite = || (0..group.len()).filter(|&n| group[n].1.is_finite());
    let by_value = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
    let least = finite().min_by(by_value);
    let greatest = finite().max_by(by_value);
    let (begin, middle) = (group[0].0, group[group.len() / 2].0);
    match (least, greatest) {
        (Some(least), Some(greatest)) => {
            let value = |n: usize| group[n].1;
            let (first, second) = (least.min(greatest), least.max(greatest));
            [(begin, value(first)), (middle, value(second))]
        }
        _ => [(begin, f64::NAN), (middle, f64::NAN)],
    }
}

impl Figure {
    /// The figure with at most `points_max` points in each curve; see [`Series::decimated`].
    #[must_use]
    pub fn decimated(&self, points_max: usize) -> Self {
        let mut figure = self.clone();
        for series in figure.panels.iter_mut().flat_map(|panel| &mut panel.series) {
            *series = series.decimated(points_max);
        }
        figure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(points: Vec<(f64, f64)>) -> Series {
        Series {
            name: "curve".into(),
            points,
        }
    }

    #[test]
    fn short_curve_stays_as_it_is() {
        let curve = series((0..100).map(|n| (f64::from(n), f64::from(n % 7))).collect());
        assert_eq!(curve.decimated(100), curve);
    }

    #[test]
    fn long_curve_keeps_its_extremes_and_the_limit() {
        let value = |n: u32| match n {
            70_001 => 900.0,
            70_002 => -900.0,
            n => f64::from(n % 10),
        };
        let points: Vec<_> = (0..100_003).map(|n| (f64::from(n), value(n))).collect();
        let few = series(points).decimated(2_000);
        assert!(few.points.len() <= 2_000, "{} points", few.points.len());
        assert!(few.points.len() > 1_900);
        let high = few.points.iter().position(|point| point.1 > 899.0);
        let low = few.points.iter().position(|point| point.1 < -899.0);
        assert_eq!(high.unwrap() + 1, low.unwrap(), "in their order");
        assert!(few.points.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(few.points[0].0.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn curves_with_the_same_times_keep_the_same_times() {
        let curve = |factor: f64| {
            let point = |n: i32| (f64::from(n), (f64::from(n) * factor).sin());
            series((0..10_000).map(point).collect()).decimated(100)
        };
        let times = |curve: Series| -> Vec<f64> { curve.points.iter().map(|p| p.0).collect() };
        assert_eq!(times(curve(0.1)), times(curve(0.7)));
    }

    #[test]
    fn gap_stays_a_gap() {
        let value = |n: i32| if n < 5_000 { f64::NAN } else { 1.0 };
        let points = (0..10_000).map(|n| (f64::from(n), value(n))).collect();
        let few = series(points).decimated(100);
        let gap = few.points.iter().take_while(|point| point.1.is_nan());
        assert_eq!(gap.count(), few.points.len() / 2);
    }
}
