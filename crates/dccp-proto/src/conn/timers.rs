//! Named timers, the next deadline and its reason; how intervals back off.

use crate::time::Instant;
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// A reason to wake a connection. Of timers due at the same time, the first in this list expires first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Timer {
    /// The handshake has taken too long: give up (RFC 4340 §8.1.1, §8.1.3, §8.1.5).
    GiveUp,
    /// Repeat the DCCP-Listen, or stop inviting (RFC 5596 §2.2.2).
    Listen,
    /// Repeat the Request (RFC 4340 §8.1.1).
    Request,
    /// Repeat the Ack of PARTOPEN (RFC 4340 §8.1.5).
    PartOpen,
    /// Repeat the Close or CloseReq (RFC 4340 §8.3).
    Close,
    /// The next data packet may leave.
    Pace,
    /// Data waits for the peer's window, and nothing is acknowledged (RFC 4340 §7.5).
    Resync,
    /// Keep NAT mappings alive.
    Keepalive,
    /// The peer is silent although it must answer, or for the idle timeout.
    Silence,
    /// A waiting datagram reaches its deadline, or a filler is due.
    Expiry,
    /// Repeat the Change options (RFC 4340 §6.6.3).
    Feature,
    /// The sending CCID's timeout.
    HcSender,
    /// An acknowledgement is due (RFC 4340 §11.3).
    Ack,
    /// A path MTU probe was lost or the next one is due (RFC 8899).
    Pmtu,
}

impl Timer {
    /// All timers.
    pub const ALL: [Self; 14] = [
        Self::GiveUp,
        Self::Listen,
        Self::Request,
        Self::PartOpen,
        Self::Close,
        Self::Pace,
        Self::Resync,
        Self::Keepalive,
        Self::Silence,
        Self::Expiry,
        Self::Feature,
        Self::HcSender,
        Self::Ack,
        Self::Pmtu,
    ];
}

/// The deadlines that a connection stores itself: those up to [`Timer::Expiry`].
#[derive(Clone, Debug)]
pub(crate) struct Timers {
    /// [`NEVER`] for those that are not set.
    at: [Instant; KEPT],
}

const KEPT: usize = Timer::Expiry as usize + 1;
const NEVER: Instant = Instant::FAR_FUTURE;

impl Default for Timers {
    fn default() -> Self {
        Self { at: [NEVER; KEPT] }
    }
}

impl Timers {
    /// Whether the timer is set.
    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.at[timer as usize] != NEVER
    }

    /// Sets the timer, whether it was set or not.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.at[timer as usize] = at;
    }

    /// Stops the timer and returns its deadline.
    pub(crate) fn take(&mut self, timer: Timer) -> Option<Instant> {
        let at = core::mem::replace(&mut self.at[timer as usize], NEVER);
        (at != NEVER).then_some(at)
    }

    /// Stops the timer.
    pub(crate) fn clear(&mut self, timer: Timer) {
        self.at[timer as usize] = NEVER;
    }

    /// Stops all timers.
    pub(crate) fn clear_all(&mut self) {
        *self = Self::default();
    }

    /// The next deadline and its reason.
    #[inline]
    pub(crate) fn next(&self) -> Option<(Instant, Timer)> {
        let at = self.next_at().filter(|&at| at != NEVER)?;
        // The first of those that are least.
        let mut timers = Timer::ALL.into_iter().zip(self.at);
        timers
            .find(|&(_, other)| other == at)
            .map(|(timer, _)| (at, timer))
    }

    /// The timers that are set, with their deadlines.
    pub(crate) fn all_set(&self) -> impl Iterator<Item = (Instant, Timer)> {
        let timers = self.at.into_iter().zip(Timer::ALL);
        timers.filter(|(at, _)| *at != NEVER)
    }

    fn next_at(&self) -> Option<Instant> {
        self.at.iter().copied().min()
    }

    /// Stops and returns the next timer whose deadline has come, with the deadline; call until there is none.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<(Instant, Timer)> {
        self.next_at().filter(|&at| at <= now)?;
        let (at, timer) = self.next()?;
        self.clear(timer);
        Some((at, timer))
    }
}

/// Intervals that double from a first one up to a minute and four seconds, as RFC 4340 asks of all
/// that is repeated until it is answered (4340-8.1.1-1, 4340-6.6.3-2, 4340-8.1.5-2, 4340-8.3-3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// Intervals grow no longer than this.
    pub(crate) const MAX: Duration = Duration::from_secs(64);

    /// Begins with `first`, or with [`MAX`](Self::MAX) if that is less.
    pub(crate) fn new(first: Duration) -> Self {
        Self {
            next: first.min(Self::MAX),
        }
    }

    /// Hashes the magnitude of the next interval for the connection's fingerprint.
    pub(crate) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        self.next.as_nanos().checked_ilog2().hash(hasher);
    }

    /// The interval to wait now.
    pub(crate) fn interval(&mut self) -> Duration {
        let interval = self.next;
        self.next = (interval * 2).min(Self::MAX);
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn the_next_deadline_comes_with_its_reason() {
        let mut timers = Timers::default();
        assert_eq!(timers.next(), None);
        timers.set(Timer::Resync, at(20));
        assert!(timers.is_set(Timer::Resync));
        assert!(!timers.is_set(Timer::Pace));
        timers.set(Timer::Pace, at(10));
        assert_eq!(timers.next(), Some((at(10), Timer::Pace)));
        timers.set(Timer::Pace, at(30));
        assert_eq!(timers.next(), Some((at(20), Timer::Resync)));
        timers.clear(Timer::Resync);
        assert_eq!(timers.next(), Some((at(30), Timer::Pace)));
        timers.clear_all();
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn timers_expire_at_their_deadline_in_its_order() {
        let mut timers = Timers::default();
        timers.set(Timer::Keepalive, at(10));
        timers.set(Timer::Request, at(11));
        timers.set(Timer::GiveUp, at(11));
        timers.set(Timer::Close, at(13));
        assert_eq!(timers.expire(at(9)), None);
        let mut expired = Vec::new();
        while let Some(timer) = timers.expire(at(12)) {
            expired.push(timer);
        }
        let in_order = [
            (at(10), Timer::Keepalive),
            (at(11), Timer::GiveUp),
            (at(11), Timer::Request),
        ];
        assert_eq!(expired, in_order);
        assert_eq!(timers.expire(at(13)), Some((at(13), Timer::Close)));
        assert_eq!(timers.expire(at(13)), None);
    }

    #[test]
    fn each_timer_has_its_place() {
        let mut timers = Timers::default();
        let kept = || (1..).zip(Timer::ALL.into_iter().take(KEPT));
        for (i, timer) in kept() {
            timers.set(timer, at(i));
        }
        for (i, timer) in kept() {
            assert_eq!(timers.next(), Some((at(i), timer)));
            timers.clear(timer);
        }
    }

    #[test]
    fn intervals_double_up_to_64_s() {
        // 4340-8.1.1-1, 4340-6.6.3-2, 4340-8.3-3
        let mut backoff = Backoff::new(Duration::from_secs(1));
        let intervals: Vec<u64> = (0..8).map(|_| backoff.interval().as_secs()).collect();
        assert_eq!(intervals, [1, 2, 4, 8, 16, 32, 64, 64]);
        let mut backoff = Backoff::new(Duration::from_secs(100));
        assert_eq!(backoff.interval(), Backoff::MAX);
    }
}
