//! Queues in front of a link's transmitter, a file each.
//!
//! A discipline takes packets (`Queue::push`) or refuses them with a reason, and hands them to the
//! transmitter (`Queue::pop`). It may drop packets that it has taken, then or later: those are kept
//! for the link to report (`Queue::take_dropped`). It is told the moments in order, but late: what
//! it does by the clock it makes up for when it is called.

pub mod codel;
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
pub use drop_tail::DropTailConfig;
pub use dualpi2::{DualPi2Config, L4sMarking};
pub use fq_codel::FqCoDelConfig;
pub use pie::PieConfig;
pub use red::{AdaptiveRed, RedConfig};
pub use token_bucket::TokenBucketConfig;

use crate::loss::Loss;
use crate::parcel::Parcel;
use crate::random::Stream;
use crate::setting::Impossible;
use codel::CoDel;
use dccp_proto::wire::Ecn;
use dccp_proto::{Instant, Rate};
use drop_tail::DropTail;
use dualpi2::DualPi2;
pub(crate) use fifo::Waiting;
use fifo::{Books, Dropped};
use fq_codel::FqCoDel;
use pie::Pie;
use red::Red;
use token_bucket::TokenBucket;

/// How much a queue holds, the packet in transmission not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// This many packets.
    Packets(usize),
    /// This many bytes of IP packets.
    Bytes(usize),
}

impl Limit {
    /// Whether a packet of `len` bytes fits beside what waits.
    const fn admits(self, packets: usize, bytes: usize, len: usize) -> bool {
        self.holds(packets + 1, bytes + len)
    }

    /// Whether so much may wait.
    const fn holds(self, packets: usize, bytes: usize) -> bool {
        match self {
            Self::Packets(max) => packets <= max,
            Self::Bytes(max) => bytes <= max,
        }
    }

    /// A discipline that decides on waiting packets needs room for one.
    const fn check(self, setting: &'static str) -> Result<(), Impossible> {
        let is_possible = matches!(self, Self::Packets(1..) | Self::Bytes(1..));
        Impossible::unless(is_possible, setting, "at least one packet or byte")
    }
}

/// A discipline with its settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueConfig {
    /// First in, first out; what does not fit is dropped.
    DropTail(DropTailConfig),
    /// What leaves keeps to a rate, apart from bounded bursts.
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
        match self {
            Self::DropTail(c) => c.limit,
            Self::TokenBucket(c) => c.limit,
            Self::Red(c) => c.limit,
            Self::CoDel(c) => c.limit,
            Self::FqCoDel(c) => c.limit,
            Self::Pie(c) => c.limit,
            Self::DualPi2(c) => c.limit,
        }
    }

    /// Changes how much the queue holds.
    pub const fn set_limit(&mut self, limit: Limit) {
        *match self {
            Self::DropTail(c) => &mut c.limit,
            Self::TokenBucket(c) => &mut c.limit,
            Self::Red(c) => &mut c.limit,
            Self::CoDel(c) => &mut c.limit,
            Self::FqCoDel(c) => &mut c.limit,
            Self::Pie(c) => &mut c.limit,
            Self::DualPi2(c) => &mut c.limit,
        } = limit;
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
    discipline: Discipline<T>,
    books: Books<T>,
    limit: Limit,
}

/// The usual one is at hand; the others would make each link large.
#[derive(Debug)]
enum Discipline<T> {
    DropTail(DropTail<T>),
    TokenBucket(Box<TokenBucket<T>>),
    Red(Box<Red<T>>),
    CoDel(Box<CoDel<T>>),
    FqCoDel(Box<FqCoDel<T>>),
    Pie(Box<Pie<T>>),
    DualPi2(Box<DualPi2<T>>),
}

impl<T: Copy> Queue<T> {
    /// An empty queue in front of a transmitter of this rate. `random` is for its choices.
    pub(crate) fn new(config: QueueConfig, rate: Option<Rate>, random: Stream) -> Self {
        Self {
            limit: config.limit(),
            discipline: match config {
                QueueConfig::DropTail(c) => Discipline::DropTail(DropTail::new(c)),
                QueueConfig::TokenBucket(c) => Discipline::TokenBucket(TokenBucket::new(c).into()),
                QueueConfig::Red(c) => Discipline::Red(Red::new(c, rate, random).into()),
                QueueConfig::CoDel(c) => Discipline::CoDel(CoDel::new(c).into()),
                QueueConfig::FqCoDel(c) => Discipline::FqCoDel(FqCoDel::new(c).into()),
                QueueConfig::Pie(c) => Discipline::Pie(Pie::new(c, random).into()),
                QueueConfig::DualPi2(c) => Discipline::DualPi2(DualPi2::new(c).into()),
            },
            books: Books::default(),
        }
    }

    /// Takes a packet, or refuses it with the reason.
    pub(crate) fn push(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        let books = &mut self.books;
        match &mut self.discipline {
            Discipline::DropTail(q) => q.push(now, parcel, books),
            Discipline::TokenBucket(q) => q.push(now, parcel, books),
            Discipline::Red(q) => q.push(now, parcel, books),
            Discipline::CoDel(q) => q.push(now, parcel, books),
            Discipline::FqCoDel(q) => q.push(now, parcel, books),
            Discipline::Pie(q) => q.push(now, parcel, books),
            Discipline::DualPi2(q) => q.push(now, parcel, books),
        }
    }

