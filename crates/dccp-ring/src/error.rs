//! What can go wrong: the caller's fault, or the other side's.

use core::fmt;
use std::error::Error;

/// The other side of the ring wrote what the rules of the ring forbid. The ring is of no use any more:
/// drop it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An index that cannot be: too far ahead, behind, or one that is not its to move.
    Index,
    /// The number of a slot that does not exist.
    Slot,
    /// A length that no slot can hold.
    Length,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Index => "an index",
            Self::Slot => "the number of a slot",
            Self::Length => "a length",
        };
        write!(f, "the other side of the ring wrote {what} that cannot be")
    }
}

impl Error for Violation {}

/// Why a datagram was not pushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PushError {
    /// All slots hold datagrams that wait.
    Full,
    /// The datagram is longer than a slot.
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// What a slot holds.
        max: usize,
    },
    /// The transport broke the rules.
    Broken(Violation),
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("the ring is full"),
            Self::TooLong { len, max } => write!(f, "{len} bytes do not fit a slot of {max}"),
            Self::Broken(violation) => violation.fmt(f),
        }
    }
}

impl Error for PushError {}

impl From<Violation> for PushError {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

/// Why a datagram was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeError {
    /// The transport has claimed it, or is about to.
    TooLate,
    /// The new data are longer than a slot; the datagram stays as it was.
    TooLong {
        /// Their length in bytes.
        len: usize,
        /// What a slot holds.
        max: usize,
    },
    /// Another datagram with the new key waits; the datagram stays as it was. Withdraw one of the two.
    KeyInUse {
        /// The key.
        key: u64,
    },
    /// The transport broke the rules.
    Broken(Violation),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLate => f.write_str("the datagram has been claimed already"),
            Self::TooLong { len, max } => write!(f, "{len} bytes do not fit a slot of {max}"),
            Self::KeyInUse { key } => write!(f, "another datagram with the key {key} waits"),
            Self::Broken(violation) => violation.fmt(f),
        }
    }
}

impl Error for ChangeError {}

impl From<Violation> for ChangeError {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

/// A ring cannot have this shape: which part of it, and what is allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapeError {
    /// The field of [`Shape`](crate::Shape).
    pub field: &'static str,
    /// What it must be.
    pub must_be: &'static str,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.must_be)
    }
}

impl Error for ShapeError {}
