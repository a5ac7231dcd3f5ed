//! Detection of a dead peer: the peer stays silent although it must answer.
//!
//! A data packet and a Sync oblige the peer to answer. If nothing arrives for a quarter of
//! [`Config::dead_after`](crate::Config::dead_after) after such a packet, the application gets
//! [`Event::Silent`], and Syncs ask for a sign of life, one every eighth of that time. When all of it has passed,
//! the connection ends with `TimedOut`. Any valid packet of the peer ends the silence.
//!
//! ICMP errors only add Syncs and an event, because anyone can forge them.

use super::{App, Connection, State, Timer};
use crate::event::Event;
use crate::limiter::Limiter;
use crate::time::Instant;
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// The part of `dead_after` before the first Sync, and the part between two Syncs.
const FIRST_PROBE: u32 = 4;
const PROBE_INTERVAL: u32 = 8;

/// The state of the detection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    /// The departure of the first packet that demands an answer. Any valid packet of the peer is one.
    pub(super) unanswered_since: Option<Instant>,
    /// The value of `unanswered_since` when the application got its last [`Event::Silent`].
    reported: Option<Instant>,
    /// Limits [`Event::Unreachable`].
    unreachable: Limiter<1>,
}

impl Silence {
    /// Hashes into a fingerprint whether an answer is due, and whether the application knows.
    pub(super) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        self.unanswered_since.is_some().hash(hasher);
        (self.reported == self.unanswered_since).hash(hasher);
    }
}

impl Connection {
    /// Time of arrival of the peer's last valid packet.
    pub fn last_heard(&self) -> Instant {
        self.last_valid
    }

    /// A packet leaves that the peer must answer: data or a Sync.
    #[inline]
    pub(super) fn await_answer(&mut self, now: Instant) {
        if self.silence.unanswered_since.is_none() {
            self.silence.unanswered_since = Some(now);
            if !self.timers.is_set(Timer::Silence) || self.config.idle_timeout.is_some() {
                self.arm_silence(now);
            }
        }
    }

    /// Starts the detection in PARTOPEN and OPEN. In the other states, other timers end the connection.
    pub(super) fn arm_silence(&mut self, now: Instant) {
        if !self.detects_silence() {
            return;
        }
        if let Some(at) = self.next_silence_check(now) {
            self.timers.set(Timer::Silence, at);
        }
    }

    fn detects_silence(&self) -> bool {
        matches!(self.state, State::PartOpen | State::Open)
    }

    /// When the silence must be looked at next: strictly after `now`.
    fn next_silence_check(&self, now: Instant) -> Option<Instant> {
        let idle = self.config.idle_timeout.map(|idle| self.last_valid + idle);
        let dead = self.config.dead_after.zip(self.silence.unanswered_since);
        let dead = dead.map(|(dead_after, since)| {
            let first = since + dead_after / FIRST_PROBE;
            let probe = first.max(now + dead_after / PROBE_INTERVAL);
            if now < first {
                first
            } else {
                probe.min(since + dead_after)
            }
        });
        let next = idle.into_iter().chain(dead).min();
        // The idle timeout can have passed already: in PARTOPEN the first packet that demands an answer arms the timer.
        next.map(|at| at.max(now + Duration::from_nanos(1)))
    }

    pub(super) fn on_silence_timeout(&mut self, now: Instant, app: &mut App<'_>) {
        if !self.detects_silence() {
            return;
        }
        let silent_for = now - self.last_valid;
        let is_idle = self
            .config
            .idle_timeout
            .is_some_and(|idle| silent_for >= idle);
        if is_idle || self.is_peer_dead(now) {
            return self.on_give_up(now, app);
        }
        self.probe_silent_peer(now);
        self.arm_silence(now);
    }

    fn is_peer_dead(&self, now: Instant) -> bool {
        let unanswered = self.config.dead_after.zip(self.silence.unanswered_since);
        unanswered.is_some_and(|(dead_after, since)| now - since >= dead_after)
    }

