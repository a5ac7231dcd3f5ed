//! Packet rings before connections: the application can change its mind until a datagram leaves.

mod fate;
pub(crate) mod inbox;
#[cfg(target_os = "linux")]
pub(crate) mod lend;
pub(crate) mod outbox;

pub use fate::RingFate;

use crate::clock;
use crate::engine::Request;
use crate::error::{RecvError, SendError};
use crate::patience::Patience;
#[cfg(feature = "tokio")]
use crate::shared::{Side, State};
use crate::socket::Socket;
use core::time::Duration;
use dccp_proto::queue::Delivery;
use dccp_ring::{Bell, Receiver, Sender, Shape, ShapeError, Transport};
use inbox::{RingInbox, delivery};
use outbox::RingOutbox;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A socket whose datagrams wait in a packet ring, where they can still be revised, withdrawn and put
/// into another order, without a system call and without a lock. What is claimed leaves at once. What arrives is
/// received through the ring, too; what finds no room there is dropped, and the peer is told (Drop Code 2).
///
/// Events and the end of the connection are the [`socket`](Self::socket)'s, whose `ready` and `ready_fd` do not
/// tell of the ring. What is sent by its own calls leaves before what waits in the ring.
#[derive(Debug)]
pub struct RingSocket {
    socket: Socket,
    sender: Sender,
    receiver: Receiver,
    parker: Arc<Parker>,
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
        #[cfg(feature = "tokio")]
        {
            socket.shared().lock().parker = Some(parker.clone());
        }
        Ok(Self {
            socket,
            sender: app.sender,
            receiver: app.receiver,
            parker,
        })
    }

    /// The connection.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The ring: pushes datagrams and changes those that wait. Deadlines are those of
    /// [`clock::now`](crate::clock::now), in nanoseconds.
    pub fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Copies the next datagram into `buf` and returns its length, which is more than `buf.len()` if its end
    /// did not fit and is lost; waits as long as the socket's options allow. What waits is taken without a lock.
    ///
    /// # Errors
    /// When there is none (in time), or the connection is over and all data have been handed out.
    pub fn recv(&mut self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).map(|(len, _)| len)
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_meta(&mut self, buf: &mut [u8]) -> Result<(usize, Delivery), RecvError> {
        if let Some(found) = self.take(buf) {
            return Ok(found);
        }
        let mut waiting = self.socket.recv_patience().begin();
        loop {
            if let Some(found) = self.try_recv(buf) {
                return found;
            }
            self.parker.park(waiting.left()?);
        }
    }

    /// The next datagram, or why there will be none. Otherwise the bell rings when this changes.
    pub(crate) fn try_recv(
        &mut self,
        buf: &mut [u8],
    ) -> Option<Result<(usize, Delivery), RecvError>> {
        // Asked first: what is over has brought everything.
        let over = self.socket.shared().lock().recv_over();
        let is_empty = self.receiver.prepare_to_sleep();
        if is_empty != Ok(true)
            && let Some(found) = self.take(buf)
        {
            return Some(Ok(found));
        }
        over.map(Err)
    }

    fn take(&mut self, buf: &mut [u8]) -> Option<(usize, Delivery)> {
        let found = self.receiver.recv(buf);
        debug_assert!(found.is_ok(), "the engine keeps the rules");
        let (len, arrival) = found.ok()??;
        Some((len, delivery(arrival)))
    }

    /// Appends the fates that are known to `fates`, at most `at_most`, without waiting.
    pub fn recv_fates(&mut self, fates: &mut Vec<RingFate>, at_most: usize) {
        self.sweep_if_ended();
        let each = |report| fates.extend(RingFate::of(report));
        let heard = self.sender.fates(at_most, each);
        debug_assert!(heard.is_ok(), "the engine keeps the rules");
    }

    /// Waits until there is room, as long as the socket's options allow.
    ///
    /// # Errors
    /// When there is none (in time), or sending is over.
    pub fn wait_for_room(&mut self) -> Result<(), SendError> {
        let mut waiting = self.socket.send_patience().begin();
        loop {
            if let Some(found) = self.try_room() {
                return found;
            }
            self.parker.park(waiting.left()?);
        }
    }

    /// Whether there is room, or why there will be none. Otherwise the bell rings when this changes.
    pub(crate) fn try_room(&mut self) -> Option<Result<(), SendError>> {
        let over = self.socket.shared().lock().sending_over();
        if let Some(error) = over {
            return Some(Err(error));
        }
        let has_room = self.sender.prepare_to_wait_for_room() == Ok(false);
        has_room.then_some(Ok(()))
    }

    /// Waits until there are fates, at most so long; whether there are.
    pub fn wait_for_fates(&mut self, at_most: Duration) -> bool {
        let mut waiting = Patience::For(at_most).begin();
        loop {
            if let Some(found) = self.try_fates() {
                return found;
            }
            match waiting.left() {
                Ok(left) => self.parker.park(left),
                Err(_) => return false,
            }
        }
    }

    /// Whether there are fates, or never will be. Otherwise the bell rings when this changes.
    pub(crate) fn try_fates(&mut self) -> Option<bool> {
        // Asked first: what has ended has told all fates.
        let is_ended = self.sweep_if_ended();
        let has_fates = self.sender.prepare_to_wait_for_fates() == Ok(false);
        (has_fates || is_ended).then_some(has_fates)
    }

    /// Waits, as a task, until the bell rings, or the connection or sending is over.
    #[cfg(feature = "tokio")]
    pub(crate) async fn rung(&self, side: Side) {
        let is_rung = |state: &mut State| {
            let is_over = match side {
                Side::Recv => state.is_ended(),
                Side::Send => state.sending_over().is_some(),
            };
            (self.parker.take() || is_over).then_some(())
        };
        self.socket.shared().until(side, is_rung).await;
    }
}

impl RingSocket {
    /// What was pushed after the connection's end, or was being changed just then, does not leave either.
    /// Returns whether the connection has ended.
    fn sweep_if_ended(&self) -> bool {
        let mut state = self.socket.shared().lock();
        let is_ended = state.is_ended();
        if is_ended && let Some(ring) = &mut state.ring {
            ring.end(clock::now());
        }
        is_ended
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

/// Where the application's thread sleeps. A task sleeps with those of the connection, and is woken where nothing is
/// locked: after the turn of the engine in which the bell has rung.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    is_rung: Mutex<bool>,
    condvar: Condvar,
}

impl Parker {
    /// Sleeps until the bell rings, or has rung since the last time; at most so long.
    fn park(&self, at_most: Option<Duration>) {
        let lock = self.is_rung.lock().unwrap_or_else(PoisonError::into_inner);
        let is_silent = |is_rung: &mut bool| !*is_rung;
        let mut is_rung = if let Some(time) = at_most {
            let waited = self.condvar.wait_timeout_while(lock, time, is_silent);
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            let waited = self.condvar.wait_while(lock, is_silent);
            waited.unwrap_or_else(PoisonError::into_inner)
        };
        *is_rung = false;
    }
}

#[cfg(feature = "tokio")]
impl Parker {
    /// Whether the bell has rung, and nobody has heard it yet.
    pub(crate) fn is_rung(&self) -> bool {
        *self.is_rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, and now somebody has.
    fn take(&self) -> bool {
        core::mem::take(&mut *self.is_rung.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Bell for Parker {
    fn ring(&self) {
        *self.is_rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condvar.notify_all();
    }
}
