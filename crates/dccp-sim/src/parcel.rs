//! A packet as links and queues see it.

use core::fmt;
use core::time::Duration;
use dccp_proto::wire::Ecn;

/// A name for a packet, chosen by the owner of a link.
pub trait Token: Copy + fmt::Debug + Send + 'static {}

impl<T: Copy + fmt::Debug + Send + 'static> Token for T {}

/// A packet as a link sees it: a token, and the fields that links and queues need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parcel<T> {
    /// Names the packet.
    pub token: T,
    /// Length of the IP packet in bytes.
    pub len: usize,
    /// The ECN field, which a queue may change to CE.
    pub ecn: Ecn,
    /// Extra delay of this packet. Others may overtake it meanwhile.
    pub hold: Duration,
    /// Routers may fragment it, so it may be larger than the MTU. (Fragments travel as one packet here, and
    /// their headers take no time.)
    pub may_fragment: bool,
    /// A hash of its flow as routers see it: addresses, protocol and ports. Only queues per flow read it.
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
