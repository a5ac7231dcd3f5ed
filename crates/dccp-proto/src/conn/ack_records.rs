//! Which of our packets told the peer what, until one of them is acknowledged (RFC 4340 §11.4.2,
//! appendix A.2 and A.3). Ack Vectors and Data Dropped each keep one such list.

use crate::config::bounds::ACK_RECORDS;
use crate::seq::Seq;
use std::collections::VecDeque;

/// Packets that carried a report, oldest first.
///
/// A report is cumulative: it says all that is not yet known to be known by the peer. So if any of
/// the packets arrives, all that it reported, up to its Acknowledgement Number, is history.
#[derive(Clone, Debug, Default)]
pub(super) struct AckRecords {
    records: VecDeque<Record>,
}

/// Consecutive packets with a report that covers all up to the same packet, or a little more.
#[derive(Clone, Copy, Debug)]
struct Record {
    first: Seq,
    last: Seq,
    covers: Seq,
}

/// Into how many parts, at most, records divide what is being reported.
const RESOLUTION: u64 = (ACK_RECORDS / 2) as u64;

impl AckRecords {
    /// Our packet `own` carries a report on packets up to `ack`, of which there are `span`.
    ///
    /// A report that covers little more than the one before gets no record of its own, so that the
    /// records reach a round trip back however many acknowledgements that is. When there are too
    /// many nevertheless, the oldest is forgotten: then its acknowledgement will tell us nothing.
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

    /// What we say of packet `seq` has changed: no earlier report covers it, or a later one.
    pub(super) fn on_revised(&mut self, seq: Seq) {
        for record in self.records.iter_mut().rev() {
            if record.covers.is_before(seq) {
                break;
            }
            record.covers = seq.minus(1);
        }
    }
}
