//! The layout that both kinds of queue have, in words of 8 bytes and native byte order.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use dccp_ring::shared::Mapping;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Datagrams that wait at most.
pub const DATAGRAMS_MAX: usize = 128;

/// A power of two.
pub(crate) const ENTRIES: u64 = DATAGRAMS_MAX as u64;
/// An odd number of cache lines, so that equal parts of entries do not compete for the same places of a cache.
const ENTRY_WORDS: usize = 264;
const HEADER_WORDS: usize = 2;
/// Bytes of an entry's data.
pub(crate) const ENTRY_BYTES: usize = (ENTRY_WORDS - HEADER_WORDS) * 8;

/// Words of a pair of cache lines, which processors fetch together.
const PAIR: usize = 16;
/// Zero: the queue takes no more datagrams.
pub(crate) const OPEN: usize = 0;
/// The greatest length of a datagram of an outward queue. It changes rarely too.
pub(crate) const LIMIT: usize = 1;
/// Where the next datagram goes.
pub(crate) const TAIL: usize = PAIR;
/// Where the next datagram is.
pub(crate) const HEAD: usize = 2 * PAIR;
/// The consumer of an outward queue sleeps.
pub(crate) const ASLEEP: usize = 3 * PAIR;
/// A producer waits for room.
pub(crate) const FULL: usize = 4 * PAIR;
/// Bells of an inward queue in the socket.
pub(crate) const BELLS: usize = 5 * PAIR;
/// The program takes datagrams from an inward queue, and none from the socket any more.
pub(crate) const SWITCHED: usize = 6 * PAIR;
/// A thread of the program reads the socket, whose next message may be the first bell.
pub(crate) const READING: usize = 7 * PAIR;
/// Threads of the program that wait at the socket of an inward queue.
pub(crate) const WAITERS: usize = 8 * PAIR;
/// The program has the inward queue and will use it.
pub(crate) const WANTED: usize = 9 * PAIR;
const FIRST_ENTRY: usize = 10 * PAIR;
const WORDS: usize = FIRST_ENTRY + DATAGRAMS_MAX * ENTRY_WORDS;

/// The memory of a queue, which has all its words.
#[derive(Debug)]
pub(crate) struct Memory(Mapping);

/// An entry: its sequence, the length of the datagram that begins there, and data.
pub(crate) struct Entry<'a> {
    pub(crate) sequence: &'a AtomicU64,
    pub(crate) len: &'a AtomicU64,
    pub(crate) data: &'a [AtomicU64],
}

impl Memory {
    /// A new queue, which is open, and its descriptor.
    pub(crate) fn create() -> io::Result<(Self, OwnedFd)> {
        let (mapping, descriptor) = Mapping::create(WORDS)?;
        let memory = Self(mapping);
        memory.word(OPEN).store(1, Ordering::Relaxed);
        Ok((memory, descriptor))
    }

    /// A queue that another process has created.
    pub(crate) fn attach(descriptor: impl AsFd) -> io::Result<Self> {
        let mapping = Mapping::attach(descriptor.as_fd())?;
        if mapping.words().len() < WORDS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self(mapping))
    }

    /// Keeps datagrams for as long as another process maps the queue.
    pub(crate) fn keep_contents(&mut self) {
        self.0.keep_contents();
    }

    /// One of the words for control.
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        &self.0.words()[at]
    }

    /// Sets the greatest length of a datagram of an outward queue.
    pub(crate) fn set_limit(&self, bytes: usize) {
        let limit = self.word(LIMIT);
        // A write would cost the other side a cache miss.
        if limit.load(Ordering::Relaxed) != bytes as u64 {
            limit.store(bytes as u64, Ordering::Relaxed);
        }
    }

    /// The word on which the producer of an inward queue waits.
    pub(crate) fn full(&self) -> &AtomicU32 {
        self.0.half_word(FULL)
    }

    /// The entry at a position.
    pub(crate) fn entry(&self, position: u64) -> Entry<'_> {
        let index = (position % ENTRIES) as usize;
        let start = FIRST_ENTRY + index * ENTRY_WORDS;
        let words = &self.0.words()[start..start + ENTRY_WORDS];
        Entry {
            sequence: &words[0],
            len: &words[1],
            data: &words[HEADER_WORDS..],
        }
    }
}

/// Entries of a datagram.
pub(crate) fn entries_of(len: usize) -> u64 {
    len.div_ceil(ENTRY_BYTES).max(1) as u64
}

/// The positions of a datagram.
pub(crate) fn positions(first: u64, count: u64) -> impl DoubleEndedIterator<Item = u64> {
    (0..count).map(move |offset| first.wrapping_add(offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_another_kind_is_no_queue() {
        let (_ring, descriptor) = Mapping::create(WORDS - 1).unwrap();
        let attached = Memory::attach(descriptor);
        assert_eq!(attached.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
