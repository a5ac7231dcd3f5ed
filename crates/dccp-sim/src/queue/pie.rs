//! PIE: drops arriving packets with a probability that a proportional integral controller finds from
//! the delay of the queue (RFC 8033).
//!
//! The delay is the waiting time of the packet at the head. RFC 8033 §4.3 allows such timestamps in place of an
//! estimated departure rate (§5.2). The controller is always on, because it need not save work as in §5.3. A mark
//! resets the sum of §5.4 as a drop does. Otherwise all packets would be marked once it had passed 8.5.

use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::random::Stream;
use crate::setting::Impossible;
use core::time::Duration;
use dccp_proto::Instant;

/// Settings of a PIE queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PieConfig {
    /// A packet that would go beyond is dropped, whatever the delay.
    pub limit: Limit,
    /// The delay that the controller aims at (RFC 8033 §4.2, `QDELAY_REF`).
    pub target: Duration,
    /// The time between two updates of the controller (`T_UPDATE`).
    pub update: Duration,
    /// Weight of the delay's distance from the target, per second of it and update.
    pub alpha: f64,
    /// Weight of the delay's growth.
    pub beta: f64,
    /// How long no packet is dropped after a rest (`MAX_BURST`, RFC 8033 §4.4).
    pub burst: Duration,
    /// Length of a usual packet in bytes: no packet is dropped while two or fewer wait.
    pub mean_packet: usize,
    /// ECN-capable packets are marked instead of dropped while the probability is not above
    /// `mark_below`.
    pub ecn: bool,
    /// See `ecn` (RFC 8033 §5.1).
    pub mark_below: f64,
    /// Drops are spread evenly (RFC 8033 §5.4).
    pub derandomize: bool,
}

impl Default for PieConfig {
    /// 15 ms, 15 ms, 1/8, 1 1/4, 150 ms (RFC 8033 §4), ECN up to 10 %, spread evenly; 1000 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Duration::from_millis(150),
            mean_packet: 1000,
            ecn: true,
            mark_below: 0.1,
            derandomize: true,
        }
    }
}

impl PieConfig {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.limit.check("pie.limit")?;
        Impossible::unless_lasting(self.target, "pie.target")?;
        Impossible::unless_lasting(self.update, "pie.update")?;
        let (alpha, beta) = (self.alpha, self.beta);
        Impossible::unless(alpha > 0.0 && alpha.is_finite(), "pie.alpha", "above 0")?;
        Impossible::unless(beta >= 0.0 && beta.is_finite(), "pie.beta", "0 or more")?;
        Impossible::unless_share(self.mark_below, "pie.mark_below")
    }
}

#[derive(Debug)]
pub(crate) struct Pie<T> {
    config: PieConfig,
    fifo: Fifo<T>,
    random: Stream,
    /// The probability, and the sum of it over the packets since the last drop.
    p: f64,
    accumulated: f64,
    /// The delay at the last update, in seconds.
    delay_s: f64,
    /// The rest of the time without drops.
    burst_left: Duration,
    next_update: Instant,
}

impl<T: Token> Pie<T> {
    pub(crate) fn new(config: PieConfig, random: Stream) -> Self {
        Self {
            fifo: Fifo::default(),
            random,
            p: 0.0,
            accumulated: 0.0,
            delay_s: 0.0,
            burst_left: config.burst,
            next_update: Instant::ZERO + config.update,
            config,
        }
    }

    /// Makes up for the looks since the last call. Nothing has come or gone in between, so they see
    /// what they would have seen.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            if self.is_at_rest() {
                // More looks would change nothing.
                let step = self.config.update.as_nanos();
                let behind = (now - self.next_update).as_nanos() / step + 1;
                let skipped = u64::try_from(behind * step).unwrap_or(u64::MAX);
                self.next_update += Duration::from_nanos(skipped);
                return;
            }
            let delay_s = self.fifo.delay_s(self.next_update);
            self.update(delay_s);
            self.next_update += self.config.update;
        }
    }

    fn is_at_rest(&self) -> bool {
        let is_quiet = self.fifo.is_empty() && self.p == 0.0 && self.delay_s == 0.0;
        is_quiet && self.burst_left == self.config.burst
    }

    /// A look of the controller (RFC 8033 §4.2; the cap of 2 %: §5.5).
    fn update(&mut self, delay_s: f64) {
        let (old_s, target_s) = (self.delay_s, self.config.target.as_secs_f64());
        let step = self.config.alpha * (delay_s - target_s) + self.config.beta * (delay_s - old_s);
        let mut step = step * scale(self.p);
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        self.p = (self.p + step).clamp(0.0, 1.0);
        if delay_s == 0.0 && old_s == 0.0 {
            self.p *= 0.98;
        }
        self.delay_s = delay_s;
        self.burst_left = self.burst_left.saturating_sub(self.config.update);
        let is_calm = delay_s < target_s / 2.0 && old_s < target_s / 2.0;
        if self.p == 0.0 && is_calm {
            self.burst_left = self.config.burst;
        }
    }

    /// Whether this packet is to be dropped (RFC 8033 §4.1 and §5.4).
    fn chooses(&mut self) -> bool {
        let is_short = self.delay_s < self.config.target.as_secs_f64() / 2.0 && self.p < 0.2;
        if is_short || self.fifo.bytes() <= 2 * self.config.mean_packet {
            return false;
        }
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.p;
        let chosen = if self.config.derandomize && self.accumulated < 0.85 {
            false
        } else if self.config.derandomize && self.accumulated >= 8.5 {
            true
        } else {
            self.random.chance(self.p)
        };
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }
}

impl<T: Token> Discipline<T> for Pie<T> {
    fn push(
        &mut self,
        now: Instant,
        mut parcel: Parcel<T>,
        books: &mut Books<T>,
    ) -> Result<(), Loss> {
        self.catch_up(now);
        let (packets, bytes) = (self.fifo.len(), self.fifo.bytes());
        if !self.config.limit.admits(packets, bytes, parcel.len) {
            self.accumulated = 0.0;
            return Err(Loss::Queue);
        }
        if self.burst_left.is_zero() && self.chooses() {
            let may_mark = self.config.ecn && self.p <= self.config.mark_below;
            if !(may_mark && books.mark(&mut parcel.ecn)) {
                return Err(Loss::Early);
            }
        }
        self.fifo.push(now, parcel, books);
        Ok(())
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        self.catch_up(now);
        self.fifo.pop(now, books)
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }
}

/// How much smaller steps are at small probabilities (RFC 8033 §4.2).
fn scale(p: f64) -> f64 {
    const SCALES: [(f64, f64); 6] = [
        (0.000_001, 2048.0),
        (0.000_01, 512.0),
        (0.000_1, 128.0),
        (0.001, 32.0),
        (0.01, 8.0),
        (0.1, 2.0),
    ];
    let divisor = SCALES.iter().find(|(below, _)| p < *below);
    divisor.map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

#[cfg(test)]
mod tests;
