//! A bound on the data rate of several connections together, beyond congestion control.

use crate::time::Instant;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The time that a sender may catch up after it was late or idle.
const CATCH_UP: Duration = Duration::from_millis(10);
/// The longest time for which packets are handed out at once, so that the application can change its mind.
const COMMIT_HORIZON: Duration = Duration::from_micros(250);

/// The most bits of application data per second that all connections with this cap send together. Clones are the same
/// cap.
///
/// Connections take turns packet by packet. Each reserves the time of its next packet when congestion control lets it
/// leave, so that those that wait do not all wake up for the same one. Headers and repeated packets do not count.
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
        })))
    }

    /// Changes the cap for all its connections. Turns that are reserved already stay.
    pub fn set_bits_per_s(&self, bits_per_s: u64) {
        self.lock().bits_per_s = bits_per_s.max(1);
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

/// The turn of one connection at each of its caps.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// Caps that let the next packet leave already.
    passed: usize,
    /// The time reserved at the next one.
    reserved: Option<Instant>,
}

impl Turn {
    /// Returns how many packets with this much data may leave now, or else when the next one may.
    #[inline]
    pub(crate) fn permit(
        &mut self,
        caps: &[RateCap],
        now: Instant,
        bytes: usize,
    ) -> Result<u32, Instant> {
        if caps.is_empty() {
            return Ok(u32::MAX);
        }
        self.permit_by(caps, now, bytes)
    }

    /// The second cap is asked only when the first lets the packet leave: nobody keeps a turn that it cannot use.
    fn permit_by(&mut self, caps: &[RateCap], now: Instant, bytes: usize) -> Result<u32, Instant> {
        while let Some(cap) = caps.get(self.passed) {
            let reserve = || cap.lock().reserve(now, bytes);
            let at = *self.reserved.get_or_insert_with(reserve);
            if now < at {
                return Err(at);
            }
            self.passed += 1;
            self.reserved = None;
        }
        let together = |cap: &RateCap| {
            let each = cap.lock().duration(bytes).as_nanos().max(1);
            u32::try_from(COMMIT_HORIZON.as_nanos() / each).unwrap_or(u32::MAX)
        };
        Ok(caps.iter().map(together).min().unwrap_or(u32::MAX).max(1))
    }

    /// Notes that packets left. The turn was that of the first one; the others count now.
    #[inline]
    pub(crate) fn on_sent(&mut self, caps: &[RateCap], now: Instant, packets: u32, bytes: usize) {
        if caps.is_empty() {
            return;
        }
        self.passed = 0;
        let others = usize::try_from(packets.saturating_sub(1)).unwrap_or(usize::MAX);
        for cap in caps {
            cap.lock().reserve(now, bytes.saturating_mul(others));
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
        let mut turns: Vec<Turn> = connections.iter().map(|_| Turn::default()).collect();
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
        let mut turn = Turn::default();
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
    fn changed_cap_counts_for_the_next_packet() {
        let cap = RateCap::new(1);
        let caps = vec![cap.clone()];
        let mut turn = Turn::default();
        assert_eq!(turn.permit(&caps, at(1_000_000), 1000), Ok(1));
        turn.on_sent(&caps, at(1_000_000), 1, 1000);
        cap.set_bits_per_s(0);
        assert_eq!(cap.bits_per_s(), 1);
        // 8000 seconds for a packet, of which an hour counts.
        let later = at(990_000) + Duration::from_hours(1);
        assert_eq!(turn.permit(&caps, at(1_000_000), 1000), Err(later));
    }
}
