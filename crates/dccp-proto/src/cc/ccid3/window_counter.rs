//! CCVal as CCID 3's window counter: a clock that ticks about every quarter of a round trip
//! (RFC 4342 §8.1).

use crate::cc::config::DEFAULT_RTT;
use crate::time::Instant;
use core::time::Duration;

/// Values of the counter.
const MODULUS: u8 = 16;
/// The most that one packet's counter may be ahead of the last one's.
const STEP_MAX: u128 = 5;

/// The counter of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct WindowCounter {
    value: u8,
    /// When the first packet with `value` left.
    since: Option<Instant>,
}

impl WindowCounter {
    /// Returns the counter of a packet that leaves now (4342-8.1-1). Without a round-trip time the
    /// counter advances too, because some peers send feedback only when the counter moves (LINUX-12).
    /// Such a peer would otherwise never repeat a first feedback that was lost. The sender would then
    /// never measure the round-trip time.
    pub(crate) fn on_send(&mut self, now: Instant, rtt: Option<Duration>) -> u8 {
        let since = *self.since.get_or_insert(now);
        let quarter = rtt.unwrap_or(DEFAULT_RTT).as_nanos() / 4;
        let quarters = (now - since).as_nanos().checked_div(quarter).unwrap_or(0);
        if quarters > 0 {
            // Never more than 5, so that the receiver sees no wrap between adjacent packets.
            self.advance(now, quarters.min(STEP_MAX) as u8);
        }
        self.value
    }

    /// The peer acknowledged a packet with this counter, so a round trip passed since
    /// (4342-8.1-2).
    pub(crate) fn on_ack(&mut self, now: Instant, acked: u8) {
        let ahead = self.value.wrapping_sub(acked) % MODULUS;
        if ahead < 4 {
            self.advance(now, 4 - ahead);
        }
    }

    fn advance(&mut self, now: Instant, by: u8) {
        self.value = (self.value + by) % MODULUS;
        self.since = Some(now);
    }
}

/// The counter of the packets that a receiver sees, continued beyond 15.
pub(crate) const fn unwrapped(last: u64, ccval: u8) -> u64 {
    let step = (ccval as u64).wrapping_sub(last) % MODULUS as u64;
    last + step
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);
    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn at(ms: u64) -> Instant {
        START + Duration::from_millis(ms)
    }

    #[test]
    fn the_counter_starts_at_0_and_ticks_every_quarter_round_trip() {
        // 4342-8.1-1
        let mut c = WindowCounter::default();
        for (ms, value) in [
            (0, 0),
            (24, 0),
            (25, 1),
            (49, 1),
            (50, 2),
            (149, 5),
            (150, 5),
            (174, 6),
        ] {
            assert_eq!(c.on_send(at(ms), RTT), value, "{ms} ms");
        }
    }

    #[test]
    fn ticks_are_counted_from_the_first_packet_with_the_value() {
        // 4342-8.1-1
        let mut c = WindowCounter::default();
        c.on_send(at(0), RTT);
        assert_eq!(c.on_send(at(40), RTT), 1);
        assert_eq!(c.on_send(at(60), RTT), 1);
        assert_eq!(c.on_send(at(65), RTT), 2);
    }

    #[test]
    fn adjacent_packets_never_differ_by_more_than_5() {
        // 4342-8.1-1
        let mut c = WindowCounter::default();
        c.on_send(at(0), RTT);
        assert_eq!(c.on_send(at(124), RTT), 4);
        assert_eq!(c.on_send(at(124 + 125), RTT), 9);
        assert_eq!(c.on_send(at(10_000), RTT), 14);
        assert_eq!(c.on_send(at(20_000), RTT), 3);
    }

    #[test]
    fn without_a_round_trip_time_the_counter_ticks_as_with_0_2_s() {
        // 4340-3.4-1
        let mut c = WindowCounter::default();
        assert_eq!(c.on_send(at(0), None), 0);
        assert_eq!(c.on_send(at(49), None), 0);
        assert_eq!(c.on_send(at(50), None), 1);
        assert_eq!(c.on_send(at(1_050), None), 6);
    }

    #[test]
    fn with_a_round_trip_of_no_time_the_counter_stands_still() {
        let mut c = WindowCounter::default();
        c.on_send(at(0), Some(Duration::ZERO));
        assert_eq!(c.on_send(at(5_000), Some(Duration::ZERO)), 0);
    }

    #[test]
    fn after_an_acknowledgement_the_counter_is_4_ahead_of_the_acknowledged_one() {
        // 4342-8.1-2
        for (sent, acked, after) in [
            (0, 0, 4),
            (3, 0, 4),
            (4, 0, 4),
            (6, 0, 6),
            (1, 15, 3),
            (14, 13, 1),
        ] {
            let mut c = WindowCounter {
                value: sent,
                since: Some(at(0)),
            };
            c.on_ack(at(10), acked);
            assert_eq!(c.on_send(at(10), RTT), after, "{sent} {acked}");
        }
    }

    #[test]
    fn a_counter_that_is_4_ahead_already_ticks_on_in_its_time() {
        // 4342-8.1-2
        let mut c = WindowCounter {
            value: 4,
            since: Some(at(0)),
        };
        c.on_ack(at(10), 0);
        assert_eq!(c.on_send(at(24), RTT), 4);
        assert_eq!(c.on_send(at(25), RTT), 5);
    }

    #[test]
    fn a_receiver_counts_on_beyond_15() {
        assert_eq!(unwrapped(0, 0), 0);
        assert_eq!(unwrapped(0, 5), 5);
        assert_eq!(unwrapped(14, 1), 17);
        assert_eq!(unwrapped(31, 15), 31);
        assert_eq!(unwrapped(31, 14), 46);
    }
}
