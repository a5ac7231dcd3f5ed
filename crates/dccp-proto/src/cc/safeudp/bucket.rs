//! Enforcement: a token bucket at the input of the CCID (SafeUDP §6).

use crate::time::Instant;
use core::time::Duration;

/// The time at the enforced rate that a bucket holds at least.
const DEPTH_TIME: f64 = 0.010;
/// The packets that a bucket holds at least.
const DEPTH_PACKETS: f64 = 4.0;

/// A rate, and the burst that it allows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Limit {
    /// Bytes per second, above zero.
    pub(crate) rate: f64,
    /// Bytes.
    pub(crate) depth: f64,
}

impl Limit {
    /// A limit with the default depth, for packets of about `size` bytes.
    pub(crate) fn new(rate: f64, size: f64) -> Self {
        Self {
            rate,
            depth: (DEPTH_PACKETS * size).max(DEPTH_TIME * rate),
        }
    }

    /// The stricter of two limits.
    pub(crate) fn min(self, other: Self) -> Self {
        if other.rate < self.rate { other } else { self }
    }
}

/// Bytes that may leave now.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Bucket {
    /// The tokens at a time; `None`: full.
    tokens: Option<(f64, Instant)>,
}

impl Bucket {
    /// Whether `len` bytes may leave: those of a datagram, and what it must leave for others. More than the bucket holds
    /// needs a full one.
    pub(crate) fn has(&self, now: Instant, len: f64, limit: Limit) -> bool {
        // Rounding of times must not refuse a datagram at the very time that `next` named.
        self.level(now, limit) + 1e-6 * len >= len.min(limit.depth)
    }

    /// When `len` bytes may leave; later than `now`.
    pub(crate) fn next(&self, now: Instant, len: f64, limit: Limit) -> Instant {
        let missing = len.min(limit.depth) - self.level(now, limit);
        let wait = Duration::try_from_secs_f64(missing.max(0.0) / limit.rate);
        now + wait.unwrap_or(Duration::MAX).max(Duration::from_nanos(1))
    }

    /// Takes tokens for bytes that have left. The level can fall below zero.
    pub(crate) fn take(&mut self, now: Instant, bytes: f64, limit: Limit) {
        self.tokens = Some((self.level(now, limit) - bytes, now));
    }

    fn level(&self, now: Instant, limit: Limit) -> f64 {
        self.tokens.map_or(limit.depth, |(tokens, at)| {
            (tokens + limit.rate * (now - at).as_secs_f64()).min(limit.depth)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);

    #[test]
    fn bucket_holds_four_packets_or_ten_milliseconds() {
        // SafeUDP §6: depth max(4 packets, 10 ms).
        assert!((Limit::new(1e5, 1000.0).depth - 4e3).abs() < 1e-9);
        assert!((Limit::new(1e6, 1000.0).depth - 1e4).abs() < 1e-9);
    }

    #[test]
    fn steady_source_passes_at_the_limit() {
        let limit = Limit::new(1e6, 1000.0);
        let mut bucket = Bucket::default();
        let mut passed = 0;
        for n in 0..4000 {
            let now = START + Duration::from_micros(500) * n;
            if bucket.has(now, 1000.0, limit) {
                bucket.take(now, 1000.0, limit);
                passed += 1;
            }
        }
        // 2 s at half of the source's rate, and the full bucket of 10 packets.
        assert!((2000..=2011).contains(&passed), "{passed}");
    }

    #[test]
    fn datagram_passes_at_the_time_that_was_named() {
        let limit = Limit::new(12_345.0, 100.0);
        let mut bucket = Bucket::default();
        bucket.take(START, 400.0, limit);
        assert!(!bucket.has(START, 100.0, limit));
        let at = bucket.next(START, 100.0, limit);
        assert!(at > START && bucket.has(at, 100.0, limit));
    }

    #[test]
    fn datagram_larger_than_the_bucket_needs_a_full_one() {
        let limit = Limit::new(1000.0, 10.0);
        let mut bucket = Bucket::default();
        assert!(bucket.has(START, 9000.0, limit));
        bucket.take(START, 9000.0, limit);
        assert!(!bucket.has(START + Duration::from_secs(8), 9000.0, limit));
        assert!(bucket.has(START + Duration::from_millis(9001), 9000.0, limit));
    }
}
