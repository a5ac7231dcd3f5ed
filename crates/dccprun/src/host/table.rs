//! The program's DCCP sockets, as far as this host knows them. A socket without settings and without a connection is not here.

use super::link::Link;
use super::queue::Queues;
use super::settings::Settings;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use dccp::unstable::io::local::Peer;
use dccprun_message::{Family, SocketKey};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Sockets at most. A program can have more that it does not use.
const SOCKETS_MAX: usize = 1 << 16;
/// Accepted connections that have ended and may still be asked for their error. Their sockets have no name that would tell
/// whether the program has closed them.
const ENDED_MAX: usize = 1024;
/// Program's ends of connections that no request has claimed yet.
const ARRIVED_MAX: usize = 4096;
/// Sockets that one sweep looks at.
const SWEEP: usize = 4096;

/// All sockets.
#[derive(Default)]
pub(super) struct Table {
    sockets: BTreeMap<u64, Record>,
    /// Accepted connections that have ended, the oldest first.
    ended: VecDeque<u64>,
    /// The program's ends that have connected to the data socket, before the request to connect.
    arrived: BTreeMap<u64, OwnedFd>,
    /// Where the next sweep begins.
    swept: u64,
}

/// One socket.
pub(super) struct Record {
    pub(super) key: SocketKey,
    pub(super) settings: Settings,
    pub(super) local: Option<SocketAddr>,
    pub(super) phase: Phase,
    /// The process that has made it a listener.
    pub(super) listener: Option<Peer>,
    /// The error of the connection that the program has not fetched.
    pub(super) error: i32,
}

/// The state of a socket.
pub(super) enum Phase {
    /// Neither connected nor listening.
    Idle,
    /// A thread opens its listener, and then answers on these channels.
    Opening(Vec<OwnedFd>),
    Listening,
    /// The handshake goes on.
    Connecting(Connection),
    /// `is_told`: a call has reported the success of a handshake for which no call waited.
    Open {
        connection: Connection,
        is_told: bool,
    },
    /// Its connection has ended. It was accepted if its name is not the program's.
    Ended {
        peer: Option<SocketAddr>,
    },
}

/// The connection of a socket.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) link: Arc<dyn Link>,
    pub(super) peer: SocketAddr,
    pub(super) is_accepted: bool,
    pub(super) queues: Arc<Queues>,
}

impl Record {
    fn new(key: SocketKey) -> Self {
        Self {
            key,
            settings: Settings::default(),
            local: None,
            phase: Phase::Idle,
            listener: None,
            error: 0,
        }
    }

    /// Takes the error.
    pub(super) fn take_error(&mut self) -> i32 {
        core::mem::take(&mut self.error)
    }

    /// The connection, if there is one.
    pub(super) fn connection(&self) -> Option<&Connection> {
        match &self.phase {
            Phase::Connecting(connection) | Phase::Open { connection, .. } => Some(connection),
            Phase::Idle | Phase::Opening(_) | Phase::Listening | Phase::Ended { .. } => None,
        }
    }

    /// The local address; the unspecified one before it has any.
    pub(super) fn local(&self) -> SocketAddr {
        self.local.unwrap_or_else(|| unspecified(self.key.family))
    }

    /// Whether a new socket of this address would take its place.
    fn holds(&self, claim: Claim) -> bool {
        let is_accepted = self.connection().is_some_and(|c| c.is_accepted);
        self.local.is_some_and(|address| {
            let own = Claim {
                address,
                is_v6_only: self.settings.is_v6_only,
            };
            !is_accepted && own.overlaps(claim)
        })
    }
}

/// An address that a socket has or wants.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    pub(super) address: SocketAddr,
    /// Whether `::` leaves IPv4 to others.
    pub(super) is_v6_only: bool,
}

impl Claim {
    fn overlaps(self, other: Self) -> bool {
        let ip = |claim: Self| claim.address.ip().to_canonical();
        self.address.port() == other.address.port()
            && (ip(self) == ip(other) || self.covers(ip(other)) || other.covers(ip(self)))
    }

    /// Whether this is the unspecified address, which stands for `ip` too.
    fn covers(self, ip: IpAddr) -> bool {
        let any = self.address.ip();
        any.is_unspecified()
            && (any.is_ipv4() == ip.is_ipv4() || (any.is_ipv6() && !self.is_v6_only))
    }
}

impl Table {
    /// The socket with this number, which is new if it was not known.
    ///
    /// # Errors
    /// `ENOBUFS`: there are too many.
    pub(super) fn entry(&mut self, key: SocketKey) -> Result<&mut Record, i32> {
        if self.sockets.len() >= SOCKETS_MAX && !self.sockets.contains_key(&key.number) {
            return Err(libc::ENOBUFS);
        }
        Ok(self
            .sockets
            .entry(key.number)
            .or_insert_with(|| Record::new(key)))
    }

