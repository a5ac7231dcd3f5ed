//! The scoreboard of RFC 6675 §4: segments in flight, and those that the receiver reported.
//!
//! ```text
//!    una                 lost_edge          third, second, newest sacked      nxt
//!     |  sacked or lost      |  sacked or in flight  |     |       |           |
//!     +----------------------+-----------------------+-----+-------+-----------+
//!            high_rxt: segments before it were retransmitted, or need not be
//! ```
//! The position of a segment is the number of segments sent before it. The scoreboard counts segments, not bytes,
//! because the window counts packets. A segment is lost (`IsLost`) when three later ones are sacked. All marks
//! below only move up, and sacked segments are kept as ranges. So the cost of an acknowledgement grows with its
//! news, not with the window.

use super::ranges::Ranges;
use dccp_proto::Instant;
use dccp_proto::cc::delivery::Stamp;
use std::collections::VecDeque;

/// `DupThresh`: a segment counts as lost when this many later ones are sacked.
const DUP_THRESH: usize = 3;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the segment"
)]
pub(super) struct Record {
    /// First byte of the stream in it.
    pub(super) start: u64,
    /// Sequence numbers that it takes.
    pub(super) len: u32,
    /// It ends the stream.
    pub(super) fin: bool,
    is_sacked: bool,
    is_lost: bool,
    /// A retransmission is in flight.
    is_again: bool,
    /// It was retransmitted at any time: a sample of its round trip is ambiguous (Karn).
    was_again: bool,
    /// When it left last.
    pub(super) sent_at: Instant,
    /// The delivery state at that time, for laws that need it.
    pub(super) stamp: Option<Stamp>,
}

/// The news of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Segments that arrived.
    pub(super) packets: u32,
    /// Those of them that carried data, and how many bytes.
    pub(super) with_data: u32,
    pub(super) bytes: u64,
    /// Segments found lost.
    pub(super) lost: u32,
    /// Whether the first byte not acknowledged moved.
    pub(super) is_advance: bool,
    /// When the last one left of those that arrived and left only once.
    pub(super) newest_once: Option<Instant>,
}

impl News {
    #[inline]
    fn arrived(&mut self, r: &Record) {
        self.packets += 1;
        let len = r.len - u32::from(r.fin);
        self.with_data += u32::from(len > 0);
        self.bytes += u64::from(len);
        if !r.was_again {
            self.newest_once = self.newest_once.max(Some(r.sent_at));
        }
    }
}

/// The segments in flight.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    records: VecDeque<Record>,
    una: u64,
    sacked: u32,
    lost: u32,
    again: u32,
    ranges: Ranges,
    /// One past the positions of the newest sacked segments, greatest first; 0: none.
    newest_sacked: [u64; DUP_THRESH],
    lost_edge: u64,
    high_rxt: u64,
    /// The newest stamped segment that arrived since the last call of [`take_newest`](Self::take_newest).
    newest: Option<(Instant, Stamp)>,
}

impl Scoreboard {
    /// Position of the first segment that is not acknowledged.
    pub(super) const fn una(&self) -> u64 {
        self.una
    }

    /// Position of the next new segment.
    pub(super) fn nxt(&self) -> u64 {
        self.una + self.records.len() as u64
    }

