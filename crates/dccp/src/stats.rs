//! What can be seen of a connection.

use crate::lateness::PacingError;
use crate::recv_buffer::RecvCounts;
use crate::send_buffer::SendCounts;
use dccp_io::Counters;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::conn::stats::Stats as ProtocolStats;

/// Everything that is counted for a socket.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// What became of the datagrams that the application sent.
    pub sent: SendCounts,
    /// What became of the datagrams that arrived for the application.
    pub received: RecvCounts,
    /// The connection's protocol counters.
    pub connection: ProtocolStats,
    /// Protocol counters of the transport's other traffic: packets of no connection, and connections
    /// that are gone.
    pub endpoint: ProtocolStats,
    /// How late paced packets left, of all connections of the transport.
    pub pacing: PacingError,
    /// The transport's counters: shared by all connections of a listener, and over IP by all.
    pub transport: Counters,
}

/// What the engine tells of a connection at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Inspection {
    pub(crate) snapshot: ConnSnapshot,
    pub(crate) connection: ProtocolStats,
    pub(crate) endpoint: ProtocolStats,
    pub(crate) pacing: PacingError,
    pub(crate) transport: Counters,
}
