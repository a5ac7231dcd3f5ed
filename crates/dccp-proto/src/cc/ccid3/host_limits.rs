//! Limits of a CCID 3 sender whose peer's host, not the network, is congested (RFC 4342 §5.2).

use crate::cc::Feedback;

/// Reports of the peer since the last feedback packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HostLimits {
    /// Packets dropped for lack of buffers (Drop Code 2).
    drops: u32,
    /// It sent Slow Receiver.
    is_slow: bool,
}

impl HostLimits {
    /// Processes the reports of an acknowledgement. Corrupt packets are no matter of the host: the receiver
    /// counts them as marked (4342-5.2-1).
    pub(crate) fn on_feedback(&mut self, fb: &Feedback<'_>) {
        self.drops = self.drops.saturating_add(fb.drops.receive_buffer);
        self.is_slow |= fb.slow_receiver;
    }

    /// The receive rate to assume in place of the reported one; forgets the reason. `packet_rate` is
    /// that of one packet per round trip. The sender may send twice the result (4342-5.2-1).
    pub(crate) fn limit(&mut self, x_inrecv: f64, packet_rate: f64) -> f64 {
        let Self { drops, is_slow } = core::mem::take(self);
        let mut x_drop = f64::INFINITY;
        if is_slow {
            x_drop = x_inrecv;
        }
        if drops > 0 {
            // 4340-11.7.2-3: one packet per round trip less for each, but never below one.
            let lowered = x_inrecv - f64::from(drops) * packet_rate;
            x_drop = x_drop.min(lowered.max(x_inrecv.min(packet_rate)));
        }
        x_inrecv.min(x_drop / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-5, "{value} {expected}");
    }

    #[test]
    fn buffer_drops_lower_the_receive_rate_as_pinned() {
        // 4342-5.2-1, 4340-11.7.2-3: drops at the host limit the rate.
        for (x_inrecv, drops, s, r, x_recv) in [
            (1e6, 1, 1460.0, 0.1, 492_700.0),
            (1e6, 3, 1460.0, 0.1, 478_100.0),
            (20_000.0, 3, 1460.0, 0.1, 7_300.0),
            (10_000.0, 1, 1460.0, 0.1, 5_000.0),
            (1.175e8, 100, 1460.0, 0.094, 5.797_34e7),
        ] {
            let mut limits = HostLimits {
                drops,
                is_slow: false,
            };
            assert_near(limits.limit(x_inrecv, s / r), x_recv);
            // It counts once.
            assert_near(limits.limit(x_inrecv, s / r), x_inrecv);
        }
    }

    #[test]
    fn a_slow_receiver_keeps_the_rate_from_rising() {
        // 4342-5.2-1, 4340-11.6-1
        let mut limits = HostLimits {
            drops: 0,
            is_slow: true,
        };
        assert_near(limits.limit(8_000.0, 100.0), 4_000.0);
        let mut limits = HostLimits {
            drops: 2,
            is_slow: true,
        };
        assert_near(limits.limit(8_000.0, 100.0), 3_900.0);
    }
}
