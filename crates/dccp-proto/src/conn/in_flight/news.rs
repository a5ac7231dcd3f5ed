//! Collects the news of one acknowledgement.

use super::record::{Record, State};
use super::{LargeNews, TellFate};
use crate::cc::{Count, Drops};
use crate::queue::Fate;
use crate::time::Instant;
use crate::wire::DropCode;

/// Collected while an acknowledgement is read; becomes a `Feedback`.
pub(super) struct News<'t> {
    pub(super) now: Instant,
    tell: TellFate<'t>,
    pub(super) acked: Count,
    pub(super) marked: Count,
    pub(super) lost: Count,
    pub(super) drops: Drops,
    /// Position of the newest packet that indicates congestion.
    pub(super) congestion: Option<u64>,
    /// Position and record of the newest data packet that was received.
    pub(super) newest_data: Option<(u64, Record)>,
    /// Position of the newest packet with an Ack Vector that was received.
    pub(super) newest_vector: Option<u64>,
    /// Data packets that had been taken for lost.
    pub(super) spurious_losses: u64,
    large_len: usize,
    pub(super) large: LargeNews,
}

impl<'t> News<'t> {
    pub(super) fn new(now: Instant, large_len: usize, tell: TellFate<'t>) -> Self {
        Self {
            now,
            tell,
            acked: Count::default(),
            marked: Count::default(),
            lost: Count::default(),
            drops: Drops::default(),
            congestion: None,
            newest_data: None,
            newest_vector: None,
            spurious_losses: 0,
            large_len,
            large: LargeNews::NONE,
        }
    }

    /// The packet at `pos`, `before` as it was known, is reported as received, with a mark or not,
    /// and with a Drop Code that is new. A packet taken for lost has already counted as congestion
    /// and keeps its reported fate. A packet reported again with a mark also counts as marked.
    pub(super) fn note_report(
        &mut self,
        pos: u64,
        before: &Record,
        is_marked: bool,
        code: Option<DropCode>,
    ) {
        let is_new = !before.is_received();
        if is_new && before.has_vector() {
            self.newest_vector = self.newest_vector.max(Some(pos));
        }
        let Some(len) = before.len() else {
            if before.is_withheld() {
                // 4340-12.3-2: a misreport counts as congestion.
                self.note_congestion(pos);
            }
            return;
        };
        if is_new {
            self.large.received_len = self.large.received_len.max(usize::from(len));
            if self.newest_data.is_none_or(|(newest, _)| newest < pos) {
                self.newest_data = Some((pos, *before));
            }
        }
        if before.is(State::Lost) {
            self.spurious_losses += 1;
        } else if is_marked && !before.is(State::Marked) {
            count(&mut self.marked, len);
            self.note_congestion(pos);
        } else if is_new {
            count(&mut self.acked, len);
        }
        if let Some(code) = code {
            self.note_drop(pos, code);
        }
        if before.is_open() {
            let fate = match code {
                Some(code) => Fate::RxDropped(code.number()),
                None if is_marked => Fate::AckedCe,
                None => Fate::Acked,
            };
            self.tell(before, fate);
        }
    }

    /// The packet at `pos` is taken for lost.
    pub(super) fn note_lost(&mut self, pos: u64, record: &Record) {
        if let Some(len) = record.len() {
            count(&mut self.lost, len);
            self.note_congestion(pos);
            self.note_gone(len);
            self.tell(record, Fate::Lost);
        }
    }

    /// The packet has left the network, and no report on it will follow.
    pub(super) fn note_passed(&mut self, record: &Record) {
        if let Some(len) = record.len() {
            self.note_gone(len);
            self.tell(record, Fate::Sent);
        }
    }

    /// Tells the fate of the packet's data, if the application waits for it.
    fn tell(&mut self, record: &Record, fate: Fate) {
        record.tell(&mut *self.tell, fate);
    }

    fn note_gone(&mut self, len: u16) {
        let len = usize::from(len);
        if len > self.large_len {
            self.large.note_gone(len);
        }
    }

    fn note_congestion(&mut self, pos: u64) {
        self.congestion = self.congestion.max(Some(pos));
    }

    /// The peer's host dropped the packet at `pos`. The codes that mean corruption, and those whose
    /// meaning is unknown, count as marks (4340-11.7.2-4).
    fn note_drop(&mut self, pos: u64, code: DropCode) {
        let drops = &mut self.drops;
        match code.number() {
            0 => drops.protocol += 1,
            1 => drops.not_listening += 1,
            2 => drops.receive_buffer += 1,
            _ => {
                drops.corrupt += 1;
                self.note_congestion(pos);
            }
        }
    }
}

/// One more packet of `len` bytes.
fn count(count: &mut Count, len: u16) {
    count.packets += 1;
    count.bytes += u64::from(len);
}
