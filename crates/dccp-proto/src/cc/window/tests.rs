//! A window sender that gets hand-made acknowledgements.

mod host;
mod limits;
mod rate_limited;
mod told;

use super::*;
use crate::cc::Drops;
use crate::cc::fixtures::{START, at, config, feedback, ms, packets, us};
use crate::cc::law::reno::Reno;

const RTT: Duration = Duration::from_millis(100);

/// An unpaced sender with a round trip of 100 ms and this window.
pub(super) fn sender(cwnd: f64, ssthresh: f64) -> WindowSender {
    sender_with(
        cwnd,
        ssthresh,
        &CcConfig {
            rtt: Some(RTT),
            ..config()
        },
    )
}

fn sender_with(cwnd: f64, ssthresh: f64, config: &CcConfig) -> WindowSender {
    let mut s = WindowSender::new(config, Box::<Reno>::default(), Ccid2Rules);
    s.window = Window { cwnd, ssthresh };
    s
}

pub(super) fn send(s: &mut WindowSender, now: Instant, seq: u64, pipe: u32) {
    let seq = Seq::new(seq);
    let packets = 1;
    s.on_sent(
        Sent {
            now,
            seq,
            packets,
            pipe,
        },
        2,
    );
}

/// Acknowledges `n` packets, while the window was full.
pub(super) fn acked(n: u32) -> Feedback<'static> {
    Feedback {
        acked: packets(n),
        pipe: 1,
        pipe_max: u32::MAX,
        ..feedback()
    }
}

pub(super) fn lost(seq: u64) -> Feedback<'static> {
    Feedback {
        acked: packets(0),
        lost: packets(1),
        congestion: Some(Seq::new(seq)),
        ..acked(0)
    }
}

/// A law that keeps the window and sets this rate in packets per second.
struct Rated(f64);

impl Law for Rated {
    fn name(&self) -> &'static str {
        "rated"
    }

    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}

    fn on_congestion(&mut self, _window: &mut Window, _event: &Congestion) {}

    fn on_timeout(&mut self, _window: &mut Window, _now: Instant) {}

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.0)
    }
}

#[test]
fn the_rate_of_a_law_limits_beside_the_window_with_and_without_pacing() {
    for is_paced in [false, true] {
        let config = CcConfig {
            is_paced,
            ..config()
        };
        let mut s = WindowSender::new(&config, Box::new(Rated(50.0)), Ccid2Rules);
        assert!(matches!(s.permit(at(0), 0), Permit::Now { packets: 1 }));
        send(&mut s, at(0), 1, 0);
        assert_eq!(s.permit(at(1), 1), Permit::At(at(20)));
        assert_eq!(s.permit(at(20), 4), Permit::OnFeedback);
        assert!((s.snapshot().rate.unwrap_or_default().bytes_per_s() - 50_000.0).abs() < 1e-6);
        // Whatever a law says, there is a next packet.
        let mut s = WindowSender::new(&config, Box::new(Rated(0.0)), Ccid2Rules);
        send(&mut s, at(0), 1, 0);
        assert_eq!(s.permit(at(1), 1), Permit::At(at(100_000)));
    }
}

pub(super) fn cwnd(s: &WindowSender) -> u32 {
    s.window.packets()
}

#[test]
fn the_initial_window_depends_on_the_packet_size_as_pinned() {
    // 4341-5-9: the packet size sets the initial window.
    for (size, window) in [
        (100, 4),
        (536, 4),
        (1095, 4),
        (1096, 3),
        (1460, 3),
        (1500, 3),
        (2190, 3),
        (2191, 2),
        (8960, 2),
    ] {
        assert_eq!(initial_window(size), window);
        let s = WindowSender::new(
            &CcConfig {
                mps: size,
                ..config()
            },
            Box::<Reno>::default(),
            Ccid2Rules,
        );
        assert_eq!(s.window, Window::new(window));
        assert_eq!(s.snapshot().ssthresh_packets, None);
    }
}

#[test]
fn no_more_than_the_window_is_in_flight() {
    // 4341-5-1
    let s = sender_with(8.9, 8.0, &config());
    for (pipe, permit) in [(0, 2), (6, 2), (7, 1)] {
        assert_eq!(s.permit(START, pipe), Permit::Now { packets: permit });
    }
    assert_eq!(s.permit(START, 8), Permit::OnFeedback);
    assert_eq!(s.permit(START, 9), Permit::OnFeedback);
}

