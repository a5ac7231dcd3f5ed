//! The seats of running tests.
//!
//! A test needs a seat. One source address, or IPv6 network of 64 bits, never takes the last free seat while it
//! holds another, so that the tests of one source leave room for those of others.

use super::metrics::Metrics;
use crate::limits::FLOWS_MAX;
use crate::schema::Transport;
use crate::transport::Flow;
use crate::wire::channel::Channel;
use crate::wire::message::{RefusalCode, Refused};
use core::net::IpAddr;
use dccp::limits::source_of;
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

/// The two hosts of a test, as its control connection shows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hosts {
    client: IpAddr,
    server: IpAddr,
}

impl Hosts {
    pub(super) fn of(channel: &Channel) -> Self {
        let socket = channel.socket();
        Self::new(socket.peer_addr().ip, socket.local_addr().ip)
    }

    pub(super) fn new(client: IpAddr, server: IpAddr) -> Self {
        Self {
            client: client.to_canonical(),
            server: server.to_canonical(),
        }
    }
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

/// A data connection that names its test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Join {
    pub(super) token: u64,
    pub(super) flow: u16,
    pub(super) transport: Transport,
    pub(super) client: IpAddr,
}

impl RunningTest {
    /// Whether a data connection can be one of this test. The address of a datagram over UDP can be forged, so it must
    /// be exactly that of the control connection, whose handshake has shown that a client is there. Other transports
    /// have a handshake of their own.
    fn admits(&self, join: &Join) -> bool {
        let is_from_client = match join.transport {
            Transport::Udp => join.client.to_canonical() == self.hosts.client,
            Transport::Dccp | Transport::Tcp => {
                source_of(join.client) == source_of(self.hosts.client)
            }
        };
        join.transport == self.transport && is_from_client
    }
}

struct RunningTest {
    hosts: Hosts,
    /// The carrier of its data.
    transport: Transport,
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

    /// Returns a seat for a test between these hosts.
    ///
    /// # Errors
    /// Returns the reason if there is none.
    pub(super) fn take(
        self: &Arc<Self>,
        hosts: Hosts,
        transport: Transport,
    ) -> Result<Seat, Refused> {
        let source = source_of(hosts.client);
        let mut tests = self.lock();
        let free = self.count.saturating_sub(tests.len());
        match free {
            0 => return Err(busy(self.count)),
            1 if tests.values().any(|t| source_of(t.hosts.client) == source) => {
                return Err(source_busy());
            }
            _ => {}
        }
        let token = new_token()?;
        let (joining, joined) = sync_channel(FLOWS_MAX as usize);
        let test = RunningTest {
            hosts,
            transport,
            joining,
        };
        tests.insert(token, test);
        self.metrics.set_running(tests.len());
        Ok(Seat {
            seats: self.clone(),
            token,
            joined,
        })
    }

    /// Gives a data connection to its test. It is aborted if the test needs it no more, has ended, or has another
    /// source or transport.
    pub(super) fn join(&self, join: &Join, flow: Arc<dyn Flow>) {
        let joining = (self.lock().get(&join.token))
            .filter(|test| test.admits(join))
            .map(|test| test.joining.clone());
        let Some(joining) = joining else {
            return flow.abort();
        };
        if let Err(TrySendError::Full((_, flow)) | TrySendError::Disconnected((_, flow))) =
            joining.try_send((join.flow, flow))
        {
            flow.abort();
        }
    }

    /// This host's address in the test of a flow that may join; `None` if no test expects it.
    pub(super) fn expects(&self, join: &Join) -> Option<IpAddr> {
        let tests = self.lock();
        let test = tests.get(&join.token).filter(|test| test.admits(join))?;
        Some(test.hosts.server)
    }

