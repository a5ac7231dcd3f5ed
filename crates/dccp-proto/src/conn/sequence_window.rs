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
            // Data that come in blocks leave a round trip almost empty: one alone halves the count at most.
            packets: sent.max(self.packets / 2.0) * share,
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
        if self.room_in_peers_window() > 0 {
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

    /// How many more packets the peer's window can hold (4340-7.5.2-3).
    pub(super) fn room_in_peers_window(&self) -> u64 {
        let outstanding = self.seqs.gss.steps_from(self.seqs.gar);
        (self.seqs.local_window * 3 / 4).saturating_sub(outstanding)
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
    use super::super::tests::{START, client, config};
    use super::*;
    use crate::config::Config;
    use crate::wire::options::{FeatureOpt, Opt};
    use crate::wire::{OptionWriter, Options, PacketType};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_of_a_round_trip_are_counted_and_longer_times_scaled() {
        // 4340-7.5.2-2
        let start = Instant::from_nanos(5_000_000_000);
        let mut sent = SentPerRtt::new(start, Seq::new(100));
        assert!(sent.on_sent(start + 100 * MS, Seq::new(180), 100 * MS));
        assert_eq!(sent.packets.to_bits(), 80.0_f64.to_bits());
        assert!(sent.on_sent(start + 300 * MS, Seq::new(300), 100 * MS));
        assert_eq!(sent.packets.to_bits(), 60.0_f64.to_bits());
        // One that is almost empty halves the count at most: data may come in blocks.
        assert!(sent.on_sent(start + 400 * MS, Seq::new(310), 100 * MS));
        assert_eq!(sent.packets.to_bits(), 30.0_f64.to_bits());
        // A longer silence says more.
        assert!(sent.on_sent(start + 1200 * MS, Seq::new(311), 100 * MS));
        assert_eq!(sent.packets.to_bits(), 1.875_f64.to_bits());
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

    /// The Sequence Window that the connection asks for with an Ack that leaves now.
    fn asked(conn: &mut Connection) -> Option<u64> {
        let mut w = OptionWriter::new(1000);
        let (seq, ack) = (conn.seqs.gss.next(), Some(Seq::ZERO));
        conn.features
            .write(START + 60_000 * MS, PacketType::Ack, seq, ack, &mut w);
        Options(w.as_slice()).iter().find_map(|o| match o {
            Opt::ChangeL(FeatureOpt { feature: 3, values }) => {
                Some(values.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
            }
            _ => None,
        })
    }

    #[test]
    fn the_window_follows_five_round_trips_and_changes_by_powers_of_two() {
        // 4340-7.5.2-2: not before it is too small, nor before a quarter of it would do; 100 at least.
        for (window, packets, wanted) in [
            (100, 0.0, None),
            (100, 20.0, None),
            (100, 20.2, Some(128)),
            (100, 51.2, Some(256)),
            (100, 51.4, Some(512)),
            (300, 52.0, None),
            (512, 20.0, None),
            (513, 20.0, Some(128)),
            (2048, 102.4, None),
            (2049, 102.4, Some(512)),
        ] {
            let mut conn = client(config());
            conn.seqs.local_window = window;
            conn.sent_per_rtt.packets = packets;
            conn.adapt_sequence_window();
            assert_eq!(asked(&mut conn), wanted, "{window} {packets}");
        }
        let mut conn = client(Config {
            adapt_sequence_window: false,
            ..config()
        });
        conn.sent_per_rtt.packets = 1000.0;
        conn.adapt_sequence_window();
        assert_eq!(asked(&mut conn), None);
    }

    #[test]
    fn a_packet_that_leaves_may_be_the_one_that_needs_a_wider_window() {
        // 4340-7.5.2-2: 20 of them in a round trip fit 100, 21 do not.
        for (packets, wanted) in [(20, None), (21, Some(128))] {
            let mut conn = client(config());
            conn.seqs.next_to_send();
            for _ in 0..packets {
                conn.seqs.next_to_send();
                conn.watch_sequence_window(START);
            }
            assert_eq!(asked(&mut conn), wanted);
        }
    }

    #[test]
    fn data_waits_for_the_window_and_a_sync_is_due_ever_later() {
        // 4340-7.5.2-3: three quarters of 100 packets lie above GSR at the peer; the round trip is 0.2 s.
        let mut conn = client(config());
        conn.timers.clear_all();
        for _ in 0..75 {
            conn.seqs.next_to_send();
        }
        assert!(!conn.waits_for_window(START));
        assert_eq!(conn.timers.next(), None);
        conn.seqs.next_to_send();
        let mut now = START;
        for interval in [800 * MS, 1600 * MS, 3200 * MS] {
            assert!(conn.waits_for_window(now));
            let deadline = now + interval;
            assert_eq!(conn.timers.next(), Some((deadline, Timer::Resync)));
            // Asking again meanwhile delays nothing.
            assert!(conn.waits_for_window(now + MS));
            assert_eq!(conn.timers.next(), Some((deadline, Timer::Resync)));
            now = deadline;
            assert_eq!(conn.timers.expire(now), Some((now, Timer::Resync)));
        }
        conn.seqs.on_acked(crate::conn::tests::ISS.next());
        assert!(!conn.waits_for_window(now));
        assert_eq!(conn.timers.next(), None);
    }
}
