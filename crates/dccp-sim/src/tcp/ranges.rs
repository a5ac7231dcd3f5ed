//! Sets of numbers as ranges: what arrived beyond a gap, at either end of a connection.

use std::collections::VecDeque;

/// Disjoint ranges in order, each from its first number to before its second. Touching ones are one.
///
/// Growing the last range, the usual case, takes constant time; finding another takes the logarithm
/// of their number.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Ranges(VecDeque<(u64, u64)>);

impl Ranges {
    /// Adds a range. Tells what of it is new, and returns the whole range that it is part of now.
    pub(super) fn insert(
        &mut self,
        from: u64,
        to: u64,
        mut tell: impl FnMut(u64, u64),
    ) -> (u64, u64) {
        if let Some(last) = self.0.back_mut()
            && last.0 <= from
            && from <= last.1
        {
            if to > last.1 {
                tell(last.1, to);
                last.1 = to;
            }
            return *last;
        }
        let first = self.0.partition_point(|r| r.1 < from);
        let mut whole = (from, to);
        let mut told = from;
        let mut end = first;
        while let Some(&(start, stop)) = self.0.get(end).filter(|r| r.0 <= to) {
            if told < start {
                tell(told, start);
            }
            told = told.max(stop);
            whole = (whole.0.min(start), whole.1.max(stop));
            end += 1;
        }
        if told < to {
            tell(told, to);
        }
        if end == first {
            self.0.insert(first, whole);
        } else {
            self.0[first] = whole;
            self.0.drain(first + 1..end);
        }
        whole
    }

    /// Removes everything below a number.
    pub(super) fn remove_below(&mut self, limit: u64) {
        while let Some(first) = self.0.front_mut() {
            if first.1 > limit {
                first.0 = first.0.max(limit);
                return;
            }
            self.0.pop_front();
        }
    }

    /// The lowest range.
    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.0.front().copied()
    }

    /// The highest range.
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        self.0.back().copied()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut r = Ranges::default();
        for (from, to) in [(10, 20), (30, 40), (50, 60), (20, 30)] {
            r.insert(from, to, |_, _| ());
        }
        assert_eq!(r.0, [(10, 40), (50, 60)]);
        assert_eq!(r.insert(5, 7, |_, _| ()), (5, 7));
        assert_eq!(r.insert(35, 55, |_, _| ()), (10, 60));
        assert_eq!(r.0, [(5, 7), (10, 60)]);
    }

    proptest! {
        #[test]
        fn they_are_a_set_and_tell_what_is_new(
            steps in proptest::collection::vec((0..100_u64, 1..20_u64, any::<bool>()), 0..50),
        ) {
            let mut ranges = Ranges::default();
            let mut model = BTreeSet::new();
            for (at, len, is_removal) in steps {
                if is_removal && len < 5 {
                    ranges.remove_below(at);
                    model.retain(|n| *n >= at);
                } else {
                    let mut told = Vec::new();
                    let whole = ranges.insert(at, at + len, |a, b| told.extend(a..b));
                    let new: Vec<u64> = (at..at + len).filter(|n| model.insert(*n)).collect();
                    prop_assert_eq!(told, new);
                    prop_assert!(whole.0 <= at && whole.1 >= at + len);
                }
                let all: Vec<u64> = ranges.0.iter().flat_map(|r| r.0..r.1).collect();
                prop_assert_eq!(all, model.iter().copied().collect::<Vec<_>>());
                let apart = ranges.0.iter().zip(ranges.0.iter().skip(1)).all(|(a, b)| a.1 < b.0);
                prop_assert!(apart);
                prop_assert_eq!(ranges.first().map(|r| r.0), model.first().copied());
                prop_assert_eq!(ranges.last().map(|r| r.1 - 1), model.last().copied());
                prop_assert_eq!(ranges.is_empty(), model.is_empty());
            }
        }
    }
}
