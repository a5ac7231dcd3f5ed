//! Which numbers of a flow arrived.
//!
//! ```text
//!  number    0 ……………… floor ……………………………… passed
//!            | settled  | one bit each, gaps  | not sent, or on the way
//! ```
//!
//! A number below `passed` that has not arrived lies in a gap. Gaps below `floor` are settled: their missing numbers
//! are lost for good. The floor rises with `passed`, and when there are more than [`GAPS_MAX`] gaps.

use crate::loss::{LossRuns, LostRun};
use std::collections::VecDeque;

/// How many numbers below the greatest one a packet can arrive: 32 KiB of bits, or 0.26 s at a million packets per second.
pub(crate) const WINDOW: u64 = 1 << 18;
/// Gaps that are kept: 128 KiB. The window alone bounds them to 4 MiB, which a hostile sender would fill.
const GAPS_MAX: usize = 4096;

/// The place of an arrival among the numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Greater than all before.
    InOrder,
    /// Arrived after a greater number.
    Late {
        /// The earliest arrival with a greater number.
        overtaken_by: Opener,
    },
    /// Arrived before.
    Duplicate,
    /// So late that it is not known whether it arrived before, or settled as lost.
    Stale,
}

/// The arrival that showed a gap: the first one with a greater number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opener {
    /// Its position among the arrivals, from 0.
    pub(crate) position: u64,
    /// Its time of arrival.
    pub(crate) arrived_ns: u64,
}

/// Numbers that were skipped; some of them may have arrived later.
#[derive(Clone, Copy, Debug)]
struct Gap {
    first: u64,
    end: u64,
    opener: Opener,
}

/// The numbers that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    /// The greatest number plus 1.
    passed: u64,
    /// The numbers of the last [`WINDOW`] that arrived, one bit each, in a ring.
    arrived: Vec<u64>,
    /// The gaps that are not settled, in rising order, at most [`GAPS_MAX`]. They do not touch.
    gaps: VecDeque<Gap>,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            passed: 0,
            arrived: vec![0; place(WINDOW - 1).0 + 1],
            gaps: VecDeque::new(),
        }
    }
}

impl Numbers {
    /// The greatest number that arrived, plus 1.
    pub(crate) fn passed(&self) -> u64 {
        self.passed
    }

    /// Takes the number of an arrival; adds gaps that it settles to `lost`.
    pub(crate) fn take(&mut self, number: u64, opener: Opener, lost: &mut LossRuns) -> Place {
        if number == u64::MAX {
            // It has no successor, and no flow is that long.
            return Place::Stale;
        }
        if number >= self.passed {
            self.pass(number, opener, lost);
            return Place::InOrder;
        }
        if self.passed - number > WINDOW {
            return Place::Stale;
        }
        let (word, bit) = place(number);
        if self.arrived[word] & bit != 0 {
            return Place::Duplicate;
        }
        let at = self.gaps.partition_point(|gap| gap.end <= number);
        // A number in no gap is settled as lost.
        let Some(gap) = self.gaps.get(at).filter(|gap| gap.first <= number) else {
            return Place::Stale;
        };
        self.arrived[word] |= bit;
        Place::Late {
            overtaken_by: gap.opener,
        }
    }

    /// Takes a number that is greater than all before.
    fn pass(&mut self, number: u64, opener: Opener, lost: &mut LossRuns) {
        let passed = number + 1;
        let floor = passed.saturating_sub(WINDOW);
        while self.gaps.front().is_some_and(|gap| gap.first < floor) {
            self.settle_front(floor, lost);
        }
        if number > self.passed {
            let first = self.passed.max(floor);
            lost.add(LostRun {
                first: self.passed,
                packets: first - self.passed,
                noticed_ns: Some(opener.arrived_ns),
            });
            self.clear(first, number);
            if first < number {
                if self.gaps.len() == GAPS_MAX {
                    self.settle_front(self.passed, lost);
                }
                self.gaps.push_back(Gap {
                    first,
                    end: number,
                    opener,
                });
            }
        }
        let (word, bit) = place(number);
        self.arrived[word] |= bit;
        self.passed = passed;
    }

