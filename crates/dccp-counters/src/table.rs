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

/// The groups of the MIB: arc below `dccpTotals`, name of the node, title.
pub const GROUPS: &[(u32, &str, &str)] = &[
    (1, "dccpPackets", "Packets by direction and type"),
    (2, "dccpOctets", "Bytes"),
    (3, "dccpData", "Datagrams and acknowledgements on the wire"),
    (4, "dccpDrops", "Packets received and dropped, by reason"),
    (5, "dccpResets", "Resets by code"),
    (
        6,
        "dccpDropCodes",
        "Dropped data that was reported, by Drop Code",
    ),
    (7, "dccpTimers", "Expiries by timer"),
    (8, "dccpOpens", "Opening and ending of connections"),
    (9, "dccpEvents", "Events of the protocol"),
    (20, "dccpSending", "Datagrams of applications"),
    (21, "dccpFates", "Their fates"),
    (22, "dccpReceiving", "Receive buffers of applications"),
    (23, "dccpLossEvents", "Loss events"),
    (
        24,
        "dccpHostDrops",
        "Packets of connections that this host did not send",
    ),
    (
        30,
        "dccpTransports",
        "Transports: UDP sockets, and IP protocol 33",
    ),
    (31, "dccpRefusals", "Connections that listeners refused"),
];

/// The meaning of metrics that have several rows.
const FAMILIES: &[(&str, &str)] = &[
    (
        "packets",
        "Packets by direction and type; those received have a correct header, valid or not",
    ),
    ("packet", "Bytes of packets, with DCCP headers"),
    (
        "data",
        "Bytes of application data; those received are counted once",
    ),
    ("ack", "Bytes of Ack packets, with DCCP headers"),
    ("ack_vector", "Bytes of Ack Vector options"),
    ("marked_packets", "Packets received with this ECN field"),
    (
        "dropped_packets",
        "Packets received whose content was dropped, by reason",
    ),
    (
        "resets",
        "Resets sent, and Resets received that ended a connection, by code",
    ),
    (
        "drop_codes",
        "Datagrams that this host (out) or the peer's host (in) dropped and reported, by Drop Code",
    ),
    ("timer_expiries", "Expiries by timer"),
    (
        "connections_opened",
        "Connections that this host tried to open, or that its listeners answered",
    ),
    ("nonce_echoes", "Ack Vectors received with this Nonce Echo"),
    ("icmp_errors", "ICMP errors about packets of this host"),
    ("datagram_fates", "Datagrams of applications by fate"),
    (
        "receive_buffer_drops",
        "Received datagrams that receive buffers dropped, by reason",
    ),
    (
        "loss_events",
        "Congestion events that sending CCIDs answered and receiving CCIDs found",
    ),
    (
        "host_dropped_packets",
        "Packets of connections that this host did not send, by reason",
    ),
    (
        "transport_dropped_packets",
        "Packets that this host refused to send or lost, by reason",
    ),
    (
        "connections_refused",
        "Connections that listeners refused, by reason",
    ),
];

impl Counter {
    /// The meaning of the metric, which may have several rows.
    pub fn family_help(&self) -> &str {
        let found = FAMILIES.iter().find(|(metric, _)| *metric == self.metric);
        found.map_or(&self.help, |(_, help)| help)
    }

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

    /// Name for Prometheus without labels.
    pub fn family(&self) -> String {
        format!("{}_total", self.unit.name(&format!("dccp_{}", self.metric)))
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
    let mut was_lower = false;
    for c in name.chars() {
        if c == ' ' || c == '-' || c.is_ascii_uppercase() && was_lower {
            snake.push('_');
        }
        if c.is_ascii_alphanumeric() {
            snake.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase();
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

#[cfg(test)]
mod tests;
