//! Messages larger than a packet: cut into fragments, with one fate for each message.
//!
//! A message is sent at most once and is never repeated. When one of its fragments is lost, refused or too late, the
//! rest is not sent, because an incomplete message is useless. [`MessageSender`] cuts and [`Reassembler`] joins; both
//! are without I/O and without a clock.
//!
//! Each datagram carries one fragment behind a header of 12 bytes. Numbers are big-endian:
//!
//! ```text
//!   0        1                       4
//!  ┌────────┬───────────────────────┬───────────────────────────────┐
//!  │ 1      │ message length, bytes │ message number                │
//!  ├────────┼───────────────────────┼───────────────────────────────┘
//!  │ 0      │ offset of the data    │ data …
//!  └────────┴───────────────────────┘
//!   8        9                      12
//! ```
//!
//! - The first byte is the version. A datagram that begins with 0 is padding, and the receiver ignores it.
//! - Messages are numbered from 0, modulo 2^32, in the order of sending.
//! - Fragments of one message do not overlap. A message without data has one fragment without data.
//!
//! Both ends must agree to send messages. A Service Code (RFC 5595) that begins with `M` says so: see
//! [`service_code`].

mod receive;
mod send;

pub use receive::{Ignored, Message, Reassembler, ReceiveLimits, Received};
pub use send::{MessageId, MessageLabel, MessageReport, MessageSender, NotTaken, SendLimits};

use crate::wire::ServiceCode;

/// Bytes of a fragment before its data.
pub const HEADER_LEN: usize = 12;
/// The length of the longest message in bytes, whatever the limits of an end.
pub const LEN_MAX: usize = (1 << LEN_BITS) - 1;

const LEN_BITS: u32 = 24;

const VERSION: u8 = 1;
const PADDING: u8 = 0;
const FIRST_LETTER: u8 = b'M';

/// The Service Code of an application that sends messages: `M` and the application's three bytes.
pub const fn service_code(application: [u8; 3]) -> ServiceCode {
    let [a, b, c] = application;
    ServiceCode::from_ascii([FIRST_LETTER, a, b, c])
}

/// Whether connections with this Service Code carry messages.
pub const fn is_message_service(service: ServiceCode) -> bool {
    service.0.to_be_bytes()[0] == FIRST_LETTER
}

/// The header of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    number: u32,
    /// Bytes of the whole message.
    len: u32,
    /// The place of the data in the message.
    offset: u32,
}

impl Header {
    fn to_bytes(self) -> [u8; HEADER_LEN] {
        let words = [
            u32::from(VERSION) << LEN_BITS | self.len,
            self.number,
            self.offset,
        ];
        let mut bytes = [0; HEADER_LEN];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// The header and the data of a fragment. `None`: it is not one of this version.
    fn parse(datagram: &[u8]) -> Option<(Self, &[u8])> {
        let (first, rest) = split_word(datagram)?;
        let (number, rest) = split_word(rest)?;
        let (offset, data) = split_word(rest)?;
        let header = Self {
            number,
            len: first & in_24_bits(LEN_MAX),
            offset,
        };
        let is_known = first >> LEN_BITS == u32::from(VERSION) && offset >> LEN_BITS == 0;
        is_known.then_some((header, data))
    }
}

fn split_word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*word), rest))
}

/// A length that was checked against [`LEN_MAX`].
fn in_24_bits(n: usize) -> u32 {
    debug_assert!(n <= LEN_MAX);
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
