//! The memory of a ring for loom: like `src/mem.rs`, but with non-atomic entries. Loom detects every access
//! to them that the indexes do not order.

pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

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
    /// The last published value of each.
    published: Vec<Cell<u64>>,
    cells: Vec<Cell<u64>>,
}

impl Memory {
    pub(crate) fn plain(atomic_words: usize, entry_words: usize) -> Self {
        let words = Words {
            atomics: (0..atomic_words).map(|_| AtomicU64::new(0)).collect(),
            published: (0..atomic_words).map(|_| Cell::new(0)).collect(),
            cells: (0..entry_words).map(|_| Cell::new(0)).collect(),
        };
        Self {
            words: Rc::new(words),
        }
    }

    pub(crate) fn atomic(&self, at: usize) -> &AtomicU64 {
        &self.words.atomics[at]
    }

    /// Not a load for loom. Loom orders a store only against the last load before it, so a load here would
    /// hide the other side's load.
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

    /// Always false: the memory belongs to one process.
    #[expect(clippy::unused_self, reason = "so that it is asked like the real one")]
    pub(crate) fn is_taken_back(&self) -> bool {
        false
    }

    pub(crate) fn open(&self) -> &[AtomicU64] {
        &self.words.atomics
    }

    /// Always false: the models use the calls only.
    #[expect(clippy::unused_self, reason = "so that it is asked like the real one")]
    pub(crate) fn is_direct(&self) -> bool {
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
