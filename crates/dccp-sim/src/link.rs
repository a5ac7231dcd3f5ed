//! One direction of a link: a queue, a transmitter of some rate, a delay, and faults.
//!
//! ```text
//!   offer → [ queue ] → transmitter → ~ ~ ~ in flight ~ ~ ~ → poll
//!             limit       rate            delay, faults
//! ```
//! The link knows lengths and ECN fields, not packets: it carries tokens, and tells the fate of
//! each. So the simulator and the emulator, which works in real time on real packets, share it.
//!
//! It is driven lazily. The packet at the head of the queue enters the transmitter at the moment
//! when that became free, whenever somebody next looks; nobody can look too late, because what is
//! in the transmitter arrives after it has left it. This costs one event for each packet instead of
//! two, and still decides at the moment of dequeuing, as active queue management needs it.

use crate::loss::{Fate, FaultConfig, Faults, Loss, Losses};
use crate::queue::{Queue, QueueConfig};
use crate::random::Seed;
use core::cmp::Reverse;
use core::time::Duration;
use dccp_proto::wire::Ecn;
use dccp_proto::{Instant, Rate};
use std::collections::{BinaryHeap, VecDeque};

/// What becomes of packets that are larger than the link's MTU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TooBig {
    /// They are dropped, and an ICMP message tells their sender (RFC 1191, RFC 8201).
    Icmp {
        /// How many bytes of the DCCP datagram the message quotes. Old routers quote 8, modern ones
        /// as much as fits.
        quoted: usize,
    },
    /// They are dropped without a word: a black hole.
    Silent,
}

/// Settings of one direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkConfig {
    /// Bytes of IP packets per second; `None`: no limit, so no queue either.
    pub rate: Option<Rate>,
    /// Time from the end of a transmission to arrival.
    pub delay: Duration,
    /// The queue in front of the transmitter.
    pub queue: QueueConfig,
    /// The largest IP packet in bytes.
    pub mtu: usize,
    /// What becomes of larger ones.
    pub too_big: TooBig,
    /// Loss, reordering and the like.
    pub faults: FaultConfig,
}

impl Default for LinkConfig {
    /// No limit of rate, no delay, an MTU of 1500 bytes, no faults.
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            queue: QueueConfig::default(),
            mtu: 1500,
            too_big: TooBig::Icmp { quoted: 500 },
            faults: FaultConfig::default(),
        }
    }
}

/// A packet as a link sees it. `token` stands for the packet with whoever owns the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parcel<T> {
    /// Names the packet.
    pub token: T,
    /// Length of the IP packet in bytes.
    pub len: usize,
    /// The ECN field, which a queue may change to CE.
    pub ecn: Ecn,
    /// How much longer than others this packet travels, which lets them overtake it.
    pub hold: Duration,
    /// It may be larger than the MTU: routers fragment it, and its receiver joins the parts. (They
    /// travel as one here, and the added headers take no time.)
    pub may_fragment: bool,
}

impl<T> Parcel<T> {
    /// A packet that is not held back and must not be fragmented.
    pub const fn new(token: T, len: usize, ecn: Ecn) -> Self {
        Self {
            token,
            len,
            ecn,
            hold: Duration::ZERO,
            may_fragment: false,
        }
    }
}

/// A packet at the far end of the link, lost ones included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<T> {
    /// The packet.
    pub parcel: Parcel<T>,
    /// What happened to it.
    pub fate: Fate,
}

/// What passed through one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets offered.
    pub offered: u64,
    /// Packets that reached the far end (a duplicated one counts once).
    pub delivered: u64,
    /// Bytes of IP packets that reached the far end.
    pub delivered_bytes: u64,
    /// Packets of `delivered` that arrived twice.
    pub duplicated: u64,
    /// Packets of `delivered` that arrived with a flipped bit.
    pub corrupted: u64,
    /// Packets marked CE by the queue.
    pub marked: u64,
    /// Packets that did not arrive.
    pub lost: Losses,
    /// Packets in the queue or on the way.
    pub inside: u64,
    /// How long the transmitter has been at work.
    pub busy: Duration,
    /// The most packets that ever waited in the queue.
    pub queue_packets_max: usize,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link<T> {
    config: LinkConfig,
    faults: Faults,
    queue: Queue<T>,
    transmitter: Transmitter,
    /// In order of arrival, which is the order of transmission.
    flight: VecDeque<Flying<T>>,
    /// Those held back, which others overtake.
    strays: BinaryHeap<Reverse<Stray<T>>>,
    stats: LinkStats,
}

#[derive(Clone, Copy, Debug)]
struct Flying<T> {
    at: Instant,
    arrival: Arrival<T>,
}

#[derive(Debug)]
struct Stray<T> {
    /// When it arrives, and how many packets had been offered: the order among equals.
    key: (Instant, u64),
    arrival: Arrival<T>,
}

impl<T: Copy> Link<T> {
    /// A link at rest. `name` names its random streams: no two links of a seed should share one.
    pub fn new(config: LinkConfig, seed: Seed, name: &str) -> Self {
        Self {
            faults: Faults::new(config.faults.clone(), seed, name),
            queue: Queue::new(config.queue),
            transmitter: Transmitter::new(config.rate),
            config,
            flight: VecDeque::new(),
            strays: BinaryHeap::new(),
            stats: LinkStats::default(),
        }
    }

