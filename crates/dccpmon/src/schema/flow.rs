//! One flow: in an interval, and in the whole test.

use super::{Direction, SafeUdp, SafeUdpInterval, Stamps};
use core::fmt;
use dccp_stats::{Jitter, LossPattern, Order, Spread, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One flow in one interval. Null: the end did not report.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct IntervalFlow {
    /// Counts from 1.
    pub id: u32,
    /// Packets that the schedule asked for.
    pub offered_packets: Option<u64>,
    /// Packets that left.
    pub sent_packets: Option<u64>,
    /// Their application data.
    pub sent_bytes: Option<u64>,
    /// Packets that arrived for the first time.
    pub received_packets: Option<u64>,
    /// Their application data.
    pub received_bytes: Option<u64>,
    /// Application data that arrived.
    pub goodput_bps: Option<f64>,
    /// Packets found missing in this interval: a later one arrived before them. Some can still arrive. With CCID 248 those
    /// of the acknowledgements, because datagrams that the CCID drops leave gaps too.
    pub lost_packets: Option<u64>,
    /// Packets that were missing before this interval and arrived in it.
    pub recovered_packets: Option<u64>,
    /// Packets that arrived with a congestion mark.
    pub marked_packets: Option<u64>,
    /// Round trips in the network.
    pub rtt_ns: Option<Spread>,
    /// Waiting times in the send queue.
    pub queue_ns: Option<Spread>,
    /// The congestion window at the end of the interval.
    pub cwnd_packets: Option<f64>,
    /// The slow start threshold.
    pub ssthresh_packets: Option<f64>,
    /// The rate that the congestion control allows.
    pub cc_rate_bps: Option<f64>,
    /// TCP's repetitions.
    pub retransmitted_segments: Option<u64>,
    /// The state of the congestion control.
    pub cc_state: Option<String>,
    /// How long data waited because of the congestion control.
    pub held_by_cc_ns: Option<u64>,
    /// How late packets were offered, against the schedule.
    pub late_ns: Option<Spread>,
    /// CCID 248; null for others.
    #[serde(default)]
    pub safe_udp: Option<SafeUdpInterval>,
}

/// One flow in the whole test.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Flow {
    /// Counts from 1.
    pub id: u32,
    /// The sending end: `forward` or `reverse`.
    #[serde(default)]
    pub direction: Direction,
    /// The connection that carries the flow. Counts from 1; flows with the same number share one. Null over UDP, which has
    /// none.
    pub connection: Option<u32>,
    /// Application data that arrived; null if the receiver was not heard over UDP.
    pub goodput_bps: Option<f64>,
    /// IP packets that were sent, with their headers.
    pub wire_bps: Option<f64>,
    /// Application data that arrived; null like the goodput.
    pub received_bytes: Option<u64>,
    /// The place of each packet; null for TCP.
    pub ledger: Option<Ledger>,
    /// The fates of the packets according to the peer's acknowledgements; DCCP only.
    pub acknowledged: Option<Acknowledged>,
    /// The kernel's totals of a TCP connection.
    pub tcp: Option<TcpTotals>,
    /// The reason why the connection ended too early.
    pub broken: Option<String>,
    /// The round trip and its parts.
    pub rtt: Option<RttSplit>,
    /// The delay from the sending to the receiving program, with the wait in the send queue.
    pub one_way: Option<OneWay>,
    /// The sources of the arrival times.
    #[serde(default)]
    pub stamps: Stamps,
    /// The variation of the delay.
    pub jitter: Option<Jitter>,
    /// Reordering.
    pub order: Option<Order>,
    /// Runs of losses and the gaps between them; null if CCID 248 dropped datagrams, which leave gaps too.
    pub loss_pattern: Option<LossPattern>,
    /// Packets that came after one with a higher number.
    pub reordered_packets: Option<u64>,
    /// Packets that came again.
    pub duplicate_packets: Option<u64>,
    /// Packets that arrived with a congestion mark.
    pub marked_packets: Option<u64>,
    /// The schedule that was asked for, and the one that was achieved.
    pub schedule: Option<Achieved>,
    /// The standard deviation of the intervals' goodputs over their mean.
    pub stability: Option<f64>,
    /// The states of the sender.
    pub sender_samples: Option<Samples>,
    /// CCID 248; null for others.
    #[serde(default)]
    pub safe_udp: Option<SafeUdp>,
    /// Sudden changes of the rate.
    pub steps: Vec<Step>,
    /// The limit of the flow.
    pub limited_by: Limit,
}

