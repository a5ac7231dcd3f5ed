//! Whether the application, not the rate, was the limit (RFC 5348 §8.2.1).

use crate::time::Instant;
use core::time::Duration;
use std::collections::VecDeque;

/// The number of runs to store.
const RUNS: usize = 16;

/// The times when the rate, not the application, was the limit (5348-8.2.1-1).
///
/// RFC 5348 stores only two such times. Each loss event causes two feedback packets within a round trip.
/// The first replaces the stored time with a time that is too late for the second. The second then
/// classifies the sender as data-limited, which reduces its rate by 15 %. This type therefore stores whole
/// runs of packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NotLimited {
    /// The first and the last packet of each run that left more data waiting; oldest first.
    runs: VecDeque<(Instant, Instant)>,
    is_held: bool,
}

impl NotLimited {
    /// A packet left; `is_held`: more data waited behind it.
    pub(crate) fn on_sent(&mut self, now: Instant, is_held: bool) {
        match self.runs.back_mut() {
            Some((_, last)) if is_held && self.is_held => *last = now,
            _ if is_held => {
                if self.runs.len() == RUNS {
                    self.runs.pop_front();
                }
                self.runs.push_back((now, now));
            }
            _ => {}
        }
        self.is_held = is_held;
    }

    /// Whether the application was the limit in the whole round trip before `sent`, when the packet
    /// that the feedback acknowledges left.
    pub(crate) fn was_data_limited(&self, sent: Instant, rtt: Duration) -> bool {
        let is_within = |&(first, last): &(Instant, Instant)| first <= sent && last > sent - rtt;
        !self.runs.iter().any(is_within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(1_000_000_000) + Duration::from_millis(ms)
    }

    /// A history of packets at these times, each with whether more data waited.
    fn history(packets: impl IntoIterator<Item = (u64, bool)>) -> NotLimited {
        let mut n = NotLimited::default();
        for (ms, is_held) in packets {
            n.on_sent(at(ms), is_held);
        }
        n
    }

    #[test]
    fn without_a_rate_limited_packet_the_interval_was_data_limited() {
        // 5348-8.2.1-1
        let n = history([(0, false), (50, false)]);
        assert!(n.was_data_limited(at(0), RTT));
        assert!(n.was_data_limited(at(100), RTT));
    }

    #[test]
    fn one_packet_held_back_by_the_rate_in_the_round_trip_before_is_enough() {
        // 5348-8.2.1-1: the interval is (sent − RTT, sent].
        for (sent, was_limited) in [(49, true), (50, false), (149, false), (150, true)] {
            let n = history([(40, false), (50, true), (60, false)]);
            assert_eq!(n.was_data_limited(at(sent), RTT), was_limited, "{sent}");
        }
    }

    #[test]
    fn a_steadily_held_back_sender_is_never_data_limited() {
        // 5348-8.2.1-1: nor one whose packets are further apart than round trips, nor where two feedback
        // packets follow each other closely.
        let n = history((0..200).map(|n| (250 * n, true)));
        for sent in (0..49_850).step_by(7) {
            assert!(!n.was_data_limited(at(sent), RTT), "{sent}");
            assert!(!n.was_data_limited(at(sent + 1), RTT), "{sent}");
        }
        assert!(n.was_data_limited(at(49_850), RTT));
    }

    #[test]
    fn between_two_runs_the_application_was_the_limit() {
        let n = history([
            (0, true),
            (10, true),
            (20, false),
            (300, false),
            (400, true),
        ]);
        for (sent, was_limited) in [(109, false), (110, true), (399, true), (400, false)] {
            assert_eq!(n.was_data_limited(at(sent), RTT), was_limited, "{sent}");
        }
    }

    #[test]
    fn the_last_sixteen_runs_are_remembered() {
        let n = history((0..34).map(|n| (200 * n, n % 2 == 0)));
        assert_eq!(n.runs.len(), RUNS);
        assert!(n.was_data_limited(at(0), RTT));
        assert!(!n.was_data_limited(at(400), RTT));
    }
}
