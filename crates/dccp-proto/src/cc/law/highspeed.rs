//! HighSpeed TCP (RFC 3649): the larger the window, the faster it grows and the less it gives up.
//!
//! Per window of acknowledged packets the window grows by a(w), and an event leaves 1 − b(w) of it.

use super::settings::{Plan, choice, settings};
use super::{Ack, Congestion, Law, Window};
use crate::time::Instant;

choice! {
    /// Which a(w) and b(w): several are in use that differ a little.
    pub enum Table {
        /// RFC 3649 appendix B: the last row that begins at or below w. Between two rows this is up to half
        /// of what the formula gives, and costs a fifth of the rate at a loss rate of 1e-4.
        Rfc = "rfc",
        /// The same rows as the Linux kernel reads them: the first that begins at or above w,
        /// without the last row, and with b in whole 256ths.
        Kernel = "kernel",
        /// The closed form with p(w) = 0.078/w^1.2 (RFC 3649 §5).
        Formula = "formula",
        /// The closed form with p(w) on the exact line between the two points that define it.
        Exact = "exact",
    }
}

choice! {
    /// What counts as one step of growth.
    pub enum Count {
        /// Each acknowledged packet.
        Packets = "packets",
        /// Each acknowledgement, as kernels of 2003 did (delayed ones halve the growth).
        Acks = "acks",
    }
}

impl Count {
    /// Steps of growth in an acknowledgement.
    pub(super) fn steps(self, ack: &Ack) -> u32 {
        match self {
            Self::Packets => ack.growth,
            Self::Acks => ack.growth.min(1),
        }
    }
}

settings! {
    /// Options of HighSpeed.
    pub struct Config {
        /// Which a(w) and b(w).
        table: Table = Table::Formula, Table::read;
        /// What counts as one step of growth.
        count: Count = Count::Packets, Count::read;
    }
}

impl Plan for Config {
    fn build(&self) -> Box<dyn Law> {
        Box::new(HighSpeed::new(*self))
    }
}

/// `Low_Window`: at and below it the law is Reno.
const LOW_WINDOW: f64 = 38.0;
/// `High_Window`, which the loss rate `HIGH_P` sustains.
const HIGH_WINDOW: f64 = 83_000.0;
const HIGH_P: f64 = 1e-7;
/// Loss rate that sustains `Low_Window`.
const LOW_P: f64 = 1e-3;
/// `High_Decrease`: b at `High_Window`.
const HIGH_DECREASE: f64 = 0.1;

/// Where row k of the table begins, whose a is k + 1 (RFC 3649 appendix B).
const ROWS: [u32; 73] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053, 94717,
];
/// The kernel has one row less.
const KERNEL_ROWS: usize = 72;

/// HighSpeed TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HighSpeed {
    config: Config,
    /// b(w) at the beginning of each row.
    decrease: [f64; ROWS.len()],
    /// Row of the window seen last: windows move slowly.
    row: usize,
}

impl HighSpeed {
    /// HighSpeed with these options.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            decrease: ROWS.map(|w| match config.table {
                Table::Kernel => (256.0 * b(f64::from(w))).floor() / 256.0,
                _ => b(f64::from(w)),
            }),
            row: 0,
        }
    }

    /// How much the window w grows per window, and how much of it an event takes.
    fn response(&mut self, w: f64) -> (f64, f64) {
        match self.config.table {
            Table::Rfc | Table::Kernel => {
                self.find_row(w);
                let a = u32::try_from(self.row + 1).unwrap_or(u32::MAX);
                (f64::from(a), self.decrease[self.row])
            }
            Table::Formula => (a(w, p(w)), b(w)),
            Table::Exact => (a(w, p_exact(w)), b(w)),
        }
    }

    fn find_row(&mut self, w: f64) {
        let is_kernel = self.config.table == Table::Kernel;
        let last = if is_kernel { KERNEL_ROWS } else { ROWS.len() } - 1;
        let is_below = |row: usize| {
            let begin = f64::from(ROWS[row]);
            if is_kernel { begin < w } else { begin <= w }
        };
        // The kernel's row is the one after the last that is below.
        let step = usize::from(!is_kernel);
        while self.row < last && is_below(self.row + step) {
            self.row += 1;
        }
        while self.row > 0 && !is_below(self.row - 1 + step) {
            self.row -= 1;
        }
    }
}

impl Law for HighSpeed {
    fn name(&self) -> &'static str {
        "highspeed"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..self.config.count.steps(ack) {
            window.cwnd += self.response(window.cwnd).0 / window.cwnd;
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        let (_, b) = self.response(window.cwnd);
        window.reduce_to((1.0 - b) * window.cwnd);
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        let (_, b) = self.response(window.cwnd);
        window.collapse((1.0 - b) * window.cwnd);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        if matches!(self.config.table, Table::Rfc | Table::Kernel) {
            let row = u32::try_from(self.row + 1).unwrap_or(u32::MAX);
            out.push(("row", f64::from(row)));
        }
    }
}

/// The share of the window w that an event takes (RFC 3649 §5).
fn b(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 0.5;
    }
    let share = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    0.5 + (HIGH_DECREASE - 0.5) * share
}

/// The loss rate that sustains w, rounded as RFC 3649 §5 has it.
fn p(w: f64) -> f64 {
    0.078 / libm::pow(w, 1.2)
}

/// The loss rate that sustains w, on the line through both points in logarithmic scales.
fn p_exact(w: f64) -> f64 {
    let share = libm::log(w / LOW_WINDOW) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    LOW_P * libm::exp(share * libm::log(HIGH_P / LOW_P))
}

/// The growth per window that, with b(w), sustains w at the loss rate p (RFC 3649 §5).
fn a(w: f64, p: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    let b = b(w);
    (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
}

#[cfg(test)]
mod tests;
