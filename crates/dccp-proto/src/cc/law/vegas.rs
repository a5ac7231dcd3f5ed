//! Vegas (Brakmo, Peterson: "TCP Vegas", 1995) keeps a few packets in the queue.

use super::reno::Reno;
use super::{Ack, Congestion, Law, LawSettings, SettingError, Window};
use crate::number::to_f64;
use crate::time::{Instant, nanos};
use core::time::Duration;

/// Settings of Vegas.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The window grows while fewer packets are in the queue.
    pub alpha: f64,
    /// The window shrinks while more packets are in the queue.
    pub beta: f64,
    /// Slow start ends when more packets are in the queue.
    pub gamma: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            beta: 3.0,
            gamma: 1.0,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Vegas::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("alpha", self.alpha, 0.0..=1000.0)?;
        SettingError::unless_within("beta", self.beta, 0.0..=1000.0)?;
        SettingError::unless_within("gamma", self.gamma, 0.0..=1000.0)
    }
}

/// A round trip with fewer samples is not a measurement.
const SAMPLES_MIN: u32 = 3;
/// The least window after a decrease by Vegas, in packets.
const FLOOR: f64 = 2.0;
/// Slow start doubles the window in one of this many round trips.
const DOUBLING: u64 = 2;

/// Vegas.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Vegas {
    config: Config,
    reno: Reno,
    rounds: Rounds,
    /// The packets in the queue at the last decision.
    queued: f64,
}

/// The round trips of a flow: the current one, and the shortest time of all.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rounds {
    /// The shortest round trip ever; `Duration::MAX` before the first sample.
    pub base_rtt: Duration,
    current: Round,
}

/// The measurements of one round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Round {
    /// Its number, as in [`Ack::round`].
    pub number: u64,
    /// The shortest sample in it.
    pub rtt_min: Duration,
    samples: u32,
    /// Acknowledged packets that may make the window grow.
    pub growth: u32,
    is_recovering: bool,
}

impl Round {
    const fn new(number: u64) -> Self {
        Self {
            number,
            rtt_min: Duration::MAX,
            samples: 0,
            growth: 0,
            is_recovering: false,
        }
    }

    /// Returns true if the samples are too few for a decision, or the flow was recovering.
    pub const fn is_unsuitable(&self) -> bool {
        self.samples < SAMPLES_MIN || self.is_recovering
    }
}

impl Rounds {
    /// Begins round trip 0 without samples.
    pub const fn new() -> Self {
        Self {
            base_rtt: Duration::MAX,
            current: Round::new(0),
        }
    }

    /// Returns the number of the current round trip.
    pub const fn number(&self) -> u64 {
        self.current.number
    }

    /// Begins the round trip of `ack` if it is a new one. Returns the one that ends.
    pub fn begin(&mut self, ack: &Ack) -> Option<Round> {
        let is_new = ack.round != self.current.number;
        is_new.then(|| core::mem::replace(&mut self.current, Round::new(ack.round)))
    }

    /// Adds `ack` to the current round trip.
    pub fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = self.base_rtt.min(rtt);
            self.current.rtt_min = self.current.rtt_min.min(rtt);
            self.current.samples += 1;
        }
        self.current.growth += ack.growth;
        self.current.is_recovering |= ack.is_recovering;
    }

    /// Returns `cwnd` without the packets that a round trip of `rtt` keeps in the queue, and one more: the window
    /// after slow start.
    pub fn without_queue(&self, cwnd: f64, rtt: Duration) -> f64 {
        cwnd * to_f64(nanos(self.base_rtt)) / to_f64(nanos(rtt)) + 1.0
    }
}

impl Default for Rounds {
    fn default() -> Self {
        Self::new()
    }
}

