//! One packet at the receiver.

/// A packet that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Its number: the sender counts the packets of the flow from 0.
    pub number: u64,
    /// When the sending program handed it to its transport, in nanoseconds of the sender's clock.
    pub sent_ns: u64,
    /// When it arrived, in nanoseconds of the receiver's clock.
    pub arrived_ns: u64,
    /// Its length.
    pub bytes: u64,
    /// Whether it carries a congestion mark (ECN CE).
    pub is_marked: bool,
}
