//! [`Packet`] → bytes, the mirror of [`parse`](super::parse).
//!
//! In one step: [`build`]. Or in several, so that a payload is copied only once, from where it is
//! to where it leaves:
//!
//! 1. [`write_header`] appends header and options;
//! 2. the caller appends the payload, or counts its zeros; a [`Place`] sums while it is filled;
//! 3. [`fill_data_checksum`], if the options have a place for one;
//! 4. [`seal`] writes the checksum.

use super::checksum::{self, ChecksumRule};
use super::header::FIXED_MAX;
use super::option_writer::DataChecksumSlot;
use super::{Kind, Packet, PacketType, Payload};
use crate::seq::Seq;
use core::fmt;

/// The longest header with options: Data Offset counts 255 words (4340-5-1).
pub const HEADER_MAX: usize = 255 * 4;

/// Why a packet cannot be built. All of these are the caller's mistakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildError {
    /// Header and options exceed [`HEADER_MAX`].
    OptionsTooLong,
    /// 24-bit sequence numbers on a type that needs 48 (4340-5.1-5).
    ShortSeqno,
    /// `ccval` or `cscov` exceeds 4 bits.
    FieldTooLarge,
    /// The Checksum Coverage exceeds the application data (4340-9.2-1).
    CscovTooLarge,
    /// The place for the header is longer or shorter than the header.
    WrongPlace,
    /// The packet to be sealed does not begin with a header of [`write_header`].
    NoHeader,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OptionsTooLong => "header and options exceed 1020 bytes",
            Self::ShortSeqno => "the packet type needs 48-bit sequence numbers",
            Self::FieldTooLarge => "CCVal or CsCov exceeds 15",
            Self::CscovTooLarge => "the checksum coverage exceeds the application data",
            Self::WrongPlace => "the place for the header has another length",
            Self::NoHeader => "there is no header to seal",
        })
    }
}

impl core::error::Error for BuildError {}

/// Length in bytes of a header with `options_len` bytes of options, padded to whole words (4340-5.8-1).
pub const fn header_len(packet_type: PacketType, is_short: bool, options_len: usize) -> usize {
    packet_type.header_len(is_short) + options_len.next_multiple_of(4)
}

/// Appends a whole packet to `buf`. The zeros of a [`Payload::Zeros`] are counted, not written:
/// they are for the caller to append or to pass on as a number.
///
/// # Errors
/// See [`BuildError`]; `buf` is as before then.
pub fn build(
    buf: &mut Vec<u8>,
    packet: &Packet<'_>,
    checksum: ChecksumRule,
) -> Result<(), BuildError> {
    let start = buf.len();
    write_header(buf, packet)?;
    let zeros = match packet.payload {
        Payload::Bytes(bytes) => {
            buf.extend_from_slice(bytes);
            0
        }
        Payload::Zeros(n) => n,
    };
    let sealed = seal(buf.get_mut(start..).unwrap_or_default(), zeros, checksum);
    if sealed.is_err() {
        buf.truncate(start);
    }
    sealed
}

/// Appends header and options of a packet to `buf`, the checksum 0, the options padded. Its payload
/// is not looked at.
///
/// # Errors
/// See [`BuildError`]; `buf` is as before then.
pub fn write_header(buf: &mut Vec<u8>, packet: &Packet<'_>) -> Result<(), BuildError> {
    let start = buf.len();
    let len = header_len(
        packet.packet_type(),
        packet.is_short,
        packet.options.0.len(),
    );
    buf.resize(start + len, 0);
    let written = write_header_at(buf.get_mut(start..).unwrap_or_default(), packet);
    if written.is_err() {
        buf.truncate(start);
    }
    written
}

/// As [`write_header`], into a place of exactly [`header_len`] bytes.
///
/// # Errors
/// See [`BuildError`]; nothing is written then.
pub fn write_header_at(place: &mut [u8], packet: &Packet<'_>) -> Result<(), BuildError> {
    let packet_type = packet.packet_type();
    let options = packet.options.0;
    let len = header_len(packet_type, packet.is_short, options.len());
    let data_offset = u8::try_from(len / 4).map_err(|_| BuildError::OptionsTooLong)?;
    if packet.is_short && !packet_type.may_be_short() {
        return Err(BuildError::ShortSeqno);
    }
    if packet.ccval > 0xF || packet.cscov > 0xF {
        return Err(BuildError::FieldTooLarge);
    }
    if place.len() != len {
        return Err(BuildError::WrongPlace);
    }
    let fixed = fixed_part(packet, data_offset);
    let (head, rest) = place.split_at_mut(packet_type.header_len(packet.is_short));
    let (front, padding) = rest.split_at_mut(options.len());
    head.copy_from_slice(fixed.get(..head.len()).unwrap_or_default());
    front.copy_from_slice(options);
    // Padding is 0 (4340-5.8-1).
    padding.fill(0);
    Ok(())
}

