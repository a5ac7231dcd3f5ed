//! BIC (Xu, Harfoush, Rhee: "Binary increase congestion control for fast long-distance networks",
//! INFOCOM 2004): searches between the window that lost and the one that did not.

use super::settings::{Plan, choice, number, settings, yes_no};
use super::{Ack, Congestion, Law, Window};
use crate::time::Instant;

choice! {
    /// Whose BIC.
    pub enum Mode {
        /// As published: steps from 0.01 to 32 packets per round trip, an event takes an eighth.
        Published = "published",
        /// As the Linux kernel's module: whole acknowledgements per packet, steps up to 16, an event
        /// takes a fifth.
        Linux = "linux",
    }
}

settings! {
    /// Options of BIC.
    pub struct Config {
        /// Whose BIC.
        mode: Mode = Mode::Published, Mode::read;
        /// Below this window, in packets, it is Reno.
        low_window: f64 = 14.0, number(1.0..=1e6);
        /// An event below the last maximum sets the new one lower, so that others find room.
        fast_convergence: bool = true, yes_no;
        /// Take the first event for one below the maximum, as the published text has it when read
        /// literally (`published` only).
        literal_first: bool = false, yes_no;
        /// Grow faster by the mean number of packets per acknowledgement, as the kernel does although it
        /// counts packets and not acknowledgements (`linux` only).
        delayed_acks: bool = false, yes_no;
    }
}

impl Plan for Config {
    fn build(&self) -> Box<dyn Law> {
        match self.mode {
            Mode::Published => Box::new(Bic::new(*self)),
            Mode::Linux => Box::new(Linux::new(*self)),
        }
    }
}

/// The longest and the shortest step per round trip, in packets.
const S_MAX: f64 = 32.0;
const S_MIN: f64 = 0.01;
/// The share of the window that an event takes.
const BETA: f64 = 0.125;
/// Stands for a maximum that nobody knows.
const UNKNOWN: f64 = 536_870_912.0;

/// BIC as published.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bic {
    config: Config,
    /// The window that lost.
    max: f64,
    /// The window that did not.
    min: f64,
    /// Beyond the maximum, the step doubles each time the window reaches a goal.
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
        // Read literally, the first event is below the default maximum.
        let is_known = self.config.literal_first || last < UNKNOWN;
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
        // Before the first event, and while it probes, no maximum is known.
        if self.max < UNKNOWN {
            out.push(("max", self.max));
        }
        out.push(("min", self.min));
        out.push(("is_probing", f64::from(u8::from(self.probe.is_some()))));
    }
}

/// What is left of the window after an event, and of the maximum with fast convergence.
const LINUX_BETA: f64 = 819.0 / 1024.0;
const LINUX_CONVERGENCE: f64 = (1024.0 + 819.0) / 2048.0;
/// The most packets per round trip.
const LINUX_INCREMENT: u32 = 16;
/// A step is this part of the way to the maximum.
const LINUX_B: u32 = 4;
/// Round trips per packet close to the maximum, in quarters.
const LINUX_SMOOTH: u32 = 20;
/// Before the first event a round trip adds at least a twentieth.
const LINUX_FIRST: u32 = 20;

/// The mean number of packets per acknowledgement moves by a sixteenth of the difference.
const LINUX_RATIO_SHIFT: u32 = 4;
/// No acknowledgement counts for more.
const LINUX_RATIO_MAX: u32 = 1 << 16;

/// BIC as the Linux kernel has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Linux {
    config: Config,
    /// The window that lost last; 0: none.
    last_max: u32,
    /// The mean number of packets per acknowledgement, times 16.
    per_ack: u32,
}

impl Linux {
    /// The kernel's BIC with these options.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            last_max: 0,
            per_ack: 2 << LINUX_RATIO_SHIFT,
        }
    }

    /// After how many acknowledged packets the window `w` grows by one.
    fn packets_per_step(&self, w: u32) -> u32 {
        if f64::from(w) <= self.config.low_window {
            return w.max(1);
        }
        let max = self.last_max;
        let count = if w < max {
            match (max - w) / LINUX_B {
                0 | 1 => w * LINUX_SMOOTH / LINUX_B,
                way => w / way.min(LINUX_INCREMENT),
            }
        } else if w < max + LINUX_B {
            w * LINUX_SMOOTH / LINUX_B
        } else if w < max + LINUX_INCREMENT * (LINUX_B - 1) {
            w * (LINUX_B - 1) / (w - max)
        } else {
            w / LINUX_INCREMENT
        };
        let most = if max == 0 { LINUX_FIRST } else { u32::MAX };
        let count = count.clamp(1, most);
        if self.config.delayed_acks {
            ((count << LINUX_RATIO_SHIFT) / self.per_ack.max(1)).max(1)
        } else {
            count
        }
    }

    fn reduced(&self, window: &Window) -> f64 {
        if window.cwnd <= self.config.low_window {
            window.cwnd / 2.0
        } else {
            LINUX_BETA * window.cwnd
        }
    }

    fn remember(&mut self, window: &Window) {
        let is_below = f64::from(self.last_max) > window.cwnd;
        let share = if self.config.fast_convergence && is_below {
            LINUX_CONVERGENCE
        } else {
            1.0
        };
        self.last_max = Window::packets(&Window {
            cwnd: share * window.cwnd,
            ..*window
        });
    }
}

impl Law for Linux {
    fn name(&self) -> &'static str {
        "bic"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked > 0 && !ack.is_recovering {
            let faded = self.per_ack >> LINUX_RATIO_SHIFT;
            self.per_ack = self.per_ack + ack.acked.min(LINUX_RATIO_MAX) - faded;
        }
        for _ in 0..ack.growth {
            window.cwnd += 1.0 / f64::from(self.packets_per_step(window.packets()));
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        self.remember(window);
        window.reduce_to(self.reduced(window).max(2.0));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(self.reduced(window));
        self.last_max = 0;
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("max", f64::from(self.last_max)));
    }
}

#[cfg(test)]
mod tests;
