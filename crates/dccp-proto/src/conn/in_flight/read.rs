//! Reads one acknowledgement: which packets it reports, which it lets us take for lost.

use super::news::News;
use super::record::State;
use super::report::{DropCursor, Reports, Validity};
use super::{InFlight, index};
use crate::wire::{AckState, DropCode, Options};
use core::ops::Range;

impl InFlight {
    /// Reads the Ack Vectors and Data Dropped options of an acknowledgement of the packet at
    /// `named`. Returns whether there was a valid vector.
    pub(super) fn read_reports(
        &mut self,
        options: Options<'_>,
        named: u64,
        news: &mut News<'_>,
    ) -> bool {
        let reports = Reports::new(options, named);
        let vector = reports.vector();
        let drops = reports.drops();
        if vector == Validity::Invalid {
            self.oddities.invalid_vectors += 1;
        }
        if drops == Validity::Invalid {
            self.oddities.invalid_drops += 1;
        }
        let floor = if core::mem::take(&mut self.is_deep_read_due) {
            self.front
        } else {
            self.decided
        };
        let drop_runs = (drops == Validity::Valid).then(|| reports.drop_runs());
        let drop_runs = drop_runs.into_iter().flatten();
        if vector == Validity::Valid {
            self.read_vector(&reports, floor, DropCursor::new(drop_runs), news);
        } else {
            self.read_drops(drop_runs, floor, news);
        }
        // 4340-11.4-2: the packet that is named is received, whatever its cell says.
        self.receive(named, false, None, news);
        vector == Validity::Valid
    }

    /// Reads the vector down to `floor`. State 2 is taken for state 3 (4340-11.4-6), as is what no
    /// cell covers (4340-11.4-5). Drop Codes count only for packets that the vector reports as
    /// received (4340-11.7-7).
    fn read_vector(
        &mut self,
        reports: &Reports<'_>,
        floor: u64,
        mut codes: DropCursor<impl Iterator<Item = (Range<u64>, Option<DropCode>)>>,
        news: &mut News<'_>,
    ) {
        for (run, state) in reports.vector_runs() {
            if matches!(state, AckState::Received | AckState::Marked) {
                let is_marked = state == AckState::Marked;
                for pos in (run.start.max(floor)..run.end).rev() {
                    self.receive(pos, is_marked, codes.code_of(pos), news);
                }
            }
            if run.start <= floor {
                break;
            }
        }
    }

    /// Without a vector, a Drop Block is the news that its packets arrived.
    fn read_drops(
        &mut self,
        runs: impl Iterator<Item = (Range<u64>, Option<DropCode>)>,
        floor: u64,
        news: &mut News<'_>,
    ) {
        for (run, code) in runs {
            if code.is_some() {
                for pos in (run.start.max(floor)..run.end).rev() {
                    self.receive(pos, false, code, news);
                }
            }
            if run.start <= floor {
                break;
            }
        }
    }

    /// The packet at `pos` is reported as received. Neither a receipt nor a mark is ever taken back
    /// (4340-11.4.1-1); what is no longer known is ignored (4340-11.4.1-3).
    fn receive(&mut self, pos: u64, is_marked: bool, code: Option<DropCode>, news: &mut News<'_>) {
        let at = pos.checked_sub(self.front).map(index);
        let Some(record) = at.and_then(|i| self.records.get_mut(i)) else {
            return;
        };
        if record.is_received() && !is_marked && code.is_none() {
            return;
        }
        let before = *record;
        if !before.is_received() {
            self.newest_received.note(pos);
            self.pipe.remove(&before);
            record.set_state(State::Received);
        }
        if is_marked {
            record.set_state(State::Marked);
        }
        let mut code = code;
        if let Some(len) = before.len() {
            // 4340-11.7-7: a Drop Code is never changed.
            code = code.filter(|_| record.note_drop());
            if !before.is_received() {
                self.delivery.on_delivered(news.now, u32::from(len));
            }
        }
        news.note_report(pos, &before, is_marked, code);
    }

    /// Takes for lost what is not received although [`NUM_DUP_ACK`] later packets are (4341-5-3).
    /// `named` bounds what the vector just read can have covered.
    pub(super) fn infer_losses(&mut self, named: u64, news: &mut News<'_>) {
        let limit = self.newest_received.oldest().min(named);
        for pos in self.decided..limit {
            let Some(record) = self.records.get_mut(index(pos - self.front)) else {
                break;
            };
            if record.is_open() {
                self.pipe.remove(record);
                record.set_state(State::Lost);
                news.note_lost(pos, record);
            }
        }
        self.decided = self.decided.max(limit);
    }

    /// All packets older than the one at `named` have left the network, and no report on them will follow.
    pub(super) fn pass_older(&mut self, named: u64, news: &mut News<'_>) {
        for pos in self.decided..named {
            let Some(record) = self.records.get_mut(index(pos - self.front)) else {
                break;
            };
            if record.is_open() {
                self.pipe.remove(record);
                record.set_state(State::Passed);
                news.note_passed(record);
            }
        }
        self.decided = self.decided.max(named);
    }
}
