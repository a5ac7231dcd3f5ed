//! Feedback packets as they are, and as a hostile peer might make them.

use super::super::variant::{Counted, Tfrc};
use super::*;
use crate::cc::fixtures::{feedback, is_near, ms};
use crate::wire::OptionWriter;
use crate::wire::Options;
use crate::wire::ccid_options::push_loss_intervals;
use proptest::prelude::*;

const RTT: Duration = ms(100);

fn interval(lossless: u32, loss: u32, data: u32) -> LossInterval {
    LossInterval {
        lossless,
        nonce: false,
        loss,
        data,
    }
}

/// Reads Receive Rate and these intervals, newest first, and Loss Event Rate if there is one.
fn read(
    reports: &mut Reports,
    ack: u64,
    skip: u8,
    intervals: &[LossInterval],
    inverse: Option<u32>,
) -> Option<Report> {
    read_as(&Tfrc, reports, ack, skip, intervals, inverse)
}

/// The same by this variant.
fn read_as<V: Variant>(
    variant: &V,
    reports: &mut Reports,
    ack: u64,
    skip: u8,
    intervals: &[LossInterval],
    inverse: Option<u32>,
) -> Option<Report> {
    let mut w = OptionWriter::new(300);
    CcidOpt::ReceiveRate(5000).push(&mut w).unwrap();
    if let Some(inverse) = inverse {
        CcidOpt::LossEventRate(inverse).push(&mut w).unwrap();
    }
    if !intervals.is_empty() {
        push_loss_intervals(&mut w, skip, intervals).unwrap();
    }
    let mut fb = feedback();
    fb.ack = Seq::new(ack);
    fb.elapsed = Some(ms(0));
    fb.options = Options(w.as_slice());
    reports.read(&fb, variant, RTT)
}

fn p(report: Option<Report>) -> f64 {
    report.expect("feedback").p
}

fn assert_near(value: f64, expected: f64) {
    assert!(is_near(value, expected), "{value} {expected}");
}

#[test]
fn before_any_loss_the_rate_is_0() {
    // 5348-6.3-1, 4342-6.1.1-1
    let mut reports = Reports::default();
    let report = read(&mut reports, 9, 0, &[interval(10, 0, 0)], None);
    assert_eq!(reports.events(), Some(0));
    let expected = Report {
        x_recv: 5000.0,
        p: 0.0,
        is_worse: false,
    };
    assert_eq!(report, Some(expected));
}

#[test]
fn the_rfcs_example_gives_a_rate() {
    // 4342-8.6-1: data lengths 10, 10, 8 and 15.
    let intervals = [
        interval(10, 1, 10),
        interval(8, 5, 10),
        interval(8, 1, 8),
        interval(10, 0, 15),
    ];
    let mut reports = Reports::default();
    let report = read(&mut reports, 44, 2, &intervals, None);
    assert_near(p(report), 3.0 / 33.0);
    let starts: Vec<_> = reports.known.iter().map(|k| k.start).collect();
    assert_eq!(starts, [32, 19, 10, 0].map(|n| Some(Seq::new(n))));
    assert!(report.is_some_and(|r| r.is_worse));
    assert_eq!(reports.events(), Some(3));
}

#[test]
fn what_lacks_a_part_is_no_feedback() {
    // 4342-5-2
    let mut w = OptionWriter::new(300);
    CcidOpt::ReceiveRate(5000).push(&mut w).unwrap();
    let only_rate = w.len();
    push_loss_intervals(&mut w, 0, &[interval(10, 0, 0)]).unwrap();
    let mut fb = feedback();
    let mut reports = Reports::default();
    let mut is_feedback = |elapsed, bytes: &[u8]| {
        fb.elapsed = elapsed;
        let fb = Feedback {
            options: Options(bytes),
            ..fb
        };
        reports.read(&fb, &Tfrc, RTT).is_some()
    };
    assert!(is_feedback(Some(ms(0)), w.as_slice()));
    assert!(!is_feedback(None, w.as_slice()));
    assert!(!is_feedback(Some(ms(0)), &w.as_slice()[..only_rate]));
    assert!(!is_feedback(Some(ms(0)), &w.as_slice()[only_rate..]));
    assert!(!is_feedback(Some(ms(0)), &[]));
}

#[test]
fn a_linux_peer_sends_loss_event_rate_alone() {
    // 4342-5-2, LINUX-12: nor Elapsed Time.
    let mut reports = Reports::default();
    for (inverse, p, is_worse) in [
        (u32::MAX, 0.0, false),
        (100, 0.01, true),
        (100, 0.01, false),
        (200, 0.005, false),
        (1, 1.0, true),
        (0, 1.0, false),
    ] {
        let mut w = OptionWriter::new(300);
        CcidOpt::LossEventRate(inverse).push(&mut w).unwrap();
        CcidOpt::ReceiveRate(7).push(&mut w).unwrap();
        let mut fb = feedback();
        fb.options = Options(w.as_slice());
        let report = reports.read(&fb, &Tfrc, RTT).expect("feedback");
        assert!((report.x_recv - 7.0).abs() < f64::EPSILON);
        assert!((report.p - p).abs() < 1e-12, "{inverse}");
        assert_eq!(report.is_worse, is_worse, "{inverse}");
    }
    // How many loss events there were it does not say.
    assert_eq!(reports.events(), None);
}

