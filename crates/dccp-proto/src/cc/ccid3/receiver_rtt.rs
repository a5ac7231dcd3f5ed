//! The round-trip time as a CCID 3 receiver knows it: from the sender's RTT Estimate (RFC 6323),
//! from this end's own measurement, or from window counters (RFC 4342 §8.1).

use crate::cc::config::DEFAULT_RTT;
use crate::time::Instant;
use core::time::Duration;

/// Without any sign, from a sender that announced RTT Estimates (6323-3.4-1) …
const PROMISED_DEFAULT: Duration = Duration::from_millis(500);
/// … and the most to which its silence raises that.
const PROMISED_MAX: Duration = Duration::from_secs(64);
/// How many ticks of the window counter a round trip has.
const TICKS: u64 = 4;
/// From this many packets per round trip, counters are better than this end's own estimate. Each tick
/// waits for the next packet, so counters need many packets. This end's own estimate may be as old as
/// the handshake while data flows one way only: it then misses the queue that has grown since.
const PACKETS_MIN: u32 = 32;

/// The information of a data packet about the round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hint {
    /// When it arrived.
    pub(crate) now: Instant,
    /// The window counter, continued beyond 15.
    pub(crate) counter: u64,
    /// This end's own estimate.
    pub(crate) own: Option<Duration>,
    /// A numeric RTT Estimate option.
    pub(crate) told: Option<Duration>,
}

/// The receiver's estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReceiverRtt {
    own: Option<Duration>,
    counted: Option<Duration>,
    /// The first arrival with a counter. The next sample starts there.
    anchor: Option<(Instant, u64)>,
    /// Packets since then.
    packets: u32,
    /// A later one, 2 or 3 ticks after it.
    nearby: Option<(Instant, u64)>,
    promised: Option<Promised>,
}

/// The state of a sender that announced RTT Estimates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Promised {
    rtt: Duration,
    /// When a number came last, or its absence last counted.
    since: Option<Instant>,
}

impl ReceiverRtt {
    /// An estimator; `own` is what the handshake measured.
    pub(crate) fn new(own: Option<Duration>) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// The sender announces RTT Estimates, or withdraws that.
    pub(crate) fn on_promise(&mut self, is_promised: bool) {
        self.promised = is_promised.then_some(Promised {
            rtt: PROMISED_DEFAULT,
            since: None,
        });
    }

    /// Whether the sender announced RTT Estimates.
    pub(crate) const fn is_promised(&self) -> bool {
        self.promised.is_some()
    }

    /// The round-trip time (6323-3.3-2: the sender's estimate, if it announced RTT Estimates).
    pub(crate) fn rtt(&self) -> Duration {
        let own = || self.counted.or(self.own).unwrap_or(DEFAULT_RTT);
        self.promised.map_or_else(own, |promised| promised.rtt)
    }

    /// A packet arrived in order.
    pub(crate) fn on_packet(&mut self, hint: &Hint) {
        self.own = hint.own.or(self.own);
        self.count(hint.now, hint.counter);
        if let Some(promised) = &mut self.promised {
            promised.on_packet(hint.now, hint.told);
        }
    }

    /// 4342-8.1-3: the time between the first packets of two counters 4 apart; 2 or 3 apart where
    /// 4 was passed over.
    fn count(&mut self, now: Instant, counter: u64) {
        self.packets += 1;
        let Some((start, first)) = self.anchor else {
            self.anchor = Some((now, counter));
            return;
        };
        let ticks = counter - first;
        let sample = match (ticks, self.nearby) {
            (0..=1, _) => return,
            (2 | 3, nearby) => {
                if nearby.is_none_or(|(_, seen)| seen < counter) {
                    self.nearby = Some((now, counter));
                }
                return;
            }
            (TICKS, _) => Some(now - start),
            (_, Some((at, seen))) => Some((at - start) * 4 / if seen - first == 2 { 2 } else { 3 }),
            // Five apart may be any time.
            (_, None) => None,
        };
        self.anchor = Some((now, counter));
        self.nearby = None;
        let is_fine = core::mem::take(&mut self.packets) >= PACKETS_MIN;
        if self.own.is_some() && !is_fine {
            self.counted = None;
        } else if let Some(sample) = sample {
            let smooth = |old: Duration| old * 9 / 10 + sample / 10;
            self.counted = Some(self.counted.map_or(sample, smooth));
        }
    }
}

