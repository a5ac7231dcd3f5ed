//! Tests CUBIC against values computed from the formulas of RFC 9438.

use super::*;
use crate::cc::fixtures::{START, at, ms};
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, from_threshold, inner, law, loss, table, whole,
};

fn cubic() -> Cubic {
    Cubic::new(Config::default())
}

/// An acknowledgement of one packet, `after_ms` milliseconds after the start.
fn acked_at(after_ms: u64) -> Ack {
    Ack {
        now: at(after_ms),
        smoothed_rtt: Some(ms(100)),
        ..acked(1)
    }
}

#[test]
fn the_time_to_the_flat_part_is_as_pinned() {
    for [w_max, w, seconds] in table(
        "
            100       70  4.21716
           1000      700   9.0856
        8333.33  5833.33  18.4202
          10000     7000  19.5743
            850      700  7.21125
        83333.3  58333.3   39.685
        ",
    ) {
        assert_near(k(w_max, w), seconds);
    }
}

#[test]
fn the_cubic_function_is_as_pinned() {
    let k = k(1000.0, 700.0);
    for [t, w, aim, gain] in table(
        "
             0      700  709.797    0.0139959
             1  788.555  796.304   0.00982634
             2  857.705  863.645   0.00692554
             5  972.721  974.675   0.00200924
             8  999.488  999.617  0.000128863
        9.0856     1000     1000        4e-07
            10  1000.31  1000.42  0.000111673
            12   1009.9  1010.96   0.00104428
            15  1082.75  1087.02   0.00394271
        ",
    ) {
        let now = w_cubic(t, k, 1000.0);
        assert_near(now, w);
        let found = target(t + 0.1, k, 1000.0, now);
        assert_near(found, aim);
        let found = (found - now) / now;
        assert!(
            (found - gain).abs() <= (1e-5 * gain).max(1e-9),
            "{t}: {found}"
        );
    }
}

#[test]
fn a_step_follows_the_function_after_an_event() {
    // The first and the third row of the table above, as acknowledgements.
    let mut c = Cubic::new(Config {
        reno_friendly: false,
        ..Config::default()
    });
    let mut w = avoiding(1000.0);
    c.on_congestion(&mut w, &loss(1000));
    assert_near(w.cwnd, 700.0);
    c.on_ack(&mut w, &acked_at(0));
    assert_near(w.cwnd, 700.013_995_9);
    assert_near(inner(&c, "k_s"), 9.0856);
    w.cwnd = w_cubic(2.0, k(1000.0, 700.0), 1000.0);
    let before = w.cwnd;
    c.on_ack(&mut w, &acked_at(2000));
    assert!((w.cwnd - before - 0.006_925_54).abs() < 1e-7);
}

#[test]
fn renos_window_grows_as_pinned() {
    for [start, cwnd, w_prior, packets, w_est] in table(
        "
        700  700  1000  700  700.529
         70   70   100  700  75.2941
          7    7    10   70  14.3109
        ",
    ) {
        let mut c = cubic();
        c.w_prior = w_prior;
        let mut epoch = Epoch {
            start: START,
            k: 0.0,
            w_est: start,
        };
        for _ in 0..whole(packets) {
            let mut w = cwnd;
            c.grow(&mut w, &mut epoch, 0.0, 0.0);
        }
        assert_near(epoch.w_est, w_est);
    }
}

#[test]
fn at_the_window_of_the_event_renos_grows_at_full_pace() {
    // RFC 9438 §4.3: alpha is 1 once W_est has reached cwnd_prior.
    for (w_est, gain) in [(9.9, alpha(0.7)), (10.0, 1.0)] {
        let mut c = cubic();
        c.w_prior = 10.0;
        let mut epoch = Epoch {
            start: START,
            k: 0.0,
            w_est,
        };
        c.grow(&mut 10.0, &mut epoch, 0.0, 0.0);
        assert_near(epoch.w_est, w_est + gain / 10.0);
    }
}

#[test]
fn the_cubic_function_counts_where_renos_window_only_equals_it() {
    // RFC 9438 §4.3: Reno's window counts only where the function is below it.
    for (w_max, after) in [(10.125, 8.0 + 2.125 / 8.0), (10.12, 10.125)] {
        let mut c = cubic();
        c.w_max = w_max;
        let mut epoch = Epoch {
            start: START,
            k: 0.0,
            w_est: 10.0,
        };
        let mut w = 8.0;
        c.grow(&mut w, &mut epoch, 0.0, 0.0);
        assert_near(w, after);
    }
}

