//! Tests HighSpeed by hand.

use super::by_table::ROWS;
use super::*;
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, from_threshold, loss, round_trips, table, whole,
};
use crate::cc::law::reno::Reno;

/// The loss rates that sustain `Low_Window` and `High_Window`. RFC 3649 defines these windows by them.
const LOW_P: f64 = 1e-3;
const HIGH_P: f64 = 1e-7;

/// Returns the loss rate that sustains w, on the line through both points in logarithmic scales.
fn p_exact(w: f64) -> f64 {
    let share = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    LOW_P * libm::exp(share * libm::log(HIGH_P / LOW_P))
}

#[test]
fn growth_and_decrease_are_as_pinned() {
    for [w, b_w, p_w, a_w, after_loss] in table(
        "
            38        0.5  0.000991641        1       19
            39   0.498649  0.000961207        1  19.5527
            60   0.476238  0.000573209  1.28989  31.4257
           100   0.449664  0.000310524   1.8013  55.0336
           118   0.441054  0.000254587  2.00581  65.9557
           200   0.413605  0.000135163  2.81918  117.279
           221   0.408411  0.000119901  3.00542  130.741
           500   0.365937  4.50122e-05  5.04009  317.031
          1000   0.329878  1.95927e-05  7.73981  670.122
          1058   0.326945   1.8311e-05  8.01084  712.092
          2000   0.293819  8.52822e-06  11.7491  1412.36
          5000   0.246152  2.84008e-06  19.9302  3769.24
          8333   0.219579  1.53863e-06  26.3533  6503.25
         10000   0.210092  1.23622e-06  29.0205  7899.08
         20000   0.174033  5.38095e-07  41.0288  16519.3
         50000   0.126366  1.79197e-07   60.429  43681.7
         83000        0.1  9.75441e-08  70.7349    74700
        100000  0.0903067      7.8e-08  73.7702  90969.3
        ",
    ) {
        assert_near(b(w), b_w);
        assert_near(p(w), p_w);
        assert_near(a(w), a_w);
        let mut window = avoiding(w);
        HighSpeed.on_congestion(&mut window, &loss(1));
        assert_near(window.cwnd, after_loss);
        assert_near(window.ssthresh, after_loss);
    }
}

#[test]
fn windows_grow_as_pinned() {
    for [start, rtts, formula, reno] in table(
        "
         100   10  118.822   110
         100  100  398.151   200
        1000   10  1078.88  1010
        1000  100  1960.46  1100
        8000   10  8259.64  8010
        ",
    ) {
        let mut w = avoiding(start);
        round_trips(&mut HighSpeed, &mut w, rtts);
        assert_near(w.cwnd, formula);
        let mut w = avoiding(start);
        round_trips(&mut Reno::default(), &mut w, rtts);
        assert_near(w.cwnd, reno);
    }
}

#[test]
fn the_response_to_loss_is_as_pinned() {
    for [loss_rate, w] in table(
        "
        1e-3       38
        1e-4  259.781
        1e-5  1775.95
        1e-6    12141
        1e-7    83000
        ",
    ) {
        assert_near(p_exact(w), loss_rate);
        // The formula rounds the same line to 0.078/w^1.2.
        assert!((p(w) / loss_rate - 1.0).abs() < 0.04, "{loss_rate}");
        // A sawtooth between w and (1 - b) w with growth a has the loss rate a(2 - b)/(2 b w²).
        let sustained = a(w) * (2.0 - b(w)) / (2.0 * b(w)) / (w * w);
        if w > LOW_WINDOW {
            assert!((sustained / loss_rate - 1.0).abs() < 0.04, "{loss_rate}");
        }
    }
}

#[test]
fn a_timeout_leaves_one_packet_and_the_reduced_threshold() {
    let mut w = avoiding(200.0);
    HighSpeed.on_timeout(&mut w, crate::cc::fixtures::START);
    assert_near(w.cwnd, 1.0);
    assert_near(w.ssthresh, 117.279);
    HighSpeed.on_timeout(&mut w, crate::cc::fixtures::START);
    assert_near(w.ssthresh, 2.0);
}

#[test]
fn every_acknowledged_packet_counts() {
    let mut w = avoiding(1e5);
    HighSpeed.on_ack(&mut w, &acked(4));
    assert!((w.cwnd - 1e5 - 4.0 * 73.7702 / 1e5).abs() < 1e-5);
    HighSpeed.on_ack(&mut w, &acked(0));
    assert!((w.cwnd - 1e5 - 4.0 * 73.7702 / 1e5).abs() < 1e-5);
}

#[test]
fn the_rows_are_those_of_appendix_b() {
    // RFC 3649 appendix B: the next row begins where a(w) with p = 1/(12.8 w^1.2) exceeds the last
    // row's by more than 1.
    let mut rows = vec![38];
    let mut last = 1.0;
    for w in 38..100_000 {
        let x = f64::from(w);
        let a = x * x * 2.0 * b(x) / ((2.0 - b(x)) * libm::pow(x, 1.2) * 12.8);
        if a > last + 1.0 {
            rows.push(w);
            last = a;
            // The whole part of a(w) is the row's a.
            assert_eq!(a.floor().to_string(), rows.len().to_string());
        }
    }
    assert_eq!(rows, ROWS);
}

#[test]
fn the_printed_b_is_the_rows_b_rounded() {
    let law = ByTable::default();
    for [a, printed] in table(
        "
         1  0.50
         2  0.44
         3  0.41
         4  0.38
         5  0.37
         6  0.35
         7  0.34
         8  0.33
         9  0.32
        10  0.31
        11  0.30
        12  0.29
        13  0.28
        14  0.28
        15  0.27
        16  0.27
        17  0.26
        18  0.26
        19  0.25
        20  0.25
        21  0.24
        22  0.24
        23  0.23
        24  0.23
        25  0.22
        26  0.22
        28  0.21
        31  0.20
        34  0.19
        38  0.18
        41  0.17
        45  0.16
        49  0.15
        53  0.14
        57  0.13
        62  0.12
        66  0.11
        69  0.10
        72  0.10
        73  0.09
        ",
    ) {
        let b: f64 = law.decrease[whole(a) as usize - 1];
        assert!((b - printed).abs() <= 0.005, "{a}: {b}");
    }
}

#[test]
fn rows_begin_where_the_table_says() {
    let mut law = ByTable::default();
    for [w, a] in table(
        "
        117.9   1
          118   2
        94716  72
        94717  73
          1e9  73
        117.9   1
            1   1
        ",
    ) {
        assert_near(law.response(w).0, a);
    }
}

#[test]
fn sawtooth_is_as_stored() {
    check_sawtooth(
        from_threshold(Config),
        include_str!("../sawtooth/highspeed.txt"),
    );
}
