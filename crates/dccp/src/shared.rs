//! What the application and the engine share of one connection: its two buffers, its events and how
//! it stands, under one mutex. The engine wakes the application only if it sleeps, and once for
//! each batch of packets, not for each packet.

use crate::error::{RecvError, SendError};
use crate::options::{Buffers, Waiting};
use crate::patience::{Patience, Waited};
use crate::recv_buffer::RecvBuffer;
use crate::ring::outbox::RingOutbox;
use crate::send_buffer::{DatagramId, SendBuffer, SendCounts};
use crate::signal::Signal;
use crate::stats::Inspection;
use core::time::Duration;
use dccp_proto::config::bounds;
use dccp_proto::queue::{Fate, Offer, Outbox, Slot};
use dccp_proto::wire::Payload;
use dccp_proto::{CloseReason, Event, Instant};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How a connection stands, as its application sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The handshake goes on.
    Connecting,
    /// Data may flow.
    Open,
    /// It is over.
    Ended(CloseReason),
}

/// Which side of a connection a call waits on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Datagrams, fates and events.
    Recv,
    /// Room to send; the beginning and the end of the connection.
    Send,
}

/// What can be done without waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent answers")]
pub struct Ready {
    /// A datagram waits, or the connection is over.
    pub recv: bool,
    /// There is room to send, or sending is over.
    pub send: bool,
    /// An event waits.
    pub event: bool,
    /// A fate waits.
    pub fates: bool,
}

/// The part of a connection that both sides use.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    receivers: Condvar,
    senders: Condvar,
}

/// What the mutex of [`Shared`] guards.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) tx: SendBuffer,
    pub(crate) rx: RecvBuffer,
    /// A second way to send.
    pub(crate) ring: Option<Box<RingOutbox>>,
    pub(crate) waiting: Waiting,
    /// Maximum packet size in bytes of data, once known.
    pub(crate) mps: Option<usize>,
    /// What was last seen of the connection: when it ended.
    pub(crate) last: Option<Inspection>,
    pub(crate) is_write_shut: bool,
    pub(crate) is_peer_listening: bool,
    /// The connection found nothing to send and will not look again by itself.
    pub(crate) is_starving: bool,
    events: VecDeque<Event>,
    /// Sleepers on each side.
    receivers: u32,
    senders: u32,
    /// The last call on the sending side found no room.
    wants_room: bool,
    signal: Option<Signal>,
}

impl Shared {
    pub(crate) fn new(buffers: Buffers, waiting: Waiting) -> Self {
        Self {
            state: Mutex::new(State {
                phase: Phase::Connecting,
                tx: SendBuffer::new(buffers.send_packets, buffers.fates),
                rx: RecvBuffer::new(buffers.recv_packets),
                ring: None,
                waiting,
                mps: None,
                last: None,
                is_write_shut: false,
                is_peer_listening: true,
                is_starving: true,
                events: VecDeque::new(),
                receivers: 0,
                senders: 0,
                wants_room: false,
                signal: None,
            }),
            receivers: Condvar::new(),
            senders: Condvar::new(),
        }
    }

