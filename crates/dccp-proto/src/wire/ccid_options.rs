//! The options of CCID 3 and 4 (RFC 4342 §8, RFC 5622 §8, RFC 6323 §3.2.1). CCID 2 has none.

use super::{NoSpace, Opt, OptionWriter, Options};
use core::time::Duration;

const RTT_ESTIMATE: u8 = 128;
const LOSS_EVENT_RATE: u8 = 192;
const LOSS_INTERVALS: u8 = 193;
const RECEIVE_RATE: u8 = 194;
const DROPPED_PACKETS: u8 = 195;

/// A CCID-specific option, decoded to its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CcidOpt<'a> {
    /// Type 128 (RFC 6323 §3.2.1).
    RttEstimate(RttEstimate),
    /// Type 192 (RFC 4342 §8.5): the mean loss interval in packets, rounded up; `u32::MAX` while
    /// nothing was lost.
    LossEventRate(u32),
    /// Type 193 (RFC 4342 §8.6).
    LossIntervals {
        /// Newest packets that are in no interval, 0–3 (4342-8.6-2).
        skip: u8,
        /// The intervals, newest first; see [`LossInterval::from_bytes`].
        intervals: &'a [[u8; 9]],
    },
    /// Type 194 (RFC 4342 §8.3), in bytes per second.
    ReceiveRate(u32),
    /// Type 195 (RFC 5622 §8.7), of CCID 4 alone: lost packets of each interval, newest first, as
    /// 24-bit numbers.
    DroppedPackets(&'a [[u8; 3]]),
    /// A number that this CCID does not use.
    Unknown,
    /// A known number with an impossible length or value (4340-5.8-8).
    Malformed,
}

impl<'a> CcidOpt<'a> {
    /// The most intervals in one option (4342-8.6-1).
    pub const INTERVALS_MAX: usize = 28;
    /// The most drop counts in one option (5622-8.7-1).
    pub const DROP_COUNTS_MAX: usize = 84;

    /// Decodes the option of type `kind` with `data` as `ccid` understands it.
    pub fn decode(ccid: u8, kind: u8, data: &'a [u8]) -> Self {
        match (ccid, kind, data) {
            (3 | 4, RTT_ESTIMATE, _) => {
                RttEstimate::decode(data).map_or(Self::Malformed, Self::RttEstimate)
            }
            (3 | 4, LOSS_EVENT_RATE, &[a, b, c, d]) => {
                Self::LossEventRate(u32::from_be_bytes([a, b, c, d]))
            }
            // 4342-8.6-2
            (3 | 4, LOSS_INTERVALS, &[skip @ 0..=3, ref intervals @ ..]) => {
                match intervals.as_chunks() {
                    (intervals, []) => Self::LossIntervals { skip, intervals },
                    _ => Self::Malformed,
                }
            }
            (3 | 4, RECEIVE_RATE, &[a, b, c, d]) => {
                Self::ReceiveRate(u32::from_be_bytes([a, b, c, d]))
            }
            (4, DROPPED_PACKETS, _) => match data.as_chunks() {
                (counts, []) => Self::DroppedPackets(counts),
                _ => Self::Malformed,
            },
            (3 | 4, LOSS_EVENT_RATE..=RECEIVE_RATE, _) => Self::Malformed,
            _ => Self::Unknown,
        }
    }

    /// Whether an option of type `kind` goes from HC-Sender to HC-Receiver; the others go back
    /// (4340-10.3-1).
    pub const fn is_from_hc_sender(kind: u8) -> bool {
        kind < 192
    }

    /// Appends the option to `writer`.
    ///
    /// # Errors
    /// [`NoSpace`] if it does not fit, or is `Unknown` or `Malformed`; nothing is written then.
    pub fn push(&self, writer: &mut OptionWriter) -> Result<(), NoSpace> {
        match *self {
            Self::RttEstimate(rtt) => rtt.push(writer),
            Self::LossEventRate(inverse) => {
                writer.push_raw(LOSS_EVENT_RATE, &inverse.to_be_bytes())
            }
            Self::LossIntervals { skip, intervals } => {
                writer.append(LOSS_INTERVALS, &[skip], intervals.as_flattened())
            }
            Self::ReceiveRate(rate) => writer.push_raw(RECEIVE_RATE, &rate.to_be_bytes()),
            Self::DroppedPackets(counts) => writer.push_raw(DROPPED_PACKETS, counts.as_flattened()),
            Self::Unknown | Self::Malformed => Err(NoSpace),
        }
    }
}

