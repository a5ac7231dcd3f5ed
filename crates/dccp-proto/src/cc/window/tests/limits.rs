//! What a caller may limit besides the law.

use super::*;
use crate::cc::config::WindowConfig;

fn limited(cwnd: f64, window: WindowConfig) -> WindowSender {
    sender_with(cwnd, 4.0, &CcConfig { window, ..config() })
}

#[test]
fn a_largest_window_limits_what_is_in_flight_and_the_window_itself() {
    let max = |max| WindowConfig {
        max,
        ..WindowConfig::CCID_2
    };
    assert_eq!(limited(10.0, max(8)).room(START, 3), 5);
    let mut s = limited(8.0, max(8));
    send(&mut s, START, 1, 0);
    for n in 0..40 {
        s.on_feedback(at(100 + n), &acked(8), 2);
    }
    assert_eq!(s.window.cwnd.to_bits(), 8.0_f64.to_bits());
    assert_eq!(limited(10.0, max(9)).permit(START, 9), Permit::OnFeedback);
}

#[test]
fn the_window_at_the_start_may_be_chosen() {
    for (initial, max, cwnd) in [(Some(10), u32::MAX, 10), (Some(10), 6, 6), (None, 99, 4)] {
        let config = CcConfig {
            window: WindowConfig {
                initial,
                max,
                ..WindowConfig::CCID_2
            },
            ..config()
        };
        let s = WindowSender::new(&config, Box::<Reno>::default());
        assert_eq!(s.window().packets(), cwnd);
    }
}

#[test]
fn a_sender_that_retransmits_does_not_grow_until_it_has_recovered() {
    // RFC 6675 §5
    for (grows_in_recovery, before, after) in [(true, 9, 10), (false, 8, 9)] {
        let mut s = limited(
            16.0,
            WindowConfig {
                grows_in_recovery,
                ..WindowConfig::CCID_2
            },
        );
        for seq in 1..=16 {
            send(&mut s, START, seq, 0);
        }
        s.on_feedback(at(100), &lost(3), 2);
        let told = |ack, n| Feedback {
            ack: Seq::new(ack),
            ..acked(n)
        };
        s.on_feedback(at(110), &told(16, 8), 2);
        assert_eq!(cwnd(&s), before);
        s.on_feedback(at(120), &told(17, before), 2);
        assert_eq!(cwnd(&s), after);
    }
}

#[test]
fn a_timeout_ends_recovery_so_that_slow_start_grows_the_window() {
    let mut s = limited(
        16.0,
        WindowConfig {
            grows_in_recovery: false,
            ..WindowConfig::CCID_2
        },
    );
    send(&mut s, START, 16, 0);
    s.on_feedback(at(100), &lost(3), 2);
    let expiry = s.poll_timeout().unwrap();
    assert!(s.on_timeout(expiry));
    let told = Feedback {
        ack: Seq::new(4),
        ..acked(2)
    };
    s.on_feedback(expiry + Duration::from_millis(50), &told, 2);
    assert_eq!(cwnd(&s), 2);
}

#[test]
fn an_acknowledgement_of_later_packets_only_may_leave_the_timeout_as_it_is() {
    // RFC 6298 §5.3
    let mut s = sender(10.0, 4.0);
    send(&mut s, START, 1, 0);
    let begun = s.poll_timeout();
    s.on_feedback(
        at(50),
        &Feedback {
            restarts_timeout: false,
            ..acked(2)
        },
        2,
    );
    assert_eq!(s.poll_timeout(), begun);
    s.on_feedback(at(50), &acked(2), 2);
    assert_ne!(s.poll_timeout(), begun);
}

#[test]
fn one_acknowledgement_per_round_trip_or_each_is_a_sample_for_the_timeout() {
    // 4341-5-5: 100 ms and a variation of 50, then 200 ms: 112.5 and 62.5.
    for (samples_every_ack, rto_ms) in [(false, 300.0), (true, 362.5)] {
        let limits = WindowConfig {
            samples_every_ack,
            ..WindowConfig::CCID_2
        };
        let mut s = limited(16.0, limits);
        send(&mut s, START, 1, 0);
        for rtt in [100, 200] {
            let told = Feedback {
                rtt: Some(ms(rtt)),
                round: 1,
                ..acked(1)
            };
            s.on_feedback(at(100), &told, 2);
        }
        let rto = s.snapshot().rto.unwrap().as_secs_f64() * 1000.0;
        assert!((rto - rto_ms).abs() < 0.01, "{rto}");
    }
}

#[test]
fn a_doubled_timeout_may_last_until_new_data_are_acknowledged() {
    // 100 ms and a variation of 50, 37.5 and 28.1 after one, two and three samples of 100 ms.
    for (keeps_backoff, rto_ms) in [(false, 250.0), (true, 500.0)] {
        let limits = WindowConfig {
            samples_every_ack: true,
            keeps_backoff,
            ..WindowConfig::CCID_2
        };
        let mut s = limited(16.0, limits);
        let rto = |s: &WindowSender| s.snapshot().rto.unwrap().as_secs_f64() * 1000.0;
        let told = |ack| Feedback {
            ack: Seq::new(ack),
            rtt: Some(ms(100)),
            ..acked(1)
        };
        for seq in 1..=10 {
            send(&mut s, START, seq, 0);
        }
        s.on_feedback(at(100), &told(1), 2);
        let expiry = s.poll_timeout().unwrap();
        assert!(s.on_timeout(expiry));
        assert!((rto(&s) - 600.0).abs() < 0.01);
        // The last packet before the timeout, and the first after it.
        s.on_feedback(expiry + ms(1), &told(10), 2);
        assert!((rto(&s) - rto_ms).abs() < 0.01, "{}", rto(&s));
        s.on_feedback(expiry + ms(2), &told(11), 2);
        assert!((rto(&s) - 212.5).abs() < 0.01, "{}", rto(&s));
    }
}
