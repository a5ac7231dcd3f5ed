//! Names of connections and transports in an engine.

use core::net::SocketAddr;
use dccp_proto::ConnId;
use dccp_proto::path::Flow;

/// Names a connection in its engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnRef {
    /// The transport that it uses.
    pub(crate) port: PortKey,
    /// Its name there.
    pub(crate) conn: ConnId,
}

/// Names a transport and its endpoint in an engine; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PortKey(pub(crate) u64);

/// A connection that has been opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) conn: ConnRef,
    pub(crate) flow: Flow,
    /// The interface of link-local IPv6 addresses, by its number; otherwise 0.
    pub(crate) scope_id: u32,
}

/// An IPv6 address with its interface; an IPv4 address has none.
pub(crate) fn with_scope(mut address: SocketAddr, scope_id: u32) -> SocketAddr {
    if let SocketAddr::V6(v6) = &mut address {
        v6.set_scope_id(scope_id);
    }
    address
}
