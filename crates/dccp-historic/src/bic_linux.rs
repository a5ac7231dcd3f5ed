//! BIC of the Linux kernel: whole acknowledgements per packet, steps of at most 16 packets per round trip. An
//! event takes a fifth.
//!
//! The kernel multiplies the growth by the mean number of packets per acknowledgement, although it counts packets
//! and not acknowledgements.

use dccp_proto::Instant;
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// Up to this window, in packets, the law is Reno.
const LOW_WINDOW: f64 = 14.0;
/// The share of the window that remains after an event, and of the maximum with fast convergence.
const BETA: f64 = 819.0 / 1024.0;
const CONVERGENCE: f64 = (1024.0 + 819.0) / 2048.0;
/// The most packets per round trip.
const INCREMENT: u32 = 16;
/// A step is the way to the maximum divided by this.
const B: u32 = 4;
/// Round trips per packet close to the maximum, in quarters.
const SMOOTH: u32 = 20;
/// Before the first event a round trip adds at least a twentieth.
const FIRST: u32 = 20;
/// The mean number of packets per acknowledgement moves by a sixteenth of the difference.
const RATIO_SHIFT: u32 = 4;
/// An acknowledgement counts for at most this many packets.
const RATIO_MAX: u32 = 1 << 16;

/// BIC of the Linux kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bic {
    /// The window before the last event; 0: none.
    last_max: u32,
    /// The mean number of packets per acknowledgement, times 16.
    per_ack: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self {
            last_max: 0,
            per_ack: 2 << RATIO_SHIFT,
        }
    }
}

impl Bic {
    /// Returns the acknowledged packets that add one to the window `w`.
    fn packets_per_step(self, w: u32) -> u32 {
        if f64::from(w) <= LOW_WINDOW {
            return w.max(1);
        }
        let max = self.last_max;
        let count = if w < max {
            match (max - w) / B {
                0 | 1 => w * SMOOTH / B,
                way => w / way.min(INCREMENT),
            }
        } else if w < max + B {
            w * SMOOTH / B
        } else if w < max + INCREMENT * (B - 1) {
            w * (B - 1) / (w - max)
        } else {
            w / INCREMENT
        };
        let most = if max == 0 { FIRST } else { u32::MAX };
        let count = count.clamp(1, most);
        ((count << RATIO_SHIFT) / self.per_ack.max(1)).max(1)
    }

    /// Stores the window as the maximum. Stores a smaller value if the window is below the last maximum.
    fn remember(&mut self, window: &Window) {
        let is_below = f64::from(self.last_max) > window.cwnd;
        let share = if is_below { CONVERGENCE } else { 1.0 };
        self.last_max = Window::packets(&Window {
            cwnd: share * window.cwnd,
            ..*window
        });
    }
}

/// Returns the window after an event.
fn reduced(window: &Window) -> f64 {
    if window.cwnd <= LOW_WINDOW {
        window.cwnd / 2.0
    } else {
        BETA * window.cwnd
    }
}

impl Law for Bic {
    fn name(&self) -> &'static str {
        "bic-linux"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked > 0 && !ack.is_recovering {
            let faded = self.per_ack >> RATIO_SHIFT;
            self.per_ack = self.per_ack + ack.acked.min(RATIO_MAX) - faded;
        }
        for _ in 0..ack.growth {
            window.cwnd += 1.0 / f64::from(self.packets_per_step(window.packets()));
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        self.remember(window);
        window.reduce_to(reduced(window).max(2.0));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(reduced(window));
        self.last_max = 0;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("max", f64::from(self.last_max)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{START, acked, assert_near, avoiding, inner, loss};

    #[test]
    fn steps_are_as_pinned() {
        for (w, per_round_trip) in [
            (10, 1.0),
            (100, 16.6667),
            (800, 16.0),
            (935, 16.1207),
            (936, 16.1379),
            (960, 10.0),
            (990, 2.0),
            (994, 0.2),
            (1003, 0.2),
            (1004, 1.33333),
            (1010, 3.33333),
            (1047, 15.8636),
            (1048, 16.1231),
            (2000, 16.0),
        ] {
            // With a mean of one packet per acknowledgement the steps do not change.
            let bic = Bic {
                last_max: 1000,
                per_ack: 1 << RATIO_SHIFT,
            };
            let packets = f64::from(w) / f64::from(bic.packets_per_step(w));
            assert!(
                (packets - per_round_trip).abs() < 1e-4 * per_round_trip,
                "{w}"
            );
        }
    }

    #[test]
    fn an_event_keeps_four_fifths_and_converges_to_nine_tenths() {
        let mut bic = Bic::default();
        let mut w = avoiding(1000.0);
        bic.on_congestion(&mut w, &loss(1));
        assert_near(w.cwnd, 799.805);
        assert_near(inner(&bic, "max"), 1000.0);
        bic.on_congestion(&mut avoiding(900.0), &loss(1));
        assert_near(inner(&bic, "max"), (0.899_902_f64 * 900.0).floor());
        let mut w = avoiding(14.0);
        bic.on_congestion(&mut w, &loss(1));
        assert_near(w.cwnd, 7.0);
        bic.on_timeout(&mut w, START);
        assert_near(inner(&bic, "max"), 0.0);
    }

    #[test]
    fn the_mean_is_of_acknowledgements_outside_of_recovery() {
        let mut bic = Bic::default();
        for (packets, is_recovering, per_ack) in [
            (2, false, 32),
            (4, false, 34),
            (9, true, 34),
            (0, false, 34),
        ] {
            let ack = Ack {
                is_recovering,
                ..acked(packets)
            };
            bic.on_ack(&mut avoiding(100.0), &ack);
            assert_eq!(bic.per_ack, per_ack);
        }
        // Before the first event, 20 packets add one. The mean of 34/16 divides this.
        assert_eq!(bic.packets_per_step(1000), 9);
    }
}
