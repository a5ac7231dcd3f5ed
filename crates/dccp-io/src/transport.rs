//! The one interface of both encapsulations.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::io;
use std::net::SocketAddr;

use dccp_proto::IcmpError;
use dccp_proto::batch::Batch;
use dccp_proto::path::Path;
use dccp_proto::wire::{Datagram, Ecn};

use crate::buffer::RecvBuffer;
use crate::counters::Counters;

/// The protocol that carries DCCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Encapsulation {
    /// UDP (RFC 6773): works through NATs and without privileges.
    #[default]
    Udp,
    /// IP protocol 33 (RFC 4340): native; Linux, with the capability `CAP_NET_RAW`.
    Ip,
}

impl fmt::Display for Encapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Ip => "ip",
        })
    }
}

impl FromStr for Encapsulation {
    type Err = UnknownEncapsulation;

    fn from_str(s: &str) -> Result<Self, UnknownEncapsulation> {
        match s {
            "udp" => Ok(Self::Udp),
            "ip" => Ok(Self::Ip),
            _ => Err(UnknownEncapsulation),
        }
    }
}

/// The word is neither `udp` nor `ip`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownEncapsulation;

impl fmt::Display for UnknownEncapsulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("encapsulation: must be `udp` or `ip`")
    }
}

impl std::error::Error for UnknownEncapsulation {}

/// Settings of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Wanted receive buffer in bytes. The kernel may grant less ([`Transport::buffer_sizes`]).
    pub recv_buffer: usize,
    /// Wanted send buffer in bytes; `None` keeps the system's. It bounds what has left the
    /// transport and waits in the host, so larger is not better.
    pub send_buffer: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            recv_buffer: 4 << 20,
            send_buffer: None,
        }
    }
}

/// Buffers that the kernel granted, in the kernel's count of bytes (Linux counts its own overhead
/// too, and so grants the double).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferSizes {
    /// Receive buffer in bytes.
    pub recv: usize,
    /// Send buffer in bytes.
    pub send: usize,
}

/// How far a batch got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a batch that was blocked has to be sent again"]
pub struct Sent {
    /// The first datagram that still waits: the batch's length when the batch is done. When it is
    /// less, the socket has no room: keep the batch, wait until it is writable, send from here.
    pub next: usize,
    /// Datagrams that this call handled and the host refused: they are gone.
    pub dropped: Option<LocalDrop>,
}

impl Sent {
    /// Whether the batch is done.
    pub fn is_done(&self, batch: &Batch) -> bool {
        self.next >= batch.len()
    }
}

/// Datagrams that the host refused to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalDrop {
    /// Index of the first in the batch.
    pub first: usize,
    /// How many.
    pub datagrams: usize,
    /// Why the last of them was refused.
    pub reason: LocalDropReason,
}

/// Why the host refused a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocalDropReason {
    /// A queue of the host is full (`ENOBUFS`).
    QueueFull,
    /// Larger than the interface's MTU, and unfragmentable. The MTU is that of the IP packet in
    /// bytes, where the system tells it.
    TooBig {
        /// MTU in bytes.
        mtu: Option<u32>,
    },
    /// No route, or an address that is not this host's any more.
    Unreachable,
    /// A local firewall rule or policy.
    NotPermitted,
    /// Any other error, by the system's number.
    Other(i32),
}

/// Datagrams that the system gave as one: as a rule one, or those of a sender that it had merged.
#[derive(Clone, Debug)]
pub struct Received<'a> {
    /// Their addresses and encapsulation, seen from here.
    pub path: Path,
    /// The ECN field of their IP headers.
    pub ecn: Ecn,
    /// DCCP header and payload of each, in the order of arrival.
    pub datagrams: Datagrams<'a>,
    /// When the kernel got the first, since the Unix epoch, where the system tells.
    pub timestamp: Option<Duration>,
}

/// The datagrams of one [`Received`]: at least one.
#[derive(Clone, Debug)]
pub struct Datagrams<'a> {
    rest: Option<&'a [u8]>,
    len: usize,
}

impl<'a> Datagrams<'a> {
    /// One datagram.
    #[cfg(target_os = "linux")]
    pub(crate) const fn one(bytes: &'a [u8]) -> Self {
        let len = bytes.len();
        Self {
            rest: Some(bytes),
            len,
        }
    }

    /// Datagrams of `len` bytes one behind the other; the last may be shorter.
    pub(crate) const fn merged(bytes: &'a [u8], len: usize) -> Self {
        Self {
            rest: Some(bytes),
            len: if len == 0 { 1 } else { len },
        }
    }
}

impl<'a> Iterator for Datagrams<'a> {
    type Item = Datagram<'a>;

    fn next(&mut self) -> Option<Datagram<'a>> {
        let rest = self.rest.take()?;
        if rest.len() <= self.len {
            return Some(Datagram::new(rest));
        }
        let (first, others) = rest.split_at(self.len);
        self.rest = Some(others);
        Some(Datagram::new(first))
    }
}

/// Handle of a transport for a [`Poller`](crate::Poller).
#[cfg(target_os = "linux")]
pub type Source<'a> = std::os::fd::BorrowedFd<'a>;
/// Handle of a transport for a [`Poller`](crate::Poller).
#[cfg(not(target_os = "linux"))]
pub type Source<'a> = &'a mut dyn mio::event::Source;

/// One non-blocking socket that carries DCCP for one address family.
pub trait Transport: Send {
    /// Sends the datagrams of `batch` from the one with index `from` on, in as few calls to the
    /// system as it permits.
    ///
    /// The batch's path must be of this socket. An error about one peer never fails
    /// the socket: the result reports it, and it is counted.
    fn send(&mut self, batch: &Batch, from: usize) -> Sent;

    /// Gives the datagrams of one receive call to `sink`, those that the system had merged together.
    /// Returns whether another call may find more. If not, nothing waits until the [`Poller`](crate::Poller) reports the
    /// socket as readable.
    ///
    /// # Errors
    /// When the host has no memory, or the socket itself is broken; never because of an ICMP message.
    fn recv(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> io::Result<bool>;

    /// Gives the ICMP errors that wait to `sink`, some dozens at most; returns how many entries of
    /// the error queue it read. Systems without such a queue have nothing to give.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    fn recv_errors(
        &mut self,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> io::Result<usize>;

    /// Whether the system reports ICMP errors. A transport stops the reports by itself when its calls fail because of
    /// them (4340-18-10). It never starts them again by itself.
    fn reports_icmp(&self) -> bool;

    /// Starts or stops the system's reports of ICMP errors. Stopping discards those that wait. Systems without a queue
    /// of errors ignore it.
    fn report_icmp(&mut self, on: bool);

    /// The counters at this moment.
    fn counters(&mut self) -> Counters;

    /// The bound address and UDP port; over IP the port is 0.
    fn local_addr(&self) -> SocketAddr;

    /// How many datagrams one call to the system can take: what a [`Batch`] should hold at most.
    fn segments_max(&self) -> usize;

    /// The buffers that the system granted.
    ///
    /// # Errors
    /// When the system does not tell.
    fn buffer_sizes(&self) -> io::Result<BufferSizes>;

    /// Whether the system tells the ECN marks of what is received. If not, this end must
    /// announce that it is not ECN-capable (4340-12.1-3).
    fn reads_ecn(&self) -> bool;

    /// The handle for a poller.
    fn source(&mut self) -> Source<'_>;
}
