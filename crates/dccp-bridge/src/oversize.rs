//! Datagrams that are larger than a packet of the path. They are counted, and reported at most once a second.

use crate::limits::WARN_EVERY;
use dccp::Instant;

/// Datagrams of one flow that did not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Oversize {
    total: u64,
    reported: u64,
    reported_at: Option<Instant>,
    /// Length of the newest in bytes, and the limit that it exceeded, if known.
    newest: Option<(usize, usize)>,
}

impl Oversize {
    /// Counts a datagram of `len` bytes where `max` bytes fit.
    pub(crate) fn add(&mut self, len: usize, max: usize) {
        self.total += 1;
        self.newest = Some((len, max));
    }

    /// Counts datagrams that fitted when they were queued, and no longer when they were to leave.
    pub(crate) fn add_late(&mut self, count: u64) {
        self.total += count;
    }

    /// Returns the text of a report, if one is due.
    pub(crate) fn report(&mut self, now: Instant) -> Option<String> {
        let is_due = self.reported_at.is_none_or(|at| now >= at + WARN_EVERY);
        if self.total == self.reported || !is_due {
            return None;
        }
        let new = self.total - self.reported;
        self.reported = self.total;
        self.reported_at = Some(now);
        let newest = self.newest.map_or_else(String::new, |(len, max)| {
            format!("; the last has {len} bytes, and {max} fit")
        });
        Some(format!(
            "{new} datagrams are larger than the path's packets and were dropped{newest}; {} in total",
            self.total
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn reports_are_a_second_apart_and_count_all() {
        let start = Instant::from_nanos(0);
        let mut oversize = Oversize::default();
        assert_eq!(oversize.report(start), None);
        oversize.add(1600, 1424);
        let text = oversize.report(start).unwrap();
        assert!(text.contains("1600 bytes, and 1424 fit"), "{text}");
        oversize.add(1500, 1424);
        oversize.add_late(2);
        assert_eq!(oversize.report(start + Duration::from_millis(999)), None);
        let text = oversize.report(start + Duration::from_secs(1)).unwrap();
        assert!(text.starts_with("3 datagrams"), "{text}");
        assert!(text.ends_with("4 in total"), "{text}");
        assert_eq!(oversize.report(start + Duration::from_secs(9)), None);
    }
}
