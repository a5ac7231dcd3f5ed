//! CUBIC 2.1 by hand.

use crate::cc::fixtures::{START, at, ms};
use crate::cc::law::bench::{acked, assert_near, avoiding, check_sawtooth, inner, law, loss};
use crate::cc::law::{Ack, Law, Window};

fn linux() -> Box<dyn Law> {
    law("cubic:mode=linux,beta=0.8")
}

/// Acknowledges one packet so many milliseconds after the start, with a round trip of 100 ms.
fn acked_at(after_ms: u64) -> Ack {
    Ack {
        now: at(after_ms),
        rtt: Some(ms(100)),
        ..acked(1)
    }
}

/// The same, without a round trip.
fn unmeasured_at(after_ms: u64) -> Ack {
    Ack {
        rtt: None,
        ..acked_at(after_ms)
    }
}

/// How many acknowledgements at this time add a packet to the window.
fn step(law: &mut dyn Law, window: Window, after_ms: u64) -> u32 {
    let mut grown = window;
    let mut count = 0;
    while grown.cwnd <= window.cwnd {
        law.on_ack(&mut grown, &acked_at(after_ms));
        count += 1;
    }
    assert_near(grown.cwnd, window.cwnd + 1.0);
    count
}

#[test]
fn before_the_first_event_and_after_a_timeout_26_acknowledgements_add_a_packet() {
    // 50 × 16/31, and one.
    let mut linux = linux();
    assert_eq!(step(&mut *linux, avoiding(100.0), 0), 26);
    assert_eq!(step(&mut *linux, avoiding(3000.0), 0), 26);
    let mut w = avoiding(1000.0);
    linux.on_congestion(&mut w, &loss(1000));
    assert_ne!(step(&mut *linux, w, 100), 26);
    linux.on_timeout(&mut w, START);
    assert_near(w.ssthresh, 640.0);
    assert_near(w.cwnd, 1.0);
    assert_near(inner(&*linux, "w_max"), 0.0);
    assert_eq!(step(&mut *linux, avoiding(1000.0), 0), 26);
}

#[test]
fn after_an_event_steps_follow_the_function_at_twice_its_pace() {
    let mut linux = law("cubic:mode=linux,beta=0.8,reno_friendly=no");
    let mut w = avoiding(1000.0);
    linux.on_congestion(&mut w, &loss(1000));
    assert_near(w.cwnd, 800.0);
    // At its begin the function is at the window: 800 × 100 × 16/32 for a packet.
    let mut begun = w;
    linux.on_ack(&mut begun, &unmeasured_at(0));
    assert_near(begun.cwnd, 800.0);
    assert_near(inner(&*linux, "k_s"), 7.937_005);
    for (after_ms, window, acknowledgements) in [
        // 1000 − 0.4 × 2.837³ = 990.8: 800/190 = 4, × 16/31 = 2, and one; one has been.
        (5_000, 800.0, 2),
        // 999.7: 990/9 = 110, × 16/31 = 56.
        (7_000, 990.0, 57),
        // Beyond the flat part, 1172.2: 5, but 62 = 1000/16 at least: 32.
        (15_388, 1000.0, 33),
    ] {
        let found = step(&mut *linux, avoiding(window), after_ms);
        assert_eq!(found, acknowledgements, "{after_ms} ms");
    }
}

#[test]
fn round_trips_soon_after_an_event_are_no_measure() {
    let mut linux = law("cubic:mode=linux,beta=0.8,reno_friendly=no");
    let mut w = avoiding(1000.0);
    linux.on_congestion(&mut w, &loss(1000));
    let mut begun = w;
    linux.on_ack(&mut begun, &unmeasured_at(0));
    // Without a shortest round trip nothing limits the growth beyond the flat part.
    for (rtt, after_ms) in [(20, 999), (100, 1_000)] {
        let ack = Ack {
            rtt: Some(ms(rtt)),
            growth: 0,
            ..acked_at(after_ms)
        };
        linux.on_ack(&mut w, &ack);
    }
    // 33, of which one has been.
    assert_eq!(step(&mut *linux, avoiding(1000.0), 15_388), 32);
}

