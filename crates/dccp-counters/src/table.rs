//! The table of all counters, which names each of them once.
//!
//! A row gives the name of the MIB object, the name for Prometheus, the unit, the meaning and the place where the value is
//! read. All other forms derive from it.

mod host;
mod protocol;
mod socket;

use crate::listener::ListenerCounters;
use crate::unit::Unit;
use dccp::{ConnSnapshot, EngineStats, ProtocolStats, Stats};
use dccp_proto::conn::stats::Resets;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// One counter. It never goes down while its program runs.
pub struct Counter {
    /// Name of the MIB object.
    pub object: String,
    /// Place below `dccpTotals`: group and member. A place never gets another meaning.
    pub arcs: [u32; 2],
    /// Column of the MIB's table of connections, if it has one.
    pub column: Option<u32>,
    /// Name for Prometheus without prefix, unit and `_total`.
    pub metric: &'static str,
    /// Labels for Prometheus.
    pub labels: Vec<(&'static str, String)>,
    /// Unit.
    pub unit: Unit,
    /// Meaning, as a sentence without its full stop.
    pub help: String,
    read: Read,
}

type ReadOf<T> = Box<dyn Fn(&T) -> u64 + Send + Sync>;

/// Where a counter is read.
enum Read {
    /// In the engine, which sums it up over the host, and in each connection.
    Protocol(ReadOf<ProtocolStats>),
    /// As `Protocol`, among the Resets.
    Resets(ReadOf<Resets>),
    /// In the socket of each connection.
    Socket(ReadOf<(Stats, ConnSnapshot)>),
    /// In the engine, for all connections together.
    Engine(ReadOf<EngineStats>),
    /// In each listener.
    Listener(ReadOf<ListenerCounters>),
}

/// All counters, in the order of their places in the MIB.
pub fn counters() -> &'static [Counter] {
    static TABLE: LazyLock<Vec<Counter>> = LazyLock::new(|| {
        let groups = protocol::groups().into_iter();
        let groups = groups.chain(socket::groups()).chain(host::groups());
        groups.flatten().collect()
    });
    &TABLE
}

/// The index of a counter in [`counters`] by its name in JSON.
pub fn index_of(key: &str) -> Option<usize> {
    static INDEX: LazyLock<BTreeMap<String, usize>> = LazyLock::new(|| {
        let keys = counters().iter().map(Counter::key);
        keys.zip(0..).collect()
    });
    INDEX.get(key).copied()
}

impl Counter {
    /// Name in JSON: metric, unit and labels, joined by `_`.
    pub fn key(&self) -> String {
        let mut key = String::from(self.metric);
        let unit = self.unit.suffix().into_iter();
        let words = unit.chain(self.labels.iter().map(|(_, value)| value.as_str()));
        words.for_each(|word| {
            key.push('_');
            key.push_str(word);
        });
        key
    }

    /// Name for Prometheus without labels and `_total`.
    pub fn family(&self) -> String {
        self.unit.name(&format!("dccp_{}", self.metric))
    }

    /// Whether each connection has it. The others exist for the host only.
    pub fn is_of_connections(&self) -> bool {
        !matches!(self.read, Read::Engine(_) | Read::Listener(_))
    }

    /// The value of a connection; 0 if connections do not have the counter.
    pub(crate) fn of_connection(&self, seen: &(Stats, ConnSnapshot)) -> u64 {
        match &self.read {
            Read::Protocol(read) => read(&seen.0.connection),
            Read::Resets(read) => read(&seen.0.resets),
            Read::Socket(read) => read(seen),
            Read::Engine(_) | Read::Listener(_) => 0,
        }
    }

    /// The value of a listener; 0 if listeners do not have the counter.
    pub(crate) fn of_listener(&self, listener: &ListenerCounters) -> u64 {
        match &self.read {
            Read::Listener(read) => read(listener),
            _ => 0,
        }
    }

    /// The value that an engine knows for the host; `None` if connections and listeners count it.
    pub(crate) fn of_engine(&self, engine: &EngineStats) -> Option<u64> {
        match &self.read {
            Read::Protocol(read) => Some(read(&engine.protocol)),
            Read::Resets(read) => Some(read(&engine.resets)),
            Read::Engine(read) => Some(read(engine)),
            Read::Socket(_) | Read::Listener(_) => None,
        }
    }
}

/// A group of the MIB: the counters whose first arc is the same.
type Group = Vec<Counter>;

/// Builds the rows of one group.
struct Rows {
    arc: u32,
    rows: Group,
}

impl Rows {
    fn new(arc: u32) -> Self {
        let rows = Vec::new();
        Self { arc, rows }
    }

    /// Adds a row at `member`.
    fn add(
        &mut self,
        member: u32,
        object: impl Into<String>,
        metric: Metric,
        help: impl Into<String>,
        read: Read,
    ) {
        let Metric(metric, unit, labels) = metric;
        self.rows.push(Counter {
            object: object.into(),
            arcs: [self.arc, member],
            column: None,
            metric,
            labels,
            unit,
            help: help.into(),
            read,
        });
    }

    /// Makes the last row a column of the table of connections.
    fn column(&mut self, column: u32) {
        if let Some(row) = self.rows.last_mut() {
            row.column = Some(column);
        }
    }
}

/// Name, unit and labels of a metric.
struct Metric(&'static str, Unit, Vec<(&'static str, String)>);

/// Labels whose values are known.
fn labels(labels: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let owned = |&(name, value): &(&'static str, &str)| (name, value.into());
    labels.iter().map(owned).collect()
}

/// Adds rows: member, object, metric, its label if any, meaning, field, column if any.
macro_rules! rows {
    ($rows:ident, $unit:ident, $read:ident: $($member:literal, $object:literal, $metric:literal $([$label:literal = $value:literal])?,
        $help:literal, $($field:ident).+ $(=> $column:literal)?;)+) => {
        $(
            let labels = crate::table::labels(&[$(($label, $value))?]);
            let metric = crate::table::Metric($metric, crate::unit::Unit::$unit, labels);
            $rows.add($member, $object, metric, $help, $read(|s| s.$($field).+));
            $($rows.column($column);)?
        )+
    };
}
use rows;

/// `data_ack` for `DataAck` and for `Data Ack`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        let is_start = c.is_ascii_uppercase() || c == ' ' || c == '-';
        if is_start && !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
        if c.is_ascii_alphanumeric() || c == '_' {
            snake.push(c.to_ascii_lowercase());
        }
    }
    snake
}

/// `DataAck` for `data_ack`.
fn camel(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    words.collect()
}
