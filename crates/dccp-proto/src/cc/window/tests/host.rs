//! Reports of the peer's host: Data Dropped and Slow Receiver (RFC 4341 §5.2).

use super::*;

#[test]
fn buffer_drops_take_a_packet_each_and_end_slow_start() {
    // 4341-5.2-1, 4340-11.7.2-3
    let mut s = sender(16.0, f64::INFINITY);
    let drops = Drops {
        receive_buffer: 3,
        ..Drops::default()
    };
    s.on_feedback(at(100), &Feedback { drops, ..acked(8) }, 2);
    assert_eq!(
        s.window,
        Window {
            cwnd: 13.0,
            ssthresh: 13.0
        }
    );
}

#[test]
fn a_loss_and_buffer_drops_together_leave_the_smaller_window() {
    // 4340-11.7.1-1
    for (receive_buffer, after) in [(3, 8), (8, 8), (9, 7), (99, 1)] {
        let mut s = sender(16.0, f64::INFINITY);
        send(&mut s, START, 1, 0);
        let drops = Drops {
            receive_buffer,
            ..Drops::default()
        };
        s.on_feedback(at(100), &Feedback { drops, ..lost(1) }, 2);
        assert_eq!(cwnd(&s), after);
    }
}

#[test]
fn every_relevant_drop_ends_slow_start() {
    // 4341-5.2-1
    let none = Drops::default();
    for drops in [
        Drops {
            protocol: 1,
            ..none
        },
        Drops {
            not_listening: 1,
            ..none
        },
    ] {
        let mut s = sender(16.0, f64::INFINITY);
        s.on_feedback(at(100), &Feedback { drops, ..acked(0) }, 2);
        assert!(!s.window.is_slow_start());
        assert_eq!(cwnd(&s), 16);
    }
}

#[test]
fn slow_receiver_holds_the_window_for_a_round_trip() {
    // 4340-11.6-1, 4341-5.2-1
    let mut s = sender(16.0, f64::INFINITY);
    s.on_feedback(
        at(100),
        &Feedback {
            slow_receiver: true,
            ..acked(16)
        },
        2,
    );
    assert!(!s.window.is_slow_start());
    s.on_feedback(at(199), &acked(16), 2);
    assert_eq!(cwnd(&s), 16);
    s.on_feedback(at(200), &acked(16), 2);
    assert_eq!(cwnd(&s), 17);
}
