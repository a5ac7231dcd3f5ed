//! The core's view of the datagrams to send: those of calls, of a ring and of a source, and fillers.

use super::{Phase, Shared, SocketState};
use crate::filler::Filler;
use crate::ring::outbox::RingOutbox;
use dccp_proto::queue::{Fate, Offer, Outbox, Slot, Waiting as Queued};
use dccp_proto::wire::Place;
use dccp_proto::{Event, Instant};
use std::sync::MutexGuard;

/// Fillers.
impl SocketState {
    /// Fills up to a rate from now on; without one nothing.
    pub(crate) fn set_filler(&mut self, filler: Option<Filler>) {
        let (now, sent) = (crate::clock::now(), self.tx.sent_bytes());
        self.filler = filler.map(|mut filler| {
            filler.begin(now, sent, self.filler.as_deref_mut());
            Box::new(filler)
        });
    }

    /// Offers a filler if nothing else waits and one may leave.
    pub(crate) fn fill_up(&mut self, now: Instant) -> Option<Offer> {
        // After a refusal the connection's largest packet is known only in the next turn.
        if !self.may_fill() || self.is_source_deferred {
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

    pub(super) fn may_fill(&self) -> bool {
        let fits = |filler: &Filler| self.mps.is_some_and(|mps| filler.len() <= mps);
        self.phase == Phase::Open
            && !self.is_sending_over()
            && self.filler.as_deref().is_some_and(fits)
    }
}

/// The datagrams of calls and of a ring.
impl SocketState {
    /// Offers the next datagram. Those of calls leave before those in a ring.
    fn peek_queued(&mut self, now: Instant) -> Option<Offer> {
        let ring = &mut self.ring;
        let offer = self.tx.peek(now).or_else(|| ring.as_mut()?.peek(now));
        self.is_starving = offer.is_none();
        offer
    }

    /// Returns the store that holds this datagram.
    fn store_of(&mut self, slot: Slot) -> &mut dyn Outbox {
        match &mut self.ring {
            Some(ring) if RingOutbox::has_named(slot) => &mut **ring,
            _ => &mut self.tx,
        }
    }
}

/// The datagrams of one connection during a call of the core. Datagrams of calls leave before those in a ring, these
/// before those of a source, and fillers last.
///
/// The state is locked from its first use to the end of the core's call, but not while the application's source runs.
pub(crate) struct SocketOutbox<'a> {
    shared: &'a Shared,
    locked: Option<MutexGuard<'a, SocketState>>,
}

impl<'a> SocketOutbox<'a> {
    pub(crate) const fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            locked: None,
        }
    }

    fn state(&mut self) -> &mut SocketState {
        self.locked.get_or_insert_with(|| self.shared.lock())
    }
}

impl Outbox for SocketOutbox<'_> {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        let state = self.state();
        let offer = state.peek_queued(now);
        if offer.is_some() {
            return offer;
        }
        let Some((mut source, request)) = state.begin_request(now) else {
            return state.fill_up(now);
        };
        // Unlocked, so that the application can use its socket.
        self.locked = None;
        let answer = source.ask(&request).ok();
        let state = self.state();
        if answer.is_none() {
            state.push_event(Event::SourcePanicked);
        }
        if let Some(replaced) = state.end_request(source, &request, answer) {
            self.locked = None;
            replaced.dismiss();
        }
        let state = self.state();
        let offer = state.peek_queued(now);
        offer.or_else(|| state.fill_up(now))
    }

    fn waiting(&mut self, now: Instant) -> Queued {
        let state = self.state();
        let mut queued = state.tx.waiting(now);
        if let (Queued::Nothing, Some(ring)) = (queued, &mut state.ring) {
            queued = ring.waiting(now);
        }
        if queued == Queued::Nothing && (state.may_request() || state.is_filler_due(now)) {
            queued = Queued::OnRequest;
        }
        state.is_starving = queued == Queued::Nothing;
        queued
    }

    fn is_important(&mut self) -> bool {
        let state = self.state();
        match &mut state.ring {
            Some(ring) if state.tx.len() == 0 => ring.is_important(),
            _ => state.tx.is_important(),
        }
    }

    /// Expires datagrams of calls. Returns the next deadline of these, or the time at which a filler is due. A datagram
    /// in a ring expires when it is next to leave.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        let state = self.state();
        let expiry = state.tx.expire(now);
        expiry.into_iter().chain(state.filler_due_at(now)).min()
    }

    fn backlog(&mut self) -> u64 {
        let shared = self.shared;
        shared.backlog(self.state())
    }

    fn prepare(&mut self, datagrams: usize) {
        if let Some(ring) = &mut self.state().ring {
            ring.prepare(datagrams);
        }
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        self.state().store_of(slot).claim_into(now, slot, place)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        let state = self.state();
        state.is_source_deferred = true;
        state.store_of(slot).refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.state().store_of(slot).on_fate(now, slot, fate);
    }
}
