//! How late quanta leave: a histogram that does not grow.

use core::time::Duration;
use dccp_proto::time::nanos;

/// Buckets of one octave: a quantile is at most an eighth too high.
const PER_OCTAVE: u32 = 8;
/// Up to 2^36 ns, more than a minute.
const BUCKETS: usize = 34 * PER_OCTAVE as usize;

/// How late packets left that had to wait for the pacer: from the moment for which it had scheduled them to the one
/// at which they were handed to the system. A quantum is what leaves by one such moment: one packet, unless the
/// caller was late or the rate is so high that 250 µs hold several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PacingError {
    /// Quanta measured.
    pub quanta: u64,
    /// Half of them were at most so late (to an eighth).
    pub p50: Duration,
    /// 99 of 100 were at most so late (to an eighth).
    pub p99: Duration,
    /// The latest.
    pub max: Duration,
}

/// Counts how often something was so late.
#[derive(Debug, Default)]
pub(crate) struct Lateness {
    /// Empty until the first.
    counts: Vec<u64>,
    quanta: u64,
    max: Duration,
}

impl Lateness {
    /// Something was so late.
    pub(crate) fn add(&mut self, late: Duration) {
        self.counts.resize(BUCKETS, 0);
        self.counts[bucket(late)] += 1;
        self.quanta += 1;
        self.max = self.max.max(late);
    }

    /// Sums up all times.
    pub(crate) fn sum_up(&self) -> PacingError {
        PacingError {
            quanta: self.quanta,
            p50: self.quantile(50),
            p99: self.quantile(99),
            max: self.max,
        }
    }

    /// The top of the bucket that holds the given percentile, but no more than there was.
    fn quantile(&self, percent: u64) -> Duration {
        let rank = (self.quanta * percent).div_ceil(100);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map_or(Duration::ZERO, |n| top(n).min(self.max))
    }
}

/// How many of a time's lower bits its bucket leaves open.
fn open_bits(ns: u64) -> u32 {
    ns.checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(PER_OCTAVE.ilog2())
}

fn bucket(time: Duration) -> usize {
    let ns = nanos(time);
    let open = open_bits(ns);
    let n = u64::from(PER_OCTAVE * open) + (ns >> open);
    usize::try_from(n).map_or(BUCKETS - 1, |n| n.min(BUCKETS - 1))
}

/// The longest time of a bucket.
fn top(bucket: usize) -> Duration {
    let per_octave = PER_OCTAVE as usize;
    let open = (bucket / per_octave).saturating_sub(1);
    let next = (bucket - per_octave * open + 1) as u64;
    Duration::from_nanos((next << open) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> Duration {
        Duration::from_nanos(ns)
    }

    #[test]
    fn each_time_has_a_bucket_whose_top_is_at_most_an_eighth_more() {
        let mut last = 0;
        for n in (0..100_000).chain((17..36).map(|bits| (1 << bits) - 1)) {
            let bucket = bucket(ns(n));
            assert!((last..=last + 8).contains(&bucket), "{n}: {last}, {bucket}");
            assert!(top(bucket) >= ns(n) && top(bucket) <= ns(n + n / 8), "{n}");
            last = bucket;
        }
        for n in 0..BUCKETS - 1 {
            assert_eq!(bucket(top(n)), n);
            assert_eq!(bucket(top(n) + ns(1)), n + 1);
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_what_was_added() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.sum_up(), PacingError::default());
        for n in 1..=1000 {
            lateness.add(ns(n));
        }
        lateness.add(Duration::from_millis(3));
        let sum = lateness.sum_up();
        assert_eq!((sum.quanta, sum.max), (1001, Duration::from_millis(3)));
        assert_eq!(sum.p50, ns(511));
        assert!((ns(991)..=ns(1023)).contains(&sum.p99), "{:?}", sum.p99);
    }

    #[test]
    fn no_quantile_is_above_the_latest() {
        let mut lateness = Lateness::default();
        lateness.add(ns(1000));
        assert_eq!(lateness.sum_up().p99, ns(1000));
    }
}
