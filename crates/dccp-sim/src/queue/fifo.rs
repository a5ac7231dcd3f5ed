//! The parts of all disciplines: lines of waiting packets, and their counters.

use crate::loss::Loss;
use crate::parcel::Parcel;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;
use std::collections::VecDeque;

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<T> {
    pub(crate) parcel: Parcel<T>,
    /// When it began to wait.
    pub(crate) since: Instant,
}

/// Packets in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    line: VecDeque<Waiting<T>>,
    bytes: usize,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self {
            line: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<T> Fifo<T> {
    pub(crate) fn push(&mut self, now: Instant, parcel: Parcel<T>, books: &mut Books<T>) {
        books.enter(now, parcel.len);
        self.bytes += parcel.len;
        self.line.push_back(Waiting { parcel, since: now });
    }

    pub(crate) fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        let waiting = self.line.pop_front()?;
        self.bytes -= waiting.parcel.len;
        books.leave(now, waiting.parcel.len);
        Some(waiting)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<T>> {
        self.line.iter()
    }

    pub(crate) fn head(&self) -> Option<&Waiting<T>> {
        self.line.front()
    }

    /// How long the packet at the head has waited, in seconds; 0 if there is none.
    pub(crate) fn delay_s(&self, now: Instant) -> f64 {
        self.head().map_or(0.0, |w| (now - w.since).as_secs_f64())
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// A packet that a discipline dropped after it had taken it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped<T> {
    pub(crate) at: Instant,
    pub(crate) parcel: Parcel<T>,
    pub(crate) reason: Loss,
}

/// The counters of a queue, whatever its discipline.
#[derive(Debug)]
pub(crate) struct Books<T> {
    pub(crate) packets: usize,
    pub(crate) bytes: usize,
    pub(crate) packets_max: usize,
    pub(crate) marked: u64,
    /// Packets handed to the transmitter, and the time that they had waited: sum and maximum in ns.
    pub(crate) dequeued: u64,
    pub(crate) sojourn_sum_ns: u64,
    pub(crate) sojourn_max_ns: u64,
    /// The waiting time of all packets that have left, less the entry times of those that wait: packets × ns,
    /// bytes × ns. So an update needs no time since the last one.
    packet_ns: u128,
    byte_ns: u128,
    /// The last change.
    until: Instant,
    pub(crate) dropped: VecDeque<Dropped<T>>,
}

impl<T> Default for Books<T> {
    fn default() -> Self {
        Self {
            packets: 0,
            bytes: 0,
            packets_max: 0,
            marked: 0,
            dequeued: 0,
            sojourn_sum_ns: 0,
            sojourn_max_ns: 0,
            packet_ns: 0,
            byte_ns: 0,
            until: Instant::ZERO,
            dropped: VecDeque::new(),
        }
    }
}

impl<T> Books<T> {
    /// Integrals of the queue until now: packets × ns and bytes × ns.
    pub(crate) fn integrals(&self, now: Instant) -> (u128, u128) {
        let waited =
            |ns: u128, waiting: usize| ns.wrapping_add(product(now.max(self.until), waiting));
        (
            waited(self.packet_ns, self.packets),
            waited(self.byte_ns, self.bytes),
        )
    }

    /// Marks a packet CE (RFC 3168), if its sender understands that. Returns whether it says CE now.
    pub(crate) const fn mark(&mut self, ecn: &mut Ecn) -> bool {
        match *ecn {
            Ecn::NotEct => return false,
            Ecn::Ce => {}
            Ecn::Ect0 | Ecn::Ect1 => self.marked += 1,
        }
        *ecn = Ecn::Ce;
        true
    }

    /// Drops a packet that had been taken.
    pub(crate) fn drop(&mut self, now: Instant, parcel: Parcel<T>, reason: Loss) {
        self.dropped.push_back(Dropped {
            at: now,
            parcel,
            reason,
        });
    }

    /// A packet that has waited since `since` goes to the transmitter.
    pub(crate) fn sent(&mut self, now: Instant, since: Instant) {
        let ns = now.as_nanos() - since.as_nanos();
        self.dequeued += 1;
        self.sojourn_sum_ns += ns;
        self.sojourn_max_ns = self.sojourn_max_ns.max(ns);
    }

    /// A packet begins to wait.
    #[inline]
    pub(super) fn enter(&mut self, now: Instant, len: usize) {
        self.packets += 1;
        self.bytes += len;
        self.packets_max = self.packets_max.max(self.packets);
        self.packet_ns = self.packet_ns.wrapping_sub(now.as_nanos().into());
        self.byte_ns = self.byte_ns.wrapping_sub(product(now, len));
        self.until = now;
    }

    /// A packet stops waiting.
    #[inline]
    pub(super) fn leave(&mut self, now: Instant, len: usize) {
        self.packets -= 1;
        self.bytes -= len;
        self.packet_ns = self.packet_ns.wrapping_add(now.as_nanos().into());
        self.byte_ns = self.byte_ns.wrapping_add(product(now, len));
        self.until = now;
    }
}

fn product(at: Instant, count: usize) -> u128 {
    u128::from(at.as_nanos()) * count as u128
}
