//! Datagrams that wait to leave, and the fate of each (design 7).

use super::{Fate, Offer, Slot};
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
    ledger: Ledger,
}

impl SendQueue {
    /// An empty queue for at most `capacity` datagrams that have not left. At most `reports`
    /// fates wait for the application; when it does not fetch them, the oldest are forgotten and
    /// only counted.
    pub fn new(capacity: usize, reports: usize) -> Self {
        Self {
            order: Order::new(capacity),
            ledger: Ledger::new(reports),
        }
    }

    /// Takes a datagram of the application. Its slot must name no other one that has no fate yet.
    ///
    /// # Errors
    /// [`Full`]: it was not taken.
    pub fn push(&mut self, datagram: Offer) -> Result<(), Full> {
        self.order.push(datagram)?;
        self.ledger.pushed += 1;
        Ok(())
    }

    /// The datagram to leave next.
    pub fn peek(&self) -> Option<Offer> {
        self.order.peek()
    }

    /// The datagram that [`peek`](Self::peek) offered leaves; `false` if it is not the next any more.
    pub fn claim(&mut self, slot: Slot) -> bool {
        let is_next = self.order.remove(slot);
        self.ledger.open += u64::from(is_next);
        is_next
    }

    /// The datagram that [`peek`](Self::peek) offered will not leave.
    pub fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        if self.order.remove(slot) {
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
        self.order.capacity = capacity;
    }

