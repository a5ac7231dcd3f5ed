//! How many of the peer's acknowledgements the path to us loses or marks (RFC 4341 §6.1.1).

use super::ndp::hole_had_data;
use crate::seq::Seq;
use crate::wire::Ecn;
use core::mem;

/// A packet is lost when this many later ones have arrived (4341-6.1.1-1).
const LATER_ARRIVALS: usize = 3;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, Hash)]
struct Arrival {
    seq: Seq,
    /// Its NDP Count; `None` if the peer sends none.
    ndp_count: Option<u64>,
}

/// Watches the numbers of arriving packets.
///
/// Of all arrivals only the newest [`LATER_ARRIVALS`] are kept: what is missing before the oldest of
/// them is lost, and has been counted.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct ReversePath {
    has_ndp_counts: bool,
    /// Newest first.
    newest: [Option<Arrival>; LATER_ARRIVALS],
    lost_or_marked: u32,
}

impl ReversePath {
    /// The peer's Send NDP Count feature has this value.
    pub(crate) fn expect_ndp_counts(&mut self, yes: bool) {
        self.has_ndp_counts = yes;
    }

    /// A valid packet arrived, of a type that carries data or not.
    pub(crate) fn on_packet(&mut self, seq: Seq, is_data: bool, ndp_count: Option<u64>, ecn: Ecn) {
        let this = self.arrival(seq, ndp_count);
        let is_marked_ack = ecn == Ecn::Ce && !is_data;
        if let [Some(first), Some(second), Some(third)] = self.newest
            && seq == first.seq.next()
            && second.seq == third.seq.next()
            && !is_marked_ack
        {
            // As it should be: the next number, and no hole that is old enough to be counted.
            self.newest = [Some(this), Some(first), Some(second)];
        } else {
            self.on_unexpected(this, is_marked_ack);
        }
    }

    fn arrival(&self, seq: Seq, ndp_count: Option<u64>) -> Arrival {
        // Absence of the option means zero, if the peer sends it at all (4340-7.7-1).
        let ndp_count = self.has_ndp_counts.then(|| ndp_count.unwrap_or(0));
        Arrival { seq, ndp_count }
    }

    /// Any packet.
    #[inline(never)]
    fn on_unexpected(&mut self, this: Arrival, is_marked_ack: bool) {
        let Arrival { seq, .. } = this;
        let this = Some(this);
        let [first, second, third] = self.newest;
        let is_newer = |a: Option<Arrival>| a.is_none_or(|a| seq.is_after(a.seq));
        let is_next = is_newer(first);
        if !is_next && self.newest.iter().flatten().any(|a| a.seq == seq) {
            return;
        }
        if is_marked_ack {
            self.count(1);
        }
        self.newest = if is_next {
            [this, first, second]
        } else if is_newer(second) {
            [first, this, second]
        } else if is_newer(third) {
            [first, second, this]
        } else {
            return; // Too late: it was counted as lost, or it is an old duplicate.
        };
        let [.., after] = self.newest;
        if let (Some(before), Some(after)) = (third, after) {
            self.count_hole(before.seq, after);
        }
    }

    /// Forgets what arrived: a forged packet was the newest (4340-7.5.4-10), and no hole before it is a loss.
    pub(crate) fn roll_back(&mut self) {
        self.newest = Default::default();
        self.lost_or_marked = 0;
    }

    /// How many acknowledgements were lost or marked since the last call.
    pub(crate) fn take(&mut self) -> u32 {
        mem::take(&mut self.lost_or_marked)
    }

    /// All between `before` and `after` are lost. They count as acknowledgements unless the NDP Count
    /// behind them says that one had data; of the others it says nothing (4341-6.1.1-1).
    fn count_hole(&mut self, before: Seq, after: Arrival) {
        let hole = after.seq.steps_from(before).saturating_sub(1);
        let had_data = after.ndp_count.is_some_and(|n| hole_had_data(hole, n));
        self.count(hole - u64::from(had_data));
    }

