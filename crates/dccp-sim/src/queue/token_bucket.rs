//! Token bucket filter: what leaves keeps to a rate, apart from bursts of a bounded size (as
//! Linux's `tc tbf`).
//!
//! The bucket is kept as the moment at which it will be full. A packet takes its length out of it,
//! which moves that moment away; it may leave when that much is in the bucket.

use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::setting::Impossible;
use crate::transmitter::{FRACTIONS, per_byte};
use core::time::Duration;
use dccp_proto::{Instant, Rate};

/// Settings of a token bucket filter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TokenBucketConfig {
    /// Bytes of IP packets per second that leave in the long run.
    pub rate: Rate,
    /// Bytes that may leave at once after a rest. A longer packet can never leave: it is dropped.
    pub burst: usize,
    /// The limit of waiting packets or bytes.
    pub limit: Limit,
}

impl TokenBucketConfig {
    /// A filter with a bounded delay: no packet waits longer than `latency` (tc-tbf(8)). Its limit is the bytes
    /// that leave in that time, plus the burst.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate times a time is not negative, and a limit saturates"
    )]
    pub fn with_latency(rate: Rate, burst: usize, latency: Duration) -> Self {
        let bytes = rate.bytes_per_s() * latency.as_secs_f64();
        Self {
            rate,
            burst,
            limit: Limit::Bytes((bytes as usize).saturating_add(burst)),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Impossible> {
        Impossible::unless_rate(self.rate, "token_bucket.rate")?;
        Impossible::unless(self.burst > 0, "token_bucket.burst", "above 0 bytes")?;
        self.limit.check("token_bucket.limit")
    }
}

#[derive(Debug)]
pub(crate) struct TokenBucket<T> {
    config: TokenBucketConfig,
    fifo: Fifo<T>,
    /// Time per byte, and when the bucket is full, both in units of 2^-32 ns.
    per_byte: u128,
    full_at: u128,
}

impl<T: Token> TokenBucket<T> {
    pub(crate) fn new(config: TokenBucketConfig) -> Self {
        Self {
            fifo: Fifo::default(),
            per_byte: per_byte(Some(config.rate)).into(),
            full_at: 0,
            config,
        }
    }
}

impl<T: Token> Discipline<T> for TokenBucket<T> {
    fn push(&mut self, now: Instant, parcel: Parcel<T>, books: &mut Books<T>) -> Result<(), Loss> {
        let (packets, bytes) = (self.fifo.len(), self.fifo.bytes());
        let fits = self.config.limit.admits(packets, bytes, parcel.len);
        if !fits || parcel.len > self.config.burst {
            return Err(Loss::Queue);
        }
        self.fifo.push(now, parcel, books);
        Ok(())
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "nanoseconds of centuries fit in 64 bits"
    )]
    fn ready_at(&self) -> Option<Instant> {
        let len = self.fifo.head()?.parcel.len;
        let spare = (self.config.burst - len) as u128 * self.per_byte;
        let at = self.full_at.saturating_sub(spare).div_ceil(FRACTIONS);
        Some(Instant::from_nanos(at as u64))
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        self.fifo.pop(now, books)
    }

    fn on_dequeue(&mut self, now: Instant, len: usize) {
        let time = len as u128 * self.per_byte;
        let now = u128::from(now.as_nanos()) * FRACTIONS;
        self.full_at = self.full_at.max(now) + time;
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }
}

#[cfg(test)]
mod tests {
    use super::super::QueueConfig;
    use super::super::testing::{Bench, sized};
    use super::*;
    use dccp_proto::wire::Ecn;

    /// A slow link: 50 kB/s and a bucket of 10 kB.
    fn slow() -> TokenBucketConfig {
        TokenBucketConfig {
            rate: Rate::from_bytes_per_s(50e3),
            burst: 10_000,
            limit: Limit::Packets(20),
        }
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        let mut q = Bench::new(QueueConfig::TokenBucket(slow()));
        for n in 0..13 {
            q.push(0, sized(n, 1000, Ecn::NotEct)).unwrap();
        }
        // Ten are in the bucket; the next 1000 bytes take 20 ms each.
        let mut left = Vec::new();
        while let Some(at) = q.ready_us() {
            q.pop(at).unwrap();
            left.push(at / 1000);
        }
        assert_eq!(left, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 40, 60]);
        // 140 ms later 4000 bytes are back.
        for n in 0..5 {
            q.push(140_000, sized(n, 1000, Ecn::NotEct)).unwrap();
        }
        let mut left = Vec::new();
        while let Some(at) = q.ready_us().map(|at| at.max(140_000)) {
            q.pop(at).unwrap();
            left.push(at / 1000);
        }
        assert_eq!(left, [140, 140, 140, 140, 160]);
    }

    // Packets dropped by an outage or a smaller limit were not sent, so they use no tokens.
    #[test]
    fn dropped_packets_take_no_tokens() {
        let mut q = Bench::new(QueueConfig::TokenBucket(slow()));
        for n in 0..20 {
            q.push(0, sized(n, 1000, Ecn::NotEct)).unwrap();
        }
        q.flush(0);
        assert_eq!((q.len(), q.dropped().len()), ((0, 0), 20));
        for n in 20..30 {
            q.push(0, sized(n, 1000, Ecn::NotEct)).unwrap();
            assert_eq!(q.ready_us(), Some(0), "packet {n}");
            q.pop(0).unwrap();
        }
    }

    #[test]
    fn what_can_never_leave_is_dropped_at_once() {
        let mut q = Bench::new(QueueConfig::TokenBucket(slow()));
        assert_eq!(q.push(0, sized(0, 10_001, Ecn::NotEct)), Err(Loss::Queue));
        assert_eq!(q.push(0, sized(0, 10_000, Ecn::NotEct)), Ok(()));
    }

    #[test]
    fn a_latency_bounds_the_wait() {
        let rate = Rate::from_bytes_per_s(50e3);
        let config = TokenBucketConfig::with_latency(rate, 10_000, Duration::from_millis(100));
        assert_eq!(config.limit, Limit::Bytes(15_000));
        let mut q = Bench::new(QueueConfig::TokenBucket(config));
        while q.push(0, sized(0, 1000, Ecn::NotEct)).is_ok() {}
        let mut last = 0;
        while let Some(at) = q.ready_us() {
            q.pop(at).unwrap();
            last = at;
        }
        assert_eq!(last, 100_000);
    }
}
