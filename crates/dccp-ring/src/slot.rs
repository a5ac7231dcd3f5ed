//! One datagram's words in the ring.
//!
//! ```text
//! order  (two words for each position)    slot  (three words, then the data)
//! ┌────────────────┬───────────────┐      ┌─────────────────────────────┐
//! │ slot    32 bit │ length 31 bit │ ───▶ │ tag                  64 bit │
//! │                │ priority > 0  │      │ key                  64 bit │
//! ├────────────────┴───────────────┤      │ has key, priority  1, 8 bit │
//! │ deadline                64 bit │      │ data                        │
//! └────────────────────────────────┘      └─────────────────────────────┘
//! ```
//!
//! The order is separate from the slots for two reasons. Reordering moves 16 bytes per datagram, not its
//! data. The transport can read length, importance and deadline before it claims, because these words are atomic
//! and a slot is not.

use crate::mem::{Memory, Ordering};

/// The application's instructions for a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// Returned with the datagram's fate; opaque to the ring.
    pub tag: u64,
    /// A datagram overtakes those of lower priority that wait directly before it.
    pub priority: u8,
    /// The datagram is not sent after this time, in nanoseconds of the transport's clock. `u64::MAX`
    /// means never and is returned as `None`.
    pub deadline_ns: Option<u64>,
    /// A newer datagram with the same key replaces this one while it waits.
    pub key: Option<u64>,
}

impl Label {
    /// The label as the memory returns it.
    pub(crate) fn normal(self) -> Self {
        Self {
            deadline_ns: self.deadline_ns.filter(|&at| at != NO_DEADLINE),
            ..self
        }
    }
}

/// The encoding of "no deadline".
const NO_DEADLINE: u64 = u64::MAX;

/// Words of a slot before its data.
pub(crate) const HEADER_WORDS: usize = 3;
/// Words of a position in the order.
pub(crate) const PLACE_WORDS: usize = 2;

const HAS_KEY: u64 = 1 << 8;

/// The bit of the first word of an entry for a priority above 0.
const IMPORTANT: u64 = 1 << 63;

/// An entry of the order: what the transport must know before it claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) slot: u32,
    pub(crate) len: u32,
    /// Whether the datagram has a priority above 0.
    pub(crate) is_important: bool,
    deadline: u64,
}

impl Place {
    pub(crate) fn new(slot: u32, len: u32, label: &Label) -> Self {
        Self {
            slot,
            len,
            is_important: label.priority > 0,
            deadline: label.deadline_ns.unwrap_or(NO_DEADLINE),
        }
    }

    pub(crate) fn is_expired(self, now_ns: u64) -> bool {
        self.deadline <= now_ns
    }

    pub(crate) fn store(self, memory: &Memory, at: usize) {
        let mark = if self.is_important { IMPORTANT } else { 0 };
        let first = u64::from(self.slot) | u64::from(self.len) << 32 | mark;
        memory.atomic(at).store(first, Ordering::Relaxed);
        memory
            .atomic(at + 1)
            .store(self.deadline, Ordering::Relaxed);
    }

    /// The current entry. Until the position is claimed, its two words may be of different times.
    #[expect(clippy::cast_possible_truncation, reason = "the halves are asked for")]
    pub(crate) fn load(memory: &Memory, at: usize) -> Self {
        let first = memory.atomic(at).load(Ordering::Relaxed);
        Self {
            slot: first as u32,
            len: ((first & !IMPORTANT) >> 32) as u32,
            is_important: first & IMPORTANT != 0,
            deadline: memory.atomic(at + 1).load(Ordering::Relaxed),
        }
    }

    /// The rest of the label is in the slot at `at`, which must have been claimed.
    #[expect(clippy::cast_possible_truncation, reason = "the byte is asked for")]
    pub(crate) fn label(self, memory: &Memory, at: usize) -> Label {
        let bits = memory.get(at + 2);
        Label {
            tag: memory.get(at),
            priority: bits as u8,
            deadline_ns: (self.deadline != NO_DEADLINE).then_some(self.deadline),
            key: (bits & HAS_KEY != 0).then(|| memory.get(at + 1)),
        }
    }
}

/// Writes a datagram into the slot at `at`.
pub(crate) fn fill(memory: &Memory, at: usize, data: &[u8], label: &Label) {
    memory.set(at, label.tag);
    memory.set(at + 1, label.key.unwrap_or_default());
    let has_key = if label.key.is_some() { HAS_KEY } else { 0 };
    memory.set(at + 2, u64::from(label.priority) | has_key);
    memory.write(at + HEADER_WORDS, data);
}
