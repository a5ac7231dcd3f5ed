//! Messages larger than a packet: video frames, snapshots of a state.
//!
//! A [`MessageSocket`] cuts a message into datagrams when they may leave, and the peer's joins them. Each message has
//! one fate. When one of its datagrams is lost, refused or too late, the rest is not sent. A message that cannot finish
//! before its deadline does not begin. Lost data are never repeated.
//!
//! Both ends use the same three bytes of the application as part of the Service Code ([`service_code`]), so that a
//! connection to a program without messages fails at once. The bytes on the wire are described in
//! `dccp_proto::message`.
//!
//! ```no_run
//! use dccp::Options;
//! use dccp::message::{MessageOptions, MessageSocket, with_messages};
//! use std::time::Duration;
//!
//! let options = with_messages(Options::new(), *b"vid");
//! let socket = MessageSocket::connect("192.0.2.10:14233/5001", &options)?;
//! let frame = vec![0; 20_000];
//! socket.send(frame, MessageOptions::new().lifetime(Duration::from_millis(200)))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::addr::ToDccpAddrs;
use crate::clock;
use crate::error::{CloseError, ConnectError, OptionError, RecvError, reason_fault, reason_kind};
use crate::fault::Fault;
use crate::options::Options;
use crate::patience::{Patience, Side};
use crate::send_buffer::FateReport;
use crate::sending::Terms;
use crate::shared::{Shared, SocketState};
use crate::socket::Socket;
use crate::source::{SourceReply, SourceRequest};
use crate::words::reason_text;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp_proto::CloseReason;
use dccp_proto::message::{MessageLabel, MessageSender, NotTaken, Reassembler};
use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

pub use dccp_proto::message::{
    HEADER_LEN, LEN_MAX, Message, MessageId, MessageReport, ReceiveLimits, Received, SendLimits,
    is_message_service, service_code,
};

/// Fates of datagrams that wait for the next look at them.
const FATES: usize = 1 << 16;
/// The length of a filler.
const FILLER_LEN: usize = 1000;

/// The settings of a connection or listener for messages of this application: its Service Code, fates and rate hints.
pub fn with_messages(options: Options, application: [u8; 3]) -> Options {
    let service = service_code(application).0.to_be_bytes();
    options
        .service_code(service)
        .fate_buffer(FATES)
        .rate_hints(true)
}

/// Options of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct MessageOptions(Terms);

impl MessageOptions {
    /// Priority 0, no deadline, no key, tag 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the message overtake those of lower priority, also between their datagrams.
    pub fn priority(mut self, priority: u8) -> Self {
        self.0.priority = priority;
        self
    }

    /// The latest time to leave. A message that cannot leave entirely until then gets the fate
    /// [`Expired`](crate::Fate::Expired).
    pub fn deadline(mut self, at: Instant) -> Self {
        self.0.set_deadline(at);
        self
    }

    /// A deadline at this time after the message is sent. With a deadline too, the earlier one counts.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.0.lifetime = Some(lifetime);
        self
    }

    /// Replaces the message with the same key that has not begun, which gets the fate
    /// [`Superseded`](crate::Fate::Superseded).
    pub fn key(mut self, key: u64) -> Self {
        self.0.key = Some(key);
        self
    }

    /// A number for the report.
    pub fn tag(mut self, tag: u64) -> Self {
        self.0.tag = tag;
        self
    }

    fn label(&self, now: dccp_proto::Instant) -> MessageLabel {
        let Self(terms) = self;
        MessageLabel {
            priority: terms.priority,
            deadline: terms.deadline(|| now),
            key: terms.key,
            tag: terms.tag,
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The messages without a fate reach the bounds of [`SendLimits`]. A message whose deadline has come frees its room.
    #[error("too many messages wait for their fate")]
    Full,
    /// Caller: it is longer than [`LEN_MAX`].
    #[error("message too long: must be at most {LEN_MAX} bytes")]
    TooLong,
    /// The connection has ended.
    #[error("the connection is over: {}", reason_text(.0))]
    Closed(CloseReason),
}

impl MessageError {
    /// The party that can mend it; `None` if too many messages wait.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::Full => None,
            Self::TooLong => Some(Fault::Caller),
            Self::Closed(reason) => Some(reason_fault(reason)),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Full => "skip this message, or give messages a lifetime",
            Self::TooLong => "cut the message",
            Self::Closed(_) => "connect again",
        }
    }
}

impl From<MessageError> for io::Error {
    fn from(error: MessageError) -> Self {
        let kind = match &error {
            MessageError::Full => io::ErrorKind::WouldBlock,
            MessageError::TooLong => io::ErrorKind::InvalidInput,
            MessageError::Closed(reason) => reason_kind(reason),
        };
        Self::new(kind, error)
    }
}

