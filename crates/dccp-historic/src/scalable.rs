//! Scalable TCP of the Linux kernel: each acknowledged packet adds 1/min(w, cap), and an event takes an eighth of
//! the window.

use dccp_proto::Instant;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// Scalable TCP of the Linux kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Scalable {
    name: &'static str,
    /// Growth per acknowledged packet does not fall below that of this window, in packets.
    cap: f64,
}

/// Linux since 4.15.
pub(crate) const LINUX: Scalable = Scalable {
    name: "scalable-linux",
    cap: 100.0,
};

/// Linux up to 4.14.
pub(crate) const LINUX_2_6_22: Scalable = Scalable {
    name: "scalable-2.6.22",
    cap: 50.0,
};

/// The share of the window that an event takes.
const B: f64 = 0.125;

fn reduced(window: &Window) -> f64 {
    window.cwnd - B * window.cwnd
}

impl Law for Scalable {
    fn name(&self) -> &'static str {
        self.name
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..ack.growth {
            window.cwnd += 1.0 / window.cwnd.min(self.cap);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to(reduced(window));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(reduced(window));
    }
}

#[cfg(test)]
mod tests {
    use crate::built;
    use dccp_proto::cc::law::testing::{START, acked, assert_near, avoiding, loss};

    #[test]
    fn growth_has_a_cap_and_the_decrease_no_threshold() {
        for (name, w, step) in [
            ("scalable-linux", 10.0, 0.1),
            ("scalable-linux", 200.0, 0.01),
            ("scalable-2.6.22", 50.0, 0.02),
            ("scalable-2.6.22", 8333.0, 0.02),
        ] {
            let mut window = avoiding(w);
            built(name).on_ack(&mut window, &acked(1));
            assert!((window.cwnd - w - step).abs() < 1e-9, "{name} {w}");
            let mut window = avoiding(w);
            built(name).on_congestion(&mut window, &loss(1));
            assert_near(window.cwnd, 0.875 * w);
            let mut window = avoiding(w);
            built(name).on_timeout(&mut window, START);
            assert_near(window.ssthresh, 0.875 * w);
            assert_near(window.cwnd, 1.0);
        }
    }
}
