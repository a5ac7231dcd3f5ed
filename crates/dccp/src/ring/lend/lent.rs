//! A ring, and the connection behind it that an application of another process has.

use super::channel::Doorbell;
use crate::engine::Command;
use crate::ring::attach;
use crate::signal::ReadyFd;
use crate::socket::Socket;
use dccp_ring::{Shape, Transport, shared};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// What an application was lent.
#[derive(Debug)]
pub(super) struct Lent {
    pub(super) socket: Socket,
    /// Readable while the connection has events. `None`: it has ended.
    pub(super) events: Option<ReadyFd>,
    /// Bytes of its ring.
    pub(super) memory: u64,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.socket.command(Command::Unwatch);
    }
}

/// A ring that no connection stands behind yet: what the engine gets of it.
pub(super) struct Ring {
    transport: Transport,
    bell: Arc<Doorbell>,
    bytes: u64,
}

/// And what the application gets.
pub(super) struct RingFds {
    memory: OwnedFd,
    bell: Doorbell,
}

impl RingFds {
    /// In the order in which they are sent.
    pub(super) fn as_fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.memory.as_fd(), self.bell.as_fd()]
    }
}

/// Says in words if a ring is larger than what is left, in bytes.
pub(super) fn check_room(shape: Shape, left: u64) -> Result<(), String> {
    match shape.bytes() {
        Ok(bytes) if bytes > left => Err(format!("a ring of {bytes} bytes: {left} are left")),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Makes a ring, or says in words why not.
pub(super) fn make_ring(shape: Shape) -> Result<(Ring, RingFds), String> {
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
    pub(super) fn lend(self, socket: Socket) -> io::Result<Lent> {
        let events = socket.ready_fd()?;
        attach(&socket, self.transport, self.bell.clone());
        socket.command(|conn| Command::Watch(conn, self.bell));
        Ok(Lent {
            events: Some(events),
            socket,
            memory: self.bytes,
        })
    }
}