/// The header without options, and what is left of the longest. The checksum and everything
/// reserved is 0 (4340-3.1-3, 4340-5.1-8).
fn fixed_part(packet: &Packet<'_>, data_offset: u8) -> [u8; FIXED_MAX] {
    let mut h = [0; FIXED_MAX];
    h[0..2].copy_from_slice(&packet.source_port.to_be_bytes());
    h[2..4].copy_from_slice(&packet.dest_port.to_be_bytes());
    h[4] = data_offset;
    h[5] = packet.ccval << 4 | packet.cscov;
    let ack = packet.ack();
    if packet.is_short {
        h[8..12].copy_from_slice(&packet.seq.low_24().to_be_bytes());
        h[12..16].copy_from_slice(&ack.map_or(0, Seq::low_24).to_be_bytes());
    } else {
        h[8..16].copy_from_slice(&packet.seq.value().to_be_bytes());
        h[16..24].copy_from_slice(&ack.map_or(0, Seq::value).to_be_bytes());
    }
    h[8] = (packet.packet_type() as u8) << 1 | u8::from(!packet.is_short);
    match packet.kind {
        Kind::Request { service } | Kind::Listen { service } => {
            h[16..20].copy_from_slice(&service.0.to_be_bytes());
        }
        Kind::Response { service, .. } => h[24..28].copy_from_slice(&service.0.to_be_bytes()),
        Kind::Reset { code, data, .. } => {
            h[24] = code.0;
            h[25..28].copy_from_slice(&data);
        }
        _ => {}
    }
    h
}

/// Makes of a copy of another packet's header that of the packet with this number; it has no checksum yet. The packet
/// has no Acknowledgement Number.
#[inline]
pub(crate) fn renumber(header: &mut [u8], seq: Seq) {
    let Some(fixed) = header.first_chunk_mut::<12>() else {
        return;
    };
    fixed[6..8].fill(0);
    let is_short = fixed[8] & 1 == 0;
    if is_short {
        fixed[9..12].copy_from_slice(&seq.low_24().to_be_bytes()[1..]);
    } else if let Some(field) = header.get_mut(10..16) {
        field.copy_from_slice(&seq.value().to_be_bytes()[2..]);
    }
}

/// Writes the Data Checksum of the payload into the option that
/// [`push_data_checksum`](super::OptionWriter::push_data_checksum) left room for. `datagram` begins
/// with the header and ends with the payload, `zeros` zero bytes follow. The header checksum covers
/// the option, so this comes before [`seal`] (4340-9.3-1).
///
/// # Errors
/// [`BuildError::NoHeader`] if `datagram` does not begin with a header that has such an option.
pub fn fill_data_checksum(
    datagram: &mut [u8],
    zeros: usize,
    slot: DataChecksumSlot,
) -> Result<(), BuildError> {
    let head = datagram.first_chunk::<12>().ok_or(BuildError::NoHeader)?;
    let packet_type = PacketType::from_number(head[8] >> 1).ok_or(BuildError::NoHeader)?;
    let options_start = packet_type.header_len(head[8] & 1 == 0);
    let (header, payload) = datagram
        .split_at_mut_checked(usize::from(head[4]) * 4)
        .ok_or(BuildError::NoHeader)?;
    let field = header
        .get_mut(options_start + slot.offset()..)
        .and_then(|rest| rest.first_chunk_mut())
        .ok_or(BuildError::NoHeader)?;
    *field = checksum::crc_to_wire(checksum::crc_32c(payload, zeros));
    Ok(())
}

/// Writes the checksum of a finished packet: `datagram` begins with its header, `zeros` zero bytes
/// follow. The header's `CsCov` gives the coverage. Over UDP the field is 0 (6773-3.3-2).
///
/// # Errors
/// [`BuildError::CscovTooLarge`] or [`BuildError::NoHeader`].
pub fn seal(datagram: &mut [u8], zeros: usize, checksum: ChecksumRule) -> Result<(), BuildError> {
    seal_summed(datagram, zeros, None, checksum)
}

/// As [`seal`], with what [`Place::sum`] knows of the payload.
#[inline]
pub(crate) fn seal_summed(
    datagram: &mut [u8],
    zeros: usize,
    payload_sum: Option<u64>,
    checksum: ChecksumRule,
) -> Result<(), BuildError> {
    let len = datagram.len() + zeros;
    let head = datagram
        .first_chunk_mut::<12>()
        .ok_or(BuildError::NoHeader)?;
    let header_len = usize::from(head[4]) * 4;
    if header_len + zeros > len {
        return Err(BuildError::NoHeader);
    }
    // 6773-3.3.1-1: over UDP, too, the coverage must be right in form.
    let covered =
        checksum::covered_len(header_len, len, head[5] & 0xF).ok_or(BuildError::CscovTooLarge)?;
    [head[6], head[7]] = [0, 0];
    if let ChecksumRule::Ip(pseudo) = checksum {
        let covered = datagram.get(..covered).unwrap_or(datagram);
        let sum = match (payload_sum, covered.get(..header_len)) {
            // A header has whole words: the payload's begin with it.
            (Some(payload), Some(header)) => pseudo.finish(checksum::sum(header) + payload, len),
            _ => pseudo.compute(covered, len),
        };
        if let Some(field) = datagram.get_mut(6..8) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
