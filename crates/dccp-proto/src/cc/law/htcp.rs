//! H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06): the longer since the last event, the faster the growth.

use super::settings::{Plan, settings, yes_no};
use super::{Ack, Congestion, Law, Window};
use crate::time::Instant;

settings! {
    /// Options of H-TCP, in which published results differ.
    pub struct Config {
        /// An event leaves RTTmin/RTTmax of the window, else a half.
        adaptive_backoff: bool = true, yes_no;
        /// Growth in proportion to the shortest round trip: the same per second whatever the round trip.
        rtt_scaling: bool = false, yes_no;
        /// An event after which the throughput had changed by a fifth leaves a half.
        rate_test: bool = true, yes_no;
        /// A round trip adds at least one packet.
        floor: bool = true, yes_no;
        /// What the Linux kernel does besides: no adaptive backoff up to 10 ms of round trip, nor at
        /// the first event after a change; round trips are whole milliseconds, and the longest is not
        /// looked for in a recovery, and grows by 20 ms at most at a time;
        /// the time since an event counts from the end of the recovery; growth is a whole number before and
        /// after scaling, has no floor, and holds until the window has grown by one packet; an event leaves
        /// a whole number of 128ths.
        kernel_rules: bool = false, yes_no;
    }
}

impl Plan for Config {
    fn build(&self) -> Box<dyn Law> {
        Box::new(Htcp::new(*self))
    }
}

/// For so long after an event it grows like Reno, in seconds.
const DELTA_L: f64 = 1.0;
/// Bounds of what an event leaves of the window.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// A throughput that changed by more than this share is another.
const RATE_CHANGE: f64 = 0.2;
/// How much of the queue's share of the longest round trip outlives an event.
const FADE: f64 = 0.95;
/// The round trip at which scaling changes nothing, in seconds, and its bounds.
const RTT_REF: f64 = 0.1;
const SCALE_MIN: f64 = 0.1;
const SCALE_MAX: f64 = 2.0;
/// The kernel's bounds: see [`Config::kernel_rules`].
const KERNEL_RTT_MIN: f64 = 0.010;
const KERNEL_RTT_STEP: f64 = 0.020;
/// The kernel's unit of time, in seconds, and how many parts a window has.
const KERNEL_TICK: f64 = 0.001;
const KERNEL_PARTS: f64 = 128.0;
/// What an event leaves at most in the kernel, in those parts.
const KERNEL_BETA_MAX: f64 = 102.0;
/// So many round trips after an event throughput is not averaged.
const SETTLING: u32 = 3;

/// H-TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Htcp {
    config: Config,
    /// The last event, or the first acknowledgement.
    event: Option<Instant>,
    beta: f64,
    rtt_min: f64,
    rtt_max: f64,
    throughput: Throughput,
    /// The throughput before the event before the last.
    last_rate: Option<f64>,
    /// Kernel rules: the last event found the throughput unchanged.
    is_steady: bool,
    /// Kernel rules: acknowledged packets since the window grew, and how many a round trip has added since.
    waited: u32,
    pace: f64,
}

/// The greatest average throughput since the last event, in packets per second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Throughput {
    since: Option<Instant>,
    packets: u32,
    average: f64,
    max: f64,
    /// Samples since the event.
    samples: u32,
}

impl Throughput {
    fn on_ack(&mut self, now: Instant, acked: u32, rtt_min: f64) {
        self.packets += acked;
        let since = *self.since.get_or_insert(now);
        let time = (now - since).as_secs_f64();
        if time < rtt_min || time <= 0.0 {
            return;
        }
        let sample = f64::from(self.packets) / time;
        self.samples += 1;
        if self.samples <= SETTLING {
            self.average = sample;
            self.max = sample;
        } else {
            self.average = 0.75 * self.average + 0.25 * sample;
            self.max = self.max.max(self.average);
        }
        self.since = Some(now);
        self.packets = 0;
    }

    /// The throughput of the time since the last event, which ends here.
    fn finish(&mut self) -> Option<f64> {
        let rate = (self.samples > 0).then_some(self.max);
        *self = Self::default();
        rate
    }
}

/// Whole ticks in so many seconds.
fn ticks(seconds: f64) -> f64 {
    // A thousandth of a tick, or times that are whole ticks would lose one to rounding.
    (seconds / KERNEL_TICK + 0.001).floor()
}

/// A thousandth of ticks, in whole ticks.
fn ticks_of_ticks(ticks: f64) -> f64 {
    (ticks * KERNEL_TICK).floor()
}

