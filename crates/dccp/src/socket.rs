//! A connection as the application uses it.

mod state;

use crate::addr::{DccpAddr, ToDccpAddrs};
use crate::command::{Command, Connect};
use crate::engine::Engine;
use crate::error::{CloseError, ConnectError, EngineGone, RecvError, SendError};
use crate::filler::Filler;
use crate::incoming::Accepted;
use crate::names::Opened;
use crate::options::Options;
use crate::patience::{Patience, Side, Waited};
use crate::recv_buffer::{Received, RecvBatch, RecvMeta};
use crate::request::{Calls, Request};
use crate::send_buffer::{DatagramId, FateReport, QueuedDatagram};
use crate::sending::{SendItem, SendOptions};
use crate::shared::{Shared, SocketState};
use crate::source::{DatagramSource, SourceReply, SourceRequest};
use core::num::NonZeroU64;
use core::time::Duration;
use dccp_proto::wire::{PacketType, Payload, ResetCode, ServiceCode};
use dccp_proto::{CloseReason, Event, Instant};
use std::net::Shutdown;
use std::sync::Arc;

/// A connection: datagrams in both directions under congestion control.
///
/// All calls take `&self`, so that threads can share a socket, for example one that sends and one that receives.
///
/// Dropping a socket sends the datagrams that are queued, and closes in the background. That needs the process to live on:
/// before the program ends, call [`close`](Self::close) on each socket, or [`Engine::wait_idle`] once for all.
///
/// Some calls ask the engine's thread and wait for its answer, usually for some microseconds: they say so. From the engine's
/// own thread, where a [datagram source](Self::set_datagram_source) runs, such calls return an error.
#[derive(Debug)]
pub struct Socket {
    engine: Engine,
    opened: Opened,
    service: ServiceCode,
    shared: Arc<Shared>,
    linger: Duration,
}