    /// The state. A panic elsewhere while it was held does not make it unusable.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries `attempt` until it gives something, sleeping between, as long as `patience` allows.
    pub(crate) fn wait<T>(
        &self,
        side: Side,
        patience: Patience,
        mut attempt: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, Waited> {
        let mut waiting = patience.begin();
        let mut state = self.lock();
        loop {
            let found = attempt(&mut state);
            if side == Side::Send {
                state.wants_room = found.is_none();
            }
            state.update_signal();
            if let Some(found) = found {
                return Ok(found);
            }
            state = self.sleep(state, side, waiting.left()?);
        }
    }

    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        side: Side,
        at_most: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        let condvar = match side {
            Side::Recv => &self.receivers,
            Side::Send => &self.senders,
        };
        *state.sleepers(side) += 1;
        let mut state = match at_most {
            Some(time) => {
                condvar
                    .wait_timeout(state, time)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
        *state.sleepers(side) -= 1;
        state
    }

    /// Wakes who sleeps and can go on: the engine calls it once after each batch.
    pub(crate) fn wake(&self) {
        let mut state = self.lock();
        if let Some(ring) = &mut state.ring {
            ring.flush();
        }
        state.update_signal();
        let ready = state.ready();
        let wakes_receivers = state.receivers > 0 && (ready.recv || ready.event || ready.fates);
        let wakes_senders = state.senders > 0 && state.is_worth_sending();
        drop(state);
        if wakes_receivers {
            self.receivers.notify_all();
        }
        if wakes_senders {
            self.senders.notify_all();
        }
    }
}

impl State {
    /// Whether the connection is over.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// What can be done without waiting.
    pub(crate) fn ready(&self) -> Ready {
        Ready {
            recv: !self.rx.is_empty() || self.rx.is_closed() || self.is_ended(),
            send: self.is_sending_over() || (self.phase == Phase::Open && self.tx.has_room()),
            event: !self.events.is_empty(),
            fates: self.tx.has_fates(),
        }
    }

    /// A listener takes the connection: what it may store and how its calls wait is known now.
    pub(crate) fn adopt(&mut self, buffers: Buffers, waiting: Waiting) {
        self.tx.set_limits(buffers.send_packets, buffers.fates);
        self.rx.set_capacity(buffers.recv_packets);
        self.waiting = waiting;
    }

    /// The connection is over.
    pub(crate) fn end(&mut self, now: Instant, reason: CloseReason, last: Option<Inspection>) {
        self.tx.end(now);
        if let Some(ring) = &mut self.ring {
            ring.end(now);
        }
        self.push_event(Event::Closed(reason.clone()));
        self.phase = Phase::Ended(reason);
        self.last = last;
    }

    /// Puts a datagram into the send buffer, or says why not; `None`: there is no room now.
    pub(crate) fn push(&mut self, payload: Payload<'_>) -> Option<Result<DatagramId, SendError>> {
        if let Some(error) = self.sending_over() {
            return Some(Err(error));
        }
        let len = payload.len();
        if let Some(mps) = self.mps.filter(|&mps| len > mps) {
            return Some(Err(SendError::TooBig { len, mps }));
        }
        self.tx.push(payload).map(Ok)
    }

    /// Why nothing more can be sent.
    pub(crate) fn sending_over(&self) -> Option<SendError> {
        if let Phase::Ended(reason) = &self.phase {
            Some(SendError::Closed(reason.clone()))
        } else if self.is_write_shut {
            Some(SendError::ShutDown)
        } else if !self.is_peer_listening {
            Some(SendError::PeerNotListening)
        } else {
            None
        }
    }

    /// What became of all that the application sent.
    pub(crate) fn sent(&self) -> SendCounts {
        let ring = self.ring.as_ref().map(|ring| ring.counts());
        self.tx.counts() + ring.unwrap_or_default()
    }

    /// Why nothing more will be received.
    pub(crate) fn recv_over(&self) -> Option<RecvError> {
        if let Phase::Ended(reason) = &self.phase {
            return Some(RecvError::Closed(reason.clone()));
        }
        self.rx.is_closed().then_some(RecvError::ShutDown)
    }

    /// Takes the oldest event.
    pub(crate) fn pop_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        self.update_signal();
        event
    }

    /// Keeps an event for the application. Of packet sizes only the last counts; of others the
    /// oldest make room.
    pub(crate) fn push_event(&mut self, event: Event) {
        if let (Event::Mps(new), Some(Event::Mps(old))) = (&event, self.events.back_mut()) {
            *old = *new;
            return;
        }
        if self.events.len() >= bounds::EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The descriptor's signal, made when first asked for.
    #[cfg(unix)]
    pub(crate) fn signal(&mut self) -> std::io::Result<&Signal> {
        if self.signal.is_none() {
            self.signal = Some(Signal::new()?);
            self.update_signal();
        }
        self.signal
            .as_ref()
            .ok_or_else(|| std::io::Error::other("no signal"))
    }

    /// Raises or lowers the signal: up while something can be done that could not before.
    pub(crate) fn update_signal(&mut self) {
        if self.signal.is_none() {
            return;
        }
        let ready = self.ready();
        let has_room = self.wants_room && self.is_worth_sending();
        if let Some(signal) = &mut self.signal {
            signal.set(ready.recv || ready.event || ready.fates || has_room);
        }
    }

    fn is_sending_over(&self) -> bool {
        self.sending_over().is_some()
    }

    /// Whether a sender should be woken: not for room for a single packet (see
    /// [`SendBuffer::is_worth_filling`]).
    fn is_worth_sending(&self) -> bool {
        self.is_sending_over() || (self.phase == Phase::Open && self.tx.is_worth_filling())
    }

    /// Where a datagram came from.
    fn outbox_of(&mut self, slot: Slot) -> &mut dyn Outbox {
        match &mut self.ring {
            Some(ring) if RingOutbox::has_named(slot) => &mut **ring,
            _ => &mut self.tx,
        }
    }

    fn sleepers(&mut self, side: Side) -> &mut u32 {
        match side {
            Side::Recv => &mut self.receivers,
            Side::Send => &mut self.senders,
        }
    }
}

/// What is sent by calls leaves before what waits in a ring.
impl Outbox for State {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        let ring = &mut self.ring;
        let offer = self.tx.peek(now).or_else(|| ring.as_mut()?.peek(now));
        self.is_starving = offer.is_none();
        offer
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, buf: &mut [u8]) -> bool {
        self.outbox_of(slot).claim_into(now, slot, buf)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.outbox_of(slot).refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.outbox_of(slot).on_fate(now, slot, fate);
    }
}
