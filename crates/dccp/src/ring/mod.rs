//! Packet rings before connections: the application can change its mind until a datagram leaves.

pub(crate) mod ends;
mod fate;
pub(crate) mod inbox;
#[cfg(target_os = "linux")]
pub(crate) mod lend;
pub(crate) mod outbox;
pub(crate) mod parker;

pub use fate::RingFate;

use crate::engine::Request;
use crate::error::{RecvError, SendError};
use crate::patience::Patience;
use crate::recv_buffer::RecvMeta;
use crate::socket::Socket;
use core::time::Duration;
use dccp_ring::{Bell, Sender, Shape, ShapeError, Transport};
use ends::{RecvEnd, SendEnd};
use inbox::RingInbox;
use outbox::RingOutbox;
use parker::{Ear, Parker};
use std::sync::Arc;

/// A socket whose datagrams wait in a packet ring, where they can still be revised, withdrawn and put
/// into another order, without a system call and without a lock. What is claimed leaves at once. What arrives is
/// received through the ring, too; what finds no room there is dropped, and the peer is told (Drop Code 2).
///
/// Events and the end of the connection are the [`socket`](Self::socket)'s, whose `ready` and `ready_fd` do not
/// tell of the ring. What is sent by its own calls leaves before what waits in the ring.
#[derive(Debug)]
pub struct RingSocket {
    pub(crate) send: SendEnd,
    pub(crate) recv: RecvEnd,
}

impl RingSocket {
    /// Gives a socket a ring. What it has received before moves into the ring, as much as finds room.
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

    /// Waits until there are fates, at most so long; whether there are.
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

/// Puts a ring before a connection.
pub(crate) fn attach(socket: &Socket, transport: Transport, app_bell: Arc<dyn Bell>) {
    let outbox = RingOutbox::new(transport.source, socket.calls(), app_bell);
    let inbox = RingInbox::new(transport.sink, socket.calls());
    let mut state = socket.shared().lock();
    state.ring = Some(Box::new(outbox));
    state.rx.divert(inbox);
    drop(state);
    // From its first look on the engine says when it does not look.
    socket.calls().call(Request::DataReady);
}
