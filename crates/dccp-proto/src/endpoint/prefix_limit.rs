//! Bounds the Responses to unverified addresses, so that forged Requests reflect little (4340-18-5).
//!
//! Requests earn their prefix one and a half times their bytes, each prefix earns [`PREFIX_BYTES_PER_S`] besides, and a
//! Response costs its bytes. Only Requests need that: every other answer is at most one and a half times as long as the packet
//! that it answers. Prefixes share [`PREFIX_BUCKETS`] buckets by a keyed hash.

use super::{ConnId, Endpoint, KeyedHash};
use crate::config::bounds::{
    CROWDED_BUCKETS, CROWDED_INTERVAL, PREFIX_BUCKETS, PREFIX_BYTES_PER_S, PREFIX_BYTES_SAVED,
    UNREDEEMED_PER_S,
};
use crate::conn::State;
use crate::conn::stats::DropReason;
use crate::limiter::Limiter;
use crate::path::Path;
use crate::time::Instant;
use crate::wire::{Packet, header_len};
use core::net::IpAddr;
use core::time::Duration;

/// The time to earn a byte.
const BYTE: Duration = Duration::from_nanos(1_000_000_000 / PREFIX_BYTES_PER_S as u64);

impl Endpoint {
    /// Whether a connection may answer a repeated Request.
    pub(super) fn may_repeat(&mut self, now: Instant, id: ConnId, request: &Packet<'_>) -> bool {
        let conn = self.table.get(id);
        let Some(conn) = conn.filter(|conn| conn.state() == State::Respond) else {
            return true;
        };
        let path = conn.flow().path;
        self.may_respond(now, &path, request)
    }

    /// Whether the network that a Request names may get a Response. Counts the Request as dropped if not.
    pub(super) fn may_respond(&mut self, now: Instant, path: &Path, request: &Packet<'_>) -> bool {
        let received = packet_len(path, request);
        let may = self.prefix_limit.admit(now, &*self.hash, path, received);
        if !may {
            self.stats.drops.count(DropReason::ResponseLimit);
        }
        may
    }
}

#[derive(Default)]
pub(super) struct PrefixLimit {
    /// When each bucket will be full again. Empty before the first Request.
    full_at: Vec<Instant>,
    /// When each bucket may get the next Response with an Init Cookie while too many are unredeemed.
    crowded_until: Vec<Instant>,
    /// Limits the further Responses of all networks together.
    crowded: Limiter<UNREDEEMED_PER_S>,
    /// Limits the Responses with Init Cookies that remain unredeemed.
    unredeemed: Limiter<UNREDEEMED_PER_S>,
}

impl PrefixLimit {
    /// A Request of `received` bytes arrived, with all headers. Returns whether a Response may leave.
    fn admit(&mut self, now: Instant, hash: &dyn KeyedHash, path: &Path, received: usize) -> bool {
        if self.full_at.is_empty() {
            self.full_at = vec![Instant::ZERO; PREFIX_BUCKETS];
        }
        let Some(full_at) = self.bucket(hash, path) else {
            return false;
        };
        let debt = (*full_at - now).saturating_sub(time_to_earn(received + received / 2));
        *full_at = now + debt;
        debt <= BYTE * PREFIX_BYTES_SAVED
    }

    /// Whether a Response with an Init Cookie may leave. A flood of Requests must not cost the time that data need
    /// (4340-18-8), so the networks share what is left. A network that has got none lately gets one at once.
    pub(super) fn admit_cookie(&mut self, now: Instant, hash: &dyn KeyedHash, path: &Path) -> bool {
        if self.unredeemed.grant(now) {
            return true;
        }
        self.crowded_until.resize(CROWDED_BUCKETS, Instant::ZERO);
        let until = self.crowded_until(hash, path);
        let Some(until) = until.filter(|until| **until <= now) else {
            return false;
        };
        *until = now + CROWDED_INTERVAL;
        self.crowded.grant(now)
    }

    /// A client has redeemed its cookie, so its network need not wait for the next one.
    pub(super) fn on_redeemed(&mut self, hash: &dyn KeyedHash, path: &Path) {
        self.unredeemed.give_back();
        if let Some(until) = self.crowded_until(hash, path) {
            *until = Instant::ZERO;
        }
    }

    fn crowded_until(&mut self, hash: &dyn KeyedHash, path: &Path) -> Option<&mut Instant> {
        let hash = hash.hash(&prefix_bytes(path.remote));
        self.crowded_until.get_mut(hash as usize % CROWDED_BUCKETS)
    }

    /// A Response of `len` bytes leaves, without the headers below DCCP.
    pub(super) fn charge(&mut self, now: Instant, hash: &dyn KeyedHash, path: &Path, len: usize) {
        if let Some(full_at) = self.bucket(hash, path) {
            *full_at = (*full_at).max(now) + time_to_earn(path.overhead() + len);
        }
    }

    fn bucket(&mut self, hash: &dyn KeyedHash, path: &Path) -> Option<&mut Instant> {
        let hash = hash.hash(&prefix_bytes(path.remote));
        self.full_at.get_mut(hash as usize % PREFIX_BUCKETS)
    }
}

