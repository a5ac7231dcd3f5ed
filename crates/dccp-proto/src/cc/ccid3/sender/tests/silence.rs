//! Feedback that does not come: the nofeedback timer (RFC 5348 §4.4).

use super::*;

#[test]
fn without_any_feedback_the_rate_halves_every_nofeedback_interval() {
    // 5348-4.2-1, 5348-4.4-1 (a)
    let mut s = Sender::<Tfrc>::new(&config());
    assert_eq!(s.poll_timeout(), None);
    send(&mut s, START, true);
    assert_eq!(s.poll_timeout(), Some(at(2000)));
    s.on_timeout(at(1999));
    assert_near(s.x, 1000.0);
    assert!(!s.on_timeout(at(2000)));
    assert_near(s.x, 500.0);
    assert_eq!(s.poll_timeout(), Some(at(6000)));
    send(&mut s, at(3000), true);
    s.on_timeout(at(6000));
    assert_near(s.x, 250.0);
    // Idle since: nothing happens, nor is there a timer until data is sent.
    s.on_timeout(at(14_000));
    assert_near(s.x, 250.0);
    assert_eq!(s.poll_timeout(), None);
    // A pause does not restore the reduced rate: the time of two packets is 8 s.
    send(&mut s, at(50_000), true);
    assert_near(s.x, 250.0);
    assert_eq!(s.poll_timeout(), Some(at(58_000)));
    for i in 0..20 {
        send(&mut s, at(100_000 * (i + 1)), true);
        let due = s.poll_timeout().unwrap();
        s.on_timeout(due);
    }
    // One packet per 64 s is the least.
    assert_near(s.x, 1000.0 / 64.0);
    assert_eq!(s.interval(), Duration::from_secs(64));
}

#[test]
fn without_feedback_a_sender_in_slow_start_halves() {
    // 5348-4.4-1 (c)
    let mut s = sender();
    send(&mut s, at(0), true);
    tell(&mut s, at(100), &Told::default());
    assert_near(s.x, 80_000.0);
    assert_eq!(s.poll_timeout(), Some(at(500)));
    send(&mut s, at(101), true);
    s.on_timeout(at(500));
    assert_near(s.x, 40_000.0);
    assert_eq!(s.poll_timeout(), Some(at(900)));
}

#[test]
fn without_feedback_half_of_what_was_received_is_the_limit() {
    // 5348-4.4-1 (d), 5348-4.4-2: X_Bps is 112,332, more than twice the receive rate.
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    tell(
        &mut s,
        at(100),
        &Told {
            data: &[10, 100, 100],
            ..Told::default()
        },
    );
    s.x_recv_set.replace(at(100), 50_000.0);
    send(&mut s, at(101), true);
    s.on_timeout(at(500));
    assert_near(s.x, 50_000.0);
    assert_near(s.x_recv_set.max(), 25_000.0);
    send(&mut s, at(501), true);
    s.on_timeout(at(900));
    assert_near(s.x, 25_000.0);
}

#[test]
fn without_feedback_half_of_what_the_equation_gives_is_the_limit() {
    // 5348-4.4-1 (e), 5348-4.4-2
    let mut s = sender();
    send_all(&mut s, 0, 100, true);
    tell(
        &mut s,
        at(100),
        &Told {
            data: &[10, 100, 100],
            ..Told::default()
        },
    );
    let x_bps = s.x;
    s.x_recv_set.replace(at(100), 60_000.0);
    send(&mut s, at(101), true);
    s.on_timeout(at(500));
    assert_near(s.x, x_bps / 2.0);
    assert_near(s.x_recv_set.max(), x_bps / 4.0);
}

#[test]
fn an_idle_sender_keeps_what_it_may_start_with() {
    // 5348-4.4-1 (b), 4342-5-1: below 2 × 40,000 nothing changes.
    let mut s = sender();
    send(&mut s, at(0), true);
    tell(&mut s, at(100), &Told::default());
    s.on_timeout(at(500));
    // 80,000 is not below twice the initial rate: one halving.
    assert_near(s.x, 40_000.0);
    s.on_timeout(at(900));
    assert_near(s.x, 40_000.0);
    assert_eq!(s.poll_timeout(), None);
    // The timer starts again with data.
    send(&mut s, at(60_000), true);
    assert_eq!(s.poll_timeout(), Some(at(60_400)));
}

#[test]
fn an_idle_sender_in_congestion_keeps_a_rate_below_the_initial_one() {
    // 5348-4.4-1 (b)
    let start = sender().initial_rate();
    for (x_recv, halves) in [(0.99 * start, false), (start, true)] {
        let mut s = sender();
        send_all(&mut s, 0, 100, true);
        tell(
            &mut s,
            at(100),
            &Told {
                data: &[10, 100, 100],
                ..Told::default()
            },
        );
        s.x_recv_set.replace(at(100), x_recv);
        let x = s.x;
        s.on_timeout(at(500));
        assert_eq!(s.x < x, halves, "{x_recv}");
        assert_eq!(s.poll_timeout().is_some(), halves);
    }
}

#[test]
fn other_acknowledgements_do_not_restart_the_nofeedback_timer() {
    // 4342-5-2
    let mut s = sender();
    send(&mut s, at(0), true);
    tell(&mut s, at(100), &Told::default());
    let mut fb = feedback();
    fb.rtt = Some(ms(500));
    s.on_feedback(at(300), &fb);
    assert_eq!(s.poll_timeout(), Some(at(500)));
    assert_eq!(s.snapshot().rtt, Some(RTT));
}

#[test]
fn first_nofeedback_timer_is_two_seconds_also_with_the_round_trip_of_the_handshake() {
    // 5348-4.2-1: four round trips would be 400 ms.
    let mut s = Sender::<Tfrc>::new(&config());
    s.on_rtt_hint(START, Duration::from_millis(100));
    send(&mut s, START, true);
    assert_eq!(s.poll_timeout(), Some(at(2000)));
}
