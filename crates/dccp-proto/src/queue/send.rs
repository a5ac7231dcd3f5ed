//! Datagrams that wait to leave, and the fate of each (design 7).

use super::order::Order;
use super::{Fate, Label, Offer, Slot, WhenFull};
use crate::time::Instant;
use std::collections::VecDeque;

/// The queue has no room for another datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// What became of one datagram, and when that was known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FateReport {
    /// Which datagram. From now on its slot may name another.
    pub slot: Slot,
    /// What became of it.
    pub fate: Fate,
    /// When that was known.
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

/// The datagrams of one connection between the application's push and their fate: in which order
/// they leave, and what became of them. Their bytes are somewhere else.
///
/// Every datagram is in one of three places, and [`check`](Self::check) says so:
/// `pushed = queued + claimed without a fate + Σ fates`.
#[derive(Clone, Debug)]
pub struct SendQueue {
    order: Order,
    capacity: usize,
    ledger: Ledger,
}

impl SendQueue {
    /// An empty queue for at most `capacity` datagrams that have not left. At most `reports`
    /// fates wait for the application; when it does not fetch them, the oldest are forgotten and
    /// only counted.
    pub fn new(capacity: usize, reports: usize) -> Self {
        Self {
            order: Order::new(),
            capacity,
            ledger: Ledger::new(reports),
        }
    }

    /// Takes a datagram of the application of which nothing is said. Its slot must name no other one that
    /// has no fate yet.
    ///
    /// # Errors
    /// [`Full`]: it was not taken.
    pub fn push(&mut self, datagram: Offer) -> Result<(), Full> {
        if !self.has_room() {
            return Err(Full);
        }
        self.order.push(datagram, Label::default());
        self.ledger.pushed += 1;
        Ok(())
    }

    /// As [`push`](Self::push), with what is said of the datagram. The datagram with the same key, and what
    /// makes room as `when_full` says, have their fate at once; that can be the new datagram itself.
    ///
    /// # Errors
    /// [`Full`]: it was not taken.
    pub fn push_with(
        &mut self,
        now: Instant,
        datagram: Offer,
        label: Label,
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

    /// Whether [`push_with`](Self::push_with) would take such a datagram.
    pub fn takes(&self, label: &Label, when_full: WhenFull) -> bool {
        let makes_room = matches!(
            when_full,
            WhenFull::DropOldest | WhenFull::DropLowestPriority
        );
        makes_room || self.has_room() || self.order.has_key(label)
    }

    /// The datagram to leave next.
    pub fn peek(&self) -> Option<Offer> {
        self.order.first().map(|entry| entry.offer)
    }

    /// Lets the datagram to leave next expire if it is late; whether it was. Those behind it are looked at
    /// when it is their turn.
    pub fn expire(&mut self, now: Instant) -> bool {
        let late = self.order.first().filter(|e| e.label.is_late(now));
        let Some(slot) = late.map(|entry| entry.offer.slot) else {
            return false;
        };
        self.refuse(now, slot, Fate::Expired);
        true
    }

    /// The datagram that [`peek`](Self::peek) offered leaves; `false` if it is not the next any more.
    pub fn claim(&mut self, slot: Slot) -> bool {
        let is_next = self.order.remove_first(slot);
        self.ledger.open += u64::from(is_next);
        is_next
    }

    /// The datagram that [`peek`](Self::peek) offered will not leave.
    pub fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        if self.order.remove_first(slot) {
            self.ledger.decide(now, slot, fate);
        }
    }

    /// The fate of a datagram that was claimed.
    pub fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        debug_assert!(self.ledger.open > 0, "a fate for nothing that was claimed");
        self.ledger.open -= 1;
        self.ledger.decide(now, slot, fate);
    }

    /// The connection is over: nothing more leaves.
    pub fn withdraw_all(&mut self, now: Instant) {
        while let Some(Offer { slot, .. }) = self.peek() {
            self.refuse(now, slot, Fate::Withdrawn);
        }
    }

    /// Changes how many datagrams fit; what is queued stays.
    pub fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
    }

    /// Whether another datagram fits.
    pub fn has_room(&self) -> bool {
        self.len() < self.capacity
    }

    /// How many datagrams may wait to leave.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Datagrams that have not left.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing waits to leave.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that have not left.
    pub fn bytes(&self) -> u64 {
        self.order.bytes()
    }

    /// Datagrams taken from the application so far.
    pub fn pushed(&self) -> u64 {
        self.ledger.pushed
    }

    /// Datagrams that have left and whose fate is open.
    pub fn open(&self) -> u64 {
        self.ledger.open
    }

    /// What became of the others.
    pub fn counts(&self) -> &FateCounts {
        &self.ledger.counts
    }

    /// The oldest fate that the application has not fetched.
    pub fn poll_fate(&mut self) -> Option<FateReport> {
        self.ledger.reports.pop_front()
    }

    /// Fates that the application has not fetched.
    pub fn fates_waiting(&self) -> usize {
        self.ledger.reports.len()
    }

    /// Fates that were forgotten because the application did not fetch them.
    pub fn fates_missed(&self) -> u64 {
        self.ledger.missed
    }

    /// Checks that no datagram is in two places or in none.
    ///
    /// # Panics
    /// If one is.
    pub fn check(&self) {
        let placed = self.len() as u64 + self.open() + self.counts().total();
        assert_eq!(self.pushed(), placed, "each datagram is in one place");
    }
}

/// What became of datagrams.
#[derive(Clone, Debug)]
struct Ledger {
    pushed: u64,
    open: u64,
    counts: FateCounts,
    reports: VecDeque<FateReport>,
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
        self.reports.push_back(FateReport { slot, fate, at });
        if self.reports.len() > self.reports_max {
            self.reports.pop_front();
            self.missed += 1;
        }
    }
}

#[cfg(test)]
mod tests;