impl Htcp {
    /// H-TCP with these options.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            event: None,
            beta: BETA_MIN,
            rtt_min: f64::INFINITY,
            rtt_max: 0.0,
            throughput: Throughput::default(),
            last_rate: None,
            is_steady: false,
            waited: 0,
            pace: 1.0,
        }
    }

    /// What an acknowledgement tells of round trips.
    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_secs_f64();
        if !self.config.kernel_rules {
            self.sample_rtt(rtt);
        } else if ack.is_recovering {
            self.rtt_min = self.rtt_min.min(ticks(rtt) * KERNEL_TICK);
        } else {
            self.sample_rtt(ticks(rtt) * KERNEL_TICK);
        }
    }

    fn sample_rtt(&mut self, rtt: f64) {
        self.rtt_min = self.rtt_min.min(rtt);
        let limit = if self.config.kernel_rules && self.rtt_max > 0.0 {
            self.rtt_max + KERNEL_RTT_STEP
        } else {
            f64::INFINITY
        };
        self.rtt_max = self.rtt_max.max(rtt.min(limit));
    }

    /// Packets per round trip, `delta` seconds after the last event, on a path of this round trip: the
    /// shortest, or a queue would feed itself.
    fn alpha(&self, delta: f64, rtt: f64) -> f64 {
        let late = (delta - DELTA_L).max(0.0);
        let mut alpha = 1.0 + 10.0 * late + 0.25 * late * late;
        if self.config.rtt_scaling {
            alpha *= (rtt / RTT_REF).clamp(SCALE_MIN, SCALE_MAX);
        }
        // An event that takes less must be made up for in less time.
        let alpha = 2.0 * (1.0 - self.beta) * alpha;
        if self.config.floor {
            alpha.max(1.0)
        } else {
            alpha
        }
    }

    /// The same in the kernel's whole numbers: milliseconds, packets, and eighths of what scales them.
    fn kernel_alpha(&self, delta: f64, rtt: f64) -> f64 {
        let late = ticks((delta - DELTA_L).max(0.0));
        let half = (late / 2.0).floor();
        let mut alpha = 1.0 + ticks_of_ticks(10.0 * late + ticks_of_ticks(half * half));
        if self.config.rtt_scaling {
            let scale = (8.0 * RTT_REF / rtt).clamp(8.0 / SCALE_MAX, 8.0 / SCALE_MIN);
            alpha = (8.0 * alpha / scale.floor()).floor().max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }

    /// What the event leaves of the window, if the throughput before it was `rate`.
    fn beta(&mut self, rate: Option<f64>) -> f64 {
        let has_changed = match (rate, self.last_rate) {
            (Some(now), Some(last)) => (now - last).abs() > RATE_CHANGE * last,
            _ => true,
        };
        if !self.config.adaptive_backoff || (self.config.rate_test && has_changed) {
            self.is_steady = false;
            return BETA_MIN;
        }
        let was_steady = core::mem::replace(&mut self.is_steady, true);
        if !self.config.kernel_rules {
            return (self.rtt_min / self.rtt_max).clamp(BETA_MIN, BETA_MAX);
        }
        if !was_steady || self.rtt_min <= KERNEL_RTT_MIN || self.rtt_max <= 0.0 {
            return BETA_MIN;
        }
        let beta = (KERNEL_PARTS * ticks(self.rtt_min) / ticks(self.rtt_max)).floor();
        (beta / KERNEL_PARTS).clamp(BETA_MIN, KERNEL_BETA_MAX / KERNEL_PARTS)
    }

    /// One acknowledged packet, `delta` seconds after the last event.
    fn grow(&mut self, w: &mut f64, delta: f64) {
        if !self.config.kernel_rules {
            *w += self.alpha(delta, self.rtt_min) / *w;
        } else if f64::from(self.waited) * self.pace >= w.floor() {
            *w += 1.0;
            self.waited = 0;
            self.pace = self.kernel_alpha(delta, self.rtt_min);
        } else {
            self.waited += 1;
        }
    }

    fn begin_epoch(&mut self, now: Instant) {
        let rate = self.throughput.finish();
        self.beta = self.beta(rate);
        self.last_rate = rate;
        let last = self.event.replace(now).unwrap_or(now);
        self.waited = 0;
        let mut queue = FADE * (self.rtt_max - self.rtt_min);
        if self.config.kernel_rules {
            self.pace = self.kernel_alpha((now - last).as_secs_f64(), self.rtt_min);
            queue = ticks(queue) * KERNEL_TICK;
        }
        if self.rtt_max > 0.0 {
            self.rtt_max = self.rtt_min + queue;
        }
    }
}

impl Law for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.config.kernel_rules && ack.is_recovering {
            self.event = Some(ack.now);
        }
        let event = *self.event.get_or_insert(ack.now);
        let delta = (ack.now - event).as_secs_f64();
        self.sample(ack);
        self.throughput.on_ack(ack.now, ack.acked, self.rtt_min);
        for _ in 0..ack.growth {
            self.grow(&mut window.cwnd, delta);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.begin_epoch(event.now);
        window.reduce_to((self.beta * window.cwnd).max(2.0));
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        window.collapse(self.beta * window.cwnd);
        self.throughput = Throughput::default();
        self.event = Some(now);
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("beta", self.beta));
        if self.rtt_max > 0.0 {
            out.push(("rtt_min_s", self.rtt_min));
            out.push(("rtt_max_s", self.rtt_max));
        }
        out.push(("throughput", self.throughput.max));
    }
}

#[cfg(test)]
mod tests;
