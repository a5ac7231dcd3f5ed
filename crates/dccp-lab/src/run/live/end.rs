//! Common parts of all transports: counters of a receiving end, and the sending end of a stream.

use crate::run::outcome::RoundTrip;
use crate::run::stage::State;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The longest wait of a thread before it looks whether it is to end.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Locks a mutex. A thread that panicked has left whole values: all are counters and lists.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The counters of a stream's receiving end.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) packets: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Datagrams that are missing, where datagrams have numbers.
    pub(super) missing: AtomicU64,
    /// Datagrams that arrived with a congestion mark.
    pub(super) marked: AtomicU64,
}

impl Received {
    /// Counts what arrived.
    pub(super) fn add(&self, packets: u64, bytes: u64) {
        self.packets.fetch_add(packets, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The receiving ends of a flow, by the ports of their senders.
#[derive(Debug, Default)]
pub(super) struct Receivers {
    by_port: Mutex<BTreeMap<u16, Arc<Received>>>,
    is_over: AtomicBool,
}

impl Receivers {
    /// The counters of the stream from a port.
    pub(super) fn of(&self, port: u16) -> Arc<Received> {
        lock(&self.by_port).entry(port).or_default().clone()
    }

    /// Ends the threads that receive.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// The counters of a stream's sending end.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) sent: u64,
    pub(super) lost: Option<u64>,
    pub(super) marked: Option<u64>,
    pub(super) loss_events: Option<u64>,
    pub(super) retransmitted: u64,
    pub(super) dropped_by_sender: u64,
    pub(super) dropped_by_receiver: u64,
    pub(super) state: State,
    /// Why the stream ended.
    pub(super) broken: Option<String>,
}

/// The sending end of a stream.
pub(super) trait Sender: Send {
    /// The port that it sends from, once it is open.
    fn port(&self) -> Option<u16>;
    /// Its counters.
    fn sample(&self) -> Sample;
    /// Bytes of answers.
    fn answered_bytes(&self) -> u64 {
        0
    }
    /// Round trips since the last call. `now` is the time of the run.
    fn round_trips(&mut self, now: Duration) -> Vec<RoundTrip>;
    /// Round trips of stamped datagrams.
    fn pings(&self) -> Vec<RoundTrip> {
        Vec::new()
    }
    /// Datagrams that were due at a time, and those of them that were given to the transport late.
    fn lateness(&self) -> (u64, u64);
    /// Ends the stream at once.
    fn stop(&mut self);
}
