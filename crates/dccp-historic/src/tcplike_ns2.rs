//! The window of ns-2's DCCP agent `TCPlike`: CCID 2's Reno with one difference. Later losses of a handled event
//! do not reset the count towards growth.

use dccp_proto::Instant;
use dccp_proto::cc::law::reno::Reno;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// The window of ns-2's `TCPlike`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct TcpLike(Reno);

impl Law for TcpLike {
    fn name(&self) -> &'static str {
        "tcplike-ns2"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let clean = Ack {
            is_clean: true,
            ..*ack
        };
        self.0.on_ack(window, &clean);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.0.on_congestion(window, event);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        self.0.on_timeout(window, now);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        self.0.inner(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{acked, assert_near, avoiding, inner, loss};

    #[test]
    fn later_losses_of_an_event_keep_the_count() {
        let mut law = TcpLike::default();
        let mut w = avoiding(10.0);
        let unclean = Ack {
            is_clean: false,
            ..acked(0)
        };
        law.on_ack(&mut w, &acked(9));
        law.on_ack(&mut w, &unclean);
        law.on_ack(&mut w, &acked(1));
        assert_near(w.cwnd, 11.0);
        // The event itself resets it.
        law.on_ack(&mut w, &acked(9));
        law.on_congestion(&mut w, &loss(1));
        assert_near(inner(&law, "acked_towards_growth"), 0.0);
    }
}
