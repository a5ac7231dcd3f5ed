//! Checksums (RFC 4340 §9): the header checksum with its coverage, and the CRC of Data Checksum.
//!
//! ```text
//!   pseudo-header (not sent): source, destination, protocol 33, DCCP length
//!   +---------------+---------------+----------------------------------+
//!   |  DCCP header  |    options    |         application data         |
//!   +---------------+---------------+----------------------------------+
//!   |<-------------------- covered with CsCov 0 ---------------------->|
//!   |<----- covered with CsCov n > 0 ------------->| (n−1)·4 bytes of data
//! ```
//!
//! Trailing zeros add nothing to the header checksum but their number to the pseudo-header's
//! length; the CRC passes over them by multiplication.

#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(not(target_arch = "x86_64"))]
mod simd {
    /// There is nothing for other processors yet: all is left over.
    pub(super) fn sum(bytes: &[u8], _each: impl FnMut(&[u8])) -> (u64, &[u8]) {
        (0, bytes)
    }
}

use core::net::IpAddr;
use crc::{CRC_32_ISCSI, Crc, Table};

/// Which checksum protects the datagrams of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChecksumRule {
    /// UDP's, which is no business of ours: the DCCP field is sent as 0 and ignored on receipt
    /// (6773-3.3-2). Coverage is checked for syntax only (6773-3.3.1-1).
    Udp,
    /// DCCP's own, over this pseudo-header (RFC 4340 §9.1).
    Ip(PseudoHeader),
}

/// The part of the pseudo-header that all packets between two hosts share: the sum of addresses
/// and protocol number. A sum does not mind the order, so it serves both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PseudoHeader {
    sum: u64,
}

impl PseudoHeader {
    /// IP protocol number of DCCP.
    pub const PROTOCOL: u8 = 33;

    /// For packets between these two addresses, in either direction.
    pub fn new(local: IpAddr, remote: IpAddr) -> Self {
        let address = |a: IpAddr| match a {
            IpAddr::V4(a) => u64::from(a.to_bits() >> 16) + u64::from(a.to_bits() & 0xFFFF),
            IpAddr::V6(a) => a.segments().map(u64::from).iter().sum(),
        };
        // 4340-9.1-2: the layouts for IPv4 and IPv6 differ, but the sums have the same summands.
        Self {
            sum: address(local) + address(remote) + u64::from(Self::PROTOCOL),
        }
    }

    /// The value of the Checksum field of a packet of `len` bytes that begins with `covered`; the field
    /// itself counts as 0 (4340-9.1-1).
    pub fn compute(self, covered: &[u8], len: usize) -> u16 {
        self.finish(sum(covered), len)
    }

    /// As [`compute`](Self::compute), of what is covered only the [`sum`] being known.
    pub(super) fn finish(self, sum: u64, len: usize) -> u16 {
        !fold(self.sum + len as u64 + sum)
    }

    /// Whether the Checksum field fits what it covers: with the field in it, the sum is all ones.
    pub(crate) fn matches(self, covered: &[u8], len: usize) -> bool {
        self.compute(covered, len) == 0
    }
}

/// How many bytes from the start of the packet the checksum covers; `None` if the coverage exceeds
/// the data (4340-9.2-1). `len` is the length of the whole packet.
pub(crate) const fn covered_len(header_len: usize, len: usize, cscov: u8) -> Option<usize> {
    if cscov == 0 {
        return Some(len);
    }
    let covered = header_len + (cscov as usize - 1) * 4;
    if covered <= len { Some(covered) } else { None }
}

/// The sum of big-endian 16-bit words, modulo 2^16−1, below 2^16. An odd last byte is the high half
/// of a word (4340-9.1-1).
///
/// Such a sum turns with the byte order of its summands, so it may be taken in the machine's order
/// and turned once; and 2^16 counts as 1, so that wider words can be added and folded later.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (total, rest) = simd::sum(bytes, |_| ());
    turned(total + add_words(rest))
}

/// Copies into a place of the same length, and gives the [`sum`] of what was copied: in one pass where the processor
/// has wide registers.
pub(super) fn copy_and_sum(from: &[u8], mut to: &mut [u8]) -> u64 {
    assert_eq!(from.len(), to.len(), "the place has the payload's length");
    let mut copy = |piece: &[u8]| {
        if let Some(place) = to.split_off_mut(..piece.len()) {
            place.copy_from_slice(piece);
        }
    };
    let (total, rest) = simd::sum(from, &mut copy);
    copy(rest);
    turned(total + add_words(rest))
}

/// A sum in the machine's order, of words that were big-endian.
fn turned(sum: u64) -> u64 {
    u64::from(u16::from_be(fold(sum)))
}

/// The sum of 32-bit words in the machine's order, zeros behind the last; no overflow below 16 GiB.
fn add_words(bytes: &[u8]) -> u64 {
    // Two at a time.
    let (pairs, rest) = bytes.as_chunks::<8>();
    let (mut low, mut high) = (0, 0);
    for pair in pairs {
        let pair = u64::from_ne_bytes(*pair);
        low += pair & u64::from(u32::MAX);
        high += pair >> 32;
    }
    // A header ends with a whole word.
    let (words, tail) = rest.as_chunks::<4>();
    if let [word] = *words {
        low += u64::from(u32::from_ne_bytes(word));
    }
    let last = match *tail {
        [] => return low + high,
        [a] => [a, 0, 0, 0],
        [a, b] => [a, b, 0, 0],
        [a, b, c, ..] => [a, b, c, 0],
    };
    low += u64::from(u32::from_ne_bytes(last));
    low + high
}

/// Folds a sum to 16 bits, carries added in again; 0 only for 0.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the last fold leaves 16 bits"
)]
const fn fold(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xFFFF_FFFF);
    let sum = (sum >> 16) + (sum & 0xFFFF);
    let sum = (sum >> 16) + (sum & 0xFFFF);
    let sum = (sum >> 16) + (sum & 0xFFFF);
    sum as u16
}

static CRC_32C: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISCSI);

/// The CRC-32c of `bytes` followed by `zeros` bytes of value zero: what Data Checksum holds for
/// such application data (4340-9.3-1). Without data it is 0.
pub fn crc_32c(bytes: &[u8], zeros: usize) -> u32 {
    let crc = CRC_32C.checksum(bytes);
    if zeros == 0 {
        return crc;
    }
    // A zero byte multiplies the register, which is the complement of the CRC, by x^8.
    !multiply(!crc, x_to_the_8_times(zeros))
}

/// A CRC as it stands in the option: big-endian (AMB-9).
pub(crate) const fn crc_to_wire(crc: u32) -> [u8; 4] {
    crc.to_be_bytes()
}

/// The reverse of [`crc_to_wire`].
pub(crate) const fn crc_from_wire(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes)
}

/// The Castagnoli polynomial. Polynomials over GF(2) are written with the coefficient of x^0 in
/// the highest bit; x^32 is implied.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// The product of two polynomials modulo [`POLYNOMIAL`].
const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = 1 << 31;
    while bit != 0 {
        if a & bit != 0 {
            product ^= b;
        }
        b = if b & 1 == 0 {
            b >> 1
        } else {
            (b >> 1) ^ POLYNOMIAL
        };
        bit >>= 1;
    }
    product
}

/// x^(8n) by repeated squaring.
const fn x_to_the_8_times(mut n: usize) -> u32 {
    let mut power = 1 << 31;
    let mut square = 1 << (31 - 8);
    while n != 0 {
        if n & 1 != 0 {
            power = multiply(power, square);
        }
        square = multiply(square, square);
        n >>= 1;
    }
    power
}

#[cfg(test)]
mod tests;