    /// Whether nothing is decided on a packet once it has entered.
    pub(crate) const fn is_drop_tail(&self) -> bool {
        matches!(self.discipline, Discipline::DropTail(_))
    }

    /// Counts a packet as waiting and returns its ECN field, or refuses it with the reason. Where it waits is the
    /// caller's business. Only drop-tail can do that.
    #[inline]
    pub(crate) fn admit(&mut self, now: Instant, len: usize, ecn: Ecn) -> Result<Ecn, Loss> {
        match &self.discipline {
            Discipline::DropTail(q) => q.admit(now, len, ecn, &mut self.books),
            _ => Err(Loss::Queue),
        }
    }

    /// A packet goes to the transmitter that was admitted then.
    pub(crate) fn depart(&mut self, now: Instant, since: Instant, len: usize) {
        self.books.leave(now, len);
        self.books.sent(now, since);
    }

    /// A packet that was admitted waits here from now on, as the last.
    pub(crate) fn join(&mut self, waiting: Waiting<T>) {
        match &mut self.discipline {
            Discipline::DropTail(q) => q.join(waiting),
            _ => debug_assert!(false, "only drop-tail admits"),
        }
    }

    /// Gives a packet to the transmitter; `None` if there is none, or none is left.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Waiting<T>> {
        let waiting = self.take(now)?;
        if let Discipline::TokenBucket(q) = &mut self.discipline {
            q.spend(now, waiting.parcel.len);
        }
        self.books.sent(now, waiting.since);
        Some(waiting)
    }

    fn take(&mut self, now: Instant) -> Option<Waiting<T>> {
        let books = &mut self.books;
        match &mut self.discipline {
            Discipline::DropTail(q) => q.pop(now, books),
            Discipline::TokenBucket(q) => q.pop(now, books),
            Discipline::Red(q) => q.pop(now, books),
            Discipline::CoDel(q) => q.pop(now, books),
            Discipline::FqCoDel(q) => q.pop(now, books),
            Discipline::Pie(q) => q.pop(now, books),
            Discipline::DualPi2(q) => q.pop(now, books),
        }
    }

    /// From when on `pop` gives a packet; `None` if none waits.
    pub(crate) fn ready_at(&self) -> Option<Instant> {
        if self.books.packets == 0 {
            return None;
        }
        match &self.discipline {
            Discipline::TokenBucket(q) => q.ready_at(),
            _ => Some(Instant::ZERO),
        }
    }

    /// Lets a packet pass that finds the transmitter free. Returns whether the discipline, which then
    /// has nothing to decide, lets it.
    pub(crate) const fn let_pass(&mut self) -> bool {
        let passes = matches!(self.discipline, Discipline::DropTail(_));
        self.books.dequeued += passes as u64;
        passes
    }

    /// The transmitter has had nothing to do since then, until now.
    pub(crate) const fn rested(&mut self, since: Instant) {
        if let Discipline::Red(q) = &mut self.discipline {
            q.rested(since);
        }
    }

    /// The transmitter has another rate from now on.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        if let Discipline::Red(q) = &mut self.discipline {
            q.set_rate(rate);
        }
    }

    /// Changes how much may wait. What is too much then is dropped, from the head on.
    pub(crate) fn set_limit(&mut self, now: Instant, limit: Limit) {
        self.limit = limit;
        *match &mut self.discipline {
            Discipline::DropTail(q) => q.limit_mut(),
            Discipline::TokenBucket(q) => q.limit_mut(),
            Discipline::Red(q) => q.limit_mut(),
            Discipline::CoDel(q) => q.limit_mut(),
            Discipline::FqCoDel(q) => q.limit_mut(),
            Discipline::Pie(q) => q.limit_mut(),
            Discipline::DualPi2(q) => q.limit_mut(),
        } = limit;
        while !self.is_within_limit() {
            self.drop_next(now, Loss::Queue);
        }
    }

    /// Drops all that waits.
    pub(crate) fn flush(&mut self, now: Instant, reason: Loss) {
        while self.books.packets > 0 {
            self.drop_next(now, reason);
        }
    }

    /// Drops the packet that would leave next.
    fn drop_next(&mut self, now: Instant, reason: Loss) {
        if let Some(waiting) = self.take(now) {
            self.books.drop(now, waiting.parcel, reason);
        }
    }

    /// When the oldest unreported drop happened.
    pub(crate) fn dropped_at(&self) -> Option<Instant> {
        self.books.dropped.front().map(|d| d.at)
    }

    /// Whether it only lets packets wait in line: none is dropped that has been taken, none leaves later than
    /// the transmitter allows, and none that waits will be overtaken behind it.
    pub(crate) fn is_plain_line(&self) -> bool {
        let is_plain = matches!(&self.discipline, Discipline::DropTail(q) if q.holds_none_back());
        is_plain && self.books.dropped.is_empty()
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

    /// Packets that have entered and are still the link's business: those that wait, and drops that
    /// nobody has been told of.
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
