//! The figures of a test at one end: the content of the control messages and of the result.
//!
//! Each flow has a sending and a receiving end; each end fills its half, the client puts them
//! together. Units stand in the names.

use crate::schema::{Achieved, SafeUdp, SafeUdpInterval, Samples, StampSource, TcpTotals};
use dccp_host::{Delta, Identity};
use dccp_stats::{ArrivalFigures, Spread};
use serde::{Deserialize, Serialize};

/// One interval of one flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Interval {
    pub(crate) flow: u32,
    /// Counts the intervals from 0.
    pub(crate) index: u32,
    pub(crate) t0_ns: u64,
    pub(crate) t1_ns: u64,
    pub(crate) tx: Option<TxInterval>,
    pub(crate) rx: Option<RxInterval>,
}

/// The sender's figures of an interval.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TxInterval {
    /// Datagrams that left.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) rtt_ns: Option<Spread>,
    /// Times in the send queue.
    #[serde(default)]
    pub(crate) queue_ns: Option<Spread>,
    pub(crate) cwnd_packets: Option<f64>,
    pub(crate) ssthresh_packets: Option<f64>,
    /// The controller's rate.
    pub(crate) rate_bps: Option<f64>,
    pub(crate) cc_state: Option<String>,
    /// Segments of TCP sent again.
    #[serde(default)]
    pub(crate) retransmitted: Option<u64>,
    /// Of CCID 248 only.
    #[serde(default)]
    pub(crate) safe_udp: Option<SafeUdpInterval>,
}

/// The receiver's figures of an interval.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RxInterval {
    /// Datagrams that arrived for the first time.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Packets found missing in this interval: a later one arrived before them. Some can still arrive.
    pub(crate) lost_packets: u64,
    /// Packets that were missing before this interval and arrived in it.
    #[serde(default)]
    pub(crate) recovered_packets: u64,
    /// Datagrams that arrived with a congestion mark.
    #[serde(default)]
    pub(crate) marked: u64,
}

/// The whole test of one flow, as far as one end knows it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FlowTotal {
    pub(crate) flow: u32,
    pub(crate) tx: Option<TxTotal>,
    pub(crate) rx: Option<RxTotal>,
}

/// The sender's totals.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TxTotal {
    /// Datagrams offered to the socket.
    pub(crate) offered: u64,
    /// Of these, refused by the socket.
    pub(crate) refused: u64,
    /// Of these, dropped before they left: too big by then, or still waiting at the end.
    pub(crate) dropped_queue: u64,
    /// Of these, dropped by the congestion control.
    #[serde(default)]
    pub(crate) dropped_ccid: u64,
    /// Of these, left.
    pub(crate) left: u64,
    pub(crate) acked: u64,
    pub(crate) marked: u64,
    pub(crate) lost: u64,
    /// Reported as dropped by the peer's host.
    pub(crate) rx_dropped: u64,
    /// Of what left, not reported on.
    pub(crate) unreported: u64,
    /// Packets that this host dropped after they had left the connection; of all flows together if
    /// they share a transport.
    pub(crate) dropped_host: u64,
    pub(crate) shares_transport: bool,
    /// Bytes of IP packets sent, headers included.
    pub(crate) wire_bytes: u64,
    /// Why it stopped sending before its time, if it did.
    pub(crate) broken: Option<String>,
    pub(crate) rtt_ns: Option<Spread>,
    /// Those of looks that found new losses.
    #[serde(default)]
    pub(crate) loss_rtt_ns: Option<Spread>,
    /// Times in the send queue.
    #[serde(default)]
    pub(crate) queue_ns: Option<Spread>,
    /// Round trips from program to program, by echoes.
    #[serde(default)]
    pub(crate) user_ns: Option<Spread>,
    /// The part of the receiver in these.
    #[serde(default)]
    pub(crate) echo_wait_ns: Option<Spread>,
    /// The source of the arrival times of the echoes; `None` without any.
    #[serde(default)]
    pub(crate) stamps: Option<StampSource>,
    /// The sender's state at the samples.
    pub(crate) samples: Samples,
    /// The schedule, if the flow has one.
    #[serde(default)]
    pub(crate) schedule: Option<Achieved>,
    /// Of TCP only.
    #[serde(default)]
    pub(crate) tcp: Option<TcpTotals>,
    /// Of CCID 248 only.
    #[serde(default)]
    pub(crate) safe_udp: Option<SafeUdp>,
    pub(crate) connection: Negotiated,
    #[serde(default)]
    pub(crate) buffers: Buffers,
}

