//! Reorder Density and Reorder Buffer-occupancy Density, RFC 5236.
//!
//! Both compare the sequence of arrivals with the same numbers in rising order. A packet that is more than [`REACH`]
//! arrivals late counts as lost. To know which numbers are lost, both look [`REACH`] arrivals ahead.
//!
//! Density: the n-th arrival gets the n-th number that is not lost as its receive index. The displacement is the index
//! minus the packet's own number: negative for early packets, positive for late ones.
//! Buffer-occupancy: a receiver that sorts keeps packets until all before them have arrived. The occupancy is counted
//! after every arrival.

use core::cmp::Reverse;
use dccp_proto::number::to_f64;
use std::collections::{BinaryHeap, VecDeque};

/// The greatest displacement and the greatest occupancy, in packets: the RFC's thresholds DT and BT.
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
    /// The numbers that no later one is below, in the order of their arrival: they never fall, and the first is the
    /// least of the window.
    minima: VecDeque<u64>,
}

impl Window {
    fn is_full(&self) -> bool {
        self.numbers.len() > REACH
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn is_sorted(&self) -> bool {
        self.minima.len() == self.numbers.len()
    }

    fn push(&mut self, number: u64) {
        while self.minima.back().is_some_and(|&last| last > number) {
            self.minima.pop_back();
        }
        self.minima.push_back(number);
        self.numbers.push_back(number);
    }

    fn pop(&mut self) -> Option<u64> {
        let number = self.numbers.pop_front()?;
        if self.minima.front() == Some(&number) {
            self.minima.pop_front();
        }
        Some(number)
    }

    fn least(&self) -> Option<u64> {
        self.minima.front().copied()
    }
}

/// Reorder Density.
///
/// Both sets of bits are relative to `index`: bit k is the number `index` + k.
#[derive(Clone, Debug)]
struct Displacements {
    window: Window,
    /// The receive index of the next arrival, if it is among the numbers that are known.
    index: u64,
    /// Packets that arrived before their index: at most [`REACH`] above it.
    early: u128,
    /// Packets in the window, from the index on. Those too far above it are missing.
    ahead: u128,
    /// Whether `ahead` lacks packets that are in the window.
    is_ahead_partial: bool,
    /// By displacement, from −[`REACH`] on.
    counts: [u64; 2 * REACH + 1],
}

impl Default for Displacements {
    fn default() -> Self {
        Self {
            window: Window::default(),
            index: 0,
            early: 0,
            ahead: 0,
            is_ahead_partial: false,
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
            self.note(number);
        }
    }

    /// Takes the first arrival out of the window.
    fn step(&mut self) {
        if self.window.is_sorted() && self.early == 0 {
            if let Some(number) = self.window.pop() {
                self.counts[REACH] += 1;
                self.advance(self.index.max(number + 1));
            }
            return;
        }
        let index = self.next_index();
        let Some(number) = self.window.pop() else {
            return;
        };
        if let Some(bit) = self.bit(number) {
            self.ahead &= !bit;
        }
        let Some(index) = index else { return };
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
            self.advance(index);
            return;
        }
        self.advance(index + 1);
        if number > index {
            self.early |= self.bit(number).unwrap_or(0);
        }
    }

    /// The least known number from the index on.
    fn next_index(&mut self) -> Option<u64> {
        if self.is_ahead_partial {
            self.complete();
        }
        match self.early | self.ahead {
            0 if self.is_ahead_partial => {
                let numbers = self.window.numbers.iter().copied();
                numbers.filter(|&number| number >= self.index).min()
            }
            0 => None,
            known => Some(self.index + u64::from(known.trailing_zeros())),
        }
    }

    /// Raises the index.
    fn advance(&mut self, index: u64) {
        let shift = u32::try_from(index - self.index).unwrap_or(u32::MAX);
        self.early = self.early.checked_shr(shift).unwrap_or(0);
        self.ahead = self.ahead.checked_shr(shift).unwrap_or(0);
        self.index = index;
    }

    /// Adds a number in the window to those ahead.
    fn note(&mut self, number: u64) {
        match self.bit(number) {
            Some(bit) => self.ahead |= bit,
            None => self.is_ahead_partial = true,
        }
    }

    /// Adds the numbers of the window that have come near.
    fn complete(&mut self) {
        self.is_ahead_partial = false;
        for at in 0..self.window.numbers.len() {
            let number = self.window.numbers[at];
            if number >= self.index {
                self.note(number);
            }
        }
    }

    /// The bit of a number; `None` if it is below the index or too far above it.
    fn bit(&self, number: u64) -> Option<u128> {
        let above = u32::try_from(number.checked_sub(self.index)?).ok()?;
        1_u128.checked_shl(above)
    }
}

/// Reorder Buffer-occupancy Density.
#[derive(Clone, Debug)]
struct Occupancies {
    window: Window,
    /// The lowest number that has not been passed on; `None` at the start.
    expected: Option<u64>,
    /// Packets that wait for lower numbers, at most [`REACH`]; the lowest first.
    waiting: BinaryHeap<Reverse<u64>>,
    counts: [u64; REACH + 1],
}

