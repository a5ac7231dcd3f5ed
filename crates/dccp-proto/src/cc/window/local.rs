//! A full interface, as Linux 2.4 took it: the window shrinks as if the network were congested, but
//! slowly and without a packet lost.

use super::{Cause, Congestion, WindowSender};
use crate::time::Instant;

/// The window shrinks by one packet with every second acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrinking {
    /// Down to this.
    target: f64,
    /// This acknowledgement is a second one.
    is_second: bool,
}

impl WindowSender {
    /// The sender's own interface had no room for a packet, which stays unsent, with `pipe` in flight.
    /// While the window shrinks for that, or recovers from a loss, nothing more happens.
    pub fn on_local_congestion(&mut self, now: Instant, pipe: u32) {
        if self.shrinking.is_some() || self.recovering.is_some() {
            return;
        }
        let mut window = self.window;
        let event = Congestion {
            now,
            cause: Cause::Loss,
            packets: 0,
            flight: pipe,
            pipe,
        };
        self.law.on_congestion(&mut window, &event);
        self.rate = self.law.pacing_rate();
        self.slow_start.reset();
        self.events += 1;
        self.window.ssthresh = window.ssthresh;
        let before = self.window.cwnd;
        self.window.cwnd = before.min(f64::from(pipe) + 1.0);
        self.note_reduction(before);
        self.shrinking = Some(Shrinking {
            target: window.cwnd,
            is_second: false,
        });
    }

    /// Whether the window shrinks for a full interface.
    pub(super) const fn is_shrinking(&self) -> bool {
        self.shrinking.is_some()
    }

    /// An acknowledgement arrived.
    pub(super) fn shrink(&mut self) {
        let Some(shrinking) = &mut self.shrinking else {
            return;
        };
        if shrinking.is_second {
            self.window.cwnd -= 1.0;
        }
        shrinking.is_second = !shrinking.is_second;
        if self.window.cwnd <= shrinking.target {
            self.end_shrinking();
        }
    }

    /// The window has reached its aim, or a loss of packets asks for as much.
    pub(super) fn end_shrinking(&mut self) {
        if let Some(Shrinking { target, .. }) = self.shrinking.take() {
            self.window.cwnd = self.window.cwnd.min(target);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::cc::fixtures::START;
    use crate::cc::window::tests::{acked, cwnd, lost, send, sender};

    #[test]
    fn a_full_interface_takes_a_packet_of_every_second_acknowledgement() {
        let mut s = sender(20.0, 4.0);
        send(&mut s, START, 1, 19);
        s.on_local_congestion(START, 16);
        assert_eq!((cwnd(&s), s.events()), (17, 1));
        s.on_local_congestion(START, 16);
        assert_eq!(s.events(), 1, "no second reaction");
        let windows: Vec<_> = (0..16)
            .map(|_| {
                s.on_feedback(START, &acked(1), 2);
                cwnd(&s)
            })
            .collect();
        let expected = [
            17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 10,
        ];
        assert_eq!(windows, expected);
        s.on_local_congestion(START, 9);
        assert_eq!(s.events(), 2, "it is over");
    }

    #[test]
    fn a_loss_meanwhile_is_the_same_event() {
        let mut s = sender(20.0, 4.0);
        send(&mut s, START, 1, 19);
        s.on_local_congestion(START, 19);
        s.on_feedback(START, &lost(1), 2);
        assert_eq!((cwnd(&s), s.events()), (10, 1));
        s.on_local_congestion(START, 9);
        assert_eq!(s.events(), 1, "it recovers");
    }

    #[test]
    fn a_timeout_ends_it() {
        let mut s = sender(20.0, 4.0);
        send(&mut s, START, 1, 19);
        s.on_local_congestion(START, 19);
        let at = s.poll_timeout().unwrap();
        assert!(s.on_timeout(at));
        s.on_feedback(at, &acked(2), 2);
        assert_eq!(cwnd(&s), 2, "slow start");
    }
}
