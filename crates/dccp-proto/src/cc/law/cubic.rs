//! CUBIC (RFC 9438): the window is a cubic function of the time since the last congestion event. The
//! function is flat around the window at that event.

use super::{Ack, Cause, Congestion, Law, LawSettings, SettingError, Window};
use crate::time::Instant;
use core::time::Duration;

/// Settings of CUBIC.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// An event below the last maximum sets the new maximum lower, which leaves room for other flows. Disable it
    /// for a flow that is alone (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// The window is at least that of Reno (RFC 9438 §4.3).
    pub reno_friendly: bool,
    /// The share of the window that remains after a loss (RFC 9438 §4.6).
    pub beta: f64,
    /// The share of the window that remains after an ECN mark: 0.85 is RFC 8511's alternative backoff.
    pub ecn_beta: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            fast_convergence: true,
            reno_friendly: true,
            beta: 0.7,
            ecn_beta: 0.7,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Cubic::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("beta", self.beta, 0.5..=0.95)?;
        SettingError::unless_within("ecn_beta", self.ecn_beta, 0.5..=0.95)
    }
}

/// C in packets per second cubed (RFC 9438 §5).
const C: f64 = 0.4;
/// Returns Reno's growth per window that goes with the decrease factor `beta`. The mean window is the same
/// as with growth 1 and factor 0.5 (RFC 9438 §4.3).
const fn alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// CUBIC.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cubic {
    config: Config,
    /// The flat part of the cubic function: the window before the last event.
    w_max: f64,
    /// The window at the start of the last event. Reno's window grows at full pace once it reaches this.
    w_prior: f64,
    /// The growth since the last event.
    epoch: Option<Epoch>,
    last_ack: Option<Instant>,
}

/// Congestion avoidance since an event.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Epoch {
    /// The start of the epoch, moved later by the time during which the window was not the limit.
    start: Instant,
    /// The time that the cubic function takes to reach `w_max`, in seconds.
    k: f64,
    /// Reno's window.
    w_est: f64,
}

impl Cubic {
    /// CUBIC with these options.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            w_max: 0.0,
            w_prior: 0.0,
            epoch: None,
            last_ack: None,
        }
    }

    /// Returns the current epoch, or a new one that starts at `now`. Without a maximum, or beyond it, the epoch
    /// starts on the flat part.
    fn epoch(&mut self, window: &Window, now: Instant) -> Epoch {
        if let Some(epoch) = self.epoch {
            return epoch;
        }
        self.w_max = self.w_max.max(window.cwnd);
        Epoch {
            start: now,
            k: k(self.w_max, window.cwnd),
            w_est: window.cwnd,
        }
    }

    /// Grows the window for one acknowledged packet, `t` seconds into the epoch.
    fn grow(&self, w: &mut f64, epoch: &mut Epoch, t: f64, rtt: f64) {
        let alpha = if epoch.w_est < self.w_prior {
            alpha(self.config.beta)
        } else {
            1.0
        };
        epoch.w_est += alpha / *w;
        let now = w_cubic(t, epoch.k, self.w_max);
        if self.config.reno_friendly && now < epoch.w_est {
            // The window only grows here, even if the application did not use all of it.
            *w = w.max(epoch.w_est);
        } else {
            *w += (target(t + rtt, epoch.k, self.w_max, *w) - *w) / *w;
        }
    }

    /// Returns the window after an event: a share of the packets in flight (RFC 9438 §4.6).
    fn reduced(&mut self, window: &Window, flight: f64, beta: f64) -> f64 {
        // Compares whole packets, because one queue loses packets at windows that differ by a fraction.
        let is_below = window.cwnd.floor() < self.w_max.floor();
        self.w_max = if self.config.fast_convergence && is_below {
            window.cwnd * (1.0 + self.config.beta) / 2.0
        } else {
            window.cwnd
        };
        self.w_prior = window.cwnd;
        self.epoch = None;
        beta * flight
    }
}

impl Law for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let last = self.last_ack.replace(ack.now).unwrap_or(ack.now);
        if ack.growth == 0 {
            // RFC 9438 §5.8: the epoch excludes time during which the window was not the limit.
            if let Some(epoch) = &mut self.epoch {
                epoch.start += ack.now - last;
            }
            return;
        }
        let mut epoch = self.epoch(window, ack.now);
        let t = (ack.now - epoch.start).as_secs_f64();
        let rtt = ack.smoothed_rtt.unwrap_or(Duration::ZERO).as_secs_f64();
        for _ in 0..ack.growth {
            self.grow(&mut window.cwnd, &mut epoch, t, rtt);
        }
        self.epoch = Some(epoch);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        let (beta, floor) = match event.cause {
            Cause::Loss => (self.config.beta, 2.0),
            Cause::Mark => (self.config.ecn_beta, 1.0),
        };
        let flight = f64::from(event.flight).min(window.cwnd);
        let left = self.reduced(window, flight, beta);
        window.reduce_to(left.max(floor));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        let left = self.reduced(window, window.cwnd, self.config.beta);
        window.collapse(left);
        // The next epoch starts on the flat part, at the window at the end of slow start.
        self.w_max = 0.0;
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        self.epoch = None;
        self.last_ack = None;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("w_max", self.w_max));
        if let Some(epoch) = self.epoch {
            out.push(("k_s", epoch.k));
            out.push(("w_est", epoch.w_est));
        }
    }
}

/// Returns the seconds from `w` to the flat part of the function at `w_max` (RFC 9438 §4.2).
fn k(w_max: f64, w: f64) -> f64 {
    libm::cbrt((w_max - w) / C)
}

/// Returns the cubic function `t` seconds after the event (RFC 9438 §4.2).
fn w_cubic(t: f64, k: f64, w_max: f64) -> f64 {
    let x = t - k;
    C * x * x * x + w_max
}

/// Returns the target of the window `w` one round trip later (RFC 9438 §4.2).
fn target(t: f64, k: f64, w_max: f64, w: f64) -> f64 {
    w_cubic(t, k, w_max).clamp(w, 1.5 * w)
}

#[cfg(test)]
mod tests;
