//! Sockets for tasks: the calls that wait are futures. (Feature `tokio`)
//!
//! ```no_run
//! use dccp::Options;
//! use dccp::tokio::Socket;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let socket = Socket::connect("192.0.2.10:14233/5001", &Options::new()).await?;
//! socket.send(b"hello").await?;
//! let mut answer = [0; 1500];
//! let len = socket.recv(&mut answer).await?;
//! println!("{len} bytes came back");
//! socket.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! The same engine runs the connections, and its thread wakes the tasks. Every future is cancel-safe: one that is dropped
//! before its end has had no effect, so that `select!` and `tokio::time::timeout` lose no datagram. Exceptions are
//! `close`, which begins at the first poll, and `send_batch`, which may have sent some. Use `timeout` to limit a wait; the
//! time-outs of the options are for threads. A cancelled `connect` closes its connection.
//!
//! `connect` and `bind` look up names on tokio's threads for blocking calls. Outside a runtime they return an error. Other
//! calls work in any runtime.

mod message;
mod ring;

pub use message::MessageSocket;
pub use ring::{RingRecvHalf, RingSendHalf, RingSocket};

use crate::addr::{DccpAddr, ToDccpAddrs};
use crate::error::{AcceptError, BindError, ConnectError, RecvError, SendError};
use crate::incoming::{ListenerEvent, ListenerStats};
use crate::options::Options;
use crate::patience::Side;
use crate::recv_buffer::{Received, RecvBatch, RecvMeta};
use crate::send_buffer::{DatagramId, FateReport};
use crate::sending::{SendItem, SendOptions};
use crate::shared::SocketState;
use crate::{clock, listener, socket};
use ::tokio::runtime::Handle;
use ::tokio::task::coop;
use dccp_proto::wire::Payload;
use dccp_proto::{CloseReason, Event};
use std::io;
use std::net::Shutdown;

/// A connection: datagrams in both directions under congestion control, for tasks.
///
/// All calls take `&self`, so that tasks can share a socket. Dropping it sends what waits and closes in the
/// background.
#[derive(Debug)]
pub struct Socket {
    inner: crate::Socket,
}

impl From<crate::Socket> for Socket {
    /// Makes a socket for tasks from one for threads, and makes it
    /// [non-blocking](crate::Socket::set_nonblocking).
    fn from(inner: crate::Socket) -> Self {
        inner.set_nonblocking(true);
        Self { inner }
    }
}