impl Promised {
    /// 6323-3.4-1: silence for longer than the round-trip time doubles it.
    fn on_packet(&mut self, now: Instant, told: Option<Duration>) {
        let since = *self.since.get_or_insert(now);
        if let Some(rtt) = told {
            self.rtt = rtt;
            self.since = Some(now);
        } else if now - since > self.rtt {
            self.rtt = (2 * self.rtt).min(PROMISED_MAX);
            self.since = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn hint(at_ms: u64, counter: u64) -> Hint {
        Hint {
            now: Instant::from_nanos(1_000_000_000) + ms(at_ms),
            counter,
            own: None,
            told: None,
        }
    }

    #[test]
    fn without_any_sign_it_is_0_2_s() {
        assert_eq!(ReceiverRtt::new(None).rtt(), ms(200));
        assert_eq!(ReceiverRtt::new(Some(ms(30))).rtt(), ms(30));
    }

    #[test]
    fn four_ticks_of_the_counter_are_a_round_trip() {
        // 4342-8.1-3: T7 − T3 of the RFC's drawing; later packets with K + 4 do not count.
        let mut r = ReceiverRtt::new(None);
        for (t, counter) in [(10, 8), (12, 8), (30, 9), (80, 11), (104, 12), (120, 12)] {
            r.on_packet(&hint(t, counter));
        }
        assert_eq!(r.rtt(), ms(94));
        // The next sample starts at 12, and moves the mean by a tenth.
        r.on_packet(&hint(304, 16));
        assert_eq!(r.rtt(), Duration::from_micros(104_600));
    }

    #[test]
    fn two_or_three_ticks_do_where_four_were_passed_over() {
        // 4342-8.1-3
        for first in [0, 7] {
            let mut r = ReceiverRtt::new(None);
            r.on_packet(&hint(0, first));
            r.on_packet(&hint(50, first + 2));
            r.on_packet(&hint(60, first + 2));
            r.on_packet(&hint(140, first + 5));
            assert_eq!(r.rtt(), ms(100));
        }
        let mut r = ReceiverRtt::new(None);
        r.on_packet(&hint(0, 0));
        r.on_packet(&hint(50, 2));
        r.on_packet(&hint(90, 3));
        r.on_packet(&hint(95, 3));
        r.on_packet(&hint(140, 5));
        assert_eq!(r.rtt(), ms(120));
    }

    #[test]
    fn five_ticks_at_once_tell_nothing() {
        // 4342-8.1-3
        let mut r = ReceiverRtt::new(None);
        for i in 0..10 {
            r.on_packet(&hint(1000 * i, 5 * i));
        }
        assert_eq!(r.rtt(), ms(200));
        r.on_packet(&hint(9_080, 49));
        assert_eq!(r.rtt(), ms(80));
    }

    /// An estimator with its own estimate of 70 ms, after `n` packets in a round trip of 100 ms.
    fn after_packets(n: u64) -> ReceiverRtt {
        let mut r = ReceiverRtt::new(None);
        let own = Some(ms(70));
        r.on_packet(&Hint { own, ..hint(0, 0) });
        for i in 1..=n {
            r.on_packet(&hint(100 * i / n, 4 * i / n));
        }
        r
    }

    #[test]
    fn counters_are_better_than_an_old_estimate_where_packets_are_many() {
        // 4342-8.1-3
        assert_eq!(after_packets(30).rtt(), ms(70));
        assert_eq!(after_packets(31).rtt(), ms(100));
        // Fewer packets later: back to this end's own.
        let mut r = after_packets(100);
        assert_eq!(r.rtt(), ms(100));
        for i in 1..=10 {
            r.on_packet(&hint(100 + 10 * i, 4 + 4 * i / 10));
        }
        assert_eq!(r.rtt(), ms(70));
    }

    #[test]
    fn a_promised_estimate_replaces_all_others() {
        // 6323-3.3-2
        let mut r = ReceiverRtt::new(Some(ms(70)));
        r.on_promise(true);
        assert!(r.is_promised());
        let told = Some(ms(33));
        r.on_packet(&Hint { told, ..hint(0, 0) });
        assert_eq!(r.rtt(), ms(33));
        r.on_promise(false);
        assert!(!r.is_promised());
        assert_eq!(r.rtt(), ms(70));
    }

    #[test]
    fn a_promise_not_kept_doubles_the_estimate_from_0_5_s_to_64_s() {
        // 6323-3.4-1
        let mut r = ReceiverRtt::new(Some(ms(70)));
        r.on_promise(true);
        assert_eq!(r.rtt(), ms(500));
        r.on_packet(&hint(0, 0));
        r.on_packet(&hint(500, 0));
        assert_eq!(r.rtt(), ms(500));
        r.on_packet(&hint(501, 0));
        assert_eq!(r.rtt(), ms(1000));
        r.on_packet(&hint(1501, 0));
        assert_eq!(r.rtt(), ms(1000));
        let mut t = 1502;
        for expected in [2, 4, 8, 16, 32, 64, 64, 64] {
            r.on_packet(&hint(t, 0));
            assert_eq!(r.rtt(), Duration::from_secs(expected));
            t += 64_001;
        }
        let told = Some(ms(33));
        r.on_packet(&Hint { told, ..hint(t, 0) });
        assert_eq!(r.rtt(), ms(33));
        r.on_packet(&hint(t + 34, 0));
        assert_eq!(r.rtt(), ms(66));
    }
}