    fn count(&mut self, n: u64) {
        let n = u32::try_from(n).unwrap_or(u32::MAX);
        self.lost_or_marked = self.lost_or_marked.saturating_add(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packet_in_order_is_counted_as_any_other(
            packets in prop::collection::vec(
                (-6..12_i64, any::<bool>(), prop::option::of(0..4_u64), any::<bool>()), 1..200),
            has_ndp_counts in any::<bool>(),
        ) {
            let mut quick = ReversePath::default();
            quick.expect_ndp_counts(has_ndp_counts);
            let mut slow = quick.clone();
            let mut newest = Seq::new((1 << 48) - 100);
            for (ahead, is_data, ndp_count, is_marked) in packets {
                // Most are the next.
                let ahead = if ahead > 3 { 1 } else { ahead };
                let far = ahead.unsigned_abs();
                let seq = if ahead < 0 { newest.minus(far) } else { newest.plus(far) };
                newest = newest.max(seq);
                let ecn = if is_marked { Ecn::Ce } else { Ecn::Ect0 };
                quick.on_packet(seq, is_data, ndp_count, ecn);
                let this = slow.arrival(seq, ndp_count);
                slow.on_unexpected(this, is_marked && !is_data);
                prop_assert_eq!(format!("{quick:?}"), format!("{slow:?}"));
            }
        }
    }

    #[test]
    fn a_forged_packet_far_ahead_counts_as_no_loss() {
        let mut path = ReversePath::default();
        for n in [10, 11, 700, 12] {
            path.on_packet(Seq::new(n), false, None, Ecn::Ect0);
        }
        path.roll_back();
        for n in [13, 14, 15, 16] {
            path.on_packet(Seq::new(n), false, None, Ecn::Ect0);
        }
        assert_eq!(path.take(), 0);
    }

    /// Returns the count after Acks with these numbers arrived in this order.
    fn lost(numbers: &[u64]) -> u32 {
        let mut path = ReversePath::default();
        for &n in numbers {
            path.on_packet(Seq::new(n), false, None, Ecn::Ect0);
        }
        path.take()
    }

    #[test]
    fn three_later_arrivals_make_a_loss() {
        // 4341-6.1.1-1
        assert_eq!(lost(&[1, 3, 4]), 0);
        assert_eq!(lost(&[1, 3, 4, 5]), 1);
        assert_eq!(lost(&[1, 9, 10, 11]), 7);
        assert_eq!(
            lost(&[1, 3, 5, 7, 9]),
            2,
            "the holes before 7 and 9 are too young"
        );
    }

    #[test]
    fn reordering_is_no_loss_until_it_is_too_late() {
        assert_eq!(lost(&[1, 3, 4, 2, 5, 6, 7]), 0);
        assert_eq!(lost(&[1, 3, 2, 4, 5]), 0);
        assert_eq!(lost(&[4, 3, 2, 1, 5, 6, 7]), 0);
        assert_eq!(lost(&[1, 3, 4, 5, 2]), 1);
        assert_eq!(lost(&[1, 4, 3, 5, 6, 7]), 1, "2 only");
    }

    #[test]
    fn duplicates_are_no_arrivals() {
        assert_eq!(lost(&[1, 3, 3, 3, 3]), 0);
        assert_eq!(lost(&[1, 3, 4, 4, 3]), 0);
    }

    #[test]
    fn numbers_wrap() {
        let max = (1 << 48) - 1;
        assert_eq!(lost(&[max - 1, 1, 2, 3]), 2);
    }

    #[test]
    fn a_hole_is_counted_once() {
        let mut path = ReversePath::default();
        for n in [1, 3, 4, 5] {
            path.on_packet(Seq::new(n), false, None, Ecn::Ect0);
        }
        assert_eq!(path.take(), 1);
        path.on_packet(Seq::new(6), false, None, Ecn::Ect0);
        assert_eq!(path.take(), 0);
    }

    #[test]
    fn ndp_counts_tell_data_from_acknowledgements() {
        // 4341-6.1.1-1: 2 and 3 are lost, and packet 4 says how many before it had no data.
        for (is_expected, ndp_count, acks) in [
            (true, Some(2), 2),
            (true, Some(3), 2),
            (true, Some(1), 1),
            (true, None, 1),
            (false, None, 2),
            (false, Some(0), 2),
        ] {
            let mut path = ReversePath::default();
            path.expect_ndp_counts(is_expected);
            path.on_packet(Seq::new(1), true, Some(0), Ecn::Ect0);
            path.on_packet(Seq::new(4), true, ndp_count, Ecn::Ect0);
            path.on_packet(Seq::new(5), true, Some(0), Ecn::Ect0);
            path.on_packet(Seq::new(6), true, Some(0), Ecn::Ect0);
            assert_eq!(path.take(), acks, "{is_expected} {ndp_count:?}");
        }
    }

    #[test]
    fn marks_count_on_acknowledgements_only() {
        // 4341-6.1.1-1
        let mut path = ReversePath::default();
        path.on_packet(Seq::new(1), false, None, Ecn::Ce);
        path.on_packet(Seq::new(1), false, None, Ecn::Ce);
        path.on_packet(Seq::new(2), true, None, Ecn::Ce);
        path.on_packet(Seq::new(3), false, None, Ecn::Ect1);
        assert_eq!(path.take(), 1);
        path.on_packet(Seq::new(4), true, None, Ecn::Ce);
        assert_eq!(path.take(), 0);
        path.on_packet(Seq::new(5), false, None, Ecn::Ce);
        assert_eq!(path.take(), 1);
    }

    #[test]
    fn an_absurd_jump_does_not_overflow() {
        let far = 1 << 46;
        assert_eq!(
            lost(&[1, far, far + 1, far + 2, far + 9, far + 10, far + 11]),
            u32::MAX
        );
    }
}
