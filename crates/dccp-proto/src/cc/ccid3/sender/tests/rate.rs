//! How feedback sets the allowed rate (RFC 5348 §4.2, §4.3; RFC 4342 §5).

use super::*;

#[test]
fn the_first_round_trip_time_gives_the_initial_rate() {
    // 5348-4.2-1, 4342-5-1: the first sample sets the initial rate.
    for (size, rtt_ms, rate, rto_ms) in [
        (1460, 100, 43_800.0, 400),
        (1460, 10, 438_000.0, 40),
        (536, 70, 30_628.6, 280),
        (100, 100, 4000.0, 400),
        (1000, 94, 42_553.2, 376),
    ] {
        let mut s = Sender::<Tfrc>::new(&config());
        s.on_rtt_hint(START, ms(rtt_ms));
        send_size(&mut s, START, true, size);
        assert_near(s.snapshot().rate.unwrap().bytes_per_s(), rate);
        let rto = s.snapshot().rto.unwrap();
        assert!(rto.abs_diff(ms(rto_ms)) < us(1), "{rto:?}");
    }
    // A second hint is none.
    let mut s = sender();
    s.on_rtt_hint(START, ms(10));
    assert_near(s.x, 40_000.0);
}

#[test]
fn feedback_without_a_first_estimate_gives_one() {
    // 5348-4.2-1
    let mut s = Sender::<Tfrc>::new(&config());
    send(&mut s, START, true);
    tell(&mut s, at(100), &Told::default());
    assert_eq!(s.snapshot().rtt, Some(RTT));
    assert_near(s.x, 40_000.0);
    assert_eq!(s.poll_timeout(), Some(at(500)));
}

#[test]
fn without_a_round_trip_time_no_feedback_moves_the_rate() {
    // 5348-4.2-1: a peer that says what it likes gets one packet per second.
    for data in [&[0][..], &[10, 10]] {
        let mut s = Sender::<Tfrc>::new(&config());
        send(&mut s, START, true);
        let x = s.x;
        for t in 0..5 {
            let change = |fb: &mut Feedback<'_>| fb.rtt = None;
            let x_recv = u32::MAX;
            tell(
                &mut s,
                at(100 * t),
                &Told {
                    x_recv,
                    data,
                    change,
                },
            );
            assert_near(s.x, x);
            assert_eq!(s.poll_timeout(), Some(at(100 * t + 2000)));
        }
    }
}

#[test]
fn without_loss_the_rate_doubles_once_per_round_trip() {
    // 5348-4.3-4
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    let mut x = 40_000.0;
    for (t, doubles) in [
        (100, true),
        (150, false),
        (199, false),
        (200, true),
        (310, true),
    ] {
        if doubles {
            x *= 2.0;
        }
        tell(&mut s, at(t), &Told::default());
        assert_near(s.x, x);
    }
}

#[test]
fn the_first_feedback_never_lowers_the_rate() {
    // 5348-4.3-4, 5348-6.3-1: it reports a receive rate of 0, and the set still has its infinity.
    let mut s = sender();
    send(&mut s, START, true);
    let told = Told {
        x_recv: 0,
        ..Told::default()
    };
    tell(&mut s, at(100), &told);
    assert_near(s.x, 80_000.0);
}

#[test]
fn a_receive_rate_that_was_not_measured_limits_nothing() {
    // 5348-6.3-1, 5348-6.3.1-1: the first data packets are lost, and the first that arrives brings
    // the first feedback, with a loss event and a receive rate of 0, after the infinity's time.
    let mut s = sender();
    send(&mut s, at(1000), true);
    let told = |x_recv| Told {
        x_recv,
        data: &[2, 5],
        ..Told::default()
    };
    tell(&mut s, at(1100), &told(0));
    assert_near(s.x, Path::new(1000.0, 0.1).rate(0.2));
    // A receive rate that is measured later is a limit.
    send(&mut s, at(1100), true);
    tell(&mut s, at(1200), &told(1000));
    assert_near(s.x, 2000.0);
    send(&mut s, at(1200), true);
    tell(&mut s, at(1300), &told(0));
    assert_near(s.x, 2000.0);
}

#[test]
fn twice_the_receive_rate_of_two_round_trips_is_the_limit() {
    // 5348-4.3-2, 5348-4.3-4
    let mut s = sender();
    for (t, x_recv, x) in [
        // The infinity counts for two round trips.
        (100, 30_000, 80_000.0),
        (200, 50_000, 160_000.0),
        (300, 60_000, 120_000.0),
        (400, 10_000, 120_000.0),
        (500, 20_000, 120_000.0),
        (600, 20_000, 40_000.0),
    ] {
        send_all(&mut s, t - 100, t, true);
        tell(
            &mut s,
            at(t),
            &Told {
                x_recv,
                ..Told::default()
            },
        );
        assert_near(s.x, x);
    }
}

