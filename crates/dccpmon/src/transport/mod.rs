//! The protocols that carry the data of a flow. Senders, receivers and the meter use each of them in the same way.

pub(crate) mod dccp;
pub(crate) mod safeudp;
mod stamp;
pub(crate) mod tcp;
pub(crate) mod udp;

use crate::schema::{StampSource, TcpTotals};
use crate::wire::figures::{Buffers, Negotiated};
use ::dccp::safeudp::SendCode;
use ::dccp::{Instant, Socket};
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use safeudp::SafeUdpSample;
use socket2::SockRef;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The longest wait of [`Flow::send`] and [`Flow::recv`].
pub(crate) const LOOK: Duration = Duration::from_millis(100);
/// Datagrams handed over, or taken, in one call.
pub(crate) const BATCH: usize = 64;

/// One end of a flow's connection.
pub(crate) trait Flow: Send + Sync {
    /// Hands over datagrams, and waits at most [`LOOK`] for room. Returns how many were taken, from the first on.
    fn send(&self, run: &Run<'_>) -> Result<usize, FlowError>;
    /// Sends a datagram against the direction of the data, without waiting. It may get lost.
    fn reply(&self, datagram: &[u8]);
    /// Gives the datagrams that have arrived to `sink`, and waits at most [`LOOK`] for them.
    fn recv(&self, sink: Sink<'_>) -> Result<(), FlowError>;
    /// The source of the arrival times of received datagrams; `None` before the first.
    fn stamps(&self) -> Option<StampSource>;
    /// Whether receiving fails once the peer has ended the flow. Over UDP nothing tells.
    fn shows_end(&self) -> bool;
    /// The sender at this moment; `None` if the transport shows nothing.
    fn sample(&self) -> Option<Sample>;
    /// Gives the conclusions of CCID 248 since the last call. Other senders draw none.
    fn conclusions(&self, add: &mut dyn FnMut(SendCode));
    /// Whether the transport measures round trips. Where it does not, echoes do.
    fn shows_round_trips(&self) -> bool;
    /// Totals since the connection was opened; `None` if they can no more be read.
    fn counters(&self) -> Option<Counters>;
    /// Stores the times of the send queue from now on.
    fn store_queue_times(&self);
    /// Gives the time that each datagram waited in the send queue: of those that left and whose fate became known since
    /// the last call. A transport without a send queue gives none.
    fn queue_times(&self, add: &mut dyn FnMut(Duration));
    /// The features of the connection, of the time of the last [`sample`](Self::sample).
    fn negotiated(&self) -> Negotiated;
    /// Gives each protocol counter with its name.
    fn protocol_counters(&self, add: &mut dyn FnMut(String, u64));
    /// Whether no datagram waits to leave; waits at most [`LOOK`] for that. Those of a connection that ended wait no more.
    fn flush(&self) -> bool;
    /// Takes back datagrams that wait to leave; returns how many.
    fn withdraw(&self) -> u64;
    /// Whether nothing waits to leave or to be acknowledged.
    fn is_drained(&self) -> bool;
    /// Ends sending, after what waits.
    fn close(&self);
    /// Whether the connection has ended; waits for that until `until`.
    fn has_closed(&self, until: Instant) -> bool;
    /// Ends the connection at once.
    fn abort(&self);
    /// This end's address and the port of UDP or TCP; of DCCP over IP that of DCCP. `None` if it is not known.
    fn local_addr(&self) -> Option<SocketAddr>;
    /// Chooses the congestion control of TCP. Other transports choose theirs when they connect.
    fn set_congestion(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    /// Sets the kernel's buffers of the flow's socket, as far as the kernel permits. Flows that share one have none.
    fn set_buffers(&self, _bytes: u64) -> io::Result<()> {
        Ok(())
    }

    /// The kernel's buffers of the flow's socket.
    fn buffers(&self) -> Buffers;

    /// The DCCP socket; `None` if the transport has none, or if the flow is used elsewhere.
    fn into_socket(self: Arc<Self>) -> Option<Socket> {
        None
    }
}

/// Datagrams of one length in one piece of memory. Their heads are written.
pub(crate) struct Run<'a> {
    pub(crate) bytes: &'a [u8],
    /// Bytes of each datagram.
    pub(crate) length: usize,
}

impl<'a> Run<'a> {
    /// The datagrams.
    pub(crate) fn datagrams(&self) -> core::slice::ChunksExact<'a, u8> {
        self.bytes.chunks_exact(self.length)
    }
}

/// Takes the datagrams of one receive call.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(&mut dyn Iterator<Item = Packet<'_>>);

/// A datagram that arrived.
pub(crate) struct Packet<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) arrived: Instant,
    /// The time from its arrival to the program; `None` if the transport does not tell.
    pub(crate) waited: Option<Duration>,
    /// It carries a congestion mark.
    pub(crate) is_marked: bool,
}

