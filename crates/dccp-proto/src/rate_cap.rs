//! A bound on the data rate of several connections together, beyond congestion control.

use crate::time::Instant;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time that a sender may catch up after it was late or idle.
const CATCH_UP: Duration = Duration::from_millis(10);
/// The longest wait until the cap is looked at again, which can change meanwhile.
const RECHECK: Duration = Duration::from_millis(100);
/// The longest time for which packets are handed out at once, so that the application can change its mind.
const COMMIT_HORIZON: Duration = Duration::from_micros(250);
/// A shorter datagram counts as this many bytes, so that empty ones do not pass for nothing.
const DATAGRAM_MIN: usize = 64;

/// The most bits of application data per second that all connections with this cap send together. Clones are the same
/// cap.
///
/// Connections share a cap evenly, packet by packet. Each reserves the departure time of its next packet when congestion
/// control lets it leave, so that those that wait do not all wake up for the same one. Headers and packets without data do
/// not count. A datagram of less than 64 bytes counts as 64.
///
/// ```
/// use dccp_proto::{Config, rate_cap::RateCap};
///
/// let user = RateCap::new(10_000_000);
/// let config = Config { rate_caps: vec![user.clone()], ..Config::default() };
/// user.set_bits_per_s(5_000_000);
/// # assert_eq!(config.rate_caps[0].bits_per_s(), 5_000_000);
/// ```
#[derive(Clone, Debug)]
pub struct RateCap(Arc<Mutex<Schedule>>);

impl RateCap {
    /// A cap of this many bits of data per second; 0 counts as 1.
    pub fn new(bits_per_s: u64) -> Self {
        Self(Arc::new(Mutex::new(Schedule {
            bits_per_s: bits_per_s.max(1),
            free_at: Instant::ZERO,
            changes: 0,
        })))
    }

    /// Changes the cap for all its connections, within 100 ms also for those that wait.
    pub fn set_bits_per_s(&self, bits_per_s: u64) {
        let mut schedule = self.lock();
        schedule.bits_per_s = bits_per_s.max(1);
        schedule.free_at = Instant::ZERO;
        schedule.changes += 1;
    }

    /// The present cap.
    pub fn bits_per_s(&self) -> u64 {
        self.lock().bits_per_s
    }

    fn lock(&self) -> MutexGuard<'_, Schedule> {
        // A thread that panicked has left a whole schedule.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartialEq for RateCap {
    /// Whether both are the same cap.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// When the next packet may leave.
#[derive(Debug)]
struct Schedule {
    bits_per_s: u64,
    free_at: Instant,
    /// How often the cap was changed.
    changes: u64,
}

impl Schedule {
    /// Returns when a packet with this much data may leave, and keeps the time after it free of others.
    fn reserve(&mut self, now: Instant, bytes: usize) -> Instant {
        let turn = self.free_at.max(now - CATCH_UP);
        self.free_at = turn + self.duration(bytes);
        turn
    }