/// Making a connection.
impl Socket {
    /// Connects to a DCCP port. If the name has several addresses, they are tried in turn.
    ///
    /// A non-blocking socket is returned at once. [`Event::Connected`] or the error of a receive reports the outcome.
    /// A link-local IPv6 address needs its interface, as in `[fe80::1%eth0]:14233/5001`, and works over UDP only.
    ///
    /// ```no_run
    /// use dccp::{Options, Socket};
    /// let socket = Socket::connect("video.example.net:14233/5001", &Options::new())?;
    /// let same = Socket::connect(("video.example.net:14233", 5001), &Options::new())?;
    /// # Ok::<(), dccp::ConnectError>(())
    /// ```
    ///
    /// # Errors
    /// When an option is not allowed, the peer refuses or does not answer, or the system has no socket left.
    pub fn connect(addr: impl ToDccpAddrs, options: &Options) -> Result<Self, ConnectError> {
        let mut last = ConnectError::NoAddress;
        for remote in Self::remotes(&addr, options)? {
            match Self::connect_one(remote, options) {
                Ok(socket) => return Ok(socket),
                Err(e @ ConnectError::Option(_)) => return Err(e),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// The addresses to try.
    pub(crate) fn remotes(
        addr: &impl ToDccpAddrs,
        options: &Options,
    ) -> Result<Vec<DccpAddr>, ConnectError> {
        let fits = |remote: &DccpAddr| {
            options
                .bind
                .is_none_or(|b| b.is_ipv4() == remote.ip.is_ipv4())
        };
        let remotes = addr.to_dccp_addrs()?.into_iter();
        Ok(remotes.map(DccpAddr::canonical).filter(fits).collect())
    }

    fn connect_one(remote: DccpAddr, options: &Options) -> Result<Self, ConnectError> {
        let began = crate::clock::now();
        let socket = Self::open(remote, options)?;
        if options.waiting.is_nonblocking {
            return Ok(socket);
        }
        // The core bounds the handshake by `connect_timeout`.
        let opened = socket
            .shared
            .wait(Side::Send, Patience::Forever, |state| state.opened());
        match opened {
            Ok(Ok(())) => Ok(socket),
            Ok(Err(reason)) => Err(socket.connect_error(began, remote, reason)),
            Err(_) => Err(EngineGone::default().into()),
        }
    }

    /// Waits until the handshake has ended, for at most `at_most`; `None`: it still goes on.
    #[cfg(feature = "unstable")]
    pub(crate) fn wait_opened(&self, at_most: Duration) -> Option<Result<(), CloseReason>> {
        let patience = Patience::For(at_most);
        match self.shared.wait(Side::Send, patience, |s| s.opened()) {
            Ok(opened) => Some(opened),
            Err(Waited::EngineGone) => Some(Err(CloseReason::TimedOut)),
            Err(_) => None,
        }
    }

    /// Begins the handshake.
    pub(crate) fn open(remote: DccpAddr, options: &Options) -> Result<Self, ConnectError> {
        let config = options.checked_config(1)?;
        let service = config.service_code;
        let engine = options.engine_or_shared()?.next();
        let shared = Arc::new(Shared::new(options.buffers, options.waiting));
        let opened = engine.ask(|reply| {
            Command::Connect(Box::new(Connect {
                encapsulation: options.encapsulation,
                gso: options.gso,
                local: options.bind,
                remote,
                dccp_port: options.client_port,
                config,
                mtu: options.mtu,
                shared: shared.clone(),
                reply,
            }))
        })??;
        Ok(Self {
            engine,
            opened,
            service,
            shared,
            linger: options.linger,
        }
        .aimed(options))
    }

    /// The error for a handshake with `remote` that ended for `reason`.
    pub(crate) fn connect_error(
        &self,
        began: Instant,
        remote: DccpAddr,
        reason: CloseReason,
    ) -> ConnectError {
        match reason {
            CloseReason::TimedOut => ConnectError::NoAnswer {
                remote,
                requests: self
                    .stats()
                    .map_or(0, |s| s.connection.packets_out.of(PacketType::Request)),
                waited: crate::clock::now() - began,
            },
            CloseReason::Unreachable { kind, code } => {
                ConnectError::Unreachable { remote, kind, code }
            }
            // A Linux kernel answers with No Connection where the RFC has Connection Refused.
            CloseReason::Reset {
                code: ResetCode::CONNECTION_REFUSED | ResetCode::NO_CONNECTION,
                ..
            } => ConnectError::Refused { remote },
            CloseReason::Reset {
                code: ResetCode::BAD_SERVICE_CODE,
                ..
            } => ConnectError::BadServiceCode {
                remote,
                service: self.service,
            },
            CloseReason::Reset {
                code: ResetCode::TOO_BUSY,
                ..
            } => ConnectError::TooBusy { remote },
            reason => ConnectError::Ended { remote, reason },
        }
    }

    pub(crate) fn from_accepted(engine: &Engine, accepted: &Accepted, options: &Options) -> Self {
        accepted.shared.lock().on_accepted(options.buffers);
        Self {
            engine: engine.clone(),
            opened: accepted.opened,
            service: accepted.service,
            shared: accepted.shared.clone(),
            linger: options.linger,
        }
        .aimed(options)
    }

    /// With the target rate of the options.
    fn aimed(self, options: &Options) -> Self {
        if let Some(target) = &options.target {
            self.set_target_rate(target.bits_per_s, &target.filler);
        }
        self
    }
}

/// Sending.
impl Socket {
    /// Puts a datagram into the send buffer; a blocking socket waits for room. The datagram leaves when the congestion
    /// control allows.
    ///
    /// # Errors
    /// When it is too long, there is no room (in time), or sending is over.
    pub fn send(&self, data: &[u8]) -> Result<DatagramId, SendError> {
        self.send_with(data, SendOptions::new())
    }

    /// As [`send`](Self::send), with priority, deadline, key, and the policy for a full send buffer.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with(&self, data: &[u8], options: SendOptions) -> Result<DatagramId, SendError> {
        self.send_payload(Payload::Bytes(data), options)
    }

    /// Sends a datagram of `len` zeros, which are stored nowhere on this side: for benchmarks.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[doc(hidden)]
    pub fn send_zeros(&self, len: usize) -> Result<DatagramId, SendError> {
        self.send_payload(Payload::Zeros(len), SendOptions::new())
    }

    fn send_payload(
        &self,
        payload: Payload<'_>,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        self.shared
            .wait_as_set(Side::Send, |state| self.push(state, payload, &options))?
    }

    /// Puts a datagram into the send buffer, or gives the error; `None`: there is no room now.
    pub(crate) fn push(
        &self,
        state: &mut SocketState,
        payload: Payload<'_>,
        options: &SendOptions,
    ) -> Option<Result<DatagramId, SendError>> {
        let result = state.push(payload, options)?;
        self.feed(state);
        Some(result)
    }

    /// Puts many datagrams into the send buffer in one call, each with a result of its own. Returns how many are in the
    /// buffer; that is less than all if the socket is non-blocking, the time is over, or some are too long.
    ///
    /// # Errors
    /// The error of the first, if the buffer took none.
    pub fn send_batch(&self, items: &mut [SendItem<'_>]) -> Result<usize, SendError> {
        let mut done = 0;
        let waited = self.shared.wait_as_set(Side::Send, |state| {
            done = self.push_batch(state, items, done);
            (done == items.len()).then_some(())
        });
        if let Err(waited) = waited
            && waited != Waited::WouldBlock
        {
            for item in items.iter_mut().skip(done) {
                item.result = Err(waited.into());
            }
        }
        SendItem::sum_up(items)
    }

    /// Puts the datagrams from `done` on into the send buffer, as many as find room; gives the next `done`.
    pub(crate) fn push_batch(
        &self,
        state: &mut SocketState,
        items: &mut [SendItem<'_>],
        mut done: usize,
    ) -> usize {
        while let Some(item) = items.get_mut(done)
            && let Some(result) = state.push(item.payload, &item.options)
        {
            item.result = result;
            done += 1;
        }
        self.feed(state);
        done
    }

    /// Waits until no datagram is queued in the send buffer: all have left or have another fate. They may still be on
    /// their way.
    ///
    /// # Errors
    /// When that takes longer than `at_most`, or the connection ends first.
    pub fn flush(&self, at_most: Duration) -> Result<(), SendError> {
        self.shared
            .wait(Side::Send, Patience::For(at_most), |state| {
                if state.tx.len() == 0 {
                    return Some(Ok(()));
                }
                state.ended().map(|reason| Err(SendError::Closed(reason)))
            })?
    }

    /// Withdraws the datagrams in the send buffer ([`Fate::Withdrawn`](crate::Fate::Withdrawn)); returns how many.
    pub fn withdraw_queued(&self) -> usize {
        let taken = self.shared.lock().tx.withdraw(crate::clock::now());
        self.shared.wake();
        taken
    }

    /// Withdraws the datagrams in the send buffer for which `is_unwanted` returns true
    /// ([`Fate::Withdrawn`](crate::Fate::Withdrawn)); returns how many. The closure must not use the socket.
    pub fn withdraw_if(&self, is_unwanted: impl FnMut(&QueuedDatagram) -> bool) -> usize {
        let mut state = self.shared.lock();
        let taken = state.tx.withdraw_if(crate::clock::now(), is_unwanted);
        drop(state);
        self.shared.wake();
        taken
    }

    /// Changes [`Options::target_rate`]; 0 ends the fillers.
    pub fn set_target_rate(&self, bits_per_s: u64, filler: &[u8]) {
        let rate = NonZeroU64::new(bits_per_s).filter(|_| !filler.is_empty());
        let filler = rate.map(|rate| Filler::new(rate, filler));
        let mut state = self.shared.lock();
        state.set_filler(filler);
        self.feed(&mut state);
    }

    /// Makes a closure the source of datagrams: the engine calls it when one may leave, so that no datagram is older than
    /// the decision to send it. Datagrams of other calls leave before. The closure fills the vector, which is empty.
    ///
    /// The engine calls it until it returns [`SourceReply::Nothing`], and again after each
    /// [`data_ready`](Self::data_ready). It runs on the engine's thread, which serves other sockets too: it must not
    /// block, and calls that ask the engine return an error there. If it panics, it is removed, and the socket gets
    /// [`Event::SourcePanicked`]. It is dropped when the connection ends or another source replaces it.
    pub fn set_datagram_source(
        &self,
        source: impl FnMut(&SourceRequest, &mut Vec<u8>) -> SourceReply + Send + 'static,
    ) {
        let mut state = self.shared.lock();
        let replaced = state.set_source(DatagramSource::new(source));
        self.feed(&mut state);
        drop(state);
        drop(replaced);
    }

    /// Lets the engine call the [datagram source](Self::set_datagram_source) again after it returned
    /// [`SourceReply::Nothing`].
    pub fn data_ready(&self) {
        let mut state = self.shared.lock();
        state.wake_source();
        self.feed(&mut state);
    }

    /// Stores fates of datagrams from now on, as [`Options::fate_buffer`] does: at least `at_least` at a time.
    ///
    /// The peer is not asked for Ack Vectors: with CCIDs 3 and 4 most datagrams end as [`Sent`](crate::Fate::Sent).
    /// Datagrams that were handed over before have no report.
    pub fn store_fates(&self, at_least: usize) {
        self.shared.lock().tx.store_fates(at_least);
    }

    /// Appends up to `at_most` known fates to `reports`, without waiting. Needs [`Options::fate_buffer`] or
    /// [`store_fates`](Self::store_fates).
    pub fn recv_fates(&self, reports: &mut Vec<FateReport>, at_most: usize) {
        let mut state = self.shared.lock();
        state.tx.pop_fates(reports, at_most);
        state.update_signal();
    }

    /// Tells the engine that there is something to send, if it does not look by itself.
    fn feed(&self, state: &mut SocketState) {
        let is_earlier = state.tx.take_earlier_expiry();
        if core::mem::take(&mut state.is_starving) || is_earlier {
            self.request(Request::DataReady);
        }
    }
}

/// Receiving.
impl Socket {
    /// Copies the next datagram into `buf` and returns the number of bytes copied. What does not fit is lost:
    /// [`recv_meta`](Self::recv_meta) tells, [`recv_datagram`](Self::recv_datagram) loses nothing.
    ///
    /// # Errors
    /// When there is none (in time), or the connection is over and all datagrams have been handed out.
    pub fn recv(&self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).map(|meta| meta.len)
    }

    /// As [`recv`](Self::recv), with the datagram's length, arrival time, sequence number and marks.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_meta(&self, buf: &mut [u8]) -> Result<RecvMeta, RecvError> {
        self.shared.wait_as_set(Side::Recv, |s| s.pop_into(buf))?
    }

    /// The next datagram, however long it is.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_datagram(&self) -> Result<Received, RecvError> {
        self.shared.wait_as_set(Side::Recv, SocketState::pop)?
    }

    /// Takes the datagrams that are there, up to the limit of `batch`; a blocking socket waits for the first. Returns how
    /// many.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_batch(&self, batch: &mut RecvBatch) -> Result<usize, RecvError> {
        self.shared
            .wait_as_set(Side::Recv, |s| s.pop_batch(batch))?
    }

