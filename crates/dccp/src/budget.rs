//! Budgets in bytes for datagrams that wait to be read (4340-18-9). Each connection counts against several: those of the
//! engine, of its listener, and of the address that it came from.

use crate::limits::{RECV_BYTES_ENGINE, RECV_BYTES_SOURCE, SPARE_DIVISOR, source_of};
use core::net::IpAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use dccp_proto::endpoint::HoldOff;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes that may wait in several connections together.
#[derive(Debug)]
pub(crate) struct Budget {
    used: AtomicU64,
    most: u64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicU64::new(0),
            most,
        })
    }

    /// Bytes that are left.
    fn room(&self) -> u64 {
        self.most.saturating_sub(self.used.load(Ordering::Relaxed))
    }

    fn permits_spare(&self) -> bool {
        self.used.load(Ordering::Relaxed) <= self.most / SPARE_DIVISOR
    }
}

/// The use of its budgets by one connection.
///
/// It is settled once for each turn of the engine, not for each datagram. So the datagrams of one turn of each thread, 2 MiB
/// at most, can exceed a budget.
#[derive(Debug, Default)]
pub(crate) struct Account {
    budgets: Vec<Arc<Budget>>,
    charged: u64,
    /// The place of a connection that came in, among those of its address.
    seat: Option<SourceSeat>,
}

impl Account {
    /// Counts against one more budget.
    pub(crate) fn join(&mut self, budget: Arc<Budget>) {
        budget.used.fetch_add(self.charged, Ordering::Relaxed);
        self.budgets.push(budget);
    }

    /// Counts against the budget of an address, and keeps a place there until [`leave`](Self::leave).
    pub(crate) fn take_seat(&mut self, seat: SourceSeat) {
        self.join(seat.budget.clone());
        self.seat = Some(seat);
    }

    /// The connection has ended. Datagrams that still wait count on.
    pub(crate) fn leave(&mut self) {
        self.seat = None;
    }

    /// Bytes that all budgets have left.
    pub(crate) fn room(&self) -> u64 {
        let rooms = self.budgets.iter().map(|budget| budget.room());
        rooms.min().unwrap_or(u64::MAX)
    }

    /// Whether all budgets permit that more memory is kept for later datagrams.
    pub(crate) fn permits_spare(&self) -> bool {
        self.budgets.iter().all(|budget| budget.permits_spare())
    }

    /// Bytes that the budgets count.
    pub(crate) fn charged(&self) -> u64 {
        self.charged
    }

    /// Makes the budgets count what is really held.
    pub(crate) fn settle(&mut self, held: u64) {
        if held == self.charged {
            return;
        }
        // Wraps where it becomes less.
        let change = held.wrapping_sub(self.charged);
        for budget in &self.budgets {
            budget.used.fetch_add(change, Ordering::Relaxed);
        }
        self.charged = held;
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.settle(0);
    }
}

/// The budget of an engine, the addresses that connections came from, and those that breakers hold off. All threads share it.
#[derive(Debug)]
pub(crate) struct EngineBudget {
    pub(crate) recv: Arc<Budget>,
    sources: Mutex<HashMap<IpAddr, Source>>,
    pub(crate) hold_off: HoldOff,
}

/// An address that connections came from.
#[derive(Debug)]
struct Source {
    connections: usize,
    budget: Arc<Budget>,
}

/// A connection's place among those of its address.
#[derive(Debug)]
pub(crate) struct SourceSeat {
    engine: Arc<EngineBudget>,
    source: IpAddr,
    budget: Arc<Budget>,
}

impl EngineBudget {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            recv: Budget::new(RECV_BYTES_ENGINE),
            sources: Mutex::default(),
            hold_off: HoldOff::default(),
        })
    }

    /// A place for a connection from this address; `None` if it has `most` connections already. Loopback addresses have
    /// the limits of the engine only.
    pub(crate) fn seat(self: &Arc<Self>, from: IpAddr, most: usize) -> Option<SourceSeat> {
        let (most, bytes) = if from.is_loopback() {
            (usize::MAX, RECV_BYTES_ENGINE)
        } else {
            (most, RECV_BYTES_SOURCE)
        };
        let source = source_of(from);
        let mut sources = self.sources();
        let entry = sources.entry(source).or_insert_with(|| Source {
            connections: 0,
            budget: Budget::new(bytes),
        });
        if entry.connections >= most {
            return None;
        }
        entry.connections += 1;
        Some(SourceSeat {
            engine: self.clone(),
            source,
            budget: entry.budget.clone(),
        })
    }

    fn sources(&self) -> MutexGuard<'_, HashMap<IpAddr, Source>> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SourceSeat {
    fn drop(&mut self) {
        let mut sources = self.engine.sources();
        if let Some(entry) = sources.get_mut(&self.source) {
            entry.connections -= 1;
            // Data of connections that ended may still wait: then the budget goes on with them, and a new one begins.
            if entry.connections == 0 {
                sources.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_counts_against_all_its_budgets_until_it_is_dropped() {
        let (engine, listener) = (Budget::new(100), Budget::new(50));
        let mut account = Account::default();
        assert_eq!(account.room(), u64::MAX);
        account.join(engine.clone());
        account.settle(30);
        account.join(listener.clone());
        assert_eq!(
            (engine.room(), listener.room(), account.room()),
            (70, 20, 20)
        );
        account.settle(45);
        account.settle(10);
        assert_eq!((engine.room(), listener.room()), (90, 40));
        let mut other = Account::default();
        other.join(engine.clone());
        // A turn may exceed it.
        other.settle(120);
        assert_eq!((engine.room(), account.room()), (0, 0));
        drop(other);
        drop(account);
        assert_eq!((engine.room(), listener.room()), (100, 50));
    }

    #[test]
    fn address_has_a_limited_number_of_connections() {
        let engine = EngineBudget::new();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut seats: Vec<_> = (0..3).map(|_| engine.seat(ip("192.0.2.1"), 3)).collect();
        assert!(seats.iter().all(Option::is_some));
        assert!(engine.seat(ip("192.0.2.1"), 3).is_none());
        assert!(engine.seat(ip("192.0.2.2"), 3).is_some());
        seats.pop();
        let again = engine.seat(ip("192.0.2.1"), 3).unwrap();
        // They share one budget.
        let (mut one, mut two) = (Account::default(), Account::default());
        one.take_seat(again);
        two.take_seat(seats.remove(0).unwrap());
        one.settle(1000);
        assert_eq!(two.room(), RECV_BYTES_SOURCE - 1000);
        one.leave();
        assert_eq!(two.room(), RECV_BYTES_SOURCE - 1000, "the data still wait");

        // A /64 is one source, and the loopback has no limit.
        let v6 = engine.seat(ip("2001:db8::1"), 1);
        assert!(v6.is_some() && engine.seat(ip("2001:db8::2"), 1).is_none());
        assert!(engine.seat(ip("2001:db8:0:1::1"), 1).is_some());
        // Each IPv4 address that is written as an IPv6 address is a source of its own.
        let mapped = ["::ffff:192.0.2.8", "::ffff:192.0.2.9"].map(|from| engine.seat(ip(from), 1));
        assert!(mapped.iter().all(Option::is_some));
        let local: Vec<_> = (0..9).map(|_| engine.seat(ip("127.0.0.1"), 1)).collect();
        assert!(local.iter().all(Option::is_some));
        drop((seats, two, one, v6, mapped, local));
        assert!(engine.sources().is_empty());
    }
}
