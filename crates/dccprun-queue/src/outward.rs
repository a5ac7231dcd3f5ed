//! A queue from several producers to one consumer: datagrams to send.
//!
//! 1. A producer claims entries: it moves the tail forward by compare-and-swap, at most 128 entries beyond the head.
//! 2. It writes the data, and then the position plus 1 as the sequence of each entry, the first entry last (Release).
//! 3. The consumer finds the sequence of its next entry (Acquire), copies the data, and moves the head forward (Release).
//!
//! The consumer announces its sleep, and a producer that it has found no room. Each side writes first and then looks at the
//! other's word, with a sequentially consistent fence between: at least one sees the other. The caller chooses
//! how to wake a sleeper.
//!
//! The consumer trusts nothing that it reads: a program can lose and damage its own datagrams only.

use crate::memory::{
    ASLEEP, ENTRIES, ENTRY_BYTES, FULL, HEAD, LIMIT, Memory, OPEN, TAIL, entries_of, positions,
};
use core::iter::zip;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use dccp_ring::shared::{read_words, write_words};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

#[cfg(test)]
mod tests;

/// The longest datagram in bytes: a jumbo frame.
pub const LEN_MAX: usize = 9216;

/// The result of a push.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pushed {
    /// The datagram is in the queue.
    Done {
        /// The consumer has announced its sleep, and no other producer wakes it.
        sleeps: bool,
        /// There is no room for another one of this length.
        is_full: bool,
    },
    /// There is no room.
    Full,
    /// The datagram is longer than the limit.
    TooLong,
    /// The consumer takes no more datagrams, or this one has more than [`LEN_MAX`] bytes.
    Refused,
}

/// The program has broken the rules of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Broken;

/// A side that fills the queue.
#[derive(Debug)]
pub struct Producer {
    memory: Memory,
}

/// The side that empties the queue. Dropping it ends the queue, and releases its memory.
#[derive(Debug)]
pub struct Consumer {
    memory: Memory,
    /// The next position.
    head: u64,
}

/// The tail, if `need` entries behind it are free.
fn tail_before_room(memory: &Memory, need: u64) -> Option<u64> {
    // In this order, so that no head is beyond the tail.
    let head = memory.word(HEAD).load(Ordering::Acquire);
    let tail = memory.word(TAIL).load(Ordering::Relaxed);
    (tail.wrapping_sub(head).saturating_add(need) <= ENTRIES).then_some(tail)
}

impl Producer {
    /// Attaches the queue of a consumer.
    ///
    /// # Errors
    /// When the descriptor is no queue, or there is no memory to map it.
    pub fn attach(descriptor: impl AsFd) -> io::Result<Self> {
        let memory = Memory::attach(descriptor)?;
        Ok(Self { memory })
    }

    /// Copies a datagram into the queue.
    pub fn push(&self, datagram: &[u8]) -> Pushed {
        self.put(datagram.len(), |data| {
            for (words, part) in zip(data, datagram.chunks(ENTRY_BYTES)) {
                write_words(words, part);
            }
        })
    }

    /// Copies a datagram of several parts into the queue.
    pub fn push_parts<'a>(&self, parts: impl Iterator<Item = &'a [u8]> + Clone) -> Pushed {
        let len = parts
            .clone()
            .map(<[u8]>::len)
            .fold(0, usize::saturating_add);
        self.put(len, |data| {
            let mut gathered = [0; ENTRY_BYTES];
            let mut filled = 0;
            for mut part in parts {
                while !part.is_empty() {
                    let (now, rest) = part.split_at(part.len().min(ENTRY_BYTES - filled));
                    gathered[filled..filled + now.len()].copy_from_slice(now);
                    filled += now.len();
                    part = rest;
                    if filled == ENTRY_BYTES {
                        // The program may have made the parts longer meanwhile.
                        let Some(words) = data.next() else { return };
                        write_words(words, &gathered);
                        filled = 0;
                    }
                }
            }
            if let Some(words) = data.next() {
                write_words(words, &gathered[..filled]);
            }
        })
    }

    /// Claims the entries of a datagram, has `write` fill their data, and hands them over.
    fn put<'a>(
        &'a self,
        len: usize,
        write: impl FnOnce(&mut dyn Iterator<Item = &'a [AtomicU64]>),
    ) -> Pushed {
        let memory = &self.memory;
        // The end of the queue zeroes both words. Read in this order, a limit of 0 for this reason means `Refused`.
        let limit = memory.word(LIMIT).load(Ordering::Acquire);
        if len > LEN_MAX || memory.word(OPEN).load(Ordering::Relaxed) == 0 {
            return Pushed::Refused;
        }
        if len as u64 > limit {
            return Pushed::TooLong;
        }
        let need = entries_of(len);
        let Some(first) = claim(memory, need) else {
            return Pushed::Full;
        };
        memory.entry(first).len.store(len as u64, Ordering::Relaxed);
        write(&mut positions(first, need).map(|position| memory.entry(position).data));
        for position in positions(first, need).rev() {
            memory
                .entry(position)
                .sequence
                .store(position.wrapping_add(1), Ordering::Release);
        }
        fence(Ordering::SeqCst);
        let asleep = memory.word(ASLEEP);
        Pushed::Done {
            sleeps: asleep.load(Ordering::Relaxed) != 0 && asleep.swap(0, Ordering::Relaxed) != 0,
            is_full: tail_before_room(memory, need).is_none(),
        }
    }

    /// Announces that a producer waits for room for a datagram of `len` bytes. Returns `false` if there is room.
    pub fn ask_for_room(&self, len: usize) -> bool {
        self.memory.word(FULL).store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        tail_before_room(&self.memory, entries_of(len)).is_none()
    }

    /// Sets the greatest length of a datagram, as the consumer does: the path has become wider.
    pub fn set_limit(&self, bytes: usize) {
        self.memory.set_limit(bytes);
    }

    /// Refuses datagrams from now on, of all producers.
    pub fn close(&self) {
        self.memory.word(OPEN).store(0, Ordering::Relaxed);
    }
}