/// Caller: the connection's Service Code does not announce messages. See [`with_messages`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("service code without messages: it must begin with M")]
pub struct NoMessages;

impl NoMessages {
    /// Always [`Fault::Caller`].
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        "make the options with `with_messages`"
    }
}

impl From<NoMessages> for io::Error {
    fn from(error: NoMessages) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

impl From<NoMessages> for ConnectError {
    fn from(_: NoMessages) -> Self {
        let problem = "must be that of `with_messages`";
        Self::Option(OptionError::new("service_code", problem))
    }
}

/// A connection that carries messages.
#[derive(Debug)]
pub struct MessageSocket {
    socket: Socket,
    outgoing: Arc<Outgoing>,
    incoming: Mutex<Reassembler>,
}

/// The sending side, which the engine uses too.
#[derive(Debug)]
struct Outgoing {
    messages: Mutex<Messages>,
    /// A fragment waits to be cut.
    has_waiting: AtomicBool,
}

#[derive(Debug)]
struct Messages {
    sender: MessageSender,
    /// Memory for the fates of datagrams.
    fates: Vec<FateReport>,
    /// The connection shows that a report waits.
    has_shown: bool,
}

impl MessageSocket {
    /// Connects as [`Socket::connect`] does, with options of [`with_messages`].
    ///
    /// # Errors
    /// As [`Socket::connect`], or if the Service Code does not announce messages.
    pub fn connect(addr: impl ToDccpAddrs, options: &Options) -> Result<Self, ConnectError> {
        let socket = Socket::connect(addr, options)?;
        Ok(Self::new(socket)?)
    }

    /// Carries messages over a connection with options of [`with_messages`], such as an accepted one. It becomes the
    /// socket's [datagram source](Socket::set_datagram_source).
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
        if !is_message_service(socket.service_code()) {
            return Err(NoMessages);
        }
        let outgoing = Arc::new(Outgoing {
            messages: Mutex::new(Messages {
                sender: MessageSender::new(send),
                fates: Vec::new(),
                has_shown: false,
            }),
            has_waiting: AtomicBool::new(false),
        });
        // Without the fates of datagrams no message would have one, and none would make room.
        socket.shared().lock().tx.store_fates(FATES);
        let (source, shared) = (outgoing.clone(), Arc::downgrade(socket.shared()));
        socket
            .set_datagram_source(move |request, datagram| source.fill(&shared, request, datagram));
        Ok(Self {
            socket,
            outgoing,
            incoming: Mutex::new(Reassembler::new(receive)),
        })
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
        if let Some(reason) = self.socket.shared().lock().ended() {
            return Err(MessageError::Closed(reason));
        }
        let now = clock::now();
        let label = options.label(now);
        let pushed = self.with_sender(|sender| sender.push(now, data.into(), label));
        self.socket.data_ready();
        pushed.map_err(|e| match e {
            NotTaken::Full => MessageError::Full,
            NotTaken::TooLong => MessageError::TooLong,
        })
    }

    /// Withdraws the messages for which `is_unwanted` returns true, as far as they have not left entirely. Returns their
    /// number. The closure must not use the socket, and no message leaves while it runs.
    pub fn withdraw_if(&self, is_unwanted: impl FnMut(MessageId, &MessageLabel) -> bool) -> usize {
        let withdrawn = self.with_sender(|sender| sender.withdraw_if(clock::now(), is_unwanted));
        // A call of `close` may wait for the last message.
        self.socket.shared().wake();
        withdrawn
    }

    /// Appends up to `at_most` known fates to `reports`, without waiting.
    pub fn recv_fates(&self, reports: &mut Vec<MessageReport>, at_most: usize) {
        self.with_sender(|sender| {
            let known = core::iter::from_fn(|| sender.poll_report());
            reports.extend(known.take(at_most));
        });
    }

    /// The next complete message; waits for it if the socket is blocking.
    ///
    /// # Errors
    /// As [`Socket::recv`].
    pub fn recv(&self) -> Result<Message, RecvError> {
        let shared = self.socket.shared();
        // One wait for the whole message: fragments and fillers do not prolong it.
        shared.wait_as_set(Side::Recv, |state| self.pop_message(state))?
    }

    /// The message that the waiting datagrams complete; `None` if none does.
    pub(crate) fn pop_message(
        &self,
        state: &mut SocketState,
    ) -> Option<Result<Message, RecvError>> {
        let mut incoming = lock(&self.incoming);
        loop {
            let datagram = match state.pop()? {
                Ok(datagram) => datagram,
                Err(error) => return Some(Err(error)),
            };
            let received = incoming.receive(datagram.meta().arrived, datagram.bytes());
            if let Received::Message(message) = received {
                return Some(Ok(message));
            }
        }
    }

