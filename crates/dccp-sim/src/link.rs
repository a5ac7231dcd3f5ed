//! One direction of a link: a queue, a transmitter of some rate, a delay, and faults.
//!
//! ```text
//!   offer → [ queue ] → transmitter → ~ ~ ~ in flight ~ ~ ~ → poll
//!             limit       rate            delay, faults
//! ```
//! The link knows lengths and ECN fields, not packets: it carries tokens and reports the fate of each. So the
//! simulator and the emulator, which handles real packets in real time, share it.
//!
//! A packet is in one of three places: it waits in the queue, it is in flight (from the moment when its
//! transmission begins), or it is a stray, which others may overtake.
//!
//! The link is driven lazily: each call first dequeues what the transmitter has become free for since the last
//! call. No call comes too late for that, because a packet arrives only after its transmission. This costs one
//! event for each packet instead of two, and active queue management still decides at the time of dequeuing.

mod change;
mod flying;
mod lookahead;
mod stats;

pub use crate::parcel::{Parcel, Token};
pub use flying::Arrival;
pub(crate) use flying::Packet;
use flying::{Flying, Stray};
use stats::Counters;
pub use stats::LinkStats;

use crate::loss::{Fate, FaultConfig, Faults, Loss};
use crate::queue::{Queue, QueueConfig, Waiting};
use crate::random::Seed;
use crate::rate_trace::RateTrace;
use crate::setting::Impossible;
use crate::transmitter::Transmitter;
use core::cmp::Reverse;
use core::time::Duration;
use dccp_proto::time::nanos;
use dccp_proto::{Instant, Rate};
use std::collections::{BinaryHeap, VecDeque};

/// The fate of packets that are larger than the link's MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooBig {
    /// They are dropped, and an ICMP message notifies their sender (RFC 1191, RFC 8201).
    Icmp {
        /// How many bytes of the DCCP datagram the message quotes. Old routers quote 8, modern ones
        /// as much as fits.
        quoted: usize,
    },
    /// They are dropped silently: a black hole.
    Silent,
}

/// The fate of packets that wait or arrive at the queue while the link is down. Packets in flight arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WhileDown {
    /// They wait, as far as the queue has room.
    #[default]
    Wait,
    /// They are lost.
    Lose,
}

/// Settings of one direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// Bytes of IP packets per second; `None`: no limit, so no queue either.
    pub rate: Option<Rate>,
    /// Instead of a rate: the times of opportunities to send [`RateTrace::OPPORTUNITY_BYTES`]. Small packets
    /// share one, a large packet takes several. An opportunity that no packet waits for is lost.
    pub trace: Option<RateTrace>,
    /// Time from the end of a transmission to arrival.
    pub delay: Duration,
    /// The queue in front of the transmitter.
    pub queue: QueueConfig,
    /// The largest IP packet in bytes.
    pub mtu: usize,
    /// The fate of larger packets.
    pub too_big: TooBig,
    /// Loss, reordering and the like.
    pub faults: FaultConfig,
    /// The fate of packets while the link is down.
    pub while_down: WhileDown,
}

impl Default for LinkConfig {
    /// No limit of rate, no delay, an MTU of 1500 bytes, no faults.
    fn default() -> Self {
        Self {
            rate: None,
            trace: None,
            delay: Duration::ZERO,
            queue: QueueConfig::default(),
            mtu: 1500,
            too_big: TooBig::Icmp { quoted: 500 },
            faults: FaultConfig::default(),
            while_down: WhileDown::default(),
        }
    }
}

