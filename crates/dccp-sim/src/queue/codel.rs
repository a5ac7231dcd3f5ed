//! CoDel: drops at the head of the queue while packets wait too long for too long (RFC 8289).
//!
//! When the time that packets have waited stays above `target` for an `interval`, one is dropped, and
//! then more at times that shrink with the square root of their number, until the queue obeys.

use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::setting::Impossible;
use core::time::Duration;
use dccp_proto::Instant;

/// Settings of a CoDel queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDelConfig {
    /// A packet that would go beyond is dropped, whatever the delay.
    pub limit: Limit,
    /// The delay that a standing queue may have (RFC 8289 §4.2).
    pub target: Duration,
    /// For how long it may have more: about the longest usual round-trip time (RFC 8289 §4.3).
    pub interval: Duration,
    /// With no more bytes than this waiting nothing is dropped: one packet of the largest size
    /// (RFC 8289 §5.5).
    pub mtu: usize,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// 5 ms, 100 ms, 1500 bytes, with ECN; 1000 packets.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(1000),
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: 1500,
            ecn: true,
        }
    }
}

impl CoDelConfig {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.limit.check("codel.limit")?;
        Impossible::unless_lasting(self.target, "codel.target")?;
        let longer = self.interval > self.target;
        Impossible::unless(longer, "codel.interval", "above codel.target")
    }
}

/// A queue with one control loop.
#[derive(Debug)]
pub(crate) struct CoDel<T> {
    config: CoDelConfig,
    fifo: Fifo<T>,
    control: Control,
}

impl<T: Token> CoDel<T> {
    pub(crate) fn new(config: CoDelConfig) -> Self {
        Self {
            config,
            fifo: Fifo::default(),
            control: Control::default(),
        }
    }
}

impl<T: Token> Discipline<T> for CoDel<T> {
    fn push(&mut self, now: Instant, parcel: Parcel<T>, books: &mut Books<T>) -> Result<(), Loss> {
        let (packets, bytes) = (self.fifo.len(), self.fifo.bytes());
        if !self.config.limit.admits(packets, bytes, parcel.len) {
            return Err(Loss::Queue);
        }
        self.fifo.push(now, parcel, books);
        Ok(())
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        self.control.pop(&self.config, now, &mut self.fifo, books)
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }
}

/// The control loop of one queue (RFC 8289 §5).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Control {
    /// When the delay will have been above target for an interval; `None`: it is not above.
    first_above: Option<Instant>,
    is_dropping: bool,
    drop_next: Instant,
    /// Packets dropped since dropping began, and how many it had been when it last began.
    count: u32,
    last_count: u32,
}

impl Control {
    /// The packet that may leave, after those that must be dropped.
    pub(crate) fn pop<T: Copy>(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        fifo: &mut Fifo<T>,
        books: &mut Books<T>,
    ) -> Option<Waiting<T>> {
        let (mut head, mut may_drop) = self.look(config, now, fifo, books);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                let next = self.drop_next + spacing(config.interval, self.count);
                if signal(config, now, &mut head, books) {
                    self.drop_next = next;
                    break;
                }
                (head, may_drop) = self.look(config, now, fifo, books);
                self.is_dropping = may_drop;
                if may_drop {
                    self.drop_next = next;
                }
            }
        } else if may_drop {
            if !signal(config, now, &mut head, books) {
                (head, _) = self.look(config, now, fifo, books);
            }
            self.begin(config, now);
        }
        head
    }

    /// Takes the head off, and says whether the delay has been above target long enough.
    fn look<T>(
        &mut self,
        config: &CoDelConfig,
        now: Instant,
        fifo: &mut Fifo<T>,
        books: &mut Books<T>,
    ) -> (Option<Waiting<T>>, bool) {
        let head = fifo.pop(now, books);
        let is_above = head
            .as_ref()
            .is_some_and(|w| now - w.since >= config.target && fifo.bytes() > config.mtu);
        let may_drop = is_above && self.first_above.is_some_and(|at| now >= at);
        self.first_above = match self.first_above {
            _ if !is_above => None,
            None => Some(now + config.interval),
            running => running,
        };
        (head, may_drop)
    }

    /// Enters the dropping state. Soon after the last time it goes on at the rate found then
    /// (RFC 8289 §5.5).
    fn begin(&mut self, config: &CoDelConfig, now: Instant) {
        let grown = self.count.saturating_sub(self.last_count);
        let is_soon = now - self.drop_next < 16 * config.interval;
        self.is_dropping = true;
        self.count = if grown > 1 && is_soon { grown } else { 1 };
        self.last_count = self.count;
        self.drop_next = now + spacing(config.interval, self.count);
    }
}

/// Marks the head, or drops it. Returns whether it stays.
fn signal<T: Copy>(
    config: &CoDelConfig,
    now: Instant,
    head: &mut Option<Waiting<T>>,
    books: &mut Books<T>,
) -> bool {
    let Some(waiting) = head else {
        return false;
    };
    if config.ecn && books.mark(&mut waiting.parcel.ecn) {
        return true;
    }
    books.drop(now, waiting.parcel, Loss::Early);
    false
}

/// The time between drop number `count` and the next: interval / √count.
fn spacing(interval: Duration, count: u32) -> Duration {
    interval.div_f64(libm::sqrt(f64::from(count)))
}

#[cfg(test)]
mod tests;
