//! The waiting datagrams of one connection, and the fate of each datagram.

use super::order::Order;
use super::{Fate, Offer, QueueLabel, Slot, WhenFull};
use crate::time::Instant;
use std::collections::VecDeque;

/// The queue has no room for another datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// The fate of one datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotFate {
    /// The datagram. From now on its slot may name another.
    pub slot: Slot,
    /// Its fate.
    pub fate: Fate,
    /// When the fate became known.
    pub at: Instant,
}

/// How many datagrams had each fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FateCounts {
    /// [`Fate::Sent`].
    pub sent: u64,
    /// [`Fate::Acked`].
    pub acked: u64,
    /// [`Fate::AckedCe`].
    pub acked_ce: u64,
    /// [`Fate::Lost`].
    pub lost: u64,
    /// [`Fate::RxDropped`].
    pub rx_dropped: u64,
    /// [`Fate::Expired`].
    pub expired: u64,
    /// [`Fate::Superseded`].
    pub superseded: u64,
    /// [`Fate::Withdrawn`].
    pub withdrawn: u64,
    /// [`Fate::Overflowed`].
    pub overflowed: u64,
    /// [`Fate::Limited`].
    pub limited: u64,
    /// [`Fate::TooBig`].
    pub too_big: u64,
}

impl FateCounts {
    /// Datagrams with any fate.
    pub fn total(&self) -> u64 {
        self.by_name().map(|(_, n)| n).sum()
    }

    /// All counters with the names of their fates, in the order of [`Fate`].
    pub fn by_name(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        [
            (Fate::Sent, self.sent),
            (Fate::Acked, self.acked),
            (Fate::AckedCe, self.acked_ce),
            (Fate::Lost, self.lost),
            (Fate::RxDropped(0), self.rx_dropped),
            (Fate::Expired, self.expired),
            (Fate::Superseded, self.superseded),
            (Fate::Withdrawn, self.withdrawn),
            (Fate::Overflowed, self.overflowed),
            (Fate::Limited, self.limited),
            (Fate::TooBig, self.too_big),
        ]
        .into_iter()
        .map(|(fate, n)| (fate.name(), n))
    }

    /// One more datagram had this fate.
    pub fn add(&mut self, fate: Fate) {
        *self.of(fate) += 1;
    }

    fn of(&mut self, fate: Fate) -> &mut u64 {
        match fate {
            Fate::Sent => &mut self.sent,
            Fate::Acked => &mut self.acked,
            Fate::AckedCe => &mut self.acked_ce,
            Fate::Lost => &mut self.lost,
            Fate::RxDropped(_) => &mut self.rx_dropped,
            Fate::Expired => &mut self.expired,
            Fate::Superseded => &mut self.superseded,
            Fate::Withdrawn => &mut self.withdrawn,
            Fate::Overflowed => &mut self.overflowed,
            Fate::Limited => &mut self.limited,
            Fate::TooBig => &mut self.too_big,
        }
    }
}

impl core::ops::Add for FateCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            acked: self.acked + other.acked,
            acked_ce: self.acked_ce + other.acked_ce,
            lost: self.lost + other.lost,
            rx_dropped: self.rx_dropped + other.rx_dropped,
            expired: self.expired + other.expired,
            superseded: self.superseded + other.superseded,
            withdrawn: self.withdrawn + other.withdrawn,
            overflowed: self.overflowed + other.overflowed,
            limited: self.limited + other.limited,
            too_big: self.too_big + other.too_big,
        }
    }
}

/// The datagrams of one connection from the application's push to their fate: their order and their counters. Their
/// bytes are stored elsewhere.
///
/// Every datagram is in one of three places, and [`check`](Self::check) verifies it:
/// `pushed = queued + claimed without a fate + Σ fates`.
#[derive(Clone, Debug)]
pub struct SendQueue {
    order: Order,
    capacity: usize,
    bytes_max: u64,
    ledger: Ledger,
}

impl SendQueue {
    /// An empty queue for at most `capacity` waiting datagrams. It stores at most `reports` fates until the application
    /// fetches them; beyond that the oldest are dropped, and only counted.
    pub fn new(capacity: usize, reports: usize) -> Self {
        Self {
            order: Order::new(),
            capacity,
            bytes_max: u64::MAX,
            ledger: Ledger::new(reports),
        }
    }

    /// Adds a datagram with the default label. Its slot must differ from those of all datagrams without a fate.
    ///
    /// # Errors
    /// [`Full`]: it was not added.
    pub fn push(&mut self, datagram: Offer) -> Result<(), Full> {
        if !self.has_room() {
            return Err(Full);
        }
        self.order.push(datagram, QueueLabel::default());
        self.ledger.pushed += 1;
        Ok(())
    }

    /// Adds a datagram with a label. The waiting datagram with the same key gets its fate at once, as does every
    /// datagram that makes room under `when_full`. The new datagram itself can be the one that makes room.
    ///
    /// # Errors
    /// [`Full`]: it was not added.
    pub fn push_with(
        &mut self,
        now: Instant,
        datagram: Offer,
        label: QueueLabel,
        when_full: WhenFull,
    ) -> Result<(), Full> {
        if !self.takes(&label, when_full) {
            return Err(Full);
        }
        if let Some(old) = self.order.supersede(datagram, label) {
            self.ledger.pushed += 1;
            self.ledger.decide(now, old, Fate::Superseded);
            return Ok(());
        }
        while !self.has_room() {
            let dropped = match when_full {
                WhenFull::DropLowestPriority => self.order.remove_least(label.priority),
                _ => self.order.remove_oldest(),
            };
            self.ledger
                .decide(now, dropped.unwrap_or(datagram.slot), Fate::Overflowed);
            if dropped.is_none() {
                self.ledger.pushed += 1;
                return Ok(());
            }
        }
        self.order.push(datagram, label);
        self.ledger.pushed += 1;
        Ok(())
    }

