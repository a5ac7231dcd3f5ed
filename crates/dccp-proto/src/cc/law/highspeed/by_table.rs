//! HighSpeed by the table of RFC 3649, appendix B. The last row that begins at or below the window applies.
//!
//! HSTCP-LP grows by this table. With it, two flows of HSTCP-LP share a path evenly. With the formula they do not.

use super::b;
use crate::cc::law::{Ack, Congestion, Law, Window};
use crate::time::Instant;

/// The first window of row k of the table (RFC 3649, appendix B). The a of row k is k + 1.
pub const ROWS: [u32; 73] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053, 94717,
];

/// HighSpeed by the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::cc::law) struct ByTable {
    /// b(w) at the beginning of each row.
    pub(super) decrease: [f64; ROWS.len()],
    /// The row of the last window, where the next search starts: windows move slowly.
    row: usize,
}

impl Default for ByTable {
    fn default() -> Self {
        Self {
            decrease: ROWS.map(|w| b(f64::from(w))),
            row: 0,
        }
    }
}

impl ByTable {
    /// Returns the growth of the window w per window, and the share of it that an event takes.
    pub(super) fn response(&mut self, w: f64) -> (f64, f64) {
        while self.row < ROWS.len() - 1 && f64::from(ROWS[self.row + 1]) <= w {
            self.row += 1;
        }
        while self.row > 0 && f64::from(ROWS[self.row]) > w {
            self.row -= 1;
        }
        let a = u32::try_from(self.row + 1).unwrap_or(u32::MAX);
        (f64::from(a), self.decrease[self.row])
    }
}

impl Law for ByTable {
    fn name(&self) -> &'static str {
        "highspeed-table"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..ack.growth {
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
        let row = u32::try_from(self.row + 1).unwrap_or(u32::MAX);
        out.push(("row", f64::from(row)));
    }
}
