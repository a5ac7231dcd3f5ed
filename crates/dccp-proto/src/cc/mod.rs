//! Congestion control: the interface between a connection and a CCID (RFC 4340 §10).
//!
//! An endpoint holds an [`HcSender`] for the half-connection that it sends on and an [`HcReceiver`]
//! for the other; they may be of different CCIDs. Neither has I/O, a clock or a log.
//! [`registry`] lists the CCIDs by number. A CCID of your own implements [`Ccid`].
//!
//! The traits ask what a CCID's profile must answer (4340-10.4-1): formats (`prepare`, `on_ack`),
//! loss, marks and the receiver's host ([`Feedback`]), idle and limited applications (`permit`,
//! `pipe_max`), when to acknowledge (`ack_due`), acknowledgements of those ([`Signal::SendAck`]).

mod ack_ratio;
mod ack_timing;
mod ccid;
pub mod ccid2;
pub mod ccid3;
pub mod ccid4;
pub mod config;
pub mod delivery;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod law;
pub mod one_way;
mod pacer;
pub mod registry;
pub mod rtt;
pub mod safeudp;
mod safeudp_config;
pub mod slow_start;
pub mod window;
pub mod window_rules;

pub use ccid::{Ccid, Dependency};
use safeudp::{SendCode, Shortfall};

use crate::seq::Seq;
use crate::time::{Instant, Rate};
use crate::wire::{Ecn, OptionWriter, Options, PacketType};
use core::time::Duration;

/// Whether data packets may leave.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Permit {
    /// They may leave now.
    Now {
        /// How many, at least 1. They leave in one batch, so the commit horizon bounds them.
        packets: u32,
    },
    /// The next one may leave at this time, later than now.
    At(Instant),
    /// The next one may leave after feedback or a timeout.
    OnFeedback,
}

/// Whether a datagram may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It may leave now.
    Send,
    /// It is dropped, and the application gets the fate [`Limited`](crate::queue::Fate::Limited).
    Drop,
    /// The question is to be asked again at this time, later than now.
    At(Instant),
}

/// A run: data packets of one length that left at the same time, with consecutive numbers and one CCVal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Time of departure.
    pub now: Instant,
    /// Number of packets, at least 1.
    pub packets: u32,
    /// Sequence number of the last packet.
    pub last: Seq,
    /// Bytes of application data in each packet.
    pub payload_len: usize,
    /// Data packets in flight before the run.
    pub pipe: u32,
    /// Whether more data waited in the queue behind the run.
    pub has_more: bool,
    /// The sequence numbers had 24 bits on the wire (RFC 4340 §7.6).
    pub is_short: bool,
}

/// A number of packets and of bytes of application data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Packets.
    pub packets: u32,
    /// Bytes of application data.
    pub bytes: u64,
}

/// Newly reported drops at the peer's host, in data packets (RFC 4340 §11.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Drops {
    /// Drop Code 0, Protocol Constraints.
    pub protocol: u32,
    /// Drop Code 1, Application Not Listening.
    pub not_listening: u32,
    /// Drop Code 2, Receive Buffer.
    pub receive_buffer: u32,
    /// Drop Codes 3, 7 and the reserved 4–6: treated like a CE mark.
    pub corrupt: u32,
}

/// The news of one acknowledgement, made once in `conn/in_flight.rs`. It counts data packets that this
/// acknowledgement reports for the first time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Feedback<'a> {
    /// Sequence number of the packet that carried the acknowledgement.
    pub seq: Seq,
    /// Its Acknowledgement Number.
    pub ack: Seq,
    /// Received without a mark (state 0).
    pub acked: Count,
    /// Received with a CE mark (state 1).
    pub marked: Count,
    /// Inferred lost.
    pub lost: Count,
    /// The greatest sequence number among the newly lost, newly marked and corrupt ones: it starts
    /// a new congestion event only if it was sent after the last one was detected (4341-5-6).
    pub congestion: Option<Seq>,
    /// Drops at the peer's host.
    pub drops: Drops,
    /// The peer sent Slow Receiver (RFC 4340 §11.6).
    pub slow_receiver: bool,
    /// A round-trip sample, less the peer's Elapsed Time; absent if nothing new was acknowledged.
    pub rtt: Option<Duration>,
    /// When the packet that `ack` names left, if it is still known.
    pub ack_sent_at: Option<Instant>,
    /// CCVal of the packet that `ack` names, if it was a data packet and is still known.
    pub ack_ccval: Option<u8>,
    /// Data packets in flight after this acknowledgement.
    pub pipe: u32,
    /// The highest number of data packets in flight since the last acknowledgement.
    pub pipe_max: u32,
    /// How fast data was delivered, if this acknowledgement gives a sample.
    pub delivered_rate: Option<Rate>,
    /// The sender ran out of data in the interval that `delivered_rate` covers.
    pub is_app_limited: bool,
    /// Round trips since the connection began.
    pub round: u64,
    /// Acknowledgements of the peer that were lost or marked on the way here (4341-6.1.1-1).
    pub acks_lost: u32,
    /// How many bytes of application data a mean packet has had lately.
    pub mean_size: usize,
    /// Greatest sequence number sent so far.
    pub gss: Seq,
    /// Options of the packet, for those of the CCID.
    pub options: Options<'a>,
    /// Elapsed Time of the packet, if it had the option or a Timestamp Echo with one.
    pub elapsed: Option<Duration>,
}

