//! What is settled, in few bytes: a connection negotiates when it opens and then seldom.

use super::negotiation::Offer;
use super::table::{FEATURES, Slot, index};
use super::values::Values;
use crate::wire::features::{Feature, Reconciliation};

/// The values in force.
#[derive(Debug)]
pub(super) struct InForce {
    /// SP features at this end and at the peer's.
    bytes: [[u8; FEATURES]; 2],
    /// The same as they were before: what the peer still has if our last Confirm did not reach it.
    previous: [[u8; FEATURES]; 2],
    /// NN features: Sequence Window and Ack Ratio.
    numbers: [[u64; 2]; 2],
}

impl InForce {
    /// The initial values.
    pub(super) fn new() -> Self {
        let bytes = Feature::ALL.map(|feature| match feature.info().reconciliation {
            Reconciliation::ServerPriority => low_byte(feature.info().initial),
            Reconciliation::NonNegotiable => 0,
        });
        let numbers = [Feature::SequenceWindow, Feature::AckRatio].map(|f| f.info().initial);
        Self {
            bytes: [bytes; 2],
            previous: [bytes; 2],
            numbers: [numbers; 2],
        }
    }

    pub(super) const fn value(&self, Slot { side, feature }: Slot) -> u64 {
        match feature {
            Feature::SequenceWindow => self.numbers[side as usize][0],
            Feature::AckRatio => self.numbers[side as usize][1],
            _ => self.bytes[side as usize][index(feature)] as u64,
        }
    }

    /// What was in force before, of an SP feature.
    pub(super) const fn previous(&self, Slot { side, feature }: Slot) -> u64 {
        self.previous[side as usize][index(feature)] as u64
    }

    /// A value takes effect. Returns whether it is another.
    pub(super) fn set(&mut self, slot: Slot, value: u64) -> bool {
        let old = self.value(slot);
        let Slot { side, feature } = slot;
        match feature {
            Feature::SequenceWindow => self.numbers[side as usize][0] = value,
            Feature::AckRatio => self.numbers[side as usize][1] = value,
            _ if value != old => {
                self.bytes[side as usize][index(feature)] = low_byte(value);
                self.previous[side as usize][index(feature)] = low_byte(old);
            }
            _ => {}
        }
        value != old
    }
}

/// What we want of features that are not being negotiated, where it is not what everybody wants.
///
/// One after the other: the place of the feature, the number of values (and [`MANDATORY`]), the values.
#[derive(Debug, Default)]
pub(super) struct Wishes(Vec<u8>);

const MANDATORY: u8 = 0x80;

impl Wishes {
    /// What we want, or what we accept before anybody says what we want.
    pub(super) fn of(&self, slot: Slot) -> Offer {
        let mut rest = self.0.as_slice();
        while let &[place, len, ref values @ ..] = rest {
            let (values, others) = values.split_at(usize::from(len & !MANDATORY));
            if usize::from(place) == slot.index() {
                return Offer {
                    values: Values::new(values),
                    is_mandatory: len & MANDATORY != 0,
                };
            }
            rest = others;
        }
        Offer::initial(slot)
    }

    pub(super) fn set(&mut self, slot: Slot, wish: &Offer) {
        if self.of(slot) == *wish {
            return;
        }
        self.remove(slot);
        if *wish != Offer::initial(slot) {
            let values = wish.values.as_slice();
            self.0.reserve_exact(2 + values.len());
            let mandatory = if wish.is_mandatory { MANDATORY } else { 0 };
            self.0.extend([
                low_byte(slot.index() as u64),
                low_byte(values.len() as u64) | mandatory,
            ]);
            self.0.extend_from_slice(values);
        }
    }

    fn remove(&mut self, slot: Slot) {
        let mut at = 0;
        while let Some(&[place, len]) = self.0.get(at..).and_then(|rest| rest.first_chunk()) {
            let next = at + 2 + usize::from(len & !MANDATORY);
            if usize::from(place) == slot.index() {
                self.0.drain(at..next);
                return;
            }
            at = next;
        }
    }
}

/// An SP value, a place or a length: a byte, as it was before it was a number.
#[expect(clippy::cast_possible_truncation, reason = "all fit a byte")]
pub(super) const fn low_byte(value: u64) -> u8 {
    value as u8
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;

    fn slots() -> impl Iterator<Item = Slot> {
        let sides = [Side::Local, Side::Remote].into_iter();
        sides.flat_map(|side| Feature::ALL.map(|feature| Slot { side, feature }))
    }

    #[test]
    fn values_are_kept_apart() {
        let mut values = InForce::new();
        for slot in slots() {
            assert_eq!(values.value(slot), slot.feature.info().initial);
            assert!(!values.set(slot, slot.feature.info().initial));
        }
        for (n, slot) in (20..).zip(slots()) {
            assert!(values.set(slot, n));
            assert!(!values.set(slot, n));
        }
        for (n, slot) in (20..).zip(slots()) {
            assert_eq!(values.value(slot), n);
            let info = slot.feature.info();
            if info.reconciliation == Reconciliation::ServerPriority {
                assert_eq!(values.previous(slot), info.initial);
            }
        }
    }

    #[test]
    fn wishes_take_no_more_than_they_must() {
        let mut wishes = Wishes::default();
        let offer = |values: &[u8], is_mandatory| Offer {
            values: Values::new(values),
            is_mandatory,
        };
        for slot in slots() {
            wishes.set(slot, &Offer::initial(slot));
        }
        assert_eq!(wishes.0.capacity(), 0);
        let lists: [(&[u8], bool); 3] = [(&[], false), (&[9, 8, 7], true), (&[3; 32], true)];
        for (values, is_mandatory) in lists {
            for slot in slots() {
                wishes.set(slot, &offer(values, is_mandatory));
                assert_eq!(wishes.of(slot), offer(values, is_mandatory));
            }
            assert!(slots().all(|slot| wishes.of(slot) == offer(values, is_mandatory)));
            assert_eq!(wishes.0.len(), slots().count() * (2 + values.len()));
        }
        for slot in slots() {
            wishes.set(slot, &Offer::initial(slot));
            assert_eq!(wishes.of(slot), Offer::initial(slot));
        }
        assert_eq!(wishes.0, []);
    }
}
