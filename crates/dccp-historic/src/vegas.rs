//! Vegas of the Linux kernel: slow start doubles the window in each round trip.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::law::reno::Reno;
use dccp_proto::cc::law::vegas::{Round, Rounds};
use dccp_proto::cc::law::{Ack, Congestion, Law, Window};
use dccp_proto::number::to_f64;
use dccp_proto::time::nanos;

/// Slow start ends when more packets are in the queue.
const GAMMA: f64 = 1.0;
/// The window shrinks while more packets are in the queue.
const BETA: f64 = 4.0;
/// The least window.
const FLOOR: f64 = 2.0;

/// Vegas of the Linux kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vegas {
    rules: Rules,
    reno: Reno,
    rounds: Rounds,
    /// The packets in the queue at the last decision.
    queued: f64,
    /// The window before the last decision.
    earlier: Option<f64>,
}

/// The differences between the versions.
#[derive(Clone, Copy, Debug)]
struct Rules {
    name: &'static str,
    /// The window grows while fewer packets are in the queue.
    alpha: f64,
    /// Returns the packets in the queue. Arguments: these packets times the round trip, the round trip, the shortest one.
    queued: fn(f64, Duration, Duration) -> f64,
    /// Returns the start window of a decision. Arguments: the window, and the one before the last decision.
    from: fn(f64, Option<f64>) -> f64,
    /// A window that shrinks takes its threshold along. Otherwise slow start may follow.
    lowers_threshold: bool,
}

/// Linux 6.1: counts the whole packets in w (RTT − base)/base.
pub(crate) const LINUX: Vegas = Vegas::new(Rules {
    name: "vegas-linux",
    alpha: 2.0,
    queued: |waiting, _, base| (waiting / to_f64(nanos(base))).floor(),
    from: |window, _| window,
    lowers_threshold: true,
});

/// Linux 2.6.22 as ns-2 runs it: counts as published, in halves of a packet rounded up. A decision starts from the
/// window before the last one, so one packet takes two round trips.
pub(crate) const LINUX_2_6_22: Vegas = Vegas::new(Rules {
    name: "vegas-2.6.22",
    alpha: 1.5,
    queued: |waiting, rtt, _| waiting / to_f64(nanos(rtt)),
    from: |window, earlier| earlier.unwrap_or(window),
    lowers_threshold: false,
});

impl Vegas {
    const fn new(rules: Rules) -> Self {
        Self {
            rules,
            reno: Reno::fractional(),
            rounds: Rounds::new(),
            queued: 0.0,
            earlier: None,
        }
    }

    /// Ends a round trip and moves the window.
    fn decide(&mut self, window: &mut Window, round: &Round) {
        let earlier = self.earlier.replace(window.cwnd);
        if round.is_unsuitable() {
            // Too few samples: grow as Reno.
            let growth = Ack {
                growth: round.growth,
                ..Ack::default()
            };
            self.reno.on_ack(window, &growth);
            return;
        }
        let rtt = round.rtt_min;
        // The kernel's rounding needs an exact difference, therefore in whole nanoseconds.
        let waiting = window.cwnd * to_f64(nanos(rtt.saturating_sub(self.rounds.base_rtt)));
        self.queued = (self.rules.queued)(waiting, rtt, self.rounds.base_rtt);
        if window.is_slow_start() {
            if self.queued > GAMMA {
                let filled = self.rounds.without_queue(window.cwnd, rtt);
                window.cwnd = window.cwnd.min(filled);
                window.leave_slow_start();
            }
            return;
        }
        let from = (self.rules.from)(window.cwnd, earlier);
        let aim = if self.queued > BETA {
            from - 1.0
        } else if self.queued < self.rules.alpha && round.growth > 0 {
            from + 1.0
        } else {
            from
        };
        window.cwnd = stepped(window.cwnd, aim).max(FLOOR);
        if self.queued > BETA && self.rules.lowers_threshold {
            window.leave_slow_start();
        }
    }
}

