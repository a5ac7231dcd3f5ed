//! The seats of running tests.
//!
//! A test needs a seat. One source address, or IPv6 network of 64 bits, never takes the last free seat while it
//! holds another, so that the tests of one source leave room for those of others.

use crate::limits::{FLOWS_MAX, TESTS_MAX};
use core::net::IpAddr;
use dccp::Socket;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A data connection with the number of its flow.
pub(super) type Joining = (u32, Socket);

/// Why a test is refused.
pub(super) struct Refusal {
    pub(super) reason: &'static str,
    pub(super) next: &'static str,
}

impl Refusal {
    const BUSY: Self = Self {
        reason: "server busy: it runs the maximum number of tests",
        next: "wait until one has ended, and try again",
    };
    const SOURCE_BUSY: Self = Self {
        reason: "server busy: the last free place is kept for other addresses, and yours runs a test",
        next: "wait until your other test has ended, and try again",
    };
    const NO_TOKEN: Self = Self {
        reason: "the server's system has no random numbers",
        next: "try again",
    };
}

/// The running tests of all listeners.
#[derive(Default)]
pub(super) struct Seats {
    /// By token.
    tests: Mutex<BTreeMap<u64, RunningTest>>,
    has_served: AtomicBool,
}

struct RunningTest {
    source: IpAddr,
    /// Takes the data connections of the test.
    joining: SyncSender<Joining>,
}

impl Seats {
    /// Returns a seat for a test of `source`.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub(super) fn take(self: &Arc<Self>, source: IpAddr) -> Result<Seat, Refusal> {
        let mut token = [0; 8];
        getrandom::fill(&mut token).map_err(|_| Refusal::NO_TOKEN)?;
        let token = u64::from_be_bytes(token);
        let mut tests = self.lock();
        let free = TESTS_MAX.saturating_sub(tests.len());
        match free {
            0 => return Err(Refusal::BUSY),
            1 if tests.values().any(|t| t.source == source) => return Err(Refusal::SOURCE_BUSY),
            _ => {}
        }
        let (joining, joined) = sync_channel(FLOWS_MAX as usize);
        tests.insert(token, RunningTest { source, joining });
        Ok(Seat {
            seats: self.clone(),
            token,
            joined,
        })
    }

    /// Gives a data connection to its test. It is aborted if the test needs it no more, or has ended.
    pub(super) fn join(&self, token: u64, flow: u32, socket: Socket) {
        let joining = self.lock().get(&token).map(|test| test.joining.clone());
        let Some(joining) = joining else {
            return socket.abort();
        };
        if let Err(TrySendError::Full((_, socket)) | TrySendError::Disconnected((_, socket))) =
            joining.try_send((flow, socket))
        {
            socket.abort();
        }
    }

    /// Whether no test runs.
    pub(super) fn are_free(&self) -> bool {
        self.lock().is_empty()
    }

    /// Whether a test has been served.
    pub(super) fn has_served(&self) -> bool {
        self.has_served.load(Ordering::SeqCst)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, RunningTest>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The seat of one test; free again when dropped.
pub(super) struct Seat {
    seats: Arc<Seats>,
    pub(super) token: u64,
    pub(super) joined: Receiver<Joining>,
}

impl Seat {
    /// Notes that the test has been served, before the seat is free.
    pub(super) fn finish(self) {
        self.seats.has_served.store(true, Ordering::SeqCst);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp::limits::source_of;

    fn source(text: &str) -> IpAddr {
        source_of(text.parse().unwrap())
    }

    #[test]
    fn one_source_leaves_a_seat_to_others() {
        let seats = Arc::new(Seats::default());
        let (own, other) = (source("192.0.2.1"), source("192.0.2.2"));
        let mut held: Vec<Seat> = (1..TESTS_MAX)
            .map(|_| seats.take(own).ok().unwrap())
            .collect();
        let refusal = seats.take(own).err().unwrap();
        assert_eq!(refusal.reason, Refusal::SOURCE_BUSY.reason);
        held.push(seats.take(other).ok().unwrap());
        let refusal = seats.take(other).err().unwrap();
        assert_eq!(refusal.reason, Refusal::BUSY.reason);
        held.remove(0).finish();
        assert!(seats.has_served() && seats.take(own).is_err());
        assert!(seats.take(source("192.0.2.3")).is_ok());
        held.clear();
        assert!(seats.are_free());
    }

    #[test]
    fn ipv6_network_is_one_source() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:2"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