    /// The next event, without waiting.
    pub fn poll_event(&self) -> Option<Event> {
        self.shared.lock().pop_event()
    }
}

/// The process.
impl Socket {
    /// Whether this process opened the connection, and no parent of it: in a child other calls may wait for ever.
    #[doc(hidden)]
    pub fn is_of_this_process(&self) -> bool {
        self.engine.is_here()
    }
}

/// The end.
impl Socket {
    /// Ends one direction or both, without waiting. DCCP has no half-close: ending `Write` sends what is queued and then
    /// closes the connection; ending `Read` signals to the peer that its data are not read.
    pub fn shutdown(&self, how: Shutdown) {
        if !self.engine.is_here() {
            return;
        }
        let (ends_read, ends_write) = match how {
            Shutdown::Read => (true, false),
            Shutdown::Write => (false, true),
            Shutdown::Both => (true, true),
        };
        let mut state = self.shared.lock();
        if ends_read {
            state.rx.close();
        }
        state.is_write_shut |= ends_write;
        drop(state);
        if ends_write {
            self.request(Request::Close);
        }
        // Other threads may sleep in a call that has become pointless.
        self.shared.wake();
    }

    /// Sends what is queued, closes, and waits for the end: at most for [`Options::linger`].
    ///
    /// # Errors
    /// When the connection has not ended in time; it then ends in the background.
    pub fn close(&self) -> Result<CloseReason, CloseError> {
        self.shutdown(Shutdown::Write);
        self.wait_closed(self.linger)
    }