/// A request of a controller to its connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// Acknowledge the peer's acknowledgements with the next packet (4341-6.2-1).
    SendAck,
    /// Negotiate a new value of a feature at this end.
    Change {
        /// Feature number.
        feature: u8,
        /// Wanted value.
        value: u64,
    },
    /// Reset the connection with this code, 128–255.
    Reset(u8),
    /// Reset the connection with Option Error: type, length and first byte of the bad option
    /// (6323-3.3-2).
    OptionError([u8; 3]),
}

/// The state of a controller, for display. A CCID leaves fields that it lacks `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// The law that governs the window.
    pub law: Option<&'static str>,
    /// Congestion window in packets.
    pub cwnd_packets: Option<f64>,
    /// Slow-start threshold in packets; `None` also while unlimited.
    pub ssthresh_packets: Option<f64>,
    /// Allowed sending rate, or pacing rate.
    pub rate: Option<Rate>,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// Retransmission or nofeedback timeout.
    pub rto: Option<Duration>,
    /// Loss event rate.
    pub loss_event_rate: Option<f64>,
    /// Congestion events that were answered; at a receiver those that it found.
    pub loss_events: Option<u64>,
    /// Data packets that are missing among those that arrived (receiver).
    pub missing: Option<u64>,
    /// The receive rate of the last feedback, or measured (receiver).
    pub receive_rate: Option<Rate>,
    /// `slow_start`, `avoid`, …
    pub phase: Option<&'static str>,
    /// Inner values of the law by name.
    pub inner: Vec<(&'static str, f64)>,
}

/// The sending half of a CCID. It must not panic: a panic ends the engine with all its connections.
pub trait HcSender: Send {
    /// Returns whether data packets may leave now, with `pipe` in flight, and how many. The connection also keeps them
    /// back while three quarters of the Sequence Window are not acknowledged (4340-7.5.2-3).
    fn permit(&self, now: Instant, pipe: u32) -> Permit;

    /// Returns whether a datagram of `len` bytes may leave now, after [`permit`](Self::permit) has allowed a packet. The
    /// question comes before the datagram gets a sequence number, once for each run. A controller that counts
    /// datagrams permits one packet at a time. [`on_sent`](Self::on_sent) accounts for those that leave. Of datagrams that
    /// exceed a limit those leave with a priority (`is_important`).
    fn admits(&mut self, _now: Instant, _len: usize, _is_important: bool) -> Admission {
        Admission::Send
    }

    /// Data waits because three quarters of the Sequence Window are not acknowledged.
    fn on_blocked(&mut self, _now: Instant) {}

    /// Takes the number of packets that this host failed to send, although they have sequence numbers.
    fn on_send_failed(&mut self, _packets: u32) {}

    /// Returns the next notice for the application, until there is none.
    fn poll_notice(&mut self) -> Option<SendCode> {
        None
    }

    /// Returns the result of a send at this time, from a controller that reports it.
    fn send_code(&self, _now: Instant) -> Option<SendCode> {
        None
    }

    /// Returns the time before which no other connection to the peer may begin, after a trip of a circuit breaker. It can be
    /// in the past.
    fn hold_off(&self) -> Option<Instant> {
        None
    }

    /// Returns how many bytes of options [`prepare`](Self::prepare) would add now.
    fn data_options_len(&self) -> usize {
        0
    }

    /// Returns how many packets leave in a round trip at the current window or rate, if known. Sequence
    /// Window follows it (4340-7.5.2-2).
    fn packets_per_rtt(&self) -> Option<f64>;

    /// Adds options to the data packets of the next run and returns their CCVal (4340-5.1-3). The
    /// application can still withdraw the data, so only [`on_sent`](Self::on_sent) accounts for them.
    fn prepare(&mut self, now: Instant, options: &mut OptionWriter) -> u8;

    /// Accounts for data packets that have left. A run has the same effect as runs of its single packets.
    fn on_sent(&mut self, run: &Run);

    /// Handles an acknowledgement.
    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>);

    /// Returns when [`on_timeout`](Self::on_timeout) is due. After that call the time must be later than its `now`.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Handles the time of [`poll_timeout`](Self::poll_timeout). Returns true if all packets in flight count as lost from
    /// now on, as after CCID 2's RTO.
    fn on_timeout(&mut self, now: Instant) -> bool;

    /// Returns whether the time of [`poll_timeout`](Self::poll_timeout) means that feedback is overdue. Otherwise it ends a
    /// measurement, which no counter of timeouts counts.
    fn is_overdue(&self, _now: Instant) -> bool {
        true
    }

    /// Returns the next request to the connection, until there is none.
    fn poll_signal(&mut self) -> Option<Signal>;

    /// Takes the round-trip time of the handshake, or another measured before any acknowledgement of data.
    fn on_rtt_hint(&mut self, now: Instant, rtt: Duration);

    /// Takes a new maximum packet size in bytes of application data.
    fn on_mps(&mut self, mps: usize);

    /// Adds the options that a Sync or `SyncAck` must carry (6323-3.3-1).
    fn on_send_sync(&mut self, _options: &mut OptionWriter) {}

    /// Takes the new value of a feature of this half-connection.
    fn on_feature(&mut self, _feature: u8, _value: u64) {}

    /// Returns the state for display.
    fn snapshot(&self) -> Snapshot;
}

