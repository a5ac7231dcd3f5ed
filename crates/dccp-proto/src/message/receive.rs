//! The receiving side: joins fragments, within bounds.

use super::{Header, LEN_MAX, PADDING};
use crate::time::Instant;
use core::ops::Range;
use core::time::Duration;

/// Gaps and blocks of one incomplete message.
const BLOCKS_MAX: usize = 256;

/// Bounds of a [`Reassembler`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveLimits {
    /// The longest message in bytes, at most [`LEN_MAX`].
    pub message_len: usize,
    /// Incomplete messages. A new one replaces the oldest.
    pub messages: usize,
    /// Bytes of all incomplete messages, at their full length.
    pub bytes: usize,
    /// An incomplete message is dropped after this time.
    pub age: Duration,
}

impl Default for ReceiveLimits {
    fn default() -> Self {
        Self {
            message_len: 1 << 20,
            messages: 64,
            bytes: 4 << 20,
            age: Duration::from_secs(10),
        }
    }
}

/// A complete message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The sender's number of the message, modulo 2^32.
    pub number: u32,
    /// The data.
    pub data: Vec<u8>,
    /// When its first fragment arrived.
    pub first_arrived: Instant,
    /// When its last fragment arrived.
    pub completed: Instant,
}

/// The effect of a datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// It completed this message.
    Message(Message),
    /// It is stored.
    Fragment,
    /// It is padding, and has no effect.
    Padding,
    /// It has no effect.
    Ignored(Ignored),
}

/// Why a datagram has no effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ignored {
    /// It breaks the format.
    Malformed,
    /// Its message is longer than [`ReceiveLimits::message_len`].
    TooLong,
    /// It contradicts other fragments of its message, or repeats one.
    Overlap,
    /// Its message has too many gaps, and is dropped.
    Scattered,
}

/// An incomplete message.
#[derive(Clone, Debug)]
struct Incomplete {
    number: u32,
    len: usize,
    first_arrived: Instant,
    /// Up to the end of the last block.
    data: Vec<u8>,
    /// The received blocks, in order, with gaps between them.
    blocks: Vec<Range<usize>>,
}

/// Joins the fragments of messages.
#[derive(Clone, Debug)]
pub struct Reassembler {
    limits: ReceiveLimits,
    /// Oldest first.
    incomplete: Vec<Incomplete>,
    /// The full length of all of them.
    bytes: usize,
    dropped: u64,
}

impl Reassembler {
    /// A reassembler without messages.
    pub fn new(limits: ReceiveLimits) -> Self {
        Self {
            limits,
            incomplete: Vec::new(),
            bytes: 0,
            dropped: 0,
        }
    }

    /// Takes a datagram.
    pub fn receive(&mut self, now: Instant, datagram: &[u8]) -> Received {
        if datagram.first() == Some(&PADDING) {
            return Received::Padding;
        }
        self.drop_old(now);
        let Some((header, data)) = Header::parse(datagram) else {
            return Received::Ignored(Ignored::Malformed);
        };
        let (len, begin) = (header.len as usize, header.offset as usize);
        let end = begin + data.len();
        if end > len || data.is_empty() && len > 0 {
            return Received::Ignored(Ignored::Malformed);
        }
        if len > self.limits.message_len.min(LEN_MAX) {
            return Received::Ignored(Ignored::TooLong);
        }
        let number = header.number;
        let known = self.incomplete.iter().position(|m| m.number == number);
        let at = match known {
            Some(at) => at,
            None if data.len() == len => {
                return Received::Message(Message {
                    number,
                    data: data.to_vec(),
                    first_arrived: now,
                    completed: now,
                });
            }
            None => self.begin(now, number, len),
        };
        let message = &mut self.incomplete[at];
        if message.len != len {
            return Received::Ignored(Ignored::Overlap);
        }
        if let Err(problem) = message.insert(begin, data) {
            if problem == Ignored::Scattered {
                self.drop_at(at);
            }
            return Received::Ignored(problem);
        }
        if !message.is_complete() {
            return Received::Fragment;
        }
        let message = self.remove(at);
        Received::Message(Message {
            number,
            data: message.data,
            first_arrived: message.first_arrived,
            completed: now,
        })
    }

    /// Incomplete messages.
    pub fn incomplete(&self) -> usize {
        self.incomplete.len()
    }

    /// Incomplete messages that were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Adds an incomplete message, and drops old ones to make room. Returns its index.
    fn begin(&mut self, now: Instant, number: u32, len: usize) -> usize {
        while !self.incomplete.is_empty()
            && (self.incomplete.len() >= self.limits.messages
                || self.bytes + len > self.limits.bytes)
        {
            self.drop_at(0);
        }
        self.bytes += len;
        self.incomplete.push(Incomplete {
            number,
            len,
            first_arrived: now,
            data: Vec::new(),
            blocks: Vec::new(),
        });
        self.incomplete.len() - 1
    }

    fn drop_old(&mut self, now: Instant) {
        let age = self.limits.age;
        while let Some(oldest) = self.incomplete.first()
            && now - oldest.first_arrived >= age
        {
            self.drop_at(0);
        }
    }

    fn drop_at(&mut self, at: usize) {
        self.remove(at);
        self.dropped += 1;
    }

    fn remove(&mut self, at: usize) -> Incomplete {
        let message = self.incomplete.remove(at);
        self.bytes -= message.len;
        message
    }
}

impl Incomplete {
    fn is_complete(&self) -> bool {
        matches!(&self.blocks[..], [block] if *block == (0..self.len))
    }

    /// Stores a fragment's data.
    fn insert(&mut self, begin: usize, data: &[u8]) -> Result<(), Ignored> {
        let end = begin + data.len();
        // The first block that ends behind the new one's begin.
        let at = self.blocks.partition_point(|block| block.end <= begin);
        if self.blocks.get(at).is_some_and(|next| next.start < end) {
            return Err(Ignored::Overlap);
        }
        let touches_next = self.blocks.get(at).is_some_and(|next| next.start == end);
        let previous = at.checked_sub(1);
        let touches_previous = previous.is_some_and(|p| self.blocks[p].end == begin);
        match (previous.filter(|_| touches_previous), touches_next) {
            (Some(p), true) => {
                self.blocks[p].end = self.blocks[at].end;
                self.blocks.remove(at);
            }
            (Some(p), false) => self.blocks[p].end = end,
            (None, true) => self.blocks[at].start = begin,
            (None, false) if self.blocks.len() == BLOCKS_MAX => return Err(Ignored::Scattered),
            (None, false) => self.blocks.insert(at, begin..end),
        }
        if self.data.len() < end {
            self.data.resize(end, 0);
        }
        self.data[begin..end].copy_from_slice(data);
        Ok(())
    }
}
