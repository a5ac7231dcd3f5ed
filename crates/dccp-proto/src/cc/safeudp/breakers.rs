//! Circuit breakers over the loss of many intervals (SafeUDP §6; RFC 8083 §4, RFC 8084 §4).

use super::Profile;
use super::codes::Cause;
use super::time_scales::TimeScales;
use crate::number::to_f64;
use std::collections::VecDeque;

/// The loss breaker trips above this part of the packets.
const HEAVY_LOSS: f64 = 0.10;
/// The fairness breaker trips above this multiple of TCP's rate (RFC 8083 §4.3).
const UNFAIR_FACTOR: f64 = 10.0;
/// Below this part of packets lost or marked, the fairness breaker does not trip.
pub(crate) const LOSS_LEAST: f64 = 1e-4;
/// Packets of a sub-window, where the breaker window has room for three of them.
const SUB_WINDOW_PACKETS: u64 = 100;
/// Successive sub-windows that must agree.
const SUB_WINDOWS: u32 = 3;

/// One interval as the breakers remember it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Entry {
    /// Packets whose fate became known.
    pub(crate) judged: u64,
    /// Packets lost or marked in the network.
    pub(crate) network: u64,
    /// Packets that the application did not get, wherever they were lost.
    pub(crate) missing: u64,
    /// Bytes sent per second.
    pub(crate) sent: f64,
    /// The loss event rate at the end of the interval.
    pub(crate) p_event: f64,
}

/// The intervals of one breaker window, the newest last.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Breakers {
    entries: VecDeque<Entry>,
}

/// The path and the settings that the breakers compare with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Yardstick {
    pub(crate) profile: Profile,
    /// Bytes of a packet.
    pub(crate) size: f64,
    /// Round-trip time in seconds.
    pub(crate) rtt: f64,
    /// The part of packets that may be missing, if the application set one.
    pub(crate) loss_limit: Option<f64>,
}

impl Breakers {
    /// Adds an interval, and forgets those that have left the window.
    pub(crate) fn push(&mut self, entry: Entry, scales: &TimeScales) {
        self.entries.push_back(entry);
        let window = usize::try_from(scales.breaker_window).unwrap_or(usize::MAX);
        while self.entries.len() > window {
            self.entries.pop_front();
        }
    }

    /// Forgets all intervals.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The breaker that trips now, if one does.
    pub(crate) fn tripped(&self, scales: &TimeScales, yardstick: &Yardstick) -> Option<Cause> {
        let is_full = self.entries.len() as u64 >= u64::from(scales.breaker_window);
        if self.each_sub_window(scales, is_heavy) {
            Some(Cause::Loss)
        } else if is_full && self.is_unfair(scales, yardstick) {
            Some(Cause::Unfair)
        } else if is_full && self.is_unusable(yardstick) {
            Some(Cause::Unusable)
        } else {
            None
        }
    }

    /// The mean rate exceeds ten times that of TCP at the mean loss event rate, and congestion is not over. Packet loss would
    /// not do: a drop-tail queue loses packets in bursts, and each burst is one event for TCP.
    fn is_unfair(&self, scales: &TimeScales, y: &Yardstick) -> bool {
        let n = to_f64(self.entries.len() as u64);
        let sum = |of: fn(&Entry) -> f64| self.entries.iter().map(of).sum::<f64>();
        let loss = sum(|e| to_f64(e.network)) / sum(|e| to_f64(e.judged)).max(1.0);
        let simple = rate_simple(y.size, y.rtt, sum(|e| e.p_event) / n);
        y.profile == Profile::Shared
            && loss >= LOSS_LEAST
            && sum(|e| e.sent) / n > UNFAIR_FACTOR * simple
            && self.each_sub_window(scales, |_, network| network > 0)
    }

    fn is_unusable(&self, y: &Yardstick) -> bool {
        let sum = |of: fn(&Entry) -> u64| to_f64(self.entries.iter().map(of).sum());
        let (missing, judged) = (sum(|e| e.missing), sum(|e| e.judged));
        y.loss_limit
            .is_some_and(|limit| judged > 0.0 && missing > limit * judged)
    }

    /// Whether the newest three sub-windows are there and satisfy `test`, which gets the judged packets and those lost in the
    /// network.
    fn each_sub_window(&self, scales: &TimeScales, test: impl Fn(u64, u64) -> bool) -> bool {
        let len = self.sub_window(scales);
        let mut newest = self.entries.iter().rev();
        let mut sums = (0..SUB_WINDOWS).map(|_| {
            let window = newest.by_ref().take(len);
            window.fold((0, 0, 0), |(n, judged, network), e| {
                (n + 1, judged + e.judged, network + e.network)
            })
        });
        sums.all(|(n, judged, network)| n == len && test(judged, network))
    }

    /// Intervals in a sub-window: those of the grace, and more where they hold too few packets.
    fn sub_window(&self, scales: &TimeScales) -> usize {
        let judged: u64 = self.entries.iter().map(|e| e.judged).sum();
        let needed = (SUB_WINDOW_PACKETS * self.entries.len() as u64).div_ceil(judged.max(1));
        let most = scales.breaker_window / SUB_WINDOWS;
        let least = scales.sub_window;
        let len = needed.clamp(least.into(), most.max(least).into());
        usize::try_from(len).unwrap_or(usize::MAX).max(1)
    }
}

