//! Puts the halves of intervals together that both ends report.

use crate::result::document;
use crate::schema;
use crate::wire::figures::Interval;
use std::collections::BTreeMap;

/// Collects the halves and gives out whole intervals by rising time.
pub(crate) struct Halves {
    flows: usize,
    /// By index and flow.
    waiting: BTreeMap<u32, BTreeMap<u32, Interval>>,
    /// The index behind the last interval given out.
    next: u32,
}

/// Intervals that wait for the other end's half. Then the oldest is given out as it is.
const WAITING_MAX: usize = 256;

impl Halves {
    /// Expects this number of flows in each interval.
    pub(crate) fn new(flows: u32) -> Self {
        Self {
            flows: flows as usize,
            waiting: BTreeMap::new(),
            next: 0,
        }
    }

    /// Adds one end's half. Returns the intervals that are whole now and follow on those returned before.
    pub(crate) fn add(&mut self, half: Interval) -> Vec<schema::Interval> {
        if half.index < self.next {
            return Vec::new();
        }
        let flows = self.waiting.entry(half.index).or_default();
        match flows.get_mut(&half.flow) {
            Some(known) => {
                known.tx = half.tx.or(known.tx.take());
                known.rx = half.rx.or(known.rx.take());
            }
            None => {
                flows.insert(half.flow, half);
            }
        }
        let mut whole = Vec::new();
        loop {
            let is_full = self.waiting.len() > WAITING_MAX;
            let Some(first) = self.waiting.first_entry() else {
                break;
            };
            if !is_full && !is_whole(first.get(), self.flows) {
                break;
            }
            self.next = first.key().saturating_add(1);
            whole.extend(document::interval(first.remove().values()));
        }
        whole
    }

    /// The rest, whole or not. A last interval that only one end began is left out.
    pub(crate) fn finish(self) -> Vec<schema::Interval> {
        let mut groups = self.waiting.values();
        let last = groups.rposition(|flows| is_whole(flows, self.flows));
        let count = match last {
            Some(last) => last + 1,
            None if self.next > 0 => 0,
            None => self.waiting.len(),
        };
        let rest = self.waiting.values().take(count);
        rest.filter_map(|flows| document::interval(flows.values()))
            .collect()
    }
}

/// Whether both ends have reported on all flows.
fn is_whole(interval: &BTreeMap<u32, Interval>, flows: usize) -> bool {
    let has_both = |half: &Interval| half.tx.is_some() && half.rx.is_some();
    interval.len() >= flows && interval.values().all(has_both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::figures::{RxInterval, TxInterval};

    fn halves(index: u32, flow: u32) -> [Interval; 2] {
        let empty = Interval {
            flow,
            index,
            t0_ns: u64::from(index),
            t1_ns: u64::from(index) + 1,
            tx: None,
            rx: None,
        };
        let tx = Interval {
            tx: Some(TxInterval::default()),
            ..empty.clone()
        };
        let rx = Interval {
            rx: Some(RxInterval::default()),
            ..empty
        };
        [tx, rx]
    }

    #[test]
    fn interval_comes_when_both_ends_reported_on_all_flows() {
        let mut intervals = Halves::new(2);
        let [tx1, rx1] = halves(0, 0);
        let [tx2, rx2] = halves(0, 1);
        assert!(intervals.add(tx1).is_empty());
        assert!(intervals.add(rx2).is_empty());
        assert!(intervals.add(tx2).is_empty());
        let whole = intervals.add(rx1);
        assert_eq!(whole.len(), 1);
        assert_eq!(whole[0].flows.len(), 2);
        assert!(intervals.waiting.is_empty());
    }

    #[test]
    fn intervals_keep_their_order() {
        let mut intervals = Halves::new(1);
        let [tx0, rx0] = halves(0, 0);
        let [tx1, rx1] = halves(1, 0);
        // The server's reports come later than the client's own.
        assert!(intervals.add(tx0).is_empty() && intervals.add(tx1).is_empty());
        let first = intervals.add(rx0);
        let second = intervals.add(rx1);
        assert_eq!((first.len(), second.len()), (1, 1));
        assert_eq!((first[0].t0_ns, second[0].t0_ns), (0, 1));
    }

    #[test]
    fn halves_that_never_become_whole_are_bounded() {
        let mut intervals = Halves::new(1);
        let mut given = Vec::new();
        for index in 0..10_000 {
            let [_, rx] = halves(index, 0);
            given.extend(intervals.add(rx));
            assert!(intervals.waiting.len() <= WAITING_MAX);
        }
        assert!(given.windows(2).all(|w| w[0].t0_ns < w[1].t0_ns));
        // The other half of an interval that was given out is too late.
        let [tx, _] = halves(0, 0);
        assert!(intervals.add(tx).is_empty());
        assert_eq!(given.len(), 10_000 - WAITING_MAX);
    }

    #[test]
    fn last_interval_that_one_end_began_is_left_out() {
        let mut intervals = Halves::new(1);
        for half in halves(0, 0) {
            intervals.add(half);
        }
        let [tx, _] = halves(1, 0);
        intervals.add(tx);
        assert!(intervals.finish().is_empty());
        let mut lost_server = Halves::new(1);
        for index in 0..3 {
            let [tx, _] = halves(index, 0);
            lost_server.add(tx);
        }
        assert_eq!(lost_server.finish().len(), 3);
    }
}
