//! The objects of one snapshot, in the order of their numbers.

use super::{BASE, DESCRIPTION, ENTRY, HOST, TOTALS};
use crate::host_gauges::HOST_GAUGES;
use crate::snapshot::{ConnectionCounters, Snapshot};
use core::fmt;
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

/// The number of an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Oid(Vec<u32>);

impl Oid {
    /// The longest number that SNMP permits (RFC 2578 §3.5).
    const LEN_MAX: usize = 128;

    /// Reads `.1.3.6`; `None` if it is no number of an object.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let arcs = text.strip_prefix('.')?.split('.');
        let arcs = arcs.take(Self::LEN_MAX + 1).map(|arc| arc.parse().ok());
        let arcs: Vec<u32> = arcs.collect::<Option<_>>()?;
        (arcs.len() <= Self::LEN_MAX).then_some(Self(arcs))
    }

    fn of(parts: &[&[u32]]) -> Self {
        let below: Vec<u32> = parts.concat();
        Self([&BASE[..], &below].concat())
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|arc| write!(f, ".{arc}"))
    }
}

/// The value of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Counter64(u64),
    Gauge32(u32),
    Unsigned32(u32),
    TimeTicks(u32),
    Text(String),
}

impl Value {
    /// The type's name in the protocol of `pass_persist`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Counter64(_) => "counter64",
            Self::Gauge32(_) => "gauge",
            Self::Unsigned32(_) => "unsigned",
            Self::TimeTicks(_) => "timeticks",
            Self::Text(_) => "string",
        }
    }

    /// A gauge keeps its greatest value while the true one exceeds it (RFC 2578 §7.1.7).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion of floats saturates"
    )]
    fn gauge(value: f64) -> Self {
        Self::Gauge32(value.round() as u32)
    }

    /// Hundredths of a second, modulo 2^32 (RFC 2578 §7.1.8).
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value counts modulo 2^32"
    )]
    fn time(seconds: f64) -> Self {
        Self::TimeTicks((seconds * 100.0) as u64 as u32)
    }

    /// Printable characters only, because the protocol has lines, and at most 255 (`DisplayString`, RFC 2579).
    fn text(text: &str) -> Self {
        let printable = text.chars().filter(|c| c.is_ascii_graphic() || *c == ' ');
        Self::Text(printable.take(255).collect())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter64(n) => n.fmt(f),
            Self::Gauge32(n) | Self::Unsigned32(n) | Self::TimeTicks(n) => n.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// All objects of a snapshot.
#[derive(Default)]
pub(super) struct Tree(BTreeMap<Oid, Value>);

impl Tree {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let mut tree = Self::default();
        for (row, value) in snapshot.totals.rows() {
            let oid = Oid::of(&[&TOTALS, &row.arcs, &[0]]);
            tree.0.insert(oid, Value::Counter64(value));
        }
        for row in HOST_GAUGES {
            let value = row.of(snapshot);
            let is_time = row.unit == crate::Unit::Seconds;
            let value = if is_time {
                Value::time(value)
            } else {
                Value::gauge(value)
            };
            tree.0.insert(Oid::of(&[&HOST, &[row.member, 0]]), value);
        }
        snapshot
            .connections
            .iter()
            .for_each(|c| tree.add_connection(c));
        tree
    }

    fn add_connection(&mut self, connection: &ConnectionCounters) {
        // An index is at least 1 (RFC 2578 §7.7).
        if connection.id == 0 {
            return;
        }
        let mut add = |column, value| {
            self.0
                .insert(Oid::of(&[&ENTRY, &[column, connection.id]]), value);
        };
        for (column, ..) in DESCRIPTION {
            add(*column, description(connection, *column));
        }
        for (row, value) in connection.counters.rows() {
            if let Some(column) = row.column {
                add(column, Value::Counter64(value));
            }
        }
        for (row, value) in connection.gauges.rows() {
            add(row.column, Value::gauge(value * row.scale));
        }
    }

    /// The value of this object.
    pub(super) fn get(&self, oid: &Oid) -> Option<(&Oid, &Value)> {
        self.0.get_key_value(oid)
    }

    /// The first object after this number.
    pub(super) fn next(&self, oid: &Oid) -> Option<(&Oid, &Value)> {
        self.0.range((Excluded(oid), Unbounded)).next()
    }
}

/// The value of a column of [`DESCRIPTION`].
fn description(connection: &ConnectionCounters, column: u32) -> Value {
    let c = connection;
    match column {
        2 => Value::Unsigned32(c.user),
        3 => Value::text(&c.local),
        4 => Value::text(&c.remote),
        5 => Value::text(&c.service),
        6 => Value::Unsigned32(c.ccid_tx.into()),
        7 => Value::Unsigned32(c.ccid_rx.into()),
        8 => Value::text(&c.state),
        _ => Value::gauge(c.age_s),
    }
}

#[cfg(test)]
mod tests;
