//! The core's view of a ring.

use super::fate::RingFate;
use crate::counts::SendCounts;
use crate::request::{Calls, Request};
use dccp_proto::Instant;
use dccp_proto::queue::{Fate, FateCounts, Offer, Outbox, Slot, Waiting};
use dccp_proto::wire::Place;
use dccp_ring::{Bell, Claimed, Look, Source, Violation};
use std::sync::Arc;

/// The core's names of datagrams from a ring have this bit, those from the send buffer have not.
const RING: u32 = 1 << 31;

/// Datagrams that may expire, be refused or slip away in one turn of the engine. The rest waits for the next turn, so that
/// no application holds up the others.
const SKIPPED_MAX: u32 = 1024;

/// The datagrams of a ring on their way to the core, and their fates on the way back.
#[derive(Debug)]
pub(crate) struct RingOutbox {
    source: Source,
    /// The tags of datagrams that have left and have no fate yet, by the core's names.
    tags: Vec<u64>,
    free: Vec<u32>,
    in_flight: u64,
    fates: FateCounts,
    /// How many leave now, at most.
    batch: u32,
    /// How many did not leave in this turn of the engine: expired, refused, taken back.
    skipped: u32,
    /// Nothing more leaves.
    is_over: bool,
    engine: Calls,
    app_bell: Arc<dyn Bell>,
}

impl RingOutbox {
    pub(crate) fn new(source: Source, engine: Calls, app_bell: Arc<dyn Bell>) -> Self {
        Self {
            source,
            tags: Vec::new(),
            free: Vec::new(),
            in_flight: 0,
            fates: FateCounts::default(),
            batch: 0,
            skipped: 0,
            is_over: false,
            engine,
            app_bell,
        }
    }

    /// Whether a datagram came from a ring.
    pub(crate) fn has_named(slot: Slot) -> bool {
        slot.0 & RING != 0
    }

    /// Where its datagrams are, those that it has seen.
    pub(crate) fn counts(&self) -> SendCounts {
        let mut queued = self.source.waiting().into();
        let mut fates = self.fates;
        fates.withdrawn += self.source.withdrawn();
        if self.is_over {
            fates.withdrawn += core::mem::take(&mut queued);
        }
        SendCounts {
            pushed: queued + self.in_flight + fates.total(),
            queued,
            in_flight: self.in_flight,
            fates,
            fates_missed: self.source.fates_missed(),
            fillers: 0,
        }
    }

    /// Shows the application what the turn of the engine has brought.
    pub(crate) fn flush(&mut self) {
        self.skipped = 0;
        self.source.flush();
    }

    /// The connection is over: withdraws the queued datagrams. Called again later for those that the application had taken
    /// back at that moment, or pushed since.
    pub(crate) fn end(&mut self, now: Instant) {
        // At most this many are queued, even if the application goes on pushing.
        for _ in 0..self.source.slots() {
            let look = self.source.look(now.as_nanos());
            match self.unless_broken(look) {
                Some(Look::Offer { .. }) => self.refuse_offered(now, Fate::Withdrawn),
                Some(Look::Expired(claimed)) => self.decide(now, claimed.label.tag, Fate::Expired),
                Some(Look::Nothing) | None => break,
            }
        }
        self.is_over = true;
        self.source.flush();
        self.app_bell.ring();
    }

    /// The name that the next datagram gets.
    fn next_slot(&self) -> Slot {
        let next = self.free.last().copied();
        // Datagrams in flight are bounded far below 2^31.
        let next = next.unwrap_or_else(|| u32::try_from(self.tags.len()).unwrap_or(u32::MAX));
        Slot(next | RING)
    }

    /// Remembers a datagram that leaves under that name.
    fn open(&mut self, tag: u64) {
        self.in_flight += 1;
        match self.free.pop() {
            Some(free) => self.tags[free as usize] = tag,
            None => self.tags.push(tag),
        }
    }

    fn refuse_offered(&mut self, now: Instant, fate: Fate) {
        let refused = self.source.refuse();
        if let Some(Claimed { label, .. }) = self.unless_broken(refused).flatten() {
            self.decide(now, label.tag, fate);
        }
    }

    fn decide(&mut self, at: Instant, tag: u64, fate: Fate) {
        self.fates.add(fate);
        let told = self.source.report(RingFate { tag, fate, at }.report());
        self.unless_broken(told);
    }

