//! The connections of a run: how they are begun and asked.

use super::outcome::Totals;
use crate::scenario::plan::{Dccp, Flow, Network, Run, Transport};
use core::net::{IpAddr, Ipv4Addr};
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, Instant, path};
use dccp_sim::host::SimHash;
use dccp_sim::net::LinkId;
use dccp_sim::{Handle, Host, Node as _, NodeId, Router, Seed, World};

/// The first port that flows listen on: each has one of its own.
const PORT: u16 = 5001;
/// The first port that streams send from.
const LOCAL_PORT: u16 = 10_000;
const SERVICE: ServiceCode = ServiceCode(0x4c41_4220);

/// The world of a run, and where its parts are.
pub(crate) struct Stage {
    pub(crate) world: World,
    hosts: Vec<Option<Handle<Host>>>,
    nodes: Vec<NodeId>,
    /// Both directions of each link: there, back.
    pub(crate) links: Vec<LinkId>,
    /// By flow, those that have begun.
    streams: Vec<Vec<Stream>>,
    /// How many connections have been accepted by each node, and are known here.
    known: Vec<usize>,
    /// The next port of each node.
    ports: Vec<u16>,
}
