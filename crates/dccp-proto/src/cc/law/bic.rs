//! BIC (Xu, Harfoush, Rhee: "Binary increase congestion control for fast long-distance networks",
//! INFOCOM 2004): a binary search between the last window with a loss and the last one without.

use super::{Ack, Congestion, Law, LawSettings, SettingError, Window};
use crate::time::Instant;

/// Settings of BIC.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Below this window, in packets, the law is Reno.
    pub low_window: f64,
    /// An event below the last maximum sets the new maximum lower, which leaves room for other flows.
    pub fast_convergence: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            low_window: 14.0,
            fast_convergence: true,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "bic"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Bic::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("low_window", self.low_window, 1.0..=1e6)
    }
}

/// The longest and the shortest step per round trip, in packets.
const S_MAX: f64 = 32.0;
const S_MIN: f64 = 0.01;
/// The share of the window that an event takes.
const BETA: f64 = 0.125;
/// The value of `max` while the maximum is unknown.
const UNKNOWN: f64 = 536_870_912.0;

/// BIC.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bic {
    config: Config,
    /// The window at the last loss.
    max: f64,
    /// The largest window known to cause no loss.
    min: f64,
    /// The search beyond the maximum. The step doubles each time the window reaches a goal.
    probe: Option<Probe>,
}

/// The search for a new maximum.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Probe {
    step: f64,
    goal: f64,
}

impl Bic {
    /// BIC with these options.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            max: UNKNOWN,
            min: 0.0,
            probe: None,
        }
    }

    fn grow(&mut self, w: &mut f64) {
        if *w < self.config.low_window {
            *w += 1.0 / *w;
        } else if let Some(probe) = self.probe {
            self.grow_probing(w, probe);
        } else {
            self.grow_searching(w);
        }
    }

    fn grow_searching(&mut self, w: &mut f64) {
        let step = f64::midpoint(self.max, self.min) - *w;
        *w += step.clamp(S_MIN, S_MAX) / *w;
        if *w < self.max {
            self.min = *w;
        } else {
            self.max = UNKNOWN;
            self.probe = Some(Probe {
                step: 1.0,
                goal: *w + 1.0,
            });
        }
    }

    fn grow_probing(&mut self, w: &mut f64, mut probe: Probe) {
        *w += probe.step / *w;
        if *w >= probe.goal {
            probe.step *= 2.0;
            probe.goal = *w + probe.step;
        }
        self.probe = Some(probe);
        if probe.step >= S_MAX {
            self.probe = None;
            self.min = *w;
        }
    }
}

impl Law for Bic {
    fn name(&self) -> &'static str {
        "bic"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        for _ in 0..ack.growth {
            self.grow(&mut window.cwnd);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        if window.cwnd < self.config.low_window {
            window.reduce_to(window.cwnd / 2.0);
            return;
        }
        let last = core::mem::replace(&mut self.max, window.cwnd);
        window.reduce_to((1.0 - BETA) * window.cwnd);
        self.min = window.cwnd;
        self.probe = None;
        // The paper, read literally, compares the first event with the default maximum.
        let is_known = last < UNKNOWN;
        if self.config.fast_convergence && is_known && last > self.max {
            self.max = f64::midpoint(self.max, self.min);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse((1.0 - BETA) * window.cwnd);
        self.max = UNKNOWN;
        self.min = window.cwnd;
        self.probe = None;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        // The maximum is unknown before the first event and while the law probes.
        if self.max < UNKNOWN {
            out.push(("max", self.max));
        }
        out.push(("min", self.min));
        out.push(("is_probing", f64::from(u8::from(self.probe.is_some()))));
    }
}

#[cfg(test)]
mod tests;
