//! Random Early Detection: drops or marks arriving packets with a probability that grows with the
//! average queue (Floyd and Jacobson 1993), with ns-2's parameters, the gentle slope and adaptive
//! `max_p` (Floyd, Gummadi and Shenker 2001).
//!
//! | symbol | here |
//! |---|---|
//! | average of the queue found by arriving packets | `average` |
//! | `p_b`, the probability that the average gives | `RedConfig::slope` |
//! | `p_a`, the same spread over the packets since the last drop | `RedConfig::spread` |
//!
//! Two differences from ns-2. With a limit in bytes the probability counts bytes too (ns-2 has `bytes_` and
//! `queue_in_bytes_`). With adaptive `max_p` the gentle slope begins at the present `max_p`, not at the first.

use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::random::Stream;
use crate::setting::Impossible;
use core::time::Duration;
use dccp_proto::{Instant, Rate};

/// Settings of a RED queue. Queue and thresholds count what the limit counts: packets or bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedConfig {
    /// A packet that would go beyond is dropped, whatever the average.
    pub limit: Limit,
    /// Below this average no packet is dropped (ns-2: `thresh_`).
    pub min_threshold: f64,
    /// From this average on every packet is dropped, or with `gentle` from twice as much
    /// (ns-2: `maxthresh_`).
    pub max_threshold: f64,
    /// The probability just below `max_threshold` (ns-2: 1 / `linterm_`).
    pub max_p: f64,
    /// Weight of the newest packet in the average (ns-2: `q_weight_`).
    pub weight: f64,
    /// Between `max_threshold` and twice as much the probability rises from `max_p` to 1.
    pub gentle: bool,
    /// No two drops follow each other closely (ns-2: `wait_`).
    pub wait: bool,
    /// ECN-capable packets are marked instead of dropped early (ns-2: `setbit_`); full queues and
    /// averages above the slope drop them too.
    pub ecn: bool,
    /// The usual length of a packet in bytes: how fast an idle queue forgets, and the unit of
    /// probabilities that count bytes.
    pub mean_packet: usize,
    /// How `max_p` follows the average, if it does.
    pub adaptive: Option<AdaptiveRed>,
}

/// How `max_p` keeps the average halfway between the thresholds (Floyd, Gummadi and Shenker 2001).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdaptiveRed {
    /// The shortest time between two changes.
    pub interval: Duration,
    /// The increase of `max_p`, at most a quarter of `max_p`.
    pub increase: f64,
    /// The factor that decreases `max_p`.
    pub decrease: f64,
    /// The least `max_p`.
    pub bottom: f64,
    /// The largest.
    pub top: f64,
}

impl Default for AdaptiveRed {
    /// Every 0.5 s, plus 0.01 or times 0.9, from 0.01 to 0.5.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(500),
            increase: 0.01,
            decrease: 0.9,
            bottom: 0.01,
            top: 0.5,
        }
    }
}

impl Default for RedConfig {
    /// ns-2's classic values: thresholds of 5 and 15 packets, a weight of 0.002, `max_p` 0.1, gentle,
    /// `wait`, no ECN; 1000 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_p: 0.1,
            weight: 0.002,
            gentle: true,
            wait: true,
            ecn: false,
            mean_packet: 1000,
            adaptive: None,
        }
    }
}

