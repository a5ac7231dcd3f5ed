//! Datagrams between the application's call and their departure, and their fates.
//!
//! The core's [`SendQueue`] keeps order and counters; this module stores the bytes and the application's names. A slot
//! holds a datagram from `push` until its fate. Its bytes are freed once the engine has copied them. Memory is reused:
//! in steady state nothing is allocated per datagram.

use crate::clock;
use crate::counts::SendCounts;
use crate::settings::Buffers;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::queue::{Fate, Offer, Outbox, QueueLabel, SendQueue, Slot, Waiting, WhenFull};
use dccp_proto::wire::{Payload, Place};
use std::collections::VecDeque;

/// Names a datagram of one socket: they are numbered from 0 in the order of sending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DatagramId(pub u64);

/// The fate of one datagram. Times are those of [`clock`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FateReport {
    /// The datagram.
    pub id: DatagramId,
    /// The application's tag, of [`SendOptions::tag`](crate::SendOptions::tag).
    pub tag: u64,
    /// Its length in bytes.
    pub len: usize,
    /// Its fate.
    pub fate: Fate,
    /// When the application sent it.
    pub queued: Instant,
    /// When it left; `None` if it never did.
    pub sent: Option<Instant>,
    /// When the fate became known.
    pub told: Instant,
}

/// A datagram that waits in the send buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct QueuedDatagram {
    /// Its name.
    pub id: DatagramId,
    /// The application's tag.
    pub tag: u64,
    /// Its length in bytes.
    pub len: usize,
    /// Its priority.
    pub priority: u8,
    /// Its key.
    pub key: Option<u64>,
}

/// Datagrams that may expire in one turn of the engine. More of them wait for the next turn, so that one application does
/// not delay the others.
const EXPIRED_MAX: u32 = 1024;

#[derive(Debug)]
struct Entry {
    id: DatagramId,
    tag: u64,
    len: usize,
    /// Read from the clock only if fates are reported.
    queued: Instant,
    sent: Option<Instant>,
    is_filler: bool,
    /// `None` for zeros, and once the engine has copied them.
    bytes: Option<Vec<u8>>,
}

/// The application's options for one datagram.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) label: QueueLabel,
    pub(crate) tag: u64,
    pub(crate) when_full: WhenFull,
}

/// The datagrams of one socket that have no fate yet, and the fates that the application has not fetched.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    queue: SendQueue,
    entries: Vec<Entry>,
    free: Vec<Slot>,
    spare: Vec<Vec<u8>>,
    next_id: u64,
    lifetime: Option<Duration>,
    /// Datagrams that expired in this turn of the engine.
    expired: u32,
    /// The connection's timer for expiry.
    armed: Option<Instant>,
    /// A datagram expires before the connection's timer.
    has_earlier_expiry: bool,
    /// Bytes that have left.
    sent_bytes: u64,
    fillers: u64,
    fates: VecDeque<FateReport>,
    fates_max: usize,
    fates_missed: u64,
}

impl SendBuffer {
    pub(crate) fn new(limits: Buffers) -> Self {
        let mut buffer = Self {
            // Fates are fetched as soon as they are known.
            queue: SendQueue::new(limits.send_packets, usize::MAX),
            entries: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            next_id: 0,
            lifetime: None,
            expired: 0,
            armed: None,
            has_earlier_expiry: false,
            sent_bytes: 0,
            fillers: 0,
            fates: VecDeque::new(),
            fates_max: 0,
            fates_missed: 0,
        };
        buffer.set_limits(limits);
        buffer
    }

    /// Changes the bounds. Waiting datagrams stay.
    pub(crate) fn set_limits(&mut self, limits: Buffers) {
        self.queue.set_capacity(limits.send_packets);
        self.queue.set_bytes_max(limits.send_bytes);
        self.fates_max = limits.fates;
        self.lifetime = limits.lifetime;
    }

    /// Stores at least this many fates until they are fetched, of datagrams that follow.
    pub(crate) fn store_fates(&mut self, at_least: usize) {
        self.fates_max = self.fates_max.max(at_least);
    }

    pub(crate) fn counts(&self) -> SendCounts {
        SendCounts {
            pushed: self.queue.pushed(),
            queued: self.queue.len() as u64,
            in_flight: self.queue.open(),
            fates: *self.queue.counts(),
            fates_missed: self.fates_missed,
            fillers: self.fillers,
        }
    }

