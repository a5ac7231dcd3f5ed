//! What the network takes now, for applications that can adapt to it: encoders, sensors.

use super::{App, Connection, State};
use crate::cc::Permit;
use crate::event::{Event, RateHint};
use crate::time::{Instant, Rate};
use core::time::Duration;

/// The rate is looked at no more often: an encoder takes some frames to follow.
const INTERVAL: Duration = Duration::from_millis(100);
/// A change of less than this part of the last rate is not told.
const NOTABLE: u64 = 8;

/// The rate that the application was told last, and when it was looked at last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastHint {
    looked_at: Option<Instant>,
    bits_per_s: u64,
}

impl LastHint {
    /// Whether the rate may be looked at again.
    fn is_old(self, now: Instant) -> bool {
        self.looked_at.is_none_or(|at| now >= at + INTERVAL)
    }

    /// Whether this rate is worth telling.
    fn differs_from(self, bits_per_s: u64) -> bool {
        bits_per_s.abs_diff(self.bits_per_s) >= (self.bits_per_s / NOTABLE).max(1)
    }
}

impl Connection {
    /// What the network takes now, and how long a datagram would wait that is pushed behind `backlog` bytes.
    /// `None` before there is a round-trip time, and when the connection is over.
    pub fn rate_hint(&self, now: Instant, backlog: u64) -> Option<RateHint> {
        if !matches!(self.state, State::PartOpen | State::Open) {
            return None;
        }
        let rate = self.allowed_rate()?;
        let blocked = match self.tx.cc.permit(now, self.in_flight.pipe()) {
            Permit::Now { .. } => Duration::ZERO,
            Permit::At(at) => at - now,
            // A window that is full moves by a packet at a time.
            Permit::OnFeedback => rate.time_for(self.usual_len()),
        };
        Some(RateHint {
            bits_per_s: whole(rate.bits_per_s()),
            wait: blocked + rate.time_for(backlog),
        })
    }

    /// Tells the application what the network takes, if it wants to know and that has changed.
    pub(super) fn tell_rate(&mut self, now: Instant, app: &mut App<'_>) {
        if !self.config.rate_hints || !self.last_hint.is_old(now) {
            return;
        }
        let Some(hint) = self.rate_hint(now, app.outbox.backlog()) else {
            return;
        };
        self.last_hint.looked_at = Some(now);
        if self.last_hint.differs_from(hint.bits_per_s) {
            self.last_hint.bits_per_s = hint.bits_per_s;
            self.tell(Event::Rate(hint));
        }
    }

    /// The window over the round trip or the controller's rate, whichever is less: a paced window's rate is above
    /// what it gets. Application data only.
    fn allowed_rate(&self) -> Option<Rate> {
        let snapshot = self.tx.cc.snapshot();
        let rtt = self.rtt?.as_secs_f64();
        let by_window = snapshot
            .cwnd_packets
            .map(|packets| packets * float(self.usual_len()) / rtt);
        let by_rate = snapshot.rate.map(Rate::bytes_per_s);
        let least = by_window.into_iter().chain(by_rate).reduce(f64::min);
        least.filter(|rate| *rate > 0.0).map(Rate::from_bytes_per_s)
    }

    /// Bytes of a datagram as the application has sent them lately; before it has sent any, the most.
    fn usual_len(&self) -> u64 {
        match self.in_flight.mean_size() {
            0 => self.mps() as u64,
            mean => mean as u64,
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths of packets are far below 2^53"
)]
fn float(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and what is beyond 2^64 is as good as 2^64"
)]
fn whole(bits_per_s: f64) -> u64 {
    bits_per_s as u64
}

#[cfg(test)]
mod tests {
    use super::super::NoApp;
    use super::super::tests::{START, TestSender, config, open};
    use super::*;
    use crate::Config;
    use crate::cc::Snapshot;
    use std::sync::Arc;

    const RTT: Duration = Duration::from_millis(100);

