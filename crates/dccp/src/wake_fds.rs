//! Unix sockets that let applications in other processes wake the engine.

use crate::names::ConnRef;
use dccp_io::{Poller, Ready, Token};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Tokens of wake-up descriptors have this bit; those of ports are numbers from 0 on.
const WAKE_FD: usize = 1 << (usize::BITS - 2);

/// The watched descriptors, each with its connection.
#[derive(Debug, Default)]
pub(crate) struct WakeFds {
    watched: BTreeMap<usize, (ConnRef, OwnedFd)>,
    next: usize,
}

impl WakeFds {
    /// Starts to watch a descriptor for a connection.
    pub(crate) fn watch(
        &mut self,
        poller: &mut Poller,
        conn: ConnRef,
        fd: OwnedFd,
    ) -> io::Result<()> {
        let token = WAKE_FD | self.next;
        poller.add(fd.as_fd(), Token(token))?;
        self.next = (self.next + 1) % WAKE_FD;
        self.watched.insert(token, (conn, fd));
        Ok(())
    }

    /// Stops to watch that of a connection.
    pub(crate) fn unwatch(&mut self, poller: &mut Poller, conn: ConnRef) {
        let mut watched = self.watched.iter();
        let found = watched.find_map(|(token, (of, _))| (*of == conn).then_some(*token));
        if let Some(token) = found {
            self.remove(poller, token);
        }
    }

    /// The poller's names of all that are watched.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = Token> {
        self.watched.keys().map(|token| Token(*token))
    }

    /// The connection whose descriptor is ready, if it is one of these. One call empties the socket, so that many wake-ups
    /// cost one turn.
    pub(crate) fn on_ready(&mut self, poller: &mut Poller, ready: &Ready) -> Option<ConnRef> {
        let (conn, fd) = self.watched.get(&ready.token.0)?;
        let conn = *conn;
        if !drain(fd) {
            // The other process has gone; its server notices by the message channel.
            self.remove(poller, ready.token.0);
        }
        Some(conn)
    }

    fn remove(&mut self, poller: &mut Poller, token: usize) {
        if let Some((_, fd)) = self.watched.remove(&token) {
            // It fails only for a descriptor that the poller does not have.
            let _ = poller.remove(fd.as_fd());
        }
    }
}

/// Reads what has arrived; `false`: the other end is closed.
fn drain(fd: &OwnedFd) -> bool {
    let mut bytes = [0; 256];
    match rustix::net::recv(fd, &mut bytes, RecvFlags::DONTWAIT) {
        Ok((_, n)) => n > 0,
        // After a lack of memory, the descriptor stays readable.
        Err(Errno::AGAIN | Errno::INTR | Errno::NOMEM | Errno::NOBUFS) => true,
        Err(_) => false,
    }
}