impl RedConfig {
    /// The values that ns-2 finds for a link: an average over a second, and thresholds around a delay
    /// of 5 ms, but not below 5 packets.
    #[must_use]
    pub fn automatic(rate: Rate, mean_packet: usize) -> Self {
        let packets_per_s = packets_per_s(rate, mean_packet);
        let min_threshold = f64::max(5.0, packets_per_s * 0.005 / 2.0);
        Self {
            min_threshold,
            max_threshold: 3.0 * min_threshold,
            weight: 1.0 - libm::exp(-1.0 / packets_per_s),
            mean_packet,
            ..Self::default()
        }
    }

    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.limit.check("red.limit")?;
        let from = self.min_threshold;
        Impossible::unless(from >= 0.0, "red.min_threshold", "0 or more")?;
        let above = self.max_threshold > from && self.max_threshold.is_finite();
        Impossible::unless(above, "red.max_threshold", "above red.min_threshold")?;
        Impossible::unless_share(self.max_p, "red.max_p")?;
        Impossible::unless_share(self.weight, "red.weight")?;
        Impossible::unless(self.mean_packet > 0, "red.mean_packet", "above 0 bytes")?;
        let Some(a) = self.adaptive else {
            return Ok(());
        };
        Impossible::unless_share(a.increase, "red.adaptive.increase")?;
        Impossible::unless_share(a.decrease, "red.adaptive.decrease")?;
        Impossible::unless_share(a.top, "red.adaptive.top")?;
        let ordered = 0.0 < a.bottom && a.bottom <= a.top;
        Impossible::unless(ordered, "red.adaptive.bottom", "above 0 and up to top")
    }

    /// The probability that an average gives, with this `max_p`.
    fn slope(&self, average: f64, max_p: f64) -> f64 {
        let p = if average < self.max_threshold {
            max_p * (average - self.min_threshold) / (self.max_threshold - self.min_threshold)
        } else if self.gentle {
            max_p + (1.0 - max_p) * (average - self.max_threshold) / self.max_threshold
        } else {
            1.0
        };
        p.min(1.0)
    }

    /// The probability for this packet, spread evenly over the packets between two drops. `count` is its number
    /// since the last drop, `len` its length in mean packets.
    fn spread(&self, p: f64, count: f64, len: f64) -> f64 {
        let due = count * p;
        let p = match (self.wait, due) {
            (true, due) if due < 1.0 => 0.0,
            (true, due) if due < 2.0 => p / (2.0 - due),
            (false, due) if due < 1.0 => p / (1.0 - due),
            _ => 1.0,
        };
        // The length does not matter any more to what is certain.
        if p < 1.0 { (p * len).min(1.0) } else { 1.0 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
fn packets_per_s(rate: Rate, mean_packet: usize) -> f64 {
    rate.bytes_per_s() / mean_packet as f64
}

#[derive(Debug)]
pub(crate) struct Red<T> {
    config: RedConfig,
    fifo: Fifo<T>,
    random: Stream,
    /// How many mean packets leave in a second; infinite on a link without a rate.
    packets_per_s: f64,
    average: f64,
    max_p: f64,
    adapted: Instant,
    /// Since when nothing has been sent, until the next packet comes.
    idle_since: Option<Instant>,
    /// Packets and bytes that came since the last drop.
    count: u64,
    count_bytes: u64,
    was_above: bool,
}

impl<T: Token> Red<T> {
    pub(crate) fn new(config: RedConfig, rate: Option<Rate>, random: Stream) -> Self {
        let mut red = Self {
            fifo: Fifo::default(),
            random,
            packets_per_s: 0.0,
            average: 0.0,
            max_p: config.max_p,
            adapted: Instant::ZERO,
            idle_since: None,
            count: 0,
            count_bytes: 0,
            was_above: false,
            config,
        };
        red.set_rate(rate);
        red
    }

    #[expect(clippy::cast_precision_loss, reason = "queues are far below 2^53")]
    fn queue(&self) -> f64 {
        match self.config.limit {
            Limit::Packets(_) => self.fifo.len() as f64,
            Limit::Bytes(_) => self.fifo.bytes() as f64,
        }
    }

    /// Counts an idle time as the packets that could have been sent in it, each with an empty queue.
    fn update_average(&mut self, now: Instant) {
        let keep = 1.0 - self.config.weight;
        if let Some(since) = self.idle_since.take() {
            let missed = libm::floor(self.packets_per_s * (now - since).as_secs_f64());
            self.average *= libm::pow(keep, missed);
        }
        self.average = self.average * keep + self.config.weight * self.queue();
    }

    fn adapt(&mut self, now: Instant) {
        let Some(a) = self.config.adaptive else {
            return;
        };
        if now - self.adapted <= a.interval {
            return;
        }
        let (low, high) = (self.config.min_threshold, self.config.max_threshold);
        let part = 0.4 * (high - low);
        if self.average < low + part && self.max_p > a.bottom {
            self.max_p *= a.decrease;
        } else if self.average > high - part && self.max_p < a.top {
            self.max_p += a.increase.min(0.25 * self.max_p);
        } else {
            return;
        }
        self.adapted = now;
    }

    fn verdict(&mut self, len: usize) -> Verdict {
        let config = &self.config;
        if self.average < config.min_threshold || self.queue() <= 1.0 {
            self.was_above = false;
            return Verdict::Pass;
        }
        let end_of_slope = config.max_threshold * if config.gentle { 2.0 } else { 1.0 };
        if self.average >= end_of_slope {
            return Verdict::Forced;
        }
        if !self.was_above {
            self.was_above = true;
            self.count = 1;
            self.count_bytes = len as u64;
            return Verdict::Pass;
        }
        if self.random.unit() > self.probability(len) {
            return Verdict::Pass;
        }
        self.restart_count();
        Verdict::Early
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counts and lengths are far below 2^53"
    )]
    fn probability(&self, len: usize) -> f64 {
        let p = self.config.slope(self.average, self.max_p);
        let mean = self.config.mean_packet;
        match self.config.limit {
            Limit::Packets(_) => self.config.spread(p, self.count as f64, 1.0),
            Limit::Bytes(_) => {
                let count = self.count_bytes / mean as u64;
                self.config
                    .spread(p, count as f64, len as f64 / mean as f64)
            }
        }
    }

    const fn restart_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}

impl<T: Token> Discipline<T> for Red<T> {
    fn set_rate(&mut self, rate: Option<Rate>) {
        self.packets_per_s =
            rate.map_or(f64::INFINITY, |r| packets_per_s(r, self.config.mean_packet));
    }

    fn on_idle(&mut self, since: Instant) {
        self.idle_since = Some(since);
    }

    fn push(
        &mut self,
        now: Instant,
        mut parcel: Parcel<T>,
        books: &mut Books<T>,
    ) -> Result<(), Loss> {
        self.update_average(now);
        self.adapt(now);
        self.count += 1;
        self.count_bytes += parcel.len as u64;
        let verdict = self.verdict(parcel.len);
        let (packets, bytes) = (self.fifo.len(), self.fifo.bytes());
        let fits = self.config.limit.admits(packets, bytes, parcel.len);
        if !fits || verdict == Verdict::Forced {
            self.restart_count();
            return Err(if fits { Loss::Early } else { Loss::Queue });
        }
        if verdict == Verdict::Early && !(self.config.ecn && books.mark(&mut parcel.ecn)) {
            return Err(Loss::Early);
        }
        self.fifo.push(now, parcel, books);
        Ok(())
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        self.fifo.pop(now, books)
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    /// Chosen by chance.
    Early,
    /// The average is beyond the slope.
    Forced,
}

#[cfg(test)]
mod tests;
