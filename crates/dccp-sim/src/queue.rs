//! Queues in front of a link's transmitter, a file each.
//!
//! A discipline accepts packets (`Queue::push`) or refuses them with a reason, and gives them to the transmitter
//! (`Queue::pop`). It may also drop accepted packets; `Queue::take_dropped` returns these. Calls come in the
//! order of time, but late: a discipline with a clock catches up when it is called.

pub mod codel;
mod discipline;
pub mod drop_tail;
pub mod dualpi2;
mod fifo;
pub mod fq_codel;
pub mod pie;
pub mod red;
#[cfg(test)]
mod testing;
pub mod token_bucket;

pub use codel::CoDelConfig;
pub use discipline::Limit;
pub use drop_tail::DropTailConfig;
pub use dualpi2::{DualPi2Config, L4sMarking};
pub use fq_codel::FqCoDelConfig;
pub use pie::PieConfig;
pub use red::{AdaptiveRed, RedConfig};
pub use token_bucket::TokenBucketConfig;

use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::random::Stream;
use crate::setting::Impossible;
use codel::CoDel;
use dccp_proto::{Instant, Rate};
use discipline::Discipline;
use drop_tail::DropTail;
use dualpi2::DualPi2;
pub(crate) use fifo::Waiting;
use fifo::{Books, Dropped};
use fq_codel::FqCoDel;
use pie::Pie;
use red::Red;
use token_bucket::TokenBucket;

/// A discipline with its settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped.
    DropTail(DropTailConfig),
    /// Limits the rate of departures, apart from bounded bursts.
    TokenBucket(TokenBucketConfig),
    /// Random Early Detection, ns-2's.
    Red(RedConfig),
    /// CoDel (RFC 8289).
    CoDel(CoDelConfig),
    /// A CoDel queue per flow (RFC 8290).
    FqCoDel(FqCoDelConfig),
    /// PIE (RFC 8033).
    Pie(PieConfig),
    /// Coupled queues for classic and scalable congestion controls (RFC 9332).
    DualPi2(DualPi2Config),
}

impl Default for QueueConfig {
    /// Drop-tail, 1000 packets.
    fn default() -> Self {
        Self::DropTail(DropTailConfig::default())
    }
}

impl QueueConfig {
    /// A drop-tail queue that marks nothing.
    pub const fn drop_tail(limit: Limit) -> Self {
        Self::DropTail(DropTailConfig {
            limit,
            mark_at: None,
        })
    }

    /// How much the queue holds.
    pub const fn limit(&self) -> Limit {
        let mut copy = *self;
        *copy.limit_mut()
    }

    /// Changes how much the queue holds.
    pub const fn set_limit(&mut self, limit: Limit) {
        *self.limit_mut() = limit;
    }

    const fn limit_mut(&mut self) -> &mut Limit {
        match self {
            Self::DropTail(c) => &mut c.limit,
            Self::TokenBucket(c) => &mut c.limit,
            Self::Red(c) => &mut c.limit,
            Self::CoDel(c) => &mut c.limit,
            Self::FqCoDel(c) => &mut c.limit,
            Self::Pie(c) => &mut c.limit,
            Self::DualPi2(c) => &mut c.limit,
        }
    }

    /// Looks for settings that make no sense.
    ///
    /// # Errors
    /// The first one.
    pub fn check(&self) -> Result<(), Impossible> {
        match self {
            Self::DropTail(_) => Ok(()),
            Self::TokenBucket(c) => c.check(),
            Self::Red(c) => c.check(),
            Self::CoDel(c) => c.check(),
            Self::FqCoDel(c) => c.check(),
            Self::Pie(c) => c.check(),
            Self::DualPi2(c) => c.check(),
        }
    }
}

/// A queue at work.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    discipline: Box<dyn Discipline<T>>,
    /// [`Discipline::is_plain`], which each packet asks.
    is_plain: bool,
    books: Books<T>,
    limit: Limit,
}

