//! The values of all counters, and of all gauges of a connection. In JSON they have their names.

use crate::gauges::{GAUGES, Gauge};
use crate::table::{Counter, counters, index_of};
use core::fmt;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The values of all counters, in the order of [`counters`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters(Vec<u64>);

impl Default for Counters {
    fn default() -> Self {
        Self::from_rows(|_| 0)
    }
}

impl FromIterator<u64> for Counters {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut all: Vec<u64> = values.into_iter().collect();
        all.resize(counters().len(), 0);
        Self(all)
    }
}

impl Counters {
    pub(crate) fn from_rows(value: impl Fn(&Counter) -> u64) -> Self {
        counters().iter().map(value).collect()
    }

    /// The values, in the order of [`counters`].
    pub fn values(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().copied()
    }

    /// The counters with their rows of the table.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Counter, u64)> + '_ {
        counters().iter().zip(self.values())
    }

    /// The value at a place in [`counters`].
    pub(crate) fn at(&self, place: usize) -> u64 {
        self.0.get(place).copied().unwrap_or(0)
    }

    /// The value by its name in JSON; `None` if no counter has the name.
    pub fn get(&self, key: &str) -> Option<u64> {
        self.0.get(index_of(key)?).copied()
    }

    pub(crate) fn add(&mut self, more: &Self) {
        let pairs = self.0.iter_mut().zip(&more.0);
        pairs.for_each(|(sum, value)| *sum = sum.saturating_add(*value));
    }
}

impl Serialize for Counters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.rows().map(|(row, value)| (row.key(), value)))
    }
}

/// Serializes the counters that connections have.
pub(crate) fn of_connections<S: Serializer>(
    values: &Counters,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let rows = values.rows().filter(|(row, _)| row.is_of_connections());
    serializer.collect_map(rows.map(|(row, value)| (row.key(), value)))
}

impl<'de> Deserialize<'de> for Counters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CountersByName)
    }
}

struct CountersByName;

impl<'de> Visitor<'de> for CountersByName {
    type Value = Counters;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counters by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Counters, A::Error> {
        let mut counters = Counters::default();
        while let Some(key) = map.next_key::<String>()? {
            let place = index_of(&key).and_then(|n| counters.0.get_mut(n));
            match place {
                Some(value) => *value = map.next_value()?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(counters)
    }
}

/// The values of all gauges of a connection, in the order of [`GAUGES`].
#[derive(Clone, PartialEq, Debug)]
pub struct Gauges(Vec<Option<f64>>);

impl Default for Gauges {
    fn default() -> Self {
        core::iter::empty().collect()
    }
}

impl FromIterator<Option<f64>> for Gauges {
    fn from_iter<I: IntoIterator<Item = Option<f64>>>(values: I) -> Self {
        let mut all: Vec<_> = values.into_iter().collect();
        all.resize(GAUGES.len(), None);
        Self(all)
    }
}

impl Gauges {
    /// The gauges that have a value now, with their rows of the table.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Gauge, f64)> + '_ {
        let all = GAUGES.iter().zip(&self.0);
        all.filter_map(|(row, value)| Some((row, (*value)?)))
    }

    /// The value by its name in JSON; `None` if there is none now.
    pub fn get(&self, key: &str) -> Option<f64> {
        let found = self.rows().find(|(row, _)| row.key() == key);
        found.map(|(_, value)| value)
    }
}

impl Serialize for Gauges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (row, value) in self.rows() {
            map.serialize_entry(&row.key(), &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Gauges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(GaugesByName)
    }
}

struct GaugesByName;

impl<'de> Visitor<'de> for GaugesByName {
    type Value = Gauges;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("gauges by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Gauges, A::Error> {
        let mut gauges = Gauges::default();
        while let Some(key) = map.next_key::<String>()? {
            let place = GAUGES.iter().position(|row| row.key() == key);
            match place.and_then(|n| gauges.0.get_mut(n)) {
                Some(value) => *value = map.next_value()?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(gauges)
    }
}