#[test]
fn intervals_are_finer_than_the_rounded_rate() {
    // 4342-9.2-1
    let intervals = [interval(2, 1, 3), interval(1, 0, 2)];
    let report = read(&mut Reports::default(), 9, 0, &intervals, Some(4));
    assert_near(p(report), 1.0 / 3.0);
}

#[test]
fn a_saturated_length_means_at_least() {
    // 4342-8.4-1: 2^24 − 1 packets may be many more; Loss Event Rate knows.
    let long = interval(SATURATED, 1, SATURATED);
    let closed = interval(100, 1, 101);
    let mut reports = Reports::default();
    let bound = p(read(
        &mut reports,
        1 << 30,
        0,
        &[long, closed, closed],
        None,
    ));
    let told = 1_000_000_000;
    let exact = read(
        &mut reports,
        1 << 30,
        0,
        &[long, closed, closed],
        Some(told),
    );
    assert_near(p(exact), 1e-9);
    assert!(bound > 1e-9);
    // A rate above the bound would forget what the intervals say.
    let coarse = read(&mut reports, 1 << 30, 0, &[long, closed, closed], Some(2));
    assert_near(p(coarse), bound);
}

#[test]
fn one_saturated_length_of_two_is_enough_to_lose_the_place() {
    // 4342-8.4-1: most packets are no data packets, or some lengths just fill their bits.
    for long in [
        interval(SATURATED, 1, 1000),
        interval(SATURATED - 1, 1, SATURATED),
    ] {
        let mut reports = Reports::default();
        let list = [long, interval(100, 1, 101), interval(100, 1, 101)];
        let report = read(&mut reports, 1 << 30, 0, &list, Some(1_000_000_000));
        assert_near(p(report), 1e-9);
        assert!(reports.known.iter().all(|k| k.start.is_none()));
    }
}

#[test]
fn saturation_brings_no_jump() {
    // The open interval grows through 2^24: p never rises, and falls by little at a time.
    let mut reports = Reports::default();
    let mut last = 1.0;
    for n in (0..200).map(|i| (1 << 24) - 100_000 + 1000 * i) {
        let open = interval(n, 1, n + 1);
        let closed = interval(8_000_000, 1, 8_000_001);
        let report = read(&mut reports, 1 << 40, 0, &[open, closed], Some(n + 1));
        let p = p(report);
        assert!(
            p <= last && (p > 0.99 * last || last >= 1.0),
            "{n} {p} {last}"
        );
        last = p;
    }
    // Beyond the field's width the rate goes on falling.
    assert_near(last, 1.0 / f64::from((1 << 24) + 99_001));
}

#[test]
fn a_new_event_is_worse_even_if_the_rate_falls() {
    // 5348-4.3-3
    let mut reports = Reports::default();
    let l0 = interval(99, 0, 50);
    let first = read(&mut reports, 199, 0, &[interval(100, 1, 100), l0], None);
    assert!(first.is_some_and(|r| r.is_worse));
    let again = read(&mut reports, 249, 0, &[interval(150, 1, 150), l0], None);
    assert!(again.is_some_and(|r| !r.is_worse));
    assert_eq!(reports.events(), Some(1));
    let intervals = [interval(100, 1, 101), interval(999, 1, 1000), l0];
    let second = read(&mut reports, 1199, 0, &intervals, None);
    assert!(second.is_some_and(|r| r.is_worse && r.p < 0.01));
    assert_eq!(reports.events(), Some(2));
    // Two at once, and one that is known.
    let two = [interval(9, 1, 10), interval(99, 1, 100), intervals[0]];
    assert!(read(&mut reports, 1309, 0, &two, None).is_some());
    assert_eq!(reports.events(), Some(4));
}

#[test]
fn a_long_open_interval_discounts_the_others_and_that_lasts() {
    // 5348-5.5-1
    let mut reports = Reports::default();
    let hundreds = [interval(99, 1, 100); 8];
    let mut list = vec![interval(9, 1, 10)];
    list.extend(hundreds);
    // The open interval begins at 1001.
    assert_near(p(read(&mut reports, 1010, 0, &list, None)), 0.01);
    list[0] = interval(999, 1, 1000);
    assert_near(p(read(&mut reports, 2000, 0, &list, None)), 0.002);
    // A new event: the 1000 keep their weight, the hundreds only a quarter.
    list.insert(0, interval(9, 1, 10));
    list.truncate(9);
    let weights = 1.0 + 0.25 * (3.0 + 0.8 + 0.6 + 0.4 + 0.2);
    let total = 1000.0 + 25.0 * (3.0 + 0.8 + 0.6 + 0.4 + 0.2);
    assert_near(p(read(&mut reports, 2010, 0, &list, None)), weights / total);
    // And once more: 990 are no more than the mean, so nothing more is taken from any.
    list[0] = interval(989, 1, 990);
    let with_open = 990.0 + 1000.0 + 25.0 * (2.0 + 0.8 + 0.6 + 0.4 + 0.2);
    let weights_open = 2.0 + 0.25 * (2.0 + 0.8 + 0.6 + 0.4 + 0.2);
    assert_near(
        p(read(&mut reports, 2990, 0, &list, None)),
        weights_open / with_open,
    );
}

