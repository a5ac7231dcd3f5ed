//! Counters of a socket.

use crate::counts::{RecvCounts, SendCounts};
use crate::host_drops::HostDrops;
use crate::lateness::PacingError;
use dccp_io::Counters;
use dccp_proto::conn::stats::Stats as ProtocolStats;

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