#[test]
fn a_batch_is_a_quarter_of_the_window_and_250_us_at_most() {
    // `docs/design.md`, decision 8b
    let now = |s: &WindowSender| match s.permit(START, 0) {
        Permit::Now { packets } => packets,
        other => panic!("{other:?}"),
    };
    for (cwnd, rtt, packets) in [
        (3.0, ms(100), 1),
        (100.0, ms(100), 1),
        (100.0, us(100), 25),
        // 1.2 × 10,000 packets in 100 ms: 8.3 µs each.
        (10_000.0, ms(100), 30),
    ] {
        let s = sender_with(
            cwnd,
            1.0,
            &CcConfig {
                rtt: Some(rtt),
                ..config()
            },
        );
        assert_eq!(now(&s), packets, "{cwnd}");
    }
    // Without a round trip only the window counts.
    assert_eq!(now(&sender_with(100.0, 1.0, &config())), 25);
}

#[test]
fn paced_packets_spread_over_the_round_trip() {
    // 4341-5-10; `docs/design.md`, decision 8b: 2 × w/RTT in slow start, 1.2 × after.
    for (ssthresh, interval) in [(f64::INFINITY, us(5_000)), (10.0, us(8_333))] {
        let mut s = sender_with(
            10.0,
            ssthresh,
            &CcConfig {
                rtt: Some(RTT),
                is_paced: true,
                ..config()
            },
        );
        assert!(matches!(s.permit(START, 0), Permit::Now { packets: 1 }));
        send(&mut s, START, 1, 0);
        let Permit::At(next) = s.permit(START, 1) else {
            panic!("not paced");
        };
        assert!((next - START).abs_diff(interval) < us(1), "{next:?}");
        assert_eq!(s.permit(START, 10), Permit::OnFeedback);
    }
    // Without pacing the rest of the window leaves at once.
    let mut s = sender(10.0, 10.0);
    send(&mut s, START, 1, 0);
    assert!(matches!(s.permit(START, 1), Permit::Now { .. }));
}

#[test]
fn an_acknowledgement_that_opens_a_full_window_makes_no_burst() {
    // The wait for room is no lateness; without a full window, a millisecond of it is caught up.
    for (in_flight, next_us) in [(10, 8_333), (9, 7_333)] {
        let next = next_after_an_acknowledgement(in_flight);
        assert!(next.abs_diff(us(next_us)) < us(1), "{next:?}");
    }
}

/// Returns the time until the next packet may leave. An acknowledgement at 100 ms finds `in_flight` of
/// 10 packets in flight, and one packet leaves at once.
fn next_after_an_acknowledgement(in_flight: u32) -> Duration {
    let config = CcConfig {
        rtt: Some(RTT),
        is_paced: true,
        ..config()
    };
    let mut s = sender_with(10.0, 10.0, &config);
    for n in 0..10 {
        send(&mut s, at(8 * n), n + 1, u32::try_from(n).unwrap());
    }
    let fb = Feedback {
        acked: packets(0),
        marked: packets(5),
        pipe: in_flight - 5,
        ..acked(0)
    };
    s.on_feedback(at(100), &fb, 2);
    assert!(matches!(s.permit(at(100), 5), Permit::Now { packets: 1 }));
    send(&mut s, at(100), 11, 5);
    let Permit::At(next) = s.permit(at(100), 6) else {
        panic!("a burst");
    };
    next - at(100)
}

#[test]
fn losses_of_one_window_are_one_event() {
    // 4341-5-6, 4341-5-7
    let mut s = sender(16.0, 16.0);
    for seq in 1..=16 {
        send(&mut s, START, seq, 0);
    }
    s.on_feedback(at(100), &lost(3), 2);
    assert_eq!(cwnd(&s), 8);
    for seq in 17..=20 {
        send(&mut s, at(100), seq, 0);
    }
    // Sent before the loss was detected, even if it is the last such packet.
    s.on_feedback(at(110), &lost(7), 2);
    s.on_feedback(at(150), &lost(16), 2);
    assert_eq!(cwnd(&s), 8);
    s.on_feedback(at(200), &lost(17), 2);
    assert_eq!(cwnd(&s), 4);
    s.on_feedback(at(201), &lost(20), 2);
    assert_eq!(cwnd(&s), 4);
}

#[test]
fn events_are_distinguished_across_the_wrap_of_numbers() {
    // 4340-3.1-2, 4341-5-6
    let top = (1 << 48) - 2;
    let mut s = sender(16.0, 16.0);
    send(&mut s, START, top, 0);
    send(&mut s, START, top + 1, 0);
    s.on_feedback(at(100), &lost(top), 2);
    send(&mut s, at(100), 0, 0);
    s.on_feedback(at(101), &lost(top + 1), 2);
    assert_eq!(cwnd(&s), 8);
    s.on_feedback(at(200), &lost(0), 2);
    assert_eq!(cwnd(&s), 4);
}

