//! BIC against congestion-control §6.

use super::*;
use crate::cc::fixtures::START;
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, inner, law, loss, round_trips, table, whole,
};

/// "none" in the tables.
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
    for (text, max) in [("bic", 843.75), ("bic:fast_convergence=no", 900.0)] {
        let mut bic = law(text);
        bic.on_congestion(&mut avoiding(1000.0), &loss(1));
        let mut w = avoiding(900.0);
        bic.on_congestion(&mut w, &loss(1));
        assert_near(w.cwnd, 787.5);
        assert_near(inner(&*bic, "max"), max);
        assert_near(inner(&*bic, "min"), 787.5);
        // The first step leads half the way: 815.625 with fast convergence.
        bic.on_ack(&mut w, &acked(1));
        let step = (f64::midpoint(max, 787.5) - 787.5).min(32.0);
        assert_near(w.cwnd, 787.5 + step / 787.5);
    }
}

#[test]
fn the_first_event_read_literally_converges_too() {
    for (text, max) in [("bic", 1000.0), ("bic:literal_first=yes", 937.5)] {
        let mut bic = law(text);
        bic.on_congestion(&mut avoiding(1000.0), &loss(1));
        assert_near(inner(&*bic, "max"), max);
        assert_near(inner(&*bic, "min"), 875.0);
    }
}

#[test]
fn a_small_window_is_renos() {
    for (text, w, grown, reduced) in [
        ("bic", 13.9, 13.9 + 1.0 / 13.9, 6.95),
        ("bic", 14.0, 14.0 + 32.0 / 14.0, 12.25),
        ("bic:low_window=38", 37.0, 37.0 + 1.0 / 37.0, 18.5),
        ("bic:mode=linux", 14.0, 14.0 + 1.0 / 14.0, 7.0),
        ("bic:mode=linux", 15.0, 15.0 + 1.0 / 3.0, 15.0 * 0.799_805),
    ] {
        let mut window = avoiding(w);
        law(text).on_ack(&mut window, &acked(1));
        assert_near(window.cwnd, grown);
        let mut window = avoiding(w);
        law(text).on_congestion(&mut window, &loss(1));
        assert_near(window.cwnd, reduced);
    }
}

#[test]
fn the_kernels_steps_are_as_pinned() {
    for [w, last_max, per_round_trip] in table(
        "
          10  1000        1
         100  1000  16.6667
         800  1000       16
         935  1000  16.1207
         936  1000  16.1379
         960  1000       10
         990  1000        2
         994  1000      0.2
         999  1000      0.2
        1000  1000      0.2
        1003  1000      0.2
        1004  1000  1.33333
        1010  1000  3.33333
        1030  1000       10
        1047  1000  15.8636
        1048  1000  16.1231
        1060  1000  16.0606
        2000  1000       16
        ",
    ) {
        let linux = Linux {
            config: Config::default(),
            last_max: whole(last_max),
            ..Linux::new(Config::default())
        };
        let mut window = avoiding(w);
        let mut law = linux;
        law.on_ack(&mut window, &acked(1));
        assert!(((window.cwnd - w) * w - per_round_trip).abs() < 1e-4 * per_round_trip);
        assert_eq!(linux.last_max, 1000);
    }
}

#[test]
fn the_kernel_keeps_four_fifths_and_converges_to_nine_tenths() {
    let mut linux = law("bic:mode=linux");
    let mut w = avoiding(1000.0);
    // Before the first event the growth is 5 % per round trip at least.
    linux.on_ack(&mut w, &acked(1));
    assert_near(w.cwnd, 1000.05);
    let mut w = avoiding(1000.0);
    linux.on_congestion(&mut w, &loss(1));
    assert_near(w.cwnd, 799.805);
    assert_near(inner(&*linux, "max"), 1000.0);
    let mut w = avoiding(900.0);
    linux.on_congestion(&mut w, &loss(1));
    assert_near(inner(&*linux, "max"), (0.899_902_f64 * 900.0).floor());
    linux.on_timeout(&mut w, START);
    assert_near(inner(&*linux, "max"), 0.0);
    assert_near(w.cwnd, 1.0);
}

#[test]
fn the_kernel_grows_faster_by_the_packets_per_acknowledgement() {
    let mut linux = law("bic:mode=linux,delayed_acks=yes");
    linux.on_congestion(&mut avoiding(1000.0), &loss(1));
    // 100 / 16 is 6 packets per step; two packets per acknowledgement make it 3.
    let mut w = avoiding(100.0);
    linux.on_ack(&mut w, &acked(2));
    assert!((w.cwnd - 100.0 - 2.0 / 3.0).abs() < 1e-4, "{}", w.cwnd);
    // After many acknowledgements of four packets it is 6 * 16 / 61.
    for _ in 0..200 {
        linux.on_ack(&mut avoiding(100.0), &acked(4));
    }
    let mut w = avoiding(100.0);
    linux.on_ack(&mut w, &acked(1));
    assert_near(w.cwnd, 101.0);
}

#[test]
fn a_timeout_forgets_the_maximum() {
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
    for text in ["bic", "bic:mode=linux"] {
        let mut bic = law(text);
        for _ in 0..2 {
            bic.on_congestion(&mut avoiding(1000.0), &loss(1));
            assert_near(inner(&*bic, "max"), 1000.0);
        }
        assert_eq!(bic.name(), "bic");
    }
}

#[test]
fn a_maximum_that_is_reached_is_one_no_more() {
    let mut bic = Bic::new(Config::default());
    bic.on_congestion(&mut avoiding(16.0), &loss(1));
    // The shortest step leads just there.
    (bic.max, bic.min) = (16.0 + S_MIN / 16.0, 16.0);
    bic.on_ack(&mut avoiding(16.0), &acked(1));
    let mut shown = Vec::new();
    bic.inner(&mut shown);
    assert_eq!(shown, [("min", 16.0), ("is_probing", 1.0)]);
}

#[test]
fn the_kernels_mean_is_of_acknowledgements_that_acknowledge_outside_of_recovery() {
    let mut linux = Linux::new(Config::default());
    for (packets, is_recovering, per_ack) in [(0, false, 32), (4, true, 32), (4, false, 34)] {
        let ack = Ack {
            is_recovering,
            ..acked(packets)
        };
        linux.on_ack(&mut avoiding(100.0), &ack);
        assert_eq!(linux.per_ack, per_ack);
    }
}

#[test]
fn sawtooth_of_bic_is_as_stored() {
    let text = "bic:initial_ssthresh=150";
    check_sawtooth("bic", text, include_str!("../sawtooth/bic.txt"));
}

#[test]
fn sawtooth_of_bic_linux_is_as_stored() {
    let text = "bic:mode=linux,initial_ssthresh=150";
    check_sawtooth("bic-linux", text, include_str!("../sawtooth/bic-linux.txt"));
}
