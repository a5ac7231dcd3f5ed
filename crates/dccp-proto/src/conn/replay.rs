//! Detects repeated packets within the Sequence Window, so that each datagram is delivered at most once.
//!
//! Ack Vectors cannot serve: they forget a packet as soon as the peer knows its fate. Here every number from
//! `run` to `next` has arrived, and a bitmap tells which of the numbers before `run` have:
//!
//! ```text
//!        1 1 0 1 1 1 1 0 0 1 1 1 1 1 1 1 1 1
//!        ^ bitmap            ^ run           ^ next
//! ```
//!
//! A packet in order costs one comparison. The bitmap appears with the first gap.

use crate::config::bounds::REPLAY_BITS;
use crate::seq::Seq;

/// The numbers that have arrived. Numbers before the bitmap count as arrived.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Replay {
    run: Seq,
    next: Seq,
    /// One bit for each of the numbers just before `run`, at the number modulo the length. The number of words is
    /// zero or a power of two.
    bits: Vec<u64>,
}

impl Replay {
    /// Before the first packet, which may be `first` or a later one.
    pub(crate) fn new(first: Seq) -> Self {
        Self {
            run: first,
            next: first,
            bits: Vec::new(),
        }
    }

    /// Records an arrival. Returns whether it is a repetition (4340-18-6: at most one delivery). `window` is the
    /// peer's Sequence Window.
    #[inline]
    pub(crate) fn on_packet(&mut self, seq: Seq, window: u64) -> bool {
        if seq == self.next {
            self.next = seq.next();
            return false;
        }
        self.on_unexpected(seq, window)
    }

    /// The peer has sent nothing after `newest`. The bitmap still knows which of the numbers behind that have arrived,
    /// unless it is too short.
    pub(crate) fn roll_back(&mut self, newest: Seq) {
        let back = self.run.distance(newest);
        if back > 0 && back.unsigned_abs() > self.len() {
            self.bits.fill(u64::MAX);
            self.run = newest.next();
            self.next = self.run;
        }
    }

    #[inline(never)]
    fn on_unexpected(&mut self, seq: Seq, window: u64) -> bool {
        if seq.is_after(self.next) {
            self.begin_run(seq, window);
            return false;
        }
        let back = self.run.distance(seq);
        let is_in_bitmap = back > 0 && back.unsigned_abs() <= self.len();
        let Some((word, bit)) = self.place(seq.value()).filter(|_| is_in_bitmap) else {
            return true;
        };
        let is_repeated = *word & bit != 0;
        *word |= bit;
        is_repeated
    }

    /// The numbers from `next` to `seq` are missing.
    fn begin_run(&mut self, seq: Seq, window: u64) {
        self.grow(window);
        self.set_range(self.run, self.next, true);
        self.set_range(self.next, seq, false);
        self.run = seq;
        self.next = seq.next();
    }

    /// Covers a whole window, as far as the bound permits. Only a quarter of it lies below GSR (4340-7.5.1-1), but GSR
    /// may return to any older number (`rollback.rs`).
    fn grow(&mut self, window: u64) {
        let wanted = window.clamp(u64::from(u64::BITS), REPLAY_BITS);
        let wanted = wanted.next_power_of_two();
        let len = self.len();
        if wanted <= len {
            return;
        }
        let words = usize::try_from(wanted / u64::from(u64::BITS)).unwrap_or(1);
        let mut larger = Self {
            bits: vec![u64::MAX; words],
            ..*self
        };
        for back in 1..=len {
            let at = self.run.minus(back).value();
            let is_missing = self.place(at).is_some_and(|(word, bit)| *word & bit == 0);
            if let Some((word, bit)) = larger.place(at).filter(|_| is_missing) {
                *word &= !bit;
            }
        }
        *self = larger;
    }

    /// Sets the bits from `from` to just before `to`, or as many as there are.
    fn set_range(&mut self, from: Seq, to: Seq, has_arrived: bool) {
        const WORD: u64 = u64::BITS as u64;
        let count = to.steps_from(from);
        if count >= self.len() {
            self.bits.fill(if has_arrived { u64::MAX } else { 0 });
            return;
        }
        let (mut at, mut left) = (from.value(), count);
        while left > 0 {
            let first = at % WORD;
            let len = left.min(WORD - first);
            let mask = u64::MAX >> (WORD - len) << first;
            if let Some((word, _)) = self.place(at) {
                if has_arrived {
                    *word |= mask;
                } else {
                    *word &= !mask;
                }
            }
            at += len;
            left -= len;
        }
    }

