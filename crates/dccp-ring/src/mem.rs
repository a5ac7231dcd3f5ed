//! The memory of a ring: words that two sides read and write at the same time.
//!
//! Every access is atomic, that to data too: so whatever the other side does, however it breaks the
//! rules, a read gives some value and never undefined behaviour. Relaxed loads and stores of words are
//! plain instructions on all machines. The module `shared` below this one is the crate's only unsafe
//! code.
//!
//! The tests replace this module by one in which entries are not atomic, and which finds every access
//! to them that the indexes do not order (`tests/loom`).

#[cfg(target_os = "linux")]
pub(crate) mod shared;

pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};

use crate::layout::Layout;
use core::fmt;
use std::sync::Arc;

/// Words that keep one side's writing apart from the other's: two cache lines, because processors
/// fetch them in pairs.
pub(crate) const LINE: usize = 16;

/// A ring's memory. Clones are the same memory.
#[derive(Clone)]
pub(crate) struct Memory {
    backing: Backing,
}

#[derive(Clone)]
enum Backing {
    /// Of this process; it begins at `start`, where a cache line does.
    Plain {
        words: Arc<[AtomicU64]>,
        start: usize,
    },
    /// Shared with another process.
    #[cfg(target_os = "linux")]
    Shared(Arc<shared::Mapping>),
}

impl Memory {
    /// Zeroed memory of this process.
    pub(crate) fn plain(layout: &Layout) -> Self {
        let words = (0..layout.words() + LINE).map(|_| AtomicU64::new(0));
        let words: Arc<[AtomicU64]> = words.collect();
        let start = words.as_ptr().align_offset(LINE * size_of::<AtomicU64>());
        // Where the alignment cannot be had, the ring is only slower.
        let start = start.min(LINE);
        Self {
            backing: Backing::Plain { words, start },
        }
    }

    /// Memory of two processes.
    #[cfg(target_os = "linux")]
    pub(crate) fn shared(mapping: shared::Mapping) -> Self {
        Self {
            backing: Backing::Shared(Arc::new(mapping)),
        }
    }

    /// A word that both sides may use at any time.
    pub(crate) fn atomic(&self, at: usize) -> &AtomicU64 {
        &self.words()[at]
    }

    /// A word that only this side may write, as it stands there now.
    pub(crate) fn own(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// A word of an entry that is this side's.
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// Writes a word of an entry that is this side's.
    pub(crate) fn set(&self, at: usize, value: u64) {
        self.words()[at].store(value, Ordering::Relaxed);
    }

    /// Copies bytes out of an entry that is this side's.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        let words = &self.words()[at..at + bytes.len().div_ceil(8)];
        let (whole, rest) = bytes.as_chunks_mut::<8>();
        for (chunk, word) in whole.iter_mut().zip(words) {
            *chunk = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        if let Some(last) = words.get(whole.len()) {
            let last = last.load(Ordering::Relaxed).to_ne_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Copies bytes into an entry that is this side's.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        let words = &self.words()[at..at + bytes.len().div_ceil(8)];
        let (whole, rest) = bytes.as_chunks::<8>();
        for (chunk, word) in whole.iter().zip(words) {
            word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
        }
        if let Some(last) = words.get(whole.len()) {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            last.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    fn words(&self) -> &[AtomicU64] {
        match &self.backing {
            Backing::Plain { words, start } => &words[*start..],
            #[cfg(target_os = "linux")]
            Backing::Shared(mapping) => mapping.words(),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
