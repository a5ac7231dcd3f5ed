//! Reorder Density and Reorder Buffer-occupancy Density, RFC 5236.
//!
//! Both compare the sequence of arrivals with the same numbers in rising order. A packet that is more than [`REACH`]
//! arrivals late counts as lost. To know which numbers are lost, both look [`REACH`] arrivals ahead.
//!
//! Density: the n-th arrival gets the n-th number that is not lost as its receive index. The displacement is the index
//! minus the packet's own number: negative for early packets, positive for late ones.
//! Buffer-occupancy: a receiver that sorts keeps packets until all before them have arrived. The occupancy is counted
//! after every arrival.

use dccp_proto::number::to_f64;
use std::collections::VecDeque;

/// The greatest displacement and the greatest occupancy, in packets: both thresholds of the RFC.
pub(crate) const REACH: usize = 64;

/// Displacements and their shares, then occupancies and their shares.
type Shares = (Vec<(i32, f64)>, Vec<(u32, f64)>);

/// Both densities of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Densities {
    displacement: Displacements,
    occupancy: Occupancies,
}

impl Densities {
    /// Adds an arrival, which is not a duplicate.
    pub(crate) fn add(&mut self, number: u64) {
        self.displacement.add(number);
        self.occupancy.add(number);
    }

    /// The shares of all values that an arrival had.
    pub(crate) fn finish(mut self) -> Shares {
        while !self.displacement.window.is_empty() {
            self.displacement.step();
        }
        while !self.occupancy.window.is_empty() {
            self.occupancy.step();
        }
        let reach = i32::try_from(REACH).unwrap_or(0);
        (
            shares(-reach.., &self.displacement.counts),
            shares(0.., &self.occupancy.counts),
        )
    }
}

/// Pairs of an index and its share of all counts, without those that are 0.
fn shares<N>(indexes: impl Iterator<Item = N>, counts: &[u64]) -> Vec<(N, f64)> {
    let sum = to_f64(counts.iter().sum());
    (indexes.zip(counts))
        .filter(|&(_, &count)| count > 0)
        .map(|(index, &count)| (index, to_f64(count) / sum))
        .collect()
}

/// The next arrivals, in the order of their arrival.
#[derive(Clone, Debug, Default)]
struct Window {
    numbers: VecDeque<u64>,
    /// How often a number is directly followed by a lower one.
    descents: usize,
}

impl Window {
    fn is_full(&self) -> bool {
        self.numbers.len() > REACH
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn is_sorted(&self) -> bool {
        self.descents == 0
    }

    fn push(&mut self, number: u64) {
        self.descents += usize::from(self.numbers.back().is_some_and(|&last| number < last));
        self.numbers.push_back(number);
    }

    fn pop(&mut self) -> Option<u64> {
        let number = self.numbers.pop_front()?;
        self.descents -= usize::from(self.numbers.front().is_some_and(|&next| next < number));
        Some(number)
    }

    fn least(&self) -> Option<u64> {
        if self.is_sorted() {
            self.numbers.front().copied()
        } else {
            self.numbers.iter().min().copied()
        }
    }
}

/// Reorder Density.
#[derive(Clone, Debug)]
struct Displacements {
    window: Window,
    /// The receive index of the next arrival, if it is among the numbers that are known.
    index: u64,
    /// Packets that arrived before their index.
    early: Vec<u64>,
    /// By displacement, from −[`REACH`] on.
    counts: [u64; 2 * REACH + 1],
}

impl Default for Displacements {
    fn default() -> Self {
        Self {
            window: Window::default(),
            index: 0,
            early: Vec::new(),
            counts: [0; 2 * REACH + 1],
        }
    }
}

impl Displacements {
    fn add(&mut self, number: u64) {
        if self.window.is_full() {
            self.step();
        }
        // A lower number has been skipped as lost.
        if number >= self.index {
            self.window.push(number);
        }
    }

    /// Takes the first arrival out of the window.
    fn step(&mut self) {
        if self.window.is_sorted() && self.early.is_empty() {
            if let Some(number) = self.window.pop() {
                self.counts[REACH] += 1;
                self.index = number + 1;
            }
            return;
        }
        let known = self.window.numbers.iter().chain(&self.early).copied();
        let index = known.filter(|&number| number >= self.index).min();
        let (Some(index), Some(number)) = (index, self.window.pop()) else {
            return;
        };
        let distance = index.abs_diff(number);
        let is_late = number < index;
        let within = usize::try_from(distance).ok().filter(|&d| d <= REACH);
        if let Some(distance) = within {
            let at = if is_late {
                REACH + distance
            } else {
                REACH - distance
            };
            self.counts[at] += 1;
        } else if !is_late {
            // The packet is no longer known, so its number is no index either.
            self.index = index;
            return;
        }
        self.early.retain(|&early| early != index);
        if number > index {
            self.early.push(number);
        }
        self.index = index + 1;
    }
}

/// Reorder Buffer-occupancy Density.
#[derive(Clone, Debug)]
struct Occupancies {
    window: Window,
    /// The lowest number that has not been passed on; `None` at the begin.
    expected: Option<u64>,
    /// Packets that wait for lower numbers, at most [`REACH`].
    waiting: Vec<u64>,
    counts: [u64; REACH + 1],
}

impl Default for Occupancies {
    fn default() -> Self {
        Self {
            window: Window::default(),
            expected: None,
            waiting: Vec::new(),
            counts: [0; REACH + 1],
        }
    }
}

impl Occupancies {
    fn add(&mut self, number: u64) {
        if self.window.is_full() {
            self.step();
        }
        // A number that is not greater has been skipped as lost.
        if self.expected.is_none_or(|expected| number > expected) {
            self.window.push(number);
        }
    }

