//! Histograms of times in nanoseconds, or of counts.

use crate::Spread;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use core::fmt;
use dccp_proto::number::to_f64;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};
use std::io::Read as _;

/// The greatest value: 100 s in nanoseconds. Larger ones count as this one.
pub const VALUE_MAX: u64 = 100_000_000_000;

/// Decimal digits that a bucket keeps: two make buckets of at most 1/128 of their value.
const DIGITS: u8 = 2;
/// The first value whose bucket is wider than 1.
const EXACT: u64 = 256;
/// The greatest sum of all counts that text from a peer can have.
const COUNT_MAX: u64 = 1 << 53;
/// The longest text and the longest uncompressed form that are read, in bytes. Every bucket fills less than 9 bytes.
const TEXT_MAX: usize = 64 * 1024;

/// Counts values in buckets of less than 1 % width; 32 KiB from the first value on.
///
/// The least and greatest value and the sum are exact. Two histograms of the same kind merge without loss.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Histogram {
    counts: Option<hdrhistogram::Histogram<u64>>,
    min: u64,
    max: u64,
    /// Saturates.
    sum: u64,
}

/// Values that a histogram does not tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The least value of the bucket.
    pub low: u64,
    /// The greatest value of the bucket.
    pub high: u64,
    /// The number of recorded values in the bucket, at least 1.
    pub count: u64,
}

impl Bucket {
    /// The value in the middle.
    pub fn middle(&self) -> u64 {
        self.low + (self.high - self.low) / 2
    }
}

impl Histogram {
    /// Adds a value.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Adds a value `n` times.
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        let value = value.min(VALUE_MAX);
        if self.is_empty() {
            (self.min, self.max) = (value, value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum = self.sum.saturating_add(value.saturating_mul(n));
        let counts = self.counts.get_or_insert_with(empty_counts);
        counts.saturating_record_n(value, n);
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let Some(theirs) = &other.counts else { return };
        let Some(ours) = &mut self.counts else {
            self.clone_from(other);
            return;
        };
        // Both have the same buckets, so the addition cannot fail.
        let _ = ours.add(theirs);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// The number of values.
    pub fn len(&self) -> u64 {
        self.counts.as_ref().map_or(0, hdrhistogram::Histogram::len)
    }

    /// Whether no value was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The buckets that hold values, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.counts.iter().flat_map(|counts| {
            counts.iter_recorded().map(move |step| Bucket {
                low: counts.lowest_equivalent(step.value_iterated_to()),
                high: counts.highest_equivalent(step.value_iterated_to()),
                count: step.count_since_last_iteration(),
            })
        })
    }

    /// The value that is not exceeded by `permille` ‰ of the values, by nearest rank, and up to 1 % too high.
    /// `None` if the sample is too small for it (see [`Spread`]).
    pub fn quantile(&self, permille: u64) -> Option<u64> {
        let [value] = self.quantiles([permille]);
        value
    }

    /// Several quantiles in one pass; `permilles` must rise.
    fn quantiles<const N: usize>(&self, permilles: [u64; N]) -> [Option<u64>; N] {
        let mut found = [None; N];
        let mut next = 0;
        let mut passed = 0_u64;
        for bucket in self.buckets() {
            passed = passed.saturating_add(bucket.count);
            while next < N && rank(self.len(), permilles[next]).is_none_or(|rank| passed >= rank) {
                found[next] = rank(self.len(), permilles[next])
                    .map(|_| bucket.high.clamp(self.min, self.max));
                next += 1;
            }
        }
        found
    }

    /// The distribution in a few numbers, without [`Spread::hdr`]; `None` if there are no values.
    pub fn spread(&self) -> Option<Spread> {
        let n = self.len();
        let [p50, p90, p99, p999] = self.quantiles([500, 900, 990, 999]);
        (n > 0).then(|| Spread {
            min: self.min,
            p50,
            p90,
            p99,
            p999,
            max: self.max,
            mean: to_f64(self.sum) / to_f64(n),
            n,
            hdr: None,
        })
    }

    /// All buckets, as base64 of `HdrHistogram`'s V2 format with deflate, which other programs read too.
    pub fn text(&self) -> String {
        let mut bytes = Vec::new();
        let empty = self.counts.is_none().then(empty_counts);
        if let Some(counts) = self.counts.as_ref().or(empty.as_ref()) {
            // Writing to memory cannot fail.
            let _ = V2DeflateSerializer::new().serialize(counts, &mut bytes);
        }
        STANDARD.encode(bytes)
    }

    /// Reads [`text`](Self::text). The least and greatest value are those of their buckets, and the mean is that of
    /// the buckets' middles.
    ///
    /// # Errors
    /// If it is not the text of a histogram with our range and digits.
    pub fn from_text(text: &str) -> Result<Self, InvalidHistogram> {
        let mut histogram = Self::default();
        let (mut total, mut sum) = (0_u64, 0_u64);
        for (index, count) in counts_of_text(text)? {
            let bucket = bucket_at(index, count).filter(|bucket| bucket.low <= VALUE_MAX);
            let bucket = bucket.ok_or(InvalidHistogram("a value above 100 s"))?;
            total = total.saturating_add(count);
            if total > COUNT_MAX {
                return Err(InvalidHistogram("too many values"));
            }
            histogram.record_n(bucket.low, count);
            histogram.max = bucket.high.min(VALUE_MAX);
            sum = sum.saturating_add(bucket.middle().saturating_mul(count));
        }
        histogram.sum = sum;
        Ok(histogram)
    }
}

