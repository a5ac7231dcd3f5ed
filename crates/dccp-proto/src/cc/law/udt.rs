//! UDT (Gu, Grossman: "UDT: UDP-based Data Transfer for High-Speed Wide Area Networks", Computer Networks 51(7), 2007;
//! draft-gg-udt-03): a sending rate that grows every 10 ms, and shrinks by a ninth at a loss report.
//!
//! | symbol | meaning |
//! |---|---|
//! | `SYN` | the interval of increases |
//! | B | the capacity of the path |
//! | C | the sending rate |
//! | A | the rate of arrivals at the receiver |
//!
//! All rates are in packets per second. A window of A (RTT + SYN) + 16 packets bounds the flight. UDT has its own
//! protocol; as a law it differs from it, or completes it, in these rules:
//! - UDT's receiver measures B by pairs of packets. Here B is the greatest delivery rate of the last `memory_s`, which
//!   C can reach on a path that is not full. Then B counts as 2 C, unless the round trip shows a queue. So a flow
//!   beside others assumes less capacity than UDT does.
//! - An acknowledgement that reports losses is a loss report. So is one that reports marks, which UDT does not know.
//! - An epoch of losses ends a round trip after its first one. UDT's lasts longer after further decreases.
//! - A timeout counts as the start of an epoch, and leaves one packet until the next acknowledgement.
//! - The random number of reports comes from a hash of the current time. The core has no random numbers.

use super::delay::Extremes;
use super::{Ack, Congestion, Law, LawSettings, SettingError, Wants, Window, hash};
use crate::time::Instant;
use core::time::Duration;

/// Settings of UDT.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The capacity is the greatest delivery rate of this time, in seconds. The least round trip is of the same time.
    pub memory_s: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { memory_s: 60.0 }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "udt"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Udt::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("memory_s", self.memory_s, 1.0..=86_400.0)
    }
}

/// The interval of increases.
const SYN: Duration = Duration::from_millis(10);
/// The same in seconds.
const SYN_S: f64 = 0.01;
/// Bytes of a packet. The increase depends on them; a law does not know them.
const PACKET_BYTES: f64 = 1500.0;
/// The draft's Beta.
const BETA: f64 = 0.000_001_5;
/// The draft's factor of the time between packets: 8/9 of the rate remain.
const SLOWER: f64 = 1.125;
/// The most decreases in an epoch.
const DECREASES_MAX: u32 = 5;
/// Packets of the window beyond those that the rate needs.
const SPARE: f64 = 16.0;
/// The smoothed round trip shows a queue if it is longer than the least one by this, in seconds, and by this share.
const QUEUE_S: f64 = 0.001;
const QUEUE_SHARE: f64 = 1.0 / 32.0;
/// The least rate.
const RATE_MIN: f64 = 1.0;
/// The memory of capacity expires in this many parts.
const SPANS: usize = 6;

/// Losses of about one round trip.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Epoch {
    /// Loss reports so far.
    reports: u32,
    /// Each report whose number is a multiple of this decreases the rate.
    every: u32,
    decreases: u32,
    /// The mean number of reports of earlier epochs, a whole number.
    reports_mean: f64,
}

impl Epoch {
    /// Begins the next epoch with its first report, which decreases the rate.
    fn next(self, now: Instant) -> Self {
        let reports_mean = libm::ceil(0.875 * self.reports_mean + 0.125 * f64::from(self.reports));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the mean of positive numbers"
        )]
        let choices = (reports_mean as u64).max(1);
        Self {
            reports: 1,
            every: u32::try_from(1 + hash(now) % choices).unwrap_or(u32::MAX),
            decreases: 1,
            reports_mean,
        }
    }

    /// Counts a further report. Returns true if it decreases the rate.
    fn on_report(&mut self) -> bool {
        self.reports += 1;
        let decreases = self.decreases < DECREASES_MAX && self.reports.is_multiple_of(self.every);
        self.decreases += u32::from(decreases);
        decreases
    }
}

/// UDT.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Udt {
    /// C; `None` in slow start.
    rate: Option<f64>,
    /// C before the last epoch.
    rate_before: f64,
    /// Greatest delivery rates, and least round trips in seconds.
    capacity: Extremes<SPANS>,
    trips: Extremes<SPANS>,
    /// The last delivery rate, and A.
    delivered: Option<f64>,
    arrivals: f64,
    rtt: Duration,
    /// The time of the last increase.
    increased_at: Instant,
    /// Losses were reported since then.
    has_losses: bool,
    /// The report at hand began the epoch.
    has_begun: bool,
    epoch: Epoch,
}

impl Udt {
    /// UDT with these options.
    pub fn new(config: Config) -> Self {
        let spans = u32::try_from(SPANS).unwrap_or(1);
        let span = Duration::from_secs_f64(config.memory_s) / spans;
        Self {
            rate: None,
            rate_before: 0.0,
            capacity: Extremes::new(span),
            trips: Extremes::new(span),
            delivered: None,
            arrivals: 0.0,
            rtt: Duration::ZERO,
            increased_at: Instant::ZERO,
            has_losses: false,
            has_begun: false,
            epoch: Epoch::default(),
        }
    }

