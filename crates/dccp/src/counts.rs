//! Counters of datagrams on their way through the buffers.

use dccp_proto::queue::FateCounts;

/// Where the datagrams of a socket are: `pushed = queued + in_flight + fates.total()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SendCounts {
    /// Taken from the application.
    pub pushed: u64,
    /// Waiting in the send buffer.
    pub queued: u64,
    /// Left, fate still open.
    pub in_flight: u64,
    /// The others, by fate.
    pub fates: FateCounts,
    /// Fates that were dropped because the application did not fetch them.
    pub fates_missed: u64,
    /// Fillers among `pushed`, sent towards [`Options::target_rate`](crate::Options::target_rate).
    pub fillers: u64,
}

impl core::ops::Add for SendCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            pushed: self.pushed + other.pushed,
            queued: self.queued + other.queued,
            in_flight: self.in_flight + other.in_flight,
            fates: self.fates + other.fates,
            fates_missed: self.fates_missed + other.fates_missed,
            fillers: self.fillers + other.fillers,
        }
    }
}

/// Datagrams that went through a receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RecvCounts {
    /// Datagrams put into the buffer; those that are neither there nor taken were thrown away when
    /// the application stopped reading.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Datagrams that the application took.
    pub taken: u64,
    /// Datagrams dropped because the connection's buffer was full (Drop Code 2).
    pub dropped_full: u64,
    /// Datagrams dropped because connections together used up the bytes of their listener, their address or their engine,
    /// as [`limits`](crate::limits) has it (Drop Code 2).
    pub dropped_budget: u64,
    /// Datagrams dropped because they were longer than an entry of the ring (Drop Code 2).
    pub dropped_too_long: u64,
    /// Datagrams dropped because the application does not listen (Drop Code 1).
    pub dropped_not_listening: u64,
}

impl RecvCounts {
    pub(crate) fn add(&mut self, more: Self) {
        self.delivered += more.delivered;
        self.delivered_bytes += more.delivered_bytes;
        self.taken += more.taken;
        self.dropped_full += more.dropped_full;
        self.dropped_budget += more.dropped_budget;
        self.dropped_too_long += more.dropped_too_long;
        self.dropped_not_listening += more.dropped_not_listening;
    }
}