/// The rank of a quantile among `n` values, from 1; `None` if fewer than one value lies above it.
fn rank(n: u64, permille: u64) -> Option<u64> {
    let above = n.saturating_mul(1000_u64.checked_sub(permille)?);
    (above >= 1000).then(|| n.saturating_mul(permille).div_ceil(1000).max(1))
}

fn empty_counts() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_max(VALUE_MAX, DIGITS).expect("the constants are in range")
}

/// Text that is not one of our histograms, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidHistogram(&'static str);

impl fmt::Display for InvalidHistogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a histogram of dccp-stats: {}", self.0)
    }
}

impl core::error::Error for InvalidHistogram {}

/// The form of a histogram between two programs.
#[derive(Serialize, Deserialize)]
struct Stored {
    min: u64,
    max: u64,
    sum: u64,
    counts: String,
}

impl From<Histogram> for Stored {
    fn from(histogram: Histogram) -> Self {
        Self {
            min: histogram.min,
            max: histogram.max,
            sum: histogram.sum,
            counts: histogram.text(),
        }
    }
}

impl TryFrom<Stored> for Histogram {
    type Error = InvalidHistogram;

    fn try_from(stored: Stored) -> Result<Self, InvalidHistogram> {
        let mut histogram = Self::from_text(&stored.counts)?;
        let n = histogram.len();
        let is_same = |a, b| (histogram.counts.as_ref()).map_or(a == b, |c| c.equivalent(a, b));
        let sums = stored.min.saturating_mul(n)..=stored.max.saturating_mul(n);
        if !is_same(stored.min, histogram.min)
            || !is_same(stored.max, histogram.max)
            || stored.min > stored.max
            || !sums.contains(&stored.sum)
        {
            return Err(InvalidHistogram("the figures contradict the buckets"));
        }
        (histogram.min, histogram.max, histogram.sum) = (stored.min, stored.max, stored.sum);
        Ok(histogram)
    }
}

/// The values of the bucket at an index of `HdrHistogram`'s array.
///
/// The first 256 buckets hold one value each. Then every 128 buckets are twice as wide as the 128 before them.
fn bucket_at(index: u64, count: u64) -> Option<Bucket> {
    const HALF: u64 = EXACT / 2;
    let doublings = u32::try_from((index / HALF).saturating_sub(1)).ok()?;
    let first = if index < EXACT {
        index
    } else {
        index % HALF + HALF
    };
    let low = first.checked_mul(1_u64.checked_shl(doublings)?)?;
    let high = low + ((1 << doublings) - 1);
    Some(Bucket { low, high, count })
}

/// The indexes and counts in a text. The crate's own reader is not used: it allocates what the peer asks for.
fn counts_of_text(text: &str) -> Result<Vec<(u64, u64)>, InvalidHistogram> {
    const COMPRESSED: u32 = 0x1c84_9314;
    const PLAIN: u32 = 0x1c84_9313;
    const ENDS_EARLY: InvalidHistogram = InvalidHistogram("it ends early");
    if text.len() > TEXT_MAX {
        return Err(InvalidHistogram("too long"));
    }
    let bytes = (STANDARD.decode(text)).map_err(|_| InvalidHistogram("not base64"))?;
    let (head, body) = bytes.split_first_chunk::<8>().ok_or(ENDS_EARLY)?;
    if word(&head[..4]) != Some(COMPRESSED) {
        return Err(InvalidHistogram("not the V2 format with deflate"));
    }
    let mut plain = Vec::new();
    (ZlibDecoder::new(body).take(TEXT_MAX as u64))
        .read_to_end(&mut plain)
        .map_err(|_| InvalidHistogram("not deflated"))?;
    // The format's head: cookie, length, offset, digits, least and greatest value, a ratio.
    let (head, counts) = plain.split_first_chunk::<40>().ok_or(ENDS_EARLY)?;
    let expected = empty_counts();
    let is_ours = word(&head[..4]) == Some(PLAIN)
        && word(&head[4..8]).is_some_and(|length| length as usize == counts.len())
        && word(&head[8..12]) == Some(0)
        && word(&head[12..16]) == Some(u32::from(DIGITS))
        && head[16..24] == expected.low().to_be_bytes()
        && head[24..32] == expected.high().to_be_bytes()
        && head[32..] == 1.0_f64.to_be_bytes();
    if !is_ours {
        return Err(InvalidHistogram("another range or precision"));
    }
    let (mut found, mut index, mut rest) = (Vec::new(), 0_u64, counts);
    while !rest.is_empty() {
        let number = take_number(&mut rest).ok_or(ENDS_EARLY)?;
        if number < 0 {
            index = index.saturating_add(number.unsigned_abs());
        } else {
            if number > 0 {
                found.push((index, number.unsigned_abs()));
            }
            index = index.saturating_add(1);
        }
    }
    Ok(found)
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// Reads one number: zigzag in LEB128, where a ninth byte counts in full. Negative numbers are runs of zeros.
fn take_number(rest: &mut &[u8]) -> Option<i64> {
    const LAST: u32 = 8;
    let mut value = 0_u64;
    for at in 0..=LAST {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        if at == LAST || byte < 0x80 {
            value |= u64::from(byte) << (7 * at);
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
    }
    Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
}

#[cfg(test)]
mod tests;
