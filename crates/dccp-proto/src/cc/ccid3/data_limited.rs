//! Whether the application, not the rate, was the limit (RFC 5348 §8.2.1).

use crate::time::Instant;
use core::time::Duration;

/// Which of the last packets left because the rate, not the application, allowed no more
/// (5348-8.2.1-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NotLimited {
    first: Option<Instant>,
    second: Option<Instant>,
    t_new: Option<Instant>,
    t_next: Option<Instant>,
}

impl NotLimited {
    /// The sender has more data than it may send.
    pub(crate) fn on_send(&mut self, now: Instant) {
        if self.first <= self.t_new {
            self.first = Some(now);
        } else if self.second <= self.t_next {
            self.second = Some(now);
        }
    }

    /// Whether the application was the limit in the whole round trip before `sent`, when the packet
    /// that the feedback acknowledges left.
    pub(crate) fn was_data_limited(&mut self, now: Instant, sent: Instant, rtt: Duration) -> bool {
        let is_within = |at: Option<Instant>| at.is_some_and(|at| sent - rtt < at && at <= sent);
        let was_limited = !is_within(self.first) && !is_within(self.second);
        self.t_new = Some(sent);
        self.t_next = Some(now);
        if self.first <= self.t_new && self.second > self.t_new {
            self.first = self.second;
        }
        was_limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + Duration::from_millis(ms)
    }

    #[test]
    fn without_a_rate_limited_packet_the_interval_was_data_limited() {
        // 5348-8.2.1-1
        let mut n = NotLimited::default();
        assert!(n.was_data_limited(at(100), at(0), RTT));
        assert!(n.was_data_limited(at(200), at(100), RTT));
    }

    #[test]
    fn one_packet_held_back_by_the_rate_in_the_round_trip_before_is_enough() {
        // 5348-8.2.1-1: the interval is (sent − RTT, sent].
        for (held, sent, was_limited) in [
            (50, 49, true),
            (50, 50, false),
            (50, 149, false),
            (50, 150, true),
        ] {
            let mut n = NotLimited::default();
            n.on_send(at(held));
            assert_eq!(
                n.was_data_limited(at(sent + 100), at(sent), RTT),
                was_limited
            );
        }
    }

    #[test]
    fn a_steadily_held_back_sender_is_never_data_limited() {
        // 5348-8.2.1-1
        let mut n = NotLimited::default();
        for ms in 0..2_000 {
            n.on_send(at(ms));
            if ms % 90 == 10 && ms >= 100 {
                assert!(!n.was_data_limited(at(ms), at(ms - 100), RTT), "{ms}");
            }
        }
    }

    #[test]
    fn once_the_application_falls_behind_the_next_interval_is_data_limited() {
        // 5348-8.2.1-1
        let mut n = NotLimited::default();
        for ms in 0..150 {
            n.on_send(at(ms));
            if ms == 100 {
                assert!(!n.was_data_limited(at(100), at(0), RTT));
            }
        }
        assert!(!n.was_data_limited(at(200), at(100), RTT));
        assert!(!n.was_data_limited(at(300), at(199), RTT));
        assert!(n.was_data_limited(at(400), at(300), RTT));
    }
}