    /// Whether another datagram fits.
    pub fn has_room(&self) -> bool {
        self.order.has_room()
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
        self.order.bytes
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

/// In which order datagrams leave: first in, first out.
#[derive(Clone, Debug)]
struct Order {
    queue: VecDeque<Offer>,
    capacity: usize,
    bytes: u64,
}

impl Order {
    fn new(capacity: usize) -> Self {
        Self {
            queue: VecDeque::new(),
            capacity,
            bytes: 0,
        }
    }

    fn has_room(&self) -> bool {
        self.queue.len() < self.capacity
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn push(&mut self, datagram: Offer) -> Result<(), Full> {
        if !self.has_room() {
            return Err(Full);
        }
        self.bytes += datagram.len as u64;
        self.queue.push_back(datagram);
        Ok(())
    }

    fn peek(&self) -> Option<Offer> {
        self.queue.front().copied()
    }

    /// Removes the next datagram if it is this one.
    fn remove(&mut self, slot: Slot) -> bool {
        let Some(next) = self.queue.pop_front_if(|next| next.slot == slot) else {
            return false;
        };
        self.bytes -= next.len as u64;
        true
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T: Instant = Instant::from_nanos(7);

    fn offer(slot: u32, len: usize) -> Offer {
        Offer {
            slot: Slot(slot),
            len,
            is_zeros: slot.is_multiple_of(2),
        }
    }

    #[test]
    fn datagrams_leave_in_the_order_of_their_push() {
        let mut queue = SendQueue::new(3, 9);
        for slot in [5, 2, 8] {
            queue.push(offer(slot, 10)).unwrap();
        }
        assert_eq!(queue.push(offer(1, 10)), Err(Full));
        assert_eq!(
            (queue.len(), queue.bytes(), queue.has_room()),
            (3, 30, false)
        );
        assert_eq!(queue.peek(), Some(offer(5, 10)));
        assert!(!queue.claim(Slot(2)), "not the next");
        assert!(queue.claim(Slot(5)));
        assert!(!queue.claim(Slot(5)), "not twice");
        assert_eq!((queue.len(), queue.bytes(), queue.open()), (2, 20, 1));
        assert_eq!(queue.peek(), Some(offer(2, 10)));
        assert!(queue.has_room(), "what left needs no room");
        queue.check();
    }

    #[test]
    fn each_fate_has_its_counter_and_its_report() {
        let mut queue = SendQueue::new(11, 11);
        for (slot, fate) in (0..).zip(Fate::ALL) {
            queue.push(offer(slot, 1)).unwrap();
            if slot.is_multiple_of(2) {
                queue.refuse(T, Slot(slot), fate);
            } else {
                assert!(queue.claim(Slot(slot)));
                queue.on_fate(T, Slot(slot), fate);
            }
            let counts: Vec<_> = queue.counts().by_name().collect();
            let n = slot as usize;
            assert!(counts[..=n].iter().all(|&(_, n)| n == 1));
            assert!(counts[n + 1..].iter().all(|&(_, n)| n == 0));
            assert_eq!(counts[n].0, fate.name());
            queue.check();
        }
        for (slot, fate) in (0..).zip(Fate::ALL) {
            let slot = Slot(slot);
            assert_eq!(queue.poll_fate(), Some(FateReport { slot, fate, at: T }));
        }
        assert_eq!(queue.poll_fate(), None);
        assert_eq!(queue.fates_missed(), 0);
    }

    #[test]
    fn what_nobody_fetches_is_forgotten_and_counted() {
        let mut queue = SendQueue::new(9, 2);
        for slot in 0..5 {
            queue.push(offer(slot, 1)).unwrap();
        }
        queue.withdraw_all(T);
        assert_eq!((queue.fates_waiting(), queue.fates_missed()), (2, 3));
        assert_eq!(queue.poll_fate().map(|r| r.slot), Some(Slot(3)));
        assert_eq!(queue.counts().withdrawn, 5);
        queue.check();
    }

    #[test]
    fn a_smaller_capacity_keeps_what_is_queued() {
        let mut queue = SendQueue::new(2, 0);
        queue.push(offer(0, 1)).unwrap();
        queue.push(offer(1, 1)).unwrap();
        queue.set_capacity(1);
        assert_eq!((queue.len(), queue.has_room()), (2, false));
        assert!(queue.claim(Slot(0)));
        assert!(!queue.has_room());
        assert!(queue.claim(Slot(1)));
        assert!(queue.has_room());
    }

    #[test]
    #[should_panic(expected = "each datagram is in one place")]
    fn the_check_sees_a_datagram_that_is_nowhere() {
        let mut queue = SendQueue::new(2, 0);
        queue.push(offer(0, 1)).unwrap();
        queue.ledger.pushed += 1;
        queue.check();
    }

    /// Where the model has a datagram.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Place {
        Queued,
        Open,
        Decided(Fate),
    }

    proptest! {
        #[test]
        fn the_queue_does_what_a_list_of_datagrams_does(
            capacity in 0..6_usize,
            steps in proptest::collection::vec((0..6_u8, 0..11_usize), 1..200),
        ) {
            let mut queue = SendQueue::new(capacity, 1000);
            let mut model: Vec<Place> = Vec::new();
            let mut reports = Vec::new();
            for (step, n) in steps {
                let fate = Fate::ALL[n];
                let first = |place| {
                    let index = model.iter().position(|&p| p == place)?;
                    Some((index, Slot(u32::try_from(index).unwrap())))
                };
                match step {
                    0 | 1 => {
                        let queued = model.iter().filter(|&&p| p == Place::Queued).count();
                        let slot = u32::try_from(model.len()).unwrap();
                        let pushed = queue.push(offer(slot, n));
                        prop_assert_eq!(pushed.is_ok(), queued < capacity);
                        if pushed.is_ok() {
                            model.push(Place::Queued);
                        }
                    }
                    2 | 3 => {
                        let next = first(Place::Queued);
                        prop_assert_eq!(queue.peek().map(|o| o.slot), next.map(|(_, slot)| slot));
                        let Some((index, slot)) = next else { continue };
                        if step == 2 {
                            prop_assert!(queue.claim(slot));
                            model[index] = Place::Open;
                        } else {
                            queue.refuse(T, slot, fate);
                            model[index] = Place::Decided(fate);
                            reports.push((slot, fate));
                        }
                    }
                    4 => {
                        let Some((index, slot)) = first(Place::Open) else { continue };
                        queue.on_fate(T, slot, fate);
                        model[index] = Place::Decided(fate);
                        reports.push((slot, fate));
                    }
                    _ => {
                        queue.withdraw_all(T);
                        for (slot, place) in (0..).zip(&mut model) {
                            if *place == Place::Queued {
                                *place = Place::Decided(Fate::Withdrawn);
                                reports.push((Slot(slot), Fate::Withdrawn));
                            }
                        }
                    }
                }
                queue.check();
                prop_assert_eq!(queue.pushed(), model.len() as u64);
                let open = model.iter().filter(|&&p| p == Place::Open).count();
                prop_assert_eq!(queue.open(), open as u64);
            }
            let told: Vec<_> = core::iter::from_fn(|| queue.poll_fate()).map(|r| (r.slot, r.fate)).collect();
            prop_assert_eq!(told, reports);
        }
    }
}
