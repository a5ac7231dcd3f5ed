//! H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06): growth accelerates with the time since the last event.

use super::{Ack, Congestion, Law, LawSettings, Window};
use crate::time::Instant;

/// Settings of H-TCP. Published results differ in them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub struct Config {
    /// An event leaves RTTmin/RTTmax of the window. If disabled, it leaves a half.
    pub adaptive_backoff: bool,
    /// Growth is proportional to the shortest round trip, so growth per second is the same for all round trips.
    pub rtt_scaling: bool,
    /// An event leaves a half if the throughput before it had changed by more than a fifth.
    pub rate_test: bool,
    /// A round trip adds at least one packet.
    pub floor: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            adaptive_backoff: true,
            rtt_scaling: false,
            rate_test: true,
            floor: true,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Htcp::new(*self))
    }
}

/// Time after an event during which growth is that of Reno, in seconds.
const DELTA_L: f64 = 1.0;
/// The bounds of the share of the window that remains after an event.
const BETA_MIN: f64 = 0.5;
const BETA_MAX: f64 = 0.8;
/// The greatest relative change of a steady throughput.
const RATE_CHANGE: f64 = 0.2;
/// The share of the queueing delay in the longest round trip that is kept after an event.
const FADE: f64 = 0.95;
/// The round trip with scale 1, in seconds, and the bounds of the scale.
const RTT_REF: f64 = 0.1;
const SCALE_MIN: f64 = 0.1;
const SCALE_MAX: f64 = 2.0;
/// Round trips after an event without an average of the throughput.
const SETTLING: u32 = 3;

/// H-TCP.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Htcp {
    config: Config,
    /// The time of the last event, or of the first acknowledgement.
    event: Option<Instant>,
    beta: f64,
    rtt_min: f64,
    rtt_max: f64,
    throughput: Throughput,
    /// The throughput before the last event.
    last_rate: Option<f64>,
}

/// The greatest average throughput since the last event, in packets per second.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Throughput {
    since: Option<Instant>,
    packets: u32,
    average: f64,
    max: f64,
    /// Samples since the event.
    samples: u32,
}

impl Throughput {
    /// Counts acknowledged packets, in samples of at least the shortest round trip `rtt_min`, in seconds.
    pub fn on_ack(&mut self, now: Instant, acked: u32, rtt_min: f64) {
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

    /// Ends the time since the last event. Returns the throughput in it.
    pub fn finish(&mut self) -> Option<f64> {
        let rate = (self.samples > 0).then_some(self.max);
        *self = Self::default();
        rate
    }

    /// Returns the greatest average so far, in packets per second.
    pub const fn max(&self) -> f64 {
        self.max
    }
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
        }
    }

    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let rtt = rtt.as_secs_f64();
        self.rtt_min = self.rtt_min.min(rtt);
        self.rtt_max = self.rtt_max.max(rtt);
    }

    /// Returns the growth in packets per round trip, `delta` seconds after the last event. `rtt` is the shortest
    /// round trip: with a longer one, a queue would accelerate its own growth.
    fn alpha(&self, delta: f64, rtt: f64) -> f64 {
        let late = (delta - DELTA_L).max(0.0);
        let mut alpha = 1.0 + 10.0 * late + 0.25 * late * late;
        if self.config.rtt_scaling {
            alpha *= (rtt / RTT_REF).clamp(SCALE_MIN, SCALE_MAX);
        }
        // A smaller decrease goes with slower growth.
        let alpha = 2.0 * (1.0 - self.beta) * alpha;
        if self.config.floor {
            alpha.max(1.0)
        } else {
            alpha
        }
    }

    /// Returns the share of the window that remains after an event with the throughput `rate` before it.
    fn beta(&self, rate: Option<f64>) -> f64 {
        let has_changed = match (rate, self.last_rate) {
            (Some(now), Some(last)) => (now - last).abs() > RATE_CHANGE * last,
            _ => true,
        };
        if !self.config.adaptive_backoff || (self.config.rate_test && has_changed) {
            return BETA_MIN;
        }
        (self.rtt_min / self.rtt_max).clamp(BETA_MIN, BETA_MAX)
    }

    fn begin_epoch(&mut self, now: Instant) {
        let rate = self.throughput.finish();
        self.beta = self.beta(rate);
        self.last_rate = rate;
        self.event = Some(now);
        if self.rtt_max > 0.0 {
            self.rtt_max = self.rtt_min + FADE * (self.rtt_max - self.rtt_min);
        }
    }
}

impl Law for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let event = *self.event.get_or_insert(ack.now);
        let delta = (ack.now - event).as_secs_f64();
        self.sample(ack);
        self.throughput.on_ack(ack.now, ack.acked, self.rtt_min);
        for _ in 0..ack.growth {
            window.cwnd += self.alpha(delta, self.rtt_min) / window.cwnd;
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