    /// Whether a test of this source runs.
    pub(super) fn has_test_of(&self, source: IpAddr) -> bool {
        let tests = self.lock();
        tests.values().any(|t| source_of(t.hosts.client) == source)
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
    pub(super) fn renew(&mut self, transport: Transport) -> Result<(), Refused> {
        let token = new_token()?;
        let mut tests = self.seats.lock();
        if let Some(mut test) = tests.remove(&self.token) {
            (test.joining, self.joined) = sync_channel(FLOWS_MAX as usize);
            test.transport = transport;
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

    const COUNT: u32 = 4;

    fn source(text: &str) -> IpAddr {
        source_of(text.parse().unwrap())
    }

    fn server() -> IpAddr {
        IpAddr::from([198, 51, 100, 1])
    }

    /// A seat for a client at this address.
    fn take(seats: &Arc<Seats>, client: &str, transport: Transport) -> Result<Seat, Refused> {
        seats.take(Hosts::new(client.parse().unwrap(), server()), transport)
    }

    fn join(seat: &Seat, client: &str, transport: Transport) -> Join {
        Join {
            token: seat.token,
            flow: 0,
            transport,
            client: client.parse().unwrap(),
        }
    }

    #[test]
    fn one_source_leaves_a_seat_to_others() {
        let seats = Arc::new(Seats::new(COUNT));
        let take = |client| take(&seats, client, Transport::Dccp);
        let (own, other) = ("192.0.2.1", "192.0.2.2");
        let mut held: Vec<Seat> = (1..COUNT).map(|_| take(own).ok().unwrap()).collect();
        assert_eq!(take(own).err().unwrap(), source_busy());
        held.push(take(other).ok().unwrap());
        assert_eq!(take(other).err().unwrap(), busy(4));
        held.remove(0).finish();
        assert!(seats.has_served() && take(own).is_err());
        assert!(take("192.0.2.3").is_ok());
        held.clear();
        assert!(seats.are_free());
    }

    #[test]
    fn renewed_seat_has_a_new_token_and_stays_taken() {
        let seats = Arc::new(Seats::new(1));
        let mut seat = take(&seats, "192.0.2.1", Transport::Dccp).ok().unwrap();
        let before = seat.token;
        seat.renew(Transport::Udp).unwrap();
        assert_ne!(seat.token, before);
        assert!(take(&seats, "192.0.2.2", Transport::Dccp).is_err());
        let udp = join(&seat, "192.0.2.1", Transport::Udp);
        assert_eq!(seats.expects(&udp), Some(server()));
        drop(seat);
        assert!(seats.are_free());
    }

    #[test]
    fn token_is_of_no_use_from_another_host() {
        let seats = Arc::new(Seats::new(2));
        let seat = take(&seats, "2001:db8::1", Transport::Udp).ok().unwrap();
        let own = join(&seat, "2001:db8::1", Transport::Udp);
        assert_eq!(seats.expects(&own), Some(server()));
        // A host of the same network can be a victim too.
        for other in ["2001:db8::2", "2001:db8:0:1::1", "192.0.2.1"] {
            let other = join(&seat, other, Transport::Udp);
            assert_eq!(seats.expects(&other), None, "{other:?}");
        }
        let wrong = Join {
            token: seat.token ^ 1,
            ..own
        };
        assert_eq!(seats.expects(&wrong), None);
        assert!(seats.has_test_of(source("2001:db8::1")));
        assert!(!seats.has_test_of(source("192.0.2.1")));
        drop(seat);
        assert_eq!(seats.expects(&own), None);
        assert!(!seats.has_test_of(source("2001:db8::1")));
    }

    #[test]
    fn flows_of_another_transport_do_not_join() {
        let seats = Arc::new(Seats::new(2));
        let seat = take(&seats, "192.0.2.1", Transport::Dccp).ok().unwrap();
        let dccp = join(&seat, "192.0.2.1", Transport::Dccp);
        let udp = join(&seat, "192.0.2.1", Transport::Udp);
        assert_eq!(seats.expects(&dccp), Some(server()));
        // UDP has no congestion control, so it must not carry a test of DCCP.
        assert_eq!(seats.expects(&udp), None);
    }

    #[test]
    fn ipv6_network_is_one_source() {
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:2"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }
}
