//! Packet rings before connections: the application can change its mind until a datagram leaves.

pub(crate) mod ends;
mod fate;
pub(crate) mod inbox;
pub(crate) mod outbox;
pub(crate) mod parker;

pub use fate::RingFate;

use crate::error::{RecvError, SendError};
use crate::patience::Patience;
use crate::recv_buffer::RecvMeta;
use crate::request::Request;
use crate::socket::Socket;
use core::time::Duration;
use dccp_ring::{Bell, Sender, Shape, ShapeError, Transport};
use ends::{RecvEnd, SendEnd};
use inbox::RingInbox;
use outbox::RingOutbox;
use parker::{Ear, Parker};
use std::sync::Arc;

/// A socket whose datagrams are queued in a packet ring, where they can still be revised, withdrawn and reordered, without a
/// system call and without a lock. A claimed datagram leaves at once. Arriving datagrams go through the ring, too; those
/// that find no room are dropped and reported to the peer (Drop Code 2).
///
/// Events and the end of the connection are the [`socket`](Self::socket)'s, whose `ready` and `ready_fd` do not
/// cover the ring. Datagrams of its own calls leave before those in the ring.
#[derive(Debug)]
pub struct RingSocket {
    pub(crate) send: SendEnd,
    pub(crate) recv: RecvEnd,
}

impl RingSocket {
    /// Gives a socket a ring. Datagrams that it has received before move into the ring, as far as they find room.
    ///
    /// # Errors
    /// When a ring cannot have this shape.
    pub fn new(socket: Socket, shape: Shape) -> Result<Self, ShapeError> {
        let parker = Arc::new(Parker::default());
        let calls = socket.calls();
        let engine_bell = Arc::new(move || calls.call(Request::DataReady));
        let (app, transport) = dccp_ring::in_process(shape, parker.clone(), engine_bell)?;
        attach(&socket, transport, parker.clone());
        let ear = Ear::new(parker);
        #[cfg(feature = "tokio")]
        {
            socket.shared().lock().ear = Some(ear.clone());
        }
        let socket = Arc::new(socket);
        Ok(Self {
            send: SendEnd::new(socket.clone(), app.sender, ear.clone()),
            recv: RecvEnd::new(socket, app.receiver, ear),
        })
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        self.send.socket()
    }

    /// The ring: pushes datagrams and changes those that wait. Deadlines are those of
    /// [`clock::now`](crate::clock::now), in nanoseconds.
    pub fn sender(&mut self) -> &mut Sender {
        self.send.sender()
    }

    /// Copies the next datagram into `buf` and returns the number of bytes copied; waits as long as the socket's options
    /// allow. A datagram that is there is taken without a lock.
    ///
    /// # Errors
    /// When there is none (in time), or the connection is over and all data have been handed out.
    pub fn recv(&mut self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).map(|meta| meta.len)
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_meta(&mut self, buf: &mut [u8]) -> Result<RecvMeta, RecvError> {
        if let Some(found) = self.recv.take(buf) {
            return Ok(found);
        }
        let mut waiting = self.socket().recv_patience().begin();
        loop {
            if let Some(found) = self.recv.try_recv(buf) {
                return found;
            }
            self.recv.ear.listen(waiting.left()?);
        }
    }

    /// Appends the fates that are known to `fates`, at most `at_most`, without waiting.
    pub fn recv_fates(&mut self, fates: &mut Vec<RingFate>, at_most: usize) {
        self.send.take_fates(fates, at_most);
    }

    /// Waits until there is room, as long as the socket's options allow.
    ///
    /// # Errors
    /// When there is none (in time), or sending is over.
    pub fn wait_for_room(&mut self) -> Result<(), SendError> {
        let mut waiting = self.socket().send_patience().begin();
        loop {
            if let Some(found) = self.send.try_room() {
                return found;
            }
            self.send.ear.listen(waiting.left()?);
        }
    }

    /// Waits until there are fates, at most for `at_most`; returns whether there are.
    pub fn wait_for_fates(&mut self, at_most: Duration) -> bool {
        let mut waiting = Patience::For(at_most).begin();
        loop {
            if let Some(found) = self.send.try_fates() {
                return found;
            }
            match waiting.left() {
                Ok(left) => self.send.ear.listen(left),
                Err(_) => return false,
            }
        }
    }
}

/// Puts a ring between a connection and its application.
fn attach(socket: &Socket, transport: Transport, app_bell: Arc<dyn Bell>) {
    let outbox = RingOutbox::new(transport.source, socket.calls(), app_bell);
    let inbox = RingInbox::new(transport.sink, socket.calls());
    let mut state = socket.shared().lock();
    state.ring = Some(Box::new(outbox));
    state.rx.divert(inbox);
    drop(state);
    // From its first look on the engine announces when it stops looking.
    socket.calls().call(Request::DataReady);
}

/// Puts a ring between a connection and an application in another process, which wakes the engine by bytes that arrive at
/// `wake_fd`, a Unix socket.
#[cfg(all(target_os = "linux", feature = "unstable"))]
pub fn attach_ring(
    socket: &Socket,
    transport: Transport,
    app_bell: Arc<dyn Bell>,
    wake_fd: std::os::fd::OwnedFd,
) {
    attach(socket, transport, app_bell);
    socket.command(|conn| crate::command::Command::WatchFd(conn, wake_fd));
}

/// Stops to watch the descriptor of [`attach_ring`].
#[cfg(all(target_os = "linux", feature = "unstable"))]
pub fn detach_ring(socket: &Socket) {
    socket.command(crate::command::Command::UnwatchFd);
}

/// The fate that a report in a ring stands for; `None`: the report is invalid.
#[cfg(feature = "unstable")]
pub fn ring_fate(report: dccp_ring::Report) -> Option<RingFate> {
    RingFate::of(report)
}

/// Reads the properties of a received datagram from a ring.
#[cfg(feature = "unstable")]
pub fn delivery(arrival: dccp_ring::Arrival) -> dccp_proto::queue::Delivery {
    inbox::delivery(arrival)
}