#[test]
fn after_a_loss_the_equation_rules() {
    // 5348-4.3-4: mean interval 100, so p = 0.01
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    let data = &[10, 100, 100];
    tell(
        &mut s,
        at(100),
        &Told {
            data,
            ..Told::default()
        },
    );
    let x_bps = Path::new(1000.0, 0.1).rate(0.01);
    assert_near(s.x, x_bps);
    assert_near(s.x, 112_332.0);
    assert_eq!(s.snapshot().phase, Some("equation"));
    assert_eq!(s.snapshot().loss_events, Some(2));
    assert!(
        s.snapshot()
            .loss_event_rate
            .is_some_and(|p| is_near(p, 0.01))
    );
    assert!(s.packets_per_rtt().is_some_and(|n| is_near(n, 11.2332)));
    // Every feedback counts, not one per round trip; and the receive rate limits here, too.
    s.x_recv_set.replace(at(110), 10_000.0);
    tell(
        &mut s,
        at(110),
        &Told {
            x_recv: 20_000,
            data,
            ..Told::default()
        },
    );
    assert_near(s.x, 40_000.0);
}

#[test]
fn the_rate_never_falls_below_a_packet_per_64_s() {
    // 5348-4.3-4, 4342-5-1
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    s.x_recv_set.replace(at(99), 0.0);
    tell(
        &mut s,
        at(100),
        &Told {
            x_recv: 0,
            data: &[1, 1, 1],
            ..Told::default()
        },
    );
    assert_near(s.x, 1000.0 / 64.0);
}

#[test]
fn an_application_limited_sender_keeps_the_highest_receive_rate() {
    // 5348-4.3-3: without loss only the highest rate stays, however old.
    let mut s = sender();
    for (t, x_recv) in [
        (100, 50_000),
        (200, 3_000),
        (300, 3_000),
        (400, 3_000),
        (500, 3_000),
    ] {
        send_all(&mut s, t - 100, t, false);
        tell(
            &mut s,
            at(t),
            &Told {
                x_recv,
                ..Told::default()
            },
        );
    }
    assert_near(s.x_recv_set.max(), 50_000.0);
    assert_near(s.x, 100_000.0);
}

#[test]
fn a_loss_in_an_application_limited_interval_lowers_the_limit() {
    // 5348-4.3-3: half of what was known, 0.85 of what is new, and no factor of 2.
    for (x_recv, limit) in [(20_000, 25_000.0), (40_000, 34_000.0)] {
        let mut s = sender();
        send_all(&mut s, 0, 100, false);
        tell(
            &mut s,
            at(100),
            &Told {
                x_recv: 50_000,
                ..Told::default()
            },
        );
        tell(
            &mut s,
            at(200),
            &Told {
                x_recv,
                data: &[10, 1000, 1000],
                ..Told::default()
            },
        );
        assert_near(s.x, limit);
        assert_near(s.x_recv_set.max(), limit);
        // No new loss: the factor is back.
        tell(
            &mut s,
            at(300),
            &Told {
                x_recv,
                data: &[30, 1000, 1000],
                ..Told::default()
            },
        );
        assert_near(s.x, 2.0 * limit.max(f64::from(x_recv)));
    }
}

#[test]
fn an_interval_of_which_nothing_was_received_is_not_application_limited() {
    // 5348-4.3-3
    let mut s = sender();
    send(&mut s, at(0), false);
    tell(
        &mut s,
        at(100),
        &Told {
            x_recv: 0,
            ..Told::default()
        },
    );
    // Maximizing would have removed the infinity.
    assert!(s.x_recv_set.max().is_infinite());
}

#[test]
fn the_packet_size_follows_what_is_sent() {
    // 5348-4.1-1
    let mut s = sender();
    send(&mut s, START, true);
    tell(
        &mut s,
        at(100),
        &Told {
            data: &[10, 100, 100],
            change: |fb| fb.mean_size = 500,
            ..Told::default()
        },
    );
    assert_near(s.x, Path::new(500.0, 0.1).rate(0.01));
    tell(
        &mut s,
        at(200),
        &Told {
            change: |fb| fb.mean_size = 0,
            ..Told::default()
        },
    );
    assert_near(s.s, 1.0);
}

