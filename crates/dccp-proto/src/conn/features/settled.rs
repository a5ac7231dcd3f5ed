//! The values in force, and our preferences for features that are not being negotiated.

use super::negotiation::Offer;
use super::table::{FEATURES, Slot, index};
use crate::wire::features::Feature;

/// The values in force.
#[derive(Debug, Hash)]
pub(super) struct InForce {
    /// SP features at this end and at the peer's.
    bytes: [[Byte; FEATURES]; 2],
    /// SP features that only their CCID knows, once they have changed.
    of_ccids: Vec<(Slot, Byte)>,
    /// NN features: Sequence Window and Ack Ratio.
    numbers: [[u64; 2]; 2],
}

/// The value of an SP feature.
#[derive(Clone, Copy, Debug, Hash)]
struct Byte {
    now: u8,
    /// The value before: what the peer still has if our last Confirm did not reach it.
    previous: u8,
}

impl Byte {
    const fn initial(feature: Feature) -> Self {
        let value = low_byte(feature.info().initial);
        Self {
            now: value,
            previous: value,
        }
    }
}

impl InForce {
    /// The initial values.
    pub(super) fn new() -> Self {
        let numbers = [Feature::SequenceWindow, Feature::AckRatio].map(|f| f.info().initial);
        Self {
            bytes: [Feature::ALL.map(Byte::initial); 2],
            of_ccids: Vec::new(),
            numbers: [numbers; 2],
        }
    }

    pub(super) fn value(&self, slot: Slot) -> u64 {
        let Slot { side, feature } = slot;
        match feature {
            Feature::SequenceWindow => self.numbers[side as usize][0],
            Feature::AckRatio => self.numbers[side as usize][1],
            _ => self.byte(slot).now.into(),
        }
    }

    /// The value of an SP feature that was in force before.
    pub(super) fn previous(&self, slot: Slot) -> u64 {
        self.byte(slot).previous.into()
    }

    fn byte(&self, slot: Slot) -> Byte {
        if let Some(index) = index(slot.feature) {
            return self.bytes[slot.side as usize][index];
        }
        let known = self.of_ccids.iter().find(|(s, _)| *s == slot);
        known.map_or(Byte::initial(slot.feature), |(_, byte)| *byte)
    }

    /// A value takes effect. Returns whether it is another.
    pub(super) fn set(&mut self, slot: Slot, value: u64) -> bool {
        let old = self.value(slot);
        let Slot { side, feature } = slot;
        match feature {
            Feature::SequenceWindow => self.numbers[side as usize][0] = value,
            Feature::AckRatio => self.numbers[side as usize][1] = value,
            _ if value != old => self.set_byte(
                slot,
                Byte {
                    now: low_byte(value),
                    previous: low_byte(old),
                },
            ),
            _ => {}
        }
        value != old
    }

    fn set_byte(&mut self, slot: Slot, byte: Byte) {
        if let Some(index) = index(slot.feature) {
            self.bytes[slot.side as usize][index] = byte;
        } else if let Some((_, known)) = self.of_ccids.iter_mut().find(|(s, _)| *s == slot) {
            *known = byte;
        } else {
            self.of_ccids.push((slot, byte));
        }
    }
}

/// Our preferences for features that are not being negotiated, where they differ from [`Offer::initial`].
#[derive(Debug, Default, Hash)]
pub(super) struct Wishes(Vec<(Slot, Offer)>);

impl Wishes {
    /// Our preferences, or the values that we accept before there are any.
    pub(super) fn of(&self, slot: Slot) -> Offer {
        let wish = self.0.iter().find(|(s, _)| *s == slot);
        wish.map_or_else(|| Offer::initial(slot), |(_, offer)| *offer)
    }

    pub(super) fn set(&mut self, slot: Slot, wish: &Offer) {
        if self.of(slot) == *wish {
            return;
        }
        self.0.retain(|(s, _)| *s != slot);
        if *wish != Offer::initial(slot) {
            self.0.push((slot, *wish));
        }
    }
}

/// An SP value: a byte, as it was before it was a number.
#[expect(clippy::cast_possible_truncation, reason = "SP values are bytes")]
pub(super) const fn low_byte(value: u64) -> u8 {
    value as u8
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::super::values::Values;
    use super::*;
    use crate::wire::features::Reconciliation;

    fn slots() -> impl Iterator<Item = Slot> {
        let sides = [Side::Local, Side::Remote].into_iter();
        let of_ccids = [129, 191, 193, 255].map(Feature::OfCcid);
        sides.flat_map(move |side| {
            let features = Feature::ALL.into_iter().chain(of_ccids);
            features.map(move |feature| Slot { side, feature })
        })
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
    fn wishes_are_kept_apart_and_initial_ones_take_no_memory() {
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
            assert_eq!(wishes.0.len(), slots().count());
        }
        for slot in slots() {
            wishes.set(slot, &Offer::initial(slot));
            assert_eq!(wishes.of(slot), Offer::initial(slot));
        }
        assert!(wishes.0.is_empty());
    }
}
