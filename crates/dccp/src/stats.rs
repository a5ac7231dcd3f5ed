//! Counters of a socket and of an engine.

use crate::counts::{RecvCounts, SendCounts};
use crate::host_drops::HostDrops;
use crate::lateness::PacingError;
use dccp_io::Counters;
use dccp_proto::conn::stats::{Resets, Stats as ProtocolStats};

/// Everything that is counted for a socket.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// Datagrams that the application sent, by fate.
    pub sent: SendCounts,
    /// Datagrams that arrived for the application.
    pub received: RecvCounts,
    /// The connection's protocol counters.
    pub connection: ProtocolStats,
    /// The connection's Resets by code.
    pub resets: Resets,
    /// Protocol counters of the transport's other traffic: packets of no connection, and connections
    /// that are gone.
    pub endpoint: ProtocolStats,
    /// How late paced packets left, of all connections of the transport.
    pub pacing: PacingError,
    /// Packets of the connection that this host did not send.
    pub host_drops: HostDrops,
    /// The transport's counters: shared by all connections of a listener, and over IP by all.
    pub transport: Counters,
}

/// Counters of all ports of an engine since it started, also of ports that are closed.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct EngineStats {
    /// Protocol counters of all connections, of those that have ended, and of packets of no connection.
    pub protocol: ProtocolStats,
    /// Their Resets by code.
    pub resets: Resets,
    /// Counters of the transports.
    pub transport: Counters,
    /// Connections that have not ended, also those in their handshake.
    pub connections: u64,
}

impl EngineStats {
    /// The sum of two threads, or of two ports.
    #[must_use]
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        self.protocol += other.protocol;
        self.resets += other.resets;
        self.transport = self.transport.after(&other.transport);
        self.connections += other.connections;
        self
    }
}
