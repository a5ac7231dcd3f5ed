//! Tests H-TCP against values computed from its published formulas.

use super::*;
use crate::cc::fixtures::{START, at, ms};
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, from_threshold, inner, law, loss, table, whole,
};

fn with(change: impl Fn(&mut Config)) -> Htcp {
    let mut config = Config::default();
    change(&mut config);
    Htcp::new(config)
}

#[test]
fn alpha_is_as_pinned() {
    for [delta, half, four_fifths, rtt_10, rtt_70, rtt_170, rtt_300] in table(
        "
        0.5       1      1       1        1      1.7       2
          1       1      1       1        1      1.7       2
        1.1  2.0025      1       1  1.40175  3.40425   4.005
        1.5  6.0625  2.425       1  4.24375  10.3063  12.125
          2   11.25    4.5   1.125    7.875   19.125    22.5
          3      22    8.8     2.2     15.4     37.4      44
          5      45     18     4.5     31.5     76.5      90
         10  111.25   44.5  11.125   77.875  189.125   222.5
         20  281.25  112.5  28.125  196.875  478.125   562.5
        ",
    ) {
        let mut plain = with(|_| ());
        assert_near(plain.alpha(delta, 0.07), half);
        plain.beta = 0.8;
        assert_near(plain.alpha(delta, 0.07), four_fifths);
        let scaled = with(|c| c.rtt_scaling = true);
        for (rtt, expected) in [
            (0.01, rtt_10),
            (0.07, rtt_70),
            (0.17, rtt_170),
            (0.3, rtt_300),
        ] {
            assert_near(scaled.alpha(delta, rtt), expected);
        }
    }
}

#[test]
fn without_the_floor_a_gentle_backoff_grows_slower_than_reno() {
    let mut h = with(|c| c.floor = false);
    h.beta = 0.8;
    assert_near(h.alpha(0.5, 0.07), 0.4);
}

#[test]
fn beta_is_as_pinned() {
    const NONE: f64 = -1.0;
    for [rtt_min, rtt_max, now, before, beta] in table(
        "
        70    80  100   -1  0.5
        70    80  100   95  0.8
        70    80  130  100  0.5
        70    80  120  100  0.8
        70    80   80  100  0.8
        70    80 79.9  100  0.5
        70   100  100   95  0.7
        70   160  100   95  0.5
        10  10.5  100  100  0.8
        70    77   79  100  0.5
        ",
    ) {
        let mut h = with(|_| ());
        (h.rtt_min, h.rtt_max) = (rtt_min, rtt_max);
        h.last_rate = (before > NONE).then_some(before);
        assert_near(h.beta(Some(now)), beta);
        let mut fixed = with(|c| c.adaptive_backoff = false);
        (fixed.rtt_min, fixed.rtt_max, fixed.last_rate) = (h.rtt_min, h.rtt_max, h.last_rate);
        assert_near(fixed.beta(Some(now)), 0.5);
    }
    // Without the test of the throughput, only the round trips count.
    let mut h = with(|c| c.rate_test = false);
    (h.rtt_min, h.rtt_max) = (70.0, 100.0);
    assert_near(h.beta(Some(1.0)), 0.7);
}

#[test]
fn round_trips_are_reported_and_faded_after_the_first_sample() {
    let mut h = with(|_| ());
    h.on_congestion(&mut avoiding(100.0), &loss(1));
    assert_near(1.0 + h.rtt_max, 1.0);
    let mut shown = Vec::new();
    h.inner(&mut shown);
    assert_eq!(shown, [("beta", 0.5), ("throughput", 0.0)]);
    let sample = Ack {
        rtt: Some(ms(70)),
        ..acked(1)
    };
    h.on_ack(&mut avoiding(100.0), &sample);
    assert_near(inner(&h, "rtt_min_s"), 0.07);
    assert_near(inner(&h, "rtt_max_s"), 0.07);
}

#[test]
fn windows_grow_as_pinned() {
    for [start, rtt_ms, seconds, expected] in table(
        "
         500   10   5  9511.33
         500   70   5  1794.17
         500   70  10  7257.23
        4000  170  10  6763.01
        ",
    ) {
        let h = with(|_| ());
        let mut w = start;
        let mut t = 0.0;
        while t < seconds - 1e-9 {
            w += h.alpha(t, 0.07);
            t += rtt_ms / 1000.0;
        }
        assert!((w / expected - 1.0).abs() < 0.002, "{w} {expected}");
    }
}

#[test]
fn acknowledgements_add_alpha_per_window() {
    let mut h = law(Config::default());
    let mut w = avoiding(100.0);
    h.on_congestion(&mut w, &loss(1));
    assert_near(w.cwnd, 50.0);
    h.on_ack(
        &mut w,
        &Ack {
            now: at(2000),
            ..acked(1)
        },
    );
    assert_near(w.cwnd, 50.0 + 11.25 / 50.0);
}

/// Acknowledges packets at 1000 per second for a second, with round trips of 70 to 100 ms.
fn second(h: &mut Htcp, w: &mut Window, from_ms: u64) {
    for i in 0..100 {
        let ack = Ack {
            now: at(from_ms + 10 * i),
            rtt: Some(ms(70 + 30 * i / 99)),
            growth: 0,
            ..acked(10)
        };
        h.on_ack(w, &ack);
    }
}

#[test]
fn steady_flow_empties_the_queue_and_fades_its_longest_round_trip() {
    let mut h = with(|_| ());
    let mut w = avoiding(100.0);
    let event = |after_ms| Congestion {
        now: at(after_ms),
        ..loss(100)
    };
    second(&mut h, &mut w, 0);
    assert!((inner(&h, "throughput") / 1000.0 - 1.0).abs() < 0.15);
    h.on_congestion(&mut w, &event(1000));
    assert_near(w.cwnd, 50.0);
    assert_near(h.rtt_max, 0.07 + 0.95 * 0.03);
    second(&mut h, &mut w, 1000);
    let mut w = avoiding(100.0);
    h.on_congestion(&mut w, &event(2000));
    assert_near(w.cwnd, 70.0);
    assert_near(inner(&h, "beta"), 0.7);
    // A timeout keeps beta and restarts the time since the event.
    let mut w = avoiding(100.0);
    h.on_timeout(&mut w, at(2500));
    assert_near(w.ssthresh, 70.0);
    assert_near(w.cwnd, 1.0);
    assert_eq!(h.event, Some(at(2500)));
}

#[test]
fn throughput_is_averaged_after_the_settling_time() {
    let mut t = Throughput::default();
    assert_eq!(t.finish(), None);
    let mut now = 0;
    t.on_ack(at(now), 0, 0.1);
    for (packets, average, max) in [
        (50, 500.0, 500.0),
        (100, 1000.0, 1000.0),
        (80, 800.0, 800.0),
        (100, 850.0, 850.0),
        (10, 662.5, 850.0),
    ] {
        now += 100;
        t.on_ack(at(now - 1), packets - 1, 0.1);
        t.on_ack(at(now), 1, 0.1);
        assert_near(t.average, average);
        assert_near(t.max, max);
    }
    assert_eq!(t.finish().map(whole), Some(850));
    assert_eq!(t, Throughput::default());
    // Two acknowledgements at the same time give no interval.
    t.on_ack(START, 5, 0.0);
    assert_eq!(t.samples, 0);
}

#[test]
fn sawtooth_is_as_stored() {
    check_sawtooth(
        from_threshold(Config::default()),
        include_str!("../sawtooth/htcp.txt"),
    );
}
