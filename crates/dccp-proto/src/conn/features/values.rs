//! The values of a feature option, in a bounded place.

use crate::config::bounds::FEATURE_VALUES;
use crate::wire::features::Feature;

/// A preference list, or the values of an option: one byte more than [`FEATURE_VALUES`], because a
/// Confirm has the chosen value before the list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Values {
    bytes: [u8; 1 + FEATURE_VALUES],
    len: u8,
}

impl Values {
    /// No value.
    pub(super) const EMPTY: Self = Self {
        bytes: [0; 1 + FEATURE_VALUES],
        len: 0,
    };

    /// The first [`FEATURE_VALUES`] of `values`.
    pub(super) fn new(values: &[u8]) -> Self {
        let mut list = Self::EMPTY;
        list.extend(values.get(..FEATURE_VALUES).unwrap_or(values));
        list
    }

    /// The value of an NN feature.
    pub(super) fn number(feature: Feature, value: u64) -> Self {
        Self::new(feature.encode_number(value).as_slice())
    }

    /// The values of an SP Confirm: the choice, then the list that led to it (4340-6.3.1-3).
    pub(super) fn choice(chosen: u8, list: &Self) -> Self {
        let mut values = Self::new(&[chosen]);
        values.extend(list.as_slice());
        values
    }

    /// The values in order.
    pub(super) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    fn extend(&mut self, values: &[u8]) {
        for (place, &value) in self
            .bytes
            .iter_mut()
            .skip(usize::from(self.len))
            .zip(values)
        {
            *place = value;
            self.len += 1;
        }
    }
}
