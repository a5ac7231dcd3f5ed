//! A packet as links and queues see it.

use core::time::Duration;
use dccp_proto::wire::Ecn;

/// A packet as a link sees it. `token` stands for the packet with whoever owns the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parcel<T> {
    /// Names the packet.
    pub token: T,
    /// Length of the IP packet in bytes.
    pub len: usize,
    /// The ECN field, which a queue may change to CE.
    pub ecn: Ecn,
    /// How much longer than others this packet travels, which lets them overtake it.
    pub hold: Duration,
    /// It may be larger than the MTU: routers fragment it, and its receiver joins the parts. (They
    /// travel as one here, and the added headers take no time.)
    pub may_fragment: bool,
    /// A hash of what routers take for its flow: addresses, protocol and ports. Only queues with a
    /// place per flow look at it.
    pub flow: u64,
}

impl<T> Parcel<T> {
    /// A packet that is not held back and must not be fragmented, of flow 0.
    pub const fn new(token: T, len: usize, ecn: Ecn) -> Self {
        Self {
            token,
            len,
            ecn,
            hold: Duration::ZERO,
            may_fragment: false,
            flow: 0,
        }
    }
}