#[test]
fn without_any_round_trip_growth_beyond_the_flat_part_has_no_limit() {
    let mut linux = law("cubic:mode=linux,beta=0.8,reno_friendly=no");
    let mut w = avoiding(1000.0);
    linux.on_congestion(&mut w, &loss(1000));
    linux.on_ack(&mut w, &unmeasured_at(0));
    // 1000 + 0.4 × 7.451³ = 1165: 1000/165 = 6, × 16/31 = 3; one has been.
    let mut w = avoiding(1000.0);
    for cwnd in [1000.0, 1000.0, 1001.0] {
        linux.on_ack(&mut w, &unmeasured_at(15_388));
        assert_near(w.cwnd, cwnd);
    }
}

#[test]
fn only_new_acknowledgements_outside_of_recovery_count_for_the_packets_per_acknowledgement() {
    let mut linux = linux();
    let mut w = avoiding(100.0);
    for _ in 0..40 {
        linux.on_ack(&mut w, &acked(0));
        let recovering = Ack {
            is_recovering: true,
            growth: 0,
            ..acked(10)
        };
        linux.on_ack(&mut w, &recovering);
    }
    assert_eq!(step(&mut *linux, avoiding(100.0), 0), 26);
}

#[test]
fn renos_window_gains_a_packet_for_more_acknowledgements_than_a_window() {
    let mut linux = law("cubic:mode=linux,beta=0.5");
    assert_eq!(linux.name(), "cubic");
    for (acknowledgements, reno) in [(100, 100.0), (1, 101.0), (99, 101.0), (1, 102.0)] {
        for _ in 0..acknowledgements {
            linux.on_ack(&mut avoiding(100.0), &acked_at(0));
        }
        assert_near(inner(&*linux, "w_est"), reno);
    }
}

#[test]
fn an_event_below_the_maximum_sets_it_lower() {
    for (text, max) in [
        ("cubic:mode=linux,beta=0.8", 810.0),
        ("cubic:mode=linux,beta=0.8,fast_convergence=no", 900.0),
    ] {
        let mut linux = law(text);
        linux.on_congestion(&mut avoiding(1000.0), &loss(1000));
        assert_near(inner(&*linux, "w_max"), 1000.0);
        linux.on_congestion(&mut avoiding(1000.0), &loss(1000));
        assert_near(inner(&*linux, "w_max"), 1000.0);
        let mut w = avoiding(900.9);
        linux.on_congestion(&mut w, &loss(900));
        assert_near(inner(&*linux, "w_max"), max);
        assert_near(w.cwnd, 720.0);
    }
    let mut w = avoiding(2.0);
    linux().on_congestion(&mut w, &loss(2));
    assert_near(w.cwnd, 2.0);
}

#[test]
fn a_small_window_catches_up_with_reno() {
    // At 0.8 Reno's window gains a packet for three windows acknowledged, after that one packet more.
    let mut linux = linux();
    let mut w = avoiding(20.0);
    linux.on_congestion(&mut w, &loss(20));
    assert_near(w.cwnd, 16.0);
    for _ in 0..48 {
        linux.on_ack(&mut w, &acked_at(0));
    }
    assert_near(inner(&*linux, "w_est"), 16.0);
    linux.on_ack(&mut w, &acked_at(0));
    assert_near(inner(&*linux, "w_est"), 17.0);
    // It is behind by one: 16 × 16/31.
    assert_near(w.cwnd, 17.0);
}

#[test]
fn the_sawtooth_looks_as_it_did() {
    let text = "cubic:mode=linux,beta=0.8,initial_ssthresh=150";
    check_sawtooth(
        "cubic-linux",
        text,
        include_str!("../../sawtooth/cubic-linux.txt"),
    );
}
