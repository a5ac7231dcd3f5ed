use super::super::QueueConfig;
use super::super::testing::{Bench, parcel, us};
use super::*;
use crate::random::Seed;
use dccp_proto::wire::Ecn;

fn red(config: RedConfig) -> Red<u32> {
    let rate = Some(Rate::from_bytes_per_s(1e6));
    Red::new(config, rate, Seed(1).stream("red"))
}

fn assert_near(value: f64, expected: f64) {
    let error = (value - expected).abs();
    assert!(error <= 1e-12 * expected.abs(), "{value}, not {expected}");
}

// p_b = max_p (avg − min) / (max − min), then from max_p to 1 at twice the upper threshold.
#[test]
fn the_slope_is_gentle_or_ends_at_the_threshold() {
    let gentle = RedConfig::default();
    for (average, p) in [
        (5.0, 0.0),
        (10.0, 0.05),
        (15.0, 0.1),
        (22.5, 0.55),
        (30.0, 1.0),
    ] {
        assert_near(gentle.slope(average, 0.1), p);
    }
    assert_near(gentle.slope(31.0, 0.1), 1.0);
    let classic = RedConfig {
        gentle: false,
        ..gentle
    };
    assert_near(classic.slope(10.0, 0.1), 0.05);
    assert_near(classic.slope(15.0, 0.1), 1.0);
}

// With p_b = 0.05, ns-2's `wait_` gives nothing for 1 / p_b packets, then p_b / (2 − n p_b); without it
// p_b / (1 − n p_b).
#[test]
fn drops_are_spread_evenly() {
    let waiting = RedConfig::default();
    for (count, p) in [
        (10.0, 0.0),
        (19.9, 0.0),
        (20.0, 0.05),
        (30.0, 0.1),
        (40.0, 1.0),
    ] {
        assert_near(waiting.spread(0.05, count, 1.0), p);
    }
    let hasty = RedConfig {
        wait: false,
        ..waiting
    };
    for (count, p) in [(0.0, 0.05), (10.0, 0.1), (20.0, 1.0)] {
        assert_near(hasty.spread(0.05, count, 1.0), p);
    }
    assert_near(hasty.spread(0.05, 10.0, 0.5), 0.05);
    // 0.6 / (2 − 1.5) is certain, and short packets do not escape that.
    assert_near(waiting.spread(0.6, 2.5, 0.5), 1.0);
}

// The average of the queues 0, 1, 2, … that packets find, each weighed with w (1 − w)^age; then half
// a second of idleness, which is 500 packets of 1000 bytes at 1 MB/s that find nothing.
#[test]
fn the_average_is_the_weighted_sum_of_what_packets_found() {
    let mut red = red(RedConfig {
        weight: 0.01,
        ..RedConfig::default()
    });
    let mut books = Books::default();
    for n in 0..10 {
        red.push(us(n), parcel(0, Ecn::NotEct), &mut books).unwrap();
    }
    let sum: f64 = (0..10)
        .map(|n| 0.01 * f64::from(n) * 0.99_f64.powi(9 - n))
        .sum();
    assert!((red.average - sum).abs() < 1e-12, "{}", red.average);
    while red.pop(us(10), &mut books).is_some() {}
    red.on_idle(us(20_000));
    red.push(us(520_000), parcel(0, Ecn::NotEct), &mut books)
        .unwrap();
    let forgotten = sum * 0.99_f64.powi(501);
    assert!((red.average - forgotten).abs() < 1e-12, "{}", red.average);
}

#[test]
fn max_p_follows_the_average() {
    let mut red = red(RedConfig {
        adaptive: Some(AdaptiveRed::default()),
        ..RedConfig::default()
    });
    let max_p = |red: &mut Red<u32>, average, ms: u64| {
        red.average = average;
        red.adapt(us(1000 * ms));
        red.max_p
    };
    // The target is 5 + 0.4 · 10 to 15 − 0.4 · 10.
    assert_near(max_p(&mut red, 12.0, 500), 0.1);
    assert_near(max_p(&mut red, 12.0, 501), 0.11);
    assert_near(max_p(&mut red, 12.0, 1001), 0.11);
    assert_near(max_p(&mut red, 10.0, 1500), 0.11);
    assert_near(max_p(&mut red, 8.0, 1500), 0.099);
    red.max_p = 0.02;
    assert_near(max_p(&mut red, 12.0, 3000), 0.025);
    red.max_p = 0.5;
    assert_near(max_p(&mut red, 12.0, 4000), 0.5);
    red.max_p = 0.01;
    assert_near(max_p(&mut red, 8.0, 5000), 0.01);
}

// 10 Mbit/s are 1250 packets of 1000 bytes a second: 5 ms are 6.25 packets, so the floor of 5 counts.
#[test]
fn automatic_values_are_those_of_ns_2() {
    let slow = RedConfig::automatic(Rate::from_bytes_per_s(1.25e6), 1000);
    assert_near(slow.min_threshold, 5.0);
    assert_near(slow.max_threshold, 15.0);
    assert!((slow.weight - 7.996_801e-4).abs() < 1e-9, "{}", slow.weight);
    let fast = RedConfig::automatic(Rate::from_bytes_per_s(125e6), 1000);
    assert_near(fast.min_threshold, 312.5);
    assert_near(fast.max_threshold, 937.5);
}

#[test]
fn a_constant_overload_is_thinned_out_between_the_thresholds() {
    let config = RedConfig {
        min_threshold: 20.0,
        max_threshold: 60.0,
        max_p: 0.5,
        ..RedConfig::default()
    };
    let mut q = Bench::new(QueueConfig::Red(config));
    let left = q.overload(800, 60_000_000, Ecn::NotEct);
    // A fifth must go: p_b = 0.5 (avg − 20) / 40 with a mean spacing of 1.5 / p_b.
    let late = &left[left.len() / 2..];
    let mean_ms = late.iter().map(|(_, wait)| wait / 1000).sum::<u64>() / late.len() as u64;
    assert!((30..55).contains(&mean_ms), "{mean_ms}");
    // No packet is marked without ECN, and none that cannot be.
    assert_eq!(q.marked(), 0);
}

#[test]
fn with_ecn_packets_are_marked_instead_of_dropped_early() {
    let config = RedConfig {
        ecn: true,
        weight: 1.0,
        wait: false,
        max_p: 1.0,
        gentle: false,
        ..RedConfig::default()
    };
    let mut q = Bench::new(QueueConfig::Red(config));
    let results: Vec<_> = (0..17).map(|n| q.push(n, parcel(0, Ecn::Ect0))).collect();
    // Queues of 0 … 5 pass, 6 … 14 are marked sooner or later, from 15 on all are dropped.
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 15);
    assert_eq!(results[15..], [Err(Loss::Early); 2]);
    assert!((4..=9).contains(&q.marked()), "{}", q.marked());
}

#[test]
fn a_full_queue_drops_whatever_the_average() {
    let mut q = Bench::new(QueueConfig::Red(RedConfig {
        limit: Limit::Packets(3),
        ..RedConfig::default()
    }));
    for n in 0..3 {
        assert_eq!(q.push(n, parcel(0, Ecn::NotEct)), Ok(()));
    }
    assert_eq!(q.push(3, parcel(0, Ecn::NotEct)), Err(Loss::Queue));
}