/// TFRC whose loss event rate is one in as many packets as the intervals hold.
#[derive(Debug, Default)]
struct Summing;

impl Variant for Summing {
    type Meter = ();
    const CCID: u8 = 3;
    const SPACING: Duration = Duration::ZERO;
    const TELLS_DROPS: bool = false;

    fn rate(&self, s: f64, r: f64, p: f64) -> f64 {
        Tfrc.rate(s, r, p)
    }

    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64 {
        Tfrc.loss_event_rate(s, r, x)
    }

    fn length(interval: &Counted) -> f64 {
        Tfrc::length(interval)
    }

    fn mean_rate(intervals: impl Iterator<Item = Weighed> + Clone) -> Option<f64> {
        let packets: f64 = intervals.map(|i| i.length).sum();
        Some(1.0 / packets)
    }
}

#[test]
fn a_variant_may_compute_the_loss_event_rate_in_its_own_way() {
    let list = [interval(9, 1, 10), interval(590, 0, 600)];
    let mut reports = Reports::default();
    assert_near(p(read(&mut reports, 609, 0, &list, None)), 1.0 / 600.0);
    let mut reports = Reports::default();
    assert_near(
        p(read_as(&Summing, &mut reports, 609, 0, &list, None)),
        1.0 / 610.0,
    );
}

#[test]
fn a_receiver_may_leave_out_what_the_sender_knows() {
    // 4342-8.6-1
    let mut reports = Reports::default();
    let (a, b) = (interval(99, 1, 100), interval(199, 1, 200));
    let l0 = interval(100, 0, 50);
    // Starts 400, 200, 100 and 0.
    let all = [interval(9, 1, 10), b, a, l0];
    let mean = (200.0 + 100.0 + 50.0) / 3.0;
    assert_near(p(read(&mut reports, 409, 0, &all, None)), 1.0 / mean);
    let open_only = [interval(19, 1, 20)];
    assert_near(p(read(&mut reports, 419, 0, &open_only, None)), 1.0 / mean);
    let two = [interval(9, 1, 10), interval(99, 1, 100)];
    let mean = (100.0 + 200.0 + 100.0 + 50.0) / 4.0;
    assert_near(p(read(&mut reports, 509, 0, &two, None)), 1.0 / mean);
    assert_eq!(reports.known.len, 5);
}

#[test]
fn a_lone_event_without_history_stands_for_itself() {
    let report = read(&mut Reports::default(), 409, 0, &[interval(9, 1, 10)], None);
    assert_near(p(report), 0.1);
}

#[test]
fn intervals_that_cannot_be_are_no_feedback() {
    // 4342-6.1-1, 4342-6.1.1-1
    let l0 = interval(100, 0, 50);
    for bad in [
        &[interval(9, 1, 11), l0][..],
        &[interval(9, 1, 0), l0],
        &[interval(9, 0, 9), l0],
        &[interval(9, 1, 10), l0, l0],
    ] {
        assert_eq!(read(&mut Reports::default(), 500, 0, bad, None), None);
        // Loss Event Rate does not make them better.
        assert_eq!(read(&mut Reports::default(), 500, 0, bad, Some(10)), None);
    }
    let good = [interval(9, 1, 10), interval(100, 0, 5000)];
    assert!(read(&mut Reports::default(), 500, 0, &good, None).is_some());
}

#[test]
fn no_more_than_nine_intervals_are_kept() {
    // 5348-5.4-1
    let mut reports = Reports::default();
    let many = [interval(9, 1, 10); 20];
    assert!(read(&mut reports, 500, 0, &many, None).is_some());
    assert_eq!(reports.known.len, INTERVALS);
}

proptest! {
    #[test]
    fn no_options_break_the_reader(
        packets in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..150), any::<u64>()), 1..6)
    ) {
        let mut reports = Reports::default();
        for (bytes, ack) in packets {
            let mut w = OptionWriter::new(300);
            CcidOpt::ReceiveRate(5000).push(&mut w).unwrap();
            w.push_raw(193, &bytes).unwrap();
            let mut fb = feedback();
            fb.ack = Seq::new(ack);
            fb.elapsed = Some(ms(1));
            fb.options = Options(w.as_slice());
            if let Some(report) = reports.read(&fb, &Tfrc, RTT) {
                prop_assert!((0.0..=1.0).contains(&report.p), "{}", report.p);
            }
        }
    }
}
