//! Rows of samples of the senders, in bounded memory.

use crate::schema::CcSample;
use core::time::Duration;

/// The rows that are kept. At this number every second point of time is left out, and the gap doubles.
const ROWS_MAX: usize = 100_000;

/// Rows by rising time. Those of one point of time are of different flows.
#[derive(Debug)]
pub(crate) struct Trace {
    gap: Duration,
    /// When the next rows are due.
    next: Duration,
    rows: Vec<CcSample>,
}

impl Trace {
    /// Rows at least this gap apart.
    pub(crate) fn new(gap: Duration) -> Self {
        Self {
            gap,
            next: Duration::ZERO,
            rows: Vec::new(),
        }
    }

    /// Whether rows are due at this time of the test; then the next ones are due a gap later.
    pub(crate) fn is_due(&mut self, elapsed: Duration) -> bool {
        if elapsed < self.next {
            return false;
        }
        if self.rows.len() >= ROWS_MAX {
            self.thin_out();
        }
        // Rows keep to the multiples of the gap, unless a look came later than a whole gap.
        self.next = (self.next + self.gap).max(elapsed);
        true
    }

    pub(crate) fn add(&mut self, row: CcSample) {
        self.rows.push(row);
    }

    pub(crate) fn into_rows(self) -> Vec<CcSample> {
        self.rows
    }

    fn thin_out(&mut self) {
        let (mut at_ns, mut is_kept) = (None, false);
        self.rows.retain(|row| {
            if at_ns.replace(row.at_ns) != Some(row.at_ns) {
                is_kept = !is_kept;
            }
            is_kept
        });
        self.gap *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(flow: u32, at_ns: u64) -> CcSample {
        CcSample {
            flow,
            at_ns,
            rtt_ns: None,
            cwnd_packets: None,
            ssthresh_packets: None,
            rate_bps: None,
            cc_state: None,
            is_idle: false,
            is_window_full: true,
        }
    }

    // goal 31: samples have a gap.
    #[test]
    fn rows_keep_their_gap() {
        let ms = Duration::from_millis;
        let mut trace = Trace::new(ms(5));
        let due: Vec<u64> = (0..22).filter(|t| trace.is_due(ms(*t))).collect();
        assert_eq!(due, [0, 5, 10, 15, 20]);
        // A look that comes late is followed by no burst.
        assert!(trace.is_due(ms(100)));
        assert!(trace.is_due(ms(100)));
        assert!(!trace.is_due(ms(104)));
    }

    // goal 31: their number is bounded.
    #[test]
    fn full_trace_loses_every_second_point_of_time() {
        let ns = Duration::from_nanos;
        let mut trace = Trace::new(ns(10));
        for point in 0..60_000_u64 {
            if trace.is_due(ns(10 * point)) {
                trace.add(row(1, 10 * point));
                trace.add(row(2, 10 * point));
            }
        }
        assert!(trace.rows.len() <= ROWS_MAX);
        assert_eq!(trace.gap, ns(20));
        let rows = trace.into_rows();
        let flows: Vec<u32> = rows[..4].iter().map(|row| row.flow).collect();
        assert_eq!(flows, [1, 2, 1, 2]);
        let times: Vec<u64> = rows.chunks(2).map(|pair| pair[0].at_ns).collect();
        assert_eq!(times[..3], [0, 20, 40]);
        assert!(times.windows(2).all(|pair| pair[1] >= pair[0] + 10));
    }
}