/// The negotiated features, as the sender sees them; `None` where the transport has none.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Negotiated {
    pub(crate) ccid: Option<u8>,
    /// The sender's law, if its congestion control has one.
    #[serde(default)]
    pub(crate) cc: Option<String>,
    pub(crate) ack_ratio: Option<u64>,
    pub(crate) is_ecn: Option<bool>,
    pub(crate) mps_bytes: Option<u64>,
    #[serde(default)]
    pub(crate) mss_bytes: Option<u64>,
    pub(crate) cscov: Option<u8>,
}

/// The kernel's buffers of the flow's socket at one end, in bytes as the kernel states them; `None` where flows share a
/// socket, or the system does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_field_names,
    reason = "names of integers end in their unit"
)]
pub(crate) struct Buffers {
    pub(crate) recv_bytes: Option<u64>,
    pub(crate) send_bytes: Option<u64>,
    /// The system's limits of these.
    pub(crate) recv_max_bytes: Option<u64>,
    pub(crate) send_max_bytes: Option<u64>,
}

/// The receiver's totals.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RxTotal {
    /// Different datagrams that the program got.
    pub(crate) delivered: u64,
    /// The highest number plus 1: at least this many datagrams left.
    pub(crate) passed: u64,
    pub(crate) bytes: u64,
    pub(crate) duplicates: u64,
    /// Datagrams that came after one with a higher number.
    pub(crate) reordered: u64,
    /// Datagrams that came with a congestion mark.
    pub(crate) marked: u64,
    /// Datagrams dropped because the socket's receive buffer was full.
    pub(crate) dropped_socket: u64,
    /// Datagrams that reached the socket and were not read.
    pub(crate) unread: u64,
    /// Packets that the receiving end sent.
    pub(crate) answers: u64,
    /// Packets that the kernel dropped for want of buffer, of all flows together if they share a
    /// transport; `None` where the system does not count them.
    pub(crate) dropped_kernel: Option<u64>,
    /// Whether `dropped_kernel` is a lower bound: the kernel merges packets (GRO) and counts the loss of a
    /// merged packet once.
    pub(crate) is_dropped_kernel_least: bool,
    pub(crate) shares_transport: bool,
    /// Times from the arrival to the program; `None` if the transport does not tell.
    #[serde(default)]
    pub(crate) wait_ns: Option<Spread>,
    /// The source of the arrival times; `None` without any.
    #[serde(default)]
    pub(crate) stamps: Option<StampSource>,
    /// How long the program did not read because it did not run, in nanoseconds.
    #[serde(default)]
    pub(crate) pauses_ns: u64,
    /// The longest of these pauses.
    #[serde(default)]
    pub(crate) pause_max_ns: u64,
    #[serde(default)]
    pub(crate) buffers: Buffers,
    /// All arrivals; `None` if the receiver did not end.
    pub(crate) arrivals: Option<ArrivalFigures>,
}

impl From<ArrivalFigures> for RxTotal {
    /// The counts of the arrivals. The other fields stay at their defaults.
    fn from(arrivals: ArrivalFigures) -> Self {
        let counts = arrivals.counts;
        Self {
            delivered: counts.packets,
            passed: arrivals.sent,
            bytes: counts.bytes,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            marked: counts.marked,
            arrivals: Some(arrivals),
            ..Self::default()
        }
    }
}

/// One end's host.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) version: String,
    pub(crate) identity: Identity,
    /// Its counters during the test; those of DCCP are the sum of all flows.
    pub(crate) delta: Delta,
}
