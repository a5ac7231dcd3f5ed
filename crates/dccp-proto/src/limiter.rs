//! A token bucket that limits Syncs and Resets in answer to unexpected packets (RFC 4340 §7.5.4,
//! §8.1.3; 4340-18-2: packets of strangers cost a bounded number of answers).

use crate::time::Instant;
use core::time::Duration;

/// Grants at most a number of packets in any second: somewhat more than half of them at once, and
/// half of them per second in the long run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limiter<const PER_SECOND: u32> {
    /// When all tokens will be back.
    full_at: Instant,
}

impl<const PER_SECOND: u32> Limiter<PER_SECOND> {
    /// Tokens that come back in a second: half of them, rounded down, and at least one.
    const REFILL: u32 = PER_SECOND / 2 + (PER_SECOND == 1) as u32;
    const BURST: u32 = PER_SECOND + 1 - Self::REFILL;
    /// One token comes back in this time. It is rounded up: a second never yields one more.
    const INTERVAL: Duration =
        Duration::from_nanos(1_000_000_000_u64.div_ceil(Self::REFILL as u64));

    /// Returns whether one more packet may be sent now, and counts it.
    pub(crate) fn grant(&mut self, now: Instant) -> bool {
        const { assert!(PER_SECOND > 0, "the limit must be greater than 0") };
        let full_at = self.full_at.max(now);
        // A token is left while no more than BURST - 1 have to come back.
        let is_granted = full_at - now <= Self::INTERVAL * (Self::BURST - 1);
        if is_granted {
            self.full_at = full_at + Self::INTERVAL;
        }
        is_granted
    }

    /// One token comes back at once.
    pub(crate) fn give_back(&mut self) {
        self.full_at = self.full_at - Self::INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    /// How many of `n` requests are granted at once.
    fn grants<const N: u32>(limiter: &mut Limiter<N>, now: Instant, n: usize) -> usize {
        (0..n).filter(|_| limiter.grant(now)).count()
    }

    #[test]
    fn a_flood_of_a_second_gets_no_more_than_the_limit() {
        // 4340-7.5.4-6, 4340-8.1.3-1, 4340-18-3
        fn flood<const N: u32>() {
            let mut limiter = Limiter::<N>::default();
            let start = ms(5000);
            let granted: usize = (0..1000)
                .map(|i| grants(&mut limiter, start + Duration::from_millis(i), 100))
                .sum();
            assert_eq!(granted, N as usize);
        }
        flood::<1>();
        flood::<2>();
        flood::<3>();
        flood::<8>();
        flood::<9>();
        flood::<1024>();
    }

    #[test]
    fn more_than_half_come_at_once_and_the_rest_one_by_one() {
        let mut limiter = Limiter::<8>::default();
        assert_eq!(grants(&mut limiter, ms(1000), 100), 5);
        assert!(!limiter.grant(ms(1250) - Duration::from_nanos(1)));
        assert_eq!(grants(&mut limiter, ms(1250), 100), 1);
        assert_eq!(grants(&mut limiter, ms(1750), 100), 2);
        assert_eq!(grants(&mut limiter, ms(2999), 100), 4);
        assert_eq!(
            grants(&mut limiter, ms(60_000), 100),
            5,
            "no more are saved up"
        );
    }

    #[test]
    fn the_smallest_limit_is_one() {
        let mut limiter = Limiter::<1>::default();
        assert_eq!(grants(&mut limiter, ms(0), 9), 1);
        assert!(!limiter.grant(Instant::from_nanos(999_999_999)));
        assert!(limiter.grant(ms(1000)));
    }

    #[test]
    fn a_clock_that_steps_back_grants_nothing_extra() {
        let mut limiter = Limiter::<8>::default();
        assert_eq!(grants(&mut limiter, ms(1000), 100), 5);
        assert_eq!(grants(&mut limiter, ms(10), 100), 0);
    }

    /// How many of requests with these gaps were granted within any second.
    fn most_in_a_second<const N: u32>(gaps: &[u64]) -> usize {
        let mut limiter = Limiter::<N>::default();
        let mut now = 0;
        let mut granted = Vec::new();
        for gap in gaps {
            now += gap;
            if limiter.grant(Instant::from_nanos(now)) {
                granted.push(now);
            }
        }
        let seconds = granted.iter().enumerate().map(|(i, start)| {
            let within = granted[i..].iter().filter(|&t| t - start < 1_000_000_000);
            within.count()
        });
        seconds.max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn no_second_holds_more_than_the_limit(
            gaps in proptest::collection::vec(0..400_000_000_u64, 1..200),
        ) {
            prop_assert!(most_in_a_second::<1>(&gaps) <= 1);
            prop_assert!(most_in_a_second::<8>(&gaps) <= 8);
            prop_assert!(most_in_a_second::<39>(&gaps) <= 39);
        }
    }
}
