//! Tests BIC against values computed from its published rules.

use super::*;
use crate::cc::fixtures::START;
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, from_threshold, inner, law, loss, round_trips,
    table,
};

/// Stands for "none" in the tables.
const NONE: f64 = -1.0;

#[test]
fn the_search_after_the_first_event_is_as_pinned() {
    let mut bic = Bic::new(Config::default());
    let mut w = avoiding(1000.0);
    bic.on_congestion(&mut w, &loss(1));
    let mut passed = 0.0;
    for [after, cwnd, max, min, is_probing] in table(
        "
         0      875  1000      875  0
         1  906.436  1000  906.436  0
         2  937.849  1000  937.849  0
         3  962.032  1000  962.032  0
         4  976.878  1000  976.878  0
         5  985.936  1000  985.936  0
         6  991.454  1000  991.454  0
         8   996.85  1000   996.85  0
        10   998.84  1000   998.84  0
        12  999.573  1000  999.573  0
        15  999.905  1000  999.905  0
        20  999.999  1000  999.999  0
        25  1028.69    -1     1000  1
        30  1184.05    -1  1184.05  0
        40  1500.14    -1  1500.14  0
        ",
    ) {
        round_trips(&mut bic, &mut w, after - passed);
        passed = after;
        assert_near(w.cwnd, cwnd);
        let known = if bic.max < UNKNOWN { bic.max } else { NONE };
        assert_near(known, max);
        assert_near(inner(&bic, "min"), min);
        assert_near(inner(&bic, "is_probing"), is_probing);
    }
}

#[test]
fn a_second_event_below_the_maximum_converges_fast() {
    for (fast_convergence, max) in [(true, 843.75), (false, 900.0)] {
        let mut bic = law(Config {
            fast_convergence,
            ..Config::default()
        });
        bic.on_congestion(&mut avoiding(1000.0), &loss(1));
        let mut w = avoiding(900.0);
        bic.on_congestion(&mut w, &loss(1));
        assert_near(w.cwnd, 787.5);
        assert_near(inner(&*bic, "max"), max);
        assert_near(inner(&*bic, "min"), 787.5);
        // The first step goes half of the way: to 815.625 with fast convergence.
        bic.on_ack(&mut w, &acked(1));
        let step = (f64::midpoint(max, 787.5) - 787.5).min(32.0);
        assert_near(w.cwnd, 787.5 + step / 787.5);
    }
}

#[test]
fn small_window_grows_like_reno() {
    for (low_window, w, grown, reduced) in [
        (14.0, 13.9, 13.9 + 1.0 / 13.9, 6.95),
        (14.0, 14.0, 14.0 + 32.0 / 14.0, 12.25),
        (38.0, 37.0, 37.0 + 1.0 / 37.0, 18.5),
    ] {
        let config = Config {
            low_window,
            ..Config::default()
        };
        let mut window = avoiding(w);
        law(config).on_ack(&mut window, &acked(1));
        assert_near(window.cwnd, grown);
        let mut window = avoiding(w);
        law(config).on_congestion(&mut window, &loss(1));
        assert_near(window.cwnd, reduced);
    }
}

#[test]
fn timeout_discards_the_maximum() {
    let mut bic = Bic::new(Config::default());
    bic.on_congestion(&mut avoiding(1000.0), &loss(1));
    let mut w = avoiding(80.0);
    bic.on_timeout(&mut w, START);
    assert_near(w.cwnd, 1.0);
    assert_near(w.ssthresh, 70.0);
    assert_near(bic.max, UNKNOWN);
    let mut w = avoiding(70.0);
    bic.on_ack(&mut w, &acked(1));
    assert_near(w.cwnd, 70.0 + 32.0 / 70.0);
}

#[test]
fn a_second_event_at_the_same_window_does_not_converge() {
    let mut bic = law(Config::default());
    for _ in 0..2 {
        bic.on_congestion(&mut avoiding(1000.0), &loss(1));
        assert_near(inner(&*bic, "max"), 1000.0);
    }
}

#[test]
fn maximum_is_discarded_when_the_window_reaches_it() {
    let mut bic = Bic::new(Config::default());
    bic.on_congestion(&mut avoiding(16.0), &loss(1));
    // The shortest step ends exactly at the maximum.
    (bic.max, bic.min) = (16.0 + S_MIN / 16.0, 16.0);
    bic.on_ack(&mut avoiding(16.0), &acked(1));
    let mut shown = Vec::new();
    bic.inner(&mut shown);
    assert_eq!(shown, [("min", 16.0), ("is_probing", 1.0)]);
}

#[test]
fn sawtooth_of_bic_is_as_stored() {
    check_sawtooth(
        from_threshold(Config::default()),
        include_str!("../sawtooth/bic.txt"),
    );
}
