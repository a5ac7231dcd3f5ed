//! HighSpeed against congestion-control §4.

use super::*;
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, inner, law, loss, round_trips, table, whole,
};

fn with(table: Table) -> HighSpeed {
    HighSpeed::new(Config {
        table,
        ..Config::default()
    })
}

#[test]
fn growth_and_decrease_are_as_pinned() {
    for [
        w,
        a_table,
        b_table,
        b_w,
        p_w,
        a_formula,
        a_exact,
        after_loss,
    ] in table(
        "
            38   1        0.5        0.5  0.000991641        1        1       19
            39   1        0.5   0.498649  0.000961207        1        1  19.5527
            60   1        0.5   0.476238  0.000573209  1.28989  1.30204  31.4257
           100   1        0.5   0.449664  0.000310524   1.8013  1.82026  55.0336
           118   2   0.441054   0.441054  0.000254587  2.00581  2.02764  65.9557
           200   2   0.441054   0.413605  0.000135163  2.81918  2.85308  117.279
           221   3   0.408411   0.408411  0.000119901  3.00542   3.0422  130.741
           500   5    0.36646   0.365937  4.50122e-05  5.04009  5.11072  317.031
          1000   7   0.338272   0.329878  1.95927e-05  7.73981  7.85992  670.122
          1058   8   0.326945   0.326945   1.8311e-05  8.01084  8.13614  712.092
          2000  11   0.299503   0.293819  8.52822e-06  11.7491  11.9491  1412.36
          5000  19   0.250535   0.246152  2.84008e-06  19.9302  20.3094  3769.24
          8333  26   0.220862   0.219579  1.53863e-06  26.3533  26.8841  6503.25
         10000  29   0.210139   0.210092  1.23622e-06  29.0205  29.6166  7899.08
         20000  41   0.174124   0.174033  5.38095e-07  41.0288  41.9337  16519.3
         50000  60   0.127458   0.126366  1.79197e-07   60.429  61.8832  43681.7
         83000  70    0.10223        0.1  9.75441e-08  70.7349  72.5158    74700
        100000  73  0.0931303  0.0903067      7.8e-08  73.7702  75.6578  90969.3
        ",
    ) {
        let (a, b_of_row) = with(Table::Rfc).response(w);
        assert_near(a, a_table);
        assert_near(b_of_row, b_table);
        assert_near(b(w), b_w);
        assert_near(p(w), p_w);
        assert_near(with(Table::Formula).response(w).0, a_formula);
        assert_near(with(Table::Exact).response(w).0, a_exact);
        let mut window = avoiding(w);
        with(Table::Formula).on_congestion(&mut window, &loss(1));
        assert_near(window.cwnd, after_loss);
        assert_near(window.ssthresh, after_loss);
    }
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
            // Its whole part is the row's a.
            assert_eq!(a.floor().to_string(), rows.len().to_string());
        }
    }
    assert_eq!(rows, ROWS);
}

#[test]
fn the_printed_b_is_the_rows_b_rounded() {
    let law = with(Table::Rfc);
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
fn the_kernel_reads_the_row_above() {
    let mut kernel = with(Table::Kernel);
    for [w, a, b_256] in table(
        "
             1   1  128
            38   1  128
          38.1   2  112
            39   2  112
           118   2  112
           119   3  104
           222   4   98
           348   5   93
          1400  10   78
         89053  72   24
        200000  72   24
            39   2  112
        ",
    ) {
        let (found, b) = kernel.response(w);
        assert_near(found, a);
        assert_near(256.0 * b, b_256);
    }
}

#[test]
fn rows_begin_where_the_table_says() {
    let mut law = with(Table::Rfc);
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
fn windows_grow_as_pinned() {
    for [start, rtts, of_table, formula, reno] in table(
        "
         100   10  109.873  118.822   110
         100  100  309.872  398.151   200
        1000   10  1071.38  1078.88  1010
        1000  100  1897.32  1960.46  1100
        8000   10  8254.37  8259.64  8010
        ",
    ) {
        for (name, expected) in [("highspeed:table=rfc", of_table), ("highspeed", formula)] {
            let mut w = avoiding(start);
            round_trips(&mut *law(name), &mut w, rtts);
            assert_near(w.cwnd, expected);
        }
        let mut w = avoiding(start);
        round_trips(&mut *law("reno"), &mut w, rtts);
        assert_near(w.cwnd, reno);
    }
}

#[test]
fn the_response_to_loss_is_as_pinned() {
    for [loss_rate, rounded, exact] in table(
        "
        1e-3  38.3867       38
        1e-4  262.531  259.781
        1e-5  1795.48  1775.95
        1e-6  12279.5    12141
        1e-7    83981    83000
        ",
    ) {
        assert_near(p_exact(exact), loss_rate);
        // 0.12/p^0.835 is the same line with rounded numbers; so is 0.078/w^1.2.
        assert!((p(rounded) / loss_rate - 1.0).abs() < 0.04, "{loss_rate}");
        // A sawtooth between w and (1 - b) w with growth a has one loss in a(2 - b)/(2 b w²) packets.
        let sustained = a(exact, p_exact(exact)) * (2.0 - b(exact)) / (2.0 * b(exact));
        if exact > LOW_WINDOW {
            assert_near(sustained / (exact * exact), loss_rate);
        }
    }
}

#[test]
fn timeouts_leave_one_packet_and_the_reduced_threshold() {
    let mut law = with(Table::Rfc);
    let mut w = avoiding(200.0);
    law.on_timeout(&mut w, crate::cc::fixtures::START);
    assert_near(w.cwnd, 1.0);
    assert_near(w.ssthresh, (1.0 - 0.441_054) * 200.0);
    law.on_timeout(&mut w, crate::cc::fixtures::START);
    assert_near(w.ssthresh, 2.0);
}

#[test]
fn acknowledgements_may_count_in_place_of_packets() {
    for (name, steps) in [
        ("highspeed:table=rfc", 4.0),
        ("highspeed:table=rfc,count=acks", 1.0),
    ] {
        let mut w = avoiding(1e5);
        let mut law = law(name);
        law.on_ack(&mut w, &acked(4));
        assert!((w.cwnd - 1e5 - steps * 73.0 / 1e5).abs() < 1e-5, "{name}");
        law.on_ack(&mut w, &acked(0));
        assert!((w.cwnd - 1e5 - steps * 73.0 / 1e5).abs() < 1e-5, "{name}");
        assert_near(inner(&*law, "row"), 73.0);
    }
}

#[test]
fn the_sawtooth_looks_as_it_did() {
    check_sawtooth(
        "highspeed",
        "highspeed:initial_ssthresh=150",
        include_str!("../sawtooth/highspeed.txt"),
    );
}