/// The sender's round-trip time in µs, as RTT Estimate carries it (RFC 6323 §3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RttEstimate {
    /// 0: not known yet; 0xFFFFFF: above 16.7 s.
    us: u32,
    /// Bytes on the wire, 1–3.
    width: u8,
}

impl RttEstimate {
    const MAX: u32 = 0xFF_FFFF;

    /// The shortest form of an estimate, if there is one (6323-3.2.1-1).
    pub fn new(rtt: Option<Duration>) -> Self {
        let us = rtt.map_or(0, |rtt| {
            u32::try_from(rtt.as_micros()).map_or(Self::MAX, |us| us.clamp(1, Self::MAX))
        });
        let width = match us {
            0..=0xFF => 1,
            0x100..=0xFFFF => 2,
            _ => 3,
        };
        Self { us, width }
    }

    /// The estimate; `None` while the sender has none. 16.777215 s stands for all longer ones.
    pub fn rtt(self) -> Option<Duration> {
        (self.us != 0).then(|| Duration::from_micros(u64::from(self.us)))
    }

    /// Bytes of the whole option.
    pub fn wire_len(self) -> usize {
        2 + usize::from(self.width)
    }

    fn decode(data: &[u8]) -> Option<Self> {
        let width = u8::try_from(data.len())
            .ok()
            .filter(|w| matches!(w, 1..=3))?;
        let us = data.iter().fold(0, |n, &b| n << 8 | u32::from(b));
        Some(Self { us, width })
    }

    fn push(self, writer: &mut OptionWriter) -> Result<(), NoSpace> {
        let bytes = self.us.to_be_bytes();
        let value = bytes.get(4 - usize::from(self.width)..).ok_or(NoSpace)?;
        writer.push_raw(RTT_ESTIMATE, value)
    }
}

/// A loss interval as Loss Intervals carries it (RFC 4342 §8.6), in packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossInterval {
    /// Packets in the lossless part, the newer one; 24 bits.
    pub lossless: u32,
    /// The sum of the ECN nonces of the lossless part's data packets (4342-8.6-3).
    pub nonce: bool,
    /// Packets in the lossy part; 23 bits.
    pub loss: u32,
    /// Data packets in the interval; 24 bits.
    pub data: u32,
}

impl LossInterval {
    /// Decodes an interval.
    pub const fn from_bytes(b: [u8; 9]) -> Self {
        Self {
            lossless: from_24_bits([b[0], b[1], b[2]]),
            nonce: b[3] & 0x80 != 0,
            loss: from_24_bits([b[3] & 0x7F, b[4], b[5]]),
            data: from_24_bits([b[6], b[7], b[8]]),
        }
    }

    /// Encodes the interval. A number that is too large becomes the largest, which so means "at
    /// least".
    pub fn to_bytes(self) -> [u8; 9] {
        let lossless = to_24_bits(self.lossless);
        let mut loss = to_24_bits(self.loss.min(0x7F_FFFF));
        loss[0] |= u8::from(self.nonce) << 7;
        let data = to_24_bits(self.data);
        let mut bytes = [0; 9];
        bytes[0..3].copy_from_slice(&lossless);
        bytes[3..6].copy_from_slice(&loss);
        bytes[6..9].copy_from_slice(&data);
        bytes
    }
}

const fn from_24_bits([a, b, c]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, a, b, c])
}

/// A number that is too large becomes the largest.
fn to_24_bits(n: u32) -> [u8; 3] {
    let [_, a, b, c] = n.min(0xFF_FFFF).to_be_bytes();
    [a, b, c]
}

