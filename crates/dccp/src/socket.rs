//! A connection as the application uses it.

#[cfg(target_os = "linux")]
use crate::engine::ConnRef;
use crate::engine::{Calls, Command, Connect, Engine, Opened, Request, with_scope};
use crate::error::{CloseError, ConnectError, RecvError, SendError};
use crate::listener::{Accepted, engine_stopped};
use crate::options::Options;
use crate::patience::{Patience, Waited};
use crate::recv_buffer::RecvBatch;
use crate::send_buffer::{DatagramId, FateReport};
use crate::sending::{SendItem, SendOptions};
use crate::shared::{Ready, Shared, Side, State};
#[cfg(unix)]
use crate::signal::ReadyFd;
use crate::source::{DatagramSource, SourceReply, SourceRequest};
use crate::stats::{Inspection, Stats};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::path::{Encap, Flow};
use dccp_proto::queue::Delivery;
use dccp_proto::wire::{PacketType, Payload, ResetCode, ServiceCode};
use dccp_proto::{CloseReason, Event, Instant, RateHint};
use std::io;
use std::net::{Shutdown, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

/// A connection: datagrams in both directions under congestion control.
///
/// All calls take `&self`, so that threads can share a socket, for example one that sends and one
/// that receives. Dropping it sends what waits and closes in the background; the engine needs the
/// process to live for that: call [`close`](Self::close) before the program ends.
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
    /// Connects to `dccp_port` at `addr`: host and UDP port (over IP the UDP port means nothing). A
    /// link-local IPv6 address needs its interface (`fe80::1%eth0`) and works over UDP. If the name
    /// has several addresses they are tried in turn. A non-blocking socket is returned at
    /// once, and [`Event::Connected`] or the error of a receive tells how it went.
    ///
    /// # Errors
    /// When an option cannot be, the peer does not want or does not answer, or the system has no
    /// socket.
    pub fn connect(
        addr: impl ToSocketAddrs,
        dccp_port: u16,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let mut last = ConnectError::NoAddress;
        for remote in Self::remotes(addr, options)? {
            match Self::connect_one(remote, dccp_port, options) {
                Ok(socket) => return Ok(socket),
                Err(e @ ConnectError::Option(_)) => return Err(e),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// Where to connect to.
    pub(crate) fn remotes(
        addr: impl ToSocketAddrs,
        options: &Options,
    ) -> io::Result<Vec<SocketAddr>> {
        let fits =
            |remote: &SocketAddr| options.bind.is_none_or(|b| b.is_ipv4() == remote.is_ipv4());
        let remotes = addr.to_socket_addrs()?.map(as_the_system_takes_it);
        Ok(remotes.filter(fits).collect())
    }

    fn connect_one(
        remote: SocketAddr,
        dccp_port: u16,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let began = crate::clock::now();
        let socket = Self::open(remote, dccp_port, options)?;
        if options.waiting.is_nonblocking {
            return Ok(socket);
        }
        // The core bounds the handshake by `connect_timeout`.
        let opened = socket
            .shared
            .wait(Side::Send, Patience::Forever, |state| state.opened());
        match opened {
            Ok(Err(reason)) => Err(socket.connect_error(began, (remote, dccp_port), reason)),
            _ => Ok(socket),
        }
    }

    /// Begins the handshake.
    pub(crate) fn open(
        remote: SocketAddr,
        dccp_port: u16,
        options: &Options,
    ) -> Result<Self, ConnectError> {
        let config = options.checked_config(1)?;
        let service = config.service_code;
        let engine = options.engine_or_shared()?.next();
        let shared = Arc::new(Shared::new(options.buffers, options.waiting));
        let (reply, answer) = sync_channel(1);
        engine.send(Command::Connect(Box::new(Connect {
            encapsulation: options.encapsulation,
            gso: options.gso,
            local: options.bind,
            remote,
            dccp_port,
            config,
            mtu: options.mtu,
            shared: shared.clone(),
            reply,
        })));
        let opened = answer.recv().map_err(|_| engine_stopped())??;
        Ok(Self {
            engine,
            opened,
            service,
            shared,
            linger: options.linger,
        })
    }

    /// What it means that a handshake with `to` ended so.
    pub(crate) fn connect_error(
        &self,
        began: Instant,
        to: (SocketAddr, u16),
        reason: CloseReason,
    ) -> ConnectError {
        let (remote, port) = to;
        match reason {
            CloseReason::TimedOut => ConnectError::NoAnswer {
                remote,
                port,
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
            } => ConnectError::Refused { remote, port },
            CloseReason::Reset {
                code: ResetCode::BAD_SERVICE_CODE,
                ..
            } => ConnectError::BadServiceCode {
                remote,
                port,
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
        Self {
            engine: engine.clone(),
            opened: accepted.opened,
            service: accepted.service,
            shared: accepted.shared.clone(),
            linger: options.linger,
        }
    }
}

/// Data.
impl Socket {
    /// Puts a datagram into the send buffer, waiting for room if the socket is blocking. It leaves
    /// when the congestion control allows.
    ///
    /// # Errors
    /// When it is too long, there is no room (in time), or sending is over.
    pub fn send(&self, data: &[u8]) -> Result<DatagramId, SendError> {
        self.send_with(data, SendOptions::new())
    }

    /// As [`send`](Self::send), with what is said of the datagram: priority, deadline, key, and what happens
    /// when the send buffer is full.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_with(&self, data: &[u8], options: SendOptions) -> Result<DatagramId, SendError> {
        self.send_payload(Payload::Bytes(data), options)
    }

    /// Sends a datagram of `len` zeros, which are stored nowhere on this side.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_zeros(&self, len: usize) -> Result<DatagramId, SendError> {
        self.send_payload(Payload::Zeros(len), SendOptions::new())
    }

    fn send_payload(
        &self,
        payload: Payload<'_>,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        self.shared
            .wait(Side::Send, self.send_patience(), |state| {
                self.push(state, payload, &options)
            })?
    }

    /// Puts a datagram into the send buffer, or says why not; `None`: there is no room now.
    pub(crate) fn push(
        &self,
        state: &mut State,
        payload: Payload<'_>,
        options: &SendOptions,
    ) -> Option<Result<DatagramId, SendError>> {
        let result = state.push(payload, options)?;
        self.feed(state);
        Some(result)
    }

    /// Puts many datagrams into the send buffer in one go, each with a result of its own. Returns
    /// how many are in the buffer; that is less than all if the socket is non-blocking or the time
    /// is over, or if some are too long.
    ///
    /// # Errors
    /// When none could be taken: the error of the first.
    pub fn send_batch(&self, items: &mut [SendItem<'_>]) -> Result<usize, SendError> {
        let mut done = 0;
        let waited = self.shared.wait(Side::Send, self.send_patience(), |state| {
            while let Some(item) = items.get_mut(done)
                && let Some(result) = state.push(item.payload, &item.options)
            {
                item.result = result;
                done += 1;
            }
            self.feed(state);
            (done == items.len()).then_some(())
        });
        if let Err(Waited::TimedOut) = waited {
            for item in items.iter_mut().skip(done) {
                item.result = Err(SendError::TimedOut);
            }
        }
        let taken = items.iter().filter(|i| i.result.is_ok()).count();
        match items.first() {
            Some(SendItem { result: Err(e), .. }) if taken == 0 => Err(e.clone()),
            _ => Ok(taken),
        }
    }

    /// Takes back what waits in the send buffer ([`Fate::Withdrawn`](dccp_proto::queue::Fate)); gives
    /// how many datagrams that were.
    pub fn withdraw_queued(&self) -> usize {
        let taken = self.shared.lock().tx.withdraw(crate::clock::now());
        self.shared.wake();
        taken
    }

    /// Asks the application for a datagram at the moment when it may leave: so it is never older than its decision.
    /// What was sent by other calls leaves before. The answer goes into the vector, which is empty, and counts as
    /// any datagram that is sent.
    ///
    /// `ask` is called until it says [`SourceReply::Nothing`], and again after each [`data_ready`](Self::data_ready). It runs
    /// in the engine's thread, which serves other sockets too: it must not wait, neither for locks that are held
    /// for long nor in calls of a socket that wait, ask for the state or close. One that panics is not called
    /// again. It is dropped when the connection ends, or another takes its place.
    pub fn set_datagram_source(
        &self,
        ask: impl FnMut(&SourceRequest, &mut Vec<u8>) -> SourceReply + Send + 'static,
    ) {
        let mut state = self.shared.lock();
        let replaced = state.set_source(DatagramSource::new(ask));
        self.feed(&mut state);
        drop(state);
        drop(replaced);
    }

    /// The closure of [`set_datagram_source`](Self::set_datagram_source), which had nothing to send, may have something again.
    pub fn data_ready(&self) {
        let mut state = self.shared.lock();
        state.want_pull();
        self.feed(&mut state);
    }

    /// Copies the next datagram into `buf` and returns its length, which is more than `buf.len()`
    /// if its end did not fit and is lost.
    ///
    /// # Errors
    /// When there is none (in time), or the connection is over and all data have been handed out.
    pub fn recv(&self, buf: &mut [u8]) -> Result<usize, RecvError> {
        self.recv_meta(buf).map(|(len, _)| len)
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_meta(&self, buf: &mut [u8]) -> Result<(usize, Delivery), RecvError> {
        self.shared
            .wait(Side::Recv, self.recv_patience(), |s| s.pop_into(buf))?
    }

    /// Takes the datagrams that wait, at most as many as `batch` has room for; waits for the first if
    /// the socket is blocking. Returns how many.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_batch(&self, batch: &mut RecvBatch) -> Result<usize, RecvError> {
        self.shared
            .wait(Side::Recv, self.recv_patience(), |s| s.pop_batch(batch))?
    }

    /// Appends the fates that are known to `reports`, at most `at_most`, without waiting. Needs
    /// [`Options::fate_buffer`].
    pub fn recv_fates(&self, reports: &mut Vec<FateReport>, at_most: usize) {
        let mut state = self.shared.lock();
        state.tx.pop_fates(reports, at_most);
        state.update_signal();
    }

    /// The next event, without waiting.
    pub fn poll_event(&self) -> Option<Event> {
        self.shared.lock().pop_event()
    }

    /// Tells the engine that there is something to send, if it does not look by itself.
    fn feed(&self, state: &mut State) {
        let is_earlier = state.tx.take_earlier_expiry();
        if core::mem::take(&mut state.is_starving) || is_earlier {
            self.request(Request::DataReady);
        }
    }
}

/// The end.
impl Socket {
    /// Ends one direction or both, without waiting. DCCP has no half-close: ending `Write` sends what
    /// waits and then closes the connection; ending `Read` tells the peer that its data are not
    /// read.
    pub fn shutdown(&self, how: Shutdown) {
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

    /// Sends what waits, closes, and waits for the end, `linger` at most.
    ///
    /// # Errors
    /// When the connection has not ended in time; it then ends in the background.
    pub fn close(&self) -> Result<CloseReason, CloseError> {
        self.shutdown(Shutdown::Write);
        self.wait_closed(self.linger)
    }

    /// Waits until the connection has ended, whoever ends it.
    ///
    /// # Errors
    /// When it has not ended within `at_most`.
    pub fn wait_closed(&self, at_most: Duration) -> Result<CloseReason, CloseError> {
        self.shared
            .wait(Side::Send, Patience::For(at_most), |state| state.ended())
            .map_err(|_| CloseError::TimedOut)
    }

    /// Ends the connection at once by Reset 2, Aborted; what waits is withdrawn.
    pub fn abort(&self) {
        self.request(Request::Abort);
    }
}

/// What can be asked and set.
impl Socket {
    /// The peer's address and, over UDP, its UDP port.
    pub fn peer_addr(&self) -> SocketAddr {
        let path = self.opened.flow.path;
        match path.encap {
            Encap::Ip => SocketAddr::new(path.remote, 0),
            Encap::Udp { remote_port, .. } => {
                let place = SocketAddr::new(path.remote, remote_port);
                with_scope(place, self.opened.scope_id)
            }
        }
    }

    /// Addresses and ports of the connection.
    pub fn flow(&self) -> Flow {
        self.opened.flow
    }

    /// The Service Code of the connection (5595-3.3-2).
    pub fn service_code(&self) -> ServiceCode {
        self.service
    }

    /// The most bytes that a datagram can hold now; `None` before the connection is open. An
    /// [`Event::Mps`] tells when it changes.
    pub fn max_packet_size(&self) -> Option<usize> {
        self.shared.lock().mps
    }

    /// The connection at this moment, or as it was at its end: state, both controllers, negotiated
    /// values, packet sizes. `None` if the engine has died.
    pub fn snapshot(&self) -> Option<ConnSnapshot> {
        self.inspect().map(|i| i.snapshot)
    }

    /// Counters of now, or of the connection's end. `None` if the engine has died.
    pub fn stats(&self) -> Option<Stats> {
        let seen = self.inspect()?;
        let state = self.shared.lock();
        Some(Stats {
            sent: state.sent(),
            received: state.rx.counts(),
            connection: seen.connection,
            endpoint: seen.endpoint,
            pacing: seen.pacing,
            transport: seen.transport,
        })
    }

    /// What the network takes now, and how long a datagram would wait that is sent now. [`Options::rate_hints`] tells
    /// when it changes. `None` before there is a round-trip time, and when the connection is over.
    pub fn rate_hint(&self) -> Option<RateHint> {
        let (reply, answer) = sync_channel(1);
        self.request(Request::RateHint(reply));
        answer.recv().ok().flatten()
    }

    fn inspect(&self) -> Option<Inspection> {
        let (reply, answer) = sync_channel(1);
        if !self.shared.lock().is_ended() {
            self.request(Request::Inspect(reply));
            if let Ok(seen) = answer.recv() {
                return Some(seen);
            }
        }
        self.shared.lock().last.clone()
    }

    /// Tells the peer that this application is slow to read, so that it does not send faster
    /// (RFC 4340 §11.6); or that it is not slow any more.
    pub fn set_slow_receiver(&self, is_slow: bool) {
        self.request(Request::SlowReceiver(is_slow));
    }

    /// Datagrams that wait in the send buffer.
    pub fn queued(&self) -> usize {
        self.shared.lock().tx.len()
    }

    /// What can be done without waiting.
    pub fn ready(&self) -> Ready {
        self.shared.lock().ready()
    }

    /// A descriptor that is readable while [`ready`](Self::ready) has `recv`, `event` or `fates`, and
    /// when there is room again after a send found none.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    #[cfg(unix)]
    pub fn ready_fd(&self) -> io::Result<ReadyFd> {
        let mut state = self.shared.lock();
        Ok(ReadyFd {
            fd: state.signal()?.watch()?,
        })
    }

    /// Lets calls wait or not.
    pub fn set_nonblocking(&self, on: bool) {
        self.shared.lock().waiting.is_nonblocking = on;
    }

    /// How long sending waits for room; `None`: for ever.
    pub fn set_send_timeout(&self, at_most: Option<Duration>) {
        self.shared.lock().waiting.send_timeout = at_most;
    }

    /// How long receiving waits; `None`: for ever.
    pub fn set_recv_timeout(&self, at_most: Option<Duration>) {
        self.shared.lock().waiting.recv_timeout = at_most;
    }

    /// What the other parts of the crate need of it.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Its line to the engine.
    pub(crate) fn calls(&self) -> Calls {
        let (engine, conn) = (self.engine.clone(), self.opened.conn);
        Calls::to(move |request| engine.send(Command::Do(conn, request)))
    }

    /// Hands the engine a command about the connection.
    #[cfg(target_os = "linux")]
    pub(crate) fn command(&self, command: impl FnOnce(ConnRef) -> Command) {
        self.engine.send(command(self.opened.conn));
    }

    pub(crate) fn send_patience(&self) -> Patience {
        let waiting = self.shared.lock().waiting;
        waiting.patience(waiting.send_timeout)
    }

    pub(crate) fn recv_patience(&self) -> Patience {
        let waiting = self.shared.lock().waiting;
        waiting.patience(waiting.recv_timeout)
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

/// What a system's own sockets make of an address: one of IPv4 that is written as IPv6 is IPv4, and
/// the address that stands for all is this host. The path must name what packets really carry.
fn as_the_system_takes_it(mut remote: SocketAddr) -> SocketAddr {
    let ip = remote.ip().to_canonical();
    if ip != remote.ip() {
        remote.set_ip(ip);
    }
    match ip {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => remote.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => remote.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    remote
}