    /// The settings.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// What has passed so far.
    pub fn stats(&self) -> LinkStats {
        LinkStats {
            marked: self.queue.marked(),
            inside: (self.queue.len() + self.flight.len() + self.strays.len()) as u64,
            ..self.stats
        }
    }

    /// Packets and bytes that wait in the queue, as of the last call of `offer` or `poll`.
    pub fn queue_len(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.bytes())
    }

    /// Whether the counters and the limits agree with what is inside.
    pub fn is_consistent(&self) -> bool {
        let s = self.stats();
        s.offered == s.delivered + s.lost.total() + s.inside && self.queue.is_within_limit()
    }

    /// Puts a packet in at this end.
    ///
    /// # Errors
    /// The reason why it was dropped right away.
    pub fn offer(&mut self, now: Instant, parcel: Parcel<T>) -> Result<(), Loss> {
        self.advance(now);
        self.stats.offered += 1;
        if parcel.len > self.config.mtu && !parcel.may_fragment {
            return Err(self.lose(Loss::TooBig));
        }
        if self.transmitter.is_free(now) {
            self.transmit(now, parcel);
            return Ok(());
        }
        if self.queue.push(parcel).is_err() {
            return Err(self.lose(Loss::Queue));
        }
        self.stats.queue_packets_max = self.stats.queue_packets_max.max(self.queue.len());
        Ok(())
    }

    /// When `poll` will next have something; a moment that turns out too early does no harm.
    pub fn next_at(&self) -> Option<Instant> {
        let flying = self.flight.front().map(|f| f.at);
        let stray = self.strays.peek().map(|Reverse(s)| s.key.0);
        // What is in the transmitter may be held back, what waits behind it may not.
        let waiting = (self.queue.len() > 0).then(|| self.transmitter.free_at + self.config.delay);
        [flying, stray, waiting].into_iter().flatten().min()
    }

    /// The next packet that has arrived by `now`, until there is none.
    pub fn poll(&mut self, now: Instant) -> Option<Arrival<T>> {
        self.advance(now);
        let flying = self.flight.front().map(|f| f.at);
        let stray = self.strays.peek().map(|Reverse(s)| s.key.0);
        let at = [flying, stray].into_iter().flatten().min()?;
        if at > now {
            return None;
        }
        let arrival = if flying == Some(at) {
            self.flight.pop_front()?.arrival
        } else {
            self.strays.pop()?.0.arrival
        };
        match arrival.fate {
            Fate::Lost(reason) => {
                self.lose(reason);
                return Some(arrival);
            }
            Fate::Duplicated => self.stats.duplicated += 1,
            Fate::Corrupted { .. } => self.stats.corrupted += 1,
            Fate::Delivered => {}
        }
        self.stats.delivered += 1;
        self.stats.delivered_bytes += arrival.parcel.len as u64;
        Some(arrival)
    }

    fn lose(&mut self, reason: Loss) -> Loss {
        self.stats.lost.add(reason);
        reason
    }

    /// Makes up for what the transmitter has begun since the last call.
    fn advance(&mut self, now: Instant) {
        while self.transmitter.is_free(now)
            && let Some(parcel) = self.queue.pop()
        {
            self.transmit(self.transmitter.free_at, parcel);
        }
    }

    fn transmit(&mut self, start: Instant, parcel: Parcel<T>) {
        let end = self.transmitter.send(start, parcel.len);
        self.stats.busy += end - start;
        let arrival = Arrival {
            fate: self.faults.fate(start, parcel.len),
            parcel,
        };
        let at = end + self.config.delay + self.faults.jitter();
        let hold = parcel.hold + self.faults.hold();
        if hold.is_zero() {
            let last = self.flight.back().map_or(at, |f| f.at);
            self.flight.push_back(Flying {
                at: at.max(last),
                arrival,
            });
        } else {
            self.strays.push(Reverse(Stray {
                key: (at + hold, self.stats.offered),
                arrival,
            }));
        }
    }
}

/// Turns bytes into time without losing fractions of a nanosecond between packets.
#[derive(Debug)]
struct Transmitter {
    /// Time per byte in units of 2^-32 ns; 0: no time at all.
    per_byte: u64,
    free_at: Instant,
    /// How far beyond `free_at` the last transmission really ended, in units of 2^-32 ns.
    fraction: u64,
}

impl Transmitter {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate below one byte per second saturates at one packet in hours"
    )]
    fn new(rate: Option<Rate>) -> Self {
        const NS_PER_S: f64 = 1e9 * 4_294_967_296.0;
        Self {
            per_byte: rate.map_or(0, |r| (NS_PER_S / r.bytes_per_s()).round() as u64),
            free_at: Instant::ZERO,
            fraction: 0,
        }
    }

    fn is_free(&self, now: Instant) -> bool {
        self.free_at <= now
    }

    /// Sends `len` bytes from `start` on, and returns when that ends.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low 32 bits; centuries saturate"
    )]
    fn send(&mut self, start: Instant, len: usize) -> Instant {
        let carried = if start == self.free_at {
            self.fraction
        } else {
            0
        };
        let time = u128::from(self.per_byte) * len as u128 + u128::from(carried);
        self.fraction = time as u64 & u64::from(u32::MAX);
        self.free_at = start + Duration::from_nanos((time >> 32).min(u128::from(u64::MAX)) as u64);
        self.free_at
    }
}

impl<T> PartialEq for Stray<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Stray<T> {}

impl<T> PartialOrd for Stray<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Stray<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests;
