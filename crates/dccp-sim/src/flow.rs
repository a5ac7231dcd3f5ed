//! What every transport of a host tells of a connection or flow: its name, and its account.

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

/// One end of a flow at a moment: totals since it began. What the transport does not know is 0, or `None`
/// where 0 would mislead.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowSample {
    /// Data packets sent, each retransmission counted again.
    pub sent: u64,
    /// Bytes of payload in them.
    pub sent_bytes: u64,
    /// Data packets sent a second time or more often.
    pub retransmitted: u64,
    /// Data packets that the peer reported as received, each once.
    pub delivered: u64,
    /// Bytes of payload in them.
    pub delivered_bytes: u64,
    /// Data packets that this end took for lost; 0 with CCIDs 3 and 4, whose receivers know.
    pub lost: u64,
    /// Data packets that are missing among those that arrived here, where somebody counts: UDP, CCIDs 3
    /// and 4. One that arrives late is missing no more.
    pub missing: Option<u64>,
    /// Data packets that the peer reported as marked by ECN. In TCP: how often the window answered to
    /// marks, which is all that TCP tells.
    pub marked: u64,
    /// Times that losses and marks reduced the window; loss events of CCIDs 3 and 4.
    pub loss_events: Option<u64>,
    /// Transmit timeouts (nofeedback timeouts of CCID 3).
    pub timeouts: u64,
    /// Acknowledgements that told nothing but that another packet arrived.
    pub duplicate_acks: u64,
    /// Datagrams, or segments with new data, that this end has given to its application.
    pub received: u64,
    /// Bytes of payload in them.
    pub received_bytes: u64,
    /// Data packets that arrived after one that was sent later.
    pub reordered: u64,
    /// Data packets that arrived marked.
    pub received_marked: u64,
    /// The last round-trip sample.
    pub rtt: Option<Duration>,
    /// How long the last data packet was under way to this end, by the clocks of the two hosts.
    pub one_way: Option<Duration>,
    /// The congestion control of this end.
    pub cc: Snapshot,
}
