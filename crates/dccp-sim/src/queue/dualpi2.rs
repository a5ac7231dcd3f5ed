//! DualPI2: one queue for classic congestion controls and one for scalable ones (L4S), whose
//! probabilities are coupled (RFC 9332, Appendix A).
//!
//! - `base` is p'. A proportional integral controller sets it from the longer delay of the two queues.
//! - `classic` is `p_C` = p'², the probability of dropping or marking a classic packet.
//! - `coupled` is `p_CL` = k p', the probability of marking a scalable packet.
//! - `native` is p'_L, the probability of marking a scalable packet because of its own queue's delay.
//!
//! Choices are made by adding up probabilities, not at random (RFC 9332, Appendix A.1).
//!
//! Differences from Appendix A, and choices that it leaves open:
//!
//! - The scheduler is weighted round robin with a credit, as in Linux.
//! - In overload every scalable packet is marked or dropped. Marks do not change the sum that decides on drops,
//!   because adding k p' ≥ 1 to it would drop all packets.
//! - A limit in bytes is strict, without room for one more packet.

use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::setting::Impossible;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;

/// Settings of a DualPI2 queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DualPi2Config {
    /// A packet that would go beyond, both queues together, is dropped.
    pub limit: Limit,
    /// The classic delay that the controller aims at.
    pub target: Duration,
    /// The time between two looks of the controller.
    pub update: Duration,
    /// Weight of the delay's distance from the target, per second of it and look.
    pub alpha: f64,
    /// Weight of the delay's growth.
    pub beta: f64,
    /// The coupling factor k.
    pub coupling: f64,
    /// How scalable packets are marked for the delay of their own queue.
    pub marking: L4sMarking,
    /// The part of the link that classic packets get at least while both queues have packets.
    pub classic_share: f64,
}

/// How the probability of marking scalable packets depends on the time that they have waited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum L4sMarking {
    /// Every packet that has waited longer.
    Step(Duration),
    /// None at first, from `from` on more and more, all after `width` longer.
    Ramp {
        /// Where the ramp begins.
        from: Duration,
        /// How long it takes to reach 1.
        width: Duration,
    },
}

impl L4sMarking {
    fn probability(self, delay: Duration) -> f64 {
        match self {
            Self::Step(threshold) => f64::from(u8::from(delay > threshold)),
            Self::Ramp { from, width } => {
                let part = delay.saturating_sub(from).as_secs_f64() / width.as_secs_f64();
                part.min(1.0)
            }
        }
    }
}

impl Default for DualPi2Config {
    /// RFC 9332 §A.1 for round-trip times up to 100 ms: target and update 15 ms, α = 0.15, β = 3,
    /// k = 2, a ramp from 0.8 to 1.2 ms; classic packets get a tenth of the link; 10,000 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(10_000),
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.15,
            beta: 3.0,
            coupling: 2.0,
            marking: L4sMarking::Ramp {
                from: Duration::from_micros(800),
                width: Duration::from_micros(400),
            },
            classic_share: 0.1,
        }
    }
}

impl DualPi2Config {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.limit.check("dualpi2.limit")?;
        Impossible::unless_lasting(self.target, "dualpi2.target")?;
        Impossible::unless_lasting(self.update, "dualpi2.update")?;
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        Impossible::unless(is_positive(self.alpha), "dualpi2.alpha", "above 0")?;
        Impossible::unless(is_positive(self.beta), "dualpi2.beta", "above 0")?;
        let k = self.coupling >= 1.0 && self.coupling.is_finite();
        Impossible::unless(k, "dualpi2.coupling", "1 or more")?;
        if let L4sMarking::Ramp { width, .. } = self.marking {
            Impossible::unless_lasting(width, "dualpi2.marking.width")?;
        }
        let share = self.classic_share > 0.0 && self.classic_share < 1.0;
        Impossible::unless(share, "dualpi2.classic_share", "between 0 and 1")
    }
}

/// With no more scalable packets than this left, the one that leaves is not marked for its delay
/// (`Th_len`).
const UNMARKED_LEN: usize = 1;

#[derive(Debug)]
pub(crate) struct DualPi2<T> {
    config: DualPi2Config,
    scalable: Fifo<T>,
    classic: Fifo<T>,
    /// p', and the delay in seconds at the last look.
    base: f64,
    delay_s: f64,
    next_update: Instant,
    /// Bytes that the classic queue may send before the scalable one. They change while both wait.
    credit: f64,
    /// Probabilities added up since the last choice.
    scalable_due: f64,
    classic_due: f64,
}

