//! Received datagrams between the engine, which copies them in, and the application, which takes
//! them out. Memory is reused: in steady state nothing is allocated per datagram.
//!
//! The engine collects what arrives in one turn in an [`Intake`] of its own, so that the lock that
//! guards the buffer is taken once for a batch of packets, not for each. Where the application receives
//! through a ring, the intake puts each datagram there at once.

use crate::budget::Account;
use crate::counts::RecvCounts;
use crate::limits::RECV_BYTES_RESERVED;
use crate::ring::inbox::RingInbox;
use core::ops::Deref;
use dccp_proto::queue::{Accepted, Delivery, Inbox};
use dccp_proto::wire::Payload;
use std::collections::VecDeque;

/// One received datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    bytes: Vec<u8>,
    meta: Delivery,
}

/// The result of a receive: bytes copied, and properties of the datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RecvMeta {
    /// Bytes copied into the buffer.
    pub len: usize,
    /// Length of the datagram in bytes.
    pub datagram_len: usize,
    /// Arrival time, sequence number, ECN mark, and whether the data are corrupt.
    pub delivery: Delivery,
}

impl RecvMeta {
    /// That of a datagram of this length, copied to a buffer of `room` bytes.
    #[doc(hidden)]
    pub fn new(datagram_len: usize, room: usize, delivery: Delivery) -> Self {
        Self {
            len: datagram_len.min(room),
            datagram_len,
            delivery,
        }
    }

    /// Whether the datagram's end did not fit and is lost.
    pub fn is_truncated(&self) -> bool {
        self.len < self.datagram_len
    }
}

impl Received {
    /// Arrival time, sequence number, ECN mark, and whether the data are corrupt.
    pub fn meta(&self) -> Delivery {
        self.meta
    }

    /// The data.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The data, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Deref for Received {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Room for the datagrams of one [`recv_batch`](crate::Socket::recv_batch). Use it again: its
/// memory then goes round without copies and allocations.
#[derive(Clone, Debug)]
pub struct RecvBatch {
    datagrams: Vec<Received>,
    limit: usize,
}

impl RecvBatch {
    /// Room for `limit` datagrams, at least one.
    pub fn new(limit: usize) -> Self {
        let limit = limit.max(1);
        Self {
            datagrams: Vec::with_capacity(limit.min(1024)),
            limit,
        }
    }

    /// The datagrams of the last call, in the order of arrival.
    pub fn iter(&self) -> core::slice::Iter<'_, Received> {
        self.datagrams.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

impl<'a> IntoIterator for &'a RecvBatch {
    type Item = &'a Received;
    type IntoIter = core::slice::Iter<'a, Received>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The datagrams that wait, and memory for more.
#[derive(Debug)]
pub(crate) struct RecvBuffer {
    waiting: VecDeque<Received>,
    spare: Vec<Vec<u8>>,
    /// Memory of `spare` in bytes.
    spare_bytes: u64,
    /// Spare memory that the intake has in a turn of the engine, in bytes.
    lent_bytes: u64,
    /// Whether more memory may be kept as spare.
    may_keep: bool,
    /// Datagrams that may wait.
    capacity: usize,
    /// Memory that those which wait may have, in bytes. As much may be spare.
    bytes_max: u64,
    /// Memory that they have.
    held: u64,
    /// The budgets that this counts against, too.
    pub(crate) account: Account,
    is_closed: bool,
    counts: RecvCounts,
    /// Where the application takes them, if not here; in a turn of the engine the intake has it.
    ring: Option<Box<RingInbox>>,
    /// Datagrams that it had taken there when the ring was lent.
    taken_in_ring: u64,
}

impl RecvBuffer {
    pub(crate) fn new(capacity: usize, bytes_max: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            spare: Vec::new(),
            spare_bytes: 0,
            lent_bytes: 0,
            may_keep: true,
            capacity,
            bytes_max,
            held: 0,
            account: Account::default(),
            is_closed: false,
            counts: RecvCounts::default(),
            ring: None,
            taken_in_ring: 0,
        }
    }

    /// From now on the application takes datagrams out of a ring; so it does with those that wait, as many
    /// as find room there.
    pub(crate) fn divert(&mut self, ring: RingInbox) {
        let ring = self.ring.insert(Box::new(ring));
        for Received { bytes, meta } in self.waiting.drain(..) {
            self.counts.delivered -= 1;
            self.counts.delivered_bytes -= bytes.len() as u64;
            ring.deliver(Payload::Bytes(&bytes), meta, &mut self.counts);
        }
        ring.flush();
        self.drop_spare();
        self.held = 0;
        self.settle();
    }

