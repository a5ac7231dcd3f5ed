//! HighSpeed TCP (RFC 3649): a larger window grows faster and shrinks by a smaller share.
//!
//! Per window of acknowledged packets the window grows by a(w), and an event leaves 1 − b(w) of it. Both come from the
//! formulas of RFC 3649 §5, not from the table of its appendix B. Between two rows, the table gives down to half of
//! the formula's value. That costs a fifth of the rate at a loss rate of 1e-4.

mod by_table;

pub(super) use by_table::ByTable;
pub use by_table::ROWS;

use super::{Ack, Congestion, Law, LawSettings, Window};
use crate::time::Instant;

/// Settings of HighSpeed (none).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Config;

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(HighSpeed)
    }
}

/// `Low_Window`: at and below it the law is Reno.
const LOW_WINDOW: f64 = 38.0;
/// `High_Window`.
const HIGH_WINDOW: f64 = 83_000.0;
/// `High_Decrease`: b at `High_Window`.
const HIGH_DECREASE: f64 = 0.1;

/// HighSpeed TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HighSpeed;

impl Law for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..ack.growth {
            window.cwnd += a(window.cwnd) / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to((1.0 - b(window.cwnd)) * window.cwnd);
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse((1.0 - b(window.cwnd)) * window.cwnd);
    }
}

/// Returns the share of the window w that an event takes: b(w) of RFC 3649 §5.
pub fn b(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    let share = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    0.5 + (HIGH_DECREASE - 0.5) * share
}

/// Returns the loss rate that sustains w, rounded as in RFC 3649 §5.
fn p(w: f64) -> f64 {
    0.078 / libm::pow(w, 1.2)
}

/// Returns the growth per window that, with b(w), sustains w at the loss rate p(w) (RFC 3649 §5).
fn a(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = b(w);
    (w * w * p(w) * 2.0 * b / (2.0 - b)).max(1.0)
}

#[cfg(test)]
mod tests;
