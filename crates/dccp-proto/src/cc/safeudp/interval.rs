//! The counts of one measurement interval.

/// Packets whose fate became known in one measurement interval, and what else was seen in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Interval {
    /// Data packets whose fate became known.
    pub(crate) judged: u64,
    /// Data packets that are missing.
    pub(crate) lost: u64,
    /// Data packets that arrived with a CE mark.
    pub(crate) marks: u64,
    /// Data packets that arrived corrupt: Drop Codes 3 to 7.
    pub(crate) corrupt: u64,
    /// Data packets that the receiving application did not take in time: Drop Code 2.
    pub(crate) receive_buffer: u64,
    /// Data packets for which no application listened: Drop Code 1.
    pub(crate) not_listening: u64,
    /// Missing packets that this host failed to send.
    pub(crate) failed: u64,
    /// Missing packets that the Host Loss Count covers.
    pub(crate) host_losses: u64,
    /// Missing packets that the Host Loss Count may cover. They count as lost in the network.
    pub(crate) doubtful: u64,
    /// The peer sent Slow Receiver.
    pub(crate) has_slow_receiver: bool,
    /// Datagrams waited for this host's interface during half of the interval.
    pub(crate) is_backlogged: bool,
    /// The smoothed round-trip time exceeds the least one by more than 5 ms and 25 %.
    pub(crate) is_inflated: bool,
}
