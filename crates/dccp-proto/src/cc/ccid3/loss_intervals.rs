//! The loss event rate as a weighted mean of loss intervals (RFC 5348 §5.4, §5.5).

/// How many closed intervals count, `n` (5348-5.4-1).
pub(crate) const N: usize = 8;
/// The open interval and the closed ones that count (4342-8.6-1).
pub(crate) const INTERVALS: usize = N + 1;
const WEIGHTS: [f64; N] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// However long nothing was lost, older intervals keep this part of their weight.
const DISCOUNT_MIN: f64 = 0.25;

/// The length of a loss interval, and what is left of its weight.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weighed {
    /// Data packets.
    pub length: f64,
    /// `DF_i` of RFC 5348 §5.5: 1 until a long open interval outweighs it.
    pub discount: f64,
}

impl Weighed {
    /// An interval with all its weight.
    pub(crate) const fn new(length: f64) -> Self {
        Self {
            length,
            discount: 1.0,
        }
    }
}

/// The loss event rate: `intervals` are newest first, the open one at the front. 0 without closed
/// intervals. `discount` is what is left of the closed ones' weight beside the open one: see
/// [`discount`]; 1 for all of it.
pub(crate) fn loss_event_rate(
    mut intervals: impl Iterator<Item = Weighed> + Clone,
    discount: f64,
) -> f64 {
    let Some(open) = intervals.next() else {
        return 0.0;
    };
    let closed = intervals.take(N);
    let but_oldest = closed.clone().count().saturating_sub(1);
    let with_open = closed
        .clone()
        .zip(&WEIGHTS[1..])
        .take(but_oldest)
        .map(|(i, weight)| (i.length, weight * i.discount * discount))
        .fold((open.length, 1.0), add);
    let without = sum(closed);
    if without.1 > 0.0 {
        (with_open.1 / with_open.0).min(without.1 / without.0)
    } else {
        0.0
    }
}

/// Returns the discount factor `DF` that a long open interval applies to the closed ones
/// (5348-5.5-1).
pub(crate) fn discount(mut intervals: impl Iterator<Item = Weighed> + Clone) -> f64 {
    let open = intervals.next().map_or(0.0, |i| i.length);
    let (total, weight) = sum(intervals.take(N));
    // Without closed intervals the comparison with no number is false.
    let twice_mean = 2.0 * total / weight;
    if open > twice_mean {
        (twice_mean / open).max(DISCOUNT_MIN)
    } else {
        1.0
    }
}

/// The weighted sum of the lengths of closed intervals, and the sum of their weights.
fn sum(closed: impl Iterator<Item = Weighed>) -> (f64, f64) {
    closed
        .zip(&WEIGHTS)
        .map(|(i, weight)| (i.length, weight * i.discount))
        .fold((0.0, 0.0), add)
}

fn add((total, weights): (f64, f64), (length, weight): (f64, f64)) -> (f64, f64) {
    (total + length * weight, weights + weight)
}

#[cfg(test)]
mod tests;