    /// Segments in flight (`SetPipe`): neither sacked nor lost, and retransmissions.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a window is below 2^32 packets"
    )]
    #[inline]
    pub(super) fn pipe(&self) -> u32 {
        self.records.len() as u32 - self.sacked - self.lost + self.again
    }

    /// Segments that are lost and not sacked.
    pub(super) const fn lost(&self) -> u32 {
        self.lost
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A new segment leaves.
    #[inline]
    pub(super) fn push(
        &mut self,
        now: Instant,
        stamp: Option<Stamp>,
        start: u64,
        len: u32,
        fin: bool,
    ) {
        self.records.push_back(Record {
            start,
            len,
            fin,
            is_sacked: false,
            is_lost: false,
            is_again: false,
            was_again: false,
            sent_at: now,
            stamp,
        });
    }

    /// A segment leaves once more.
    pub(super) fn resend(&mut self, now: Instant, stamp: Option<Stamp>, position: u64) -> Record {
        let record = self.record_mut(position);
        let is_first = !record.is_again;
        record.is_again = true;
        record.was_again = true;
        record.sent_at = now;
        record.stamp = stamp;
        let record = *record;
        self.again += u32::from(is_first);
        record
    }

    /// Everything in flight is lost (RFC 6675 §5.1). What is sacked remains so.
    pub(super) fn on_timeout(&mut self) {
        for record in self.records.iter_mut().filter(|r| !r.is_sacked) {
            self.lost += u32::from(!record.is_lost);
            record.is_lost = true;
            record.is_again = false;
        }
        self.again = 0;
        self.high_rxt = self.una;
        self.lost_edge = self.nxt();
    }

    /// Takes an acknowledgement (`Update`): everything before the byte `ack`, and blocks of bytes
    /// beyond.
    #[inline]
    pub(super) fn update(&mut self, ack: u64, blocks: &[(u64, u64)]) -> News {
        let mut news = News::default();
        self.advance(ack, &mut news);
        for &(from, to) in blocks {
            let (from, to) = (self.position(from), self.position(to));
            if from < to {
                self.sack(from, to, &mut news);
            }
        }
        self.find_lost(&mut news);
        news
    }

    /// Of the stamped segments that arrived since this was asked last, the one that left last: when, and its stamp.
    pub(super) const fn take_newest(&mut self) -> Option<(Instant, Stamp)> {
        self.newest.take()
    }

    /// The next segment to retransmit because it is lost: rule 1 of `NextSeg`.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        self.next_until(self.lost_edge)
    }

    /// The next one to retransmit although it may not be lost: rule 3.
    pub(super) fn next_doubtful(&mut self) -> Option<u64> {
        self.next_until(self.newest_sacked[0])
    }

    /// The highest one that is not sacked: rule 4.
    pub(super) fn last_open(&self) -> Option<u64> {
        let last = match self.ranges.last() {
            Some((from, to)) if to == self.nxt() => from,
            _ => self.nxt(),
        };
        last.checked_sub(1).filter(|last| *last >= self.una)
    }

    /// # Errors
    /// The promise that is broken.
    pub(super) fn check(&self) -> Result<(), String> {
        let Self {
            sacked,
            lost,
            again,
            ..
        } = *self;
        let len = self.records.len();
        let is_possible =
            (sacked + lost) as usize <= len && (again as usize) + sacked as usize <= len;
        if !is_possible {
            return Err(format!(
                "of {len} segments {sacked} sacked, {lost} lost, {again} again"
            ));
        }
        Ok(())
    }

    /// Whether a retransmission of the first segment is in flight.
    pub(super) fn is_first_again(&self) -> bool {
        self.records.front().is_some_and(|r| r.is_again)
    }

    fn next_until(&mut self, limit: u64) -> Option<u64> {
        self.high_rxt = self.high_rxt.max(self.una);
        while self.high_rxt < limit {
            let record = self.record_mut(self.high_rxt);
            if !record.is_sacked && !record.is_again {
                return Some(self.high_rxt);
            }
            self.high_rxt += 1;
        }
        None
    }

    #[inline]
    fn advance(&mut self, ack: u64, news: &mut News) {
        while let Some(r) = self.records.front()
            && r.start + u64::from(r.len) <= ack
        {
            if r.is_sacked {
                self.sacked -= 1;
            } else {
                news.arrived(r);
                note_newest(&mut self.newest, r);
                self.lost -= u32::from(r.is_lost);
                self.again -= u32::from(r.is_again);
            }
            self.records.pop_front();
            self.una += 1;
            news.is_advance = true;
        }
        if news.is_advance && !self.ranges.is_empty() {
            self.ranges.remove_below(self.una);
        }
    }

    fn sack(&mut self, from: u64, to: u64, news: &mut News) {
        let Self {
            records,
            ranges,
            una,
            newest,
            ..
        } = self;
        let (mut sacked, mut lost, mut again) = (0, 0, 0);
        ranges.insert(from, to, |from, to| {
            for record in records.range_mut(index(from - *una)..index(to - *una)) {
                news.arrived(record);
                note_newest(newest, record);
                sacked += 1;
                lost += u32::from(record.is_lost);
                again += u32::from(record.is_again);
                (record.is_sacked, record.is_lost, record.is_again) = (true, false, false);
            }
            for position in to.saturating_sub(DUP_THRESH as u64).max(from)..to {
                note(&mut self.newest_sacked, position + 1);
            }
        });
        self.sacked += sacked;
        self.lost -= lost;
        self.again -= again;
    }

    /// `IsLost`: everything before the third-newest sacked segment that is not sacked itself.
    #[inline]
    fn find_lost(&mut self, news: &mut News) {
        let [.., third] = self.newest_sacked;
        let from = self.lost_edge.max(self.una);
        if third <= from {
            return;
        }
        for record in self
            .records
            .range_mut(index(from - self.una)..index(third - self.una))
        {
            if !record.is_sacked && !record.is_lost {
                record.is_lost = true;
                news.lost += 1;
            }
        }
        self.lost += news.lost;
        self.lost_edge = third;
    }

    /// Position of the first segment that begins at this byte or after it.
    fn position(&self, byte: u64) -> u64 {
        let Some(first) = self.records.front() else {
            return self.una;
        };
        // Most segments are of one length.
        let guess = byte.saturating_sub(first.start) / u64::from(first.len.max(1));
        let is_right = |i: u64| self.records.get(index(i)).is_some_and(|r| r.start == byte);
        if is_right(guess) {
            return self.una + guess;
        }
        self.una + self.records.partition_point(|r| r.start < byte) as u64
    }

    fn record_mut(&mut self, position: u64) -> &mut Record {
        &mut self.records[index(position - self.una)]
    }
}

/// Notes a segment that arrived, if it has a stamp and left later than the one noted.
#[inline]
fn note_newest(newest: &mut Option<(Instant, Stamp)>, r: &Record) {
    if let Some(stamp) = r.stamp
        && newest.is_none_or(|(at, _)| r.sent_at >= at)
    {
        *newest = Some((r.sent_at, stamp));
    }
}

/// Notes a position among the greatest.
fn note(newest: &mut [u64; DUP_THRESH], position: u64) {
    let mut position = position;
    for place in newest {
        if *place == position {
            return;
        }
        if *place < position {
            core::mem::swap(place, &mut position);
        }
    }
}

fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