/// The place of each packet of a flow. Both sums are exact:
/// `offered` = `dropped_app` + `dropped_ring` + `dropped_ccid` + `sent`, and
/// `sent` = `delivered` + `in_flight` + `unknown` + all `lost_…`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Ledger {
    /// Packets that the schedule asked for.
    pub offered: u64,
    /// Refused by the socket, or skipped because they were late.
    pub dropped_app: u64,
    /// Dropped in the send buffer.
    pub dropped_ring: u64,
    /// Dropped by the congestion control: CCID 248 drops what exceeds its cap.
    pub dropped_ccid: u64,
    /// Packets that left.
    pub sent: u64,
    /// Lost in the local queue of the sending host.
    pub lost_sender_queue: u64,
    /// Lost in the interface of the sending host. As for the backlog, most of its traffic must be the test's.
    pub lost_sender_interface: u64,
    /// Lost between the hosts.
    pub lost_network: u64,
    /// Lost in the interface of the receiving host. As for the backlog, most of its traffic must be the test's.
    pub lost_receiver_interface: u64,
    /// Lost in the kernel's backlog of the receiving host. The kernel counts its drops for all traffic of the machine. They
    /// are the test's if the test made at least 80 % of that traffic, else they are `unknown`.
    pub lost_receiver_softnet: u64,
    /// Lost because the socket's buffer was full, in the kernel or in this program.
    pub lost_receiver_socket: u64,
    /// Reached the socket and were not read.
    pub lost_receiver_app: u64,
    /// Different packets that the receiving program got.
    pub delivered: u64,
    /// Left, and the test ended before their fate was known.
    pub in_flight: u64,
    /// Left, did not arrive, and no counter shows the place.
    pub unknown: u64,
}

impl Ledger {
    /// The losses with the names of their places, in the order of the path.
    pub fn losses(&self) -> [(&'static str, u64); 7] {
        [
            ("sender queue", self.lost_sender_queue),
            ("sender interface", self.lost_sender_interface),
            ("network", self.lost_network),
            ("receiver interface", self.lost_receiver_interface),
            ("receiver backlog", self.lost_receiver_softnet),
            ("receiver socket", self.lost_receiver_socket),
            ("receiver app", self.lost_receiver_app),
        ]
    }

    /// The packets that were offered and not sent, with the places that dropped them.
    pub fn not_sent(&self) -> [(&'static str, u64); 3] {
        [
            ("application", self.dropped_app),
            ("send ring", self.dropped_ring),
            ("congestion control", self.dropped_ccid),
        ]
    }

    /// Packets that left and were not delivered, as far as that is known.
    pub fn lost(&self) -> u64 {
        let arrived = self.delivered.saturating_add(self.in_flight);
        self.sent.saturating_sub(arrived)
    }

    /// Whether both sums are exact.
    pub fn is_closed(&self) -> bool {
        let offered = [
            self.dropped_app,
            self.dropped_ring,
            self.dropped_ccid,
            self.sent,
        ];
        let mut sent = vec![self.delivered, self.in_flight, self.unknown];
        sent.extend(self.losses().map(|(_, packets)| packets));
        sum(&offered) == Some(self.offered) && sum(&sent) == Some(self.sent)
    }

    /// The ledger of several flows together.
    #[must_use]
    pub fn sum<'a>(ledgers: impl Iterator<Item = &'a Self>) -> Self {
        ledgers.fold(Self::default(), |a, b| Self {
            offered: a.offered.saturating_add(b.offered),
            dropped_app: a.dropped_app.saturating_add(b.dropped_app),
            dropped_ring: a.dropped_ring.saturating_add(b.dropped_ring),
            dropped_ccid: a.dropped_ccid.saturating_add(b.dropped_ccid),
            sent: a.sent.saturating_add(b.sent),
            lost_sender_queue: a.lost_sender_queue.saturating_add(b.lost_sender_queue),
            lost_sender_interface: a
                .lost_sender_interface
                .saturating_add(b.lost_sender_interface),
            lost_network: a.lost_network.saturating_add(b.lost_network),
            lost_receiver_interface: a
                .lost_receiver_interface
                .saturating_add(b.lost_receiver_interface),
            lost_receiver_softnet: a
                .lost_receiver_softnet
                .saturating_add(b.lost_receiver_softnet),
            lost_receiver_socket: a
                .lost_receiver_socket
                .saturating_add(b.lost_receiver_socket),
            lost_receiver_app: a.lost_receiver_app.saturating_add(b.lost_receiver_app),
            delivered: a.delivered.saturating_add(b.delivered),
            in_flight: a.in_flight.saturating_add(b.in_flight),
            unknown: a.unknown.saturating_add(b.unknown),
        })
    }
}

/// `None` if the sum does not fit.
fn sum(packets: &[u64]) -> Option<u64> {
    let mut packets = packets.iter();
    packets.try_fold(0_u64, |sum, packets| sum.checked_add(*packets))
}

/// The fates of the packets that left, according to the peer's acknowledgements.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Acknowledged {
    /// Received.
    pub received_packets: u64,
    /// Received with a congestion mark.
    pub marked_packets: u64,
    /// Not received.
    pub lost_packets: u64,
    /// Dropped by the peer's host.
    pub dropped_by_peer_packets: u64,
    /// Not reported.
    pub unreported_packets: u64,
}

