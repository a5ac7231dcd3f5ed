//! TCP-LP and HSTCP-LP: the window shrinks as soon as the delay shows that other flows need the path
//! (Kuzmanovic, Knightly: "TCP-LP", INFOCOM 2003; with Cottrell: "HSTCP-LP", PFLDnet 2004).

use super::delay::{Extremes, Signal};
use super::highspeed::ByTable;
use super::reno::Reno;
use super::{Ack, Congestion, Law, LawSettings, SettingError, Wants, Window};
use crate::time::Instant;
use core::time::Duration;

/// Settings of TCP-LP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Congestion is indicated above this share of the range of delays.
    pub threshold: f64,
    /// The law does not grow for this many round trips after an indication.
    pub inference: f64,
    /// The extremes of the delay expire after this time in seconds; 0: never, as published.
    pub memory_s: f64,
    /// Uses the one-way delay where the peer reports it. If false, the signal is the round trip, with the queues on
    /// the way back.
    pub one_way: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold: 0.15,
            inference: 3.0,
            memory_s: 60.0,
            one_way: true,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "tcp-lp"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Lp::new(*self, "tcp-lp", Reno::fractional()))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("threshold", self.threshold, 0.01..=0.99)?;
        SettingError::unless_within("inference", self.inference, 1.0..=100.0)?;
        SettingError::unless_within("memory_s", self.memory_s, 0.0..=86_400.0)
    }
}

/// Settings of HSTCP-LP: those of TCP-LP.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct HighSpeedConfig(pub Config);

impl LawSettings for HighSpeedConfig {
    fn name(&self) -> &'static str {
        "hstcp-lp"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Lp::new(self.0, "hstcp-lp", ByTable::default()))
    }

    fn check(&self) -> Result<(), SettingError> {
        self.0.check()
    }
}

/// A range of delays below this, in seconds, shows no queue.
const RANGE_MIN: f64 = 0.001;
/// With fewer packets in flight, a packet that is acknowledged alone shows no queue.
const FLIGHT_MIN: u32 = 4;
/// The extremes of the delay expire in this many parts.
const SPANS: u32 = 6;
/// Longer than any connection, in seconds.
const CENTURY_S: f64 = 3.15e9;

/// Early congestion indication from the smoothed delay.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Early {
    signal: Signal,
    extremes: Extremes<{ SPANS as usize }>,
    smoothed: Option<f64>,
}

impl Early {
    fn new(memory_s: f64) -> Self {
        let memory_s = if memory_s > 0.0 { memory_s } else { CENTURY_S };
        let span = Duration::from_secs_f64(memory_s) / SPANS;
        Self {
            signal: Signal::default(),
            extremes: Extremes::new(span),
            smoothed: None,
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = self.signal.sample(ack) else {
            return;
        };
        if ack.acked < 2 && ack.flight < FLIGHT_MIN {
            // A packet without a second one behind it waits for the peer's delayed-ack timer, which is no queue. Over TCP
            // the one-way delay includes that too. Without this rule a window of one packet indicates congestion forever.
            self.smoothed = None;
            return;
        }
        if sample.is_other_kind {
            self.extremes.clear();
            self.smoothed = None;
        }
        self.sample(ack.now, sample.delay);
    }

    fn sample(&mut self, now: Instant, delay: f64) {
        self.extremes.add(now, delay);
        let mean = self.smoothed.unwrap_or(delay);
        self.smoothed = Some(mean + (delay - mean) / 8.0);
    }

    /// Returns the delay above which other flows need the path.
    fn threshold(&self, share: f64) -> f64 {
        let (min, max) = (self.extremes.min(), self.extremes.max());
        min + share * (max - min)
    }

    fn is_indicated(&self, share: f64) -> bool {
        let range = self.extremes.max() - self.extremes.min();
        range >= RANGE_MIN && self.smoothed.is_some_and(|d| d > self.threshold(share))
    }
}

/// A law that grows and reacts to losses like `G`, and also shrinks at an early indication.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Lp<G> {
    config: Config,
    name: &'static str,
    growth: G,
    early: Early,
    /// The end of the inference phase.
    inferring_until: Option<Instant>,
    /// Indications before this time are ignored.
    deaf_until: Instant,
}

impl<G: Law> Lp<G> {
    fn new(config: Config, name: &'static str, growth: G) -> Self {
        Self {
            config,
            name,
            growth,
            early: Early::new(config.memory_s),
            inferring_until: None,
            deaf_until: Instant::ZERO,
        }
    }

    /// Halves the window at the first indication. Another one in the inference phase leaves one packet. The law
    /// reacts once per round trip.
    fn give_way(&mut self, window: &mut Window, now: Instant, rtt: Duration) {
        window.cwnd = if self.is_holding(window, now) {
            1.0
        } else {
            (window.cwnd / 2.0).max(1.0)
        };
        window.leave_slow_start();
        self.inferring_until = Some(now + rtt.mul_f64(self.config.inference));
        self.deaf_until = now + rtt;
    }
}

impl<G: Law> Law for Lp<G> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn wants(&self) -> Wants {
        Wants {
            one_way: self.config.one_way,
            ..self.growth.wants()
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.early.on_ack(ack);
        let is_indicated = self.early.is_indicated(self.config.threshold);
        match ack.smoothed_rtt {
            // Slow start itself fills the queue, therefore indications do not count.
            Some(rtt) if is_indicated && !window.is_slow_start() && ack.now >= self.deaf_until => {
                self.give_way(window, ack.now, rtt);
            }
            _ if self.is_holding(window, ack.now) => {}
            _ => self.growth.on_ack(window, ack),
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.growth.on_congestion(window, event);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        self.growth.on_timeout(window, now);
    }

    fn is_holding(&self, _window: &Window, now: Instant) -> bool {
        self.inferring_until.is_some_and(|until| now < until)
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        if let Some(smoothed) = self.early.smoothed {
            out.push(("delay_s", smoothed));
            out.push(("delay_min_s", self.early.extremes.min()));
            out.push(("delay_max_s", self.early.extremes.max()));
            out.push(("threshold_s", self.early.threshold(self.config.threshold)));
        }
        self.early.signal.inner(out);
        self.growth.inner(out);
    }
}

#[cfg(test)]
mod tests;
