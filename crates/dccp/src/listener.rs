//! Listening for connections.

use crate::engine::{Command, Engine, Listen, Opened};
use crate::error::{AcceptError, BindError};
use crate::group::{self, Membership};
use crate::options::{Buffers, Options, Waiting};
use crate::patience::Patience;
use crate::shared::Shared;
#[cfg(unix)]
use crate::signal::ReadyFd;
use crate::signal::Signal;
#[cfg(feature = "tokio")]
use crate::sleepers;
use crate::sleepers::Sleepers;
use crate::socket::Socket;
use core::net::SocketAddr;
use core::time::Duration;
use dccp_io::{Carrier, Encapsulation, OpenError};
use dccp_proto::config::bounds;
use dccp_proto::wire::ServiceCode;
use std::collections::VecDeque;
use std::net::ToSocketAddrs;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Waits for connections to one DCCP port at one or more addresses.
///
/// Dropping it stops listening; connections that nobody accepted are aborted, accepted ones live on.
#[derive(Debug)]
pub struct Listener {
    engine: Engine,
    incoming: Arc<Incoming>,
    locals: Vec<SocketAddr>,
    options: Options,
}

impl Listener {
    /// Listens on `dccp_port` at every address that `addrs` gives: address and UDP port; over IP
    /// the UDP port means nothing. To serve both families, give both `0.0.0.0` and `[::]`; to serve
    /// link-local IPv6 peers too, this host's own link-local address with its interface.
    ///
    /// # Errors
    /// When an option cannot be, or an address or port cannot be had.
    pub fn bind(
        addrs: impl ToSocketAddrs,
        dccp_port: u16,
        options: &Options,
    ) -> Result<Self, BindError> {
        let config = options.checked_config(bounds::SERVICE_CODES)?;
        let locals: Vec<SocketAddr> = addrs.to_socket_addrs()?.collect();
        if locals.is_empty() {
            return Err(BindError::NoAddress);
        }
        // 6773-3.8-1: a program with the stack inside leaves this port to a system-wide service.
        if options.encapsulation == Encapsulation::Udp
            && locals.iter().any(|a| a.port() == RESERVED_UDP_PORT)
        {
            return Err(BindError::ReservedUdpPort);
        }
        let engine = options.engine_or_shared()?;
        let mut listener = Self {
            engine,
            incoming: Arc::new(Incoming::new(options)),
            locals,
            options: options.clone(),
        };
        listener.settle()?;
        let mut sockets = listener.open_shared()?;
        for thread in 0..listener.engine.threads() {
            let (reply, answer) = sync_channel(1);
            let listen = Listen {
                encapsulation: options.encapsulation,
                gso: options.gso,
                locals: listener.locals.clone(),
                dccp_port,
                services: options.services(),
                config: config.clone(),
                incoming: listener.incoming.clone(),
                thread,
                sockets: sockets.iter_mut().map(Iterator::next).collect(),
                reply,
            };
            let engine = listener.engine.at(thread);
            engine.send(Command::Listen(Box::new(listen)));
            // Where this fails the listener goes, and with it what listens already.
            listener.locals = answer.recv().map_err(|_| engine_stopped())??;
        }
        Ok(listener)
    }

    /// What listened before and was dropped has gone from all threads, if there are several: the last of them lets the
    /// others' sockets go, which they do in their next turn.
    fn settle(&self) -> Result<(), BindError> {
        let threads = self.engine.threads();
        if threads == 1 {
            return Ok(());
        }
        for _ in 0..2 {
            for thread in 0..threads {
                let (reply, answer) = sync_channel(1);
                self.engine.at(thread).send(Command::Answer(reply));
                answer.recv().map_err(|_| engine_stopped())?;
            }
        }
        Ok(())
    }

    /// For each address one socket for each thread, if there are several: all are open before the first is used, so
    /// that no flow begins at one thread and goes on at another. None where this engine may have them already.
    fn open_shared(&mut self) -> Result<Vec<std::vec::IntoIter<Membership>>, BindError> {
        let threads = self.engine.threads();
        let mut all = Vec::new();
        for local in &mut self.locals {
            let mut sockets = Vec::new();
            if threads > 1 {
                let carrier =
                    Carrier::new(self.options.encapsulation, dccp_io::Options::default())?;
                match carrier.open_shared(*local, threads) {
                    Ok(transports) => {
                        local.set_port(transports.first().map_or(0, |t| t.local_addr().port()));
                        sockets = group::found(transports, self.engine.mailboxes());
                    }
                    Err(OpenError::InUse(_)) => {}
                    Err(other) => return Err(other.into()),
                }
            }
            all.push(sockets.into_iter());
        }
        Ok(all)
    }

    /// The addresses and UDP ports where it listens.
    pub fn local_addrs(&self) -> &[SocketAddr] {
        &self.locals
    }

    /// The next connection whose handshake is complete.
    ///
    /// # Errors
    /// When there is none and the call may not wait (longer), or the listener is closed.
    pub fn accept(&self) -> Result<Socket, AcceptError> {
        let waiting = self.options.waiting;
        let patience = if waiting.is_nonblocking {
            Patience::None
        } else {
            Patience::of(waiting.recv_timeout)
        };
        self.take(patience)
    }