    /// Reports a long silence once, and asks for a sign of life.
    fn probe_silent_peer(&mut self, now: Instant) {
        let Some((dead_after, since)) = self.config.dead_after.zip(self.silence.unanswered_since)
        else {
            return;
        };
        if now - since < dead_after / FIRST_PROBE {
            return;
        }
        if self.silence.reported != Some(since) {
            self.silence.reported = Some(since);
            self.tell(Event::Silent {
                silent_for: now - self.last_valid,
            });
        }
        // In PARTOPEN its own timer repeats what the peer must answer.
        if self.state == State::Open {
            self.due.sync.get_or_insert(self.seqs.gsr);
        }
    }

    /// A destination-unreachable error quotes a packet of ours in the valid range. It is evidence, not proof: it makes
    /// an answer due, and only silence ends the connection.
    pub(super) fn on_unreachable(&mut self, now: Instant, kind: u8, code: u8) {
        if !self.detects_silence() || !self.silence.unreachable.grant(now) {
            return;
        }
        self.tell(Event::Unreachable { kind, code });
        if self.state == State::Open {
            self.due.sync.get_or_insert(self.seqs.gsr);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoApp;
    use super::super::tests::{START, config, open};
    use super::*;
    use crate::Config;

    const fn s(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    /// Runs an open connection that received a packet at [`START`] for an hour, in steps of its timer. Returns the
    /// seconds at which a Sync was due, and at which the connection ended.
    fn silence(mut conn: Connection, asked_at: Option<Duration>) -> (Vec<u64>, Option<u64>) {
        conn.timers.clear_all();
        conn.last_valid = START;
        conn.arm_silence(START);
        if let Some(after) = asked_at {
            conn.await_answer(START + after);
        }
        let mut syncs = Vec::new();
        while let Some((at, Timer::Silence)) = conn.timers.next() {
            conn.timers.clear(Timer::Silence);
            let mut app = App {
                outbox: &mut NoApp,
                inbox: &mut NoApp,
            };
            conn.on_silence_timeout(at, &mut app);
            let elapsed = (at - START).as_secs();
            if conn.state == State::Closed {
                return (syncs, Some(elapsed));
            }
            if conn.due.sync.take().is_some() {
                syncs.push(elapsed);
            }
        }
        (syncs, None)
    }

    fn with(dead_after: Option<u64>, idle_timeout: Option<u64>) -> Connection {
        open(Config {
            dead_after: dead_after.map(s),
            idle_timeout: idle_timeout.map(s),
            ..config()
        })
    }

    #[test]
    fn a_peer_that_owes_an_answer_is_probed_and_given_up() {
        let (syncs, end) = silence(with(Some(80), None), Some(s(1)));
        assert_eq!(syncs, [21, 31, 41, 51, 61, 71]);
        assert_eq!(end, Some(81));
    }

    #[test]
    fn a_peer_that_owes_nothing_may_be_silent() {
        assert_eq!(silence(with(Some(80), None), None), (vec![], None));
        assert_eq!(silence(with(None, None), Some(s(1))), (vec![], None));
    }

    #[test]
    fn an_idle_connection_ends_if_that_is_wanted() {
        assert_eq!(silence(with(Some(80), Some(60)), None), (vec![], Some(60)));
        let (syncs, end) = silence(with(Some(80), Some(60)), Some(s(1)));
        assert_eq!((syncs, end), (vec![21, 31, 41, 51], Some(60)));
        assert_eq!(
            silence(with(None, Some(60)), Some(s(1))),
            (vec![], Some(60))
        );
    }

    #[test]
    fn a_silence_is_reported_once() {
        let mut conn = with(Some(80), None);
        conn.last_valid = START;
        conn.await_answer(START + s(1));
        conn.probe_silent_peer(START + s(20));
        assert_eq!(conn.poll_event(), None);
        for at in [21, 31] {
            conn.probe_silent_peer(START + s(at));
        }
        let silent = Event::Silent { silent_for: s(21) };
        assert_eq!(conn.poll_event(), Some(silent));
        assert_eq!(conn.poll_event(), None);
        // A sign of life ends this silence; the next one is reported again.
        conn.last_valid = START + s(40);
        conn.silence.unanswered_since = None;
        conn.probe_silent_peer(START + s(90));
        assert_eq!(conn.poll_event(), None);
        conn.await_answer(START + s(100));
        conn.probe_silent_peer(START + s(120));
        assert!(conn.poll_event().is_some());
    }
}
