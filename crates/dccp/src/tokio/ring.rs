//! Sockets with a packet ring before them, for tasks.

use super::{Socket, next_event};
use crate::error::{RecvError, SendError};
use crate::recv_buffer::RecvMeta;
use crate::ring::RingFate;
use crate::ring::ends::{RecvEnd, SendEnd};
use ::tokio::task::coop;
use dccp_proto::Event;
use dccp_ring::{Sender, Shape, ShapeError};

/// A socket whose datagrams wait in a packet ring, for tasks: see [`crate::RingSocket`].
///
/// The [`sender`](Self::sender) pushes, changes and takes back datagrams without waiting, as there.
/// Every future is cancel-safe. To wait for room and for datagrams at the same time, [split](Self::into_split) it.
#[derive(Debug)]
pub struct RingSocket {
    send: RingSendHalf,
    recv: RingRecvHalf,
}

/// The half of a [`RingSocket`] that sends datagrams and receives their fates.
///
/// Dropping it ends nothing as long as the other half lives: what waits in the ring leaves. DCCP has no half-close;
/// to close, [shut down](crate::Socket::shutdown) writing. Once both halves are dropped, what waits is sent and the
/// connection is closed in the background.
#[derive(Debug)]
pub struct RingSendHalf {
    end: SendEnd,
}

/// The half of a [`RingSocket`] that receives.
///
/// Dropping it signals to the peer that its data are not read, as [`crate::Socket::shutdown`] of reading does.
/// The other half goes on sending. Once both halves are dropped, the waiting datagrams are sent and the
/// connection is closed in the background.
#[derive(Debug)]
pub struct RingRecvHalf {
    end: RecvEnd,
}

impl From<crate::RingSocket> for RingSocket {
    /// Makes a socket for tasks from one for threads, and makes it
    /// [non-blocking](crate::Socket::set_nonblocking).
    fn from(inner: crate::RingSocket) -> Self {
        inner.socket().set_nonblocking(true);
        let (send, recv) = (inner.send, inner.recv);
        Self {
            send: RingSendHalf { end: send },
            recv: RingRecvHalf { end: recv },
        }
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
        self.send.sender()
    }

    /// Waits until there is room in the ring: then a push finds it.
    ///
    /// # Errors
    /// When sending is over.
    pub async fn wait_for_room(&mut self) -> Result<(), SendError> {
        self.send.wait_for_room().await
    }

    /// Copies the next datagram into `buf` and returns the number of bytes copied.
    ///
    /// # Errors
    /// When the connection is over and all data have been handed out.
    pub async fn recv(&mut self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv.recv(buf).await
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_meta(&mut self, buf: &mut [u8]) -> Result<RecvMeta, RecvError> {
        self.recv.recv_meta(buf).await
    }

    /// Appends the fates that are known to `fates`, at most `at_most`; waits for the first. Returns how many: none
    /// if the connection has ended and all fates have been returned.
    pub async fn recv_fates(&mut self, fates: &mut Vec<RingFate>, at_most: usize) -> usize {
        self.send.recv_fates(fates, at_most).await
    }

    /// The next event of the connection; `None` if it has ended and all events have been returned.
    pub async fn event(&self) -> Option<Event> {
        self.send.event().await
    }

    /// The connection, with all other calls. Those with a time limit, and
    /// [`close`](crate::Socket::close), block the thread.
    pub fn get_ref(&self) -> &crate::Socket {
        self.send.get_ref()
    }

    /// Two halves, for two tasks or for two branches of a `select!`: each can wait while the other does.
    pub fn into_split(self) -> (RingSendHalf, RingRecvHalf) {
        (self.send, self.recv)
    }

    /// The socket for threads; it stays non-blocking until [`set_nonblocking`](crate::Socket::set_nonblocking).
    pub fn into_inner(self) -> crate::RingSocket {
        crate::RingSocket {
            send: self.send.end,
            recv: self.recv.end,
        }
    }
}

impl RingSendHalf {
    /// As [`RingSocket::sender`].
    pub fn sender(&mut self) -> &mut Sender {
        self.end.sender()
    }

    /// As [`RingSocket::wait_for_room`]; cancel-safe.
    ///
    /// # Errors
    /// When sending is over.
    pub async fn wait_for_room(&mut self) -> Result<(), SendError> {
        coop::consume_budget().await;
        loop {
            if let Some(found) = self.end.try_room() {
                return found;
            }
            self.end.room_rung().await;
        }
    }

    /// As [`RingSocket::recv_fates`]; cancel-safe.
    pub async fn recv_fates(&mut self, fates: &mut Vec<RingFate>, at_most: usize) -> usize {
        coop::consume_budget().await;
        if at_most == 0 {
            return 0;
        }
        while self.end.try_fates().is_none() {
            self.end.fates_rung().await;
        }
        let before = fates.len();
        self.end.take_fates(fates, at_most);
        fates.len() - before
    }

    /// As [`RingSocket::event`]; cancel-safe. Each event goes to the half that asks first.
    pub async fn event(&self) -> Option<Event> {
        next_event(self.get_ref()).await
    }

    /// As [`RingSocket::get_ref`].
    pub fn get_ref(&self) -> &crate::Socket {
        self.end.socket()
    }
}

impl RingRecvHalf {
    /// As [`RingSocket::recv`]; cancel-safe.
    ///
    /// # Errors
    /// As there.
    pub async fn recv(&mut self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).await.map(|meta| meta.len)
    }

    /// As [`RingSocket::recv_meta`]; cancel-safe.
    ///
    /// # Errors
    /// As there.
    pub async fn recv_meta(&mut self, buf: &mut [u8]) -> Result<RecvMeta, RecvError> {
        coop::consume_budget().await;
        loop {
            if let Some(found) = self.end.try_recv(buf) {
                return found;
            }
            self.end.recv_rung().await;
        }
    }

    /// As [`RingSocket::event`]; cancel-safe. Each event goes to the half that asks first.
    pub async fn event(&self) -> Option<Event> {
        next_event(self.get_ref()).await
    }

    /// As [`RingSocket::get_ref`].
    pub fn get_ref(&self) -> &crate::Socket {
        self.end.socket()
    }
}
