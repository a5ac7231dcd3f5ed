//! The wire format: RFC 4340 §5, §9 and the options of the CCIDs.
//!
//! [`parse`] and [`build`] are mirrors: what one reads the other writes, byte for byte.
//! Nothing here knows a connection.

pub mod header;
pub mod options;

pub use header::{Kind, Packet, PacketType, ResetCode, ServiceCode};
pub use options::{Opt, OptionWriter, Options};

/// A datagram as it travels: `bytes`, followed by `zeros` bytes of value zero.
///
/// Simulations send payloads of zeros without storing them; on sockets `zeros` is 0. The two forms
/// of one datagram mean the same, checksums included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// The bytes at the front: at least the whole DCCP header.
    pub bytes: &'a [u8],
    /// How many zero bytes follow.
    pub zeros: usize,
}

impl<'a> Datagram<'a> {
    /// A datagram that is all there.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, zeros: 0 }
    }

    /// Length on the wire in bytes, without IP and UDP headers.
    pub const fn len(&self) -> usize {
        self.bytes.len() + self.zeros
    }

    /// Whether the datagram has no bytes at all.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Application data: bytes, or that many zero bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload<'a> {
    /// The bytes themselves.
    Bytes(&'a [u8]),
    /// This many bytes of value zero.
    Zeros(usize),
}

impl Payload<'_> {
    /// No data.
    pub const EMPTY: Payload<'static> = Payload::Bytes(&[]);

    /// Length in bytes.
    pub const fn len(&self) -> usize {
        match self {
            Self::Bytes(b) => b.len(),
            Self::Zeros(n) => *n,
        }
    }

    /// Whether there is no data.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The ECN field of the IP header (RFC 3168; AMB-10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Ecn {
    /// The transport is not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECT(1): nonce 1 in the sense of RFC 3540; otherwise free for experiments.
    Ect1 = 1,
    /// ECT(0): what our senders set (8311-6-1).
    Ect0 = 2,
    /// Congestion Experienced.
    Ce = 3,
}

impl Ecn {
    /// The codepoint in the low two bits of a Traffic Class or TOS byte.
    pub const fn from_bits(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}
