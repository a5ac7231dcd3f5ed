//! A queue from one producer to several consumers: received datagrams.
//!
//! 1. The producer finds enough entries that are free. It writes the data, and moves the tail forward (Release).
//! 2. A consumer claims a datagram: it moves the head forward by compare-and-swap, not beyond the tail (Acquire).
//! 3. It copies the data, and then writes the position plus 1 as the sequence of each entry (Release): the entry is free.
//!
//! # Bells
//! The program waits for datagrams with its socket. So the producer, when it has published datagrams and there is no bell,
//! counts a bell and sends it to the socket. A consumer that has emptied the queue claims a bell: it lowers the count. If the
//! queue is still empty, it reads the bell, for which it may have to wait a moment; otherwise it raises the count again.
//!
//! The kernel wakes one of the threads that wait for a message, and a bell that stays wakes no other one. So a consumer that
//! leaves datagrams in the queue while others wait asks for another bell.
//!
//! # Room
//! A producer without room waits on a futex. Consumers wake it once half of the queue is free.

use crate::memory::{
    BELLS, ENTRIES, ENTRY_BYTES, HEAD, Memory, OPEN, READING, SWITCHED, TAIL, WAITERS, WANTED,
    entries_of, positions,
};
use core::iter::zip;
use core::sync::atomic::{AtomicU64, Ordering, fence};
use core::time::Duration;
use dccp_ring::shared::{read_words, write_words};
use rustix::thread::futex;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

#[cfg(test)]
mod tests;

/// The longest datagram in bytes.
pub const LEN_MAX: usize = 65_535;

/// Bells of waiters in the socket at most. Waiters that were killed are counted for ever.
const BELLS_MAX: u64 = 16;

/// The side that fills the queue. Datagrams stay in it when this side is dropped.
#[derive(Debug)]
pub struct Producer {
    memory: Memory,
    /// The position of the next datagram.
    tail: u64,
}

/// A side that empties the queue.
#[derive(Debug)]
pub struct Consumer {
    memory: Memory,
}

/// Whether a datagram stays in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The next call finds it again.
    Peek,
    /// It leaves the queue.
    Take,
}

impl Producer {
    /// A new queue, and its descriptor for consumers.
    ///
    /// # Errors
    /// When the system has no memory or descriptor.
    pub fn create() -> io::Result<(Self, OwnedFd)> {
        let (mut memory, descriptor) = Memory::create()?;
        memory.keep_contents();
        Ok((Self { memory, tail: 0 }, descriptor))
    }

    /// Copies a datagram into the queue. Returns `false` if there is no room. One of more than [`LEN_MAX`] bytes is lost.
    /// Consumers see it after [`publish`](Self::publish).
    pub fn push(&mut self, datagram: &[u8]) -> bool {
        if datagram.len() > LEN_MAX {
            return true;
        }
        let need = entries_of(datagram.len());
        if !self.has_room(need) {
            return false;
        }
        let len = datagram.len() as u64;
        self.memory
            .entry(self.tail)
            .len
            .store(len, Ordering::Relaxed);
        for (position, part) in zip(positions(self.tail, need), datagram.chunks(ENTRY_BYTES)) {
            write_words(self.memory.entry(position).data, part);
        }
        self.tail = self.tail.wrapping_add(need);
        true
    }

    /// Shows the datagrams to consumers. Returns whether to send a bell, which is counted already.
    #[must_use]
    pub fn publish(&self) -> bool {
        self.memory.word(TAIL).store(self.tail, Ordering::Release);
        fence(Ordering::SeqCst);
        let bells = self.memory.word(BELLS);
        bells.load(Ordering::Relaxed) == 0 && {
            bells.fetch_add(1, Ordering::Relaxed);
            true
        }
    }

    /// Whether the program has the queue and will use it.
    pub fn is_wanted(&self) -> bool {
        self.memory.word(WANTED).load(Ordering::Acquire) != 0
    }