/// Packets of IP are shorter than 2^16 bytes.
fn time_to_earn(bytes: usize) -> Duration {
    BYTE * u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The network of an address, /24 or /56, as bytes for a keyed hash.
fn prefix_bytes(address: IpAddr) -> [u8; 14] {
    let mut bytes = *b"prefix\0\0\0\0\0\0\0\0";
    let [_, _, _, _, _, _, family, network @ ..] = &mut bytes;
    match address {
        IpAddr::V4(address) => {
            *family = 4;
            let [a, b, c, _] = address.octets();
            network[..3].copy_from_slice(&[a, b, c]);
        }
        IpAddr::V6(address) => {
            *family = 6;
            network.copy_from_slice(&address.octets()[..7]);
        }
    }
    bytes
}

/// Bytes of a packet with the headers below DCCP.
fn packet_len(path: &Path, packet: &Packet<'_>) -> usize {
    let headers = header_len(
        packet.packet_type(),
        packet.is_short,
        packet.options.0.len(),
    );
    path.overhead() + headers + packet.payload.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Encap;

    const fn ms(n: u64) -> Instant {
        Instant::from_nanos(n * 1_000_000)
    }

    /// The first bytes of an address choose its bucket.
    struct Visible;

    impl KeyedHash for Visible {
        fn hash(&self, data: &[u8]) -> u128 {
            u128::from(data[9])
        }
    }

    fn path_of(n: u8) -> Path {
        Path {
            local: IpAddr::from([192, 0, 2, 1]),
            remote: IpAddr::from([198, 51, n, 1]),
            encap: Encap::Ip,
        }
    }

    /// Whether a Request of `received` bytes from network `n` gets its Response of 112 bytes.
    fn is_granted(limit: &mut PrefixLimit, now: Instant, n: u8, received: usize) -> bool {
        let path = path_of(n);
        let may = limit.admit(now, &Visible, &path, received);
        if may {
            limit.charge(now, &Visible, &path, 112 - 20);
        }
        may
    }

    #[test]
    fn a_flood_of_short_requests_gets_little_more_than_it_sends() {
        // 4340-18-5: 40 bytes ask for 112, a thousand times a second for a minute.
        let mut limit = PrefixLimit::default();
        let granted = (1..=60_000).filter(|&n| is_granted(&mut limit, ms(n), 7, 40));
        let (sent, received) = (granted.count() * 112, 60_000 * 40);
        let most = received * 3 / 2 + 60 * 20_000 + 64_000 + 112;
        assert!(sent <= most && sent > most - 1000, "{sent} of {most}");
    }

    #[test]
    fn requests_that_earn_their_response_get_it_during_a_flood() {
        let mut limit = PrefixLimit::default();
        while is_granted(&mut limit, ms(1), 7, 40) {}
        assert!((0..100_000).all(|_| is_granted(&mut limit, ms(1), 7, 80)));
    }

    #[test]
    fn other_prefixes_have_their_own_credit() {
        let mut limit = PrefixLimit::default();
        while is_granted(&mut limit, ms(1), 7, 40) {}
        assert!(is_granted(&mut limit, ms(1), 8, 40));
        assert!(!is_granted(&mut limit, ms(1), 7, 1));
    }

    #[test]
    fn networks_share_cookies_during_a_flood_from_many_addresses() {
        // 4340-18-8: 200,000 Requests a second from networks 0 to 199, and one a second from network 200.
        let mut limit = PrefixLimit::default();
        let mut offers = |now, n: u8| {
            let path = path_of(n);
            let may = limit.admit(now, &Visible, &path, 60);
            if may && limit.admit_cookie(now, &Visible, &path) {
                limit.charge(now, &Visible, &path, 112 - 20);
                return true;
            }
            false
        };
        for second in 0..5 {
            let mut offered = 0;
            for i in 0..200_000 {
                let now = Instant::from_nanos(second * 1_000_000_000 + i * 5_000);
                let n = u8::try_from(i % 200).unwrap();
                offered += u64::from(offers(now, n));
            }
            assert!(offered <= 8_192 + 200 * 4, "{offered}");
            assert!(offers(ms(1000 * (second + 1)), 200));
        }
        // A client that redeems its cookie lets the next one of its network in.
        let mut admit = |n| limit.admit_cookie(ms(5_001), &Visible, &path_of(n));
        while admit(200) || admit(201) {}
        limit.on_redeemed(&Visible, &path_of(200));
        let mut admit = |n| limit.admit_cookie(ms(5_001), &Visible, &path_of(n));
        while admit(201) {}
        assert!(admit(200) && !admit(200));
    }

    #[test]
    fn redeemed_cookies_are_not_limited() {
        let mut limit = PrefixLimit::default();
        limit.admit(ms(1), &Visible, &path_of(1), 60);
        for _ in 0..100_000 {
            assert!(limit.admit_cookie(ms(1), &Visible, &path_of(1)));
            limit.on_redeemed(&Visible, &path_of(1));
        }
    }

    #[test]
    fn addresses_of_one_network_share_a_prefix() {
        let bytes = |address: &str| prefix_bytes(address.parse().unwrap());
        assert_eq!(bytes("192.0.2.1"), bytes("192.0.2.255"));
        assert_ne!(bytes("192.0.2.1"), bytes("192.0.3.1"));
        assert_eq!(bytes("2001:db8:0:1::1"), bytes("2001:db8:0:ff::2"));
        assert_ne!(bytes("2001:db8:0:1::1"), bytes("2001:db8:0:100::1"));
        assert_ne!(bytes("1.2.3.4"), bytes("102:300::"));
    }
}