/// The kernel's totals of a TCP connection.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct TcpTotals {
    /// Bytes sent, repetitions included.
    pub sent_bytes: u64,
    /// Bytes that the peer acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Bytes sent again.
    pub retransmitted_bytes: u64,
    /// The time with data to send.
    pub busy_ns: u64,
    /// Of this, limited by the peer's window.
    pub rwnd_limited_ns: u64,
    /// Of this, limited by the send buffer.
    pub sndbuf_limited_ns: u64,
}

impl TcpTotals {
    /// The totals since the connection had those of `before`: a block joins it to its test, before the data.
    pub(crate) fn since(self, before: Self) -> Self {
        let of = |field: fn(&Self) -> u64| field(&self).saturating_sub(field(&before));
        Self {
            sent_bytes: of(|t| t.sent_bytes),
            acknowledged_bytes: of(|t| t.acknowledged_bytes),
            retransmitted_segments: of(|t| t.retransmitted_segments),
            retransmitted_bytes: of(|t| t.retransmitted_bytes),
            busy_ns: of(|t| t.busy_ns),
            rwnd_limited_ns: of(|t| t.rwnd_limited_ns),
            sndbuf_limited_ns: of(|t| t.sndbuf_limited_ns),
        }
    }
}

/// The parts of a round trip.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct RttSplit {
    /// From the sending program to its answer, measured by echoes.
    pub user_ns: Option<Spread>,
    /// In the send queue.
    pub send_queue_ns: Option<Spread>,
    /// In the network, there and back.
    pub network_ns: Option<Spread>,
    /// At the receiver, from the arrival to the program.
    pub receiver_ns: Option<Spread>,
    /// How the parts were measured.
    pub source: String,
}

/// The delay in one direction.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct OneWay {
    /// The delay by the clock fit, from the sending program on: the send queue is included.
    pub ns: Spread,
    /// The bound of its error: that of the clock fit, and half of the clocks' drift during the test.
    pub error_ns: u64,
    /// How the clocks were compared.
    pub method: String,
}

/// The schedule of a flow.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Achieved {
    /// The mean gap that was asked for; null: none was.
    pub asked_gap_ns: Option<f64>,
    /// The mean gap between packets offered.
    pub mean_gap_ns: Option<f64>,
    /// How late packets were offered.
    pub late_ns: Option<Spread>,
    /// How late packets left.
    pub departure_late_ns: Option<Spread>,
    /// Packets left out because they were too late.
    pub skipped_packets: u64,
    /// The digest of the first due times: equal seeds yield equal digests.
    pub hash: Option<String>,
}

/// The number of samples in each state of the sender.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct Samples {
    /// Samples.
    pub n: u64,
    /// Nothing waited to be sent.
    pub idle: u64,
    /// Data waited, and the window was full.
    pub window_full: u64,
    /// Data waited though the window had room: held by pacing or by a rate.
    pub paced: u64,
    /// In slow start.
    pub slow_start: u64,
    /// Data in flight took 70 % of the Sequence Window or more.
    #[serde(default)]
    pub sequence_window_full: u64,
}

/// A sender at one moment.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct CcSample {
    /// Counts from 1.
    pub flow: u32,
    /// The time since the begin of the test.
    pub at_ns: u64,
    /// The newest round trip in the network.
    pub rtt_ns: Option<u64>,
    /// The congestion window.
    pub cwnd_packets: Option<f64>,
    /// The slow start threshold.
    pub ssthresh_packets: Option<f64>,
    /// The rate that the congestion control allows.
    pub rate_bps: Option<f64>,
    /// The state of the congestion control.
    pub cc_state: Option<String>,
    /// Nothing waited to be sent.
    pub is_idle: bool,
    /// The window had no room.
    pub is_window_full: bool,
}

/// The limit of a flow.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Limit {
    /// The limit.
    pub verdict: Verdict,
    /// The limit in one sentence.
    pub sentence: String,
    /// The figures that decided.
    pub evidence: Vec<String>,
    /// The command that lifts the limit, if there is one.
    pub command: Option<String>,
}

/// The kinds of limits.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The application offered no more.
    Application,
    /// The window: Sequence Window, receive window or an option.
    Window,
    /// The congestion control.
    CongestionControl,
    /// The receiving program.
    Receiver,
    /// A processor core at one end.
    Cpu,
    /// A queue in the network.
    NetworkQueue,
    /// A socket's buffer.
    SocketBuffer,
    /// The sender could not keep the schedule.
    PacingError,
    /// No sample shows a reason.
    Unknown,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Application => "application",
            Self::Window => "window",
            Self::CongestionControl => "congestion control",
            Self::Receiver => "receiver",
            Self::Cpu => "cpu",
            Self::NetworkQueue => "network queue",
            Self::SocketBuffer => "socket buffer",
            Self::PacingError => "pacing error",
            Self::Unknown => "unknown",
        })
    }
}
