//! The memory of a ring for loom: like `src/mem.rs`, but entries are not atomic, and every access to
//! them that is not ordered by the indexes is found.

pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

use crate::layout::Layout;
use loom::cell::Cell;
use std::rc::Rc;

/// Short, to have few words.
pub(crate) const LINE: usize = 2;

#[derive(Clone)]
pub(crate) struct Memory {
    words: Rc<Words>,
}

struct Words {
    atomics: Vec<AtomicU64>,
    /// What was published in each of them.
    published: Vec<Cell<u64>>,
    cells: Vec<Cell<u64>>,
}

impl Memory {
    pub(crate) fn plain(layout: &Layout) -> Self {
        // The entries begin with those of the sending lane.
        let cells_at = layout.slots.at(0);
        let words = Words {
            atomics: (0..cells_at).map(|_| AtomicU64::new(0)).collect(),
            published: (0..cells_at).map(|_| Cell::new(0)).collect(),
            cells: (cells_at..layout.words()).map(|_| Cell::new(0)).collect(),
        };
        Self {
            words: Rc::new(words),
        }
    }

    pub(crate) fn atomic(&self, at: usize) -> &AtomicU64 {
        &self.words.atomics[at]
    }

    /// No load for loom: it plays a store against the last load before it, and would forget the
    /// other side's for this one.
    pub(crate) fn own(&self, at: usize) -> u64 {
        self.words.published[at].get()
    }

    pub(crate) fn publish(&self, at: usize, value: u64) {
        self.words.published[at].set(value);
        self.atomic(at).store(value, Ordering::Release);
    }

    pub(crate) fn get(&self, at: usize) -> u64 {
        self.cell(at).get()
    }

    pub(crate) fn set(&self, at: usize, value: u64) {
        self.cell(at).set(value);
    }

    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        for (at, chunk) in (at..).zip(bytes.chunks_mut(8)) {
            chunk.copy_from_slice(&self.get(at).to_ne_bytes()[..chunk.len()]);
        }
    }

    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        for (at, chunk) in (at..).zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            self.set(at, u64::from_ne_bytes(padded));
        }
    }

    /// It is of one process.
    #[expect(clippy::unused_self, reason = "so that it is asked like the real one")]
    pub(crate) fn is_taken_back(&self) -> bool {
        false
    }

    fn cell(&self, at: usize) -> &Cell<u64> {
        &self.words.cells[at - self.words.atomics.len()]
    }
}

impl core::fmt::Debug for Memory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Memory")
    }
}
