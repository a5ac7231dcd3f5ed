//! Sequence numbers: 48-bit circular integers (RFC 4340 §3.1, §7.6).

use core::fmt;
use core::num::NonZeroU64;

const BITS: u32 = 48;
const MASK: u64 = (1 << BITS) - 1;
const HALF: u64 = 1 << (BITS - 1);
const LOW_24: u64 = (1 << 24) - 1;

/// A 48-bit sequence or acknowledgement number. All arithmetic is modulo 2^48 (4340-3.1-2).
///
/// There is no `<`: circular numbers have no order, only a direction from one to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seq(
    /// One more than the number, so that an `Option` takes no more memory: connections keep many.
    NonZeroU64,
);

impl Seq {
    /// The number zero.
    pub const ZERO: Self = Self(NonZeroU64::MIN);

    /// The low 48 bits of `n`.
    pub const fn new(n: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(n & MASK))
    }

    /// The number as an integer below 2^48.
    pub const fn value(self) -> u64 {
        self.0.get() - 1
    }

    /// This number plus `n`.
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self::new(self.value().wrapping_add(n))
    }

    /// This number minus `n`.
    #[must_use]
    pub const fn minus(self, n: u64) -> Self {
        Self::new(self.value().wrapping_sub(n))
    }

    /// The number that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// The signed circular distance from `from` to this number, in −2^47 … 2^47−1.
    #[expect(
        clippy::cast_possible_wrap,
        reason = "both branches are below 2^47 in size"
    )]
    pub const fn distance(self, from: Self) -> i64 {
        let d = self.steps_from(from);
        if d < HALF {
            d as i64
        } else {
            d as i64 - (1 << BITS)
        }
    }

    /// How many steps lead forward from `from` to this number, in 0 … 2^48−1.
    pub const fn steps_from(self, from: Self) -> u64 {
        self.0.get().wrapping_sub(from.0.get()) & MASK
    }

    /// Whether this number lies circularly after `other`.
    pub const fn is_after(self, other: Self) -> bool {
        self.distance(other) > 0
    }

    /// Whether this number lies circularly before `other`.
    pub const fn is_before(self, other: Self) -> bool {
        self.distance(other) < 0
    }

    /// Whether `low ≤ self ≤ high` going forward from `low`.
    pub const fn is_within(self, low: Self, high: Self) -> bool {
        self.steps_from(low) <= high.steps_from(low)
    }

    /// The circularly greater of the two.
    #[must_use]
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// The low 24 bits, as a short header carries them.
    pub const fn low_24(self) -> u32 {
        (self.value() & LOW_24) as u32
    }

    /// Extends a 24-bit number to 48 bits next to `reference` (4340-7.6-1).
    #[must_use]
    pub const fn extend_24(short: u32, reference: Self) -> Self {
        let s = short as u64 & LOW_24;
        let low = reference.value() & LOW_24;
        let high = reference.value() & !LOW_24;
        // Half of the space away counts as ahead.
        let is_ahead = s.wrapping_sub(low) & LOW_24 <= 1 << 23;
        if is_ahead && s < low {
            Self::new(high.wrapping_add(1 << 24) | s)
        } else if !is_ahead && s > low {
            Self::new(high.wrapping_sub(1 << 24) | s)
        } else {
            Self::new(high | s)
        }
    }
}

impl Default for Seq {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: u64 = MASK;

    #[test]
    fn arithmetic_is_circular_at_the_wrap() {
        // 4340-3.1-2
        assert_eq!(Seq::new(MAX).next(), Seq::ZERO);
        assert_eq!(Seq::ZERO.minus(1), Seq::new(MAX));
        assert!(Seq::ZERO.is_after(Seq::new(MAX)));
        assert!(Seq::new(MAX).is_before(Seq::new(3)));
        assert!(Seq::new(1).is_within(Seq::new(MAX), Seq::new(2)));
        assert!(!Seq::new(3).is_within(Seq::new(MAX), Seq::new(2)));
        assert_eq!(Seq::new(MAX).max(Seq::new(2)), Seq::new(2));
    }

    #[test]
    fn half_the_space_is_behind() {
        // 4340-3.1-2
        assert!(Seq::new(HALF - 1).is_after(Seq::ZERO));
        assert!(Seq::new(HALF).is_before(Seq::ZERO));
        assert_eq!(Seq::new(HALF).distance(Seq::ZERO), -(1 << 47));
    }

    #[test]
    fn short_numbers_extend_next_to_their_reference() {
        // 4340-7.6-1, appendix A.3 of the requirements
        for (s, reference, result) in [
            (0x00_0005, 0x0000_01FF_FFF0, 0x0000_0200_0005),
            (0xFF_FFF0, 0x0000_0100_0005, 0x0000_00FF_FFF0),
            (0x00_0010, 0x0000_0100_0005, 0x0000_0100_0010),
            (0x00_0005, 0xFFFF_FFFF_FFFE, 0x0000_0000_0005),
            (0xFF_FFFE, 0x0000_0000_0003, 0xFFFF_FFFF_FFFE),
            (0x00_0005, 0x0000_0180_0005, 0x0000_0200_0005),
            (0x80_0005, 0x0000_0100_0005, 0x0000_0180_0005),
        ] {
            assert_eq!(Seq::extend_24(s, Seq::new(reference)), Seq::new(result));
        }
    }

    proptest! {
        #[test]
        fn distance_undoes_plus(a in 0..=MAX, d in 0..HALF) {
            let (a, b) = (Seq::new(a), Seq::new(a).plus(d));
            prop_assert_eq!(b.distance(a), i64::try_from(d).unwrap());
            prop_assert_eq!(b.minus(d), a);
            prop_assert_eq!(b.is_after(a), d > 0);
            prop_assert_eq!(b.steps_from(a), d);
        }

        #[test]
        fn a_near_number_survives_shortening(reference in 0..=MAX, d in 1 - (1_i64 << 23)..=(1 << 23)) {
            let reference = Seq::new(reference);
            let near = if d < 0 { reference.minus(d.unsigned_abs()) } else { reference.plus(d.unsigned_abs()) };
            prop_assert_eq!(Seq::extend_24(near.low_24(), reference), near);
        }
    }
}
