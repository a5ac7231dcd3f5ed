//! A ring, and the connection behind it that an application of another process has.

use crate::channel::Doorbell;
use dccp::ReadyFd;
use dccp::Socket;
use dccp_ring::{Shape, Transport, shared};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A connection that an application was lent.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) socket: Socket,
    /// Readable while the connection has events. `None`: it has ended.
    pub(crate) events: Option<ReadyFd>,
    /// Bytes of its ring.
    pub(crate) memory: u64,
}

impl Drop for Lent {
    fn drop(&mut self) {
        dccp::unstable::detach_ring(&self.socket);
    }
}

/// A ring that no connection stands behind yet: what the engine gets of it.
pub(crate) struct Ring {
    transport: Transport,
    bell: Arc<Doorbell>,
    bytes: u64,
}

/// And what the application gets.
pub(crate) struct RingFds {
    memory: OwnedFd,
    bell: Doorbell,
}

impl RingFds {
    /// Both, in the order of sending.
    pub(crate) fn as_fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.memory.as_fd(), self.bell.as_fd()]
    }
}

/// The reason for refusing an application when no seat is left.
pub(crate) const FULL: &str = "too many applications have rings";

/// The memory and seats that the server can still lend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes for rings.
    pub(crate) memory: u64,
    /// The number of further applications.
    pub(crate) seats: usize,
}

impl Room {
    /// Checks that a ring of this shape fits the memory.
    ///
    /// # Errors
    /// Returns the reason if it does not.
    pub(crate) fn check(self, shape: Shape) -> Result<(), String> {
        let left = self.memory;
        match shape.bytes() {
            Ok(bytes) if bytes > left => Err(format!("a ring of {bytes} bytes: {left} are left")),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Makes a ring, or says in words why not.
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
    /// Puts it before a connection.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub(crate) fn lend(self, socket: Socket) -> io::Result<Lent> {
        let events = socket.ready_fd()?;
        let wake_fd = self.bell.as_fd().try_clone_to_owned()?;
        dccp::unstable::attach_ring(&socket, self.transport, self.bell, wake_fd);
        Ok(Lent {
            events: Some(events),
            socket,
            memory: self.bytes,
        })
    }
}
