//! What Ack Vectors and Data Dropped are made of: run-length coded packets, newest first
//! (RFC 4340 §11.4, §11.7).
//!
//! ```text
//!   Ack Vector cell        Normal Block           Drop Block
//!   +---+-----------+      +-+-------------+      +-+-----+-------+
//!   | S | length −1 |      |0|  length −1  |      |1| DC  | len −1|
//!   +---+-----------+      +-+-------------+      +-+-----+-------+
//!     2       6             1       7              1   3      4      bits
//! ```

use super::{Opt, Options};
use crate::seq::Seq;

/// What an Ack Vector says of a packet (RFC 4340 §11.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AckState {
    /// Received.
    Received = 0,
    /// Received with a Congestion Experienced mark.
    Marked = 1,
    /// Not assigned; counts as not received (4340-11.4-6).
    Reserved = 2,
    /// Not yet received.
    NotReceived = 3,
}

/// One byte of an Ack Vector: neighbouring packets in the same state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckCell {
    /// Their state.
    pub state: AckState,
    /// How many they are, 1–64.
    pub len: u8,
}

impl AckCell {
    /// The most packets in one cell.
    pub const LEN_MAX: u8 = 64;

    /// Decodes a cell.
    pub const fn from_byte(byte: u8) -> Self {
        let state = match byte >> 6 {
            0 => AckState::Received,
            1 => AckState::Marked,
            2 => AckState::Reserved,
            _ => AckState::NotReceived,
        };
        Self {
            state,
            len: (byte & 0x3F) + 1,
        }
    }

    /// Encodes the cell; a length out of range becomes the nearest one in it.
    pub const fn to_byte(self) -> u8 {
        let len = if self.len < Self::LEN_MAX {
            self.len
        } else {
            Self::LEN_MAX
        };
        (self.state as u8) << 6 | len.saturating_sub(1)
    }
}

/// Why the peer's host dropped data of a packet that it had received (RFC 4340 §11.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DropCode(u8);

#[expect(missing_docs, reason = "the names are the RFC's")]
impl DropCode {
    pub const PROTOCOL_CONSTRAINTS: Self = Self(0);
    pub const APPLICATION_NOT_LISTENING: Self = Self(1);
    pub const RECEIVE_BUFFER: Self = Self(2);
    pub const CORRUPT: Self = Self(3);
    pub const DELIVERED_CORRUPT: Self = Self(7);

    /// The code with this number; `None` above 7.
    pub const fn from_number(n: u8) -> Option<Self> {
        if n < 8 { Some(Self(n)) } else { None }
    }

    /// The code's number, 0–7.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// One byte of Data Dropped: neighbouring packets with the same fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropBlock {
    /// Why their data was dropped; `None`: it was not, or they were not received (4340-11.7-3).
    pub code: Option<DropCode>,
    /// How many they are: 1–128, and with a code 1–16.
    pub len: u8,
}

impl DropBlock {
    /// The most packets in a Normal Block.
    pub const NORMAL_LEN_MAX: u8 = 128;
    /// The most packets in a Drop Block.
    pub const DROPPED_LEN_MAX: u8 = 16;

    /// Decodes a block (4340-11.7-1).
    pub const fn from_byte(byte: u8) -> Self {
        if byte & 0x80 == 0 {
            return Self {
                code: None,
                len: byte + 1,
            };
        }
        Self {
            code: Some(DropCode(byte >> 4 & 7)),
            len: (byte & 0xF) + 1,
        }
    }

    /// Encodes the block; a length out of range becomes the nearest one in it.
    pub const fn to_byte(self) -> u8 {
        let (front, len_max) = match self.code {
            None => (0, Self::NORMAL_LEN_MAX),
            Some(code) => (0x80 | code.0 << 4, Self::DROPPED_LEN_MAX),
        };
        let len = if self.len < len_max {
            self.len
        } else {
            len_max
        };
        front | len.saturating_sub(1)
    }
}

/// Packets with neighbouring sequence numbers of which the same is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run<T> {
    /// The newest of them.
    pub newest: Seq,
    /// The oldest of them.
    pub oldest: Seq,
    /// What is said.
    pub said: T,
}

impl<'a> Options<'a> {
    /// What all Ack Vectors of a packet say, newest first: they continue each other, the first
    /// begins at `ack`, the packet's Acknowledgement Number. At most 1,006 runs.
    pub fn ack_runs(self, ack: Seq) -> impl Iterator<Item = Run<AckState>> + use<'a> {
        let cells = self.iter().filter_map(|option| match option {
            Opt::AckVector { cells, .. } => Some(cells),
            _ => None,
        });
        runs(ack, cells.flatten(), |&byte| {
            let cell = AckCell::from_byte(byte);
            (cell.state, cell.len)
        })
    }

    /// What all Data Dropped options of a packet say, newest first: they continue each other, the
    /// first begins at `ack`, the packet's Acknowledgement Number. At most 1,006 runs.
    pub fn drop_runs(self, ack: Seq) -> impl Iterator<Item = Run<Option<DropCode>>> + use<'a> {
        let blocks = self.iter().filter_map(|option| match option {
            Opt::DataDropped(blocks) => Some(blocks),
            _ => None,
        });
        runs(ack, blocks.flatten(), |&byte| {
            let block = DropBlock::from_byte(byte);
            (block.code, block.len)
        })
    }
}

/// Gives each of the `bytes` the sequence numbers that it speaks of.
fn runs<'a, T>(
    mut next: Seq,
    bytes: impl Iterator<Item = &'a u8>,
    decode: impl Fn(&'a u8) -> (T, u8),
) -> impl Iterator<Item = Run<T>> {
    bytes.map(move |byte| {
        let (said, len) = decode(byte);
        let newest = next;
        next = newest.minus(u64::from(len));
        Run {
            newest,
            oldest: next.next(),
            said,
        }
    })
}