    /// Waits for room for a datagram of `len` bytes, at most for `patience`. Publish first.
    pub fn wait_for_room(&self, len: usize, patience: Duration) {
        let full = self.memory.full();
        full.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.has_room(entries_of(len)) {
            full.store(0, Ordering::Relaxed);
            return;
        }
        let patience = futex::Timespec::try_from(patience).ok();
        // The caller looks again, whatever the reason.
        let _ = futex::wait(full, futex::Flags::empty(), 1, patience.as_ref());
        if !self.has_room(entries_of(len)) {
            // A program that changes the word itself gets no busy loop.
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the program wants more datagrams.
    pub fn is_open(&self) -> bool {
        self.memory.word(OPEN).load(Ordering::Relaxed) != 0
    }

    /// Whether the next `need` entries are free.
    fn has_room(&self, need: u64) -> bool {
        positions(self.tail, need).all(|position| {
            let is_new = position < ENTRIES;
            let freed = position.wrapping_sub(ENTRIES).wrapping_add(1);
            let sequence = self.memory.entry(position).sequence;
            is_new || sequence.load(Ordering::Acquire) == freed
        })
    }
}

impl Consumer {
    /// Attaches the queue of a producer.
    ///
    /// # Errors
    /// When the descriptor is no queue, or there is no memory to map it.
    pub fn attach(descriptor: impl AsFd) -> io::Result<Self> {
        let memory = Memory::attach(descriptor)?;
        Ok(Self { memory })
    }

    /// Copies the next datagram into `room`, and cuts what does not fit. Returns its whole length; `None`: none waits.
    pub fn receive(&self, mode: Mode, room: &mut [u8]) -> Option<usize> {
        self.read(mode, |offset, data, len| {
            let len = len.min(room.len().saturating_sub(offset));
            if let Some(room) = room.get_mut(offset..offset + len) {
                read_words(data, room);
            }
        })
    }

    /// As [`receive`](Self::receive), in parts: `copy` gets the bytes at each offset in turn. With [`Mode::Peek`] it may
    /// begin again at offset 0.
    pub fn receive_parts(&self, mode: Mode, mut copy: impl FnMut(usize, &[u8])) -> Option<usize> {
        let mut part = [0; ENTRY_BYTES];
        self.read(mode, |offset, data, len| {
            read_words(data, &mut part[..len]);
            copy(offset, &part[..len]);
        })
    }

    fn read(&self, mode: Mode, mut copy: impl FnMut(usize, &[AtomicU64], usize)) -> Option<usize> {
        let head = self.memory.word(HEAD);
        loop {
            let first = head.load(Ordering::Acquire);
            if first == self.memory.word(TAIL).load(Ordering::Acquire) {
                return None;
            }
            let len = self.memory.entry(first).len.load(Ordering::Relaxed);
            let len = usize::try_from(len).map_or(LEN_MAX, |len| len.min(LEN_MAX));
            let need = entries_of(len);
            // While the head stays, the producer changes none of these entries.
            if mode == Mode::Take {
                let next = first.wrapping_add(need);
                let claimed =
                    head.compare_exchange(first, next, Ordering::Acquire, Ordering::Relaxed);
                if claimed.is_err() {
                    continue;
                }
            }
            for (offset, position) in (0..).step_by(ENTRY_BYTES).zip(positions(first, need)) {
                let part = len.saturating_sub(offset).min(ENTRY_BYTES);
                copy(offset, self.memory.entry(position).data, part);
            }
            match mode {
                Mode::Take => self.give_back(first, need),
                Mode::Peek => {
                    fence(Ordering::Acquire);
                    if head.load(Ordering::Relaxed) != first {
                        continue;
                    }
                }
            }
            return Some(len);
        }
    }

    /// Frees entries, and wakes a producer that waits if half of the queue is free.
    fn give_back(&self, first: u64, count: u64) {
        for position in positions(first, count) {
            let freed = position.wrapping_add(1);
            self.memory
                .entry(position)
                .sequence
                .store(freed, Ordering::Release);
        }
        fence(Ordering::SeqCst);
        let full = self.memory.full();
        if full.load(Ordering::Relaxed) == 0 {
            return;
        }
        let tail = self.memory.word(TAIL).load(Ordering::Relaxed);
        let used = tail.wrapping_sub(self.memory.word(HEAD).load(Ordering::Relaxed));
        if used <= ENTRIES / 2 && full.swap(0, Ordering::Relaxed) != 0 {
            // It fails for addresses that are no memory only.
            let _ = futex::wake(full, futex::Flags::empty(), 1);
        }
    }

    /// Whether no datagram waits.
    pub fn is_empty(&self) -> bool {
        let head = self.memory.word(HEAD).load(Ordering::Acquire);
        head == self.memory.word(TAIL).load(Ordering::Acquire)
    }

    /// Reads bells that an empty queue needs no more: `read_bell` reads one from the socket.
    pub fn settle(&self, read_bell: impl Fn()) {
        let bells = self.memory.word(BELLS);
        let less = |count: u64| count.checked_sub(1);
        while self.is_empty() {
            let claimed = bells.fetch_update(Ordering::Acquire, Ordering::Relaxed, less);
            if claimed.is_err() {
                return;
            }
            fence(Ordering::SeqCst);
            if !self.is_empty() {
                // The producer may have relied on this bell.
                bells.fetch_add(1, Ordering::Release);
                return;
            }
            read_bell();
        }
    }

    /// The program will use the queue: the producer may put datagrams there.
    pub fn want(&self) {
        self.memory.word(WANTED).store(1, Ordering::Release);
    }

    /// Counts a thread that is about to wait for a message at the socket. Returns `false` if a datagram waits.
    pub fn begin_waiting(&self) -> bool {
        self.memory.word(WAITERS).fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.is_empty()
    }

    /// That thread waits no more.
    pub fn end_waiting(&self) {
        self.memory.word(WAITERS).fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether there are datagrams, and threads that wait. Before another bell is asked for, this keeps the bells below a bound:
    /// `read_bell` reads one.
    pub fn leaves_waiters(&self, read_bell: impl Fn()) -> bool {
        fence(Ordering::SeqCst);
        if self.memory.word(WAITERS).load(Ordering::Relaxed) == 0 || self.is_empty() {
            return false;
        }
        let less = |count: u64| (count > BELLS_MAX).then(|| count - 1);
        let bells = self.memory.word(BELLS);
        let claimed = bells.fetch_update(Ordering::Acquire, Ordering::Relaxed, less);
        if claimed.is_ok() {
            read_bell();
        }
        true
    }

    /// Counts a bell that will be sent because this side asked.
    pub fn count_bell(&self) {
        self.memory.word(BELLS).fetch_add(1, Ordering::Release);
    }

    /// Takes a bell back that was counted and could not be sent.
    pub fn uncount_bell(&self) {
        let less = |count: u64| count.checked_sub(1);
        // Another thread that has claimed it waits in vain: a second at most.
        let bells = self.memory.word(BELLS);
        let _ = bells.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Whether the program has found the first bell, behind the last datagram that the socket has carried.
    pub fn is_switched(&self) -> bool {
        self.memory.word(SWITCHED).load(Ordering::Acquire) != 0
    }

    /// The program has found the first bell.
    pub fn switch(&self) {
        self.memory.word(SWITCHED).store(1, Ordering::Release);
    }

    /// Lets this thread alone read the socket, whose next message may be the first bell. Returns `false` if another one does.
    pub fn begin_reading(&self) -> bool {
        self.memory.word(READING).swap(1, Ordering::Acquire) == 0
    }

    /// Lets other threads read the socket.
    pub fn end_reading(&self) {
        self.memory.word(READING).store(0, Ordering::Release);
    }

    /// The program wants no more datagrams.
    pub fn close(&self) {
        self.memory.word(OPEN).store(0, Ordering::Relaxed);
    }
}