impl<T: Token> DualPi2<T> {
    pub(crate) fn new(config: DualPi2Config) -> Self {
        Self {
            scalable: Fifo::default(),
            classic: Fifo::default(),
            base: 0.0,
            delay_s: 0.0,
            next_update: Instant::ZERO + config.update,
            credit: 0.0,
            scalable_due: 0.0,
            classic_due: 0.0,
            config,
        }
    }

    /// Weighted round robin: scalable packets go first unless classic ones have a credit.
    fn is_scalable_next(&self) -> bool {
        !self.scalable.is_empty() && (self.classic.is_empty() || self.credit <= 0.0)
    }

    /// The scalable packet at the head, marked or not; `None` if it had to be dropped.
    fn pop_scalable(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        let mut head = self.scalable.pop(now, books)?;
        let coupled = self.config.coupling * self.base;
        let p = self.classic_probability();
        if coupled < 1.0 {
            let native = if self.scalable.len() > UNMARKED_LEN {
                self.config.marking.probability(now - head.since)
            } else {
                0.0
            };
            if is_due(&mut self.scalable_due, native.max(coupled)) {
                books.mark(&mut head.parcel.ecn);
            }
        } else if is_due(&mut self.scalable_due, p) {
            // Overload: marks do not help any more.
            books.drop(now, head.parcel, Loss::Early);
            return None;
        } else {
            books.mark(&mut head.parcel.ecn);
        }
        if !self.classic.is_empty() {
            self.credit += self.config.classic_share * length(&head);
        }
        Some(head)
    }

    /// The classic packet at the head; `None` if it had to be dropped.
    fn pop_classic(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        let mut head = self.classic.pop(now, books)?;
        let p = self.classic_probability();
        if is_due(&mut self.classic_due, p) {
            let most = 1.0 / (self.config.coupling * self.config.coupling);
            let is_overloaded = p >= most;
            if is_overloaded || !books.mark(&mut head.parcel.ecn) {
                books.drop(now, head.parcel, Loss::Early);
                return None;
            }
        }
        if !self.scalable.is_empty() {
            self.credit -= (1.0 - self.config.classic_share) * length(&head);
        }
        Some(head)
    }

    fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// Makes up for the looks since the last call. Nothing has come or gone in between, so they see
    /// what they would have seen.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            let delay_s = f64::max(
                self.classic.delay_s(self.next_update),
                self.scalable.delay_s(self.next_update),
            );
            let is_at_rest = self.base == 0.0 && self.delay_s == 0.0;
            if is_at_rest && self.classic.is_empty() && self.scalable.is_empty() {
                // More looks would change nothing.
                let step = self.config.update.as_nanos();
                let behind = (now - self.next_update).as_nanos() / step + 1;
                let skipped = u64::try_from(behind * step).unwrap_or(u64::MAX);
                self.next_update += Duration::from_nanos(skipped);
                return;
            }
            self.update(delay_s);
            self.next_update += self.config.update;
        }
    }

    /// A look of the controller.
    fn update(&mut self, delay_s: f64) {
        let target_s = self.config.target.as_secs_f64();
        let step =
            self.config.alpha * (delay_s - target_s) + self.config.beta * (delay_s - self.delay_s);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay_s = delay_s;
    }
}

impl<T: Token> Discipline<T> for DualPi2<T> {
    fn push(&mut self, now: Instant, parcel: Parcel<T>, books: &mut Books<T>) -> Result<(), Loss> {
        self.catch_up(now);
        if !self
            .config
            .limit
            .admits(books.packets, books.bytes, parcel.len)
        {
            return Err(Loss::Queue);
        }
        if books.packets == 0 {
            self.credit = 0.0;
        }
        let queue = match parcel.ecn {
            Ecn::Ect1 | Ecn::Ce => &mut self.scalable,
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic,
        };
        queue.push(now, parcel, books);
        Ok(())
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        self.catch_up(now);
        while books.packets > 0 {
            let taken = if self.is_scalable_next() {
                self.pop_scalable(now, books)
            } else {
                self.pop_classic(now, books)
            };
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }
}

/// Bytes of a packet.
#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^53")]
fn length<T>(waiting: &Waiting<T>) -> f64 {
    waiting.parcel.len as f64
}

/// Adds a probability up, and says whether a packet is due.
fn is_due(sum: &mut f64, p: f64) -> bool {
    *sum += p;
    let is_due = *sum > 1.0;
    if is_due {
        *sum -= 1.0;
    }
    is_due
}

#[cfg(test)]
mod tests;