    /// The socket with this number, if it is known.
    pub(super) fn get(&mut self, key: SocketKey) -> Option<&mut Record> {
        self.sockets.get_mut(&key.number)
    }

    /// Forgets a socket.
    pub(super) fn remove(&mut self, key: SocketKey) {
        self.sockets.remove(&key.number);
    }

    /// The connection of a socket has ended, before the program has closed it.
    pub(super) fn end(&mut self, key: SocketKey, error: i32) {
        let Some(record) = self.sockets.get_mut(&key.number) else {
            return;
        };
        let connection = record.connection().cloned();
        record.error = error;
        record.phase = Phase::Ended {
            peer: connection.as_ref().map(|c| c.peer),
        };
        if connection.is_some_and(|c| c.is_accepted) {
            // The listener's port stays the listener's.
            self.ended.push_back(key.number);
            if self.ended.len() > ENDED_MAX
                && let Some(oldest) = self.ended.pop_front()
            {
                self.sockets.remove(&oldest);
            }
        }
    }

    /// The sockets whose addresses leave no room for this one.
    pub(super) fn holders(&self, claim: Claim) -> Vec<SocketKey> {
        let holders = self.sockets.values().filter(|record| record.holds(claim));
        holders.map(|record| record.key).collect()
    }

    /// Keeps the program's end of a connection until the request to connect.
    pub(super) fn arrive(&mut self, key: SocketKey, socket: OwnedFd) {
        // Too many have no request: a program that speaks to this host without the library.
        if self.arrived.len() < ARRIVED_MAX {
            self.arrived.insert(key.number, socket);
        }
    }

    /// Takes the program's end of a connection.
    pub(super) fn take_arrived(&mut self, key: SocketKey) -> Option<OwnedFd> {
        self.arrived.remove(&key.number)
    }

    /// Removes the ends whose program has closed them.
    pub(super) fn drop_arrived(&mut self, is_closed: impl Fn(&OwnedFd) -> bool) {
        self.arrived.retain(|_, socket| !is_closed(socket));
    }

    /// The next sockets without a thread, which the program may have closed. Each call gives others.
    pub(super) fn resting(&mut self) -> Vec<SocketKey> {
        let is_resting = |record: &&Record| match record.phase {
            Phase::Idle => true,
            Phase::Ended { .. } => !self.ended.contains(&record.key.number),
            _ => false,
        };
        let from = self.sockets.range(self.swept..).map(|(_, record)| record);
        let found: BTreeSet<u64> = from
            .filter(is_resting)
            .map(|record| record.key.number)
            .take(SWEEP)
            .collect();
        self.swept = found.last().map_or(0, |last| last.wrapping_add(1));
        let keys = found.iter().filter_map(|number| self.sockets.get(number));
        keys.map(|record| record.key).collect()
    }

    /// Sockets and waiting ends.
    pub(super) fn len(&self) -> usize {
        self.sockets.len() + self.arrived.len()
    }
}

/// The unspecified address with port 0.
pub(super) fn unspecified(family: Family) -> SocketAddr {
    let ip: IpAddr = match family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unspecified_addresses_overlap_what_they_stand_for() {
        let overlaps = |a: &str, a_only, b: &str, b_only| {
            let claim = |text: &str, is_v6_only| Claim {
                address: text.parse().unwrap(),
                is_v6_only,
            };
            let (a, b) = (claim(a, a_only), claim(b, b_only));
            assert_eq!(a.overlaps(b), b.overlaps(a));
            a.overlaps(b)
        };
        assert!(overlaps("127.0.0.1:1", false, "127.0.0.1:1", false));
        assert!(!overlaps("127.0.0.1:1", false, "127.0.0.1:2", false));
        assert!(!overlaps("127.0.0.1:1", false, "127.0.0.2:1", false));
        assert!(overlaps("0.0.0.0:1", false, "127.0.0.1:1", false));
        assert!(overlaps("[::]:1", false, "[::1]:1", true));
        assert!(overlaps("[::]:1", false, "0.0.0.0:1", false));
        assert!(overlaps("[::]:1", false, "127.0.0.1:1", false));
        assert!(overlaps("[::]:1", false, "[::ffff:127.0.0.1]:1", false));
        // One for each family.
        assert!(!overlaps("[::]:1", true, "0.0.0.0:1", false));
        assert!(!overlaps("[::]:1", true, "127.0.0.1:1", false));
        assert!(!overlaps("0.0.0.0:1", false, "[::1]:1", false));
        assert!(overlaps("[::]:1", true, "[::1]:1", true));
    }
}
