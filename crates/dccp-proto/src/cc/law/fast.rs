//! FAST TCP (Jin, Wei, Low: "FAST TCP", INFOCOM 2004; Wei et al., IEEE/ACM `ToN` 14(6), 2006):
//! the window moves towards the one that keeps alpha packets in the queue.

use super::{Ack, Congestion, Law, LawSettings, SettingError, Window};
use crate::time::Instant;

/// Settings of FAST.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Packets that the flow keeps in the queue.
    pub alpha: f64,
    /// The window stays while the queue holds at most this many packets more.
    pub dead_band: f64,
    /// The share of the way to the aim that an update takes.
    pub gamma: f64,
    /// Below this queueing delay, each acknowledged packet adds one.
    pub mi_threshold_ms: f64,
    /// The share of the window that remains after a loss.
    pub loss_keep: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            alpha: 200.0,
            dead_band: 0.0,
            gamma: 0.5,
            mi_threshold_ms: 0.75,
            loss_keep: 0.5,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Fast::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("alpha", self.alpha, 1.0..=100_000.0)?;
        SettingError::unless_within("dead_band", self.dead_band, 0.0..=100_000.0)?;
        SettingError::unless_within("gamma", self.gamma, 0.01..=1.0)?;
        SettingError::unless_within("mi_threshold_ms", self.mi_threshold_ms, 0.0..=1000.0)?;
        SettingError::unless_within("loss_keep", self.loss_keep, 0.1..=0.95)
    }
}

/// Round trips per update: the next update needs the effect of the last one.
const UPDATE_ROUNDS: u64 = 2;
/// The shortest round trip, in seconds, that an increase is spread over.
const SPREAD_MIN: f64 = 0.004;
/// The least window.
const FLOOR: f64 = 2.0;

/// FAST.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fast {
    config: Config,
    /// The shortest round trip ever, and the average, in seconds.
    rtt: Option<Rtt>,
    round: u64,
    /// The windows at the start of this round trip and of the one before. Packets that are acknowledged now
    /// were sent with the second.
    began_with: f64,
    sent_with: f64,
    /// The aim of the current increase, and the growth per acknowledged packet.
    rise: Option<(f64, f64)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Rtt {
    base: f64,
    average: f64,
}

impl Rtt {
    /// Returns the share of the round trip without the queue.
    fn share(&self) -> f64 {
        self.base / self.average
    }
}

impl Fast {
    /// FAST with these options.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            rtt: None,
            round: 0,
            began_with: 0.0,
            sent_with: 0.0,
            rise: None,
        }
    }

    fn sample(&mut self, sample: f64, w: f64) -> Rtt {
        let mut rtt = self.rtt.unwrap_or(Rtt {
            base: sample,
            average: sample,
        });
        let weight = (3.0 / w).min(0.25);
        rtt.base = rtt.base.min(sample);
        rtt.average += weight * (sample - rtt.average);
        self.rtt = Some(rtt);
        rtt
    }

    /// Returns the window after an update of `w`, if packets were sent with the window `sent_with`.
    fn update(&self, w: f64, sent_with: f64, share: f64) -> f64 {
        let queued = w * (1.0 - share);
        let enough = self.config.alpha..self.config.alpha + self.config.dead_band;
        if enough.contains(&queued) {
            return w;
        }
        let gamma = self.config.gamma;
        let aim = (1.0 - gamma) * w + gamma * (share * sent_with + self.config.alpha);
        aim.min(2.0 * w).max(FLOOR)
    }

    fn begin_round(&mut self, window: &mut Window, ack: &Ack, rtt: Rtt) {
        if self.began_with == 0.0 {
            self.began_with = window.cwnd;
        }
        self.round = ack.round;
        self.sent_with = self.began_with;
        let is_due = ack.round.is_multiple_of(UPDATE_ROUNDS) && !ack.is_recovering;
        if is_due && !window.is_slow_start() && !self.is_queue_empty(rtt) {
            let aim = self.update(window.cwnd, self.sent_with, rtt.share());
            if aim < window.cwnd || rtt.base < SPREAD_MIN {
                window.cwnd = aim;
                self.rise = None;
            } else {
                self.rise = Some((aim, (aim - window.cwnd) / window.cwnd));
            }
        }
        self.began_with = window.cwnd;
    }

    fn is_queue_empty(&self, rtt: Rtt) -> bool {
        rtt.average - rtt.base < self.config.mi_threshold_ms / 1000.0
    }

    /// Grows the window for an acknowledgement. Without a queue the window doubles. Otherwise it grows by a part
    /// of the current increase.
    fn grow(&mut self, window: &mut Window, growth: u32, rtt: Rtt) {
        if self.is_queue_empty(rtt) {
            window.cwnd += f64::from(growth);
        } else if let Some((aim, step)) = self.rise {
            window.cwnd = (window.cwnd + f64::from(growth) * step).min(aim.max(window.cwnd));
        }
    }
}

impl Law for Fast {
    fn name(&self) -> &'static str {
        "fast"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(sample) = ack.rtt {
            self.sample(sample.as_secs_f64(), window.cwnd);
        }
        let Some(rtt) = self.rtt else { return };
        if window.is_slow_start() && !self.is_queue_empty(rtt) {
            window.leave_slow_start();
        }
        if ack.round != self.round {
            self.begin_round(window, ack, rtt);
        }
        if !ack.is_recovering {
            self.grow(window, ack.growth, rtt);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to((self.config.loss_keep * window.cwnd).max(FLOOR));
        self.rise = None;
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(window.cwnd / 2.0);
        window.cwnd = FLOOR;
        self.rise = None;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("alpha", self.config.alpha));
        if let Some(rtt) = self.rtt {
            out.push(("base_rtt_s", rtt.base));
            out.push(("avg_rtt_s", rtt.average));
            out.push(("queued", self.sent_with * (1.0 - rtt.share())));
        }
    }
}

#[cfg(test)]
mod tests;