impl<T: Token> Queue<T> {
    /// An empty queue in front of a transmitter of this rate. `random` is for its choices.
    pub(crate) fn new(config: QueueConfig, rate: Option<Rate>, random: Stream) -> Self {
        let discipline: Box<dyn Discipline<T>> = match config {
            QueueConfig::DropTail(c) => Box::new(DropTail::new(c)),
            QueueConfig::TokenBucket(c) => Box::new(TokenBucket::new(c)),
            QueueConfig::Red(c) => Box::new(Red::new(c, rate, random)),
            QueueConfig::CoDel(c) => Box::new(CoDel::new(c)),
            QueueConfig::FqCoDel(c) => Box::new(FqCoDel::new(c)),
            QueueConfig::Pie(c) => Box::new(Pie::new(c, random)),
            QueueConfig::DualPi2(c) => Box::new(DualPi2::new(c)),
        };
        Self {
            limit: config.limit(),
            is_plain: discipline.is_plain(),
            discipline,
            books: Books::default(),
        }
    }

    /// Takes a packet, or refuses it with the reason.
    pub(crate) fn push(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        self.discipline.push(now, parcel, &mut self.books)
    }

    /// Whether nothing is decided on a packet once it has entered.
    pub(crate) const fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Gives a packet to the transmitter; `None` if there is none, or none is left.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting<T>> {
        let waiting = self.discipline.pop(now, &mut self.books)?;
        if !self.is_plain {
            self.discipline.on_dequeue(now, waiting.parcel.len);
        }
        self.books.sent(now, waiting.since);
        Some(waiting)
    }

    /// From when on `pop` gives a packet; `None` if none waits.
    #[inline]
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        match self.books.packets {
            0 => None,
            _ if self.is_plain => Some(Instant::ZERO),
            _ => self.discipline.ready_at(),
        }
    }

    /// Lets a packet pass that finds the transmitter free. Returns whether the discipline lets it, which is if
    /// it has nothing to decide.
    pub(crate) const fn let_pass(&mut self) -> bool {
        self.books.dequeued += self.is_plain as u64;
        self.is_plain
    }

    /// The transmitter has been idle since then, until now.
    pub(crate) fn on_idle(&mut self, since: Instant) {
        self.discipline.on_idle(since);
    }

    /// The transmitter has another rate from now on.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        self.discipline.set_rate(rate);
    }

    /// Changes the limit. Packets beyond it are dropped, from the head on.
    pub(crate) fn set_limit(&mut self, now: Instant, limit: Limit) {
        self.limit = limit;
        *self.discipline.limit_mut() = limit;
        while !self.is_within_limit() {
            self.drop_next(now, Loss::Queue);
        }
    }

    /// Drops all waiting packets.
    pub(crate) fn flush(&mut self, now: Instant, reason: Loss) {
        while self.books.packets > 0 {
            self.drop_next(now, reason);
        }
    }

    /// Drops the packet that would leave next.
    fn drop_next(&mut self, now: Instant, reason: Loss) {
        if let Some(waiting) = self.discipline.pop(now, &mut self.books) {
            self.books.drop(now, waiting.parcel, reason);
        }
    }

    /// When the oldest unreported drop happened.
    pub(crate) fn dropped_at(&self) -> Option<Instant> {
        self.books.dropped.front().map(|d| d.at)
    }

    /// Whether packets only wait in line: none is dropped after it was accepted, delayed beyond the transmitter, or
    /// overtaken later.
    pub(crate) fn is_plain_line(&self) -> bool {
        self.discipline.is_in_order() && self.books.dropped.is_empty()
    }

    /// The oldest packet that was taken and dropped then, with the reason.
    pub(crate) fn take_dropped(&mut self) -> Option<(Parcel<T>, Loss)> {
        let Dropped { parcel, reason, .. } = self.books.dropped.pop_front()?;
        Some((parcel, reason))
    }

    /// Packets waiting.
    pub(crate) const fn len(&self) -> usize {
        self.books.packets
    }

    /// Bytes waiting.
    pub(crate) const fn bytes(&self) -> usize {
        self.books.bytes
    }

    /// Packets that have entered and have no reported fate: waiting ones and unreported drops.
    pub(crate) fn inside(&self) -> usize {
        self.books.packets + self.books.dropped.len()
    }

    /// The account of what it did.
    pub(crate) const fn books(&self) -> &Books<T> {
        &self.books
    }

    /// How many packets of `len` bytes the limit leaves room for.
    pub(crate) const fn room(&self, len: usize) -> usize {
        match self.limit {
            Limit::Packets(max) => max.saturating_sub(self.books.packets),
            Limit::Bytes(max) => max.saturating_sub(self.books.bytes) / len,
        }
    }

    /// Whether no more waits than the limit allows.
    pub(crate) const fn is_within_limit(&self) -> bool {
        self.limit.holds(self.books.packets, self.books.bytes)
    }
}

#[cfg(test)]
mod tests;
