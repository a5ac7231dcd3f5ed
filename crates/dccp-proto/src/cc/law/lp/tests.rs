//! Tests TCP-LP and HSTCP-LP against values computed from their published rules.

use super::*;
use crate::cc::fixtures::{START, at, ms};
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, inner, law, loss, table, whole,
};

fn early(min: f64, max: f64) -> Early {
    let mut e = Early::new(60.0);
    e.extremes.add(START, min);
    e.extremes.add(START, max);
    e
}

#[test]
fn the_threshold_is_as_pinned() {
    for [min, max, threshold] in table(
        "
        35   55    38
         5  205    35
        85   95  86.5
         0   20     3
        ",
    ) {
        assert_near(early(min, max).threshold(0.15), threshold);
    }
}

#[test]
fn the_indication_is_as_pinned() {
    // The table is in milliseconds. The threshold is 43 ms.
    let mut e = early(0.040, 0.060);
    for [delay, smoothed, is_indicated] in table(
        "
        40       40  0
        40       40  0
        40       40  0
        44     40.5  0
        48  41.4375  0
        52  42.7578  0
        56  44.4131  1
        60  46.3615  1
        60  48.0663  1
        60   49.558  1
        ",
    ) {
        e.sample(START, delay / 1000.0);
        assert_near(e.smoothed.unwrap_or_default() * 1000.0, smoothed);
        assert_eq!(e.is_indicated(0.15), whole(is_indicated) == 1);
    }
}

#[test]
fn the_threshold_itself_indicates_nothing() {
    let mut e = early(0.0, 1.0);
    for (delay, is_indicated) in [(0.15, false), (0.150_001, true)] {
        e.smoothed = Some(delay);
        assert_eq!(e.is_indicated(0.15), is_indicated);
    }
}

#[test]
fn a_range_below_a_millisecond_indicates_nothing() {
    let is_indicated = |max| {
        let mut e = early(0.040, max);
        e.sample(START, max);
        e.is_indicated(0.15)
    };
    assert!(!is_indicated(0.0409));
    assert!(is_indicated(0.0411));
}

#[test]
fn extremes_expire_after_a_minute_or_never() {
    for (memory_s, min, max) in [(60.0, 50.0, 55.0), (0.0, 40.0, 60.0)] {
        let mut e = Early::new(memory_s);
        for (s, delay) in [(0, 40.0), (9, 60.0), (10, 55.0), (60, 50.0)] {
            e.sample(at(1000 * s), delay);
        }
        assert_near(e.extremes.min(), min);
        assert_near(e.extremes.max(), max);
    }
}

/// An acknowledgement `after_ms` milliseconds after the start, with this round trip.
fn ack(after_ms: u64, rtt_ms: u64) -> Ack {
    Ack {
        now: at(after_ms),
        rtt: Some(ms(rtt_ms)),
        smoothed_rtt: Some(ms(100)),
        flight: 64,
        ..acked(1)
    }
}

/// Builds the law with this name.
fn named(name: &str) -> Box<dyn Law> {
    match name {
        "tcp-lp" => law(Config::default()),
        _ => law(HighSpeedConfig::default()),
    }
}

/// A law with samples of 100 and 140 ms, and a window of 64 packets.
fn seasoned(name: &str) -> (Box<dyn Law>, Window) {
    let mut lp = named(name);
    let mut w = Window {
        ssthresh: 1000.0,
        ..avoiding(64.0)
    };
    lp.on_ack(&mut w, &ack(0, 100));
    lp.on_ack(&mut w, &ack(0, 140));
    (lp, avoiding(64.0))
}

#[test]
fn an_indication_halves_and_another_leaves_one_packet() {
    for name in ["tcp-lp", "hstcp-lp"] {
        let (mut lp, mut w) = seasoned(name);
        // The mean is 105 ms, the threshold 106 ms. One more sample of 140 ms exceeds it.
        lp.on_ack(&mut w, &ack(10, 140));
        assert_near(w.cwnd, 32.0);
        assert_near(w.ssthresh, 2.0);
        assert!(lp.is_holding(&w, at(10 + 299)) && !lp.is_holding(&w, at(10 + 300)));
        // The law reacts once per round trip, and does not grow.
        lp.on_ack(&mut w, &ack(109, 140));
        assert_near(w.cwnd, 32.0);
        lp.on_ack(&mut w, &ack(110, 140));
        assert_near(w.cwnd, 1.0);
        assert!(lp.is_holding(&w, at(409)) && !lp.is_holding(&w, at(410)));
        assert_near(inner(&*lp, "delay_min_s"), 0.1);
        assert_near(inner(&*lp, "delay_max_s"), 0.14);
        assert_near(inner(&*lp, "threshold_s"), 0.106);
    }
}

