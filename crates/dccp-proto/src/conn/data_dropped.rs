//! Stores which arrived data did not reach the application and reports them as Data Dropped (RFC 4340 §11.7).

use super::ack_records::AckRecords;
use crate::config::bounds::DATA_DROPPED_RUNS;
use crate::seq::Seq;
use crate::wire::ack_cells::{DropBlock, DropCode, Run};
use crate::wire::options::OPTIONS_MAX;
use crate::wire::{Opt, OptionWriter};
use std::collections::VecDeque;

/// The drops that the peer may not know of.
///
/// Reports repeat until a packet with one is acknowledged (4340-11.7-6). Drops that the options of a
/// packet cannot hold are not reported again once the packet arrived, as with Ack Vectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataDropped {
    /// Newest first, apart from each other; at most [`DATA_DROPPED_RUNS`], then the oldest is
    /// forgotten.
    runs: VecDeque<Run<DropCode>>,
    records: AckRecords,
}

/// The most blocks in one option: its length byte counts to 255.
const OPTION_BLOCKS: usize = 253;

/// The greatest distance that the options of a packet can cover, if all blocks are Normal Blocks.
const REACH: u64 = OPTIONS_MAX as u64 * DropBlock::NORMAL_LEN_MAX as u64;

impl DataDropped {
    /// The data of packet `seq`, which was received, was dropped. A packet that is already known as
    /// dropped keeps its code (4340-11.7-8).
    pub(crate) fn on_drop(&mut self, seq: Seq, code: DropCode) {
        let newer = self.runs.partition_point(|run| run.oldest.is_after(seq));
        if self
            .runs
            .get(newer)
            .is_some_and(|run| !run.newest.is_before(seq))
        {
            return;
        }
        self.records.on_revised(seq);
        let mut run = Run {
            newest: seq,
            oldest: seq,
            said: code,
        };
        if let Some(older) = self
            .runs
            .get(newer)
            .filter(|r| r.newest.next() == seq && r.said == code)
        {
            run.oldest = older.oldest;
            self.runs.remove(newer);
        }
        if let Some(before) = newer.checked_sub(1)
            && let Some(neighbour) = self.runs.get_mut(before)
            && neighbour.oldest == seq.next()
            && neighbour.said == code
        {
            neighbour.oldest = run.oldest;
            return;
        }
        self.runs.insert(newer, run);
        self.runs.truncate(DATA_DROPPED_RUNS);
    }

    /// The peer has sent nothing after `newest` (4340-7.5.4-10).
    pub(crate) fn roll_back(&mut self, newest: Seq) {
        while let Some(run) = self
            .runs
            .front_mut()
            .filter(|run| run.newest.is_after(newest))
        {
            if run.oldest.is_after(newest) {
                self.runs.pop_front();
            } else {
                run.newest = newest;
            }
        }
        self.records = AckRecords::default();
    }

    /// Adds Data Dropped options with the newest drops that fit into `room` bytes, to our packet
    /// `own`, which leaves now and acknowledges `ack`. Returns whether at least one was written.
    pub(crate) fn write(&mut self, own: Seq, ack: Seq, w: &mut OptionWriter, room: usize) -> bool {
        self.forget_up_to(ack.minus(REACH));
        let Some(oldest) = self.runs.back().map(|run| run.oldest) else {
            return false;
        };
        let room = room.min(w.remaining());
        let capacity = room / 255 * OPTION_BLOCKS + (room % 255).saturating_sub(2);
        let mut blocks = [0; OPTIONS_MAX];
        let mut used = 0;
        let mut useful = 0;
        for (place, block) in blocks.iter_mut().take(capacity).zip(self.blocks(ack)) {
            *place = block.to_byte();
            used += 1;
            // Normal Blocks at the end say nothing (4340-11.7-3).
            if block.code.is_some() {
                useful = used;
            }
        }
        let blocks = blocks.get(..useful).unwrap_or_default();
        for blocks in blocks.chunks(OPTION_BLOCKS) {
            let written = w.push(&Opt::DataDropped(blocks));
            debug_assert!(written.is_ok(), "room was counted");
        }
        if useful > 0 {
            self.records.on_sent(own, ack, ack.steps_from(oldest) + 1);
        }
        useful > 0
    }

    /// The peer received our packet `own`: what it reported need not be reported again. To be called
    /// for every such packet; those without a report do no harm.
    pub(crate) fn on_acked(&mut self, own: Seq) {
        if let Some(covered) = self.records.on_acked(own) {
            self.forget_up_to(covered);
        }
    }

    /// The report from packet `ack` backwards (4340-11.7-1).
    fn blocks(&self, ack: Seq) -> impl Iterator<Item = DropBlock> {
        let mut next = ack;
        let known = self
            .runs
            .iter()
            .filter(move |run| !run.newest.is_after(ack));
        known.flat_map(move |run| {
            let normal = next.steps_from(run.newest);
            let dropped = run.newest.steps_from(run.oldest) + 1;
            next = run.oldest.minus(1);
            let normal = split(None, normal, DropBlock::NORMAL_LEN_MAX);
            normal.chain(split(Some(run.said), dropped, DropBlock::DROPPED_LEN_MAX))
        })
    }

    fn forget_up_to(&mut self, covered: Seq) {
        while let Some(run) = self.runs.back_mut() {
            if run.oldest.is_after(covered) {
                return;
            }
            if run.newest.is_after(covered) {
                run.oldest = covered.next();
                return;
            }
            self.runs.pop_back();
        }
    }
}

/// Blocks for `count` packets of one kind, of at most `len_max` packets each.
fn split(code: Option<DropCode>, count: u64, len_max: u8) -> impl Iterator<Item = DropBlock> {
    let whole = count / u64::from(len_max);
    let rest = u8::try_from(count % u64::from(len_max)).unwrap_or(0);
    let lens = (0..whole)
        .map(move |_| len_max)
        .chain((rest > 0).then_some(rest));
    lens.map(move |len| DropBlock { code, len })
}

#[cfg(test)]
mod tests;
