//! The receive rates of the last two round trips (RFC 5348 §4.3, `X_recv_set`).

use crate::time::Instant;
use core::time::Duration;

/// Rates kept (5348-8.2.2-1).
const MAX: usize = 3;

/// Receive rates in bytes per second and the times of their reports, oldest first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct XRecvSet {
    items: [(Instant, f64); MAX],
    len: usize,
}

impl XRecvSet {
    /// The set before any feedback: no bound (5348-4.3-2).
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            items: [(now, f64::INFINITY); MAX],
            len: 1,
        }
    }

    fn items(&self) -> &[(Instant, f64)] {
        self.items.get(..self.len).unwrap_or_default()
    }

    /// The highest rate; never empty.
    pub(crate) fn max(&self) -> f64 {
        self.items().iter().fold(0.0, |max, &(_, x)| x.max(max))
    }

    /// Adds a rate, and forgets those that are older than `age` or too many.
    pub(crate) fn add(&mut self, now: Instant, x_recv: f64, age: Duration) {
        let mut kept = 0;
        for i in 0..self.len {
            let is_crowded = self.len - i >= MAX;
            if let Some(&item) = self.items.get(i)
                && now - item.0 <= age
                && !is_crowded
            {
                self.items[kept] = item;
                kept += 1;
            }
        }
        self.items[kept] = (now, x_recv);
        self.len = kept + 1;
    }

    /// Halves all rates (5348-4.3-3).
    pub(crate) fn halve(&mut self) {
        for (_, x) in &mut self.items {
            *x /= 2.0;
        }
    }

    /// Keeps only the highest of the rates and `x_recv`, as of now. The initial infinity goes.
    pub(crate) fn maximize(&mut self, now: Instant, x_recv: f64) {
        let known = self.items().iter().map(|&(_, x)| x);
        let max = known.filter(|x| x.is_finite()).fold(x_recv, f64::max);
        self.replace(now, max);
    }

    /// Keeps only this rate.
    pub(crate) fn replace(&mut self, now: Instant, x_recv: f64) {
        self.items[0] = (now, x_recv);
        self.len = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + Duration::from_millis(ms)
    }

    fn rates(set: &XRecvSet) -> Vec<f64> {
        set.items().iter().map(|&(_, x)| x).collect()
    }

    #[test]
    fn it_starts_without_a_bound() {
        // 5348-4.3-2
        assert_eq!(rates(&XRecvSet::new(at(0))), [f64::INFINITY]);
    }

    #[test]
    fn rates_older_than_two_round_trips_go() {
        // 5348-4.3-2
        let mut set = XRecvSet::new(at(0));
        set.add(at(100), 10.0, 2 * RTT);
        set.add(at(200), 30.0, 2 * RTT);
        assert_eq!(rates(&set), [f64::INFINITY, 10.0, 30.0]);
        set.add(at(301), 20.0, 2 * RTT);
        assert_eq!(rates(&set), [30.0, 20.0]);
        set.add(at(500), 5.0, 2 * RTT);
        assert_eq!(rates(&set), [20.0, 5.0]);
        assert!((set.max() - 20.0).abs() < f64::EPSILON);
    }

    #[test]
    fn three_rates_are_kept_at_most() {
        // 5348-8.2.2-1
        let mut set = XRecvSet::new(at(0));
        for (ms, rate) in [(1, 5.0), (2, 4.0), (3, 3.0), (4, 2.0)] {
            set.add(at(ms), rate, 2 * RTT);
        }
        assert_eq!(rates(&set), [4.0, 3.0, 2.0]);
    }

    #[test]
    fn maximizing_keeps_the_highest_finite_rate() {
        // 5348-4.3-3
        let mut set = XRecvSet::new(at(0));
        set.maximize(at(10), 7.0);
        assert_eq!(rates(&set), [7.0]);
        set.add(at(20), 9.0, 2 * RTT);
        set.maximize(at(30), 8.0);
        assert_eq!(set.items(), [(at(30), 9.0)]);
        set.maximize(at(40), 11.0);
        assert_eq!(set.items(), [(at(40), 11.0)]);
        set.halve();
        assert_eq!(rates(&set), [5.5]);
        set.replace(at(50), 1.0);
        assert_eq!(set.items(), [(at(50), 1.0)]);
    }
}
