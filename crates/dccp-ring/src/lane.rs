//! A one-way queue of entries, from one producer to one consumer.
//!
//! Each side keeps its own index and a copy of the other's. It reads the other's again only when the copy
//! shows no progress.

use crate::error::Violation;
use crate::index::START;
use crate::layout::{Control, Entries};
use crate::mem::{Memory, Ordering};

/// The place of a lane in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub(crate) entries: Entries,
    /// The producer's index.
    pub(crate) filled: Control,
    /// The consumer's.
    pub(crate) taken: Control,
}

/// The side that fills entries.
#[derive(Debug)]
pub(crate) struct Producer {
    lane: Lane,
    filled: u32,
    /// The consumer's index as last read.
    taken: u32,
}

/// The side that takes entries.
#[derive(Debug)]
pub(crate) struct Consumer {
    lane: Lane,
    taken: u32,
    /// The published value of `taken`.
    given_back: u32,
    /// The producer's index as last read.
    filled: u32,
}

impl Producer {
    pub(crate) fn new(lane: Lane) -> Self {
        Self {
            lane,
            filled: START,
            taken: START,
        }
    }

    /// The word at which the next free entry begins, if there is one.
    pub(crate) fn free(&mut self, memory: &Memory) -> Result<Option<usize>, Violation> {
        if self.waiting() == self.lane.entries.count {
            // The consumer must have read the entries before we overwrite them: Acquire.
            let taken = read(memory, self.lane.taken)?;
            if taken.wrapping_sub(self.taken) > self.waiting() {
                return Err(Violation::Index);
            }
            self.taken = taken;
        }
        let has_room = self.waiting() < self.lane.entries.count;
        Ok(has_room.then(|| self.lane.entries.at(self.filled)))
    }

    /// Marks that entry as filled; [`publish`](Self::publish) shows it.
    pub(crate) fn advance(&mut self) {
        self.filled = self.filled.wrapping_add(1);
    }

    /// Shows the consumer the filled entries.
    pub(crate) fn publish(&self, memory: &Memory) {
        write(memory, self.lane.filled, self.filled);
    }

    /// The number of entries that the consumer has not freed.
    pub(crate) fn not_taken(&self, memory: &Memory) -> u32 {
        let taken = read(memory, self.lane.taken).unwrap_or(self.taken);
        let entries = self.filled.wrapping_sub(taken);
        entries.min(self.lane.entries.count)
    }

    fn waiting(&self) -> u32 {
        self.filled.wrapping_sub(self.taken)
    }
}

impl Consumer {
    pub(crate) fn new(lane: Lane) -> Self {
        Self {
            lane,
            taken: START,
            given_back: START,
            filled: START,
        }
    }

    /// The word at which the oldest entry begins, if there is one.
    pub(crate) fn next(&mut self, memory: &Memory) -> Result<Option<usize>, Violation> {
        if self.filled == self.taken {
            let filled = read(memory, self.lane.filled)?;
            if memory.is_taken_back() {
                return Ok(None);
            }
            // No entry is filled before it was freed, so a loop that drains the lane ends.
            let kept = self.taken.wrapping_sub(self.given_back);
            if filled.wrapping_sub(self.taken) > self.lane.entries.count - kept {
                return Err(Violation::Index);
            }
            self.filled = filled;
        }
        Ok((self.filled != self.taken).then(|| self.lane.entries.at(self.taken)))
    }

    /// Continues behind the entries that the application has freed without this type.
    pub(crate) fn adopt(&mut self, memory: &Memory) -> Result<(), Violation> {
        self.taken = read(memory, self.lane.taken)?;
        self.given_back = self.taken;
        self.filled = self.taken;
        Ok(())
    }

    /// Marks that entry as read; [`give_back`](Self::give_back) frees it. Returns `false` if the memory
    /// was taken back meanwhile: the bytes read are not an entry, and no more will follow.
    #[must_use]
    pub(crate) fn advance(&mut self, memory: &Memory) -> bool {
        if memory.is_taken_back() {
            self.filled = self.taken;
            return false;
        }
        self.taken = self.taken.wrapping_add(1);
        true
    }

    /// Frees the entries that have been read.
    pub(crate) fn give_back(&mut self, memory: &Memory) {
        self.given_back = self.taken;
        write(memory, self.lane.taken, self.taken);
    }
}

fn read(memory: &Memory, index: Control) -> Result<u32, Violation> {
    let word = memory.atomic(index.at()).load(Ordering::Acquire);
    u32::try_from(word).map_err(|_| Violation::Index)
}

fn write(memory: &Memory, index: Control, value: u32) {
    memory.publish(index.at(), value.into());
}
