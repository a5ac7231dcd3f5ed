//! Ending a connection (RFC 4340 §8.3): close, abort, reset.

use super::timers::Backoff;
use super::{App, Connection, DueReset, Reset, Role, State, Timer};
use crate::event::{CloseReason, Event};
use crate::queue::{Fate, Waiting};
use crate::time::Instant;
use crate::wire::ResetCode;
use core::hash::{Hash, Hasher};

/// The progress of this end's close.
#[derive(Clone, Debug, Default)]
pub(super) struct Closing {
    /// The application closed: Close or `CloseReq` follows when the outbox is empty.
    pub(super) is_wanted: bool,
    /// Close left more than once: the Reset that answered it may be lost.
    pub(super) is_repeated: bool,
    backoff: Option<Backoff>,
}

impl Closing {
    /// Hashes the progress for the connection's fingerprint.
    pub(super) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        (self.is_wanted, self.is_repeated, self.backoff.is_some()).hash(hasher);
        if let Some(backoff) = &self.backoff {
            backoff.fingerprint(hasher);
        }
    }
}

impl Connection {
    /// Closes once the outbox is empty. DCCP has no half-close: data that arrives until then is
    /// still delivered, what arrives later is not.
    pub(crate) fn close(&mut self, now: Instant, app: &mut App<'_>) {
        if !self.state.is_alive() {
            return;
        }
        self.closing.is_wanted = true;
        match self.state {
            // No data can have been accepted before the handshake.
            State::Request | State::Invited | State::Listen1 => {
                self.give_up(now, CloseReason::Local, app);
            }
            _ => self.close_when_drained(now, app),
        }
    }

    /// Ends the connection at once with Reset "Aborted"; what waits is withdrawn.
    pub(crate) fn abort(&mut self, now: Instant, app: &mut App<'_>) {
        if self.state.is_alive() {
            self.give_up(now, CloseReason::Aborted(ResetCode::ABORTED), app);
        }
    }

    /// Ends the connection at once with Reset "Too Busy" (4340-8.1.3-1).
    pub(crate) fn turn_away(&mut self, now: Instant, app: &mut App<'_>) {
        if self.state.is_alive() {
            self.reset(now, Reset::new(ResetCode::TOO_BUSY), app);
        }
    }

    /// The handshake or the closing has taken too long (4340-8.1.1-3, 4340-8.1.3-6, 4340-8.1.5-2).
    pub(super) fn on_give_up(&mut self, now: Instant, app: &mut App<'_>) {
        let mib = &mut self.stats.mib;
        mib.abort_on_timeout += 1;
        mib.attempt_fails += u64::from(!self.was_established);
        let reason = self.timeout_reason();
        self.give_up(now, reason, app);
    }

    /// Sends Reset "Aborted" and forgets the connection.
    pub(super) fn give_up(&mut self, now: Instant, reason: CloseReason, app: &mut App<'_>) {
        // 4340-8.1.1-3: nothing was received in REQUEST, so the ackno is 0 as GSR is still. An inviting
        // server has no peer yet, so no Reset leaves.
        let ack = match self.state {
            State::Invited | State::Listen1 => None,
            _ => Some(self.seqs.gsr),
        };
        self.finish(now, State::Closed, reason, app);
        let reset = Reset::new(ResetCode::ABORTED);
        self.due.reset = ack.map(|ack| DueReset::in_sequence(reset, ack));
    }

    /// Resets the connection because of what the peer sent.
    pub(super) fn reset(&mut self, now: Instant, reset: Reset, app: &mut App<'_>) {
        let ack = self.seqs.gsr;
        self.finish(now, State::Closed, CloseReason::Aborted(reset.code), app);
        self.due.reset = Some(DueReset::in_sequence(reset, ack));
    }

    /// Goes on with [`close`](Self::close) when nothing waits to be sent any more.
    pub(super) fn close_when_drained(&mut self, now: Instant, app: &mut App<'_>) {
        // Asked after every packet: the outbox, which may have to be locked, only if it matters.
        let may_close = self.closing.is_wanted
            && (!self.is_peer_listening || app.outbox.waiting(now) == Waiting::Nothing);
        if !may_close {
            return;
        }
        match (self.state, self.role) {
            // 4340-5.5-1: a client never asks, it closes.
            (State::Open, Role::Server) => {
                self.set_state(State::CloseReq);
                self.due.close_req = true;
                self.start_close_timer(now);
            }
            (State::Open | State::PartOpen, _) => self.enter_closing(now, app),
            _ => {}
        }
    }

    /// Sends Close: an active close, or the answer to `CloseReq` (4340-8.3-1).
    pub(super) fn enter_closing(&mut self, now: Instant, app: &mut App<'_>) {
        if self.state == State::Closing {
            self.due.close = true;
            return;
        }
        self.set_state(State::Closing);
        self.timers.clear(Timer::PartOpen);
        Self::withdraw(now, app);
        self.due.close = true;
        self.start_close_timer(now);
    }

    /// The peer's Close: answer Reset "Closed" and forget (4340-8.3-1, 4340-8.3-2, AMB-8).
    pub(super) fn on_close(&mut self, now: Instant, app: &mut App<'_>) {
        let reason = if self.closing.is_wanted {
            CloseReason::Local
        } else {
            CloseReason::Peer
        };
        if reason == CloseReason::Peer {
            self.tell(Event::PeerClosed);
        }
        let ack = self.seqs.gsr;
        self.finish(now, State::Closed, reason, app);
        let reset = Reset::new(ResetCode::CLOSED);
        self.due.reset = Some(DueReset::in_sequence(reset, ack));
    }

    /// 4340-8.3-3: repeats `CloseReq` or Close, less and less often.
    pub(super) fn on_close_timeout(&mut self, now: Instant) {
        self.stats.mib.timeouts += 1;
        match self.state {
            State::CloseReq => self.due.close_req = true,
            State::Closing => {
                self.due.close = true;
                self.closing.is_repeated = true;
            }
            _ => return,
        }
        self.set_close_timer(now);
    }

    fn start_close_timer(&mut self, now: Instant) {
        self.closing.backoff = Some(Backoff::new(2 * self.rtt_or_default()));
        self.timers.set(Timer::GiveUp, now + 4 * self.config.msl);
        self.set_close_timer(now);
    }

    fn set_close_timer(&mut self, now: Instant) {
        if let Some(backoff) = &mut self.closing.backoff {
            self.timers.set(Timer::Close, now + backoff.interval());
        }
    }

    /// Ends the connection: reports the fates of its data and stops its timers. No packet is due any more.
    pub(super) fn finish(
        &mut self,
        now: Instant,
        state: State,
        reason: CloseReason,
        app: &mut App<'_>,
    ) {
        self.set_state(state);
        Self::withdraw(now, app);
        let outbox = &mut *app.outbox;
        self.in_flight
            .on_close(&mut |slot, fate| outbox.on_fate(now, slot, fate));
        self.timers.clear_all();
        self.due = super::Due::default();
        self.tell_closed(reason);
    }

    /// Data that has not left will not leave any more.
    fn withdraw(now: Instant, app: &mut App<'_>) {
        while let Waiting::Datagram(offer) = app.outbox.waiting(now) {
            app.outbox.refuse(now, offer.slot, Fate::Withdrawn);
        }
    }
}
