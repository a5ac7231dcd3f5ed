//! The table of gauges of a host: values that go up and down.

use crate::gauges::exact;
use crate::snapshot::Snapshot;
use crate::unit::Unit;

/// One gauge of a host.
pub struct HostGauge {
    /// Name for Prometheus without prefix and unit.
    pub metric: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Meaning, as a sentence without its full stop.
    pub help: &'static str,
    /// Name of the MIB object.
    pub object: &'static str,
    /// Place below `dccpHost`.
    pub member: u32,
    read: fn(&Snapshot) -> f64,
}

impl HostGauge {
    /// Name for Prometheus.
    pub fn family(&self) -> String {
        self.unit.name(&format!("dccp_{}", self.metric))
    }

    /// The value.
    pub fn of(&self, snapshot: &Snapshot) -> f64 {
        (self.read)(snapshot)
    }
}

/// All gauges of a host, in the order of their places.
pub static HOST_GAUGES: &[HostGauge] = &[
    HostGauge {
        metric: "uptime",
        unit: Unit::Seconds,
        help: "Time since the counters were zero",
        object: "dccpUptime",
        member: 1,
        read: |s| s.uptime_s,
    },
    HostGauge {
        metric: "connections",
        unit: Unit::Connections,
        help: "Connections that have not ended, also those in their handshake",
        object: "dccpConnections",
        member: 2,
        read: |s| exact(s.open),
    },
    HostGauge {
        metric: "connections_established",
        unit: Unit::Connections,
        help: "Connections that are established",
        object: "dccpCurrEstab",
        member: 3,
        read: |s| exact(s.established),
    },
    HostGauge {
        metric: "listeners",
        unit: Unit::Listeners,
        help: "Listeners",
        object: "dccpListeners",
        member: 4,
        read: |s| exact(s.listeners.len() as u64),
    },
    HostGauge {
        metric: "queued_datagrams",
        unit: Unit::Datagrams,
        help: "Datagrams that wait in send buffers",
        object: "dccpQueued",
        member: 5,
        read: |s| sum(s, "queued_datagrams"),
    },
    HostGauge {
        metric: "in_flight_datagrams",
        unit: Unit::Datagrams,
        help: "Datagrams that left and whose fate is open",
        object: "dccpInFlight",
        member: 6,
        read: |s| sum(s, "in_flight_datagrams"),
    },
];

/// The sum of a gauge over the connections.
fn sum(snapshot: &Snapshot, gauge: &str) -> f64 {
    let values = snapshot.connections.iter();
    values.filter_map(|c| c.gauges.get(gauge)).sum()
}
