//! Sending through a packet ring: the application can change its mind until a datagram leaves.

mod fate;
pub(crate) mod outbox;

pub use fate::RingFate;

use crate::clock;
use crate::engine::Request;
use crate::error::SendError;
use crate::patience::Patience;
use crate::socket::Socket;
use core::time::Duration;
use dccp_ring::{Bell, Sender, Shape, ShapeError};
use outbox::RingOutbox;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A socket whose datagrams wait in a packet ring, where they can still be revised, withdrawn and put
/// into another order, without a system call and without a lock. What is claimed leaves at once.
///
/// Receiving, events and the end of the connection are the [`socket`](Self::socket)'s. What is sent by
/// its own calls leaves before what waits in the ring.
#[derive(Debug)]
pub struct RingSocket {
    socket: Socket,
    sender: Sender,
    parker: Arc<Parker>,
}

impl RingSocket {
    /// Gives a socket a ring for `slots` datagrams (a power of two) of at most `slot_bytes` bytes.
    ///
    /// # Errors
    /// When a ring cannot have this shape.
    pub fn new(socket: Socket, slots: u32, slot_bytes: u32) -> Result<Self, ShapeError> {
        let shape = Shape {
            arrivals: 1,
            arrival_bytes: 0,
            ..Shape::new(slots, slot_bytes)
        };
        let parker = Arc::new(Parker::default());
        let calls = socket.calls();
        let engine_bell = Arc::new(move || calls.call(Request::DataReady));
        let (app, transport) = dccp_ring::in_process(shape, parker.clone(), engine_bell)?;
        let outbox = RingOutbox::new(transport.source, socket.calls(), parker.clone());
        socket.shared().lock().ring = Some(Box::new(outbox));
        // From its first look on the engine says when it does not look.
        socket.calls().call(Request::DataReady);
        Ok(Self {
            socket,
            sender: app.sender,
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
            let over = self.socket.shared().lock().sending_over();
            if let Some(error) = over {
                return Err(error);
            }
            if self.sender.prepare_to_wait_for_room() == Ok(false) {
                return Ok(());
            }
            self.parker.park(waiting.left()?);
        }
    }

    /// Waits until there are fates, at most so long; whether there are.
    pub fn wait_for_fates(&mut self, at_most: Duration) -> bool {
        let mut waiting = Patience::For(at_most).begin();
        loop {
            // Asked first: what has ended has told all fates.
            let is_ended = self.sweep_if_ended();
            if self.sender.prepare_to_wait_for_fates() == Ok(false) {
                return true;
            }
            match waiting.left() {
                Ok(left) if !is_ended => self.parker.park(left),
                _ => return false,
            }
        }
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

/// Where the application sleeps.
#[derive(Debug, Default)]
struct Parker {
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

impl Bell for Parker {
    fn ring(&self) {
        *self.is_rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condvar.notify_all();
    }
}
