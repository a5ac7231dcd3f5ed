//! The keys of Init Cookies, and the flows that have redeemed one: a cookie opens at most one connection (4340-18-7).
//!
//! All keys come from the endpoint's secret and a number, the epoch. An epoch ends after [`COOKIE_EPOCH`], or when it has as
//! many redemptions as memory permits. A cookie is good in its own epoch and in the next one. Redemptions are kept as
//! long, so forgetting them brings no cookie back.

use crate::config::bounds::{COOKIE_EPOCH, COOKIES_REDEEMED};
use crate::time::Instant;
use std::collections::HashMap;

pub(super) struct CookieKeys {
    epoch: u64,
    /// When the epoch began.
    since: Instant,
    /// When flows last redeemed a cookie, by a hash of the flow: in this epoch, and in the one before.
    redeemed: [HashMap<u64, Instant>; 2],
}

impl CookieKeys {
    pub(super) fn new() -> Self {
        Self {
            epoch: 0,
            since: Instant::ZERO,
            redeemed: Default::default(),
        }
    }

    /// Begins the next epoch if it is time to.
    pub(super) fn rotate(&mut self, now: Instant) {
        if now - self.since >= COOKIE_EPOCH {
            self.begin_epoch(now);
        }
    }

    /// The epoch whose key seals a cookie of this time, if that key is still good.
    pub(super) fn epoch_of(&self, issued: Instant) -> u64 {
        if issued >= self.since {
            self.epoch
        } else {
            self.epoch.wrapping_sub(1)
        }
    }

    /// The flow redeems a cookie. Returns `false` if it has redeemed this one or a later one before. All cookies
    /// issued to the flow so far become void, because a client may hold several.
    pub(super) fn redeem(&mut self, now: Instant, flow: u64, issued: Instant) -> bool {
        let redeemed_at = |map: &HashMap<u64, Instant>| map.get(&flow).copied();
        if self
            .redeemed
            .iter()
            .filter_map(redeemed_at)
            .any(|at| issued <= at)
        {
            return false;
        }
        let [current, _] = &self.redeemed;
        if current.len() >= COOKIES_REDEEMED {
            self.begin_epoch(now);
        }
        let [current, _] = &mut self.redeemed;
        current.insert(flow, now);
        true
    }

    fn begin_epoch(&mut self, now: Instant) {
        self.epoch = self.epoch.wrapping_add(1);
        self.since = now;
        let [current, previous] = &mut self.redeemed;
        *previous = core::mem::take(current);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    const fn s(seconds: u64) -> Instant {
        Instant::from_nanos(1_000_000_000 * seconds)
    }

    #[test]
    fn a_key_is_good_for_its_epoch_and_the_next() {
        let mut keys = CookieKeys::new();
        keys.rotate(s(100));
        let first = keys.epoch_of(s(100));
        keys.rotate(s(160) - Duration::from_nanos(1));
        assert_eq!(keys.epoch_of(s(159)), first);
        keys.rotate(s(160));
        assert_eq!(keys.epoch_of(s(160)), first + 1);
        assert_eq!(keys.epoch_of(s(159)), first);
        keys.rotate(s(220));
        assert_eq!(
            keys.epoch_of(s(159)),
            first + 1,
            "not the key that sealed it"
        );
    }

    #[test]
    fn a_flow_redeems_only_cookies_newer_than_its_last_redemption() {
        let mut keys = CookieKeys::new();
        keys.rotate(s(100));
        assert!(keys.redeem(s(105), 7, s(101)));
        for issued in [101, 103, 105] {
            assert!(!keys.redeem(s(110), 7, s(issued)), "{issued}");
        }
        assert!(keys.redeem(s(110), 8, s(101)), "another flow");
        assert!(keys.redeem(s(110), 7, s(106)));
        // Still known in the next epoch.
        keys.rotate(s(160));
        assert!(!keys.redeem(s(161), 7, s(106)));
    }

    #[test]
    fn redemptions_are_bounded_and_none_is_forgotten_before_its_key() {
        // 4340-18-4, 4340-18-7
        let mut keys = CookieKeys::new();
        keys.rotate(s(100));
        let first = keys.epoch_of(s(100));
        let flows = COOKIES_REDEEMED as u64;
        for flow in 0..=flows {
            assert!(keys.redeem(s(101), flow, s(100)));
        }
        // One more than fits began an epoch, which still knows those of the one before.
        assert_eq!(keys.epoch_of(s(100)), first);
        for flow in 0..=flows {
            assert!(!keys.redeem(s(102), flow, s(100)), "{flow}");
        }
        for flow in flows + 1..=2 * flows {
            assert!(keys.redeem(s(102), flow, s(100)));
        }
        let kept = keys.redeemed.iter().map(HashMap::len);
        assert!(kept.sum::<usize>() <= 2 * COOKIES_REDEEMED);
        assert_ne!(
            keys.epoch_of(s(100)),
            first,
            "the first key is no longer good"
        );
    }
}