    /// Waits up to `at_most` until the waiting messages have left. Then closes, and waits up to `at_most` for the end.
    ///
    /// # Errors
    /// When the connection has not ended in time. Messages that wait after the first `at_most` are withdrawn.
    pub fn close(&self, at_most: Duration) -> Result<CloseReason, CloseError> {
        // The rest is withdrawn if time is over.
        let _ = self
            .socket
            .shared()
            .wait(Side::Send, Patience::For(at_most), |state| {
                self.all_left(state)
            });
        self.socket.shutdown(Shutdown::Write);
        self.socket.wait_closed(at_most)
    }

    /// Whether all messages have left, or the connection has ended; `None`: not yet.
    pub(crate) fn all_left(&self, state: &SocketState) -> Option<()> {
        let is_waiting = self.outgoing.has_waiting.load(Ordering::Relaxed);
        (!is_waiting || state.is_ended()).then_some(())
    }

    /// Fills the rate up to `bits_per_s` with datagrams that the peer ignores, as
    /// [`Socket::set_target_rate`] does.
    pub fn set_target_rate(&self, bits_per_s: u64) {
        self.socket.set_target_rate(bits_per_s, &[0; FILLER_LEN]);
    }

    /// The connection: to close it, to ask for its state and its rate hint. Its calls that send or receive datagrams
    /// disturb the messages.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    fn with_sender<T>(&self, run: impl FnOnce(&mut MessageSender) -> T) -> T {
        self.outgoing.run(self.socket.shared(), run)
    }
}

impl Outgoing {
    /// Runs this with the messages, after they have their news from the connection.
    fn run<T>(&self, shared: &Shared, run: impl FnOnce(&mut MessageSender) -> T) -> T {
        let mut messages = lock(&self.messages);
        messages.absorb(shared);
        let result = run(&mut messages.sender);
        self.has_waiting
            .store(messages.sender.has_waiting(), Ordering::Relaxed);
        messages.show_reports(shared);
        shared.set_source_bytes(messages.sender.waiting_bytes());
        result
    }

    /// Writes the next fragment, if there is one.
    fn fill(
        &self,
        shared: &Weak<Shared>,
        request: &SourceRequest,
        datagram: &mut Vec<u8>,
    ) -> SourceReply {
        let (now, name) = (request.now, request.id.0);
        let is_filled = shared.upgrade().is_some_and(|shared| {
            self.run(&shared, |sender| {
                sender.fill(now, name, request.max_len, datagram)
            })
        });
        if is_filled {
            SourceReply::Datagram
        } else {
            SourceReply::Nothing
        }
    }
}

impl Messages {
    /// Moves the fates of datagrams and the rate from the connection to the messages. Its lock is taken after theirs.
    fn absorb(&mut self, shared: &Shared) {
        let mut state = shared.lock();
        state.tx.pop_fates(&mut self.fates, FATES);
        state.update_signal();
        let is_ended = state.is_ended();
        self.sender.set_rate(state.rate.map(|hint| hint.bits_per_s));
        drop(state);
        for report in self.fates.drain(..) {
            self.sender.on_fate(report.told, report.id.0, report.fate);
        }
        if is_ended {
            self.sender.end(clock::now());
        } else {
            self.sender.expire(clock::now());
        }
    }

    /// Shows the application whether a report waits.
    fn show_reports(&mut self, shared: &Shared) {
        let has_reports = self.sender.has_reports();
        if core::mem::replace(&mut self.has_shown, has_reports) != has_reports {
            let mut state = shared.lock();
            state.has_message_fates = has_reports;
            state.update_signal();
        }
    }
}

/// A panic elsewhere while it was held does not make it unusable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Buffers, Waiting};

    #[test]
    fn the_backlog_counts_the_messages_that_wait() {
        let shared = Shared::new(Buffers::default(), Waiting::default());
        let outgoing = Outgoing {
            messages: Mutex::new(Messages {
                sender: MessageSender::new(SendLimits::default()),
                fates: Vec::new(),
                has_shown: false,
            }),
            has_waiting: AtomicBool::new(false),
        };
        let data = vec![0; 3000];
        let pushed = outgoing.run(&shared, |sender| {
            sender.push(clock::now(), data, MessageLabel::default())
        });
        assert!(pushed.is_ok());
        assert_eq!(shared.backlog(&shared.lock()), 3000);
    }
}