impl Default for Occupancies {
    fn default() -> Self {
        Self {
            window: Window::default(),
            expected: None,
            waiting: BinaryHeap::new(),
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
            self.release(next.unwrap_or(u64::MAX));
            self.expected = Some(next.unwrap_or(number));
        } else if self.waiting.len() < REACH {
            self.expected = Some(least);
            self.waiting.push(Reverse(number));
        } else {
            // The receiver has no room: it drops the packet.
            return;
        }
        self.counts[self.waiting.len()] += 1;
    }

    /// Passes on what waits, up to this number.
    fn release(&mut self, number: u64) {
        while self.waiting.peek().is_some_and(|least| least.0 <= number) {
            self.waiting.pop();
        }
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

    /// The first sequence and its displacements are an example in a comparison of the metrics (J. Comput. Netw. Commun.
    /// 2020, 8465191, table 1). The other results follow from the definitions of RFC 5236 by hand. The property tests
    /// below show the definitions for any order.
    // goal 22: the densities of RFC 5236 follow a published example.
    #[test]
    fn displacements_of_a_published_sequence() {
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

    /// The same steps, by a look at all numbers that are known.
    struct Slow {
        window: VecDeque<u64>,
        index: u64,
        early: Vec<u64>,
        displacements: [u64; 2 * REACH + 1],
        sorted: VecDeque<u64>,
        expected: Option<u64>,
        waiting: Vec<u64>,
        occupancies: [u64; REACH + 1],
    }

    impl Slow {
        fn after(numbers: &[u64]) -> Shares {
            let mut slow = Self {
                window: VecDeque::new(),
                index: 0,
                early: Vec::new(),
                displacements: [0; 2 * REACH + 1],
                sorted: VecDeque::new(),
                expected: None,
                waiting: Vec::new(),
                occupancies: [0; REACH + 1],
            };
            for &number in numbers {
                if slow.window.len() > REACH {
                    slow.displace();
                }
                if number >= slow.index {
                    slow.window.push_back(number);
                }
                if slow.sorted.len() > REACH {
                    slow.occupy();
                }
                if slow.expected.is_none_or(|expected| number > expected) {
                    slow.sorted.push_back(number);
                }
            }
            while !slow.window.is_empty() {
                slow.displace();
            }
            while !slow.sorted.is_empty() {
                slow.occupy();
            }
            (
                shares(-64.., &slow.displacements),
                shares(0.., &slow.occupancies),
            )
        }

        fn displace(&mut self) {
            let known = self.window.iter().chain(&self.early).copied();
            let index = known.filter(|&number| number >= self.index).min();
            let number = self.window.pop_front().unwrap();
            let Some(index) = index else { return };
            let distance = usize::try_from(index.abs_diff(number)).unwrap();
            if distance <= REACH {
                let at = if number < index {
                    REACH + distance
                } else {
                    REACH - distance
                };
                self.displacements[at] += 1;
            } else if number > index {
                self.index = index;
                return;
            }
            self.early.retain(|&early| early != index);
            if number > index {
                self.early.push(number);
            }
            self.index = index + 1;
        }

        fn occupy(&mut self) {
            let least = self.sorted.iter().min().copied().unwrap();
            let number = self.sorted.pop_front().unwrap();
            if number == least {
                let next = self.sorted.iter().min().copied();
                self.waiting
                    .retain(|&waiting| next.is_some_and(|next| waiting > next));
                self.expected = Some(next.unwrap_or(number));
            } else if self.waiting.len() < REACH {
                self.expected = Some(least);
                self.waiting.push(number);
            } else {
                return;
            }
            self.occupancies[self.waiting.len()] += 1;
        }
    }

    /// Numbers in any order, far apart and near, each once.
    fn scattered() -> impl Strategy<Value = Vec<u64>> {
        let step = prop_oneof![8 => 0..3_u64, 2 => 0..100_u64, 1 => 0..5000_u64];
        prop::collection::vec((step, 0..200_usize), 0..600).prop_map(|steps| {
            let mut next = 0;
            let mut numbers = Vec::new();
            for (step, _) in &steps {
                next += step + 1;
                numbers.push(next);
            }
            for (at, &(_, reach)) in steps.iter().enumerate() {
                if at % 3 == 0 {
                    numbers.swap(at, (at + reach).min(steps.len() - 1));
                }
            }
            numbers
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
        fn densities_are_those_of_the_slow_way(numbers in scattered()) {
            let mut densities = Densities::default();
            for &number in &numbers {
                densities.add(number);
            }
            prop_assert_eq!(densities.finish(), Slow::after(&numbers));
        }

        #[test]
        fn memory_is_bounded_for_any_order(numbers in prop::collection::vec(0..2000_u64, 0..3000)) {
            let mut densities = Densities::default();
            for number in numbers {
                densities.add(number);
                prop_assert!(densities.displacement.window.numbers.len() <= REACH + 1);
                prop_assert!(densities.displacement.window.minima.len() <= REACH + 1);
                prop_assert!(densities.displacement.early >> REACH == 0);
                prop_assert!(densities.occupancy.window.numbers.len() <= REACH + 1);
                prop_assert!(densities.occupancy.waiting.len() <= REACH);
            }
        }
    }
}