impl Vegas {
    /// Vegas with these options.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            reno: Reno::fractional(),
            rounds: Rounds::new(),
            queued: 0.0,
        }
    }

    /// Returns the packets in the queue.
    fn diff(&self, w: f64, rtt: Duration) -> f64 {
        w * to_f64(nanos(rtt.saturating_sub(self.rounds.base_rtt))) / to_f64(nanos(rtt))
    }

    /// Ends a round trip and moves the window.
    fn decide(&mut self, window: &mut Window, round: &Round) {
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
        self.queued = self.diff(window.cwnd, rtt);
        if window.is_slow_start() {
            if self.queued > self.config.gamma {
                let filled = self.rounds.without_queue(window.cwnd, rtt);
                window.cwnd = window.cwnd.min(filled);
                window.leave_slow_start();
            }
        } else {
            let has_queue = self.queued > self.config.beta;
            let step = if has_queue {
                -1.0
            } else if self.queued < self.config.alpha && round.growth > 0 {
                1.0
            } else {
                0.0
            };
            window.cwnd = (window.cwnd + step).max(FLOOR);
            if has_queue {
                // The order matters: a window below its threshold would grow back by slow start.
                window.leave_slow_start();
            }
        }
    }
}

impl Law for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
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

    /// Returns true in round trips of slow start that measure without growth.
    fn is_holding(&self, window: &Window, _now: Instant) -> bool {
        window.is_slow_start() && !self.rounds.number().is_multiple_of(DOUBLING)
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        let base_rtt = self.rounds.base_rtt;
        if base_rtt < Duration::MAX {
            out.push(("base_rtt_s", base_rtt.as_secs_f64()));
        }
        out.push(("queued", self.queued));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{START, ms};
    use crate::cc::law::bench::{
        acked, assert_near, avoiding, check_sawtooth, inner, law, loss, table,
    };

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
        for [w, base, rtt, queued, action] in table(
            "
             10  100  100         0   1
             10  100  110  0.909091   1
             10  100  125         2   0
             10  100  150   3.33333  -1
             20  100  125         4  -1
            100   70   72   2.77778   0
            ",
        ) {
            {
                let mut vegas = law(Config::default());
                let mut window = avoiding(w);
                let base = Ack {
                    rtt: Some(Duration::from_secs_f64(base / 1000.0)),
                    ..Ack::default()
                };
                vegas.on_ack(&mut window, &base);
                vegas.on_ack(
                    &mut window,
                    &Ack {
                        round: 1,
                        ..Ack::default()
                    },
                );
                let rtt = crate::cc::law::bench::whole(rtt);
                round_trip(&mut *vegas, &mut window, 1, rtt.into());
                assert!((inner(&*vegas, "queued") - queued).abs() < 1e-4, "{w}");
                assert_near(window.cwnd, w + action);
            }
        }
    }

    #[test]
    fn shortest_round_trip_is_reported_after_the_first_sample() {
        let mut vegas = law(Config::default());
        let shown = |vegas: &dyn Law| {
            let mut out = Vec::new();
            vegas.inner(&mut out);
            out
        };
        assert_eq!(shown(&*vegas), [("queued", 0.0)]);
        for rtt in [ms(100), ms(120)] {
            let ack = Ack {
                rtt: Some(rtt),
                ..Ack::default()
            };
            vegas.on_ack(&mut avoiding(10.0), &ack);
            assert_eq!(shown(&*vegas), [("base_rtt_s", 0.1), ("queued", 0.0)]);
        }
    }

    #[test]
    fn two_samples_are_too_few_and_growth_is_that_of_reno() {
        let mut vegas = law(Config::default());
        let mut w = avoiding(10.0);
        for _ in 0..2 {
            let ack = Ack {
                rtt: Some(ms(100)),
                ..acked(4)
            };
            vegas.on_ack(&mut w, &ack);
        }
        assert_near(w.cwnd, 10.0);
        let next = Ack {
            round: 1,
            ..Ack::default()
        };
        vegas.on_ack(&mut w, &next);
        let mut reno = avoiding(10.0);
        Reno::fractional().on_ack(&mut reno, &acked(8));
        assert_near(w.cwnd, reno.cwnd);
    }

    #[test]
    fn slow_start_ends_with_the_first_packets_in_the_queue() {
        let mut vegas = law(Config::default());
        let mut w = Window::new(20);
        round_trip(&mut *vegas, &mut w, 0, 100);
        assert!(w.is_slow_start());
        // 20 (1 − 100/105) = 0.95 packets are too few. At 110 ms there are 1.8.
        round_trip(&mut *vegas, &mut w, 1, 105);
        assert!(w.is_slow_start());
        round_trip(&mut *vegas, &mut w, 2, 110);
        assert_near(w.cwnd, 20.0 * 100.0 / 110.0 + 1.0);
        assert!(!w.is_slow_start());
    }

    #[test]
    fn window_stays_while_the_queue_is_within_bounds() {
        let mut vegas = law(Config::default());
        let mut w = Window::new(11);
        round_trip(&mut *vegas, &mut w, 0, 100);
        round_trip(&mut *vegas, &mut w, 1, 110);
        assert_near(inner(&*vegas, "queued"), 1.0);
        assert!(w.is_slow_start());
        let mut vegas = law(Config::default());
        let mut w = avoiding(17.0);
        round_trip(&mut *vegas, &mut w, 0, 100);
        round_trip(&mut *vegas, &mut w, 1, 120);
        assert_near(inner(&*vegas, "queued"), 3.0);
        assert_near(w.cwnd, 18.0);
    }

    #[test]
    fn a_window_that_was_not_the_limit_does_not_grow() {
        let mut vegas = law(Config::default());
        let mut w = avoiding(10.0);
        for round in 0..3 {
            for _ in 0..3 {
                let ack = Ack {
                    round,
                    rtt: Some(ms(100)),
                    growth: 0,
                    ..acked(1)
                };
                vegas.on_ack(&mut w, &ack);
            }
            assert_near(w.cwnd, 10.0);
        }
    }

    #[test]
    fn slow_start_doubles_every_other_round_trip() {
        let mut vegas = law(Config::default());
        let mut w = Window::new(4);
        assert!(!vegas.is_holding(&w, START));
        round_trip(&mut *vegas, &mut w, 0, 100);
        assert!(vegas.is_holding(&w, START));
        assert!(!vegas.is_holding(&avoiding(4.0), START));
    }

    #[test]
    fn shrunken_window_does_not_return_to_slow_start() {
        let mut vegas = law(Config::default());
        let mut w = Window {
            ssthresh: 20.0,
            ..avoiding(20.0)
        };
        round_trip(&mut *vegas, &mut w, 0, 100);
        for round in 1..4 {
            round_trip(&mut *vegas, &mut w, round, 150);
            assert!(!w.is_slow_start(), "{w:?}");
        }
        assert_near(w.cwnd, 18.0);
    }

    #[test]
    fn vegas_keeps_two_packets_but_a_timeout_leaves_one() {
        let mut vegas = law(Config {
            beta: 1.0,
            ..Config::default()
        });
        let mut w = Window {
            ssthresh: 3.0,
            ..avoiding(2.5)
        };
        round_trip(&mut *vegas, &mut w, 0, 10);
        w.ssthresh = 2.0;
        for round in 1..4 {
            round_trip(&mut *vegas, &mut w, round, 1000);
            assert_near(w.cwnd, 2.0);
        }
        let mut w = avoiding(10.0);
        vegas.on_congestion(&mut w, &loss(10));
        assert_near(w.cwnd, 5.0);
        vegas.on_timeout(&mut w, START);
        assert_near(w.cwnd, 1.0);
    }

    #[test]
    fn sawtooth_is_as_stored() {
        check_sawtooth(Config::default().into(), include_str!("sawtooth/vegas.txt"));
    }
}
