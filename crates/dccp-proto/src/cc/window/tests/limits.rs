//! Limits that a caller sets besides the law, and the rules of another transport protocol.

use super::*;
use crate::cc::window_rules::WindowRules;

fn limited(cwnd: f64, max_window: u32) -> WindowSender {
    let config = CcConfig {
        max_window,
        ..config()
    };
    sender_with(cwnd, 4.0, &config)
}

#[test]
fn a_largest_window_limits_what_is_in_flight_and_the_window_itself() {
    assert_eq!(limited(10.0, 8).room(START, 3), 5);
    let mut s = limited(8.0, 8);
    send(&mut s, START, 1, 0);
    for n in 0..40 {
        s.on_feedback(at(100 + n), &acked(8), 2);
    }
    assert_eq!(s.window.cwnd.to_bits(), 8.0_f64.to_bits());
    assert_eq!(limited(10.0, 9).permit(START, 9), Permit::OnFeedback);
}

#[test]
fn the_window_at_the_start_may_be_chosen() {
    for (initial, max, cwnd) in [(Some(10), u32::MAX, 10), (Some(10), 6, 6), (None, 99, 4)] {
        let config = CcConfig {
            initial_window: initial,
            max_window: max,
            ..config()
        };
        let s = WindowSender::new(&config, Box::<Reno>::default(), Ccid2Rules);
        assert_eq!(s.window().packets(), cwnd);
    }
}

/// A protocol that retransmits, and counts what it is asked.
#[derive(Default)]
struct Retransmitting {
    acks: u32,
    timeouts: u32,
    absorbs: bool,
}

impl WindowRules for Retransmitting {
    fn on_ack(&mut self, _window: &mut Window) {
        self.acks += 1;
    }

    fn sample(&self, rtt: &mut RttEstimator, sample: Duration, _is_first: bool, is_old: bool) {
        if is_old {
            rtt.sample_while_doubled(sample);
        } else {
            rtt.sample(sample);
        }
    }

    fn absorbs_congestion(&mut self, _window: &mut Window) -> bool {
        self.absorbs
    }

    fn may_grow(&self, is_recovering: bool) -> bool {
        !is_recovering
    }

    fn restarts_timeout(&self, _fb: &Feedback<'_>) -> bool {
        false
    }

    fn on_timeout(&mut self) {
        self.timeouts += 1;
    }
}

/// A sender of that protocol, with packets 1 to `sent` in flight.
fn retransmitting(cwnd: f64, sent: u64) -> WindowSender<Retransmitting> {
    let rules = Retransmitting::default();
    let mut s = WindowSender::new(&config(), Box::<Reno>::default(), rules);
    s.window = Window {
        cwnd,
        ssthresh: 4.0,
    };
    for seq in 1..=sent {
        let packet = Sent {
            now: START,
            seq: Seq::new(seq),
            pipe: 0,
            packets: 1,
        };
        s.on_sent(packet, 2);
    }
    s
}

fn acked_up_to(ack: u64, n: u32) -> Feedback<'static> {
    Feedback {
        ack: Seq::new(ack),
        ..acked(n)
    }
}

#[test]
fn a_sender_that_retransmits_does_not_grow_until_it_has_recovered() {
    // RFC 6675 §5
    let mut s = retransmitting(16.0, 16);
    s.on_feedback(at(100), &lost(3), 2);
    s.on_feedback(at(110), &acked_up_to(16, 8), 2);
    assert_eq!(s.window().packets(), 8);
    s.on_feedback(at(120), &acked_up_to(17, 8), 2);
    assert_eq!(s.window().packets(), 9);
    assert_eq!(s.rules().acks, 3);
}

#[test]
fn a_timeout_ends_recovery_so_that_slow_start_grows_the_window() {
    let mut s = retransmitting(16.0, 16);
    s.on_feedback(at(100), &lost(3), 2);
    let expiry = s.poll_timeout().unwrap();
    assert!(s.on_timeout(expiry));
    assert_eq!(s.rules().timeouts, 1);
    s.on_feedback(expiry + ms(50), &acked_up_to(4, 2), 2);
    assert_eq!(s.window().packets(), 2);
}

#[test]
fn an_acknowledgement_may_leave_the_timeout_as_it_is() {
    // RFC 6298 §5.3: only new data restart TCP's timer.
    let mut s = retransmitting(10.0, 1);
    let begun = s.poll_timeout();
    s.on_feedback(at(50), &acked(2), 2);
    assert_eq!(s.poll_timeout(), begun);
    let mut s = sender(10.0, 4.0);
    send(&mut s, START, 1, 0);
    let begun = s.poll_timeout();
    s.on_feedback(at(50), &acked(2), 2);
    assert_ne!(s.poll_timeout(), begun);
}

#[test]
fn one_acknowledgement_per_round_trip_or_each_is_a_sample_for_the_timeout() {
    fn rto_ms<R: WindowRules>(mut s: WindowSender<R>) -> f64 {
        for rtt in [100, 200] {
            let told = Feedback {
                rtt: Some(ms(rtt)),
                round: 1,
                ..acked(1)
            };
            s.on_feedback(at(100), &told, 2);
        }
        s.snapshot().rto.unwrap().as_secs_f64() * 1000.0
    }
    // 4341-5-5: 100 ms and a variation of 50, then 200 ms: 112.5 and 62.5.
    let mut ccid_2 = limited(16.0, 99);
    send(&mut ccid_2, START, 1, 0);
    assert!((rto_ms(ccid_2) - 300.0).abs() < 0.01);
    assert!((rto_ms(retransmitting(16.0, 1)) - 362.5).abs() < 0.01);
}

#[test]
fn a_doubled_timeout_may_last_until_new_data_are_acknowledged() {
    let mut s = retransmitting(16.0, 10);
    let told = |ack| Feedback {
        rtt: Some(ms(100)),
        ..acked_up_to(ack, 1)
    };
    s.on_feedback(at(100), &told(1), 2);
    let expiry = s.poll_timeout().unwrap();
    assert!(s.on_timeout(expiry));
    let mut rto_ms = |after, ack| {
        s.on_feedback(expiry + ms(after), &told(ack), 2);
        s.snapshot().rto.unwrap().as_secs_f64() * 1000.0
    };
    // 100 ms and a variation of 37.5 and 28.1 after two and three samples of 100 ms. The packets are the last before
    // the timeout, and the first after it.
    assert!((rto_ms(1, 10) - 500.0).abs() < 0.01);
    assert!((rto_ms(2, 11) - 212.5).abs() < 0.01);
}

#[test]
fn the_protocol_may_have_answered_a_congestion_event() {
    for (absorbs, cwnd) in [(false, 8), (true, 16)] {
        let mut s = retransmitting(16.0, 16);
        s.rules().absorbs = absorbs;
        s.on_feedback(at(100), &lost(3), 2);
        assert_eq!(s.window().packets(), cwnd);
        assert_eq!(s.events(), u64::from(!absorbs));
    }
}

#[test]
fn congestion_of_the_host_asks_the_law_but_leaves_the_window() {
    let mut s = sender(20.0, 4.0);
    send(&mut s, START, 1, 0);
    let wanted = s.answer_host_congestion(START, 16).unwrap();
    assert_eq!(wanted.packets(), 10);
    assert_eq!((cwnd(&s), s.events()), (20, 1));
    assert_eq!(s.snapshot().ssthresh_packets, Some(10.0));
    s.shrink_to(17);
    assert_eq!(cwnd(&s), 17);
    s.on_feedback(START, &lost(1), 2);
    assert_eq!(s.answer_host_congestion(START, 9), None, "it recovers");
}
