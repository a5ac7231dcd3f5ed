//! HighSpeed TCP of the Linux kernel: the table of RFC 3649, appendix B, read one row too high.
//!
//! The kernel takes the first row that begins at or above the window, lacks the last row, and stores b in whole
//! 256ths.

use dccp_proto::Instant;
use dccp_proto::cc::law::highspeed::{ROWS, b};
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};

/// Rows of the kernel's table: all but the last.
const ROWS_LEN: usize = ROWS.len() - 1;

/// HighSpeed TCP of the Linux kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HighSpeed {
    name: &'static str,
    /// Returns the steps of growth for an acknowledgement.
    steps: fn(&Ack) -> u32,
    /// b at the beginning of each row.
    decrease: [f64; ROWS_LEN],
    /// The row of the last window, where the next search starts: windows move slowly.
    row: usize,
}

/// Counts each acknowledgement as a step of growth. Delayed acknowledgements halve the growth.
pub(crate) fn of_acks() -> HighSpeed {
    HighSpeed::new("highspeed-linux", |ack| ack.growth.min(1))
}

/// Counts each acknowledged packet as a step of growth.
pub(crate) fn of_packets() -> HighSpeed {
    HighSpeed::new("highspeed-2.6.22", |ack| ack.growth)
}

impl HighSpeed {
    fn new(name: &'static str, steps: fn(&Ack) -> u32) -> Self {
        Self {
            name,
            steps,
            decrease: core::array::from_fn(|row| (256.0 * b(f64::from(ROWS[row]))).floor() / 256.0),
            row: 0,
        }
    }

    /// Returns the growth of the window w per window, and the share of it that an event takes.
    fn response(&mut self, w: f64) -> (f64, f64) {
        let is_below = |row: usize| f64::from(ROWS[row]) < w;
        while self.row < ROWS_LEN - 1 && is_below(self.row) {
            self.row += 1;
        }
        while self.row > 0 && !is_below(self.row - 1) {
            self.row -= 1;
        }
        let a = u32::try_from(self.row + 1).unwrap_or(u32::MAX);
        (f64::from(a), self.decrease[self.row])
    }
}

impl Law for HighSpeed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..(self.steps)(ack) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built;
    use dccp_proto::cc::law::testing::{acked, assert_near, avoiding};

    #[test]
    fn the_row_above_is_read() {
        let mut kernel = of_packets();
        for (w, a, b_256) in [
            (1.0, 1.0, 128.0),
            (38.0, 1.0, 128.0),
            (38.1, 2.0, 112.0),
            (39.0, 2.0, 112.0),
            (118.0, 2.0, 112.0),
            (119.0, 3.0, 104.0),
            (222.0, 4.0, 98.0),
            (348.0, 5.0, 93.0),
            (1400.0, 10.0, 78.0),
            (89_053.0, 72.0, 24.0),
            (200_000.0, 72.0, 24.0),
            (39.0, 2.0, 112.0),
        ] {
            let (found, b) = kernel.response(w);
            assert_near(found, a);
            assert_near(256.0 * b, b_256);
        }
    }

    #[test]
    fn packets_or_acknowledgements_count() {
        for (name, steps) in [("highspeed-2.6.22", 4.0), ("highspeed-linux", 1.0)] {
            let mut w = avoiding(1e5);
            let mut law = built(name);
            law.on_ack(&mut w, &acked(4));
            assert!((w.cwnd - 1e5 - steps * 72.0 / 1e5).abs() < 1e-5, "{name}");
            law.on_ack(&mut w, &acked(0));
            assert!((w.cwnd - 1e5 - steps * 72.0 / 1e5).abs() < 1e-5, "{name}");
        }
    }
}