impl Law for Vegas {
    fn name(&self) -> &'static str {
        self.rules.name
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(round) = self.rounds.begin(ack) {
            self.decide(window, &round);
        }
        self.rounds.measure(ack);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.reno.on_congestion(window, event);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        self.reno.on_timeout(window, now);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        let base_rtt = self.rounds.base_rtt;
        if base_rtt < Duration::MAX {
            out.push(("base_rtt_s", base_rtt.as_secs_f64()));
        }
        out.push(("queued", self.queued));
    }
}

/// Returns the window `w`, one packet nearer to `aim`.
fn stepped(w: f64, aim: f64) -> f64 {
    w + (aim - w).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built;
    use dccp_proto::cc::law::testing::{START, acked, assert_near, avoiding, inner, ms};

    /// One round trip with samples of `rtt_ms`, and the first acknowledgement of the next one.
    fn round_trip(vegas: &mut dyn Law, w: &mut Window, round: u64, rtt_ms: u64) {
        for _ in 0..3 {
            let ack = Ack {
                round,
                rtt: Some(ms(rtt_ms)),
                ..acked(1)
            };
            vegas.on_ack(w, &ack);
        }
        vegas.on_ack(
            w,
            &Ack {
                round: round + 1,
                ..Ack::default()
            },
        );
    }

    #[test]
    fn decisions_are_as_pinned() {
        for (w, rtt, queued, action) in [
            (10.0, 100, 0.0, 1.0),
            (10.0, 110, 1.0, 1.0),
            (10.0, 125, 2.0, 0.0),
            (10.0, 150, 5.0, -1.0),
            (20.0, 125, 5.0, -1.0),
        ] {
            let mut vegas = built("vegas-linux");
            let mut window = avoiding(w);
            let base = Ack {
                rtt: Some(ms(100)),
                ..Ack::default()
            };
            vegas.on_ack(&mut window, &base);
            let next = Ack {
                round: 1,
                ..Ack::default()
            };
            vegas.on_ack(&mut window, &next);
            round_trip(&mut *vegas, &mut window, 1, rtt);
            assert_near(inner(&*vegas, "queued"), queued);
            assert_near(window.cwnd, w + action);
        }
    }

    #[test]
    fn a_late_decision_starts_from_the_window_before_the_last_one() {
        for (name, windows) in [
            ("vegas-linux", [11.0, 12.0, 13.0, 13.0, 13.0, 12.0, 11.0]),
            ("vegas-2.6.22", [11.0, 11.0, 12.0, 11.0, 12.0, 11.0, 11.0]),
        ] {
            let mut vegas = built(name);
            let mut w = avoiding(10.0);
            let round_trips = [100, 100, 100, 120, 120, 160, 160];
            for (round, (rtt, expected)) in (0..).zip(round_trips.into_iter().zip(windows)) {
                round_trip(&mut *vegas, &mut w, round, rtt);
                assert!(
                    (w.cwnd - expected).abs() < 1e-9,
                    "{name} {round}: {}",
                    w.cwnd
                );
            }
        }
    }

    #[test]
    fn only_newer_kernels_stay_out_of_slow_start_when_the_window_shrinks() {
        for (name, is_slow_start) in [("vegas-linux", false), ("vegas-2.6.22", true)] {
            let mut vegas = built(name);
            let mut w = Window {
                ssthresh: 20.0,
                ..avoiding(20.0)
            };
            round_trip(&mut *vegas, &mut w, 0, 100);
            let mut has_slow_start = false;
            for round in 1..6 {
                round_trip(&mut *vegas, &mut w, round, 160);
                has_slow_start |= w.is_slow_start();
            }
            assert_eq!(has_slow_start, is_slow_start, "{name}: {w:?}");
        }
    }

    #[test]
    fn slow_start_doubles_in_each_round_trip_until_packets_queue() {
        let mut vegas = built("vegas-linux");
        let mut w = Window::new(20);
        for round in 0..2 {
            assert!(!vegas.is_holding(&w, START));
            round_trip(&mut *vegas, &mut w, round, 100);
            assert!(w.is_slow_start());
        }
        // 20 (110 − 100)/100 = 2 packets.
        round_trip(&mut *vegas, &mut w, 2, 110);
        assert_near(w.cwnd, 20.0 * 100.0 / 110.0 + 1.0);
        assert!(!w.is_slow_start());
    }
}