#[test]
fn a_mark_counts_like_a_loss() {
    // 4341-5-7, 4341-7-1, 4340-11.7.2-4, 4340-11.7-5
    let marked = Feedback {
        marked: packets(1),
        ..lost(1)
    };
    let corrupt = Feedback {
        drops: Drops {
            corrupt: 1,
            ..Drops::default()
        },
        ..lost(1)
    };
    for fb in [marked, corrupt] {
        let mut s = sender(16.0, f64::INFINITY);
        send(&mut s, START, 1, 0);
        s.on_feedback(
            at(100),
            &Feedback {
                lost: packets(0),
                ..fb
            },
            2,
        );
        assert_eq!(
            s.window,
            Window {
                cwnd: 8.0,
                ssthresh: 8.0
            }
        );
    }
}

#[test]
fn an_acknowledgement_with_a_loss_does_not_make_the_window_grow() {
    // 4341-5-8: neither at once nor in the count of a clean window.
    let mut s = sender(16.0, 16.0);
    for seq in 1..=20 {
        send(&mut s, START, seq, 0);
    }
    s.on_feedback(at(100), &lost(1), 2);
    s.on_feedback(at(101), &acked(7), 2);
    s.on_feedback(
        at(102),
        &Feedback {
            acked: packets(7),
            ..lost(2)
        },
        2,
    );
    s.on_feedback(at(103), &acked(7), 2);
    assert_eq!(cwnd(&s), 8);
    s.on_feedback(at(104), &acked(1), 2);
    assert_eq!(cwnd(&s), 9);
}

#[test]
fn marked_packets_do_not_make_the_window_grow() {
    // 4341-5-8: the marks of an event that was answered.
    let mut s = sender(16.0, f64::INFINITY);
    send(&mut s, START, 1, 0);
    send(&mut s, START, 2, 0);
    s.on_feedback(at(100), &lost(1), 2);
    let marked = Feedback {
        lost: packets(0),
        marked: packets(8),
        acked: packets(8),
        ..lost(2)
    };
    s.on_feedback(at(101), &marked, 2);
    assert_eq!(cwnd(&s), 8);
}

#[test]
fn a_timeout_leaves_one_packet_and_declares_all_lost() {
    // 4341-5-7, 4341-5-2
    let mut s = sender(16.0, f64::INFINITY);
    send(&mut s, START, 1, 5);
    assert_eq!(s.poll_timeout(), Some(at(300)));
    assert!(!s.on_timeout(at(299)));
    assert_eq!(cwnd(&s), 16);
    assert!(s.on_timeout(at(300)));
    assert_eq!(
        s.window,
        Window {
            cwnd: 1.0,
            ssthresh: 8.0
        }
    );
    assert_eq!(s.poll_timeout(), None);
    assert!(!s.on_timeout(at(400)));
    // The next one is twice as long, and later losses of what was sent before are no event.
    send(&mut s, at(300), 2, 5);
    assert_eq!(s.poll_timeout(), Some(at(900)));
    s.window.cwnd = 16.0;
    s.on_feedback(at(310), &lost(1), 2);
    assert_eq!(cwnd(&s), 16);
}

#[test]
fn a_timeout_ends_what_slow_start_counted() {
    let mut s = sender(16.0, f64::INFINITY);
    send(&mut s, START, 1, 5);
    s.on_feedback(at(100), &acked(1), 2);
    s.on_timeout(at(1000));
    s.on_feedback(at(1100), &acked(1), 2);
    assert_eq!(cwnd(&s), 1);
    s.on_feedback(at(1101), &acked(1), 2);
    assert_eq!(cwnd(&s), 2);
}

#[test]
fn acknowledged_data_restarts_the_timeout() {
    // 4341-5-5, RFC 6298 §5
    let mut s = sender(16.0, 16.0);
    send(&mut s, START, 1, 5);
    send(&mut s, at(50), 2, 6);
    assert_eq!(s.poll_timeout(), Some(at(300)));
    let pipe = |pipe, fb| Feedback { pipe, ..fb };
    s.on_feedback(at(100), &pipe(5, acked(1)), 2);
    assert_eq!(s.poll_timeout(), Some(at(400)));
    s.on_feedback(
        at(110),
        &pipe(
            5,
            Feedback {
                marked: packets(1),
                ..acked(0)
            },
        ),
        2,
    );
    assert_eq!(s.poll_timeout(), Some(at(410)));
    // Nothing new: it goes on.
    s.on_feedback(at(120), &pipe(5, acked(0)), 2);
    assert_eq!(s.poll_timeout(), Some(at(410)));
    // Nothing left: there is none.
    s.on_feedback(at(130), &pipe(0, acked(5)), 2);
    assert_eq!(s.poll_timeout(), None);
}

