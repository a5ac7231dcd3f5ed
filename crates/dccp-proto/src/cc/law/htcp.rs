//! H-TCP (Leith, Shorten: "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06): the longer since the last event, the faster the growth.

use super::{Ack, Congestion, Law, LawSettings, Window};
use crate::time::Instant;

/// Settings of H-TCP, in which published results differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a setting of its own"
)]
pub struct Config {
    /// An event leaves RTTmin/RTTmax of the window, otherwise a half.
    pub adaptive_backoff: bool,
    /// Growth in proportion to the shortest round trip: the same per second whatever the round trip.
    pub rtt_scaling: bool,
    /// An event after which the throughput had changed by a fifth leaves a half.
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

    /// What the event leaves of the window, if the throughput before it was `rate`.
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
