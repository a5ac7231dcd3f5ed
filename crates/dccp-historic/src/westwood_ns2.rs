//! Westwood+ in ns-2: an event or a timeout leaves at least half of the window. ns-2 runs the kernel's module
//! without the call that sets the window after a recovery.

use dccp_proto::Instant;
use dccp_proto::cc::law::westwood;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// Westwood+ as ns-2 runs it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Westwood(westwood::Westwood);

impl Law for Westwood {
    fn name(&self) -> &'static str {
        "westwood-ns2"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.0.on_ack(window, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        let before = *window;
        self.0.on_congestion(window, event);
        window.ssthresh = window.ssthresh.max(before.cwnd / 2.0);
        window.cwnd = before.cwnd.min(window.ssthresh);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        let before = *window;
        self.0.on_timeout(window, now);
        window.ssthresh = window.ssthresh.max(before.cwnd / 2.0);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        self.0.inner(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{START, acked, assert_near, at, avoiding, inner, loss, ms};

    #[test]
    fn an_event_and_a_timeout_leave_half_at_least() {
        let mut law = Westwood::default();
        // 100 packets/s and 100 ms: 10 packets fill the path.
        for (now, packets) in [(START, 0), (at(1000), 100)] {
            let ack = Ack {
                now,
                rtt: Some(ms(100)),
                growth: 0,
                ..acked(packets)
            };
            law.on_ack(&mut avoiding(10.0), &ack);
        }
        assert_near(inner(&law, "bandwidth"), 100.0);
        for (before, after) in [(100.0, 50.0), (15.0, 10.0)] {
            let mut w = avoiding(before);
            law.on_congestion(&mut w, &loss(1));
            assert_near(w.cwnd, after);
            let mut w = avoiding(before);
            law.on_timeout(&mut w, START);
            assert_near(w.ssthresh, after);
            assert_near(w.cwnd, 1.0);
        }
    }
}