    /// The time that this much data takes at the capped rate.
    fn duration(&self, bytes: usize) -> Duration {
        let bits = 8 * u64::try_from(bytes).unwrap_or(u64::MAX / 8);
        let nanos = u128::from(bits) * 1_000_000_000 / u128::from(self.bits_per_s);
        // More than an hour for a packet: the application sees that nothing leaves.
        let nanos = nanos.min(3_600_000_000_000);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The departure time of a connection's next packet at each of its caps.
///
/// A connection reserves at the caps in sequence: at the next one only after the previous one has passed, so that it holds
/// no time that it cannot use.
#[derive(Debug, Default)]
pub(crate) struct Departure {
    /// Caps that let the next packet leave already.
    passed: usize,
    /// The least data that was reserved for it.
    bytes: usize,
    reserved: Option<Reservation>,
}

/// A departure time at one cap. Dropping it gives the time to others.
#[derive(Debug)]
struct Reservation {
    cap: RateCap,
    at: Instant,
    bytes: usize,
    changes: u64,
}

impl Reservation {
    fn new(cap: &RateCap, now: Instant, bytes: usize) -> Self {
        let mut schedule = cap.lock();
        Self {
            cap: cap.clone(),
            at: schedule.reserve(now, bytes),
            bytes,
            changes: schedule.changes,
        }
    }

    /// Whether it was made before the cap changed.
    fn is_stale(&self) -> bool {
        self.cap.lock().changes != self.changes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut schedule = self.cap.lock();
        if self.changes == schedule.changes {
            schedule.free_at = schedule.free_at - schedule.duration(self.bytes);
        }
    }
}

impl Departure {
    /// Returns how many packets with this much data may leave now, or else when to look again.
    pub(crate) fn permit(
        &mut self,
        caps: &[RateCap],
        now: Instant,
        bytes: usize,
    ) -> Result<u32, Instant> {
        let bytes = bytes.max(DATAGRAM_MIN);
        while let Some(cap) = caps.get(self.passed) {
            if self.reserved.as_ref().is_some_and(Reservation::is_stale) {
                self.reserved = None;
            }
            let reserve = || Reservation::new(cap, now, bytes);
            let reservation = self.reserved.get_or_insert_with(reserve);
            if now < reservation.at {
                return Err(reservation.at.min(now + RECHECK));
            }
            self.bytes = match self.passed {
                0 => reservation.bytes,
                _ => self.bytes.min(reservation.bytes),
            };
            self.passed += 1;
            // The time is used, so others do not get it.
            if let Some(used) = &mut self.reserved {
                used.bytes = 0;
            }
            self.reserved = None;
        }
        let together = |cap: &RateCap| {
            let each = cap.lock().duration(bytes).as_nanos().max(1);
            u32::try_from(COMMIT_HORIZON.as_nanos() / each).unwrap_or(u32::MAX)
        };
        Ok(caps.iter().map(together).min().unwrap_or(u32::MAX).max(1))
    }

    /// Notes that packets with this much data each left. The reservation covered the first one, as long as it was then; this
    /// adds the rest.
    pub(crate) fn on_sent(&mut self, caps: &[RateCap], now: Instant, packets: u32, bytes: usize) {
        self.passed = 0;
        let bytes = bytes.max(DATAGRAM_MIN);
        let packets = usize::try_from(packets).unwrap_or(usize::MAX);
        let rest = bytes.saturating_mul(packets).saturating_sub(self.bytes);
        for cap in caps {
            cap.lock().reserve(now, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// Sends for `us` microseconds as often as it may, and returns the packets sent by each connection.
    fn send(connections: &[Vec<RateCap>], bytes: usize, us: u64) -> Vec<u64> {
        let mut turns: Vec<Departure> = connections.iter().map(|_| Departure::default()).collect();
        let mut sent = vec![0; connections.len()];
        for us in (1_000_000..1_000_000 + us).step_by(50) {
            let each = connections.iter().zip(&mut turns).zip(&mut sent);
            for ((caps, turn), sent) in each {
                while let Ok(packets) = turn.permit(caps, at(us), bytes) {
                    turn.on_sent(caps, at(us), packets, bytes);
                    *sent += u64::from(packets);
                }
            }
        }
        sent
    }

    #[test]
    fn connections_share_a_cap_evenly() {
        let cap = RateCap::new(8_000_000);
        let sent = send(&vec![vec![cap]; 4], 1000, 1_000_000);
        // 1000 packets in a second, and those of 10 ms that are caught up at the start.
        let sum: u64 = sent.iter().sum();
        assert!((1000..=1012).contains(&sum), "{sent:?}");
        assert!(sent.iter().all(|&n| (240..=265).contains(&n)), "{sent:?}");
    }

    #[test]
    fn short_and_empty_datagrams_count_as_64_bytes() {
        for bytes in [0, 1, 63, 64] {
            let sent = send(&[vec![RateCap::new(512_000)]], bytes, 1_000_000);
            assert!((1000..=1012).contains(&sent[0]), "{bytes} bytes: {sent:?}");
        }
    }

    #[test]
    fn smaller_cap_decides_and_leaves_the_rest_to_others() {
        let total = RateCap::new(8_000_000);
        let slow = RateCap::new(800_000);
        let fast = RateCap::new(80_000_000);
        let connections = [vec![slow, total.clone()], vec![fast, total]];
        let sent = send(&connections, 1000, 1_000_000);
        assert!((95..=103).contains(&sent[0]), "{sent:?}");
        assert!((1000..=1013).contains(&(sent[0] + sent[1])), "{sent:?}");
    }

    #[test]
    fn fast_cap_lets_packets_leave_together() {
        let cap = vec![RateCap::new(10_000_000_000)];
        let mut turn = Departure::default();
        let packets = turn.permit(&cap, at(5_000_000), 1000);
        // 312 packets of 1000 bytes take 250 microseconds.
        assert_eq!(packets, Ok(312));
        turn.on_sent(&cap, at(5_000_000), 312, 1000);
        assert_eq!(
            cap[0].lock().free_at,
            at(4_990_000) + 312 * Duration::from_nanos(800)
        );
    }

    #[test]
    fn changed_cap_counts_for_packets_that_wait() {
        let caps = vec![RateCap::new(1)];
        let mut waits = Departure::default();
        assert_eq!(waits.permit(&caps, at(1_000_000), 1000), Ok(1));
        waits.on_sent(&caps, at(1_000_000), 1, 1000);
        // A packet takes 8000 seconds, and the cap is looked at again soon.
        let again = at(1_100_000);
        assert_eq!(waits.permit(&caps, at(1_000_000), 1000), Err(again));
        assert_eq!(waits.permit(&caps, again, 1000), Err(at(1_200_000)));
        caps[0].set_bits_per_s(8_000_000);
        assert_eq!(waits.permit(&caps, at(1_200_000), 1000), Ok(1));
        caps[0].set_bits_per_s(0);
        assert_eq!(caps[0].bits_per_s(), 1);
    }

    #[test]
    fn connection_that_ends_gives_its_reservation_to_others() {
        let caps = vec![RateCap::new(8_000_000)];
        let before = send(core::slice::from_ref(&caps), 1000, 100);
        assert!(before[0] > 0);
        let free_at = caps[0].lock().free_at;
        for _ in 0..1000 {
            let mut ends = Departure::default();
            assert!(ends.permit(&caps, at(1_000_100), 1000).is_err());
        }
        assert_eq!(caps[0].lock().free_at, free_at);
    }

    #[test]
    fn datagram_that_grows_while_it_waits_counts_whole() {
        let caps = vec![RateCap::new(8_000_000)];
        let mut departure = Departure::default();
        assert_eq!(departure.permit(&caps, at(1_000_000), 100), Ok(2));
        departure.on_sent(&caps, at(1_000_000), 1, 1000);
        assert_eq!(caps[0].lock().free_at, at(991_000));
    }
}
