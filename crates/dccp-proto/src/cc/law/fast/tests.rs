//! Tests FAST against values computed from its published rules.

use super::*;
use crate::cc::fixtures::{START, ms};
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, inner, law, loss, table, whole,
};

fn with(alpha: f64, gamma: f64) -> Fast {
    Fast::new(Config {
        alpha,
        gamma,
        ..Config::default()
    })
}

#[test]
fn updates_are_as_pinned() {
    for [w, base, rtt, alpha, gamma, after] in table(
        "
             50  100    100  200  0.5      100
           1000  100    100  200  0.5     1100
        8333.33  100    100  200  0.5  8433.33
           9000  100    110  200  0.5  8690.91
           9000  100    110  200  1.0  8381.82
        8533.33  100  102.4  200  0.5  8533.33
           2000   10     12  100  0.5  1883.33
        ",
    ) {
        assert_near(with(alpha, gamma).update(w, w, base / rtt), after);
    }
}

#[test]
fn the_way_to_the_equilibrium_is_as_pinned() {
    // 1 Gbit/s, 1500-byte packets, 100 ms.
    const PACKETS_PER_S: f64 = 1e9 / 12_000.0;
    let fast = with(200.0, 0.5);
    let rtt = |w: f64| (w / PACKETS_PER_S).max(0.1);
    let (mut w, mut done) = (8000.0, 0.0);
    for [updates, after, rtt_ms, queued] in table(
        "
         0     8000      100        0
         1     8100      100        0
         2     8200      100        0
         3     8300      100        0
         4     8400    100.8  66.6667
         5  8466.67    101.6  133.333
         6     8500      102  166.667
         8     8525    102.3  191.667
        10  8531.25  102.375  197.917
        15  8533.27  102.399  199.935
        20  8533.33    102.4  199.998
        ",
    ) {
        while done < updates {
            w = fast.update(w, w, 0.1 / rtt(w));
            done += 1.0;
        }
        assert_near(w, after);
        assert_near(rtt(w) * 1000.0, rtt_ms);
        // Fewer digits agree, because these are differences of large numbers.
        assert!((w - 0.1 * PACKETS_PER_S - queued).abs() < 0.01 || updates < 4.0);
    }
}

#[test]
fn a_queue_on_the_way_back_costs_the_rate_that_is_pinned() {
    // At the equilibrium alpha packets wait. The rate is alpha/q; q is the queueing delay of both directions.
    for [alpha, forward_ms, back_ms, rate] in table(
        "
        200  2.4   0  83333.3
        200    0   5    40000
        200    0  10    20000
        200    0  20    10000
        200    0  50     4000
        100    0  50     2000
        ",
    ) {
        let fast = with(alpha, 0.5);
        let rtt = 0.1 + (forward_ms + back_ms) / 1000.0;
        let mut w = 100.0;
        for _ in 0..2000 {
            w = fast.update(w, w, 0.1 / rtt);
        }
        assert_near(w / rtt, rate);
    }
}

#[test]
fn window_stays_within_the_dead_band() {
    let fast = Fast::new(Config {
        dead_band: 50.0,
        ..Config::default()
    });
    for (w, moves) in [
        (1990.0, true),
        (2000.0, false),
        (2490.0, false),
        (2510.0, true),
    ] {
        // A tenth of the window is in the queue.
        let after = fast.update(w, w, 0.9);
        assert_eq!((after - w).abs() > 1e-9, moves, "{w} {after}");
    }
}

/// An acknowledgement of `n` packets in this round with this round trip.
fn ack(round: u64, n: u32, rtt_ms: u64) -> Ack {
    Ack {
        round,
        rtt: Some(ms(rtt_ms)),
        ..acked(n)
    }
}

#[test]
fn the_average_has_the_published_weight() {
    for (w, average) in [(4.0, 0.125), (100.0, 0.103)] {
        let mut fast = law(Config::default());
        let mut window = avoiding(w);
        fast.on_ack(
            &mut window,
            &Ack {
                growth: 0,
                ..ack(0, 1, 100)
            },
        );
        fast.on_ack(
            &mut window,
            &Ack {
                growth: 0,
                ..ack(0, 1, 200)
            },
        );
        assert_near(inner(&*fast, "avg_rtt_s"), average);
        assert_near(inner(&*fast, "base_rtt_s"), 0.1);
    }
}

#[test]
fn without_a_queue_each_packet_adds_one() {
    let mut fast = law(Config::default());
    let mut w = avoiding(100.0);
    fast.on_ack(&mut w, &ack(1, 10, 100));
    assert_near(w.cwnd, 110.0);
    fast.on_ack(
        &mut w,
        &Ack {
            is_recovering: true,
            ..ack(1, 10, 100)
        },
    );
    assert_near(w.cwnd, 110.0);
}

#[test]
fn slow_start_ends_when_there_is_a_queue() {
    let mut fast = law(Config::default());
    let mut w = Window::new(100);
    fast.on_ack(
        &mut w,
        &Ack {
            growth: 0,
            ..ack(1, 10, 100)
        },
    );
    assert!(w.is_slow_start());
    // 3/100 of 30 ms are 0.9 ms.
    fast.on_ack(
        &mut w,
        &Ack {
            growth: 0,
            ..ack(1, 10, 130)
        },
    );
    assert!(!w.is_slow_start());
}

