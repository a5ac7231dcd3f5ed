//! The counters of a host at one moment.

use crate::gauges::GAUGES;
use crate::listener::ListenerCounters;
use crate::table::Counter;
use crate::values::{Counters, Gauges, of_connections};
use core::time::Duration;
use dccp::{ConnSnapshot, DccpAddr, EngineStats, Stats};
use dccp_proto::path::Encap;
use serde::{Deserialize, Serialize};

/// The counters of a host at one moment. Its JSON has stable names; readers ignore those that they do not know.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Seconds since the counters were zero.
    pub uptime_s: f64,
    /// Connections that have not ended, also those in their handshake.
    pub open: u64,
    /// Connections that are established.
    pub established: u64,
    /// Sums over the connections that there are and those that have ended, and counters of the host.
    pub totals: Counters,
    /// The connections that there are.
    pub connections: Vec<ConnectionCounters>,
    /// The listeners that there are.
    pub listeners: Vec<ListenerCounters>,
}

impl Snapshot {
    /// The snapshot of a host with these engines, connections and listeners.
    ///
    /// Read the engines after the connections.
    pub fn new(
        uptime: Duration,
        ended: &Totals,
        engines: &[EngineStats],
        connections: Vec<ConnectionCounters>,
        listeners: Vec<ListenerCounters>,
    ) -> Self {
        Self {
            uptime_s: uptime.as_secs_f64(),
            open: engines.iter().map(|e| e.connections).sum(),
            established: engines.iter().map(|e| e.protocol.mib.curr_estab).sum(),
            totals: ended.with(engines, &connections, &listeners),
            connections,
            listeners,
        }
    }
}

/// A connection and its counters.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounters {
    /// Number of the connection, from 1 to 2^31 - 1. The program gives each number once.
    pub id: u32,
    /// User ID of the application.
    pub user: u32,
    /// Address of this end.
    pub local: String,
    /// Address of the peer.
    pub remote: String,
    /// Service Code.
    pub service: String,
    /// CCID of the half-connection that this end sends on.
    pub ccid_tx: u8,
    /// CCID of the other half-connection.
    pub ccid_rx: u8,
    /// State by its name in RFC 4340 §8.4.
    pub state: String,
    /// Seconds since the connection was opened.
    pub age_s: f64,
    /// Counters.
    #[serde(serialize_with = "of_connections")]
    pub counters: Counters,
    /// Values that go up and down; those that exist.
    pub gauges: Gauges,
}

impl ConnectionCounters {
    /// Reads a connection: `socket.stats()` and `socket.snapshot()`, also of one that has ended.
    pub fn new(id: u32, user: u32, age: Duration, stats: &Stats, snapshot: &ConnSnapshot) -> Self {
        let flow = &snapshot.flow;
        let (local_udp, remote_udp) = match flow.path.encap {
            Encap::Ip => (0, 0),
            Encap::Udp {
                local_port,
                remote_port,
            } => (local_port, remote_port),
        };
        let local = DccpAddr::new(flow.path.local, local_udp, flow.local_port);
        let remote = DccpAddr::new(flow.path.remote, remote_udp, flow.remote_port);
        let seen = (stats.clone(), snapshot.clone());
        let gauges = GAUGES.iter().map(|gauge| gauge.of(stats, snapshot));
        Self {
            id,
            user,
            local: local.to_string(),
            remote: remote.to_string(),
            service: snapshot.service.to_string(),
            ccid_tx: snapshot.tx_ccid,
            ccid_rx: snapshot.rx_ccid,
            state: format!("{:?}", snapshot.state).to_uppercase(),
            age_s: age.as_secs_f64(),
            counters: Counters::from_rows(|row| row.of_connection(&seen)),
            gauges: gauges.collect(),
        }
    }
}

/// Sums over the connections and listeners that have ended. With them, totals never go down.
#[derive(Clone, Debug, Default)]
pub struct Totals(Counters);

impl Totals {
    /// A connection has ended; `last` are its final counters. It must not stand in later snapshots.
    pub fn ended(&mut self, last: &ConnectionCounters) {
        self.0.add(&last.counters);
    }

    /// A listener has ended; `last` are its final counters. It must not stand in later snapshots.
    pub fn listener_ended(&mut self, last: &ListenerCounters) {
        self.0
            .add(&Counters::from_rows(|row| row.of_listener(last)));
    }

    /// The counters of the host. An engine knows its own sums, also of connections that no application ever had.
    fn with(
        &self,
        engines: &[EngineStats],
        connections: &[ConnectionCounters],
        listeners: &[ListenerCounters],
    ) -> Counters {
        let mut sum = self.0.clone();
        for connection in connections {
            sum.add(&connection.counters);
        }
        let total = |(row, sum): (&Counter, u64)| {
            let engines = engines.iter().filter_map(|engine| row.of_engine(engine));
            let listeners = listeners.iter().map(|listener| row.of_listener(listener));
            engines.reduce(|a, b| a + b).unwrap_or(sum) + listeners.sum::<u64>()
        };
        sum.rows().map(total).collect()
    }
}

#[cfg(test)]
mod tests;
