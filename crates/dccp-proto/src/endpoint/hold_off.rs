//! Peers that a circuit breaker of CCID 248 keeps from new connections for a while (SafeUDP §6).

use crate::config::bounds;
use crate::time::Instant;
use core::net::{IpAddr, Ipv6Addr};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The memory of such peers. Its clones are the same memory: endpoints of one host share it, so that no connection escapes
/// by another endpoint.
#[derive(Clone, Debug, Default)]
pub struct HoldOff(Arc<Mutex<Peers>>);

impl HoldOff {
    /// As [`Peers::add`].
    pub(super) fn add(&self, now: Instant, peer: IpAddr, until: Instant) {
        self.lock().add(now, network_of(peer), until);
    }

    /// As [`Peers::until`].
    pub(super) fn until(&self, now: Instant, peer: IpAddr) -> Option<Instant> {
        self.lock().until(now, network_of(peer))
    }

    fn lock(&self) -> MutexGuard<'_, Peers> {
        // A thread that panicked has left whole entries.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address that stands for a peer. A host with IPv6 has all addresses of a /64.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

/// The peers, oldest entry first.
#[derive(Debug, Default)]
struct Peers {
    list: VecDeque<(IpAddr, Instant)>,
}

impl Peers {
    /// No connection to `peer` with CCID 248 begins before `until`, or before a later time that is known already. Beyond the bound the oldest entry is forgotten.
    fn add(&mut self, now: Instant, peer: IpAddr, until: Instant) {
        let known = self.until(now, peer);
        let until = known.map_or(until, |known| known.max(until));
        self.list
            .retain(|(other, until)| *other != peer && *until > now);
        if until <= now {
            return;
        }
        if self.list.len() >= bounds::HELD_OFF {
            self.list.pop_front();
        }
        self.list.push_back((peer, until));
    }

    /// The time before which no connection to `peer` begins, if it is held off.
    fn until(&self, now: Instant, peer: IpAddr) -> Option<Instant> {
        let entry = self.list.iter().find(|(other, _)| *other == peer);
        entry.map(|(_, until)| *until).filter(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    const fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn peer(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(n))
    }

    #[test]
    fn peer_is_held_off_until_its_time() {
        let mut held = Peers::default();
        held.add(at(1), peer(1), at(10));
        assert_eq!(held.until(at(9), peer(1)), Some(at(10)));
        assert_eq!(held.until(at(10), peer(1)), None);
        assert_eq!(held.until(at(9), peer(2)), None);
        held.add(at(5), peer(1), at(20));
        assert_eq!(held.until(at(15), peer(1)), Some(at(20)));
        held.add(at(6), peer(1), at(8));
        assert_eq!(held.until(at(15), peer(1)), Some(at(20)));
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_peer() {
        let held = HoldOff::default();
        let of = |text: &str| -> IpAddr { text.parse().unwrap() };
        held.add(at(1), of("2001:db8:0:1::1"), at(10));
        assert_eq!(held.until(at(2), of("2001:db8:0:1:ffff::9")), Some(at(10)));
        assert_eq!(held.until(at(2), of("2001:db8:0:2::1")), None);
        held.add(at(1), of("192.0.2.1"), at(10));
        assert_eq!(held.until(at(2), of("192.0.2.2")), None);
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_is_forgotten() {
        let mut held = Peers::default();
        for n in 0..bounds::HELD_OFF + 10 {
            held.add(at(1), peer(u32::try_from(n).unwrap()), at(10));
        }
        assert_eq!(held.list.len(), bounds::HELD_OFF);
        assert_eq!(held.until(at(2), peer(9)), None);
        assert_eq!(held.until(at(2), peer(10)), Some(at(10)));
        held.add(at(11), peer(1), at(12));
        assert_eq!(held.list.len(), 1);
        // A hold that is over already pushes no other out.
        held.add(at(11), peer(2), at(11));
        assert_eq!(held.list.len(), 1);
    }
}
