//! The seam to DCCP: a connection, as the rest of the host uses it.

use super::errors;
use crate::unix::DATAGRAM_MAX;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::unstable::io::Packets;
use dccp::{
    ConnSnapshot, DccpAddr, Options, Received as Datagram, RecvBatch, RecvError, SendItem, Socket,
    unstable,
};
use dccprun_message::Family;
use std::net::Shutdown;

/// Datagrams of one receive.
const BATCH: usize = 64;
/// How long a connection may take to end after the program has closed it.
const LINGER: Duration = Duration::from_secs(30);

/// A DCCP connection.
pub(super) struct Link {
    socket: Socket,
}

/// Memory for received datagrams.
pub(super) struct Received(RecvBatch);

impl Received {
    pub(super) fn new() -> Self {
        Self(RecvBatch::new(BATCH))
    }

    /// The datagrams of the last receive.
    pub(super) fn datagrams(&self) -> Vec<&[u8]> {
        self.0.iter().map(Datagram::bytes).collect()
    }
}

impl Link {
    /// Begins a handshake.
    ///
    /// # Errors
    /// The error number of a handshake that cannot begin.
    pub(super) fn connect(remote: DccpAddr, options: &Options) -> Result<Self, i32> {
        let options = options.clone().nonblocking(true);
        let socket = Socket::connect(remote, &options).map_err(errors::of_connect)?;
        socket.set_nonblocking(false);
        Ok(Self { socket })
    }

    /// A connection that a listener has accepted.
    pub(super) fn accepted(socket: Socket) -> Self {
        Self { socket }
    }

    /// Waits until the handshake has ended, at most for `at_most`; `None`: it still goes on.
    pub(super) fn wait_opened(&self, at_most: Duration) -> Option<Result<(), i32>> {
        let opened = unstable::wait_opened(&self.socket, at_most)?;
        // An ordinary end is none of a handshake.
        Some(opened.map_err(|reason| match errors::of_end(&reason) {
            0 => libc::ECONNRESET,
            error => error,
        }))
    }

    /// The address of this end, in the socket's family.
    pub(super) fn local(&self, family: Family) -> SocketAddr {
        in_family(family, self.socket.local_addr())
    }

    /// The address of the other end.
    pub(super) fn peer(&self, family: Family) -> SocketAddr {
        in_family(family, self.socket.peer_addr())
    }

    /// The greatest length of a datagram; `None` before the connection is open.
    pub(super) fn mps(&self) -> Option<u32> {
        let mps = self.socket.max_packet_size()?.min(DATAGRAM_MAX);
        u32::try_from(mps).ok()
    }

    /// The state of the connection; `None`: there is none any more.
    pub(super) fn snapshot(&self) -> Option<ConnSnapshot> {
        self.socket.snapshot().ok()
    }

    /// Sends datagrams, and waits for room. After the end of the connection they are lost, as in the kernel.
    pub(super) fn send(&self, packets: &Packets) {
        let mut items: Vec<SendItem<'_>> = packets.iter().map(SendItem::new).collect();
        // A datagram can be too long for the path although it was not when the program sent it: it is lost.
        let _ = self.socket.send_batch(&mut items);
    }

    /// Waits for datagrams, and receives those that are there.
    ///
    /// # Errors
    /// The error number of the connection's end; 0: an ordinary end.
    pub(super) fn recv(&self, received: &mut Received) -> Result<(), i32> {
        match self.socket.recv_batch(&mut received.0) {
            Ok(_) => Ok(()),
            Err(RecvError::Closed(reason)) => Err(errors::of_end(&reason)),
            // This end has closed.
            Err(_) => Err(0),
        }
    }

    /// Sends what is queued, closes, and waits for the end. A connection that does not end in time is aborted.
    pub(super) fn close(&self) {
        self.socket.shutdown(Shutdown::Write);
        if self.socket.wait_closed(LINGER).is_err() {
            self.socket.abort();
        }
    }

    /// Ends the connection by a Reset.
    pub(super) fn abort(&self) {
        self.socket.abort();
    }
}

/// An address as a socket of this family returns it.
fn in_family(family: Family, addr: DccpAddr) -> SocketAddr {
    let mut place = addr.udp_addr();
    place.set_port(addr.dccp_port);
    match (family, place) {
        (Family::V6, SocketAddr::V4(v4)) => {
            SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
        }
        (_, place) => place,
    }
}