    /// Whether [`push_with`](Self::push_with) would add such a datagram.
    pub fn takes(&self, label: &QueueLabel, when_full: WhenFull) -> bool {
        let makes_room = matches!(
            when_full,
            WhenFull::DropOldest | WhenFull::DropLowestPriority
        );
        makes_room || self.has_room() || self.order.has_key(label)
    }

    /// The next datagram to leave.
    pub fn peek(&self) -> Option<Offer> {
        self.order.first().map(|entry| entry.offer)
    }

    /// Expires one waiting datagram whose deadline has come, the earliest deadline first. Returns whether there was one.
    pub fn expire(&mut self, now: Instant) -> bool {
        let late = self.order.remove_late(now);
        if let Some(slot) = late {
            self.ledger.decide(now, slot, Fate::Expired);
        }
        late.is_some()
    }

    /// The earliest deadline of all waiting datagrams: when [`expire`](Self::expire) is due.
    pub fn next_expiry(&mut self) -> Option<Instant> {
        self.order.next_deadline()
    }

    /// Withdraws the waiting datagrams for which `is_unwanted` returns true. Returns their number.
    pub fn withdraw_if(
        &mut self,
        now: Instant,
        is_unwanted: impl FnMut(Offer, &QueueLabel) -> bool,
    ) -> usize {
        let Self { order, ledger, .. } = self;
        let before = order.len();
        order.remove_if(is_unwanted, |slot| {
            ledger.decide(now, slot, Fate::Withdrawn);
        });
        before - order.len()
    }

    /// Removes the datagram that [`peek`](Self::peek) offered, because it leaves. `false`: it is no longer the next.
    pub fn claim(&mut self, slot: Slot) -> bool {
        let is_next = self.order.remove_first(slot);
        self.ledger.open += u64::from(is_next);
        is_next
    }

    /// Removes the datagram that [`peek`](Self::peek) offered, because it will not leave.
    pub fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        if self.order.remove_first(slot) {
            self.ledger.decide(now, slot, fate);
        }
    }

    /// Records the fate of a claimed datagram.
    pub fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        debug_assert!(self.ledger.open > 0, "a fate without a claimed datagram");
        self.ledger.open -= 1;
        self.ledger.decide(now, slot, fate);
    }

    /// Withdraws all waiting datagrams, because the connection is over.
    pub fn withdraw_all(&mut self, now: Instant) {
        while let Some(Offer { slot, .. }) = self.peek() {
            self.refuse(now, slot, Fate::Withdrawn);
        }
    }

    /// Changes how many datagrams may wait. Those that wait already stay.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Changes how many bytes may wait: a datagram is added while fewer than `bytes_max` bytes wait, so the last one
    /// may exceed the bound. Those that wait already stay.
    pub fn set_bytes_max(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
    }

    /// Whether another datagram fits.
    pub fn has_room(&self) -> bool {
        self.len() < self.capacity && self.bytes() < self.bytes_max
    }

    /// How many datagrams may wait.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes may wait.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The number of waiting datagrams.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no datagram waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the next datagram to leave has a priority above 0.
    pub fn is_first_important(&self) -> bool {
        let first = self.order.first();
        first.is_some_and(|entry| entry.label.priority > 0)
    }

    /// The bytes of all waiting datagrams.
    pub fn bytes(&self) -> u64 {
        self.order.bytes()
    }

    /// Datagrams added so far.
    pub fn pushed(&self) -> u64 {
        self.ledger.pushed
    }

    /// Claimed datagrams without a fate.
    pub fn open(&self) -> u64 {
        self.ledger.open
    }

    /// How many datagrams had each fate.
    pub fn counts(&self) -> &FateCounts {
        &self.ledger.counts
    }

    /// The oldest fate that the application has not fetched.
    pub fn poll_fate(&mut self) -> Option<SlotFate> {
        self.ledger.reports.pop_front()
    }

    /// Fates that the application has not fetched.
    pub fn fates_waiting(&self) -> usize {
        self.ledger.reports.len()
    }

    /// Fates that were dropped because the application did not fetch them.
    pub fn fates_missed(&self) -> u64 {
        self.ledger.missed
    }

    /// Checks that every datagram is in exactly one place.
    ///
    /// # Panics
    /// If one is in two places or in none.
    pub fn check(&self) {
        let placed = self.len() as u64 + self.open() + self.counts().total();
        assert_eq!(self.pushed(), placed, "each datagram is in one place");
    }
}

/// Counters of all datagrams, and the fates that wait to be fetched.
#[derive(Clone, Debug)]
struct Ledger {
    pushed: u64,
    open: u64,
    counts: FateCounts,
    reports: VecDeque<SlotFate>,
    reports_max: usize,
    missed: u64,
}

impl Ledger {
    fn new(reports_max: usize) -> Self {
        Self {
            pushed: 0,
            open: 0,
            counts: FateCounts::default(),
            reports: VecDeque::new(),
            reports_max,
            missed: 0,
        }
    }

    fn decide(&mut self, at: Instant, slot: Slot, fate: Fate) {
        self.counts.add(fate);
        self.reports.push_back(SlotFate { slot, fate, at });
        if self.reports.len() > self.reports_max {
            self.reports.pop_front();
            self.missed += 1;
        }
    }
}

#[cfg(test)]
mod tests;
