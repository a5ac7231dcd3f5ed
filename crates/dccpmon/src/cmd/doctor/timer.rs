//! How late this host wakes a sleeping thread.

use core::time::Duration;
use dccp::clock;
use dccp::proto::time::nanos;
use std::thread;

/// The number of sleeps.
const SLEEPS: usize = 1000;
/// The time of each sleep.
const SLEEP: Duration = Duration::from_micros(100);

/// How much longer than asked sleeps lasted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lateness {
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
}

impl Lateness {
    /// Sleeps about a fifth of a second in all.
    pub(super) fn measure() -> Self {
        let late = (0..SLEEPS).map(|_| {
            let begin = clock::now();
            thread::sleep(SLEEP);
            nanos((clock::now() - begin).saturating_sub(SLEEP))
        });
        Self::of(late.collect())
    }

    fn of(mut late_ns: Vec<u64>) -> Self {
        late_ns.sort_unstable();
        let rank = |percent: usize| {
            let at = late_ns.len() * percent / 100;
            late_ns.get(at).copied().unwrap_or(0)
        };
        Self {
            p50_ns: rank(50),
            p99_ns: rank(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_times() {
        let late = Lateness::of((0..1000).rev().collect());
        assert_eq!((late.p50_ns, late.p99_ns), (500, 990));
        let none = Lateness::of(Vec::new());
        assert_eq!((none.p50_ns, none.p99_ns), (0, 0));
    }
}
