//! Bytes → [`Packet`]: step 1 of packet processing (RFC 4340 §8.5), the mirror of
//! [`build`](super::build).

use super::checksum::{self, ChecksumRule};
use super::header::FIXED_MAX;
use super::{Datagram, Kind, Options, Packet, PacketType, Payload, ResetCode, ServiceCode};
use crate::seq::Seq;
use core::fmt;

/// Why a datagram is dropped without a word: no Reset, no Sync, nothing of it used (4340-8.5-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParseError {
    /// Fewer than 12 bytes.
    TooShort,
    /// A packet type that is not assigned.
    UnknownType,
    /// 24-bit sequence numbers on a type that needs 48 (4340-5.1-5).
    ShortSeqno,
    /// Data Offset points into the header.
    DataOffsetTooSmall,
    /// Data Offset points behind the end of the datagram.
    DataOffsetTooLarge,
    /// Checksum Coverage exceeds the application data.
    CscovTooLarge,
    /// The checksum does not match.
    BadChecksum,
    /// The end of a [`Datagram`]'s bytes, where its counted zeros begin, cuts the application data
    /// or an option in two: neither can be lent. A datagram from a socket has no such end.
    Divided,
}

impl ParseError {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::TooShort,
        Self::UnknownType,
        Self::ShortSeqno,
        Self::DataOffsetTooSmall,
        Self::DataOffsetTooLarge,
        Self::CscovTooLarge,
        Self::BadChecksum,
        Self::Divided,
    ];

    /// The reason's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooShort => "too_short",
            Self::UnknownType => "unknown_type",
            Self::ShortSeqno => "short_seqno",
            Self::DataOffsetTooSmall => "data_offset_too_small",
            Self::DataOffsetTooLarge => "data_offset_too_large",
            Self::CscovTooLarge => "cscov_too_large",
            Self::BadChecksum => "bad_checksum",
            Self::Divided => "divided",
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for ParseError {}

/// Reads one packet. Nothing is copied: options and payload are lent by the datagram.
///
/// Reserved fields are ignored (4340-3.1-3). The header may reach into the datagram's counted
/// zeros; options that lie there are Padding and left out.
///
/// # Errors
/// The reason why the packet is to be dropped.
pub fn parse<'a>(
    datagram: &Datagram<'a>,
    checksum: ChecksumRule,
) -> Result<Packet<'a>, ParseError> {
    let len = datagram.len();
    // 4340-8.5-1; over UDP, 6773-3.3-3 says the same with UDP's 8 bytes added.
    if len < 12 {
        return Err(ParseError::TooShort);
    }
    let mut short = [0; FIXED_MAX];
    let fixed = fixed_part(datagram.bytes, &mut short);
    // 4340-5.1-4
    let packet_type =
        PacketType::from_number(fixed[8] >> 1 & 0xF).ok_or(ParseError::UnknownType)?;
    let is_short = fixed[8] & 1 == 0;
    // 4340-5.1-5, before Data Offset, because its least value depends on X.
    if is_short && !packet_type.may_be_short() {
        return Err(ParseError::ShortSeqno);
    }
    // 4340-5.1-1
    let header_len = usize::from(fixed[4]) * 4;
    let fixed_len = packet_type.header_len(is_short);
    if header_len < fixed_len {
        return Err(ParseError::DataOffsetTooSmall);
    }
    if header_len > len {
        return Err(ParseError::DataOffsetTooLarge);
    }
    let cscov = fixed[5] & 0xF;
    // AMB-2: coverage before checksum, since the one says what the other covers (4340-9.2-1).
    let covered = checksum::covered_len(header_len, len, cscov).ok_or(ParseError::CscovTooLarge)?;
    if let ChecksumRule::Ip(pseudo) = checksum {
        // 4340-9.1-3
        let covered = datagram.bytes.get(..covered).unwrap_or(datagram.bytes);
        if !pseudo.matches(covered, len) {
            return Err(ParseError::BadChecksum);
        }
    }
    Ok(Packet {
        source_port: u16::from_be_bytes([fixed[0], fixed[1]]),
        dest_port: u16::from_be_bytes([fixed[2], fixed[3]]),
        ccval: fixed[5] >> 4,
        cscov,
        is_short,
        seq: seqno(fixed, is_short),
        kind: kind(fixed, packet_type, is_short),
        options: options(datagram, fixed_len, header_len)?,
        payload: payload(datagram, header_len)?,
    })
}

