//! The window of a sender that does not use all of it (draft-ietf-ccwg-ratelimited-increase, section 3).

use super::*;
use crate::cc::slow_start::{self, Pace};

/// A sender of the draft's examples: initial window 10, and slow start adds a packet for each acknowledged one.
fn example() -> WindowSender {
    let mut config = CcConfig {
        rtt: Some(RTT),
        ..config()
    };
    config.initial_window = Some(10);
    config.law.slow_start = slow_start::Config {
        pace: Pace::Standard,
        ..slow_start::Config::default()
    };
    WindowSender::new(&config, Box::<Reno>::default(), Ccid2Rules)
}

/// Sends `packets` at once, which are acknowledged one by one: the window after each acknowledgement.
fn round(s: &mut WindowSender, packets: u32) -> Vec<u32> {
    let in_flight = (1..=packets).rev();
    in_flight
        .map(|flight| {
            let fb = Feedback {
                pipe: flight - 1,
                pipe_max: flight,
                ..acked(1)
            };
            s.on_feedback(at(100), &fb, 1);
            cwnd(s)
        })
        .collect()
}

#[test]
fn window_grows_as_in_the_worked_example_of_the_draft() {
    // ratelimited-3-1, -3: appendix, in packets of 1000 bytes.
    let mut s = example();
    assert_eq!(round(&mut s, 4), [11, 12, 13, 14]);
    assert_eq!(round(&mut s, 8), [15, 16, 17, 18, 19, 20, 20, 20]);
    assert_eq!(round(&mut s, 4), [20; 4]);
    assert_eq!(round(&mut s, 20), (21..=40).collect::<Vec<u32>>());
}

#[test]
fn window_stays_at_twice_the_largest_flight_as_in_the_example_of_14_segments() {
    // ratelimited-3-3
    let mut s = example();
    assert_eq!(round(&mut s, 10), (11..=20).collect::<Vec<u32>>());
    assert_eq!(round(&mut s, 4), [20; 4]);
}

#[test]
fn window_grows_to_one_packet_beyond_the_largest_flight_in_congestion_avoidance() {
    // ratelimited-3-3, 4341-5.1-1
    for (flight, after) in [(5, 8), (7, 8), (8, 9), (9, 10)] {
        let mut s = sender(8.0, 4.0);
        s.flight_max = flight;
        for _ in 0..100 {
            let fb = Feedback {
                pipe_max: 2,
                ..acked(8)
            };
            s.on_feedback(at(100), &fb, 2);
        }
        assert_eq!(cwnd(&s), after, "{flight}");
    }
}

#[test]
fn largest_flight_is_measured_again_after_any_reduction() {
    // ratelimited-3-2
    let feedback = |pipe_max, fb| Feedback { pipe_max, ..fb };
    let loss = |s: &mut WindowSender| s.on_feedback(at(100), &feedback(16, lost(3)), 2);
    let timeout = |s: &mut WindowSender| assert!(s.on_timeout(at(10_000)));
    let full_host = |s: &mut WindowSender| {
        let drops = Drops {
            receive_buffer: 1,
            ..Drops::default()
        };
        let fb = Feedback { drops, ..acked(1) };
        s.on_feedback(at(100), &feedback(16, fb), 2);
    };
    let idle = |s: &mut WindowSender| send(s, at(10_000), 17, 0);
    let reductions: [&dyn Fn(&mut WindowSender); 4] = [&loss, &timeout, &full_host, &idle];
    for (n, reduce) in reductions.into_iter().enumerate() {
        let mut s = sender(16.0, 4.0);
        send(&mut s, START, 16, 15);
        s.flight_max = 16;
        reduce(&mut s);
        assert_eq!((n, s.flight_max), (n, 0));
        s.on_feedback(at(10_100), &feedback(3, acked(1)), 2);
        assert_eq!((n, s.flight_max), (n, 3));
    }
}

#[test]
fn acknowledgements_that_arrive_in_one_batch_all_count() {
    // 4341-5.1-1: only the first of them sees the full flight.
    let mut s = sender(10.0, f64::INFINITY);
    for pipe_max in [10, 1, 1] {
        s.on_feedback(
            at(100),
            &Feedback {
                pipe_max,
                ..acked(2)
            },
            2,
        );
    }
    assert_eq!(cwnd(&s), 13);
}

/// Adds half a packet for each acknowledged one.
struct Fast;

impl Law for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        window.cwnd += 0.5 * f64::from(ack.growth);
    }

    fn on_congestion(&mut self, _window: &mut Window, _event: &Congestion) {}

    fn on_timeout(&mut self, _window: &mut Window, _now: Instant) {}
}

#[test]
fn a_faster_law_grows_by_what_one_window_of_the_largest_flight_gives() {
    // ratelimited-3-3
    for (acknowledged, after) in [(4, 12), (10, 15), (40, 15)] {
        let mut s = WindowSender::new(&config(), Box::new(Fast), Ccid2Rules);
        s.window = Window {
            cwnd: 10.0,
            ssthresh: 4.0,
        };
        s.flight_max = 10;
        for _ in 0..2 {
            let fb = Feedback {
                pipe_max: 1,
                ..acked(acknowledged)
            };
            s.on_feedback(at(100), &fb, 2);
        }
        assert_eq!(cwnd(&s), after, "{acknowledged}");
    }
}
