//! Datagrams on their way from the application to the engine, and their fates on the way back.
//!
//! Order and fate are the core's [`SendQueue`]; here are the bytes, and the names that the application
//! knows the datagrams by. A slot holds a datagram from `push` until its fate is reported; its memory
//! is reused as soon as the bytes have been claimed. Memory is reused: in steady state nothing is
//! allocated per datagram.

use crate::clock;
use crate::counts::SendCounts;
use dccp_proto::Instant;
use dccp_proto::queue::{Fate, Label, Offer, Outbox, SendQueue, Slot, Waiting, WhenFull};
use dccp_proto::wire::{Payload, Place};
use std::collections::VecDeque;

/// Names a datagram of one socket: they are numbered from 0 in the order of sending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DatagramId(pub u64);

/// The fate of one datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FateReport {
    /// The datagram.
    pub id: DatagramId,
    /// The fate.
    pub fate: Fate,
    /// When that was known.
    pub at: Instant,
}

/// Datagrams that may expire in one turn of the engine. The rest waits for the next turn, so that no
/// application holds up the others.
const EXPIRED_MAX: u32 = 1024;

#[derive(Debug)]
struct Entry {
    id: DatagramId,
    /// None of zeros, and none once the engine has copied them.
    bytes: Option<Vec<u8>>,
}

/// The datagrams of one socket that have no fate yet, and the fates that were not fetched yet.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    queue: SendQueue,
    entries: Vec<Entry>,
    free: Vec<Slot>,
    spare: Vec<Vec<u8>>,
    next_id: u64,
    /// How many datagrams have expired in this turn of the engine.
    expired: u32,
    /// The connection's timer for expiry.
    armed: Option<Instant>,
    /// A datagram expires before the connection's timer.
    has_earlier_expiry: bool,
    fates: VecDeque<FateReport>,
    fates_max: usize,
    fates_missed: u64,
}

impl SendBuffer {
    /// Room for `capacity` datagrams that wait; keeps at most `fates_max` fates.
    pub(crate) fn new(capacity: usize, fates_max: usize) -> Self {
        Self {
            // Fates are fetched as soon as they are known.
            queue: SendQueue::new(capacity, usize::MAX),
            entries: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            next_id: 0,
            expired: 0,
            armed: None,
            has_earlier_expiry: false,
            fates: VecDeque::new(),
            fates_max,
            fates_missed: 0,
        }
    }

    /// Changes how much fits; what waits stays.
    pub(crate) fn set_limits(&mut self, capacity: usize, fates_max: usize) {
        self.queue.set_capacity(capacity);
        self.fates_max = fates_max;
    }

    pub(crate) fn counts(&self) -> SendCounts {
        SendCounts {
            pushed: self.queue.pushed(),
            queued: self.queue.len() as u64,
            in_flight: self.queue.open(),
            fates: *self.queue.counts(),
            fates_missed: self.fates_missed,
        }
    }

    /// Datagrams that wait to leave.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes that wait to leave.
    pub(crate) fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Whether one more datagram fits.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Whether enough room is free for waking a sleeping sender.
    pub(crate) fn is_worth_filling(&self) -> bool {
        const BATCH: usize = 64;
        let capacity = self.queue.capacity();
        let free = capacity.saturating_sub(self.queue.len());
        free >= BATCH.min(capacity.div_ceil(2))
    }

    pub(crate) fn has_fates(&self) -> bool {
        !self.fates.is_empty()
    }

    /// Takes a datagram; `None` if there is no room and none is made.
    pub(crate) fn push(
        &mut self,
        payload: Payload<'_>,
        label: Label,
        when_full: WhenFull,
    ) -> Option<DatagramId> {
        if !self.queue.takes(&label, when_full) {
            return None;
        }
        let id = self.reserve_id();
        self.push_as(id, payload, label, when_full);
        Some(id)
    }

    /// The name of the next datagram.
    pub(crate) fn reserve_id(&mut self) -> DatagramId {
        let id = DatagramId(self.next_id);
        self.next_id += 1;
        id
    }

    /// The newest name was not needed; if others have been given since, it is never used.
    pub(crate) fn return_id(&mut self, id: DatagramId) {
        if id.0 + 1 == self.next_id {
            self.next_id = id.0;
        }
    }