    /// Number of bits.
    fn len(&self) -> u64 {
        self.bits.len() as u64 * u64::from(u64::BITS)
    }

    /// The word that holds number `at`, and its bit.
    fn place(&mut self, at: u64) -> Option<(&mut u64, u64)> {
        let last = self.bits.len().checked_sub(1)?;
        #[expect(clippy::cast_possible_truncation, reason = "the mask is smaller")]
        let index = (at / u64::from(u64::BITS)) as usize & last;
        let word = self.bits.get_mut(index)?;
        Some((word, 1 << (at % u64::from(u64::BITS))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const WINDOW: u64 = 256;

    /// Lets packets arrive, and returns those that count as repeated.
    fn repeated(replay: &mut Replay, seqs: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let seqs = seqs.into_iter();
        seqs.filter(|&n| replay.on_packet(Seq::new(n), WINDOW))
            .collect()
    }

    #[test]
    fn packets_in_order_need_no_bitmap() {
        let mut replay = Replay::new(Seq::new(10));
        assert_eq!(repeated(&mut replay, 10..5000), []);
        assert_eq!(repeated(&mut replay, [10, 4000, 4999]), [10, 4000, 4999]);
        assert_eq!(replay.bits.capacity(), 0);
    }

    #[test]
    fn the_first_packet_may_be_a_late_one() {
        let mut replay = Replay::new(Seq::new(10));
        assert_eq!(repeated(&mut replay, [13, 11, 13, 11, 10, 12]), [13, 11]);
        assert_eq!(repeated(&mut replay, [9]), [9]);
    }

    #[test]
    fn what_lies_before_the_bitmap_counts_as_repeated() {
        let mut replay = Replay::new(Seq::new(0));
        assert_eq!(repeated(&mut replay, [0, 1000]), []);
        assert_eq!(repeated(&mut replay, [743, 744, 999]), [743]);
    }

    #[test]
    fn a_larger_window_brings_no_number_back() {
        let mut replay = Replay::new(Seq::new(0));
        repeated(&mut replay, (0..300).filter(|n| n % 3 != 0));
        assert!(!replay.on_packet(Seq::new(301), 100_000));
        assert_eq!(replay.len(), REPLAY_BITS);
        let first = 298 - 256;
        for n in first..300 {
            let is_repeated = replay.on_packet(Seq::new(n), WINDOW);
            assert_eq!(is_repeated, n % 3 != 0, "{n}");
        }
        for n in 0..first {
            assert!(replay.on_packet(Seq::new(n), WINDOW), "{n}");
        }
    }

    #[test]
    fn after_a_rollback_the_bitmap_tells_what_arrived() {
        // 4340-7.5.4-10: 10 to 19 arrived, then the forged 150.
        let mut replay = Replay::new(Seq::new(10));
        assert_eq!(repeated(&mut replay, (10..20).chain([150])), []);
        replay.roll_back(Seq::new(25));
        assert_eq!(repeated(&mut replay, [15, 19]), [15, 19]);
        assert_eq!(repeated(&mut replay, 26..160), [150]);
        // Beyond the bitmap all that is older counts as repeated.
        assert_eq!(repeated(&mut replay, [10_000]), []);
        replay.roll_back(Seq::new(165));
        assert_eq!(
            repeated(&mut replay, 160..300),
            [160, 161, 162, 163, 164, 165]
        );
    }

    #[test]
    fn memory_is_bounded() {
        // 4340-18-4
        let mut replay = Replay::new(Seq::new(0));
        assert!(!replay.on_packet(Seq::new(1 << 40), 1 << 45));
        assert_eq!(replay.len(), REPLAY_BITS);
    }

    proptest! {
        #[test]
        fn a_set_of_numbers_agrees(
            base in prop_oneof![Just(0), Just((1_u64 << 48) - 100), any::<u64>()],
            steps in prop::collection::vec(
                prop_oneof![
                    6 => Just(1_i64), 2 => 2..6_i64, 3 => -20..1_i64, 1 => -200..90_i64, 1 => 90..600_i64
                ],
                1..400,
            ),
        ) {
            let base = Seq::new(base);
            let mut replay = Replay::new(base);
            let mut arrived = HashSet::new();
            let mut newest = 0;
            for step in steps {
                let at = (newest + step).max(newest - 250);
                if at < 0 {
                    continue;
                }
                let is_repeated = replay.on_packet(base.plus(at.unsigned_abs()), WINDOW);
                prop_assert_eq!(is_repeated, !arrived.insert(at), "packet {}", at);
                newest = newest.max(at);
            }
        }
    }
}