    /// Changes how many datagrams and bytes fit; those that wait stay.
    pub(crate) fn set_capacity(&mut self, packets: usize, bytes_max: u64) {
        self.capacity = packets;
        self.bytes_max = bytes_max;
    }

    pub(crate) fn counts(&self) -> RecvCounts {
        let in_ring = self.ring.as_ref();
        let in_ring = in_ring.map_or(self.taken_in_ring, |ring| ring.taken());
        RecvCounts {
            taken: self.counts.taken + in_ring,
            ..self.counts
        }
    }

    /// Whether nothing waits here. Datagrams in a ring do not count.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Accepts no more datagrams and drops those that are there, because no call will take them.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        self.waiting.clear();
        self.drop_spare();
        self.held = 0;
        self.settle();
    }

    /// Makes the budgets count the memory that is here, and learns whether they permit more that is spare.
    fn settle(&mut self) {
        self.account.settle(self.memory());
        self.may_keep = self.account.permits_spare();
    }

    /// Memory in bytes, spare or not.
    fn memory(&self) -> u64 {
        self.held + self.spare_bytes + self.lent_bytes
    }

    fn drop_spare(&mut self) {
        self.spare = Vec::new();
        self.spare_bytes = 0;
        self.lent_bytes = 0;
    }

    /// Prepares an empty intake: says how much room there is, and lends it the spare memory, and the ring.
    pub(crate) fn open(&mut self, intake: &mut Intake) {
        self.taken_in_ring = self.counts().taken - self.counts.taken;
        intake.ring = self.ring.take();
        intake.room = self.capacity.saturating_sub(self.waiting.len());
        let own = self.bytes_max.saturating_sub(self.held);
        // Datagrams go into spare memory first, and the budgets count that already.
        let shared = self.account.room().saturating_add(self.spare_bytes);
        let reserved = RECV_BYTES_RESERVED.saturating_sub(self.held);
        let shared = shared.max(reserved);
        intake.room_bytes = own.min(shared);
        intake.is_budget_short = shared < own;
        intake.is_closed = self.is_closed;
        core::mem::swap(&mut intake.spare, &mut self.spare);
        core::mem::swap(&mut intake.spare_bytes, &mut self.spare_bytes);
        self.lent_bytes = intake.spare_bytes;
    }

    /// Takes in what an intake has collected since [`open`](Self::open).
    pub(crate) fn absorb(&mut self, intake: &mut Intake) {
        self.counts.add(core::mem::take(&mut intake.counts));
        self.ring = intake.ring.take().or(self.ring.take());
        if self.is_closed {
            // Closed meanwhile, so no call will take them.
            self.counts.dropped_not_listening += intake.arrived.len() as u64;
            intake.arrived.clear();
            intake.arrived_bytes = 0;
            intake.spare = Vec::new();
            intake.spare_bytes = 0;
            self.drop_spare();
            return;
        }
        if let Some(ring) = &mut self.ring {
            // Some arrived before there was a ring.
            for Received { bytes, meta } in intake.arrived.drain(..) {
                ring.deliver(Payload::Bytes(&bytes), meta, &mut self.counts);
            }
            ring.flush();
            intake.arrived_bytes = 0;
        }
        self.counts.delivered += intake.arrived.len() as u64;
        let bytes = intake.arrived.iter().map(|d| d.bytes.len() as u64);
        self.counts.delivered_bytes += bytes.sum::<u64>();
        self.waiting.extend(intake.arrived.drain(..));
        self.held += core::mem::take(&mut intake.arrived_bytes);
        self.lent_bytes = 0;
        // The longer of the two stays where it is: what came back meanwhile is little, or all that there is. If nothing
        // is in either, each goes back to whose it was: a list that has room for many belongs to a busy connection.
        if self.spare.len() <= intake.spare.len() {
            core::mem::swap(&mut self.spare, &mut intake.spare);
            core::mem::swap(&mut self.spare_bytes, &mut intake.spare_bytes);
        }
        intake.spare_bytes = 0;
        for bytes in intake.spare.drain(..) {
            self.keep_spare(bytes);
        }
        self.settle();
    }