impl LinkConfig {
    /// Looks for settings that make no sense.
    ///
    /// # Errors
    /// The first one.
    pub fn check(&self) -> Result<(), Impossible> {
        if let Some(rate) = self.rate {
            Impossible::unless_rate(rate, "rate")?;
        }
        let is_one = self.rate.is_none() || self.trace.is_none();
        Impossible::unless(is_one, "trace", "given without a rate")?;
        Impossible::unless(self.mtu > 0, "mtu", "above 0 bytes")?;
        self.queue.check()?;
        self.faults.check()
    }
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link<T> {
    config: Box<LinkConfig>,
    faults: Box<Faults>,
    /// That of the settings: each packet asks.
    mtu: usize,
    queue: Queue<T>,
    transmitter: Transmitter,
    is_up: bool,
    /// [`has_plain_path`](Self::has_plain_path), which each packet asks.
    is_plain: bool,
    /// The delay and the time at work in ns: a division less for each packet.
    delay_ns: u64,
    busy_ns: u64,
    /// The least that the delay has ever been, in ns.
    delay_min_ns: u64,
    /// In order of arrival, which is the order of transmission.
    flight: VecDeque<Flying<T>>,
    /// When the last packet in flight arrives, and since when it is the next to arrive.
    last_at: Instant,
    last_since: Instant,
    /// Packets held back, which others may overtake.
    strays: BinaryHeap<Reverse<Stray<T>>>,
    /// The last packet that went into the transmitter was held back.
    is_last_stray: bool,
    counters: Counters,
}

impl<T: Token> Link<T> {
    /// A link at rest. `name` names its random streams: no two links of a seed should share one.
    pub fn new(config: LinkConfig, seed: Seed, name: &str) -> Self {
        let random = seed.stream(&format!("link {name} queue"));
        let delay_ns = nanos(config.delay);
        let mut link = Self {
            faults: Faults::new(config.faults.clone(), seed, name).into(),
            mtu: config.mtu,
            queue: Queue::new(config.queue, config.rate, random),
            transmitter: Transmitter::new(config.rate, config.trace.clone()),
            config: config.into(),
            is_up: true,
            is_plain: false,
            delay_ns,
            delay_min_ns: delay_ns,
            busy_ns: 0,
            flight: VecDeque::new(),
            last_at: Instant::ZERO,
            last_since: Instant::ZERO,
            strays: BinaryHeap::new(),
            is_last_stray: false,
            counters: Counters::default(),
        };
        link.is_plain = link.has_plain_path();
        link
    }

    /// The settings, as they are now.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Whether packets can leave.
    pub fn is_up(&self) -> bool {
        self.is_up
    }

    /// Counters as of the last call that had a `now`.
    pub fn stats(&self) -> LinkStats {
        let books = self.queue.books();
        let counters = self.counters;
        let (queue_packet_ns, queue_byte_ns) = books.integrals(counters.at);
        LinkStats {
            offered: counters.offered,
            delivered: counters.delivered,
            delivered_bytes: counters.delivered_bytes,
            duplicated: counters.duplicated,
            corrupted: counters.corrupted,
            lost: counters.lost,
            marked: books.marked,
            inside: self.inside(),
            busy: Duration::from_nanos(self.busy_ns),
            queue_packets_max: books.packets_max,
            dequeued: books.dequeued,
            sojourn_sum: Duration::from_nanos(books.sojourn_sum_ns),
            sojourn_max: Duration::from_nanos(books.sojourn_max_ns),
            queue_packet_ns,
            queue_byte_ns,
            at: counters.at,
        }
    }

    /// Counters until now.
    pub fn stats_at(&mut self, now: Instant) -> LinkStats {
        self.advance(now);
        self.stats()
    }

    /// How long the transmitter has been busy by now. [`LinkStats::busy`] includes all of the packet in
    /// transmission, which on a slow link is more time than has passed.
    pub fn busy_by(&self, now: Instant) -> Duration {
        let ahead = self.transmitter.free_at() - now;
        Duration::from_nanos(self.busy_ns).saturating_sub(ahead)
    }