/// Whether more than [`HEAVY_LOSS`] of the packets are lost, and not by chance: by two standard deviations more.
fn is_heavy(judged: u64, network: u64) -> bool {
    let n = to_f64(judged);
    let deviation = libm::sqrt(HEAVY_LOSS * (1.0 - HEAVY_LOSS) * n);
    to_f64(network) > HEAVY_LOSS * n + 2.0 * deviation
}

/// TCP's rate in bytes per second without timeouts, `X_simple` (RFC 8083 §4.3); infinite at 0.
pub(crate) fn rate_simple(size: f64, rtt: f64, p: f64) -> f64 {
    size / (rtt * libm::sqrt(2.0 * p / 3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::safeudp::time_scales::nominal_interval;
    use core::time::Duration;

    const RTT: Duration = Duration::from_millis(100);

    fn yardstick() -> Yardstick {
        Yardstick {
            profile: Profile::Shared,
            size: 1460.0,
            rtt: 0.1,
            loss_limit: None,
        }
    }

    fn scales() -> TimeScales {
        TimeScales::new(RTT, nominal_interval(RTT))
    }

    /// The breaker that trips after that many such intervals.
    fn after(entry: Entry, intervals: usize) -> Option<Cause> {
        let mut breakers = Breakers::default();
        for _ in 0..intervals {
            breakers.push(entry, &scales());
        }
        breakers.tripped(&scales(), &yardstick())
    }

    fn entry(network: u64, sent: f64, p_event: f64) -> Entry {
        Entry {
            judged: 1000,
            network,
            missing: network,
            sent,
            p_event,
        }
    }

    #[test]
    fn simple_rate_is_as_pinned() {
        // X_simple of SafeUDP §5.1, in Mbit/s.
        for (rtt, p, mbit_per_s) in [
            (0.1, 1e-6, 143.05),
            (0.1, 1e-2, 1.4305),
            (0.17, 1e-4, 8.41472),
        ] {
            let rate = rate_simple(1460.0, rtt, p) * 8e-6;
            assert!((rate / mbit_per_s - 1.0).abs() < 1e-4, "{rate}");
        }
    }

    #[test]
    fn heavy_loss_must_last_for_three_sub_windows() {
        assert_eq!(after(entry(112, 1e5, 1e-3), 8), None);
        assert_eq!(after(entry(112, 1e5, 1e-3), 9), Some(Cause::Loss));
        assert_eq!(after(entry(110, 1e5, 1e-3), 38), None);
    }

    #[test]
    fn slow_flow_is_judged_by_a_hundred_packets() {
        // Ten packets per interval: two lost of ten, three times, are not enough.
        let slow = |network| Entry {
            judged: 10,
            ..entry(network, 1e3, 1e-3)
        };
        assert_eq!(after(slow(2), 29), None);
        assert_eq!(after(slow(2), 30), Some(Cause::Loss));
        assert_eq!(after(slow(1), 38), None);
    }

    #[test]
    fn unfair_rate_is_judged_by_loss_events() {
        let simple = rate_simple(1460.0, 0.1, 1e-3);
        assert_eq!(after(entry(50, 10.1 * simple, 1e-3), 37), None);
        assert_eq!(
            after(entry(50, 10.1 * simple, 1e-3), 38),
            Some(Cause::Unfair)
        );
        assert_eq!(after(entry(50, 9.9 * simple, 1e-3), 38), None);
        // The same rate at a hundredth of the events, although as many packets are lost.
        assert_eq!(after(entry(50, 10.1 * simple, 1e-5), 38), None);
    }

    #[test]
    fn congestion_that_is_over_does_not_trip() {
        let mut breakers = Breakers::default();
        let unfair = entry(50, 1e9, 1e-2);
        for _ in 0..35 {
            breakers.push(unfair, &scales());
        }
        for _ in 0..3 {
            breakers.push(entry(0, 1e9, 1e-2), &scales());
        }
        assert_eq!(breakers.tripped(&scales(), &yardstick()), None);
    }

    #[test]
    fn provisioned_profile_keeps_the_loss_breaker_only() {
        let provisioned = Yardstick {
            profile: Profile::Provisioned,
            ..yardstick()
        };
        let mut breakers = Breakers::default();
        for _ in 0..38 {
            breakers.push(entry(50, 1e9, 1e-2), &scales());
        }
        assert_eq!(breakers.tripped(&scales(), &provisioned), None);
        for _ in 0..9 {
            breakers.push(entry(200, 1e9, 1e-2), &scales());
        }
        assert_eq!(breakers.tripped(&scales(), &provisioned), Some(Cause::Loss));
    }

    #[test]
    fn loss_limit_of_the_application_counts_losses_of_every_place() {
        let limited = Yardstick {
            loss_limit: Some(0.02),
            ..yardstick()
        };
        for (missing, cause) in [(21, Some(Cause::Unusable)), (20, None)] {
            let mut breakers = Breakers::default();
            let entry = Entry {
                missing,
                ..entry(0, 1e5, 0.0)
            };
            for n in 1..=38 {
                breakers.push(entry, &scales());
                let expected = cause.filter(|_| n == 38);
                assert_eq!(breakers.tripped(&scales(), &limited), expected);
            }
        }
    }
}
