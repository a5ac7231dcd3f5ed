use super::super::QueueConfig;
use super::super::testing::{Bench, parcel, us};
use super::*;
use crate::random::Seed;
use dccp_proto::wire::Ecn;

fn pie(config: PieConfig) -> Pie<u32> {
    Pie::new(config, Seed(1).stream("pie"))
}

fn assert_near(value: f64, expected: f64) {
    let error = (value - expected).abs();
    assert!(error <= 1e-6 * expected.abs(), "{value}, not {expected}");
}

// RFC 8033 §4.2 by hand, with a delay of 100 ms: 0.125 · 0.085 + 1.25 · 0.1 = 0.135625, a 2048th of it
// at first; then 0.010625 for each look, a 128th below 0.0001, a 32nd below 0.001.
#[test]
fn the_probability_grows_by_the_steps_of_the_rfc() {
    let mut pie = pie(PieConfig::default());
    let mut look = |delay_s| {
        pie.update(delay_s);
        pie.p
    };
    assert_near(look(0.1), 0.135_625 / 2048.0);
    assert_near(look(0.1), 6.622_314e-5 + 0.010_625 / 128.0);
    assert_near(look(0.1), 1.492_310e-4 + 0.010_625 / 32.0);
    // 0.125 · 0.08 − 1.25 · 0.005
    assert_near(look(0.095), 4.812_622e-4 + 0.003_75 / 32.0);
    assert_eq!(
        look(0.0).to_bits(),
        0.0_f64.to_bits(),
        "it is no negative number"
    );
}

#[test]
fn steps_are_scaled_by_the_probability_and_capped() {
    let cases = [
        (0.000_000_9, 2048.0),
        (0.000_009, 512.0),
        (0.000_09, 128.0),
        (0.000_9, 32.0),
        (0.009, 8.0),
        (0.09, 2.0),
        (0.1, 1.0),
    ];
    for (p, divisor) in cases {
        assert_near(scale(p), 1.0 / divisor);
    }
    for (before, after) in [(0.09, 0.09 + 0.135_625 / 2.0), (0.1, 0.12), (0.99, 1.0)] {
        let mut pie = pie(PieConfig::default());
        pie.p = before;
        pie.update(0.1);
        assert_near(pie.p, after);
    }
}

#[test]
fn the_probability_decays_when_the_queue_is_empty() {
    let mut pie = pie(PieConfig::default());
    pie.p = 0.5;
    pie.update(0.0);
    // (0.5 − 0.125 · 0.015) · 0.98
    assert_near(pie.p, 0.488_162_5);
}

#[test]
fn a_burst_is_let_through_once_and_again_after_a_rest() {
    let mut pie = pie(PieConfig::default());
    for _ in 0..9 {
        pie.update(0.1);
    }
    assert_eq!(pie.burst_left, Duration::from_millis(15));
    pie.update(0.1);
    assert_eq!(pie.burst_left, Duration::ZERO);
    pie.update(0.0);
    assert_eq!(
        pie.burst_left,
        Duration::ZERO,
        "the last delay still counts"
    );
    pie.p = 0.0;
    pie.update(0.0);
    assert_eq!(pie.burst_left, Duration::from_millis(150));
}

// Packets between two drops at p = 0.2: none before 0.85 / 0.2, all at 8.5 / 0.2.
#[test]
fn drops_are_derandomized() {
    let gaps = |p: f64, derandomize| {
        let mut pie = pie(PieConfig {
            derandomize,
            ..PieConfig::default()
        });
        let mut books = Books::default();
        pie.burst_left = Duration::from_secs(1);
        for _ in 0..3 {
            pie.push(us(0), parcel(0, Ecn::NotEct), &mut books).unwrap();
        }
        (pie.p, pie.delay_s) = (p, 0.1);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..20_000 {
            gap += 1;
            if pie.chooses() {
                gaps.push(gap);
                gap = 0;
            }
        }
        (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap())
    };
    let (least, most) = gaps(0.2, true);
    assert_eq!(least, 5);
    assert!(most <= 43, "{most}");
    assert_eq!(gaps(0.2, false).0, 1);
}

// RFC 8033 §5.4: the sum restarts after every drop, also of a packet that finds the queue full.
#[test]
fn a_full_queue_restarts_the_spreading() {
    let mut pie = pie(PieConfig {
        limit: Limit::Packets(3),
        ..PieConfig::default()
    });
    let mut books = Books::default();
    for _ in 0..3 {
        pie.push(us(0), parcel(0, Ecn::NotEct), &mut books).unwrap();
    }
    (pie.p, pie.delay_s) = (0.2, 0.1);
    assert!(!pie.chooses() && !pie.chooses(), "0.4 is below 0.85");
    let refused = pie.push(us(0), parcel(0, Ecn::NotEct), &mut books);
    assert_eq!(refused, Err(Loss::Queue));
    assert_eq!(pie.accumulated.to_bits(), 0.0_f64.to_bits());
}

#[test]
fn a_short_queue_or_a_short_delay_is_left_alone() {
    let mut pie = pie(PieConfig {
        derandomize: false,
        ..PieConfig::default()
    });
    let mut books = Books::default();
    for _ in 0..2 {
        pie.push(us(0), parcel(0, Ecn::NotEct), &mut books).unwrap();
    }
    (pie.p, pie.delay_s) = (1.0, 0.1);
    assert!(!pie.chooses(), "two packets wait");
    pie.push(us(0), parcel(0, Ecn::NotEct), &mut books).unwrap();
    assert!(pie.chooses());
    (pie.p, pie.delay_s) = (0.199, 0.007);
    assert!((0..1000).all(|_| !pie.chooses()), "7 ms are below 7.5");
}

#[test]
fn a_constant_overload_ends_at_the_target() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        // 5 %: a mark would not do, but above 10 % marks become drops.
        let gap = if ecn == Ecn::NotEct { 900 } else { 800 };
        let mut q = Bench::new(QueueConfig::Pie(PieConfig::default()));
        let left = q.overload(gap, 60_000_000, ecn);
        let late = &left[left.len() / 2..];
        let mean_us = late.iter().map(|(_, wait)| wait).sum::<u64>() / late.len() as u64;
        assert!((12_000..18_000).contains(&mean_us), "{mean_us}");
        assert_eq!(q.marked() > 0, ecn == Ecn::Ect0);
    }
}

#[test]
fn a_long_rest_is_made_up_for_at_once() {
    let mut pie = pie(PieConfig::default());
    let mut books = Books::default();
    let day = 86_400_000_000;
    pie.push(us(365 * day), parcel(0, Ecn::NotEct), &mut books)
        .unwrap();
    assert!(pie.next_update > us(365 * day));
    assert!(pie.next_update <= us(365 * day + 15_000));
}