/// Appends Loss Intervals, newest first, in as many options as they need (4342-8.6-1).
///
/// # Errors
/// [`NoSpace`] if they do not fit whole, or `skip` exceeds 3; nothing is written then.
pub fn push_loss_intervals(
    writer: &mut OptionWriter,
    skip: u8,
    intervals: &[LossInterval],
) -> Result<(), NoSpace> {
    let start = writer.len();
    let mut skip = Some(skip).filter(|&n| n <= 3).ok_or(NoSpace)?;
    let mut bytes = [[0; 9]; CcidOpt::INTERVALS_MAX];
    for group in intervals.chunks(CcidOpt::INTERVALS_MAX) {
        for (to, interval) in bytes.iter_mut().zip(group) {
            *to = interval.to_bytes();
        }
        let intervals = bytes.get(..group.len()).unwrap_or_default();
        CcidOpt::LossIntervals { skip, intervals }
            .push(writer)
            .inspect_err(|_| writer.truncate(start))?;
        // 4342-8.6-2
        skip = 0;
    }
    Ok(())
}

/// Appends Dropped Packets, the counts of the intervals in the same order, in as many options as
/// they need (5622-8.7-1). A count that is too large becomes the largest of 24 bits.
///
/// # Errors
/// [`NoSpace`] if they do not fit whole; nothing is written then.
pub fn push_dropped_packets(writer: &mut OptionWriter, counts: &[u32]) -> Result<(), NoSpace> {
    let start = writer.len();
    let mut bytes = [[0; 3]; CcidOpt::DROP_COUNTS_MAX];
    for group in counts.chunks(CcidOpt::DROP_COUNTS_MAX) {
        for (to, count) in bytes.iter_mut().zip(group) {
            *to = to_24_bits(*count);
        }
        CcidOpt::DroppedPackets(bytes.get(..group.len()).unwrap_or_default())
            .push(writer)
            .inspect_err(|_| writer.truncate(start))?;
    }
    Ok(())
}

/// All Loss Intervals options of a packet, read together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossIntervals<'a> {
    /// Newest packets that are in no interval, 0–3.
    pub skip: u8,
    options: Options<'a>,
}

impl<'a> LossIntervals<'a> {
    /// The Loss Intervals of a packet; `None` if it has none, or if the first such option is
    /// malformed, since the place of all later intervals follows from it.
    pub fn of(options: Options<'a>) -> Option<Self> {
        match ccid_4_options(options, LOSS_INTERVALS).next()? {
            CcidOpt::LossIntervals { skip, .. } => Some(Self { skip, options }),
            _ => None,
        }
    }

    /// The intervals, newest first, at most 110. A later option with a Skip Length is ignored
    /// (4342-8.6-2).
    pub fn iter(self) -> impl Iterator<Item = LossInterval> + use<'a> {
        ccid_4_options(self.options, LOSS_INTERVALS)
            .enumerate()
            .filter_map(|(i, option)| match option {
                CcidOpt::LossIntervals { skip, intervals } if i == 0 || skip == 0 => {
                    Some(intervals)
                }
                _ => None,
            })
            .flatten()
            .map(|&bytes| LossInterval::from_bytes(bytes))
    }

    /// The intervals, each with how many packets were lost in it as the packet's Dropped Packets
    /// options say: never more than the Loss Length, which also stands in for a missing count
    /// (5622-8.7-2).
    pub fn iter_with_drops(self) -> impl Iterator<Item = (LossInterval, u32)> + use<'a> {
        let mut counts = ccid_4_options(self.options, DROPPED_PACKETS)
            .filter_map(|option| match option {
                CcidOpt::DroppedPackets(counts) => Some(counts),
                _ => None,
            })
            .flatten();
        self.iter().map(move |interval| {
            let count = counts
                .next()
                .map_or(interval.loss, |&count| from_24_bits(count));
            (interval, count.min(interval.loss))
        })
    }
}

/// The options of one type, which CCID 4 understands as CCID 3 does.
fn ccid_4_options(options: Options<'_>, wanted: u8) -> impl Iterator<Item = CcidOpt<'_>> {
    options.iter().filter_map(move |option| match option {
        Opt::CcidSpecific { kind, data } if kind == wanted => Some(CcidOpt::decode(4, kind, data)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
