//! The seats of running tests.
//!
//! A test needs a seat. One source address, or IPv6 network of 64 bits, never takes the last free seat while it
//! holds another, so that the tests of one source leave room for those of others.

use super::metrics::Metrics;
use crate::limits::FLOWS_MAX;
use crate::transport::Flow;
use crate::wire::message::{RefusalCode, Refused};
use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A data connection with the number of its flow.
pub(super) type Joining = (u16, Arc<dyn Flow>);

/// The refusals of a server without a free seat.
fn busy(seats: usize) -> Refused {
    Refused::new(
        RefusalCode::Busy,
        format!("the server is busy: {seats} of {seats} tests run"),
        "wait until one has ended, and try again",
    )
}

fn source_busy() -> Refused {
    Refused::new(
        RefusalCode::Busy,
        "the server is busy: its last free place is kept for other addresses, and yours runs a test",
        "wait until your other test has ended, and try again",
    )
}

fn no_token() -> Refused {
    Refused::new(
        RefusalCode::Busy,
        "the server's system has no random numbers",
        "try again",
    )
}

/// The running tests of all listeners.
pub(super) struct Seats {
    /// How many there are.
    count: usize,
    /// By token.
    tests: Mutex<BTreeMap<u64, RunningTest>>,
    has_served: AtomicBool,
    metrics: Metrics,
}

struct RunningTest {
    source: IpAddr,
    /// Takes the data connections of the test.
    joining: SyncSender<Joining>,
}

impl Seats {
    pub(super) fn new(count: u32) -> Self {
        Self {
            count: count as usize,
            tests: Mutex::default(),
            has_served: AtomicBool::new(false),
            metrics: Metrics::default(),
        }
    }

    /// Returns a seat for a test of `source`.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub(super) fn take(self: &Arc<Self>, source: IpAddr) -> Result<Seat, Refused> {
        let mut tests = self.lock();
        let free = self.count.saturating_sub(tests.len());
        match free {
            0 => return Err(busy(self.count)),
            1 if tests.values().any(|t| t.source == source) => return Err(source_busy()),
            _ => {}
        }
        let token = new_token()?;
        let (joining, joined) = sync_channel(FLOWS_MAX as usize);
        tests.insert(token, RunningTest { source, joining });
        self.metrics.set_running(tests.len());
        Ok(Seat {
            seats: self.clone(),
            token,
            joined,
        })
    }

    /// Gives a data connection to its test. It is aborted if the test needs it no more, or has ended.
    pub(super) fn join(&self, token: u64, id: u16, flow: Arc<dyn Flow>) {
        let joining = self.lock().get(&token).map(|test| test.joining.clone());
        let Some(joining) = joining else {
            return flow.abort();
        };
        if let Err(TrySendError::Full((_, flow)) | TrySendError::Disconnected((_, flow))) =
            joining.try_send((id, flow))
        {
            flow.abort();
        }
    }

    /// Whether a test of this source has the token. So the server sends test data to the host of the control connection only.
    pub(super) fn expects(&self, token: u64, source: IpAddr) -> bool {
        self.lock().get(&token).is_some_and(|t| t.source == source)
    }

    /// Whether a test of this source runs.
    pub(super) fn has_test_of(&self, source: IpAddr) -> bool {
        self.lock().values().any(|t| t.source == source)
    }

    /// The counters of the server.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
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
    /// Names the next test of a series. Connections of the test before reach it no more.
    pub(super) fn renew(&mut self) -> Result<(), Refused> {
        let token = new_token()?;
        let mut tests = self.seats.lock();
        if let Some(mut test) = tests.remove(&self.token) {
            (test.joining, self.joined) = sync_channel(FLOWS_MAX as usize);
            tests.insert(token, test);
        }
        self.token = token;
        Ok(())
    }

    /// The counters of the server.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.seats.metrics
    }

    /// Notes that the test has been served, before the seat is free.
    pub(super) fn finish(self) {
        self.seats.has_served.store(true, Ordering::SeqCst);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut tests = self.seats.lock();
        tests.remove(&self.token);
        self.seats.metrics.set_running(tests.len());
    }
}

fn new_token() -> Result<u64, Refused> {
    let mut token = [0; 8];
    getrandom::fill(&mut token).map_err(|_| no_token())?;
    Ok(u64::from_be_bytes(token))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp::limits::source_of;

    const COUNT: u32 = 4;

    fn source(text: &str) -> IpAddr {
        source_of(text.parse().unwrap())
    }

    #[test]
    fn one_source_leaves_a_seat_to_others() {
        let seats = Arc::new(Seats::new(COUNT));
        let (own, other) = (source("192.0.2.1"), source("192.0.2.2"));
        let mut held: Vec<Seat> = (1..COUNT).map(|_| seats.take(own).ok().unwrap()).collect();
        let refusal = seats.take(own).err().unwrap();
        assert_eq!(refusal, source_busy());
        held.push(seats.take(other).ok().unwrap());
        let refusal = seats.take(other).err().unwrap();
        assert_eq!(refusal, busy(4));
        held.remove(0).finish();
        assert!(seats.has_served() && seats.take(own).is_err());
        assert!(seats.take(source("192.0.2.3")).is_ok());
        held.clear();
        assert!(seats.are_free());
    }

    #[test]
    fn renewed_seat_has_a_new_token_and_stays_taken() {
        let seats = Arc::new(Seats::new(1));
        let mut seat = seats.take(source("192.0.2.1")).ok().unwrap();
        let before = seat.token;
        seat.renew().unwrap();
        assert_ne!(seat.token, before);
        assert!(seats.take(source("192.0.2.2")).is_err());
        drop(seat);
        assert!(seats.are_free());
    }

    #[test]
    fn token_is_of_no_use_from_another_host() {
        let seats = Arc::new(Seats::new(2));
        let (own, other) = (source("192.0.2.1"), source("192.0.2.2"));
        let seat = seats.take(own).ok().unwrap();
        assert!(seats.expects(seat.token, own));
        assert!(!seats.expects(seat.token, other));
        assert!(!seats.expects(seat.token ^ 1, own));
        assert!(seats.has_test_of(own) && !seats.has_test_of(other));
        let token = seat.token;
        drop(seat);
        assert!(!seats.expects(token, own) && !seats.has_test_of(own));
    }

    #[test]
    fn ipv6_network_is_one_source() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:2"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