/// The connection sends or receives no more.
#[derive(Clone, Debug)]
pub(crate) struct FlowError(pub(crate) String);

impl fmt::Display for FlowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A sender at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Sample {
    /// The newest round-trip time, and when it was measured.
    pub(crate) rtt: Option<(Instant, Duration)>,
    /// Nothing waits to be sent.
    pub(crate) is_idle: bool,
    /// The window has no room.
    pub(crate) is_window_full: bool,
    /// Data in flight takes most of DCCP's Sequence Window.
    pub(crate) is_sequence_window_full: bool,
    pub(crate) cwnd_packets: Option<f64>,
    pub(crate) ssthresh_packets: Option<f64>,
    /// The controller's rate.
    pub(crate) rate_bps: Option<f64>,
    /// The state of the congestion control.
    pub(crate) phase: Option<&'static str>,
    /// Of CCID 248 only.
    pub(crate) safe_udp: Option<SafeUdpSample>,
    /// Datagrams lost, or segments of TCP sent again, since the connection was opened.
    pub(crate) lost: u64,
    /// Segments of TCP sent again since the connection was opened.
    pub(crate) retransmitted: Option<u64>,
}

/// Totals of a connection since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counters {
    /// Datagrams taken for sending.
    pub(crate) taken: u64,
    /// Of these, left.
    pub(crate) left: u64,
    /// Of those taken, dropped by CCID 248: they have the fate `limited`.
    pub(crate) limited: u64,
    pub(crate) fates: Fates,
    /// Packets that this host dropped after they had left the connection; of all flows together if they share a
    /// transport.
    pub(crate) dropped_host: u64,
    /// Bytes of IP packets sent, headers included.
    pub(crate) wire_bytes: u64,
    /// Datagrams dropped because the program's receive buffer was full.
    pub(crate) dropped_socket: u64,
    /// Datagrams that reached the socket and were not read.
    pub(crate) unread: u64,
    /// Packets of all kinds that the connection sent.
    pub(crate) packets_sent: u64,
    /// Packets that the kernel dropped because its buffer was full; `None` where the system does not count them.
    pub(crate) dropped_kernel: Option<u64>,
    /// Whether `dropped_kernel` is a lower bound.
    pub(crate) is_dropped_kernel_least: bool,
    /// Of TCP only.
    pub(crate) tcp: Option<TcpTotals>,
}

/// The fates of datagrams that left, according to the peer's acknowledgements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fates {
    pub(crate) acked: u64,
    pub(crate) marked: u64,
    /// Reported as dropped by the peer's host.
    pub(crate) rx_dropped: u64,
    pub(crate) lost: u64,
    /// Never reported on.
    pub(crate) unreported: u64,
    /// Not reported on so far.
    pub(crate) in_flight: u64,
}

/// Sets both of a socket's buffers. The kernel grants at most its own limits.
fn set_buffers(socket: &SockRef<'_>, bytes: u64) -> io::Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    socket.set_recv_buffer_size(bytes)?;
    socket.set_send_buffer_size(bytes)
}

/// The sizes of a socket's buffers, and the largest ones of the system.
fn buffers(socket: &SockRef<'_>, max: [Option<u64>; 2]) -> Buffers {
    let [recv_max_bytes, send_max_bytes] = max;
    let bytes = |size: io::Result<usize>| size.ok().map(|size| size as u64);
    Buffers {
        recv_bytes: bytes(socket.recv_buffer_size()),
        send_bytes: bytes(socket.send_buffer_size()),
        recv_max_bytes,
        send_max_bytes,
    }
}

/// The last number of a kernel's parameter: of several, it is the largest.
fn last_number(name: &str) -> Option<u64> {
    dccp_host::sysctl(name)?
        .split(' ')
        .next_back()?
        .parse()
        .ok()
}

/// Whether a wait for data or for room ended without any.
fn is_time_out(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
