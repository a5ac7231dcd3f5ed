use super::super::QueueConfig;
use super::super::testing::{Bench, parcel, us};
use super::*;

fn assert_near(value: f64, expected: f64) {
    let error = (value - expected).abs();
    assert!(error <= 1e-9 * expected.abs(), "{value}, not {expected}");
}

// RFC 9332 §A.1 by hand, with a delay of 100 ms: p' = 0.15 · 0.085 + 3 · 0.1, then 0.01275 more for
// each look; p_C = p'², p_CL = 2 p', so p_C = (p_CL / 2)².
#[test]
fn the_base_probability_is_squared_for_classic_packets() {
    let mut q = DualPi2::<u32>::new(DualPi2Config::default());
    q.update(0.1);
    assert_near(q.base, 0.312_75);
    q.update(0.1);
    assert_near(q.base, 0.325_5);
    assert_near(q.classic_probability(), 0.105_950_25);
    q.update(0.015);
    assert_near(q.base, 0.325_5 - 3.0 * 0.085);
    q.update(0.0);
    assert_near(q.base, 0.070_5 - 0.15 * 0.015 - 3.0 * 0.015);
    q.update(0.0);
    q.base = 0.001;
    q.update(0.0);
    assert_eq!(
        q.base.to_bits(),
        0.0_f64.to_bits(),
        "it is no negative number"
    );
}

#[test]
fn the_ramp_and_the_step_mark_by_the_packets_own_delay() {
    let us = Duration::from_micros;
    let ramp = DualPi2Config::default().marking;
    for (delay, p) in [
        (799, 0.0),
        (800, 0.0),
        (900, 0.25),
        (1100, 0.75),
        (1200, 1.0),
        (5000, 1.0),
    ] {
        assert!(
            (ramp.probability(us(delay)) - p).abs() < 1e-12,
            "at {delay} µs"
        );
    }
    let step = L4sMarking::Step(us(1000));
    assert_eq!(step.probability(us(1000)).to_bits(), 0.0_f64.to_bits());
    assert_eq!(step.probability(us(1001)).to_bits(), 1.0_f64.to_bits());
}

// Packets of 1000 bytes through a queue whose p' stays; how many were marked and dropped.
fn fates(base: f64, ecn: Ecn, packets: u64) -> (u64, usize) {
    let mut q = DualPi2::new(DualPi2Config::default());
    let mut books = Books::default();
    for n in 0..packets {
        q.push(us(0), parcel(0, ecn), &mut books).unwrap();
        q.base = base;
        let _ = q.pop(us(n / 100), &mut books);
    }
    (books.marked, books.dropped.len())
}

#[test]
fn scalable_packets_are_marked_k_times_as_often_as_the_root_of_the_classic_drops() {
    assert_eq!(fates(0.2, Ecn::Ect1, 1001), (400, 0), "2 · 0.2");
    assert_eq!(fates(0.2, Ecn::Ect0, 1010), (40, 0), "0.2²");
    assert_eq!(fates(0.2, Ecn::NotEct, 1010), (0, 40));
}

#[test]
fn in_overload_marks_do_not_help_any_more() {
    // k p' = 1, so classic packets are dropped with 0.25, ECN-capable or not, and scalable ones too.
    assert_eq!(fates(0.5, Ecn::Ect0, 1002), (0, 250));
    assert_eq!(fates(0.5, Ecn::Ect1, 1002), (752, 250));
}

#[test]
fn scalable_packets_go_first_and_classic_ones_keep_their_share() {
    let mut q = Bench::new(QueueConfig::DualPi2(DualPi2Config::default()));
    for _ in 0..500 {
        q.push(0, parcel(0, Ecn::Ect0)).unwrap();
        q.push(0, parcel(1, Ecn::Ect1)).unwrap();
    }
    let order: Vec<_> = (0..100).map(|_| q.pop(0).unwrap().token).collect();
    assert_eq!(order[0], 1);
    assert_eq!(order.iter().filter(|t| **t == 0).count(), 10);
}

// There is always one classic packet, but never two. It gets its share of the link, and no more while scalable
// packets wait.
#[test]
fn classic_packets_that_come_one_by_one_get_no_more_than_their_share() {
    let mut q = Bench::new(QueueConfig::DualPi2(DualPi2Config::default()));
    for _ in 0..200 {
        q.push(0, parcel(1, Ecn::Ect1)).unwrap();
    }
    q.push(0, parcel(0, Ecn::Ect0)).unwrap();
    let mut classic = 0;
    for _ in 0..100 {
        if q.pop(0).unwrap().token == 0 {
            classic += 1;
            q.push(0, parcel(0, Ecn::Ect0)).unwrap();
        }
    }
    assert_eq!(classic, 10);
}

// A dropped packet has used no time of the link, so it costs no share.
#[test]
fn drops_do_not_count_as_turns() {
    let mut q = DualPi2::new(DualPi2Config::default());
    let mut books = Books::default();
    for _ in 0..1000 {
        q.push(us(0), parcel(0, Ecn::NotEct), &mut books).unwrap();
        q.push(us(0), parcel(1, Ecn::Ect1), &mut books).unwrap();
    }
    q.base = 0.45;
    let order: Vec<_> = (0..1000)
        .map(|_| q.pop(us(0), &mut books).unwrap().parcel.token)
        .collect();
    assert!(books.dropped.len() > 10);
    assert_eq!(order.iter().filter(|t| **t == 0).count(), 100);
}

// RFC 9332 §A.1, line 5a: with one packet left (`Th_len`) there is no native marking.
#[test]
fn a_scalable_packet_is_marked_for_its_delay_only_if_two_more_wait() {
    let marked = |packets: usize| {
        let mut q = DualPi2::new(DualPi2Config::default());
        let mut books = Books::default();
        for _ in 0..packets {
            q.push(us(0), parcel(0, Ecn::Ect1), &mut books).unwrap();
        }
        q.scalable_due = 0.5;
        q.pop(us(5000), &mut books).unwrap().parcel.ecn == Ecn::Ce
    };
    assert_eq!([1, 2, 3].map(marked), [false, false, true]);
}

#[test]
fn a_constant_overload_of_classic_packets_ends_at_the_target() {
    let mut q = Bench::new(QueueConfig::DualPi2(DualPi2Config::default()));
    let left = q.overload(900, 60_000_000, Ecn::NotEct);
    let late = &left[left.len() / 2..];
    let mean_us = late.iter().map(|(_, wait)| wait).sum::<u64>() / late.len() as u64;
    assert!((13_000..17_000).contains(&mean_us), "{mean_us}");
}

#[test]
fn a_long_rest_is_made_up_for_at_once() {
    let mut q = DualPi2::new(DualPi2Config::default());
    let mut books = Books::default();
    let day = 86_400_000_000;
    q.push(us(365 * day), parcel(0, Ecn::NotEct), &mut books)
        .unwrap();
    assert!(q.next_update > us(365 * day) && q.next_update <= us(365 * day + 15_000));
}
