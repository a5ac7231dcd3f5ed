//! Random streams by name from one seed.
//!
//! Whatever draws at random has a stream of its own: adding a flow, or a kind of fault to one link,
//! changes no number that anything else draws.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of a simulation. Every stream derives from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream with this name. The same seed and name give the same numbers on every machine and
    /// in every version: xoshiro256++ is a fixed algorithm, and the name enters by FNV-1a.
    pub fn stream(self, name: &str) -> Stream {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let name = name
            .bytes()
            .fold(OFFSET, |h, b| (h ^ u64::from(b)).wrapping_mul(PRIME));
        // The generator's own seeding passes this through SplitMix64, so near seeds are unrelated.
        Stream(Xoshiro256PlusPlus::seed_from_u64(mix(self.0) ^ name))
    }
}

/// A stream of random numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Another stream, the `n`th that grows out of this one. This one stays as it is.
    #[must_use]
    pub fn fork(&self, n: u64) -> Self {
        Seed(self.clone().bits() ^ mix(n)).stream("fork")
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in `0..bound`; 0 if `bound` is 0. (The bias of the multiplication is below 2^-32
    /// for every bound that a network has.)
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// An index in `0..bound`; 0 if `bound` is 0.
    pub fn index_below(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap_or(0)
    }

    /// A number in `[0, 1)` with 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number from the standard normal distribution (Box and Muller's method; the second number that
    /// it gives is left, so that each call draws twice).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }

    /// How many trials fail before the first one succeeds, each with this probability.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and more than 2^64 failures saturate"
    )]
    pub fn failures(&mut self, probability: f64) -> u64 {
        if probability <= 0.0 {
            return u64::MAX;
        }
        if probability >= 1.0 {
            return 0;
        }
        (libm::log(1.0 - self.unit()) / libm::log1p(-probability)) as u64
    }

    /// `true` with this probability. Draws nothing if the answer is certain.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && (probability >= 1.0 || self.unit() < probability)
    }
}

/// SplitMix64's finalizer: a bijection with full avalanche: every input bit affects every output bit.
pub(crate) const fn mix(mut x: u64) -> u64 {
    x ^= x >> 30;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draw = |seed, name| Seed(seed).stream(name).bits();
        assert_eq!(draw(1, "link 0 loss"), draw(1, "link 0 loss"));
        assert_ne!(draw(1, "link 0 loss"), draw(1, "link 1 loss"));
        assert_ne!(draw(1, "link 0 loss"), draw(2, "link 0 loss"));
    }

    /// The numbers come from an independent implementation of the three algorithms.
    #[test]
    fn the_numbers_are_the_same_on_every_machine() {
        let mut stream = Seed(42).stream("pinned");
        let first = [stream.bits(), stream.bits(), stream.bits()];
        assert_eq!(
            first,
            [
                0x5461_164c_a075_a1e8,
                0xd121_622d_53ce_226a,
                0x4dfa_3ba1_23a9_5c66
            ]
        );
    }

    #[test]
    fn forks_differ_and_leave_their_origin_alone() {
        let origin = Seed(1).stream("origin");
        let first = |stream: &Stream| stream.clone().bits();
        let before = first(&origin);
        let forks = [0, 1, 2].map(|n| first(&origin.fork(n)));
        assert_eq!(first(&origin), before);
        assert!(forks[0] != forks[1] && forks[1] != forks[2] && forks[0] != before);
        assert_eq!(first(&origin.fork(1)), forks[1]);
    }

    #[test]
    fn chances_come_true_as_often_as_they_should() {
        let mut stream = Seed(1).stream("chance");
        let hits = (0..100_000).filter(|_| stream.chance(0.01)).count();
        assert!((900..1100).contains(&hits), "{hits}");
        assert!(!stream.chance(0.0));
        assert!(stream.chance(1.0));
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn normal_numbers_and_failures_have_their_means() {
        let mut stream = Seed(1).stream("means");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02, "{mean}");
        assert!((square - 1.0).abs() < 0.02, "{square}");
        let fails: u64 = (0..100_000).map(|_| stream.failures(0.1)).sum();
        assert!((fails as f64 / 1e5 - 9.0).abs() < 0.15, "{fails}");
        assert_eq!(stream.failures(0.0), u64::MAX);
        assert_eq!(stream.failures(1.0), 0);
    }

    #[test]
    fn numbers_below_a_bound_are_spread_evenly() {
        let mut stream = Seed(1).stream("below");
        let mut seen = [0; 7];
        for _ in 0..70_000 {
            seen[usize::try_from(stream.below(7)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|n| (9_500..10_500).contains(n)), "{seen:?}");
        assert_eq!(stream.below(0), 0);
        assert_eq!(stream.below(1), 0);
    }
}