    /// Copies the oldest datagram into `buf`, as much of it as fits.
    pub(crate) fn pop_into(&mut self, buf: &mut [u8]) -> Option<RecvMeta> {
        let datagram = self.take()?;
        let meta = RecvMeta::new(datagram.bytes.len(), buf.len(), datagram.meta);
        buf[..meta.len].copy_from_slice(&datagram.bytes[..meta.len]);
        self.recycle(datagram.bytes);
        self.settle_if_stale();
        Some(meta)
    }

    /// Takes the oldest datagram.
    pub(crate) fn pop(&mut self) -> Option<Received> {
        let datagram = self.take()?;
        self.settle_if_stale();
        Some(datagram)
    }

    fn take(&mut self) -> Option<Received> {
        let datagram = self.waiting.pop_front()?;
        self.counts.taken += 1;
        self.held -= datagram.bytes.capacity() as u64;
        Some(datagram)
    }

    /// Settles after the application took datagrams, but not for each.
    fn settle_if_stale(&mut self) {
        let is_stale = self.account.charged().abs_diff(self.memory()) >= SETTLE_AT;
        if is_stale || self.waiting.is_empty() {
            self.settle();
        }
    }

    /// Moves the oldest datagrams into `batch`, whose old ones give their memory back.
    pub(crate) fn pop_batch(&mut self, batch: &mut RecvBatch) -> usize {
        for old in batch.datagrams.drain(..) {
            self.recycle(old.bytes);
        }
        let n = self.waiting.len().min(batch.limit);
        batch.datagrams.extend(self.waiting.drain(..n));
        self.counts.taken += n as u64;
        let taken = batch.datagrams.iter().map(|d| d.bytes.capacity() as u64);
        self.held -= taken.sum::<u64>();
        self.settle_if_stale();
        n
    }

    fn recycle(&mut self, mut bytes: Vec<u8>) {
        if !self.is_closed {
            bytes.clear();
            self.keep_spare(bytes);
        }
    }

    fn keep_spare(&mut self, bytes: Vec<u8>) {
        let after = self.spare_bytes + bytes.capacity() as u64;
        if self.may_keep && self.spare.len() < self.capacity && after <= self.bytes_max {
            self.spare_bytes = after;
            self.spare.push(bytes);
        }
    }
}

/// Bytes that the application may have taken before the budgets learn of it.
const SETTLE_AT: u64 = 64 << 10;

/// Arrivals for one connection in one turn of the engine.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    arrived: Vec<Received>,
    /// Their memory in bytes.
    arrived_bytes: u64,
    spare: Vec<Vec<u8>>,
    spare_bytes: u64,
    /// Datagrams that still find room; the application can only make more.
    room: usize,
    /// Bytes that still find room.
    room_bytes: u64,
    /// Whether the shared budgets, and not the connection's own limit, set `room_bytes`.
    is_budget_short: bool,
    is_closed: bool,
    counts: RecvCounts,
    ring: Option<Box<RingInbox>>,
}

impl Inbox for Intake {
    /// Copies a datagram in.
    fn deliver(&mut self, payload: Payload<'_>, meta: Delivery) -> Accepted {
        if self.is_closed {
            self.counts.dropped_not_listening += 1;
            return Accepted::NotListening;
        }
        if let Some(ring) = &mut self.ring {
            return ring.deliver(payload, meta, &mut self.counts);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        if bytes.capacity() as u64 > self.room_bytes {
            // A smaller one may still find room.
            self.spare_bytes -= bytes.capacity() as u64;
            bytes = Vec::new();
        }
        let spare = bytes.capacity() as u64;
        let size = spare.max(payload.len() as u64);
        let (Some(room), Some(room_bytes)) =
            (self.room.checked_sub(1), self.room_bytes.checked_sub(size))
        else {
            self.spare.push(bytes);
            if self.room > 0 && self.is_budget_short {
                self.counts.dropped_budget += 1;
            } else {
                self.counts.dropped_full += 1;
            }
            return Accepted::Full;
        };
        self.room = room;
        self.room_bytes = room_bytes;
        self.spare_bytes -= spare;
        // It must not grow by more than was counted.
        bytes.reserve_exact(payload.len());
        self.arrived_bytes += bytes.capacity() as u64;
        match payload {
            Payload::Bytes(b) => bytes.extend_from_slice(b),
            Payload::Zeros(n) => bytes.resize(n, 0),
        }
        self.arrived.push(Received { bytes, meta });
        Accepted::Yes
    }
}

#[cfg(test)]
mod tests;