/// Claims entries, and returns the position of the first.
fn claim(memory: &Memory, need: u64) -> Option<u64> {
    let word = memory.word(TAIL);
    loop {
        let tail = tail_before_room(memory, need)?;
        let next = tail.wrapping_add(need);
        let claimed = word.compare_exchange_weak(tail, next, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_ok() {
            return Some(tail);
        }
    }
}

impl Consumer {
    /// A new queue, and its descriptor for producers.
    ///
    /// # Errors
    /// When the system has no memory or descriptor.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (memory, descriptor) = Memory::create()?;
        memory.set_limit(LEN_MAX);
        Ok((Self { memory, head: 0 }, descriptor))
    }

    /// Sets the greatest length of a datagram, at first [`LEN_MAX`]. Those in the queue stay.
    pub fn set_limit(&self, bytes: usize) {
        self.memory.set_limit(bytes);
    }

    /// Copies the next datagram into `room`, which has [`LEN_MAX`] bytes, and returns its length; `None`: none waits.
    ///
    /// # Errors
    /// When the program has broken the rules.
    pub fn take(&mut self, room: &mut [u8]) -> Result<Option<usize>, Broken> {
        if !self.is_filled(self.head) {
            return Ok(None);
        }
        let len = self.memory.entry(self.head).len.load(Ordering::Relaxed);
        let len = usize::try_from(len).map_err(|_| Broken)?;
        let room = room.get_mut(..len.min(LEN_MAX)).ok_or(Broken)?;
        let count = entries_of(room.len());
        // The first entry is filled last.
        if len > LEN_MAX || !positions(self.head, count).all(|p| self.is_filled(p)) {
            return Err(Broken);
        }
        for (position, part) in zip(positions(self.head, count), room.chunks_mut(ENTRY_BYTES)) {
            read_words(self.memory.entry(position).data, part);
        }
        self.head = self.head.wrapping_add(count);
        Ok(Some(len))
    }

    /// Frees the entries of the datagrams that were taken. Returns whether to wake a producer that waits for room: it does,
    /// and most of the queue is free.
    pub fn free(&self) -> bool {
        self.memory.word(HEAD).store(self.head, Ordering::Release);
        fence(Ordering::SeqCst);
        let full = self.memory.word(FULL);
        if full.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let used = self
            .memory
            .word(TAIL)
            .load(Ordering::Relaxed)
            .wrapping_sub(self.head);
        used <= ENTRIES / 4 && full.swap(0, Ordering::Relaxed) != 0
    }

    /// Announces that this side sleeps until a producer wakes it. Returns `false` if a datagram waits.
    pub fn announce_sleep(&self) -> bool {
        self.memory.word(ASLEEP).store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_empty = !self.is_filled(self.head);
        if !is_empty {
            self.memory.word(ASLEEP).store(0, Ordering::Relaxed);
        }
        is_empty
    }

    /// Whether the producer has filled the entry at a position.
    fn is_filled(&self, position: u64) -> bool {
        let sequence = self.memory.entry(position).sequence;
        sequence.load(Ordering::Acquire) == position.wrapping_add(1)
    }
}