    /// Takes the first arrival out of the window.
    fn step(&mut self) {
        let (Some(least), Some(number)) = (self.window.least(), self.window.pop()) else {
            return;
        };
        if number == least {
            let next = self.window.least();
            self.waiting
                .retain(|&waiting| next.is_some_and(|next| waiting > next));
            self.expected = Some(next.unwrap_or(number));
        } else if self.waiting.len() < REACH {
            self.expected = Some(least);
            self.waiting.push(number);
        } else {
            // The receiver has no room: it drops the packet.
            return;
        }
        self.counts[self.waiting.len()] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Displacements and their counts, then occupancies and their counts.
    type Counts = (Vec<(i32, u64)>, Vec<(u32, u64)>);

    /// Counts instead of shares.
    fn counts(numbers: &[u64]) -> Counts {
        let mut densities = Densities::default();
        for &number in numbers {
            densities.add(number);
        }
        let (density, occupancy) = densities.finish();
        let n = to_f64(numbers.len() as u64);
        let count = |share: f64| {
            let count = (share * n).round();
            assert!((count - share * n).abs() < 1e-6, "{count} of {n}");
            (0..=numbers.len() as u64)
                .find(|&k| to_f64(k) >= count)
                .unwrap()
        };
        (
            density.iter().map(|&(d, s)| (d, count(s))).collect(),
            occupancy.iter().map(|&(d, s)| (d, count(s))).collect(),
        )
    }

    /// The sequence and its displacements are an example in a comparison of the metrics (J. Comput. Netw. Commun. 2020,
    /// 8465191, table 1). The other results follow from the definitions of RFC 5236 by hand: of lost packets, duplicates
    /// and transpositions.
    #[test]
    fn examples_of_rfc_5236() {
        let published = counts(&[1, 6, 7, 2, 3, 4, 5, 8]);
        assert_eq!(published.0, [(-4, 2), (0, 2), (2, 4)]);
        assert_eq!(published.1, [(0, 3), (1, 1), (2, 4)]);
        let in_order = counts(&[1, 2, 3, 4, 5]);
        assert_eq!(in_order, (vec![(0, 5)], vec![(0, 5)]));
        let with_loss = counts(&[1, 2, 5, 6]);
        assert_eq!(with_loss, (vec![(0, 4)], vec![(0, 4)]));
        // 3 is lost: the receive indexes are 1 2 4 5 6.
        let loss_and_swap = counts(&[1, 2, 5, 4, 6]);
        assert_eq!(loss_and_swap.0, [(-1, 1), (0, 3), (1, 1)]);
        assert_eq!(loss_and_swap.1, [(0, 4), (1, 1)]);
        let one_late = counts(&[1, 2, 4, 5, 3, 6]);
        assert_eq!(one_late.0, [(-1, 2), (0, 3), (2, 1)]);
        assert_eq!(one_late.1, [(0, 4), (1, 1), (2, 1)]);
        let one_early = counts(&[1, 5, 2, 3, 4, 6]);
        assert_eq!(one_early.0, [(-3, 1), (0, 2), (1, 3)]);
        assert_eq!(one_early.1, [(0, 3), (1, 3)]);
        assert_eq!(counts(&[]), (vec![], vec![]));
    }

    /// A packet that is later than the threshold counts as lost: the others are in order.
    #[test]
    fn packet_beyond_the_threshold_counts_as_lost() {
        let mut numbers: Vec<u64> = (1..=200).collect();
        numbers.insert(150, 0);
        let mut densities = Densities::default();
        for number in numbers {
            densities.add(number);
        }
        assert_eq!(densities.finish(), (vec![(0, 1.0)], vec![(0, 1.0)]));
    }

    /// A random order where no packet moves by more than 30 places; some numbers are lost.
    fn shuffled() -> impl Strategy<Value = Vec<u64>> {
        (
            prop::collection::vec((0..300_u64, 0..20_u8), 0..400),
            0..20_u8,
        )
            .prop_map(|(keys, loss)| {
                let mut order: Vec<(u64, u64)> = (keys.iter().zip(0_u64..))
                    .filter(|((_, dice), _)| *dice >= loss)
                    .map(|((key, _), number)| (number * 10 + key, number))
                    .collect();
                order.sort_unstable();
                order.into_iter().map(|(_, number)| number).collect()
            })
    }

    proptest! {
        #[test]
        fn densities_are_those_of_the_definitions(numbers in shuffled()) {
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let (mut displacements, mut occupancies) = (vec![0; 129], vec![0; 65]);
            for (at, &number) in numbers.iter().enumerate() {
                displacements[usize::try_from(64 + sorted[at]).unwrap() - usize::try_from(number).unwrap()] += 1;
                let waits = |&earlier: &u64| numbers[at + 1..].iter().any(|&later| later < earlier);
                occupancies[numbers[..=at].iter().filter(|n| waits(n)).count()] += 1;
            }
            let mut densities = Densities::default();
            for &number in &numbers {
                densities.add(number);
            }
            let (density, occupancy) = densities.finish();
            prop_assert_eq!(density, shares(-64.., &displacements));
            prop_assert_eq!(occupancy, shares(0.., &occupancies));
        }

        #[test]
        fn memory_is_bounded_for_any_order(numbers in prop::collection::vec(0..2000_u64, 0..3000)) {
            let mut densities = Densities::default();
            for number in numbers {
                densities.add(number);
                prop_assert!(densities.displacement.window.numbers.len() <= REACH + 1);
                prop_assert!(densities.displacement.early.len() <= REACH + 1);
                prop_assert!(densities.occupancy.window.numbers.len() <= REACH + 1);
                prop_assert!(densities.occupancy.waiting.len() <= REACH);
            }
        }
    }
}