    /// Closes many sockets within one deadline: each sends what waits and closes, all at the same time. Returns how many
    /// have not ended within `at_most`; they end in the background.
    pub fn close_all<'a>(sockets: impl IntoIterator<Item = &'a Self>, at_most: Duration) -> usize {
        let sockets: Vec<&Self> = sockets.into_iter().collect();
        for socket in &sockets {
            socket.shutdown(Shutdown::Write);
        }
        let end = crate::clock::now() + at_most;
        let is_open = |socket: &&&Self| socket.wait_closed(end - crate::clock::now()).is_err();
        sockets.iter().filter(is_open).count()
    }

    /// Why the connection has ended; `None` while it has not.
    pub fn close_reason(&self) -> Option<CloseReason> {
        self.shared.lock().ended()
    }

    /// Waits until either end has ended the connection.
    ///
    /// # Errors
    /// When it has not ended within `at_most`.
    pub fn wait_closed(&self, at_most: Duration) -> Result<CloseReason, CloseError> {
        self.shared
            .wait(Side::Send, Patience::For(at_most), |state| state.ended())
            .map_err(CloseError::from)
    }

    /// Ends the connection at once by Reset 2, Aborted, and withdraws what is queued. Waits until the engine has sent the
    /// Reset, so that it is not lost if the program ends next.
    pub fn abort(&self) {
        self.request(Request::Abort);
        // Where the engine is gone, so is the connection.
        let _ = self.engine.ask(Command::Answer);
    }
}

/// Parts for the rest of the crate.
impl Socket {
    /// The state that the engine and the application share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Takes requests about this connection to the engine.
    pub(crate) fn calls(&self) -> Calls {
        let (engine, conn) = (self.engine.clone(), self.opened.conn);
        Calls::to(move |request| engine.send(Command::Do(conn, request)))
    }

    /// Hands the engine a command about the connection.
    #[cfg(all(target_os = "linux", feature = "unstable"))]
    pub(crate) fn command(&self, command: impl FnOnce(crate::names::ConnRef) -> Command) {
        self.engine.send(command(self.opened.conn));
    }

    pub(crate) fn send_patience(&self) -> Patience {
        self.shared.lock().waiting.patience(Side::Send)
    }

    pub(crate) fn recv_patience(&self) -> Patience {
        self.shared.lock().waiting.patience(Side::Recv)
    }

    fn request(&self, request: Request) {
        self.engine.send(Command::Do(self.opened.conn, request));
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.shutdown(Shutdown::Both);
    }
}
