//! How wide our Sequence Window should be (RFC 4340 §7.5.2).
//!
//! It must hold what leaves in a few round trips, or what the peer acknowledges falls out of it. A
//! sender of data knows that from its controller before it happens. A receiver sends only
//! acknowledgements, but those count too: the packets that acknowledge them must find them within
//! the window.

use super::features::Side;
use super::timers::Backoff;
use super::{Connection, Timer};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::features::Feature;
use core::time::Duration;

/// How many round trips' worth of packets the window should hold (4340-7.5.2-2).
const ROUND_TRIPS: f64 = 5.0;
/// It does not shrink below this, or below what the application set if that is less.
const WINDOW_MIN: u64 = 100;
/// Beyond this no rate needs it to grow.
const WINDOW_MAX: f64 = 4_294_967_296.0;

/// Counts the packets that leave in a round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPerRtt {
    began: Instant,
    gss: Seq,
    packets: f64,
}

impl SentPerRtt {
    pub(super) fn new(now: Instant, iss: Seq) -> Self {
        Self {
            began: now,
            gss: iss,
            packets: 0.0,
        }
    }

    /// A packet left. Returns whether the count is new: a round trip is over, or has more already
    /// than the last one. In slow start that is no time to wait, least of all where the round trip
    /// is not known and assumed to be long.
    #[expect(clippy::cast_precision_loss, reason = "no round trip has 2^53 packets")]
    fn on_sent(&mut self, now: Instant, gss: Seq, rtt: Duration) -> bool {
        let elapsed = now - self.began;
        let sent = gss.steps_from(self.gss) as f64;
        if elapsed < rtt || elapsed.is_zero() {
            let is_more = sent > self.packets;
            self.packets = self.packets.max(sent);
            return is_more;
        }
        let share = rtt.as_secs_f64() / elapsed.as_secs_f64();
        *self = Self {
            began: now,
            gss,
            packets: sent * share,
        };
        true
    }
}

impl Connection {
    /// A packet left: the window is compared with what left in a round trip.
    pub(super) fn watch_sequence_window(&mut self, now: Instant) {
        let rtt = self.rtt_or_default();
        if self.sent_per_rtt.on_sent(now, self.seqs.gss, rtt) {
            self.adapt_sequence_window();
        }
    }

    /// Whether data must wait because the peer's window could not hold it (4340-7.5.2-3): if all that is
    /// outstanding were lost, the next packet would be invalid there. When nothing is acknowledged
    /// for long, a Sync, which alone is valid beyond, brings both ends together again.
    pub(super) fn waits_for_window(&mut self, now: Instant) -> bool {
        let outstanding = self.seqs.gss.steps_from(self.seqs.gar);
        if outstanding < self.seqs.local_window * 3 / 4 {
            self.resync = None;
            self.timers.clear(Timer::Resync);
            return false;
        }
        if !self.timers.is_set(Timer::Resync) {
            let first = 4 * self.rtt_or_default();
            let backoff = self.resync.get_or_insert_with(|| Backoff::new(first));
            self.timers.set(Timer::Resync, now + backoff.interval());
        }
        true
    }

    /// Nothing was acknowledged while data waited for the peer's window.
    pub(super) fn on_resync_timeout(&mut self) {
        self.due.sync = Some(self.seqs.gsr);
    }

    /// 4340-7.5.2-2: doubled when the rate needs it, halved when it needs far less, so that it
    /// changes once per doubling of the rate.
    pub(super) fn adapt_sequence_window(&mut self) {
        if !self.config.adapt_sequence_window
            || self
                .features
                .is_negotiating(Side::Local, Feature::SequenceWindow)
        {
            return;
        }
        let ahead = self.tx.cc.packets_per_rtt().unwrap_or(0.0);
        let packets = ahead.max(self.sent_per_rtt.packets);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the window's bounds"
        )]
        let wanted = (packets * ROUND_TRIPS).clamp(0.0, WINDOW_MAX) as u64;
        let wanted = wanted.max(self.config.sequence_window.min(WINDOW_MIN));
        let window = self.seqs.local_window;
        if wanted > window || wanted.next_power_of_two() * 4 < window {
            self.features
                .change_number(Feature::SequenceWindow, wanted.next_power_of_two());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_of_a_round_trip_are_counted_and_longer_times_scaled() {
        // 4340-7.5.2-2
        let start = Instant::from_nanos(5_000_000_000);
        let mut sent = SentPerRtt::new(start, Seq::new(100));
        assert!(sent.on_sent(start + 100 * MS, Seq::new(180), 100 * MS));
        assert_eq!(sent.packets.to_bits(), 80.0_f64.to_bits());
        assert!(sent.on_sent(start + 500 * MS, Seq::new(200), 100 * MS));
        assert_eq!(sent.packets.to_bits(), 5.0_f64.to_bits());
    }

    #[test]
    fn more_packets_than_in_the_last_round_trip_count_before_it_is_over() {
        // 4340-7.5.2-2
        let start = Instant::from_nanos(5_000_000_000);
        let mut sent = SentPerRtt::new(start, Seq::new(100));
        assert!(sent.on_sent(start + 100 * MS, Seq::new(110), 100 * MS));
        for (ms, seq, is_more, packets) in [
            (101, 119, false, 10.0),
            (102, 120, false, 10.0),
            (102, 121, true, 11.0),
            (199, 150, true, 40.0),
            (200, 151, true, 41.0),
            (299, 171, false, 41.0),
            (300, 172, true, 21.0),
        ] {
            let is_new = sent.on_sent(start + ms * MS, Seq::new(seq), 100 * MS);
            assert_eq!(is_new, is_more, "{ms} ms");
            assert_eq!(sent.packets.to_bits(), f64::to_bits(packets), "{ms} ms");
        }
    }

    #[test]
    fn an_instant_is_no_round_trip() {
        let mut sent = SentPerRtt::new(Instant::ZERO, Seq::ZERO);
        assert!(sent.on_sent(Instant::ZERO, Seq::new(1), Duration::ZERO));
        assert_eq!(sent.packets.to_bits(), 1.0_f64.to_bits());
    }
}