/// The first bytes of the datagram, zeros included: where they are, or in `short`, which is zeros.
fn fixed_part<'a>(bytes: &'a [u8], short: &'a mut [u8; FIXED_MAX]) -> &'a [u8; FIXED_MAX] {
    if let Some(fixed) = bytes.first_chunk() {
        return fixed;
    }
    for (to, from) in short.iter_mut().zip(bytes) {
        *to = *from;
    }
    short
}

fn seqno(h: &[u8; FIXED_MAX], is_short: bool) -> Seq {
    if is_short {
        number_24([h[9], h[10], h[11]])
    } else {
        number_48([h[8], h[9], h[10], h[11], h[12], h[13], h[14], h[15]])
    }
}

fn number_24([a, b, c]: [u8; 3]) -> Seq {
    Seq::new(u64::from(u32::from_be_bytes([0, a, b, c])))
}

/// A 48-bit number and the 16 bits before it, which are no part of it.
fn number_48(bytes: [u8; 8]) -> Seq {
    Seq::new(u64::from_be_bytes(bytes))
}

#[inline]
fn kind(h: &[u8; FIXED_MAX], packet_type: PacketType, is_short: bool) -> Kind {
    let ack = if is_short {
        number_24([h[13], h[14], h[15]])
    } else {
        number_48([h[16], h[17], h[18], h[19], h[20], h[21], h[22], h[23]])
    };
    match packet_type {
        PacketType::Request => Kind::Request {
            service: ServiceCode(u32::from_be_bytes([h[16], h[17], h[18], h[19]])),
        },
        PacketType::Response => Kind::Response {
            ack,
            service: ServiceCode(u32::from_be_bytes([h[24], h[25], h[26], h[27]])),
        },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { ack },
        PacketType::DataAck => Kind::DataAck { ack },
        PacketType::CloseReq => Kind::CloseReq { ack },
        PacketType::Close => Kind::Close { ack },
        PacketType::Reset => Kind::Reset {
            ack,
            code: ResetCode(h[24]),
            data: [h[25], h[26], h[27]],
        },
        PacketType::Sync => Kind::Sync { ack },
        PacketType::SyncAck => Kind::SyncAck { ack },
        PacketType::Listen => Kind::Listen {
            service: ServiceCode(u32::from_be_bytes([h[16], h[17], h[18], h[19]])),
        },
    }
}

#[inline]
fn options<'a>(d: &Datagram<'a>, start: usize, end: usize) -> Result<Options<'a>, ParseError> {
    match d.bytes.get(start..end) {
        Some(area) => Ok(Options(area)),
        None => options_before_zeros(d.bytes.get(start..).unwrap_or_default(), end - start),
    }
}

/// The options in `stored`, the front of an area of `area_len` bytes that goes on with zeros.
#[cold]
fn options_before_zeros(stored: &[u8], area_len: usize) -> Result<Options<'_>, ParseError> {
    let mut options = Options(stored).iter();
    while options.next().is_some() {}
    // The rest is an option that leads behind the stored bytes: into the zeros, or behind them too.
    if let [_, length, ..] = *options.rest() {
        let end = stored.len() - options.rest().len() + usize::from(length);
        if length >= 2 && end <= area_len {
            return Err(ParseError::Divided);
        }
    }
    Ok(Options(stored))
}

fn payload<'a>(d: &Datagram<'a>, start: usize) -> Result<Payload<'a>, ParseError> {
    match d.bytes.get(start..) {
        Some(bytes) if d.zeros == 0 => Ok(Payload::Bytes(bytes)),
        Some([]) | None => Ok(Payload::Zeros(d.len() - start)),
        Some(_) => Err(ParseError::Divided),
    }
}

#[cfg(test)]
mod tests;
