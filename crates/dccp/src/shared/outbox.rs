//! The core's view of the datagrams to send: those of calls, of a ring and of a source, and fillers.

use super::{Phase, SocketState};
use crate::filler::Filler;
use dccp_proto::Instant;
use dccp_proto::queue::{Fate, Offer, Outbox, Slot, Waiting as Queued};
use dccp_proto::wire::Place;

/// Fillers.
impl SocketState {
    /// Fills up to a rate from now on; without one nothing.
    pub(crate) fn set_filler(&mut self, filler: Option<Filler>) {
        self.filler = filler.map(Box::new);
    }

    /// Offers a filler if nothing else waits and one may leave.
    pub(crate) fn fill_up(&mut self, now: Instant) -> Option<Offer> {
        if !self.may_fill() {
            return None;
        }
        let sent = self.tx.sent_bytes();
        let datagram = self.filler.as_mut()?.take(now, sent)?;
        self.tx.push_filler(datagram);
        self.tx.peek(now)
    }

    fn is_filler_due(&mut self, now: Instant) -> bool {
        let (may_fill, sent) = (self.may_fill(), self.tx.sent_bytes());
        let filler = self.filler.as_mut().filter(|_| may_fill);
        filler.is_some_and(|filler| filler.is_due(now, sent))
    }

    fn filler_due_at(&mut self, now: Instant) -> Option<Instant> {
        let (may_fill, sent) = (self.may_fill(), self.tx.sent_bytes());
        let filler = self.filler.as_mut().filter(|_| may_fill)?;
        filler.due_at(now, sent)
    }

    fn may_fill(&self) -> bool {
        self.filler.is_some() && self.phase == Phase::Open && !self.is_sending_over()
    }
}

/// Datagrams of calls leave before those in a ring, and these before those of a source.
impl Outbox for SocketState {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        let ring = &mut self.ring;
        let offer = self.tx.peek(now).or_else(|| ring.as_mut()?.peek(now));
        self.is_starving = offer.is_none();
        offer
    }

    fn waiting(&mut self, now: Instant) -> Queued {
        let mut queued = self.tx.waiting(now);
        if let (Queued::Nothing, Some(ring)) = (queued, &mut self.ring) {
            queued = ring.waiting(now);
        }
        if queued == Queued::Nothing && (self.may_request() || self.is_filler_due(now)) {
            queued = Queued::OnRequest;
        }
        self.is_starving = queued == Queued::Nothing;
        queued
    }

    /// Datagrams in a ring expire when it is their turn to leave.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        let expiry = self.tx.expire(now);
        expiry.into_iter().chain(self.filler_due_at(now)).min()
    }

    /// Datagrams in a ring are counted when it is their turn.
    fn backlog(&mut self) -> u64 {
        self.tx.bytes()
    }

    fn prepare(&mut self, datagrams: usize) {
        if let Some(ring) = &mut self.ring {
            ring.prepare(datagrams);
        }
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        self.outbox_of(slot).claim_into(now, slot, place)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.is_source_deferred = true;
        self.outbox_of(slot).refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.outbox_of(slot).on_fate(now, slot, fate);
    }
}