#[test]
fn events_are_answered_as_pinned() {
    for [cwnd, before, after, left] in table(
        "
        1000   900  1000  700
         900  1000   765  630
          10    12   8.5    7
           2     1     2    2
        ",
    ) {
        let mut c = cubic();
        c.w_max = before;
        let mut w = avoiding(cwnd);
        c.on_congestion(&mut w, &loss(whole(cwnd)));
        assert_near(c.w_max, after);
        assert_near(w.cwnd, left);
        assert_near(w.ssthresh, left);
    }
    // A window smaller by a fraction of a packet is not below the maximum.
    for (cwnd, after) in [(999.1, 999.1), (998.9, 0.85 * 998.9)] {
        let mut c = cubic();
        c.w_max = 999.9;
        c.on_congestion(&mut avoiding(cwnd), &loss(1000));
        assert_near(c.w_max, after);
    }
    let mut c = Cubic::new(Config {
        fast_convergence: false,
        ..Config::default()
    });
    c.w_max = 1000.0;
    c.on_congestion(&mut avoiding(900.0), &loss(900));
    assert_near(c.w_max, 900.0);
}

#[test]
fn flight_is_reduced_and_a_mark_may_leave_one_packet() {
    // RFC 9438 §4.6: the flight counts. RFC 8511 §3: a mark has its own factor.
    for (ecn_beta, cause, flight, cwnd, ssthresh) in [
        (0.7, Cause::Loss, 50, 35.0, 35.0),
        (0.7, Cause::Loss, 5000, 70.0, 70.0),
        (0.7, Cause::Mark, 100, 70.0, 70.0),
        (0.85, Cause::Mark, 100, 85.0, 85.0),
        (0.85, Cause::Loss, 100, 70.0, 70.0),
        (0.7, Cause::Mark, 1, 1.0, 2.0),
        (0.7, Cause::Loss, 1, 2.0, 2.0),
    ] {
        let mut w = avoiding(100.0);
        let event = Congestion {
            cause,
            ..loss(flight)
        };
        let config = Config {
            ecn_beta,
            ..Config::default()
        };
        law(config).on_congestion(&mut w, &event);
        assert_near(w.cwnd, cwnd);
        assert_near(w.ssthresh, ssthresh);
    }
}

#[test]
fn function_starts_flat_without_an_event() {
    let mut c = cubic();
    let mut w = avoiding(100.0);
    c.on_ack(&mut w, &acked_at(0));
    assert_near(inner(&c, "w_max"), 100.0);
    assert!(inner(&c, "k_s").abs() < 1e-12);
    c.on_congestion(&mut w, &loss(100));
    c.on_timeout(&mut w, START);
    assert_near(w.cwnd, 1.0);
    let mut w = avoiding(49.0);
    c.on_ack(&mut w, &acked_at(0));
    assert_near(inner(&c, "w_max"), 49.0);
    assert!(inner(&c, "k_s").abs() < 1e-12);
}

#[test]
fn application_limited_time_does_not_count() {
    // RFC 9438 §5.8: application-limited time does not count.
    let mut c = cubic();
    let mut w = avoiding(1000.0);
    c.on_congestion(&mut w, &loss(1000));
    c.on_ack(&mut w, &acked_at(0));
    for after_ms in [1000, 2000, 3000] {
        c.on_ack(
            &mut w,
            &Ack {
                growth: 0,
                ..acked_at(after_ms)
            },
        );
    }
    assert_eq!(c.epoch.map(|e| e.start), Some(at(3000)));
    c.on_ack(&mut w, &acked_at(3100));
    assert_eq!(c.epoch.map(|e| e.start), Some(at(3000)));
    c.on_idle(at(9000), ms(5000));
    assert_eq!(c.epoch, None);
}

#[test]
fn small_window_grows_like_reno_unless_disabled() {
    let grown = |reno_friendly| {
        let mut c = law(Config {
            reno_friendly,
            ..Config::default()
        });
        let mut w = avoiding(10.0);
        c.on_congestion(&mut w, &loss(10));
        for step in 0..100 {
            c.on_ack(&mut w, &acked_at(step));
        }
        w.cwnd
    };
    // 100 packets in 0.1 s: Reno gains 7 packets, while the cubic function is flat.
    assert!(grown(true) > 13.0);
    assert!(grown(false) < 9.0);
}

#[test]
fn sawtooth_is_as_stored() {
    check_sawtooth(
        from_threshold(Config::default()),
        include_str!("../sawtooth/cubic.txt"),
    );
}
