//! Tests probes for more bandwidth, and the bounds that their losses set.

use super::*;

#[test]
fn probe_comes_after_2_to_3_s_or_62_rounds() {
    for (rounds_per_s, from_ms, to_ms) in [(10, 2000, 3100), (100, 600, 640)] {
        let (mut bbr, mut w) = cruising();
        let began = bbr.probed;
        let mut n = 0;
        while bbr.phase == Phase::Cruise {
            n += 1;
            let ack = Ack {
                now: began.1 + ms(n * 1000 / rounds_per_s),
                round: began.0 + n,
                flight: 200,
                pipe: 150,
                ..ack(0, 0, 1, 2000.0)
            };
            bbr.on_ack(&mut w, &ack);
        }
        assert_eq!(bbr.phase, Phase::Refill);
        let waited = n * 1000 / rounds_per_s;
        assert!((from_ms..=to_ms).contains(&waited), "{waited}");
    }
}

#[test]
fn probe_is_due_only_after_the_wait() {
    let (bbr, w) = cruising();
    let (round, at) = bbr.probed;
    let ack = |now| Ack {
        now,
        ..ack(0, round, 1, 2000.0)
    };
    let end = at + bbr.wait;
    assert!(!bbr.is_probe_due(&w, &ack(end)));
    assert!(bbr.is_probe_due(&w, &ack(end + Duration::from_nanos(1))));
}

/// A flow in Up, in round 101.
fn probing() -> (Bbr, Window) {
    let (mut bbr, mut w) = cruising();
    for (round, acked) in [(100, 1), (101, 1000)] {
        assert_ne!(bbr.phase, Phase::Up);
        bbr.on_ack(&mut w, &ack(20 * round, round, acked, 2000.0));
    }
    assert_eq!(bbr.phase, Phase::Up);
    (bbr, w)
}

#[test]
fn probe_that_loses_more_than_two_percent_sets_the_bound() {
    // `flight_before` is 1000. The twentieth loss of these is still allowed.
    let (mut bbr, mut w) = probing();
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 20,
            ..ack(2021, 101, 1, 2000.0)
        },
    );
    assert_eq!(bbr.phase, Phase::Up);
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 1,
            ..ack(2022, 101, 1, 2000.0)
        },
    );
    assert_eq!(bbr.phase, Phase::Down);
    // 20 of 999 packets were lost, which is more than 2 %.
    assert_near(bbr.model.inflight_longterm, 999.0);
    assert!(bbr.was_too_much);
    // Later losses of the same probe do not change the bound.
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 300,
            ..ack(2023, 101, 1, 2000.0)
        },
    );
    assert_near(bbr.model.inflight_longterm, 999.0);
}