    /// Ends slow start: the rate becomes that of arrivals, or what the window makes of it. Returns the rate.
    fn begin(&mut self, window: &mut Window, now: Instant) -> f64 {
        window.leave_slow_start();
        let rate = self
            .delivered
            .unwrap_or_else(|| window.cwnd / (self.rtt + SYN).as_secs_f64())
            .max(RATE_MIN);
        self.arrivals = rate;
        self.rate_before = rate;
        self.increased_at = now;
        self.rate = Some(rate);
        rate
    }

    /// Answers losses: the end of slow start, or the first report of an epoch.
    fn answer(&mut self, window: &mut Window, now: Instant) {
        self.has_losses = true;
        self.has_begun = true;
        match self.rate {
            None if self.delivered.is_some() => {
                self.begin(window, now);
            }
            rate => {
                let rate = rate.unwrap_or_else(|| self.begin(window, now));
                self.rate_before = rate;
                self.epoch = self.epoch.next(now);
                self.slow_down(rate);
            }
        }
    }

    fn slow_down(&mut self, rate: f64) {
        self.rate = Some((rate / SLOWER).max(RATE_MIN));
    }

    /// Moves the window and the rate, every SYN.
    fn step(&mut self, window: &mut Window, now: Instant, rate: f64) {
        let passed = (now - self.increased_at).as_nanos() / SYN.as_nanos();
        // Periods without an acknowledgement increase nothing.
        self.increased_at += SYN * u32::try_from(passed).unwrap_or(u32::MAX);
        if let Some(delivered) = self.delivered {
            self.arrivals += (delivered - self.arrivals) / 8.0;
        }
        window.cwnd = self.arrivals * (self.rtt + SYN).as_secs_f64() + SPARE;
        window.ssthresh = window.ssthresh.min(1.0);
        if !core::mem::take(&mut self.has_losses) {
            self.rate = Some(rate + increase(self.unused(rate)) / SYN_S);
        }
    }

    /// B − C. Until C has returned to what it was before the last epoch, at most a ninth of B.
    fn unused(&self, rate: f64) -> f64 {
        let mut capacity = self.capacity.max();
        if capacity <= rate && !self.has_queue() {
            capacity = 2.0 * rate;
        }
        let unused = capacity - rate;
        if rate < self.rate_before {
            unused.min(capacity / 9.0)
        } else {
            unused
        }
    }

    fn has_queue(&self) -> bool {
        let least = self.trips.min();
        self.rtt.as_secs_f64() > least + QUEUE_S + QUEUE_SHARE * least
    }
}

/// Returns how many packets more leave in the next SYN, by the part of the capacity that is unused: the next power of
/// ten in bit/s.
fn increase(unused: f64) -> f64 {
    let least = 1.0 / PACKET_BYTES;
    if unused > 0.0 {
        let decade = libm::ceil(libm::log10(unused * PACKET_BYTES * 8.0));
        least.max(libm::pow(10.0, decade) * BETA / PACKET_BYTES)
    } else {
        least
    }
}

impl Law for Udt {
    fn name(&self) -> &'static str {
        "udt"
    }

    fn wants(&self) -> Wants {
        Wants {
            delivered_rate: true,
            ..Wants::default()
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.rtt = ack.smoothed_rtt.unwrap_or(self.rtt);
        if let Some(rtt) = ack.rtt {
            self.trips.add(ack.now, rtt.as_secs_f64());
        }
        if let Some(delivered) = ack.delivered_rate {
            self.delivered = Some(delivered);
            self.capacity.add(ack.now, delivered);
        }
        let is_first_report = core::mem::take(&mut self.has_begun);
        if self.rate.is_none() && window.is_slow_start() {
            return;
        }
        let rate = self.rate.unwrap_or_else(|| self.begin(window, ack.now));
        if ack.lost + ack.marked > 0 && !is_first_report {
            self.has_losses = true;
            if self.epoch.on_report() {
                self.slow_down(rate);
            }
        }
        if ack.now >= self.increased_at + SYN {
            self.step(window, ack.now, self.rate.unwrap_or(rate));
        }
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.answer(window, event.now);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        self.answer(window, now);
        self.has_begun = false;
        window.cwnd = 1.0;
        window.ssthresh = 1.0;
    }

    /// Returns true after slow start, which happens once.
    fn is_holding(&self, _window: &Window, _now: Instant) -> bool {
        self.rate.is_some()
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        let capacity = self.capacity.max();
        if capacity.is_finite() {
            out.push(("capacity", capacity));
        }
        if let Some(rate) = self.rate {
            out.push(("rate", rate));
            out.push(("arrivals", self.arrivals));
            out.push(("reports_mean", self.epoch.reports_mean));
        }
    }
}

#[cfg(test)]
mod tests;