    /// An open connection whose controller shows this and permits that.
    fn conn(snapshot: Snapshot, permit: Permit) -> Connection {
        let mut conn = open(config());
        conn.rtt = Some(RTT);
        conn.tx.cc = Box::new(TestSender {
            permit,
            snapshot,
            ..TestSender::default()
        });
        conn
    }

    const NOW: Permit = Permit::Now { packets: 1 };

    fn rate(bytes_per_s: f64) -> Snapshot {
        Snapshot {
            rate: Some(Rate::from_bytes_per_s(bytes_per_s)),
            ..Snapshot::default()
        }
    }

    #[test]
    fn the_lesser_of_window_and_rate_is_what_the_network_takes() {
        let window = |packets| Snapshot {
            cwnd_packets: Some(packets),
            ..rate(1e6)
        };
        let bits = |snapshot| {
            let hint = conn(snapshot, NOW).rate_hint(START, 0);
            hint.map(|hint| hint.bits_per_s)
        };
        // Nothing was sent yet: packets are full.
        let full = conn(rate(1.0), NOW).mps() as u64;
        assert_eq!(bits(window(10.0)), Some(10 * full * 8 * 10));
        assert_eq!(bits(window(1e5)), Some(8_000_000));
        assert_eq!(bits(rate(1e6)), Some(8_000_000));
        assert_eq!(bits(Snapshot::default()), None);
        assert_eq!(bits(rate(0.0)), None);
        let mut young = conn(rate(1e6), NOW);
        young.rtt = None;
        assert_eq!(young.rate_hint(START, 0), None);
        let mut over = conn(rate(1e6), NOW);
        over.state = State::Closing;
        assert_eq!(over.rate_hint(START, 0), None);
    }

    #[test]
    fn a_datagram_waits_for_its_permit_and_for_what_is_before_it() {
        let wait = |permit, backlog| {
            let hint = conn(rate(1e6), permit).rate_hint(START, backlog);
            hint.map(|hint| hint.wait)
        };
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(wait(NOW, 0), ms(0));
        assert_eq!(wait(NOW, 50_000), ms(50));
        assert_eq!(wait(Permit::At(START + RTT), 50_000), ms(150));
        let full = conn(rate(1.0), NOW).mps() as u64;
        let one = Rate::from_bytes_per_s(1e6).time_for(full);
        assert_eq!(wait(Permit::OnFeedback, 0), Some(one));
    }

    /// What is told when the controller shows this rate.
    fn told(conn: &mut Connection, at: Duration, bytes_per_s: f64) -> Option<u64> {
        conn.tx.cc = Box::new(TestSender {
            snapshot: rate(bytes_per_s),
            ..TestSender::default()
        });
        let mut app = App {
            outbox: &mut NoApp,
            inbox: &mut NoApp,
        };
        conn.tell_rate(START + at, &mut app);
        match conn.poll_event() {
            Some(Event::Rate(hint)) => Some(hint.bits_per_s),
            _ => None,
        }
    }

    #[test]
    fn hints_are_told_where_wanted_when_the_rate_changed_and_not_too_often() {
        let mut conn = conn(rate(1e6), NOW);
        assert_eq!(told(&mut conn, Duration::ZERO, 1e6), None, "nobody asked");
        conn.config = Arc::new(Config {
            rate_hints: true,
            ..config()
        });
        assert_eq!(told(&mut conn, Duration::ZERO, 1e6), Some(8_000_000));
        let early = INTERVAL.saturating_sub(Duration::from_nanos(1));
        assert_eq!(told(&mut conn, early, 2e6), None, "too soon");
        assert_eq!(told(&mut conn, INTERVAL, 1.124e6), None, "not notable");
        assert_eq!(told(&mut conn, 2 * INTERVAL, 0.876e6), None, "not notable");
        assert_eq!(told(&mut conn, 3 * INTERVAL, 1.125e6), Some(9_000_000));
        assert_eq!(told(&mut conn, 4 * INTERVAL, 0.9e6), Some(7_200_000));
    }
}
