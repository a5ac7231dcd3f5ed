//! A ring for an application of another process, and the connection behind it.

use crate::caller::RingCaller;
use crate::channel::Doorbell;
use crate::inventory::{Entry, Inventory};
use dccp::ReadyFd;
use dccp::Socket;
use dccp_ring::{Shape, Transport, shared};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A connection that is lent to an application.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) socket: Arc<Socket>,
    /// A descriptor that is readable while the connection has events.
    pub(crate) events: ReadyFd,
    /// The connection has ended, and all its events are read.
    pub(crate) has_ended: bool,
    /// Its place in the server's list.
    pub(crate) entry: Entry,
    /// The size of its ring in bytes.
    pub(crate) memory: u64,
}

impl Drop for Lent {
    fn drop(&mut self) {
        dccp::unstable::detach_ring(&self.socket);
    }
}

/// The engine's side of a ring that has no connection yet.
pub(crate) struct Ring {
    transport: Transport,
    bell: Arc<Doorbell>,
    bytes: u64,
}

/// The application's side of a ring, as descriptors.
pub(crate) struct RingFds {
    memory: OwnedFd,
    bell: Doorbell,
}

impl RingFds {
    /// Returns both descriptors in the order of sending.
    pub(crate) fn as_fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.memory.as_fd(), self.bell.as_fd()]
    }
}

/// The reason for refusing an application when no seat is left.
pub(crate) const FULL: &str = "too many applications have rings";

/// The memory and seats that the server can still lend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The bytes left for rings.
    pub(crate) memory: u64,
    /// The number of applications that can still be served.
    pub(crate) seats: usize,
}

impl Room {
    /// Checks that a seat is left.
    ///
    /// # Errors
    /// Returns the reason if none is.
    pub(crate) fn check_seat(self) -> Result<(), String> {
        if self.seats == 0 {
            return Err(FULL.into());
        }
        Ok(())
    }

    /// Checks that a ring of this shape fits the memory.
    ///
    /// # Errors
    /// Returns the reason if it does not.
    pub(crate) fn check(self, shape: Shape) -> Result<(), String> {
        let left = self.memory;
        match shape.bytes() {
            Ok(bytes) if bytes > left => Err(format!(
                "a ring of {bytes} bytes: must be at most {left}, the memory left for all rings"
            )),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Makes a ring.
///
/// # Errors
/// Returns the reason if it cannot.
pub(crate) fn make_ring(shape: Shape) -> Result<(Ring, RingFds), String> {
    let bytes = shape.bytes().map_err(|error| error.to_string())?;
    let (bell, theirs) = Doorbell::pair().map_err(|error| error.to_string())?;
    let bell = Arc::new(bell);
    let (transport, memory) =
        shared::create(shape, bell.clone()).map_err(|error| error.to_string())?;
    let ring = Ring {
        transport,
        bell,
        bytes,
    };
    let fds = RingFds {
        memory,
        bell: theirs,
    };
    Ok((ring, fds))
}

impl Ring {
    /// Puts the ring before a connection.
    ///
    /// # Errors
    /// Fails if the system has no descriptor left.
    pub(crate) fn lend(
        self,
        socket: Socket,
        caller: RingCaller,
        inventory: &Inventory,
    ) -> io::Result<Lent> {
        let events = socket.ready_fd()?;
        let wake_fd = self.bell.as_fd().try_clone_to_owned()?;
        dccp::unstable::attach_ring(&socket, self.transport, self.bell, wake_fd);
        let socket = Arc::new(socket);
        Ok(Lent {
            events,
            has_ended: false,
            entry: inventory.add(caller, &socket),
            socket,
            memory: self.bytes,
        })
    }
}
