//! The wire format: RFC 4340 §5, §9 and the options of the CCIDs.
//!
//! [`parse`] and [`build`] are mirrors: what one reads the other writes, byte for byte.
//! Nothing here knows a connection. All numbers are in network byte order (4340-3.1-1).
//!
//! - [`header`], [`service_code`]: the generic header, packet types, Reset and Service Codes.
//! - [`options`], [`option_writer`]: reading and writing options.
//! - [`ack_cells`]: the contents of Ack Vector and Data Dropped.
//! - [`ccid_options`]: the options of CCIDs 3 and 4.
//! - [`features`]: numbers and constants of the features.
//! - [`checksum`]: header checksum and CRC.

#![warn(clippy::indexing_slicing)]

pub mod ack_cells;
mod build;
pub mod ccid_options;
pub mod checksum;
pub mod features;
pub mod header;
pub mod option_writer;
pub mod options;
mod parse;
mod place;
pub mod service_code;

pub use ack_cells::{AckCell, AckState, DropBlock, DropCode};
pub use build::{
    BuildError, HEADER_MAX, build, fill_data_checksum, header_len, seal, write_header,
    write_header_at,
};
pub(crate) use build::{renumber, seal_summed};
pub use ccid_options::CcidOpt;
pub use checksum::{ChecksumRule, PseudoHeader};
pub use features::Feature;
pub use header::{Kind, Packet, PacketType, ResetCode};
pub use option_writer::{DataChecksumSlot, NoSpace, OptionWriter};
pub use options::{Elapsed, FeatureOpt, Opt, Options, multipath_name};
pub use parse::{ParseError, parse};
pub use place::Place;
pub use service_code::ServiceCode;

/// A datagram as it travels: `bytes`, followed by `zeros` bytes of value zero.
///
/// Simulations send payloads of zeros without storing them; on sockets `zeros` is 0. The two forms
/// of one datagram mean the same, checksums included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram<'a> {
    /// The bytes at the front. A sender puts at least the whole DCCP header here.
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

/// Application data: bytes, or that many zero bytes. Two of them are equal if they stand for the
/// same bytes.
#[derive(Clone, Copy, Debug)]
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

    /// CRC-32c of the data, as Data Checksum has it (4340-9.3-1).
    pub fn crc_32c(&self) -> u32 {
        match *self {
            Self::Bytes(bytes) => checksum::crc_32c(bytes, 0),
            Self::Zeros(zeros) => checksum::crc_32c(&[], zeros),
        }
    }

    /// Whether there is no data.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl PartialEq for Payload<'_> {
    fn eq(&self, other: &Self) -> bool {
        let is_zeros = |bytes: &[u8], n| bytes.len() == n && bytes.iter().all(|&b| b == 0);
        match (*self, *other) {
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Zeros(a), Self::Zeros(b)) => a == b,
            (Self::Bytes(bytes), Self::Zeros(n)) | (Self::Zeros(n), Self::Bytes(bytes)) => {
                is_zeros(bytes, n)
            }
        }
    }
}

impl Eq for Payload<'_> {}

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

#[cfg(test)]
mod tests;