    /// Packets and bytes that wait in the queue, as of the last call that had a `now`.
    pub fn queue_len(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Whether the counters and the limits agree with what is inside.
    pub fn is_consistent(&self) -> bool {
        let s = &self.counters;
        s.offered == s.delivered + s.lost.total() + self.inside() && self.queue.is_within_limit()
    }

    /// How many packets of MTU size the queue has room for; if none, when it will have room. A link that is
    /// down accepts all packets.
    pub(crate) fn room(&mut self, now: Instant) -> Result<usize, Instant> {
        self.advance(now);
        let room = self.queue.room(self.mtu.max(1));
        match self.queue.ready_at().filter(|_| self.is_up && room == 0) {
            Some(ready) => Err(self.transmitter.free_at().max(ready)),
            None => Ok(room.max(1)),
        }
    }

    /// Puts a packet in at this end.
    ///
    /// # Errors
    /// The reason why it was dropped right away.
    #[inline]
    pub fn offer(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        let packet = Packet::of(&parcel);
        if self.is_plain_for(packet.len, parcel.may_fragment) && parcel.hold.is_zero() {
            self.offer_plainly(now, packet)
        } else {
            self.offer_to_queue(now, parcel)
        }
    }

    /// Whether a packet that travels no longer than others may be [offered plainly](Self::offer_plainly).
    #[inline]
    pub(crate) const fn is_plain_for(&self, len: u32, may_fragment: bool) -> bool {
        self.is_plain && (len as usize <= self.mtu || may_fragment)
    }

    /// Whether a packet without a hold meets nothing here but a drop-tail queue, a steady rate and a delay.
    fn has_plain_path(&self) -> bool {
        self.is_up
            && self.transmitter.is_steady()
            && self.faults.are_quiet()
            && self.queue.is_plain()
    }

    /// Puts in a packet that is [plain](Self::is_plain_for): the fast path.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each packet comes here once for each link; a call costs a fifth of it"
    )]
    pub(crate) fn offer_plainly(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Loss> {
        self.advance(now);
        self.counters.offered += 1;
        // A free transmitter has emptied the queue.
        if self.transmitter.free_at() <= now {
            self.queue.let_pass();
            self.begin(now, packet, now);
            return Ok(());
        }
        self.enqueue(now, packet.parcel())
    }

    #[inline(never)]
    fn enqueue(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        let taken = self.queue.push(now, parcel);
        taken.map_err(|reason| self.lose(reason))
    }

    /// Puts in any packet.
    #[inline(never)]
    fn offer_to_queue(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        self.advance(now);
        self.counters.offered += 1;
        if parcel.len > self.mtu && !parcel.may_fragment {
            return Err(self.lose(Loss::TooBig));
        }
        if !self.is_up {
            return self.offer_while_down(now, parcel);
        }
        if self.transmitter.is_free(now) && self.queue.let_pass() {
            self.transmit(now, &parcel, now);
            return Ok(());
        }
        let free_at = self.transmitter.free_at();
        if free_at < now && self.queue.len() == 0 {
            self.queue.on_idle(free_at);
        }
        self.enqueue(now, parcel)?;
        self.transmitter.rest(now);
        self.advance(now);
        Ok(())
    }

    fn offer_while_down(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        match self.config.while_down {
            WhileDown::Wait => self.enqueue(now, parcel),
            WhileDown::Lose => Err(self.lose(Loss::Outage)),
        }
    }

    /// When `poll` will next return a packet. The time may be too early; a time in the past means now.
    #[inline]
    pub fn next_at(&self) -> Option<Instant> {
        let first = self.flight.front().map(|f| f.at);
        if first.is_some() && self.is_in_order() && self.is_quiet() {
            return first;
        }
        self.next_of_all(first)
    }

    /// When the first of what is in flight, astray, dropped or in the queue arrives or is reported.
    #[inline(never)]
    fn next_of_all(&self, first: Option<Instant>) -> Option<Instant> {
        let mut next = first;
        let mut or_at = |at: Instant| next = Some(next.map_or(at, |n| n.min(at)));
        if let Some(Reverse(stray)) = self.strays.peek() {
            or_at(stray.key.0);
        }
        if let Some(dropped) = self.queue.dropped_at() {
            or_at(dropped);
        }
        // The packet in the transmitter may become a stray; a packet behind it may arrive earlier.
        if self.is_up
            && let Some(ready) = self.queue.ready_at()
        {
            or_at(self.after_delay(self.transmitter.free_at().max(ready)));
        }
        next
    }

    /// The next packet that has arrived or was dropped from the queue by `now`, until there is none.
    #[inline]
    pub fn poll(&mut self, now: Instant) -> Option<Arrival<T>> {
        self.advance(now);
        let first = self.flight.front().map(|f| f.at).filter(|at| *at <= now);
        let flying = if self.is_in_order() {
            first?;
            self.flight.pop_front()?
        } else {
            self.first_of_all(now, first)?
        };
        match flying.fate {
            Fate::Lost(reason) => {
                self.lose(reason);
                return Some(flying.arrival());
            }
            Fate::Duplicated => self.counters.duplicated += 1,
            Fate::Corrupted { .. } => self.counters.corrupted += 1,
            Fate::Delivered => {}
        }
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(flying.packet.len);
        Some(flying.arrival())
    }

    /// Whether the link has no faults.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.is_plain || self.faults.are_quiet()
    }

    /// Whether the next arrival is the first packet in flight, if there is one.
    fn is_in_order(&self) -> bool {
        self.strays.is_empty() && self.queue.dropped_at().is_none()
    }