    /// Settles all gaps, and the numbers up to `sent`; returns the number of packets in the flow.
    pub(crate) fn finish(mut self, sent: Option<u64>, lost: &mut LossRuns) -> u64 {
        while !self.gaps.is_empty() {
            self.settle_front(self.passed, lost);
        }
        let packets = sent.unwrap_or(0).max(self.passed);
        lost.add(LostRun {
            first: self.passed,
            packets: packets - self.passed,
            noticed_ns: None,
        });
        packets
    }

    /// Adds the missing numbers below `floor` of the first gap to `lost`, and removes that part of the gap.
    fn settle_front(&mut self, floor: u64, lost: &mut LossRuns) {
        let Some(gap) = self.gaps.front().copied() else {
            return;
        };
        let end = gap.end.min(floor);
        let mut at = gap.first;
        while at < end {
            let first = self.next(at, end, false);
            at = self.next(first, end, true);
            lost.add(LostRun {
                first,
                packets: at - first,
                noticed_ns: Some(gap.opener.arrived_ns),
            });
        }
        if end == gap.end {
            self.gaps.pop_front();
        } else if let Some(front) = self.gaps.front_mut() {
            front.first = end;
        }
    }

    /// The first number in `from..end` that arrived, or that did not; `end` if there is none.
    fn next(&self, from: u64, end: u64, has_arrived: bool) -> u64 {
        let mut at = from;
        while at < end {
            let word = self.arrived[place(at).0];
            let found = if has_arrived { word } else { !word } >> (at % 64);
            if found != 0 {
                return end.min(at + u64::from(found.trailing_zeros()));
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }

    /// Clears the bits of `from..to`, at most [`WINDOW`] numbers.
    fn clear(&mut self, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let end = to.min((at / 64 + 1) * 64);
            let mask = (u64::MAX >> (64 - (end - at))) << (at % 64);
            self.arrived[place(at).0] &= !mask;
            at = end;
        }
    }
}

/// The word and the bit of a number in the ring.
fn place(number: u64) -> (usize, u64) {
    let n = number % WINDOW;
    (usize::try_from(n / 64).unwrap_or(0), 1 << (n % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The places of these arrivals, and the pattern after `sent` packets.
    fn after(numbers: &[u64], sent: Option<u64>) -> (Vec<Place>, crate::LossPattern) {
        let (mut seen, mut lost) = (Numbers::default(), LossRuns::new(1000));
        let places = (numbers.iter().zip(0_u64..))
            .map(|(&number, position)| {
                let arrived_ns = position * 100;
                let opener = Opener {
                    position,
                    arrived_ns,
                };
                seen.take(number, opener, &mut lost)
            })
            .collect();
        let packets = seen.finish(sent, &mut lost);
        (places, lost.finish(packets))
    }

    fn late(position: u64) -> Place {
        let arrived_ns = position * 100;
        let overtaken_by = Opener {
            position,
            arrived_ns,
        };
        Place::Late { overtaken_by }
    }

    #[test]
    fn tail_loss_is_counted() {
        let (_, pattern) = after(&[0, 1, 2], Some(10));
        assert_eq!((pattern.lost_packets, pattern.runs), (7, vec![(7, 1)]));
        let (_, unknown) = after(&[0, 1, 2], None);
        assert_eq!(unknown.lost_packets, 0);
        let (_, none) = after(&[], Some(10));
        assert_eq!(none.lost_packets, 10);
        let (_, fewer_than_arrived) = after(&[5], Some(2));
        assert_eq!(fewer_than_arrived.lost_packets, 5);
    }

    #[test]
    fn late_packet_is_neither_lost_nor_a_duplicate() {
        use Place::{Duplicate, InOrder};
        let (places, pattern) = after(&[0, 3, 1, 1, 3, 2], Some(4));
        let expected = [InOrder, InOrder, late(1), Duplicate, Duplicate, late(1)];
        assert_eq!(places, expected);
        assert_eq!(pattern.lost_packets, 0);
    }

    /// Every second number is missing: the oldest gaps are settled, and their numbers stay lost.
    #[test]
    fn memory_for_gaps_is_bounded() {
        let (mut seen, mut lost) = (Numbers::default(), LossRuns::new(0));
        let packets = 2 * GAPS_MAX as u64;
        let mut take = |number: u64| {
            let opener = Opener {
                position: number,
                arrived_ns: number,
            };
            let place = seen.take(number, opener, &mut lost);
            assert!(seen.gaps.len() <= GAPS_MAX);
            place
        };
        for k in 0..packets {
            assert_eq!(take(2 * k + 1), Place::InOrder);
        }
        assert_eq!(take(0), Place::Stale);
        assert_eq!(take(packets - 2), Place::Stale);
        assert!(matches!(take(packets), Place::Late { .. }));
        assert_eq!(take(packets), Place::Duplicate);
        let sent = seen.finish(None, &mut lost);
        assert_eq!(sent, 2 * packets);
        assert_eq!(lost.finish(sent).lost_packets, packets - 1);
    }

    #[test]
    fn packet_older_than_the_window_is_stale() {
        use Place::{InOrder, Stale};
        let (places, pattern) = after(&[0, WINDOW + 1, 1, 2, 0, u64::MAX], None);
        let expected = [InOrder, InOrder, Stale, late(1), Stale, Stale];
        assert_eq!(places, expected);
        assert_eq!(pattern.lost_packets, WINDOW - 1);
        let list = pattern.list.unwrap();
        assert_eq!((list[0].first, list[0].packets), (1, 1));
        assert_eq!((list[1].first, list[1].packets), (3, WINDOW - 2));
    }

    /// A number from a peer can be anything: the work for it is bounded.
    #[test]
    fn far_jumps_cost_no_more_than_the_window() {
        let far = 1 << 62;
        let numbers: Vec<u64> = (0..200).map(|k| (k + 1) * (far / 200)).collect();
        let (_, pattern) = after(&numbers, Some(u64::MAX));
        assert_eq!(pattern.lost_packets, u64::MAX - 200);
        assert_eq!(pattern.runs_n, 201);
    }

    proptest! {
        /// Numbers in runs and jumps, in any order: the pattern is that of a set.
        #[test]
        fn pattern_is_that_of_the_set_of_numbers(
            steps in prop::collection::vec((0..6_u64, 1..120_u64, 0..4_usize), 1..120),
            tail in 0..5_u64,
        ) {
            let (mut numbers, mut next) = (Vec::new(), 0);
            for (skip, length, _) in &steps {
                next += skip;
                numbers.extend(next..next + length);
                next += length;
            }
            for (k, &(_, length, delay)) in steps.iter().enumerate() {
                let at = (k * 41) % numbers.len();
                let other = (at + delay * 60 + usize::try_from(length).unwrap()) % numbers.len();
                numbers.swap(at, other);
            }
            let sent = next + tail;
            let (places, pattern) = after(&numbers, Some(sent));
            let set: BTreeSet<u64> = numbers.iter().copied().collect();
            prop_assert_eq!(pattern.lost_packets, sent - set.len() as u64);
            let mut runs = Vec::new();
            for number in (0..sent).filter(|n| !set.contains(n)) {
                match runs.last_mut() {
                    Some((first, packets)) if *first + *packets == number => *packets += 1,
                    _ => runs.push((number, 1)),
                }
            }
            let list = pattern.list.unwrap();
            prop_assert!(list.iter().map(|r| (r.first, r.packets)).eq(runs.into_iter().take(1000)));
            for (at, place) in places.iter().enumerate() {
                let earlier = numbers[..at].iter().position(|&n| n > numbers[at]);
                prop_assert_eq!(*place, earlier.map_or(Place::InOrder, |p| late(p as u64)));
            }
        }
    }
}