    /// Takes a datagram under a name that was reserved; there is room or some is made.
    pub(crate) fn push_as(
        &mut self,
        id: DatagramId,
        payload: Payload<'_>,
        label: Label,
        when_full: WhenFull,
    ) {
        let slot = self.store(Entry { id, bytes: None });
        let offer = Offer {
            slot,
            len: payload.len(),
            is_zeros: matches!(payload, Payload::Zeros(_)),
        };
        // Queued before it is copied, and copied where it stays: who reads what was written just now, waits until the
        // copy has left the processor.
        let is_plain = label == Label::default() && self.has_room();
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

    /// A turn of the engine is over. Returns whether the next must come at once: more may have expired than one
    /// turn looks at.
    pub(crate) fn end_turn(&mut self) -> bool {
        core::mem::take(&mut self.expired) >= EXPIRED_MAX
    }

    /// Moves the oldest fates into `reports`, at most `at_most`.
    pub(crate) fn pop_fates(&mut self, reports: &mut Vec<FateReport>, at_most: usize) {
        let n = self.fates.len().min(at_most);
        reports.extend(self.fates.drain(..n));
    }

    /// Takes everything back that waits; gives how many.
    pub(crate) fn withdraw(&mut self, now: Instant) -> usize {
        let waiting = self.queue.len();
        while let Some(offer) = self.queue.peek() {
            self.refuse(now, offer.slot, Fate::Withdrawn);
        }
        waiting
    }

    /// The connection is over: what waits will not leave.
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

    /// Takes the fates that the queue has just booked: frees the slots, and keeps the reports.
    fn book(&mut self) {
        while let Some(report) = self.queue.poll_fate() {
            self.recycle(report.slot);
            self.free.push(report.slot);
            if self.fates_max == 0 {
                continue;
            }
            if self.fates.len() >= self.fates_max {
                self.fates.pop_front();
                self.fates_missed += 1;
            }
            self.fates.push_back(FateReport {
                id: self.entries[index(report.slot)].id,
                fate: report.fate,
                at: report.at,
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

    fn claim_into(&mut self, _now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        if !self.queue.claim(slot) {
            return false;
        }
        if let Some(b) = &self.entries[index(slot)].bytes {
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
mod tests {
    use super::*;
    use dccp_proto::queue::FateCounts;
    use dccp_proto::wire::ChecksumRule;

    const NOW: Instant = Instant::ZERO;

    impl SendBuffer {
        fn send(&mut self, payload: Payload<'_>) -> Option<DatagramId> {
            self.push(payload, Label::default(), WhenFull::Wait)
        }
    }

    fn claimed(buffer: &mut SendBuffer) -> (Slot, Vec<u8>) {
        let offer = buffer.peek(NOW).unwrap();
        let mut bytes = vec![7; if offer.is_zeros { 0 } else { offer.len }];
        let mut place = Place::new(&mut bytes, 0, ChecksumRule::Udp);
        assert!(buffer.claim_into(NOW, offer.slot, &mut place));
        (offer.slot, bytes)
    }

    #[test]
    fn datagrams_leave_in_order() {
        let mut buffer = SendBuffer::new(2, 0);
        assert_eq!(buffer.send(Payload::Bytes(b"one")), Some(DatagramId(0)));
        assert_eq!(buffer.send(Payload::Zeros(9)), Some(DatagramId(1)));
        assert_eq!(buffer.send(Payload::Zeros(9)), None);
        assert_eq!(claimed(&mut buffer).1, b"one");
        assert!(buffer.has_room());
        let offer = buffer.peek(NOW).unwrap();
        assert_eq!((offer.len, offer.is_zeros), (9, true));
    }

    #[test]
    fn every_datagram_has_one_fate() {
        let mut buffer = SendBuffer::new(8, 8);
        for _ in 0..5 {
            buffer.send(Payload::Zeros(1));
        }
        let (a, _) = claimed(&mut buffer);
        let (b, _) = claimed(&mut buffer);
        buffer.on_fate(NOW, b, Fate::Lost);
        buffer.on_fate(NOW, a, Fate::Acked);
        let offer = buffer.peek(NOW).unwrap();
        buffer.refuse(NOW, offer.slot, Fate::TooBig);
        let (d, _) = claimed(&mut buffer);
        assert_eq!(buffer.counts().in_flight, 1);
        buffer.on_fate(NOW, d, Fate::Sent);
        buffer.end(NOW);
        let mut reports = Vec::new();
        buffer.pop_fates(&mut reports, 100);
        let told: Vec<_> = reports.iter().map(|r| (r.id.0, r.fate)).collect();
        let expected = [
            (1, Fate::Lost),
            (0, Fate::Acked),
            (2, Fate::TooBig),
            (3, Fate::Sent),
            (4, Fate::Withdrawn),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            buffer.counts(),
            SendCounts {
                pushed: 5,
                fates: FateCounts {
                    lost: 1,
                    acked: 1,
                    too_big: 1,
                    sent: 1,
                    withdrawn: 1,
                    ..FateCounts::default()
                },
                ..SendCounts::default()
            }
        );
    }

    #[test]
    fn what_makes_room_has_its_fate_at_once() {
        let mut buffer = SendBuffer::new(2, 8);
        let key = Label {
            key: Some(7),
            ..Label::default()
        };
        buffer.push(Payload::Bytes(b"old"), key, WhenFull::Wait);
        buffer.push(Payload::Bytes(b"new"), key, WhenFull::Wait);
        buffer.send(Payload::Zeros(1));
        let last = buffer.push(
            Payload::Bytes(b"last"),
            Label::default(),
            WhenFull::DropOldest,
        );
        assert_eq!(last, Some(DatagramId(3)));
        assert!(buffer.has_fates());
        let mut reports = Vec::new();
        buffer.pop_fates(&mut reports, 100);
        let told: Vec<_> = reports.iter().map(|r| (r.id.0, r.fate)).collect();
        assert_eq!(told, [(0, Fate::Superseded), (1, Fate::Overflowed)]);
        assert_eq!(claimed(&mut buffer).1, [0; 0]);
        assert_eq!(claimed(&mut buffer).1, b"last");
        assert_eq!(buffer.entries.len(), 3, "slots are used again");
    }

    #[test]
    fn one_turn_looks_at_so_many_late_datagrams() {
        let late = Label {
            deadline: Some(NOW),
            ..Label::default()
        };
        let now = Instant::from_nanos(1);
        let n = EXPIRED_MAX as usize;
        let mut buffer = SendBuffer::new(n + 2, 0);
        for _ in 0..=n {
            buffer.push(Payload::Zeros(1), late, WhenFull::Wait);
        }
        buffer.send(Payload::Zeros(2));
        assert_eq!(buffer.peek(now), None);
        assert!(matches!(buffer.waiting(now), Waiting::OnRequest));
        assert_eq!(buffer.counts().fates.expired, u64::from(EXPIRED_MAX));
        assert!(buffer.end_turn(), "there is more");
        assert_eq!(buffer.peek(now).map(|offer| offer.len), Some(2));
        assert_eq!(buffer.counts().fates.expired, u64::from(EXPIRED_MAX) + 1);
        assert!(!buffer.end_turn());
    }

    #[test]
    fn a_name_that_was_not_needed_is_given_again() {
        let mut buffer = SendBuffer::new(4, 0);
        let id = buffer.reserve_id();
        buffer.return_id(id);
        assert_eq!(buffer.send(Payload::Zeros(1)), Some(id));
        let unused = buffer.reserve_id();
        assert_eq!(buffer.send(Payload::Zeros(1)), Some(DatagramId(2)));
        buffer.return_id(unused);
        assert_eq!(buffer.send(Payload::Zeros(1)), Some(DatagramId(3)));
        assert_eq!(buffer.counts().pushed, 3);
    }

    #[test]
    fn unread_fates_are_bounded_and_counted() {
        let mut buffer = SendBuffer::new(4, 2);
        for _ in 0..3 {
            buffer.send(Payload::Zeros(1));
            let (slot, _) = claimed(&mut buffer);
            buffer.on_fate(NOW, slot, Fate::Acked);
        }
        let mut reports = Vec::new();
        buffer.pop_fates(&mut reports, 100);
        assert_eq!(reports.len(), 2);
        assert_eq!(reports[0].id, DatagramId(1));
        assert_eq!(buffer.counts().fates_missed, 1);
    }

    #[test]
    fn slots_and_memory_are_used_again() {
        let mut buffer = SendBuffer::new(4, 0);
        for _ in 0..100 {
            buffer.send(Payload::Bytes(&[1; 100]));
            let (slot, _) = claimed(&mut buffer);
            buffer.on_fate(NOW, slot, Fate::Acked);
        }
        assert_eq!(buffer.entries.len(), 1);
        assert_eq!(buffer.spare.len(), 1);
    }

    #[test]
    fn a_sender_is_woken_for_a_batch() {
        let mut buffer = SendBuffer::new(256, 0);
        for _ in 0..256 {
            buffer.send(Payload::Zeros(1));
        }
        for _ in 0..63 {
            claimed(&mut buffer);
        }
        assert!(buffer.has_room() && !buffer.is_worth_filling());
        claimed(&mut buffer);
        assert!(buffer.is_worth_filling());
    }
}