/// FAST with a window of 1000 packets, a shortest round trip of 100 ms and a mean of 102 ms.
fn queued() -> (Box<dyn Law>, Window) {
    let mut fast = law(Config::default());
    let mut w = avoiding(1000.0);
    fast.on_ack(
        &mut w,
        &Ack {
            growth: 0,
            ..ack(1, 1, 100)
        },
    );
    for _ in 0..5000 {
        fast.on_ack(
            &mut w,
            &Ack {
                growth: 0,
                ..ack(1, 1, 102)
            },
        );
    }
    (fast, w)
}

#[test]
fn an_increase_is_spread_over_a_round_trip_and_made_in_every_other() {
    let (mut fast, mut w) = queued();
    // 0.5 · 1000 + 0.5 (1000/1.02 + 200) = 1090.2
    let aim = 500.0 + 0.5 * (1000.0 / 1.02 + 200.0);
    fast.on_ack(&mut w, &ack(2, 1, 102));
    assert_near(w.cwnd, 1000.0 + (aim - 1000.0) / 1000.0);
    fast.on_ack(&mut w, &ack(2, 499, 102));
    assert_near(w.cwnd, f64::midpoint(1000.0, aim));
    fast.on_ack(&mut w, &ack(2, 600, 102));
    assert_near(w.cwnd, aim);
    fast.on_ack(&mut w, &ack(3, 600, 102));
    assert_near(w.cwnd, aim);
    assert_near(inner(&*fast, "queued"), 1000.0 * (1.0 - 1.0 / 1.02));
    // Packets that are acknowledged in round 4 were sent with the window of round 3.
    fast.on_ack(
        &mut w,
        &Ack {
            growth: 0,
            ..ack(4, 1, 102)
        },
    );
    assert_near(inner(&*fast, "queued"), aim * (1.0 - 1.0 / 1.02));
}

#[test]
fn a_decrease_comes_at_once() {
    let (mut fast, mut w) = queued();
    w.cwnd = 20_000.0;
    fast.on_ack(
        &mut w,
        &Ack {
            is_recovering: true,
            ..ack(2, 1, 102)
        },
    );
    assert_near(w.cwnd, 20_000.0);
    fast.on_ack(&mut w, &ack(3, 1, 102));
    fast.on_ack(&mut w, &ack(4, 1, 102));
    assert!((w.cwnd - (10_000.0 + 0.5 * (20_000.0 / 1.02 + 200.0))).abs() < 1.0);
}

#[test]
fn on_a_short_path_an_increase_comes_at_once() {
    let mut fast = law(Config {
        alpha: 20.0,
        ..Config::default()
    });
    let mut w = avoiding(20.0);
    fast.on_ack(
        &mut w,
        &Ack {
            growth: 0,
            ..ack(1, 1, 1)
        },
    );
    for _ in 0..200 {
        fast.on_ack(
            &mut w,
            &Ack {
                growth: 0,
                ..ack(1, 1, 2)
            },
        );
    }
    fast.on_ack(&mut w, &ack(2, 1, 2));
    assert_near(w.cwnd, 10.0 + 0.5 * (10.0 + 20.0));
}

#[test]
fn from_4_ms_on_an_increase_is_spread() {
    // After two samples that are 100 ms longer, with weight 3/100, the mean is base + 5.91 ms.
    let at_once = 50.0 + 0.5 * (100.0 * 3.0 / 8.91 + 200.0);
    for (base, after) in [(3, at_once), (4, 100.0)] {
        let mut fast = law(Config::default());
        let mut w = avoiding(100.0);
        for (round, rtt) in [(1, base), (1, base + 100), (2, base + 100)] {
            let ack = Ack {
                growth: 0,
                ..ack(round, 1, rtt)
            };
            fast.on_ack(&mut w, &ack);
        }
        assert_near(w.cwnd, after);
    }
}

#[test]
fn without_a_threshold_no_queue_is_short_enough_to_double() {
    let mut fast = law(Config {
        mi_threshold_ms: 0.0,
        ..Config::default()
    });
    let mut w = avoiding(100.0);
    fast.on_ack(&mut w, &ack(1, 10, 100));
    assert_near(w.cwnd, 100.0);
    let mut w = Window::new(100);
    fast.on_ack(&mut w, &ack(1, 10, 100));
    assert!(!w.is_slow_start());
}

#[test]
fn losses_and_timeouts_leave_a_half() {
    for (loss_keep, left) in [(0.5, 500.0), (0.875, 875.0)] {
        let mut fast = law(Config {
            loss_keep,
            ..Config::default()
        });
        let mut w = avoiding(1000.0);
        fast.on_congestion(&mut w, &loss(1000));
        assert_near(w.cwnd, left);
        fast.on_timeout(&mut w, START);
        assert_near(w.cwnd, 2.0);
        assert_near(w.ssthresh, left / 2.0);
    }
    let mut w = avoiding(3.0);
    law(Config::default()).on_congestion(&mut w, &loss(3));
    assert_eq!(whole(w.cwnd), 2);
}

#[test]
fn sawtooth_is_as_stored() {
    let law = Config {
        alpha: 50.0,
        ..Config::default()
    };
    check_sawtooth(law.into(), include_str!("../sawtooth/fast.txt"));
}
