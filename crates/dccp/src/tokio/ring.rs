//! Sockets with a packet ring before them, for tasks.

use super::{Socket, next_event};
use crate::error::{RecvError, SendError};
use crate::ring::RingFate;
use crate::shared::Side;
use ::tokio::task::coop;
use dccp_proto::Event;
use dccp_proto::queue::Delivery;
use dccp_ring::{Sender, Shape, ShapeError};

/// A socket whose datagrams wait in a packet ring, for tasks: see [`crate::RingSocket`].
///
/// What is pushed, changed and taken back needs no waiting, and is done with the [`sender`](Self::sender) as there.
/// Every future is cancel-safe.
#[derive(Debug)]
pub struct RingSocket {
    inner: crate::RingSocket,
}

impl From<crate::RingSocket> for RingSocket {
    /// A socket for threads becomes one for tasks: its own calls do not wait any more.
    fn from(inner: crate::RingSocket) -> Self {
        inner.socket().set_nonblocking(true);
        Self { inner }
    }
}

impl RingSocket {
    /// Gives a socket a ring, as [`crate::RingSocket::new`] does.
    ///
    /// # Errors
    /// When a ring cannot have this shape.
    pub fn new(socket: Socket, shape: Shape) -> Result<Self, ShapeError> {
        Ok(crate::RingSocket::new(socket.into_inner(), shape)?.into())
    }

    /// The ring: pushes datagrams and changes those that wait.
    pub fn sender(&mut self) -> &mut Sender {
        self.inner.sender()
    }

    /// Waits until there is room in the ring: then a push finds it.
    ///
    /// # Errors
    /// When sending is over.
    pub async fn wait_for_room(&mut self) -> Result<(), SendError> {
        coop::consume_budget().await;
        loop {
            if let Some(found) = self.inner.try_room() {
                return found;
            }
            self.inner.rung(Side::Send).await;
        }
    }

    /// Copies the next datagram into `buf` and returns its length, which is more than `buf.len()` if its end did
    /// not fit and is lost.
    ///
    /// # Errors
    /// When the connection is over and all data have been handed out.
    pub async fn recv(&mut self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).await.map(|(len, _)| len)
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_meta(&mut self, buf: &mut [u8]) -> Result<(usize, Delivery), RecvError> {
        coop::consume_budget().await;
        loop {
            if let Some(found) = self.inner.try_recv(buf) {
                return found;
            }
            self.inner.rung(Side::Recv).await;
        }
    }

    /// Appends the fates that are known to `fates`, at most `at_most`; waits for the first. Returns how many: none
    /// if the connection has ended and all have been told.
    pub async fn recv_fates(&mut self, fates: &mut Vec<RingFate>, at_most: usize) -> usize {
        coop::consume_budget().await;
        if at_most == 0 {
            return 0;
        }
        while self.inner.try_fates().is_none() {
            self.inner.rung(Side::Recv).await;
        }
        let before = fates.len();
        self.inner.recv_fates(fates, at_most);
        fates.len() - before
    }

    /// The next event of the connection; `None` if it has ended and all have been told.
    pub async fn event(&self) -> Option<Event> {
        next_event(self.inner.socket()).await
    }

    /// The connection: everything else that can be asked and set. No call of it waits for the network.
    pub fn get_ref(&self) -> &crate::Socket {
        self.inner.socket()
    }

    /// The socket for threads; its calls do not wait until it is told to.
    pub fn into_inner(self) -> crate::RingSocket {
        self.inner
    }
}
