//! What a run measured: series and totals, before they are summed up.

use core::time::Duration;

/// What was recorded of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The ends of the intervals.
    pub ticks: Vec<Duration>,
    /// In the order of the plan.
    pub flows: Vec<FlowOutcome>,
    /// Both directions of each link of the plan: there, back.
    pub links: Vec<LinkOutcome>,
    /// How long the processors of the plan's machines have worked.
    pub processors: Vec<Duration>,
    /// Events that the simulator played.
    pub events: u64,
}

/// What was recorded of a flow: of all its streams together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowOutcome {
    /// One for each interval.
    pub intervals: Vec<FlowInterval>,
    /// Goodput in bits per second in bins of five seconds from the flow's begin.
    pub bins: Vec<f64>,
    /// Totals at the moments of [`Marks`].
    pub marks: Marks<u64>,
    /// Bytes of goodput when it stopped, if it did before the end: what was on the way still arrives.
    pub stopped_bytes: Option<u64>,
    /// Round trips that the transport measured, in nanoseconds.
    pub rtt_transport_ns: Vec<u64>,
    /// Round trips that the application measured.
    pub pings: Vec<RoundTrip>,
    /// How old data was when it arrived, in nanoseconds, of flows that stamp it; and whether it was
    /// important: pictures that others build on.
    pub ages: Vec<(u64, bool)>,
    /// Sums over the whole run.
    pub totals: Totals,
    /// Why a stream ended before it was stopped.
    pub broken: Option<String>,
}

/// A round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// When the answer came, or when it was noticed.
    pub at: Duration,
    /// How long it took, in nanoseconds.
    pub rtt_ns: u64,
}

/// Bytes delivered at the moments between which means are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks<T> {
    /// After what is discarded.
    pub discarded: T,
    /// When the last bulk flow has begun, or what is discarded has passed.
    pub all_active: T,
    /// When the first bulk flow stops, or the end.
    pub first_stops: T,
}

/// Sums of a flow. What nobody knows is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Datagrams that left the sender.
    pub sent_packets: u64,
    /// Datagrams that the receiving application got.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Bytes of the answers that the sending application got, of a flow of requests.
    pub answered_bytes: u64,
    /// Datagrams that the sender's transport took for lost; those that the receiver misses with UDP and
    /// CCIDs 3 and 4.
    pub lost_packets: Option<u64>,
    /// Datagrams that arrived with a congestion mark. TCP: how often its window answered to marks.
    pub marked_packets: Option<u64>,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Times that losses and marks reduced the window or rate.
    pub loss_events: Option<u64>,
    /// Acknowledgements that told nothing but that another packet arrived: TCP.
    pub duplicate_acks: Option<u64>,
    /// Datagrams that the receiving host dropped.
    pub dropped_by_receiver_packets: u64,
    /// Datagrams of a rhythm that the transport had no room for.
    pub dropped_by_sender_packets: u64,
}

impl Totals {
    /// Bytes that the applications at both ends got.
    pub const fn goodput_bytes(&self) -> u64 {
        self.delivered_bytes + self.answered_bytes
    }
}

/// One interval of a flow.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FlowInterval {
    /// Delivered to the receiving application; of requests also what came back.
    pub goodput_bps: f64,
    /// Congestion window at the end, of all streams.
    pub cwnd_packets: Option<f64>,
    /// Slow-start threshold at the end, of all streams.
    pub ssthresh_packets: Option<f64>,
    /// Allowed rate at the end, of all streams.
    pub rate_bps: Option<f64>,
    /// The newest round-trip sample at the end, of the first stream that has one.
    pub rtt_ns: Option<u64>,
    /// Taken for lost in this interval.
    pub lost_packets: Option<u64>,
    /// Marked in this interval.
    pub marked_packets: Option<u64>,
    /// Duplicate acknowledgements in this interval.
    pub duplicate_acks: Option<u64>,
}

/// What was recorded of one direction of a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkOutcome {
    /// One for each interval.
    pub intervals: Vec<LinkInterval>,
    /// How much of the time it sent, at the interval of `link_util`.
    pub utilisation: Vec<f64>,
    /// Busy time since what is discarded.
    pub busy: Duration,
    /// Sums over the whole run.
    pub offered_packets: u64,
    /// Packets that reached the other end.
    pub delivered_packets: u64,
    /// Packets lost, by reason, those that are not zero.
    pub lost_packets: Vec<(&'static str, u64)>,
    /// Packets marked by the queue.
    pub marked_packets: u64,
    /// The most packets that ever waited.
    pub queue_packets_max: u64,
}

/// One interval of one direction of a link.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkInterval {
    /// Packets waiting, on average.
    pub queue_packets_mean: f64,
    /// Packets waiting, at most, as far as it was looked.
    pub queue_packets_max: u64,
    /// Share of the time that it sent.
    pub utilisation: f64,
    /// Lost in this interval, whatever the reason.
    pub lost_packets: u64,
    /// Marked in this interval.
    pub marked_packets: u64,
}
