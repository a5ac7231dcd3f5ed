//! Values of the throughput equation, among them those of `specs/requirements.md`, appendix A.4.
#![expect(
    clippy::unreadable_literal,
    reason = "the tables are easier to compare as they are"
)]

use super::*;
use crate::cc::fixtures::is_near;

fn assert_near(value: f64, expected: f64) {
    assert!(is_near(value, expected), "{value} {expected}");
}

#[test]
fn the_rate_falls_with_the_loss_event_rate_as_pinned() {
    // 5348-3.1-1
    for (p, f, x) in [
        (1e-08, 8.16497e-05, 1.78813e+08),
        (1e-07, 0.000258199, 5.65455e+07),
        (1e-06, 0.000816504, 1.78811e+07),
        (1e-05, 0.00258222, 5.65405e+06),
        (0.0001, 0.00817231, 1.78652e+06),
        (0.001, 0.0260523, 560_412.0),
        (0.01, 0.0890216, 164_005.0),
        (0.02, 0.136521, 106_943.0),
        (0.05, 0.271305, 53_813.9),
        (0.1, 0.564939, 25_843.5),
        (0.2, 1.86372, 7_833.81),
        (0.3, 5.13222, 2_844.77),
        (0.5, 23.96, 609.348),
        (1.0, 243.316, 60.0043),
        // Appendix A.4 gives more digits of f.
        (0.0001, 0.008172314, 1.78652e+06),
        (0.001, 0.026052275, 560_412.0),
        (0.01, 0.089021642, 164_005.0),
        (0.1, 0.564939171, 25_843.5),
    ] {
        assert_near(Path::new(1460.0, 0.1).rate(p), x);
        assert_near(1.0 / Path::new(1.0, 1.0).rate(p), f);
    }
}

#[test]
fn the_rate_follows_packet_size_and_round_trip_as_pinned() {
    // 5348-3.1-1
    for (s, r, p, x) in [
        (1460.0, 0.01, 1e-06, 1.78811e+08),
        (1460.0, 0.01, 0.0001, 1.78652e+07),
        (1460.0, 0.01, 0.01, 1.64005e+06),
        (1460.0, 0.07, 1e-08, 2.55447e+08),
        (1460.0, 0.07, 1e-06, 2.55444e+07),
        (1460.0, 0.07, 0.0001, 2.55217e+06),
        (1460.0, 0.07, 0.01, 234_293.0),
        (1460.0, 0.07, 0.1, 36_919.3),
        (1460.0, 0.094, 1e-07, 6.01548e+07),
        (1460.0, 0.094, 1e-05, 6.01494e+06),
        (1460.0, 0.094, 0.001, 596_183.0),
        (1460.0, 0.17, 1e-06, 1.05183e+07),
        (1460.0, 0.17, 0.0001, 1.05089e+06),
        (1460.0, 0.17, 0.01, 96_473.6),
        (1000.0, 0.05, 0.001, 767_687.0),
        (1000.0, 0.05, 0.02, 146_498.0),
        (1000.0, 0.2, 0.05, 18_429.4),
        (536.0, 0.1, 0.003, 116_701.0),
        (536.0, 0.1, 0.3, 1_044.38),
        (160.0, 0.08, 0.01, 22_466.4),
        (160.0, 0.08, 0.5, 83.4723),
        (8960.0, 0.094, 1e-06, 1.16741e+08),
        (1460.0, 0.0002, 0.0001, 8.9326e+08),
        (1460.0, 0.1, 1.0, 60.0043),
    ] {
        assert_near(Path::new(s, r).rate(p), x);
    }
}

#[test]
fn timeout_and_delayed_acks_count_in_the_general_form_as_pinned() {
    // 5348-3.1-1
    for (r, p, t_rto, b, x) in [
        (0.1, 0.01, 0.4, 1.0, 164_005.0),
        (0.1, 0.01, 1.0, 1.0, 145_884.0),
        (0.1, 0.01, 0.4, 2.0, 115_969.0),
        (0.01, 0.05, 1.0, 1.0, 60_811.8),
        (0.07, 0.001, 1.0, 2.0, 553_408.0),
    ] {
        let path = Path {
            t_rto,
            b,
            ..Path::new(1460.0, r)
        };
        assert_near(path.rate(p), x);
    }
}

#[test]
fn without_loss_the_equation_sets_no_bound() {
    assert!(Path::new(1460.0, 0.1).rate(0.0).is_infinite());
}

#[test]
fn the_inverse_finds_the_loss_event_rate_as_pinned() {
    // 5348-6.3.1-1
    for (s, r, x, p, interval) in [
        (1460.0, 0.1, 100_000.0, 0.0221223, 45.2033),
        (1460.0, 0.1, 1e+06, 0.000317918, 3145.46),
        (1460.0, 0.1, 1e+07, 3.19722e-06, 312_772.0),
        (1460.0, 0.07, 6.25e+07, 1.67047e-07, 5.98633e+06),
        (1460.0, 0.094, 1.625e+07, 1.37033e-06, 729_753.0),
        (1460.0, 0.094, 1.175e+08, 2.62099e-08, 3.81535e+07),
        (1460.0, 0.17, 6.25e+07, 2.8323e-08, 3.5307e+07),
        (1000.0, 0.05, 37_500.0, 0.09562, 10.4581),
        // Appendix A.4: packets per round trip.
        (1.0, 1.0, 0.5, 0.206429, 4.84428),
        (1.0, 1.0, 1.0, 0.145870, 6.85542),
        (1.0, 1.0, 10.0, 0.0121727, 82.151),
        (1.0, 1.0, 100.0, 1.49597e-4, 6684.6),
    ] {
        let found = Path::new(s, r).loss_event_rate(x);
        assert_near(found, p);
        assert_near(1.0 / found, interval);
    }
}

#[test]
fn a_rate_below_the_lowest_stands_for_every_packet_lost() {
    let path = Path::new(1460.0, 0.1);
    for x in [0.0, 1.0, 60.0] {
        assert_near(path.loss_event_rate(x), 1.0);
    }
    assert!(path.loss_event_rate(61.0) < 1.0);
    // Beyond all measure, but not for ever.
    assert!(path.loss_event_rate(f64::INFINITY) < 2e-16);
}

#[test]
fn the_initial_window_is_two_to_four_packets_as_pinned() {
    // 5348-4.2-1, 4342-5-1
    for (mss, bytes) in [
        (100.0, 400.0),
        (536.0, 2144.0),
        (1095.0, 4380.0),
        (1460.0, 4380.0),
        (2190.0, 4380.0),
        (2191.0, 4382.0),
        (9000.0, 18_000.0),
    ] {
        assert_near(initial_window(mss), bytes);
    }
}
