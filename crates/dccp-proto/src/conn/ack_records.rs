//! The reports that our packets contained, until one of them is acknowledged (RFC 4340 §11.4.2,
//! appendix A.2 and A.3). Ack Vectors and Data Dropped each keep one such list.

use crate::config::bounds::ACK_RECORDS;
use crate::seq::Seq;
use std::collections::VecDeque;

/// Packets that carried a report, oldest first.
///
/// A report is cumulative: it says all that is not yet known to be known by the peer. So if any of
/// the packets arrives, all that it reported, up to its Acknowledgement Number, is history.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct AckRecords {
    records: VecDeque<Record>,
}

/// Consecutive packets with a report that covers all up to the same packet, or a little more.
#[derive(Clone, Copy, Debug, Hash)]
struct Record {
    first: Seq,
    last: Seq,
    covers: Seq,
}

/// Records divide the reported packets into at most this many parts.
const RESOLUTION: u64 = (ACK_RECORDS / 2) as u64;

impl AckRecords {
    /// Our packet `own` carries a report on `span` packets, the newest being `ack`.
    ///
    /// A report that covers little more than the one before gets no record of its own, so that the
    /// records reach a round trip back however many acknowledgements that is. Beyond the bound the
    /// oldest is dropped: its acknowledgement will have no effect.
    pub(super) fn on_sent(&mut self, own: Seq, ack: Seq, span: u64) {
        if let Some(latest) = self.records.back_mut() {
            let gained = ack.steps_from(latest.covers);
            if gained == 0 || gained < span / RESOLUTION {
                if own == latest.last.next() {
                    latest.last = own;
                }
                return;
            }
        }
        if self.records.len() == ACK_RECORDS {
            self.records.pop_front();
        }
        if self.records.is_empty() {
            // An idle connection has one, and keeps no room for more.
            self.records.reserve_exact(1);
        }
        self.records.push_back(Record {
            first: own,
            last: own,
            covers: ack,
        });
    }

    /// The peer received our packet `own`. Returns up to which packet it knows all that we know, if
    /// that is news; records up to this one are forgotten.
    pub(super) fn on_acked(&mut self, own: Seq) -> Option<Seq> {
        let after = self.records.partition_point(|r| !r.first.is_after(own));
        let record = self.records.get(after.checked_sub(1)?)?;
        if own.is_after(record.last) {
            return None;
        }
        let covers = record.covers;
        self.records.drain(..after);
        Some(covers)
    }

    /// The report on packet `seq` has changed: no earlier report covers it or a later one.
    pub(super) fn on_revised(&mut self, seq: Seq) {
        for record in self.records.iter_mut().rev() {
            if record.covers.is_before(seq) {
                break;
            }
            record.covers = seq.minus(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seq(n: u64) -> Seq {
        Seq::new(n)
    }

    fn sent(reports: &[(u64, u64, u64)]) -> AckRecords {
        let mut records = AckRecords::default();
        for &(own, ack, span) in reports {
            records.on_sent(seq(own), seq(ack), span);
        }
        records
    }

    fn acked(reports: &[(u64, u64, u64)], own: u64) -> Option<Seq> {
        sent(reports).on_acked(seq(own))
    }

    #[test]
    fn an_acknowledged_report_covers_what_it_reported() {
        // 4340-A-1
        let reports = [(5, 100, 10), (7, 110, 20), (8, 120, 30)];
        for (own, covers) in [
            (4, None),
            (5, Some(100)),
            (6, None),
            (7, Some(110)),
            (8, Some(120)),
            (9, None),
        ] {
            assert_eq!(acked(&reports, own), covers.map(seq), "{own}");
        }
        let mut records = sent(&reports);
        assert_eq!(records.on_acked(seq(7)), Some(seq(110)));
        assert_eq!(records.on_acked(seq(7)), None);
        assert_eq!(records.on_acked(seq(5)), None);
        assert_eq!(records.on_acked(seq(8)), Some(seq(120)));
    }

    #[test]
    fn a_report_with_little_news_shares_the_record_before_it() {
        // 1280 packets are reported: ten make a record.
        let first = (5, 2000, 1280);
        assert_eq!(acked(&[first, (6, 2010, 1280)], 6), Some(seq(2010)));
        assert_eq!(acked(&[first, (6, 2009, 1280)], 6), Some(seq(2000)));
        assert_eq!(
            acked(&[first, (6, 2004, 1280), (7, 2009, 1280)], 7),
            Some(seq(2000))
        );
        assert_eq!(
            acked(&[first, (6, 2004, 1280), (7, 2010, 1280)], 7),
            Some(seq(2010))
        );
        assert_eq!(
            acked(&[first, (6, 2004, 1280), (7, 2010, 1280)], 6),
            Some(seq(2000))
        );
        // Of packets between which others left, only the first has a record.
        assert_eq!(acked(&[first, (7, 2009, 1280)], 7), None);
        assert_eq!(acked(&[first, (7, 2009, 1280)], 6), None);
        // The same again is no news, however short the report.
        assert_eq!(acked(&[(5, 9, 1), (6, 9, 1)], 6), Some(seq(9)));
        assert_eq!(acked(&[(5, 9, 1), (7, 9, 1)], 7), None);
        assert_eq!(acked(&[(5, 9, 127), (7, 10, 127)], 7), Some(seq(10)));
    }

    #[test]
    fn a_revision_takes_back_what_was_covered() {
        // 4340-A-1
        let reports = [(5, 100, 10), (6, 110, 20), (7, 120, 30)];
        for (revised, covers) in [
            (121, [100, 110, 120]),
            (120, [100, 110, 119]),
            (111, [100, 110, 110]),
            (110, [100, 109, 109]),
            (100, [99, 99, 99]),
        ] {
            for (own, covers) in (5..).zip(covers) {
                let mut records = sent(&reports);
                records.on_revised(seq(revised));
                assert_eq!(records.on_acked(seq(own)), Some(seq(covers)), "{revised}");
            }
        }
    }

    #[test]
    fn the_number_of_records_is_bounded() {
        // 4340-18-4
        let bound = ACK_RECORDS as u64;
        let mut records = AckRecords::default();
        for n in 0..bound {
            records.on_sent(seq(2 * n), seq(100 * n), 1);
        }
        assert_eq!(records.clone().on_acked(seq(0)), Some(seq(0)));
        records.on_sent(seq(2 * bound), seq(100 * bound), 1);
        assert_eq!(records.records.len(), ACK_RECORDS);
        assert_eq!(records.on_acked(seq(0)), None);
        assert_eq!(records.on_acked(seq(2)), Some(seq(100)));
    }
}
