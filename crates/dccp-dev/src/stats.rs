//! Statistics of repeated runs.

/// The median: the middle value, or the mean of the two in the middle. NaN without values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        even if even.is_multiple_of(2) => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_the_middle_or_the_mean_of_two() {
        assert!(median(Vec::new()).is_nan());
        assert_eq!(median(vec![3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(
            median(vec![4.0, 1.0, 2.0, 3.0]).to_bits(),
            2.5_f64.to_bits()
        );
    }
}