    /// Bytes that have left so far.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes
    }

    /// Waiting datagrams.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Waiting bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Whether one more datagram fits.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Whether enough room is free to wake a sleeping sender.
    pub(crate) fn is_worth_filling(&self) -> bool {
        const BATCH: usize = 64;
        let capacity = self.queue.capacity();
        let free = capacity.saturating_sub(self.queue.len());
        free >= BATCH.min(capacity.div_ceil(2)) && self.queue.bytes() <= self.queue.bytes_max() / 2
    }

    pub(crate) fn has_fates(&self) -> bool {
        !self.fates.is_empty()
    }

    /// Takes a datagram; `None` if there is no room and none is made.
    pub(crate) fn push(&mut self, payload: Payload<'_>, wishes: Wishes) -> Option<DatagramId> {
        if !self.queue.takes(&wishes.label, wishes.when_full) {
            return None;
        }
        let id = self.reserve_id();
        self.push_as(id, payload, wishes);
        Some(id)
    }

    /// The name of the next datagram.
    pub(crate) fn reserve_id(&mut self) -> DatagramId {
        let id = DatagramId(self.next_id);
        self.next_id += 1;
        id
    }

    /// Frees the newest name, which was not needed. If others have been given since, it is never used.
    pub(crate) fn return_id(&mut self, id: DatagramId) {
        if id.0 + 1 == self.next_id {
            self.next_id = id.0;
        }
    }

    /// Takes a datagram under a reserved name; there is room or some is made.
    pub(crate) fn push_as(&mut self, id: DatagramId, payload: Payload<'_>, wishes: Wishes) {
        self.store_datagram(id, payload, wishes, false);
    }

    /// Takes a datagram that only fills up the rate: its fate is counted and not reported.
    pub(crate) fn push_filler(&mut self, bytes: &[u8]) {
        let id = DatagramId(u64::MAX);
        self.fillers += 1;
        let wishes = Wishes {
            when_full: WhenFull::DropLowestPriority,
            ..Wishes::default()
        };
        self.store_datagram(id, Payload::Bytes(bytes), wishes, true);
    }

    fn store_datagram(
        &mut self,
        id: DatagramId,
        payload: Payload<'_>,
        wishes: Wishes,
        is_filler: bool,
    ) {
        let Wishes {
            mut label,
            tag,
            when_full,
        } = wishes;
        let is_timed = self.fates_max > 0 || self.lifetime.is_some() || label.deadline.is_some();
        let queued = if is_timed {
            clock::now()
        } else {
            Instant::ZERO
        };
        if let Some(lifetime) = self.lifetime {
            let end = queued + lifetime;
            label.deadline = Some(label.deadline.map_or(end, |at| at.min(end)));
        }
        let slot = self.store(Entry {
            id,
            tag,
            len: payload.len(),
            queued,
            sent: None,
            is_filler,
            bytes: None,
        });
        let offer = Offer {
            slot,
            len: payload.len(),
            is_zeros: matches!(payload, Payload::Zeros(_)),
        };
        // Queued before its bytes are copied to their place: reading bytes just written waits until they have left the
        // processor.
        let is_plain = label == QueueLabel::default() && self.has_room();
        let pushed = if is_plain {
            self.queue.push(offer)
        } else {
            self.queue.push_with(clock::now(), offer, label, when_full)
        };
        debug_assert!(pushed.is_ok(), "it takes this one");
        if let Payload::Bytes(b) = payload {
            let memory = self.spare.pop().unwrap_or_default();
            self.entries[index(slot)]
                .bytes
                .insert(memory)
                .extend_from_slice(b);
        }
        if !is_plain {
            self.book();
        }
        if let Some(deadline) = label.deadline {
            self.has_earlier_expiry |= self.armed.is_none_or(|armed| deadline < armed);
        }
    }

    /// Whether the connection's timer must be set to an earlier time. Clears the request.
    pub(crate) fn take_earlier_expiry(&mut self) -> bool {
        core::mem::take(&mut self.has_earlier_expiry)
    }

    /// Ends a turn of the engine. Returns whether the next must come at once, because more datagrams may have expired
    /// than the turn's budget.
    pub(crate) fn end_turn(&mut self) -> bool {
        core::mem::take(&mut self.expired) >= EXPIRED_MAX
    }

    /// Moves the oldest fates into `reports`, at most `at_most`.
    pub(crate) fn pop_fates(&mut self, reports: &mut Vec<FateReport>, at_most: usize) {
        let n = self.fates.len().min(at_most);
        reports.extend(self.fates.drain(..n));
    }

    /// Withdraws the waiting datagrams for which `is_unwanted` returns true. Returns their number.
    pub(crate) fn withdraw_if(
        &mut self,
        now: Instant,
        mut is_unwanted: impl FnMut(&QueuedDatagram) -> bool,
    ) -> usize {
        let entries = &self.entries;
        let withdrawn = self.queue.withdraw_if(now, |offer, label| {
            let entry = &entries[index(offer.slot)];
            is_unwanted(&QueuedDatagram {
                id: entry.id,
                tag: entry.tag,
                len: entry.len,
                priority: label.priority,
                key: label.key,
            })
        });
        self.book();
        withdrawn
    }

    /// Withdraws all waiting datagrams. Returns their number.
    pub(crate) fn withdraw(&mut self, now: Instant) -> usize {
        let waiting = self.queue.len();
        while let Some(offer) = self.queue.peek() {
            self.refuse(now, offer.slot, Fate::Withdrawn);
        }
        waiting
    }

    /// The connection is over: withdraws the waiting datagrams.
    pub(crate) fn end(&mut self, now: Instant) {
        self.withdraw(now);
        self.spare = Vec::new();
    }

    fn store(&mut self, entry: Entry) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.entries[index(slot)] = entry;
            return slot;
        }
        // The send buffer and what may be in flight are bounded far below 2^32.
        let slot = Slot(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(entry);
        slot
    }

    /// Takes the queue's new fates: frees the slots, and stores the reports.
    fn book(&mut self) {
        while let Some(report) = self.queue.poll_fate() {
            self.recycle(report.slot);
            self.free.push(report.slot);
            let entry = &self.entries[index(report.slot)];
            // An entry without a time came before fates were stored.
            if self.fates_max == 0 || entry.is_filler || entry.queued == Instant::ZERO {
                continue;
            }
            if self.fates.len() >= self.fates_max {
                self.fates.pop_front();
                self.fates_missed += 1;
            }
            self.fates.push_back(FateReport {
                id: entry.id,
                tag: entry.tag,
                len: entry.len,
                fate: report.fate,
                queued: entry.queued,
                sent: entry.sent,
                told: report.at,
            });
        }
    }

    fn recycle(&mut self, slot: Slot) {
        if let Some(mut bytes) = self.entries[index(slot)].bytes.take()
            && self.spare.len() < self.queue.capacity()
        {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

impl Outbox for SendBuffer {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        while self.expired < EXPIRED_MAX {
            if !self.queue.expire(now) {
                return self.queue.peek();
            }
            self.expired += 1;
            self.book();
        }
        None
    }

    fn is_important(&mut self) -> bool {
        self.queue.is_first_important()
    }

    /// Frees the room of late datagrams and reports their fate, up to the turn's budget.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        self.armed = None;
        self.has_earlier_expiry = false;
        while self.expired < EXPIRED_MAX {
            if !self.queue.expire(now) {
                self.armed = self.queue.next_expiry();
                return self.armed;
            }
            self.expired += 1;
            self.book();
        }
        None
    }

    /// Nothing expires here: [`expire`](Self::expire) does that at its time.
    fn waiting(&mut self, _now: Instant) -> Waiting {
        match self.queue.peek() {
            None => Waiting::Nothing,
            // Nor in this turn any more.
            Some(_) if self.expired >= EXPIRED_MAX => Waiting::OnRequest,
            Some(offer) => Waiting::Datagram(offer),
        }
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        if !self.queue.claim(slot) {
            return false;
        }
        let entry = &mut self.entries[index(slot)];
        entry.sent = Some(now);
        self.sent_bytes += entry.len as u64;
        if let Some(b) = &entry.bytes {
            place.fill(b);
        }
        self.recycle(slot);
        true
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.queue.refuse(now, slot, fate);
        self.book();
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.queue.on_fate(now, slot, fate);
        self.book();
    }
}

fn index(slot: Slot) -> usize {
    slot.0 as usize
}

#[cfg(test)]
mod tests;