    /// The first of what is in flight, astray or dropped.
    #[inline(never)]
    fn first_of_all(&mut self, now: Instant, flying: Option<Instant>) -> Option<Flying<T>> {
        let stray = self.strays.peek().map(|Reverse(s)| s.key.0);
        let dropped = self.queue.dropped_at();
        let first = [flying, stray, dropped].into_iter().flatten().min();
        let at = first.filter(|at| *at <= now)?;
        if dropped == Some(at) {
            let (parcel, reason) = self.queue.take_dropped()?;
            Some(Flying::new(at, Packet::of(&parcel), Fate::Lost(reason)))
        } else if flying == Some(at) {
            self.flight.pop_front()
        } else {
            Some(self.strays.pop()?.0.flying)
        }
    }

    fn inside(&self) -> u64 {
        (self.queue.inside() + self.flight.len() + self.strays.len()) as u64
    }

    fn lose(&mut self, reason: Loss) -> Loss {
        self.counters.lost.add(reason);
        reason
    }

    /// Starts the transmissions that have become due since the last call.
    #[inline]
    fn advance(&mut self, now: Instant) {
        self.counters.at = self.counters.at.max(now);
        if self.queue.len() > 0 && self.transmitter.free_at() <= now {
            self.begin_waiting(now);
        }
    }

    /// Starts waiting packets as long as the transmitter becomes free by `now`.
    #[inline(never)]
    fn begin_waiting(&mut self, now: Instant) {
        while self.is_up
            && let Some(ready) = self.queue.ready_at()
        {
            let start = self.transmitter.free_at().max(ready);
            if start > now {
                return;
            }
            if let Some(Waiting { parcel, since }) = self.queue.pop(start) {
                self.transmit(start, &parcel, since);
            }
        }
    }

    /// Starts a packet that was offered at `offered`.
    fn transmit(&mut self, start: Instant, parcel: &Parcel<T>, offered: Instant) {
        if self.faults.are_quiet() && parcel.hold.is_zero() {
            self.begin(start, Packet::of(parcel), offered);
        } else {
            self.begin_by_faults(start, parcel, offered);
        }
    }

    /// Starts a packet that meets no faults.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each packet comes here once for each link; a call costs a tenth of it"
    )]
    fn begin(&mut self, start: Instant, packet: Packet<T>, offered: Instant) {
        let end = self.occupy(start, packet.len as usize);
        let at = self.after_delay(end);
        self.fly(Flying::new(at, packet, Fate::Delivered), offered);
    }

    /// Starts a packet and applies the faults.
    #[inline(never)]
    fn begin_by_faults(&mut self, start: Instant, parcel: &Parcel<T>, offered: Instant) {
        let packet = Packet::of(parcel);
        let end = self.occupy(start, parcel.len);
        let fate = self.faults.fate(start, parcel.len);
        let detour = self.faults.detour();
        let at = self.after_delay(end) + detour.jitter;
        let hold = parcel.hold + detour.hold;
        let last = self.flight.back().map_or(at, |f| f.at);
        if !hold.is_zero() || (at < last && detour.may_overtake) {
            let key = (at + hold, self.counters.offered);
            let flying = Flying::new(key.0, packet, fate);
            self.strays.push(Reverse(Stray { key, flying }));
            self.is_last_stray = true;
        } else {
            self.fly(Flying::new(at, packet, fate), offered);
        }
    }

    /// Occupies the transmitter with `len` bytes and returns when it is free again.
    #[inline]
    fn occupy(&mut self, start: Instant, len: usize) -> Instant {
        let end = self.transmitter.send(start, len);
        self.busy_ns += end.as_nanos() - start.as_nanos();
        end
    }

    /// Appends a packet to those in flight.
    #[inline]
    fn fly(&mut self, mut flying: Flying<T>, offered: Instant) {
        // A link without delay delivers a packet at the time of its offer, even if that is the last arrival's.
        if flying.at > self.last_at || offered >= self.last_at {
            // It becomes the next arrival when it is offered, or when the one before has arrived.
            self.last_since = offered.max(self.last_at);
            self.last_at = flying.at;
        }
        (flying.at, flying.since) = (self.last_at, self.last_since);
        self.flight.push_back(flying);
        self.is_last_stray = false;
    }

    const fn after_delay(&self, end: Instant) -> Instant {
        Instant::from_nanos(end.as_nanos().saturating_add(self.delay_ns))
    }
}

#[cfg(test)]
mod tests;
