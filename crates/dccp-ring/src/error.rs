//! Errors: the caller's mistakes and the other side's violations.

use core::fmt;
use std::error::Error;

/// The other side of the ring broke its rules. The ring is unusable: drop it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Violation {
    /// An index that is too far ahead, too far behind, or not that side's to write.
    Index,
    /// The number of a slot that does not exist.
    Slot,
    /// A length beyond a slot's size.
    Length,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Self::Index => "index",
            Self::Slot => "slot number",
            Self::Length => "length",
        };
        write!(f, "shared ring corrupted by the peer: invalid {what}")
    }
}

impl Error for Violation {}

/// Why a datagram was not pushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PushError {
    /// All slots hold waiting datagrams.
    Full,
    /// The datagram is longer than a slot.
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// A slot's size in bytes.
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

impl Error for PushError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Broken(violation) => Some(violation),
            Self::Full | Self::TooLong { .. } => None,
        }
    }
}

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
    /// The new data are longer than a slot; the datagram is unchanged.
    TooLong {
        /// Their length in bytes.
        len: usize,
        /// A slot's size in bytes.
        max: usize,
    },
    /// Another waiting datagram has the new key; the datagram is unchanged. Withdraw one of the two.
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

impl Error for ChangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Broken(violation) => Some(violation),
            Self::TooLate | Self::TooLong { .. } | Self::KeyInUse { .. } => None,
        }
    }
}

impl From<Violation> for ChangeError {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

/// An invalid shape: the field and its constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapeError {
    /// The field of [`Shape`](crate::Shape).
    pub field: &'static str,
    /// The constraint.
    pub must_be: &'static str,
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.field, self.must_be)
    }
}

impl Error for ShapeError {}