    /// The next connection within `at_most`.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn accept_timeout(&self, at_most: Duration) -> Result<Socket, AcceptError> {
        self.take(Patience::For(at_most))
    }

    /// Whether a call to accept would not have to wait.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_news(&self) -> bool {
        let state = self.incoming.lock();
        !state.connections.is_empty() || state.is_closed
    }

    /// A descriptor that is readable while a connection waits.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    #[cfg(unix)]
    pub fn ready_fd(&self) -> std::io::Result<ReadyFd> {
        let mut state = self.incoming.lock();
        if state.signal.is_none() {
            state.signal = Some(Signal::new()?);
        }
        state.update_signal();
        match &state.signal {
            Some(signal) => Ok(ReadyFd {
                fd: signal.watch()?,
            }),
            None => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }

    /// As [`accept`](Self::accept), for tasks.
    #[cfg(feature = "tokio")]
    pub(crate) async fn accepted(&self) -> Result<Socket, AcceptError> {
        let lock = || self.incoming.lock();
        let accepted = sleepers::until(lock, |state| &mut state.sleepers, State::pop).await?;
        Ok(self.socket(&accepted))
    }

    fn take(&self, patience: Patience) -> Result<Socket, AcceptError> {
        Ok(self.socket(&self.incoming.pop(patience)?))
    }

    fn socket(&self, accepted: &Accepted) -> Socket {
        let engine = self.engine.at(accepted.thread);
        Socket::from_accepted(&engine, accepted, &self.options)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for thread in 0..self.engine.threads() {
            let unlisten = Command::Unlisten(self.incoming.clone(), thread);
            self.engine.at(thread).send(unlisten);
        }
    }
}

/// UDP port of a system-wide DCCP service (RFC 6773 §3.8).
const RESERVED_UDP_PORT: u16 = 6511;

pub(crate) fn engine_stopped() -> std::io::Error {
    std::io::Error::other("the engine's thread has ended")
}

/// A connection that came in.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// The thread that runs it.
    pub(crate) thread: usize,
    pub(crate) opened: Opened,
    pub(crate) service: ServiceCode,
    pub(crate) shared: Arc<Shared>,
}

/// The connections that wait to be accepted, shared with the engine.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) buffers: Buffers,
    pub(crate) waiting: Waiting,
    backlog: usize,
    state: Mutex<State>,
    arrival: Condvar,
}

#[derive(Debug, Default)]
struct State {
    connections: VecDeque<Accepted>,
    is_closed: bool,
    signal: Option<Signal>,
    sleepers: Sleepers,
}

impl State {
    /// Takes the next one, or says why there will be none; `None`: there is none now.
    fn pop(&mut self) -> Option<Result<Accepted, AcceptError>> {
        let accepted = self.connections.pop_front();
        if accepted.is_none() && self.is_closed {
            return Some(Err(AcceptError::Closed));
        }
        self.update_signal();
        accepted.map(Ok)
    }

    fn update_signal(&mut self) {
        let up = !self.connections.is_empty() || self.is_closed;
        if let Some(signal) = &mut self.signal {
            signal.set(up);
        }
    }
}

impl Incoming {
    fn new(options: &Options) -> Self {
        Self {
            buffers: options.buffers,
            waiting: options.waiting,
            backlog: options.backlog,
            state: Mutex::default(),
            arrival: Condvar::new(),
        }
    }

    /// Whether a connection would be taken in now.
    pub(crate) fn has_room(&self) -> bool {
        self.has_room_in(&self.lock())
    }

    fn has_room_in(&self, state: &State) -> bool {
        state.connections.len() < self.backlog && !state.is_closed
    }

    /// Takes a connection in; `false` if too many wait.
    pub(crate) fn push(&self, accepted: Accepted) -> bool {
        let mut state = self.lock();
        if !self.has_room_in(&state) {
            return false;
        }
        state.connections.push_back(accepted);
        state.update_signal();
        let called = state.sleepers.call();
        drop(state);
        called.wake(&self.arrival);
        true
    }

    /// No more connections will come; gives those of one thread that wait.
    pub(crate) fn close(&self, thread: usize) -> Vec<Accepted> {
        let mut state = self.lock();
        state.is_closed = true;
        let connections = core::mem::take(&mut state.connections);
        let is_its = |accepted: &Accepted| accepted.thread == thread;
        let (left, others) = connections.into_iter().partition::<Vec<_>, _>(is_its);
        state.connections = others.into();
        state.update_signal();
        let called = state.sleepers.call();
        drop(state);
        called.wake(&self.arrival);
        left
    }

    fn pop(&self, patience: Patience) -> Result<Accepted, AcceptError> {
        let mut waiting = patience.begin();
        let mut state = self.lock();
        loop {
            if let Some(popped) = state.pop() {
                return popped;
            }
            let left = waiting.left()?;
            state.sleepers.threads += 1;
            state = match left {
                None => self
                    .arrival
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    self.arrival
                        .wait_timeout(state, time)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
            state.sleepers.threads -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
