//! State and counters of one connection, as the engine reports them.

use crate::host_drops::HostDrops;
use crate::lateness::PacingError;
use dccp_io::Counters;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::conn::stats::{Resets, Stats as ProtocolStats};

/// A connection at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Inspection {
    pub(crate) snapshot: ConnSnapshot,
    pub(crate) connection: ProtocolStats,
    pub(crate) resets: Resets,
    pub(crate) endpoint: ProtocolStats,
    pub(crate) pacing: PacingError,
    pub(crate) host_drops: HostDrops,
    pub(crate) transport: Counters,
}