impl Socket {
    /// Connects to the first address of `addr` that answers, as [`crate::Socket::connect`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn connect(
        addr: impl ToDccpAddrs + Send + 'static,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let options = options.clone().nonblocking(true);
        let given = options.clone();
        let remotes = move || socket::Socket::remotes(&addr, &given);
        let remotes = blocking(remotes, ConnectError::NoRuntime).await;
        let mut last = ConnectError::NoAddress;
        for remote in remotes? {
            match Self::connect_one(remote, &options).await {
                Err(e @ ConnectError::Option(_)) => return Err(e),
                Err(e) => last = e,
                connected => return connected,
            }
        }
        Err(last)
    }

    async fn connect_one(remote: DccpAddr, options: &Options) -> Result<Self, ConnectError> {
        let (began, options) = (clock::now(), options.clone());
        let open = move || socket::Socket::open(remote, &options);
        let inner = blocking(open, ConnectError::NoRuntime).await?;
        let opened = inner.shared().until(Side::Send, |state| state.opened());
        match opened.await {
            Ok(()) => Ok(Self { inner }),
            Err(reason) => Err(inner.connect_error(began, remote, reason)),
        }
    }

    /// Puts a datagram into the send buffer, waiting for room. It leaves when the congestion control allows.
    ///
    /// # Errors
    /// When it is too long, or sending is over.
    pub async fn send(&self, data: &[u8]) -> Result<DatagramId, SendError> {
        self.send_with(data, SendOptions::new()).await
    }

    /// As [`send`](Self::send), with what is said of the datagram: priority, deadline, key, and what happens when
    /// the send buffer is full.
    ///
    /// # Errors
    /// As [`send`](Self::send); [`SendError::WouldBlock`] if there is no room and that shall be an error.
    pub async fn send_with(
        &self,
        data: &[u8],
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        let payload = Payload::Bytes(data);
        let push = |state: &mut SocketState| self.inner.push(state, payload, &options);
        self.until(Side::Send, push).await
    }

    /// Puts many datagrams into the send buffer, each with a result of its own; waits for room. Returns how many are in
    /// the buffer: all, unless some are too long or may not wait. Dropped before its end, it may have sent some.
    ///
    /// # Errors
    /// The error of the first, if the buffer took none.
    pub async fn send_batch(&self, items: &mut [SendItem<'_>]) -> Result<usize, SendError> {
        let mut done = 0;
        let push = |state: &mut SocketState| {
            done = self.inner.push_batch(state, items, done);
            (done == items.len()).then_some(())
        };
        self.until(Side::Send, push).await;
        SendItem::sum_up(items)
    }

    /// The next datagram, however long it is.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_datagram(&self) -> Result<Received, RecvError> {
        self.until(Side::Recv, SocketState::pop).await
    }

    /// Copies the next datagram into `buf` and returns the number of bytes copied.
    ///
    /// # Errors
    /// When the connection is over and all data have been handed out.
    pub async fn recv(&self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).await.map(|meta| meta.len)
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_meta(&self, buf: &mut [u8]) -> Result<RecvMeta, RecvError> {
        self.until(Side::Recv, |state| state.pop_into(buf)).await
    }

    /// Takes the datagrams that wait, at most as many as `batch` has room for; waits for the first. Returns how
    /// many.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub async fn recv_batch(&self, batch: &mut RecvBatch) -> Result<usize, RecvError> {
        self.until(Side::Recv, |state| state.pop_batch(batch)).await
    }

    /// The next event; `None` if the connection has ended and all events have been returned.
    pub async fn event(&self) -> Option<Event> {
        next_event(&self.inner).await
    }

    /// Appends the fates that are known to `reports`, at most `at_most`; waits for the first. Returns how many:
    /// none if the connection has ended and all fates have been returned. Needs [`Options::fate_buffer`].
    pub async fn recv_fates(&self, reports: &mut Vec<FateReport>, at_most: usize) -> usize {
        let before = reports.len();
        let take = |state: &mut SocketState| {
            state.tx.pop_fates(reports, at_most);
            let taken = reports.len() - before;
            (taken > 0 || at_most == 0 || state.is_ended()).then_some(taken)
        };
        self.until(Side::Recv, take).await
    }

    /// Ends one direction or both, without waiting, as [`crate::Socket::shutdown`] does.
    pub fn shutdown(&self, how: Shutdown) {
        self.inner.shutdown(how);
    }

    /// Sends what waits, closes, and waits for the end.
    pub async fn close(&self) -> CloseReason {
        self.shutdown(Shutdown::Write);
        self.closed().await
    }

    /// Waits until either end has ended the connection.
    pub async fn closed(&self) -> CloseReason {
        self.until(Side::Send, |state| state.ended()).await
    }

    /// The socket for threads, with all other calls. Those with a time limit, and
    /// [`close`](crate::Socket::close), block the thread.
    pub fn get_ref(&self) -> &crate::Socket {
        &self.inner
    }

    /// The socket for threads; it stays non-blocking until [`set_nonblocking`](crate::Socket::set_nonblocking).
    pub fn into_inner(self) -> crate::Socket {
        self.inner
    }

    /// Waits until `attempt` returns a value. Consumes some of the task's budget, so that other tasks also run when there
    /// is always a value.
    async fn until<T>(&self, side: Side, attempt: impl FnMut(&mut SocketState) -> Option<T>) -> T {
        coop::consume_budget().await;
        self.inner.shared().until(side, attempt).await
    }
}

/// Waits for connections, for tasks.
#[derive(Debug)]
pub struct Listener {
    inner: crate::Listener,
}

impl Listener {
    /// Listens at every address that `addrs` gives, as [`crate::Listener::bind`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn bind(
        addrs: impl ToDccpAddrs + Send + 'static,
        options: &Options,
    ) -> Result<Self, BindError> {
        let options = options.clone().nonblocking(true);
        let bind = move || listener::Listener::bind(addrs, &options);
        let inner = blocking(bind, BindError::NoRuntime).await?;
        Ok(Self { inner })
    }

    /// The next connection.
    ///
    /// # Errors
    /// When the listener is closed.
    pub async fn accept(&self) -> Result<Socket, AcceptError> {
        coop::consume_budget().await;
        Ok(self.inner.accepted().await?.into())
    }

    /// The addresses and UDP ports where it listens.
    pub fn local_addrs(&self) -> &[DccpAddr] {
        self.inner.local_addrs()
    }

    /// Removes and returns the oldest event; never waits. See [`Listener::poll_event`](crate::Listener::poll_event).
    pub fn poll_event(&self) -> Option<ListenerEvent> {
        self.inner.poll_event()
    }

    /// The connections that this listener has refused because of its limits.
    pub fn stats(&self) -> ListenerStats {
        self.inner.stats()
    }
}

/// The next event of a connection; `None` if it has ended and all events have been returned.
async fn next_event(socket: &crate::Socket) -> Option<Event> {
    let next = |state: &mut SocketState| {
        let event = state.pop_event();
        (event.is_some() || state.is_ended()).then_some(event)
    };
    coop::consume_budget().await;
    socket.shared().until(Side::Recv, next).await
}

/// Runs a call that blocks on a thread of the runtime that is made for such calls.
async fn blocking<T, E>(
    call: impl FnOnce() -> Result<T, E> + Send + 'static,
    no_runtime: E,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<io::Error> + Send + 'static,
{
    let Ok(runtime) = Handle::try_current() else {
        return Err(no_runtime);
    };
    match runtime.spawn_blocking(call).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime ends.
            Err(error) => Err(io::Error::other(error).into()),
        },
    }
}