    /// Whether enough was skipped for this turn.
    fn is_enough(&mut self) -> bool {
        if self.skipped == SKIPPED_MAX {
            self.skipped += 1;
            self.engine.call(Request::DataReady);
        }
        self.skipped > SKIPPED_MAX
    }

    /// An application that breaks the rules of its ring has no connection any more.
    fn unless_broken<T>(&mut self, result: Result<T, Violation>) -> Option<T> {
        if result.is_err() && !core::mem::replace(&mut self.is_over, true) {
            self.engine.call(Request::Abort);
        }
        result.ok()
    }
}

impl Outbox for RingOutbox {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        while !self.is_over && !self.is_enough() {
            let look = self.source.look(now.as_nanos());
            match self.unless_broken(look)? {
                Look::Nothing => return None,
                Look::Offer { len } => {
                    return Some(Offer {
                        slot: self.next_slot(),
                        len,
                        is_zeros: false,
                    });
                }
                Look::Expired(Claimed { label, .. }) => {
                    self.skipped += 1;
                    self.decide(now, label.tag, Fate::Expired);
                }
            }
        }
        None
    }

    fn waiting(&mut self, now: Instant) -> Waiting {
        match self.peek(now) {
            Some(offer) => Waiting::Datagram(offer),
            // The next turn looks at the rest.
            None if !self.is_over && self.skipped > SKIPPED_MAX && self.source.waiting() > 0 => {
                Waiting::OnRequest
            }
            None => Waiting::Nothing,
        }
    }

    fn is_important(&mut self) -> bool {
        self.source.is_offer_important()
    }

    fn prepare(&mut self, datagrams: usize) {
        self.batch = u32::try_from(datagrams).unwrap_or(u32::MAX);
    }

    fn claim_into(&mut self, _now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        debug_assert_eq!(slot, self.next_slot(), "the one that was offered");
        let step = self.source.claim_ahead(self.batch);
        self.batch = self.batch.saturating_sub(1);
        let claimed = step.and_then(|()| self.source.claim_into(place.bytes_mut()));
        let Some(claimed) = self.unless_broken(claimed).flatten() else {
            self.skipped += 1;
            return false;
        };
        self.open(claimed.label.tag);
        true
    }

    fn refuse(&mut self, now: Instant, _slot: Slot, fate: Fate) {
        self.skipped += 1;
        self.refuse_offered(now, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        let index = slot.0 & !RING;
        let Some(&tag) = self.tags.get(index as usize) else {
            debug_assert!(false, "a fate for nothing that was claimed");
            return;
        };
        self.free.push(index);
        self.in_flight -= 1;
        self.decide(now, tag, fate);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::wire::ChecksumRule;
    use dccp_ring::{App, Label, Shape, in_process, silent};
    use std::sync::atomic::{AtomicUsize, Ordering};

    const NOW: Instant = Instant::from_nanos(1);

    /// A ring that is full of datagrams with this deadline, its outbox, and how often that asks for
    /// another turn.
    fn full(deadline_ns: u64) -> (App, RingOutbox, Arc<AtomicUsize>) {
        let (mut app, transport) = in_process(Shape::new(4096, 8), silent(), silent()).unwrap();
        let label = Label {
            deadline_ns: Some(deadline_ns),
            ..Label::default()
        };
        while app.sender.push(&[7], label).is_ok() {}
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let engine = Calls::to(move |request| {
            assert!(matches!(request, Request::DataReady));
            count.fetch_add(1, Ordering::Relaxed);
        });
        let outbox = RingOutbox::new(transport.source, engine, silent());
        (app, outbox, asked)
    }

    fn claim(outbox: &mut RingOutbox, slot: Slot) -> bool {
        let mut byte = [0];
        outbox.claim_into(NOW, slot, &mut Place::new(&mut byte, 0, ChecksumRule::Udp))
    }

    #[test]
    fn expired_and_refused_datagrams_of_one_turn_are_bounded() {
        let (_app, mut expired, asked) = full(0);
        assert_eq!(expired.peek(NOW), None);
        assert_eq!(expired.counts().fates.expired, u64::from(SKIPPED_MAX));
        assert_eq!(expired.peek(NOW), None, "in this turn");
        assert_eq!(
            expired.waiting(NOW),
            Waiting::OnRequest,
            "but there is more"
        );
        assert_eq!(asked.load(Ordering::Relaxed), 1, "once a turn");
        expired.flush();
        assert_eq!(expired.peek(NOW), None);
        assert_eq!(expired.counts().fates.expired, 2 * u64::from(SKIPPED_MAX));
        for _ in 0..3 {
            expired.flush();
            assert_eq!(expired.peek(NOW), None);
        }
        assert_eq!(expired.counts().fates.expired, 4 * u64::from(SKIPPED_MAX));
        assert_eq!(expired.waiting(NOW), Waiting::Nothing);

        let (_app, mut refused, asked) = full(9);
        while let Some(offer) = refused.peek(NOW) {
            refused.refuse(NOW, offer.slot, Fate::TooBig);
        }
        assert_eq!(refused.counts().fates.too_big, u64::from(SKIPPED_MAX));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn datagrams_that_slip_away_do_not_hold_the_engine_up() {
        let (mut app, mut outbox, asked) = full(9);
        let mut slipped = 0;
        while let Some(offer) = outbox.peek(NOW) {
            // The core looks again, and would for ever.
            let held = app.sender.take_back(usize::MAX).unwrap();
            assert!(!claim(&mut outbox, offer.slot));
            drop(held);
            slipped += 1;
        }
        assert_eq!(slipped, SKIPPED_MAX);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        outbox.flush();
        let offer = outbox.peek(NOW).unwrap();
        assert!(claim(&mut outbox, offer.slot));
    }

    #[test]
    fn datagrams_that_leave_together_are_claimed_together() {
        let (mut app, mut outbox, _) = full(9);
        outbox.prepare(3);
        let offer = outbox.peek(NOW).unwrap();
        assert!(claim(&mut outbox, offer.slot));
        let held = app.sender.take_back(usize::MAX).unwrap().len();
        assert_eq!(held, 4096 - 3);
        // Only the first has left.
        outbox.flush();
        let held = app.sender.take_back(usize::MAX).unwrap().len();
        assert_eq!(held, 4096 - 1);
    }

    #[test]
    fn counts_place_every_datagram() {
        let (_app, mut outbox, asked) = full(9);
        let slots = [0, 1, 2].map(|_| {
            let offer = outbox.peek(NOW).unwrap();
            assert!(RingOutbox::has_named(offer.slot));
            assert!(claim(&mut outbox, offer.slot));
            offer.slot
        });
        assert_ne!(slots[0], slots[1]);
        outbox.on_fate(NOW, slots[1], Fate::Lost);
        let again = outbox.peek(NOW).unwrap().slot;
        assert_eq!(again, slots[1], "a name is used again");
        let counts = outbox.counts();
        assert_eq!(
            (counts.pushed, counts.queued, counts.in_flight),
            (4096, 4093, 2)
        );
        outbox.end(NOW);
        let counts = outbox.counts();
        assert_eq!(
            (counts.pushed, counts.queued, counts.in_flight),
            (4096, 0, 2)
        );
        assert_eq!((counts.fates.lost, counts.fates.withdrawn), (1, 4093));
        assert_eq!(outbox.peek(NOW), None);
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn pushed_datagrams_stay_counted_when_the_application_withdraws_them() {
        let (mut app, mut outbox, _) = full(9);
        let offer = outbox.peek(NOW).unwrap();
        assert_eq!(outbox.counts().pushed, 4096);
        let mut held = app.sender.take_back(50).unwrap();
        for _ in 0..50 {
            held.withdraw(0);
        }
        drop(held);
        assert!(claim(&mut outbox, offer.slot));
        let counts = outbox.counts();
        assert_eq!((counts.pushed, counts.queued), (4096, 4045));
        assert_eq!(counts.fates.withdrawn, 50);
        // Those that it holds when the connection ends are withdrawn too.
        let held = app.sender.take_back(10).unwrap();
        outbox.end(NOW);
        let counts = outbox.counts();
        assert_eq!((counts.pushed, counts.queued), (4096, 0));
        assert_eq!(counts.fates.withdrawn, 4095);
        drop(held);
        outbox.end(NOW);
        assert_eq!(outbox.counts().pushed, 4096);
    }
}
