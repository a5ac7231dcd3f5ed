//! Sockets that carry messages, for tasks.

use super::{Socket, next_event};
use crate::addr::ToDccpAddrs;
use crate::error::{ConnectError, RecvError};
use crate::message::{
    self, Message, MessageError, MessageId, MessageOptions, MessageReport, NoMessages,
    ReceiveLimits, SendLimits,
};
use crate::options::Options;
use crate::patience::Side;
use crate::shared::SocketState;
use ::tokio::task::coop;
use dccp_proto::message::MessageLabel;
use dccp_proto::{CloseReason, Event};
use std::net::Shutdown;

/// A connection that carries messages, for tasks: see [`crate::message::MessageSocket`].
///
/// Both ends need the options of [`with_messages`](crate::message::with_messages).
///
/// ```no_run
/// use dccp::Options;
/// use dccp::message::{MessageOptions, with_messages};
/// use dccp::tokio::MessageSocket;
/// use std::time::Duration;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let options = with_messages(Options::new(), *b"vid");
/// let socket = MessageSocket::connect("192.0.2.10:14233/5001", &options).await?;
/// socket.send(vec![0; 20_000], MessageOptions::new().lifetime(Duration::from_millis(200)))?;
/// println!("{} bytes came back", socket.recv().await?.data.len());
/// socket.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MessageSocket {
    inner: message::MessageSocket,
}

impl From<message::MessageSocket> for MessageSocket {
    /// Makes a socket for tasks from one for threads, and makes it
    /// [non-blocking](crate::Socket::set_nonblocking).
    fn from(inner: message::MessageSocket) -> Self {
        inner.socket().set_nonblocking(true);
        Self { inner }
    }
}

impl MessageSocket {
    /// Connects as [`Socket::connect`] does, with options of [`with_messages`](crate::message::with_messages).
    ///
    /// # Errors
    /// As [`Socket::connect`], or if the Service Code does not announce messages.
    pub async fn connect(
        addr: impl ToDccpAddrs + Send + 'static,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let socket = Socket::connect(addr, options).await?;
        Ok(Self::new(socket)?)
    }

    /// Carries messages over a connection, such as an accepted one.
    ///
    /// # Errors
    /// If the Service Code does not announce messages.
    pub fn new(socket: Socket) -> Result<Self, NoMessages> {
        Self::with_limits(socket, SendLimits::default(), ReceiveLimits::default())
    }

    /// As [`new`](Self::new), with bounds on memory.
    ///
    /// # Errors
    /// If the Service Code does not announce messages.
    pub fn with_limits(
        socket: Socket,
        send: SendLimits,
        receive: ReceiveLimits,
    ) -> Result<Self, NoMessages> {
        let inner = message::MessageSocket::with_limits(socket.into_inner(), send, receive)?;
        Ok(Self { inner })
    }

    /// Sends a message as soon as congestion control allows, without waiting.
    ///
    /// # Errors
    /// [`MessageError`]; the message was not taken.
    pub fn send(
        &self,
        data: impl Into<Vec<u8>>,
        options: MessageOptions,
    ) -> Result<MessageId, MessageError> {
        self.inner.send(data, options)
    }

    /// Withdraws messages as [`crate::message::MessageSocket::withdraw_if`] does. Returns their number.
    pub fn withdraw_if(&self, is_unwanted: impl FnMut(MessageId, &MessageLabel) -> bool) -> usize {
        self.inner.withdraw_if(is_unwanted)
    }

    /// Appends up to `at_most` known fates to `reports`, without waiting.
    pub fn recv_fates(&self, reports: &mut Vec<MessageReport>, at_most: usize) {
        self.inner.recv_fates(reports, at_most);
    }

    /// The next complete message. Cancel-safe: a dropped future loses no message and no part of one.
    ///
    /// # Errors
    /// When the connection is over and all messages have been handed out.
    pub async fn recv(&self) -> Result<Message, RecvError> {
        self.until(Side::Recv, |state| self.inner.pop_message(state))
            .await
    }

    /// The next event; `None` if the connection has ended and all events have been returned.
    pub async fn event(&self) -> Option<Event> {
        next_event(self.get_ref()).await
    }

    /// Sends the messages that wait, closes, and waits for the end. Use `tokio::time::timeout` to limit the wait: then
    /// drop the socket, which withdraws the messages that wait and closes in the background.
    pub async fn close(&self) -> CloseReason {
        self.until(Side::Send, |state| self.inner.all_left(state))
            .await;
        self.get_ref().shutdown(Shutdown::Write);
        self.closed().await
    }

    /// Waits until either end has ended the connection.
    pub async fn closed(&self) -> CloseReason {
        self.until(Side::Send, |state| state.ended()).await
    }

    /// Fills the rate up to `bits_per_s` with datagrams that the peer ignores, as
    /// [`crate::Socket::set_target_rate`] does.
    pub fn set_target_rate(&self, bits_per_s: u64) {
        self.inner.set_target_rate(bits_per_s);
    }

    /// The connection: statistics, the rate hint, settings. Its calls that send or receive datagrams disturb the messages.
    pub fn get_ref(&self) -> &crate::Socket {
        self.inner.socket()
    }

    async fn until<T>(&self, side: Side, attempt: impl FnMut(&mut SocketState) -> Option<T>) -> T {
        coop::consume_budget().await;
        self.get_ref().shared().until(side, attempt).await
    }
}