#[test]
fn what_the_peers_host_asks_for_outweighs_earlier_receive_rates() {
    // 4342-5.2-1: the application is the limit, and the highest receive rate is 200 kB/s.
    for (has_more, change, x) in [
        (
            false,
            (|fb| fb.slow_receiver = true) as fn(&mut Feedback<'_>),
            50_000.0,
        ),
        (false, |fb| fb.drops.receive_buffer = 3, 50_000.0 - 30_000.0),
        (true, |fb| fb.slow_receiver = true, 50_000.0),
    ] {
        let mut s = sender();
        for (t, x_recv, change) in [
            (100, 200_000, (|_| {}) as fn(&mut Feedback<'_>)),
            (200, 200_000, |_| {}),
            (300, 50_000, change),
        ] {
            send_all(&mut s, t - 100, t, has_more);
            let told = Told {
                x_recv,
                change,
                ..Told::default()
            };
            tell(&mut s, at(t), &told);
        }
        // Without loss, no limit goes below the initial rate.
        assert_near(s.x, f64::max(x, 40_000.0));
        assert_near(s.x_recv_set.max(), x / 2.0);
    }
}

#[test]
fn buffer_drops_and_slow_receiver_lower_the_limit_once() {
    // 4342-5.2-1, 4340-11.7.2-3, 4340-11.6-1
    let change: fn(&mut Feedback<'_>) = |fb| {
        fb.drops = Drops {
            receive_buffer: 3,
            ..Drops::default()
        };
    };
    for (change, x) in [
        (change, 170_000.0),
        (|fb| fb.slow_receiver = true, 200_000.0),
    ] {
        let mut s = sender();
        send_all(&mut s, 0, 100, true);
        s.x_recv_set.replace(START, 0.0);
        s.x = 300_000.0;
        tell(
            &mut s,
            at(100),
            &Told {
                x_recv: 200_000,
                change,
                ..Told::default()
            },
        );
        assert_near(s.x, x);
        send(&mut s, at(150), true);
        tell(
            &mut s,
            at(200),
            &Told {
                x_recv: 200_000,
                ..Told::default()
            },
        );
        assert!(s.x > 1.5 * x);
    }
    // Corrupt packets are for the receiver to count.
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    s.x_recv_set.replace(START, 0.0);
    tell(
        &mut s,
        at(100),
        &Told {
            x_recv: 200_000,
            change: |fb| fb.drops.corrupt = 5,
            ..Told::default()
        },
    );
    assert_near(s.x, 80_000.0);
}

#[test]
fn drops_reported_without_a_receive_rate_wait_for_it() {
    // 4342-5.2-1
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    s.x_recv_set.replace(START, 0.0);
    s.x = 300_000.0;
    let mut fb = feedback();
    fb.drops.receive_buffer = 3;
    s.on_feedback(at(90), &fb);
    tell(
        &mut s,
        at(100),
        &Told {
            x_recv: 200_000,
            ..Told::default()
        },
    );
    assert_near(s.x, 170_000.0);
}

#[test]
fn packet_with_unknown_departure_counts_as_sent_a_round_trip_ago() {
    // 5348-4.3-3: at 50 ms the rate was the limit, so the infinity stays, for two round trips.
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    let told = Told {
        x_recv: 30_000,
        change: |fb| fb.ack_sent_at = None,
        ..Told::default()
    };
    tell(&mut s, at(150), &told);
    assert!(s.x_recv_set.max().is_infinite());
}

#[test]
fn snapshot_shows_phase_and_receive_rate() {
    let mut s = sender();
    assert_eq!(s.snapshot().phase, Some("slow_start"));
    assert_eq!(s.snapshot().receive_rate, None);
    assert_eq!(s.snapshot().inner, [("s", 1000.0), ("x_inst", 40_000.0)]);
    s.x_recv_set.replace(START, 30_000.0);
    let received = s.snapshot().receive_rate.map(Rate::bytes_per_s);
    assert_eq!(received, Some(30_000.0));
}

#[test]
fn receive_rate_above_what_was_sent_does_not_count() {
    // 4340-12.3-4: 10,000 bytes a second are sent, and the peer reports 2^32 - 1.
    let mut s = sender();
    for round in 0..50 {
        send(&mut s, at(100 * round), false);
        tell(&mut s, at(100 * round + 100), &Told::default());
    }
    let sent = (1000.0 + 64.0) / RTT.as_secs_f64();
    assert_near(s.x_recv_set.max(), 2.0 * sent);
    assert_near(s.x, 4.0 * sent);
}
