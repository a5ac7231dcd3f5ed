//! Listening for connections.

use crate::addr::{DccpAddr, ToDccpAddrs};
use crate::engine::{Command, Engine, Listen, Opened, is_on_engine};
use crate::error::{AcceptError, BindError, OptionError};
use crate::group::{self, Membership};
use crate::options::{Buffers, Options, Waiting};
use crate::patience::{Patience, Side, Waited};
use crate::shared::Shared;
#[cfg(unix)]
use crate::signal::ReadyFd;
use crate::signal::Signal;
#[cfg(feature = "tokio")]
use crate::sleepers;
use crate::sleepers::Sleepers;
use crate::socket::Socket;
use core::time::Duration;
use dccp_io::{Carrier, Encapsulation, OpenError};
use dccp_proto::config::bounds;
use dccp_proto::wire::ServiceCode;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Waits for connections to one DCCP port at one or more addresses.
///
/// Dropping it stops listening and aborts the connections that were not accepted; accepted ones live on.
#[derive(Debug)]
pub struct Listener {
    engine: Engine,
    incoming: Arc<Incoming>,
    locals: Vec<DccpAddr>,
    options: Options,
}

/// DCCP ports tried where any free one is wanted.
const PORT_ATTEMPTS: usize = 64;

impl Listener {
    /// Listens at every address that `addrs` gives. UDP port 0 and DCCP port 0 stand for any that is free:
    /// [`local_addrs`](Self::local_addrs) tells which.
    ///
    /// To serve both families, give both `0.0.0.0` and `[::]`; to serve link-local IPv6 peers too, this host's own
    /// link-local address with its interface.
    ///
    /// # Errors
    /// When an option is not allowed, or an address or port is taken.
    pub fn bind(addrs: impl ToDccpAddrs, options: &Options) -> Result<Self, BindError> {
        let locals = addrs.to_dccp_addrs()?;
        let is_any = locals.iter().any(|local| local.dccp_port == 0);
        for _ in 1..if is_any { PORT_ATTEMPTS } else { 1 } {
            match Self::bind_at(locals.clone(), is_any, options) {
                Err(BindError::InUse { .. }) => {}
                bound => return bound,
            }
        }
        Self::bind_at(locals, is_any, options)
    }

    fn bind_at(
        mut locals: Vec<DccpAddr>,
        is_any: bool,
        options: &Options,
    ) -> Result<Self, BindError> {
        let config = options.checked_config(bounds::SERVICE_CODES)?;
        if is_any {
            let dccp_port = random_port()?;
            let unset = locals.iter_mut().filter(|local| local.dccp_port == 0);
            unset.for_each(|local| local.dccp_port = dccp_port);
        }
        let dccp_port = locals.first().ok_or(BindError::NoAddress)?.dccp_port;
        if locals.iter().any(|local| local.dccp_port != dccp_port) {
            return Err(OptionError::new("addrs", "must have one DCCP port").into());
        }
        // 6773-3.8-1: a program with the stack inside leaves this port to a system-wide service.
        let is_reserved = locals.iter().any(|a| a.udp_port == RESERVED_UDP_PORT);
        if options.encapsulation == Encapsulation::Udp && is_reserved {
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
            let locals = listener.locals.iter().map(DccpAddr::udp_addr).collect();
            let engine = listener.engine.at(thread);
            let bound = engine.ask(|reply| {
                Command::Listen(Box::new(Listen {
                    encapsulation: options.encapsulation,
                    gso: options.gso,
                    locals,
                    dccp_port,
                    is_any_port: is_any,
                    services: options.services(),
                    config: config.clone(),
                    incoming: listener.incoming.clone(),
                    thread,
                    sockets: sockets.iter_mut().map(Iterator::next).collect(),
                    reply,
                }))
            });
            // Where this fails the listener is dropped, and with it the threads that listen already.
            let bound = bound??.into_iter();
            listener.locals = bound.map(|local| (local, dccp_port).into()).collect();
        }
        Ok(listener)
    }

    /// Waits until earlier listeners that were dropped have gone from all threads, if there are several: the last of the
    /// threads lets the others' sockets go, which happens in their next turn.
    fn settle(&self) -> Result<(), BindError> {
        let threads = self.engine.threads();
        if threads == 1 {
            return Ok(());
        }
        for _ in 0..2 {
            for thread in 0..threads {
                self.engine.at(thread).ask(Command::Answer)?;
            }
        }
        Ok(())
    }

    /// Opens a socket for each address and thread, if there are several threads: all are open before the first is used, so
    /// that no flow begins at one thread and goes on at another. None where this engine may have them already.
    fn open_shared(&mut self) -> Result<Vec<std::vec::IntoIter<Membership>>, BindError> {
        let threads = self.engine.threads();
        let mut all = Vec::new();
        for local in &mut self.locals {
            let mut sockets = Vec::new();
            if threads > 1 {
                let carrier =
                    Carrier::new(self.options.encapsulation, dccp_io::Options::default())?;
                match carrier.open_shared(local.udp_addr(), threads) {
                    Ok(transports) => {
                        let udp_port = transports.first().map_or(0, |t| t.local_addr().port());
                        local.udp_port = udp_port;
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

    /// The addresses where it listens, with the ports that it got.
    pub fn local_addrs(&self) -> &[DccpAddr] {
        &self.locals
    }

    /// The next connection whose handshake is complete.
    ///
    /// # Errors
    /// When there is none (in time), or the listener is closed.
    pub fn accept(&self) -> Result<Socket, AcceptError> {
        self.take(self.options.waiting.patience(Side::Recv))
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
        if !self.engine.is_here() {
            return Err(Waited::EngineGone.into());
        }
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

/// 4340-5.1-2: a random DCCP port of the dynamic range (RFC 4340 §19.9).
pub(crate) fn random_port() -> std::io::Result<u16> {
    const DYNAMIC: u16 = 0xC000;
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(DYNAMIC | u16::from_le_bytes(bytes))
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
            if is_on_engine() {
                // It would wait for itself.
                return Err(AcceptError::WouldBlock);
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
