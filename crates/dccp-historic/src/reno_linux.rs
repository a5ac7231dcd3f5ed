//! Reno of Linux up to 3.12: the window grows in whole packets, one per w + 1 acknowledged ones.

use dccp_proto::Instant;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// Reno of Linux up to 3.12.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Reno {
    /// Acknowledged packets that have not made the window grow yet.
    acked: u32,
}

/// Half of the window in whole packets, at least 2.
fn reduced(window: &Window) -> f64 {
    (0.5 * f64::from(window.packets())).floor().max(2.0)
}

impl Law for Reno {
    fn name(&self) -> &'static str {
        "reno-linux"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.acked += ack.growth;
        while self.acked > window.packets() {
            self.acked -= window.packets() + 1;
            window.cwnd += 1.0;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to(reduced(window));
        self.acked = 0;
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(reduced(window));
        self.acked = 0;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("acked_towards_growth", f64::from(self.acked)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{acked, assert_near, avoiding, inner, loss};

    #[test]
    fn a_packet_more_than_a_window_adds_one() {
        let mut reno = Reno::default();
        let mut w = avoiding(10.9);
        for (packets, after) in [(10, 10.9), (1, 11.9), (11, 11.9), (1, 12.9), (26, 13.9)] {
            let unclean = Ack {
                is_clean: false,
                ..acked(packets)
            };
            reno.on_ack(&mut w, &unclean);
            assert_near(w.cwnd, after);
        }
        assert_near(inner(&reno, "acked_towards_growth"), 13.0);
    }

    #[test]
    fn an_event_leaves_two_packets_at_least() {
        let mut reno = Reno { acked: 13 };
        for (before, after) in [(13.9, 6.0), (3.0, 2.0)] {
            let mut w = avoiding(before);
            reno.on_congestion(&mut w, &loss(3));
            assert_near(w.cwnd, after);
        }
        assert_eq!(reno.acked, 0);
    }
}
