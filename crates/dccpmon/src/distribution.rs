//! A distribution of times in bounded memory.

use crate::wire::figures::Spread;
use std::collections::BTreeMap;

/// Buckets of one octave: a percentile is at most 1/256 too high.
const PER_OCTAVE_BITS: u32 = 8;

/// Counts times in nanoseconds, in at most 14,592 buckets of less than 0.4 % width.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    /// The number of times in each bucket that has any.
    counts: BTreeMap<u16, u64>,
    n: u64,
    min: u64,
    max: u64,
}

impl Distribution {
    /// Adds a time.
    pub(crate) fn add(&mut self, ns: u64) {
        self.min = if self.n == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.n += 1;
        *self.counts.entry(bucket(ns)).or_default() += 1;
    }

    /// Moves all times of `other` here.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let other = core::mem::take(other);
        if other.n == 0 {
            return;
        }
        self.min = if self.n == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = self.max.max(other.max);
        self.n += other.n;
        for (bucket, count) in other.counts {
            *self.counts.entry(bucket).or_default() += count;
        }
    }

    /// Sums the times up; `None` if there are none.
    pub(crate) fn spread(&self) -> Option<Spread> {
        (self.n > 0).then(|| Spread {
            min: self.min,
            p50: self.percentile(50),
            p99: self.percentile(99),
            max: self.max,
            n: self.n,
        })
    }

    /// The top of the bucket that holds the percentile, at most the largest time.
    fn percentile(&self, percent: u64) -> u64 {
        let rank = u128::from(self.n) * u128::from(percent);
        let rank = rank.div_ceil(100);
        let mut seen = 0;
        let found = self.counts.iter().find(|(_, count)| {
            seen += u128::from(**count);
            seen >= rank
        });
        found.map_or(self.max, |(bucket, _)| top(*bucket).min(self.max))
    }
}

/// The lower bits of a time that its bucket leaves open.
fn open_bits(ns: u64) -> u32 {
    ns.checked_ilog2()
        .unwrap_or(0)
        .saturating_sub(PER_OCTAVE_BITS)
}

fn bucket(ns: u64) -> u16 {
    let open = open_bits(ns);
    let n = u64::from(open << PER_OCTAVE_BITS) + (ns >> open);
    u16::try_from(n).unwrap_or(u16::MAX)
}

/// The longest time of a bucket.
fn top(bucket: u16) -> u64 {
    let open = (u32::from(bucket) >> PER_OCTAVE_BITS).saturating_sub(1);
    let first = u64::from(u32::from(bucket) - (open << PER_OCTAVE_BITS));
    (first << open) | ((1 << open) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> Distribution {
        let mut distribution = Distribution::default();
        for ns in times {
            distribution.add(*ns);
        }
        distribution
    }

    #[test]
    fn top_of_a_bucket_is_at_most_a_256th_above_its_times() {
        let mut last = 0;
        let octaves = (17..64).flat_map(|bits| [(1 << bits) - 1, 1 << bits]);
        for ns in (0..100_000).chain(octaves).chain([u64::MAX]) {
            let bucket = bucket(ns);
            assert!(bucket >= last && bucket < 14_592, "{ns}: {last}, {bucket}");
            let top = top(bucket);
            assert!(top >= ns && top - ns <= ns / 256, "{ns}: {top}");
            last = bucket;
        }
    }

    #[test]
    fn percentiles_are_those_of_the_samples_within_the_resolution() {
        let spread = of(&(1..=200).rev().collect::<Vec<_>>()).spread().unwrap();
        assert_eq!(
            (spread.min, spread.p50, spread.p99, spread.max, spread.n),
            (1, 100, 198, 200, 200)
        );
        assert_eq!(of(&[7]).spread().map(|s| (s.p50, s.p99)), Some((7, 7)));
        assert_eq!(of(&[]).spread(), None);
        let mut times: Vec<u64> = (1..=10_000).map(|n| n * n * 37 + 1_000_000).collect();
        let spread = of(&times).spread().unwrap();
        times.sort_unstable();
        for (found, exact) in [(spread.p50, times[4999]), (spread.p99, times[9899])] {
            assert!(
                found >= exact && found - exact <= exact / 256,
                "{found} {exact}"
            );
        }
        assert_eq!((spread.min, spread.max), (times[0], times[9999]));
    }

    #[test]
    fn a_million_times_need_as_much_memory_as_their_buckets() {
        let mut all = Distribution::default();
        for second in 0..1000 {
            let mut interval = of(&[]);
            for n in 0..1000_u64 {
                interval.add(1_000_000 + (second * 1000 + n) * 7919 % 2_000_000);
            }
            all.append(&mut interval);
            assert_eq!(interval.spread(), None);
        }
        // From 1 to 3 ms: two octaves at most.
        assert!(all.counts.len() <= 2 * 256, "{}", all.counts.len());
        assert_eq!(all.spread().unwrap().n, 1_000_000);
    }
}