#[test]
fn mark_counts_as_a_loss() {
    let (mut bbr, mut w) = probing();
    bbr.on_ack(
        &mut w,
        &Ack {
            marked: 21,
            ..ack(2021, 101, 1, 2000.0)
        },
    );
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn probe_ends_when_the_bandwidth_stands_for_three_rounds() {
    let (mut bbr, mut w) = probing();
    for round in 102..=104 {
        assert_eq!(bbr.phase, Phase::Up);
        bbr.on_ack(&mut w, &ack(20 * round, round, 1, 2000.0));
    }
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn bound_is_the_packets_in_flight_at_two_percent_loss() {
    // 10 of 970 packets were lost. The share reaches 2 % after (19.4 - 10)/0.98 more.
    let (mut bbr, mut w) = probing();
    for (lost, phase) in [(10, Phase::Up), (30, Phase::Down)] {
        let ack = Ack {
            lost,
            ..ack(2021, 101, 1, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.phase, phase);
    }
    assert_near(bbr.model.inflight_longterm, 970.0 + 9.4 / 0.98);
}

#[test]
fn losses_of_an_application_that_is_the_limit_are_not_too_much() {
    let (mut bbr, mut w) = probing();
    for (lost, is_app_limited) in [(21, true), (0, false)] {
        let ack = Ack {
            lost,
            is_app_limited,
            ..ack(2021, 101, 1, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.phase, Phase::Up);
        assert!(bbr.model.inflight_longterm.is_infinite());
    }
    // The bound is still unknown.
    let ack = Ack {
        lost: 1,
        ..ack(2022, 101, 1, 2000.0)
    };
    bbr.on_ack(&mut w, &ack);
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn samples_of_a_probe_last_until_the_end_of_the_next_round() {
    let (mut bbr, mut w) = probing();
    let mut round = 101;
    while bbr.phase == Phase::Up {
        round += 1;
        bbr.on_ack(&mut w, &ack(20 * round, round, 1, 2000.0));
    }
    // 1000 packets were in flight. The phase may end before they are acknowledged.
    for (acked, pipe, is_sampled) in [(500, 1000, true), (499, 150, true), (1, 1000, false)] {
        let ack = Ack {
            pipe,
            ..ack(20 * round, round, acked, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.probe.is_sampled, is_sampled, "{acked}");
    }
    assert_eq!(bbr.phase, Phase::Cruise);
}

#[test]
fn refill_lasts_a_full_round_trip() {
    let (mut bbr, mut w) = cruising();
    bbr.on_ack(&mut w, &ack(2000, 100, 1, 2000.0));
    for (round, acked, phase) in [
        (101, 500, Phase::Refill),
        (102, 499, Phase::Refill),
        (102, 1, Phase::Up),
    ] {
        bbr.on_ack(&mut w, &ack(20 * round, round, acked, 2000.0));
        assert_eq!(bbr.phase, phase, "{round}");
    }
}

#[test]
fn precautionary_probe_without_losses_is_followed_by_another_at_once() {
    for (lost, phase) in [(0, Phase::Refill), (20, Phase::Cruise)] {
        let (mut bbr, mut w) = cruising();
        bbr.model.inflight_longterm = 300.0;
        bbr.was_too_much = true;
        for (round, acked, flight) in [(100, 1, 200), (101, 250, 300), (102, 1, 300)] {
            bbr.on_ack(&mut w, &at_the_bound(round, acked, flight));
        }
        assert_eq!((bbr.phase, bbr.was_precautionary), (Phase::Down, true));
        let ack = Ack {
            lost,
            pipe: 100,
            ..at_the_bound(103, 250 - lost, 300)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.phase, phase, "{lost} lost");
    }
}

/// A flow in Up, in round 101, with a bound of 300 packets, which its window has reached.
fn probing_at_the_bound() -> (Bbr, Window) {
    let (mut bbr, mut w) = cruising();
    bbr.model.inflight_longterm = 300.0;
    for (round, acked) in [(100, 1), (101, 250)] {
        bbr.on_ack(&mut w, &at_the_bound(round, acked, 200));
    }
    assert_eq!(bbr.phase, Phase::Up);
    assert_near(w.cwnd, 300.0);
    (bbr, w)
}

/// An acknowledgement when `flight` packets were in flight.
fn at_the_bound(round: u64, acked: u32, flight: u32) -> Ack {
    Ack {
        flight,
        pipe: 250,
        ..ack(20 * round, round, acked, 2000.0)
    }
}

#[test]
fn probe_raises_the_bound_while_the_window_is_full_and_at_the_bound() {
    let (mut bbr, mut w) = probing_at_the_bound();
    for (round, acked, flight, bound) in [
        // One packet per window of 300 in this round trip, two in the next.
        (101, 150, 299, 300.0),
        (102, 150, 299, 301.0),
        // With two packets less in flight, the window is not full.
        (102, 150, 299, 301.0),
        (102, 150, 300, 302.0),
        (102, 300, 301, 304.0),
    ] {
        bbr.on_ack(&mut w, &at_the_bound(round, acked, flight));
        assert_near(bbr.model.inflight_longterm, bound);
    }
}

#[test]
fn window_is_full_with_a_packet_less_in_flight() {
    let w = Window::new(10);
    for (flight, expected) in [(8, false), (9, true), (10, true)] {
        assert_eq!(is_full(&w, &at_the_bound(1, 1, flight)), expected);
    }
}

#[test]
fn bandwidth_that_the_bound_holds_down_does_not_end_a_probe() {
    let (mut bbr, mut w) = probing_at_the_bound();
    for round in 102..=106 {
        bbr.on_ack(&mut w, &at_the_bound(round, 1, 300));
        assert_eq!(bbr.phase, Phase::Up, "{round}");
        w.cwnd = bbr.model.inflight_longterm;
    }
    // The three round trips without growth count from the bandwidth at the bound.
    for round in 107..=109 {
        assert_eq!(bbr.phase, Phase::Up, "{round}");
        bbr.on_ack(&mut w, &at_the_bound(round, 1, 200));
    }
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn losses_while_cruising_lower_the_bounds_until_the_next_probe() {
    let (mut bbr, mut w) = cruising();
    let before = w.cwnd;
    let quiet = |t, round| Ack {
        flight: 200,
        pipe: 150,
        ..ack(t, round, 1, 1000.0)
    };
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 1,
            ..quiet(650, 6)
        },
    );
    assert_near(bbr.model.bw(), 2000.0);
    bbr.on_ack(&mut w, &quiet(700, 7));
    // The latest sample is 2000 packets/s, which is more than 0.7 of the bound.
    assert_near(bbr.model.bw(), 2000.0);
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 1,
            ..quiet(750, 7)
        },
    );
    bbr.on_ack(&mut w, &quiet(800, 8));
    assert_near(bbr.model.bw(), 1400.0);
    assert!(w.cwnd < before);
    // The next probe removes the short-term bound.
    bbr.on_ack(&mut w, &quiet(2500, 90));
    assert_eq!(bbr.phase, Phase::Refill);
    assert_near(bbr.model.bw(), 2000.0);
}