#[test]
fn fewer_packets_than_the_ack_ratio_wait_for_the_delayed_ack_too() {
    // 4340-11.3-3: the peer may take 0.2 s for the last packet.
    for (pipe, due) in [(0, 500), (1, 300)] {
        let mut s = sender(16.0, 16.0);
        send(&mut s, START, 1, pipe);
        assert_eq!(s.poll_timeout(), Some(at(due)), "{pipe}");
        s.on_feedback(
            at(100),
            &Feedback {
                pipe: pipe + 1,
                ..acked(1)
            },
            2,
        );
        assert_eq!(s.poll_timeout(), Some(at(due + 100)), "{pipe}");
    }
}

#[test]
fn the_timeout_takes_one_sample_per_round_trip() {
    // 4341-5-5
    let mut s = sender(16.0, 16.0);
    let sample = |round, rtt_ms| Feedback {
        round,
        rtt: Some(ms(rtt_ms)),
        ..acked(1)
    };
    s.on_feedback(at(100), &sample(1, 180), 2);
    assert_eq!(s.rtt.smoothed(), Some(ms(110).into()));
    s.on_feedback(at(101), &sample(1, 500), 2);
    assert_eq!(s.rtt.smoothed(), Some(ms(110).into()));
    s.on_feedback(at(200), &sample(2, 30), 2);
    assert_eq!(s.rtt.smoothed(), Some(ms(100).into()));
    // After a timeout the first sample counts at once, and ends the back-off.
    send(&mut s, at(200), 1, 5);
    s.on_timeout(at(5000));
    assert!(s.rtt.is_backed_off());
    s.on_feedback(at(5100), &sample(2, 100), 2);
    assert!(!s.rtt.is_backed_off());
}

#[test]
fn the_handshake_gives_the_first_estimate() {
    let mut s = sender_with(10.0, 10.0, &config());
    s.on_rtt_hint(ms(40));
    s.on_rtt_hint(ms(80));
    assert_eq!(s.snapshot().rtt, Some(ms(40)));
    // 40 ms + 4 × 20 ms is below the floor.
    assert_eq!(s.snapshot().rto, Some(ms(200)));
}

#[test]
fn an_idle_window_halves_per_timeout_down_to_the_initial_one() {
    // 4341-5.1-1: the timeout is 300 ms, the initial window 4.
    for (idle_ms, after, ssthresh) in [
        (300, 64.0, 40.0),
        (301, 32.0, 48.0),
        (600, 32.0, 48.0),
        (601, 16.0, 48.0),
        (901, 8.0, 48.0),
        (1201, 4.0, 48.0),
        (1_000_000, 4.0, 48.0),
    ] {
        let mut s = sender(64.0, 40.0);
        send(&mut s, START, 1, 0);
        s.on_feedback(
            at(100),
            &Feedback {
                pipe: 0,
                ..acked(0)
            },
            2,
        );
        let window = s.window_for(at(idle_ms), 0);
        assert_eq!(
            window,
            Window {
                cwnd: after,
                ssthresh
            },
            "{idle_ms}"
        );
        // Not while packets are in flight.
        assert_eq!(s.window_for(at(idle_ms), 1).packets(), 64);
        send(&mut s, at(idle_ms), 2, 0);
        assert_eq!(s.window, window);
    }
    // The window that is left decides what may leave: 32 / 4.
    let mut s = sender_with(64.0, 64.0, &config());
    send(&mut s, START, 1, 0);
    assert!(matches!(s.permit(at(1001), 0), Permit::Now { packets: 8 }));
    // A window below the initial one stays.
    let mut s = sender(2.0, 2.0);
    send(&mut s, START, 1, 0);
    assert_eq!(s.window_for(at(10_000), 0).packets(), 2);
    // So does one that is the initial one but for a fraction, and with it the threshold.
    let mut s = sender(4.75, 2.0);
    send(&mut s, START, 1, 0);
    assert_eq!(s.window_for(at(10_000), 0), s.window);
}

#[test]
fn snapshot_shows_the_state() {
    let mut s = sender(10.0, 20.0);
    s.on_feedback(
        at(100),
        &Feedback {
            mean_size: 500,
            ..acked(0)
        },
        2,
    );
    let shown = s.snapshot();
    assert_eq!(shown.cwnd_packets, Some(10.0));
    assert_eq!(shown.ssthresh_packets, Some(20.0));
    assert_eq!(shown.phase, Some("slow_start"));
    // 2 × 10 packets of 500 bytes per 100 ms.
    assert_eq!(shown.rate, Some(Rate::from_bytes_per_s(100_000.0)));
    assert_eq!(shown.loss_events, Some(0));
    s.on_feedback(at(110), &lost(1), 2);
    assert_eq!(s.snapshot().phase, Some("avoid"));
    assert_eq!(s.snapshot().loss_events, Some(1));
}