#[test]
fn after_the_inference_phase_it_grows_again() {
    for (name, cwnd, gain) in [("tcp-lp", 50.0, 1.0), ("hstcp-lp", 500.0, 5.0)] {
        let (mut lp, mut w) = seasoned(name);
        lp.on_ack(&mut w, &ack(10, 140));
        // The queue is empty, and the mean falls.
        for after_ms in 11..310 {
            lp.on_ack(&mut w, &ack(after_ms, 100));
        }
        assert_near(w.cwnd, 32.0);
        w.cwnd = cwnd;
        lp.on_ack(&mut w, &ack(310, 100));
        assert_near(w.cwnd, cwnd + gain / cwnd);
    }
}

#[test]
fn an_indication_after_the_phase_halves_again() {
    let (mut lp, mut w) = seasoned("tcp-lp");
    lp.on_ack(&mut w, &ack(10, 140));
    lp.on_ack(&mut w, &ack(310, 140));
    assert_near(w.cwnd, 16.0);
}

#[test]
fn packet_behind_a_delayed_ack_indicates_nothing() {
    // Up to three packets are in flight. The last one is acknowledged alone, after the peer's delay of 40 ms. Over TCP the
    // one-way delay includes that.
    for one_way in [None, Some(ms(90))] {
        let (mut lp, mut w) = seasoned("tcp-lp");
        lp.on_ack(&mut w, &ack(10, 140));
        lp.on_ack(&mut w, &ack(110, 140));
        assert_near(w.cwnd, 1.0);
        for (after_ms, flight) in (250..1000).step_by(140).zip([1, 1, 2, 3, 3, 3]) {
            let alone = Ack {
                one_way,
                flight,
                ..ack(after_ms, 140)
            };
            lp.on_ack(&mut w, &alone);
        }
        assert!(w.cwnd > 2.0, "{w:?}");
    }
}

#[test]
fn indications_in_slow_start_are_ignored() {
    let (mut lp, _) = seasoned("tcp-lp");
    let mut w = Window::new(64);
    lp.on_ack(
        &mut w,
        &Ack {
            growth: 0,
            ..ack(10, 140)
        },
    );
    assert_near(w.cwnd, 64.0);
}

#[test]
fn losses_reduce_the_window_like_the_law_that_grows() {
    for (name, left) in [("tcp-lp", 50.0), ("hstcp-lp", 55.893_5)] {
        let mut lp = named(name);
        let mut w = avoiding(100.0);
        if name == "hstcp-lp" {
            w.cwnd = 118.0;
        }
        lp.on_congestion(&mut w, &loss(100));
        let expected = if name == "hstcp-lp" { 65.9557 } else { left };
        assert_near(w.cwnd, expected);
        lp.on_timeout(&mut w, START);
        assert_near(w.cwnd, 1.0);
    }
}

#[test]
fn a_one_way_delay_starts_a_new_range() {
    let (mut lp, mut w) = seasoned("tcp-lp");
    assert_near(inner(&*lp, "delay_is_one_way") + 1.0, 1.0);
    let one_way = Ack {
        one_way: Some(ms(5000)),
        ..ack(10, 140)
    };
    lp.on_ack(&mut w, &one_way);
    assert_near(inner(&*lp, "delay_is_one_way"), 1.0);
    assert_near(inner(&*lp, "delay_min_s"), 5.0);
    assert!(w.cwnd > 64.0);
}

#[test]
fn sawtooth_of_tcp_lp_is_as_stored() {
    check_sawtooth(
        Config::default().into(),
        include_str!("../sawtooth/tcp-lp.txt"),
    );
}

#[test]
fn sawtooth_of_hstcp_lp_is_as_stored() {
    check_sawtooth(
        HighSpeedConfig::default().into(),
        include_str!("../sawtooth/hstcp-lp.txt"),
    );
}
