//! Loss event rates and discounts of pinned interval lists (RFC 5348 §5.4, §5.5).

use super::*;
use crate::cc::fixtures::is_near;

fn assert_near(value: f64, expected: f64) {
    assert!(is_near(value, expected), "{value} {expected}");
}

fn weighed(open: f64, closed: &[f64]) -> impl Iterator<Item = Weighed> + Clone {
    [open]
        .into_iter()
        .chain(closed.iter().copied())
        .map(Weighed::new)
}

const HUNDREDS: [f64; 8] = [100.0; 8];
const RISING: [f64; 8] = [50.0, 60.0, 70.0, 80.0, 90.0, 100.0, 110.0, 120.0];

#[test]
fn the_mean_interval_is_weighted_as_pinned() {
    // 5348-5.4-1, 5348-5.3-1
    let dip = [1000.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0];
    for (open, closed, mean) in [
        (100.0, &HUNDREDS[..], 100.0),
        (10.0, &HUNDREDS, 100.0),
        (500.0, &HUNDREDS, 166.667),
        (1.0, &dip, 250.0),
        (200.0, &RISING, 93.3333),
        (5.0, &[50.0], 50.0),
        (500.0, &[50.0], 500.0),
        (30.0, &[20.0, 10.0], 25.0),
        (1.0, &[1.0; 8], 1.0),
    ] {
        let p = loss_event_rate(weighed(open, closed), 1.0);
        assert_near(p, 1.0 / mean);
    }
}

#[test]
fn a_long_open_interval_discounts_the_closed_ones_as_pinned() {
    // 5348-5.5-1
    for (open, closed, factor, with, without) in [
        (100.0, HUNDREDS, 1.0, 0.01, 0.01),
        (200.0, HUNDREDS, 1.0, 0.008_571_43, 0.008_571_43),
        (250.0, HUNDREDS, 0.8, 0.007_692_31, 0.008),
        (400.0, HUNDREDS, 0.5, 0.005_384_62, 0.006_666_67),
        (1000.0, HUNDREDS, 0.25, 0.002, 0.004),
        (1000.0, RISING, 0.25, 0.002_064_22, 0.004_411_76),
    ] {
        let intervals = weighed(open, &closed);
        assert_near(discount(intervals.clone()), factor);
        assert_near(loss_event_rate(intervals.clone(), factor), with);
        assert_near(loss_event_rate(intervals, 1.0), without);
    }
}

#[test]
fn without_a_loss_event_the_rate_is_0() {
    // 5348-6.3-1
    for intervals in [&[][..], &[Weighed::new(1000.0)]] {
        let p = loss_event_rate(intervals.iter().copied(), 1.0);
        assert!(p.abs() < f64::EPSILON);
        assert_near(discount(intervals.iter().copied()), 1.0);
    }
}

#[test]
fn the_ninth_closed_interval_counts_no_more() {
    // 5348-5.4-1
    let mut nine = HUNDREDS.to_vec();
    nine.push(1e9);
    assert_near(loss_event_rate(weighed(100.0, &nine), 1.0), 0.01);
    assert_near(discount(weighed(300.0, &nine)), 2.0 / 3.0);
}

#[test]
fn an_earlier_discount_lasts() {
    // 5348-5.5-1: 100 with weight 1 and 300 with weight a quarter.
    let closed = [
        Weighed::new(50.0),
        Weighed::new(100.0),
        Weighed {
            length: 300.0,
            discount: 0.25,
        },
    ];
    let p = loss_event_rate(closed.into_iter(), 1.0);
    assert_near(p, 1.25 / 175.0);
}