/// A valid packet that arrived, as the input of an [`HcReceiver`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Arrival<'a> {
    /// When it arrived.
    pub now: Instant,
    /// Its sequence number.
    pub seq: Seq,
    /// CCVal.
    pub ccval: u8,
    /// ECN field; CE also for data that was dropped as corrupt (4340-11.7.2-4).
    pub ecn: Ecn,
    /// Its type.
    pub packet_type: PacketType,
    /// Whether it is a Data or DataAck packet (or a Request or Response with data).
    pub is_data: bool,
    /// Bytes of application data.
    pub payload_len: usize,
    /// Its sequence number had 24 bits on the wire (RFC 4340 §7.6).
    pub is_short: bool,
    /// NDP Count, if the packet had the option (RFC 4340 §7.7).
    pub ndp_count: Option<u64>,
    /// Our estimate of the round-trip time, if there is one.
    pub rtt: Option<Duration>,
    /// Options of the packet, for those of the CCID.
    pub options: Options<'a>,
}

/// When an acknowledgement is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckDue {
    /// None is due.
    No,
    /// At this time, later than now, if none has left before.
    At(Instant),
    /// It is due now.
    Now,
}

impl AckDue {
    /// Returns when an acknowledgement is due whose deadline is `at`.
    pub fn at(at: Instant, now: Instant) -> Self {
        if at <= now { Self::Now } else { Self::At(at) }
    }
}

/// An acknowledgement (Ack or `DataAck`) that is about to leave.
#[derive(Debug)]
pub struct OutgoingAck<'a> {
    /// When it leaves.
    pub now: Instant,
    /// Its sequence number.
    pub seq: Seq,
    /// Its Acknowledgement Number.
    pub ack: Seq,
    /// It carries application data too.
    pub has_data: bool,
    /// The options of the packet so far. The CCID appends its own.
    pub options: &'a mut OptionWriter,
}

/// The totals of buffers that a host has dropped before DCCP could process them, of all flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostDrops {
    /// In the receive buffer of the socket. A buffer can hold several datagrams that the kernel has merged (GRO).
    pub in_socket: u64,
    /// In the backlog of a processor or the ring of an interface: a packet each.
    pub below: u64,
}

impl HostDrops {
    /// Both.
    pub const fn sum(self) -> u64 {
        self.in_socket.saturating_add(self.below)
    }
}

/// The wish of receivers for the total of packets that their host dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum HostLossWish {
    /// It is not used.
    #[default]
    None,
    /// From time to time, so that a step is not attributed to losses long after.
    Regular,
    /// Before the next acknowledgement, because packets are missing.
    Now,
}

/// The receiving half of a CCID.
pub trait HcReceiver: Send {
    /// Handles a valid packet.
    fn on_packet(&mut self, p: &Arrival<'_>);

    /// Returns when an acknowledgement is due.
    fn ack_due(&self, now: Instant) -> AckDue;

    /// Returns the most bytes of options that [`on_ack`](Self::on_ack) would add now.
    fn ack_options_len(&self, now: Instant) -> usize;

    /// Adds the CCID's options to an acknowledgement that leaves, and accounts for it. Returns false, with nothing
    /// written, if the options do not fit and the acknowledgement must go alone.
    fn on_ack(&mut self, ack: &mut OutgoingAck<'_>) -> bool;

    /// Returns true if acknowledgements must carry Elapsed Time (4342-8.2-1).
    fn wants_elapsed_time(&self) -> bool {
        false
    }

    /// Takes the totals of what this host has dropped. The call comes before the packets of each buffer, and before
    /// acknowledgements leave.
    fn on_host_losses(&mut self, _total: HostDrops) {}

    /// Returns whether and when that total is wanted again.
    fn host_loss_wish(&self) -> HostLossWish {
        HostLossWish::None
    }

    /// Returns a notice for the application, if one waits.
    fn poll_shortfall(&mut self) -> Option<Shortfall> {
        None
    }

    /// The peer has sent nothing after `newest`: a later packet that [`on_packet`](Self::on_packet) took was forged.
    fn on_rollback(&mut self, _newest: Seq) {}

    /// Returns the next request to the connection, until there is none. Receivers request
    /// [`Signal::OptionError`] only.
    fn poll_signal(&mut self) -> Option<Signal> {
        None
    }

    /// Takes the new value of a feature of this half-connection.
    fn on_feature(&mut self, _feature: u8, _value: u64) {}

    /// Returns the state for display.
    fn snapshot(&self) -> Snapshot;
}

#[cfg(test)]
mod tests;
