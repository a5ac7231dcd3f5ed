//! The recorded values of a run: series and totals, before they are summed up.

use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;

/// The recorded values of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The ends of the intervals.
    pub ticks: Vec<Duration>,
    /// In the order of the plan.
    pub flows: Vec<FlowOutcome>,
    /// Both directions of each link of the plan: there, back. Empty in a run on hosts.
    pub links: Vec<LinkOutcome>,
    /// The busy time of each machine's processor; `None` in a live run.
    pub processors: Vec<Option<Duration>>,
    /// The received packets that each machine lost, by reason, those that are not zero; `None` in a live run.
    pub lost_by_hosts: Vec<Option<Vec<(&'static str, u64)>>>,
    /// Events that the simulator played; `None` in other runs.
    pub events: Option<u64>,
    /// The figures of a measurement of this machine; `None` in other runs.
    pub bench: Option<Box<Figures>>,
    /// Limits of a run in real time beside the network, with evidence, and settings that were not applied.
    pub warnings: Vec<String>,
}

/// The figures of a measurement of this machine.
#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Figures {
    /// The operations that were measured: checksums, datagrams or acknowledgements. Datagrams count when they arrive, over
    /// UDP when they are sent.
    pub operations: u64,
    /// Operations per second; checksums and acknowledgements per second of processor time.
    #[schemars(range(min = 0))]
    pub operations_per_s: f64,
    /// Processor time of an operation; of a datagram, that of both ends.
    #[schemars(range(min = 0))]
    pub cost_ns: Option<f64>,
    /// The operations' share of the sender's processor time, for checksums and acknowledgements. A checksum is measured alone, so
    /// its share can exceed 1.
    pub cost_share: Option<f64>,
    /// The sender's processor time for a packet of data, with its share of acknowledgements.
    #[schemars(range(min = 0))]
    pub packet_cost_ns: Option<f64>,
}

/// The recorded values of a flow: of all its streams together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowOutcome {
    /// One for each interval.
    pub intervals: Vec<FlowInterval>,
    /// Goodput in bits per second in bins of five seconds from the flow's begin.
    pub bins: Vec<f64>,
    /// Bytes delivered at the times of [`Marks`].
    pub marks: Marks<u64>,
    /// The same of each stream.
    pub stream_marks: Marks<Vec<u64>>,
    /// Bytes delivered until the flow stopped, if it stopped before the end. Datagrams on the path still arrive later.
    pub stopped_bytes: Option<u64>,
    /// Round trips that the transport measured.
    pub rtt_transport: Vec<RoundTrip>,
    /// Round trips that the application measured.
    pub pings: Vec<RoundTrip>,
    /// The datagrams of each stream in the order of their making, of flows that record them.
    pub datagrams: Vec<Vec<Datagram>>,
    /// Sums at the end of the discarded time.
    pub discarded: Totals,
    /// Sums over the whole run.
    pub totals: Totals,
    /// Why a stream ended before it was stopped.
    pub broken: Option<String>,
}

/// A round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundTrip {
    /// When the answer arrived, or when a sample found it.
    pub at: Duration,
    /// The round-trip time in nanoseconds.
    pub rtt_ns: u64,
}

/// A datagram that an application offered to its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// When it was made.
    pub made: Duration,
    /// 0: ordinary. The greater, the more important: an I picture has 2, a P picture 1.
    pub class: u8,
    /// The number of the picture that it belongs to; of other sources its own number.
    pub picture: u64,
    /// How it ended.
    pub ending: Ending,
}

/// How a datagram ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The receiving application got it.
    Delivered {
        /// When.
        at: Duration,
        /// Its age in nanoseconds by the clocks of the two hosts.
        age_ns: u64,
    },
    /// The sender dropped it before it left.
    Dropped,
    /// It left and did not arrive, and one that left after it did.
    Lost,
    /// None of these: it waits, or is on the path, or the flow stopped before.
    Open,
}

/// Values at the times between which means are taken.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks<T> {
    /// At the end of the discarded time.
    pub discarded: T,
    /// When the last bulk flow has begun, but not within the discarded time.
    pub all_active: T,
    /// When the first bulk flow stops, or the end.
    pub first_stops: T,
}

/// Sums of a flow. Unknown ones are `None`.
#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Datagrams that left the sender.
    pub sent_packets: u64,
    /// Datagrams that the receiving application got.
    pub delivered_packets: u64,
    /// Bytes of the delivered datagrams.
    pub delivered_bytes: u64,
    /// Bytes of the answers that the sending application got, of a flow of requests.
    pub answered_bytes: u64,
    /// Datagrams that the sender's transport declared lost. With UDP and CCIDs 3 and 4, those that the receiver misses.
    pub lost_packets: Option<u64>,
    /// Datagrams that arrived with a congestion mark. TCP: how often its window answered to marks.
    pub marked_packets: Option<u64>,
    /// Segments sent again.
    pub retransmitted_packets: u64,
    /// Times that losses and marks reduced the window or rate.
    pub loss_events: Option<u64>,
    /// TCP: duplicate acknowledgements.
    pub duplicate_acks: Option<u64>,
    /// Datagrams that the receiving host dropped.
    pub dropped_by_receiver_packets: u64,
    /// Delivered datagrams whose data a link had changed. Null if that is unknown: in a run that is not simulated, and if the
    /// datagrams carry numbers and times.
    pub delivered_corrupt_packets: Option<u64>,
    /// Datagrams that the receiver reported as corrupt: Drop Codes 3 and 7.
    pub reported_corrupt_packets: u64,
    /// Packets with a Slow Receiver option that the sender got.
    pub slow_receiver_packets: u64,
    /// Datagrams of a rhythm that the sender dropped: they found no room, or became too old.
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
    /// Goodput; requests and answers together.
    pub goodput_bps: f64,
    /// Congestion window at the end, of all streams.
    pub cwnd_packets: Option<f64>,
    /// Slow-start threshold at the end, of all streams.
    pub ssthresh_packets: Option<f64>,
    /// Allowed rate at the end, of all streams.
    pub rate_bps: Option<f64>,
    /// The newest round-trip sample at the end, of the first stream that has one.
    pub rtt_ns: Option<u64>,
    /// Declared lost in this interval.
    pub lost_packets: Option<u64>,
    /// Marked in this interval.
    pub marked_packets: Option<u64>,
    /// Duplicate acknowledgements in this interval.
    pub duplicate_acks: Option<u64>,
}

/// The recorded values of one direction of a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LinkOutcome {
    /// One for each interval.
    pub intervals: Vec<LinkInterval>,
    /// The utilisation in each interval of `link_util`.
    pub utilisation: Vec<f64>,
    /// Busy time after the discarded time.
    pub busy: Duration,
    /// Sums over the whole run.
    pub offered_packets: u64,
    /// Packets that reached the other end.
    pub delivered_packets: u64,
    /// Packets lost, by reason, those that are not zero.
    pub lost_packets: Vec<(&'static str, u64)>,
    /// Packets marked by the queue.
    pub marked_packets: u64,
    /// The longest queue.
    pub queue_packets_max: u64,
}

/// One interval of one direction of a link.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LinkInterval {
    /// The mean queue.
    pub queue_packets_mean: f64,
    /// The longest queue of the samples.
    pub queue_packets_max: u64,
    /// The busy share of the time.
    pub utilisation: f64,
    /// Lost in this interval, whatever the reason.
    pub lost_packets: u64,
    /// Marked in this interval.
    pub marked_packets: u64,
}
