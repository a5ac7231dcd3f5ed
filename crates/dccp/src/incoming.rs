//! Connections that wait to be accepted.

use crate::addr::DccpAddr;
use crate::budget::{Budget, EngineBudget, SourceSeat};
use crate::error::AcceptError;
use crate::limits::RECV_BYTES_LISTENER;
use crate::names::Opened;
use crate::patience::Patience;
use crate::settings::{Buffers, Waiting};
use crate::shared::Shared;
#[cfg(unix)]
use crate::signal::ReadyFd;
use crate::signal::Signal;
#[cfg(feature = "tokio")]
use crate::sleepers;
use crate::sleepers::Sleepers;
use crate::thread_mark::is_on_engine;
use core::net::IpAddr;
use dccp_proto::wire::ServiceCode;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A connection that came in.
#[derive(Clone, Debug)]
pub(crate) struct Accepted {
    /// The thread that runs it.
    pub(crate) thread: usize,
    pub(crate) opened: Opened,
    pub(crate) service: ServiceCode,
    pub(crate) shared: Arc<Shared>,
}

/// A change at a listener, from [`Listener::poll_event`](crate::Listener::poll_event).
#[derive(Debug)]
#[non_exhaustive]
pub enum ListenerEvent {
    /// The socket at one of its addresses failed. Its connections live on, but nothing arrives until
    /// [`SocketRestored`](Self::SocketRestored). The engine opens a new socket at the same address as soon as the system permits.
    SocketLost {
        /// The address of the listener that the socket served.
        place: DccpAddr,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The socket at this address works again.
    SocketRestored {
        /// The address of the listener that the socket serves.
        place: DccpAddr,
    },
}

/// Connections that a listener refused as "too busy", by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ListenerStats {
    /// [`Options::backlog`](crate::Options::backlog) connections waited to be accepted.
    pub refused_backlog: u64,
    /// Their address had [`Options::connections_per_source`](crate::Options::connections_per_source) connections.
    pub refused_source: u64,
}

/// Events kept for the application; the oldest make room.
const EVENTS_MAX: usize = 16;

/// The connections that wait to be accepted, shared with the engine.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) buffers: Buffers,
    pub(crate) waiting: Waiting,
    /// Connections that one address may have.
    per_source: usize,
    /// Bytes that wait in all its connections, accepted and not.
    pub(crate) budget: Arc<Budget>,
    backlog: usize,
    state: Mutex<Queue>,
    arrival: Condvar,
}

/// The contents of the mutex of [`Incoming`].
#[derive(Debug, Default)]
struct Queue {
    connections: VecDeque<Accepted>,
    events: VecDeque<ListenerEvent>,
    stats: ListenerStats,
    is_closed: bool,
    signal: Option<Signal>,
    sleepers: Sleepers,
}

impl Queue {
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
    pub(crate) fn new(
        buffers: Buffers,
        waiting: Waiting,
        backlog: usize,
        per_source: usize,
    ) -> Self {
        Self {
            buffers,
            waiting,
            per_source,
            budget: Budget::new(RECV_BYTES_LISTENER),
            backlog,
            state: Mutex::default(),
            arrival: Condvar::new(),
        }
    }

    /// Whether a connection would be taken in now. If too many wait, counts it as refused.
    pub(crate) fn admits(&self) -> bool {
        self.admits_to(&mut self.lock())
    }

    fn admits_to(&self, state: &mut Queue) -> bool {
        let has_room = state.connections.len() < self.backlog;
        state.stats.refused_backlog += u64::from(!has_room && !state.is_closed);
        has_room && !state.is_closed
    }

    /// A place for a connection from this address. `None` if the address has too many; counts that as refused.
    pub(crate) fn seat(&self, engine: &Arc<EngineBudget>, from: IpAddr) -> Option<SourceSeat> {
        let seat = engine.seat(from, self.per_source);
        self.lock().stats.refused_source += u64::from(seat.is_none());
        seat
    }

    /// Connections refused until now.
    pub(crate) fn stats(&self) -> ListenerStats {
        self.lock().stats
    }

    /// Takes a connection in; `false` if too many wait.
    pub(crate) fn push(&self, accepted: Accepted) -> bool {
        let mut state = self.lock();
        if !self.admits_to(&mut state) {
            return false;
        }
        state.connections.push_back(accepted);
        state.update_signal();
        let called = state.sleepers.call();
        drop(state);
        called.wake(&self.arrival);
        true
    }

    /// Keeps an event for the application.
    pub(crate) fn push_event(&self, event: ListenerEvent) {
        let mut state = self.lock();
        if state.events.len() >= EVENTS_MAX {
            state.events.pop_front();
        }
        state.events.push_back(event);
    }

    /// Takes the oldest event.
    pub(crate) fn pop_event(&self) -> Option<ListenerEvent> {
        self.lock().events.pop_front()
    }

    /// No more connections will come; gives those of one thread that wait.
    pub(crate) fn close(&self, thread: usize) -> Vec<Accepted> {
        let mut state = self.lock();
        state.is_closed = true;
        let connections = core::mem::take(&mut state.connections);
        let belongs_to_thread = |accepted: &Accepted| accepted.thread == thread;
        let (left, others) = connections
            .into_iter()
            .partition::<Vec<_>, _>(belongs_to_thread);
        state.connections = others.into();
        state.update_signal();
        let called = state.sleepers.call();
        drop(state);
        called.wake(&self.arrival);
        left
    }

    pub(crate) fn pop(&self, patience: Patience) -> Result<Accepted, AcceptError> {
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

    /// As [`pop`](Self::pop), for tasks, without limit.
    #[cfg(feature = "tokio")]
    pub(crate) async fn popped(&self) -> Result<Accepted, AcceptError> {
        sleepers::until(|| self.lock(), |state| &mut state.sleepers, Queue::pop).await
    }

    /// Whether a call to accept would not wait.
    pub(crate) fn is_ready(&self) -> bool {
        let state = self.lock();
        !state.connections.is_empty() || state.is_closed
    }

    /// A descriptor that is readable while a connection waits.
    #[cfg(unix)]
    pub(crate) fn ready_fd(&self) -> std::io::Result<ReadyFd> {
        let mut state = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_reason() {
        let incoming = |backlog| Incoming::new(Buffers::default(), Waiting::default(), backlog, 1);
        let engine = EngineBudget::new();
        let (open, full) = (incoming(1), incoming(0));
        let from = IpAddr::from([192, 0, 2, 1]);
        let seat = open.seat(&engine, from);
        assert!(seat.is_some() && open.admits());
        assert_eq!(open.stats(), ListenerStats::default());
        assert!(full.seat(&engine, from).is_none() && !full.admits());
        let expected = ListenerStats {
            refused_backlog: 1,
            refused_source: 1,
        };
        assert_eq!(full.stats(), expected);
        // A listener that has ended refuses for another reason.
        full.close(0);
        assert!(!full.admits());
        assert_eq!(full.stats(), expected);
    }
}
