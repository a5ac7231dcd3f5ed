//! The name and the counters of a flow, for every transport of a host.

use core::time::Duration;
use dccp_proto::cc::Snapshot;

/// Names a flow of a host while the host lasts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FlowId {
    /// A DCCP connection, by its number.
    Dccp(usize),
    /// A TCP connection.
    Tcp(usize),
    /// A UDP flow.
    Udp(usize),
}

/// Totals of one end of a flow since it began. A value that the transport does not know is 0, or `None`
/// where 0 would mislead.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowSample {
    /// Data packets sent, each retransmission counted again.
    pub sent: u64,
    /// Bytes of payload in them.
    pub sent_bytes: u64,
    /// Data packets sent a second time or more often.
    pub retransmitted: u64,
    /// Datagrams that this end's application made and that were dropped unsent: they found no room, became too old,
    /// were too big, or exceeded the rate that the congestion control enforces.
    pub dropped: u64,
    /// Data packets that the peer reported as received, each once.
    pub delivered: u64,
    /// Bytes of payload in them.
    pub delivered_bytes: u64,
    /// Data packets that this end counts as lost; 0 with CCIDs 3 and 4, whose receivers count losses.
    pub lost: u64,
    /// Data packets missing among those that arrived here, where the receiver counts them: UDP, CCIDs 3 and 4.
    /// A packet that arrives late is no longer missing.
    pub missing: Option<u64>,
    /// Data packets that the peer reported as marked by ECN. In TCP: reductions of the window because of marks.
    pub marked: u64,
    /// Times that losses and marks reduced the window; loss events of CCIDs 3 and 4.
    pub loss_events: Option<u64>,
    /// Transmit timeouts (nofeedback timeouts of CCID 3).
    pub timeouts: u64,
    /// Acknowledgements that only report that another packet arrived.
    pub duplicate_acks: u64,
    /// Datagrams, or segments with new data, that this end has given to its application.
    pub received: u64,
    /// Bytes of payload in them.
    pub received_bytes: u64,
    /// Datagrams of a source without stamps that this end's application got and that a link had changed. The checksums
    /// of TCP and UDP cover all data, so there it is 0.
    pub received_corrupt: u64,
    /// Data packets that arrived after one that was sent later.
    pub reordered: u64,
    /// Data packets that arrived marked.
    pub received_marked: u64,
    /// The last round-trip sample.
    pub rtt: Option<Duration>,
    /// One-way delay of the last data packet to this end, by the clocks of the two hosts.
    pub one_way: Option<Duration>,
    /// The congestion control of this end.
    pub cc: Snapshot,
}
