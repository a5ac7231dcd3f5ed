//! CUBIC as the Linux kernel had it in 2.6.22 (version 2.1), in whole packets and acknowledgements.

use super::{C, Config, alpha};
use crate::cc::law::{Ack, Congestion, Law, Window};
use crate::time::Instant;

/// Before the first event, and after a timeout, so many acknowledgements add a packet.
const FIRST: u32 = 50;
/// While the function is at or below the window, a packet takes so many windows.
const FLAT: u32 = 100;
/// Beyond the flat part the window grows by no more packets per second.
const INCREMENT: f64 = 160.0;
/// The mean number of packets per acknowledgement moves by a sixteenth of the difference.
const RATIO_SHIFT: u32 = 4;
/// No acknowledgement counts for more.
const RATIO_MAX: u32 = 1 << 16;
/// For so long after an epoch's begin round trips are no measure of the shortest one, in seconds.
const SETTLING: f64 = 1.0;

/// The kernel's CUBIC of that time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Linux {
    config: Config,
    /// The window that lost last, or less where others are to find room; 0: none.
    last_max: u32,
    has_lost: bool,
    /// The mean number of packets per acknowledgement, times 16. It begins at 2 and, in whole sixteenths, stays
    /// near 2 although each packet is acknowledged: the growth is twice the function's.
    per_ack: u32,
    /// The shortest round trip in seconds.
    rtt_min: Option<f64>,
    epoch: Option<Epoch>,
    /// Acknowledged packets since the window grew.
    waited: u32,
}

/// Congestion avoidance since an event.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Epoch {
    start: Instant,
    /// How long the function takes to its flat part, in seconds, and the window there.
    k: f64,
    origin: u32,
    /// Reno's window, and acknowledged packets that it has not counted yet.
    reno: u32,
    acks: f64,
}

impl Linux {
    pub(super) const fn new(config: Config) -> Self {
        Self {
            config,
            last_max: 0,
            has_lost: false,
            per_ack: 2 << RATIO_SHIFT,
            rtt_min: None,
            epoch: None,
            waited: 0,
        }
    }

    fn epoch(&self, w: u32, now: Instant) -> Epoch {
        self.epoch.unwrap_or_else(|| Epoch {
            start: now,
            k: super::k(self.last_max.max(w).into(), w.into()),
            origin: self.last_max.max(w),
            reno: w,
            acks: 0.0,
        })
    }

    fn measure(&mut self, ack: &Ack) {
        let is_settled = self
            .epoch
            .is_none_or(|epoch| (ack.now - epoch.start).as_secs_f64() >= SETTLING);
        if let Some(rtt) = ack.rtt.filter(|_| is_settled) {
            let rtt = rtt.as_secs_f64();
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// After how many acknowledged packets the window `w` grows by one.
    fn packets_per_step(&self, w: u32, now: Instant, epoch: &mut Epoch) -> u32 {
        let rtt = self.rtt_min.unwrap_or_default();
        let t = (now - epoch.start).as_secs_f64() + rtt;
        let x = t - epoch.k;
        let aim = whole(f64::from(epoch.origin) + C * x * x * x);
        let mut count = if aim > w { w / (aim - w) } else { FLAT * w };
        if x >= 0.0 && rtt > 0.0 {
            count = count.max(whole(f64::from(w) / (INCREMENT * rtt)));
        }
        if !self.has_lost {
            count = FIRST;
        }
        if self.config.reno_friendly {
            count = count.min(self.reno_step(w, epoch));
        }
        ((count << RATIO_SHIFT) / self.per_ack.max(1)).max(1)
    }

    /// After how many the window grows by one on its way to Reno's.
    fn reno_step(&self, w: u32, epoch: &mut Epoch) -> u32 {
        let per_packet = f64::from(w) / alpha(self.config.beta);
        epoch.acks += 1.0;
        while epoch.acks > per_packet {
            epoch.acks -= per_packet;
            epoch.reno += 1;
        }
        let behind = epoch.reno.saturating_sub(w);
        w.checked_div(behind).unwrap_or(u32::MAX)
    }

    /// What an event leaves of the window.
    fn reduced(&mut self, w: u32) -> f64 {
        let share = if self.config.fast_convergence && w < self.last_max {
            f64::midpoint(1.0, self.config.beta)
        } else {
            1.0
        };
        self.last_max = whole(share * f64::from(w));
        self.has_lost = true;
        self.epoch = None;
        self.waited = 0;
        (self.config.beta * f64::from(w)).floor()
    }
}

impl Law for Linux {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.acked > 0 && !ack.is_recovering {
            let faded = self.per_ack >> RATIO_SHIFT;
            self.per_ack = self.per_ack + ack.acked.min(RATIO_MAX) - faded;
        }
        self.measure(ack);
        for _ in 0..ack.growth {
            let w = window.packets();
            let mut epoch = self.epoch(w, ack.now);
            if self.waited >= self.packets_per_step(w, ack.now, &mut epoch) {
                window.cwnd += 1.0;
                self.waited = 0;
            } else {
                self.waited += 1;
            }
            self.epoch = Some(epoch);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
        window.reduce_to(self.reduced(window.packets()).max(2.0));
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.collapse(self.reduced(window.packets()));
        *self = Self::new(self.config);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("w_max", f64::from(self.last_max)));
        if let Some(epoch) = self.epoch {
            out.push(("k_s", epoch.k));
            out.push(("w_est", f64::from(epoch.reno)));
        }
    }
}

/// The whole part.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and windows are positive"
)]
const fn whole(x: f64) -> u32 {
    x as u32
}

#[cfg(test)]
mod tests;
