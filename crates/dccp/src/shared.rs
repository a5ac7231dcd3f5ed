//! The part of a connection that application and engine share: two buffers, events and state, under
//! one mutex. The engine wakes the application only if it sleeps, and once for
//! each batch of packets, not for each packet.

pub(crate) mod outbox;

use crate::counts::SendCounts;
use crate::error::{RecvError, SendError};
use crate::filler::Filler;
use crate::inspection::Inspection;
use crate::limits::RECV_BYTES_UNACCEPTED;
use crate::patience::{Patience, Side, Waited};
use crate::recv_buffer::{Received, RecvBatch, RecvBuffer, RecvMeta};
use crate::ring::outbox::RingOutbox;
#[cfg(feature = "tokio")]
use crate::ring::parker::Ear;
use crate::send_buffer::{DatagramId, SendBuffer, Wishes};
use crate::sending::SendOptions;
use crate::settings::{Buffers, Waiting};
use crate::signal::Signal;
#[cfg(feature = "tokio")]
use crate::sleepers;
use crate::sleepers::{Called, Sleepers};
use crate::source::{DatagramSource, SourceReply, SourceRequest};
use crate::thread_mark::is_on_engine;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp_io::ProcessGeneration;
use dccp_proto::cc::safeudp::SendCode;
use dccp_proto::config::bounds;
use dccp_proto::queue::WhenFull;
use dccp_proto::wire::Payload;
use dccp_proto::{CloseReason, Event, Instant, RateHint};
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

/// Calls that would not wait now.
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
    /// The process of the engine.
    process: ProcessGeneration,
    state: Mutex<SocketState>,
    /// Bytes that wait in the source, as far as it says so.
    source_bytes: AtomicU64,
    receivers: Condvar,
    senders: Condvar,
}

/// The contents of the mutex of [`Shared`].
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "seven independent facts")]
pub(crate) struct SocketState {
    pub(crate) phase: Phase,
    pub(crate) tx: SendBuffer,
    pub(crate) rx: RecvBuffer,
    /// A second way to send.
    pub(crate) ring: Option<Box<RingOutbox>>,
    /// Notices the bell of a ring in this process, because tasks sleep here.
    #[cfg(feature = "tokio")]
    pub(crate) ear: Option<Ear>,
    /// A third way to send, used when nothing else is queued; `None` also while it runs.
    source: Option<DatagramSource>,
    filler: Option<Box<Filler>>,
    /// The newest rate hint, if hints are reported.
    pub(crate) rate: Option<RateHint>,
    /// The result that a send has under CCID 248, as of the engine's last turn.
    pub(crate) send_code: Option<SendCode>,
    /// The source may have a datagram.
    is_source_due: bool,
    /// A datagram was refused in this turn of the engine, so the source is not called again before the next.
    is_source_deferred: bool,
    pub(crate) waiting: Waiting,
    /// Maximum packet size in bytes of data, once known.
    pub(crate) mps: Option<usize>,
    /// State and counters at the connection's end.
    pub(crate) last: Option<Inspection>,
    pub(crate) is_write_shut: bool,
    pub(crate) is_peer_listening: bool,
    /// The connection found nothing to send and will not look again by itself.
    pub(crate) is_starving: bool,
    /// Fates of messages wait. They are apart from those of datagrams.
    pub(crate) has_message_fates: bool,
    events: VecDeque<Event>,
    receivers: Sleepers,
    senders: Sleepers,
    /// The last call on the sending side found no room.
    wants_room: bool,
    signal: Option<Signal>,
}

impl Shared {
    pub(crate) fn new(buffers: Buffers, waiting: Waiting) -> Self {
        Self {
            process: ProcessGeneration::watched(),
            state: Mutex::new(SocketState {
                phase: Phase::Connecting,
                tx: SendBuffer::new(buffers),
                rx: RecvBuffer::new(buffers.recv_packets, buffers.recv_bytes),
                ring: None,
                #[cfg(feature = "tokio")]
                ear: None,
                source: None,
                filler: None,
                rate: None,
                send_code: None,
                is_source_due: false,
                is_source_deferred: false,
                waiting,
                mps: None,
                last: None,
                is_write_shut: false,
                is_peer_listening: true,
                is_starving: true,
                has_message_fates: false,
                events: VecDeque::new(),
                receivers: Sleepers::default(),
                senders: Sleepers::default(),
                wants_room: false,
                signal: None,
            }),
            source_bytes: AtomicU64::new(0),
            receivers: Condvar::new(),
            senders: Condvar::new(),
        }
    }

    /// Takes note of the bytes that wait in the source.
    pub(crate) fn set_source_bytes(&self, bytes: u64) {
        self.source_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Bytes that wait in the send buffer, and in a source that reports its bytes. Those in a ring are not known.
    pub(crate) fn backlog(&self, state: &SocketState) -> u64 {
        state.tx.bytes() + self.source_bytes.load(Ordering::Relaxed)
    }

    /// The state. A panic elsewhere while it was held does not make it unusable.
    pub(crate) fn lock(&self) -> MutexGuard<'_, SocketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`wait`](Self::wait), with the patience that the socket's settings give for this side.
    pub(crate) fn wait_as_set<T>(
        &self,
        side: Side,
        attempt: impl FnMut(&mut SocketState) -> Option<T>,
    ) -> Result<T, Waited> {
        self.wait_with(side, |state| state.waiting.patience(side), attempt)
    }

    /// Tries `attempt` until it gives something, sleeping between, as long as `patience` allows.
    pub(crate) fn wait<T>(
        &self,
        side: Side,
        patience: Patience,
        attempt: impl FnMut(&mut SocketState) -> Option<T>,
    ) -> Result<T, Waited> {
        self.wait_with(side, |_| patience, attempt)
    }

    fn wait_with<T>(
        &self,
        side: Side,
        patience: impl FnOnce(&SocketState) -> Patience,
        mut attempt: impl FnMut(&mut SocketState) -> Option<T>,
    ) -> Result<T, Waited> {
        // The engine, and a thread that held the lock, may have been left behind by a fork.
        if !self.process.is_current() {
            return Err(Waited::EngineGone);
        }
        let mut state = self.lock();
        let mut waiting = match try_once(&mut state, &mut attempt) {
            Some(found) => return Ok(found),
            // The engine's own thread would wait for itself.
            None if is_on_engine() => return Err(Waited::WouldBlock),
            None => patience(&state).begin(),
        };
        loop {
            state = self.sleep(state, side, waiting.left()?);
            if let Some(found) = try_once(&mut state, &mut attempt) {
                return Ok(found);
            }
        }
    }

    /// As [`wait`](Self::wait), for tasks: as long as it takes.
    #[cfg(feature = "tokio")]
    pub(crate) async fn until<T>(
        &self,
        side: Side,
        mut attempt: impl FnMut(&mut SocketState) -> Option<T>,
    ) -> T {
        let attempt = move |state: &mut SocketState| try_once(state, &mut attempt);
        sleepers::until(|| self.lock(), |state| state.sleepers(side), attempt).await
    }

    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, SocketState>,
        side: Side,
        at_most: Option<Duration>,
    ) -> MutexGuard<'a, SocketState> {
        let condvar = match side {
            Side::Recv => &self.receivers,
            Side::Send => &self.senders,
        };
        state.sleepers(side).threads += 1;
        let mut state = match at_most {
            Some(time) => {
                condvar
                    .wait_timeout(state, time)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
        };
        state.sleepers(side).threads -= 1;
        state
    }

    /// Ends a turn of the engine, and wakes the threads and tasks that can proceed. Returns whether the next turn must
    /// come at once.
    pub(crate) fn end_turn(&self) -> bool {
        let mut state = self.lock();
        let is_unfinished = state.tx.end_turn() | state.end_source_turn();
        self.wake_from(state);
        is_unfinished
    }

    /// Wakes the threads and tasks that can proceed.
    pub(crate) fn wake(&self) {
        self.wake_from(self.lock());
    }

    fn wake_from(&self, mut state: MutexGuard<'_, SocketState>) {
        if let Some(ring) = &mut state.ring {
            ring.flush();
        }
        state.update_signal();
        let ready = state.ready();
        let (mut receivers, mut senders) = <(Called, Called)>::default();
        #[cfg(feature = "tokio")]
        let is_rung = state.ear.as_mut().is_some_and(Ear::hears);
        // Threads sleep at the ring's bell itself.
        #[cfg(not(feature = "tokio"))]
        let is_rung = false;
        if ready.recv {
            receivers = state.receivers.call();
        } else if ready.event || state.tx.has_fates() || is_rung {
            // No thread waits for events, fates and rings here. They may lie unread for as long as the connection lasts.
            receivers = state.receivers.call_tasks();
        }
        if state.is_worth_sending() || is_rung {
            senders = state.senders.call();
        }
        drop(state);
        receivers.wake(&self.receivers);
        senders.wake(&self.senders);
    }
}

fn try_once<T>(
    state: &mut SocketState,
    attempt: &mut impl FnMut(&mut SocketState) -> Option<T>,
) -> Option<T> {
    let found = attempt(state);
    state.update_signal();
    found
}

impl SocketState {
    /// Whether the connection is over.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended(_))
    }

    /// Calls that would not wait now.
    pub(crate) fn ready(&self) -> Ready {
        Ready {
            recv: !self.rx.is_empty() || self.rx.is_closed() || self.is_ended(),
            send: self.is_sending_over() || (self.phase == Phase::Open && self.tx.has_room()),
            event: !self.events.is_empty(),
            fates: self.tx.has_fates() || self.has_message_fates,
        }
    }

    /// A listener takes the connection: what it may store and how its calls wait is known now.
    pub(crate) fn adopt(&mut self, buffers: Buffers, waiting: Waiting) {
        self.tx.set_limits(buffers);
        let bytes = buffers.recv_bytes.min(RECV_BYTES_UNACCEPTED);
        self.rx.set_capacity(buffers.recv_packets, bytes);
        self.waiting = waiting;
    }

    /// The application has accepted the connection.
    pub(crate) fn on_accepted(&mut self, buffers: Buffers) {
        self.rx
            .set_capacity(buffers.recv_packets, buffers.recv_bytes);
    }

    /// Ends the connection. Returns the application's source of datagrams, because its destructor may run only where
    /// nothing is locked.
    #[must_use]
    pub(crate) fn end(
        &mut self,
        now: Instant,
        reason: CloseReason,
        last: Option<Inspection>,
    ) -> Option<DatagramSource> {
        self.tx.end(now);
        self.rx.account.leave();
        if let Some(ring) = &mut self.ring {
            ring.end(now);
        }
        self.push_event(Event::Closed(reason.clone()));
        self.phase = Phase::Ended(reason);
        self.last = last;
        self.source.take()
    }

    /// Puts a datagram into the send buffer, or says why not; `None`: there is no room now.
    pub(crate) fn push(
        &mut self,
        payload: Payload<'_>,
        options: &SendOptions,
    ) -> Option<Result<DatagramId, SendError>> {
        if let Some(error) = self.sending_over() {
            return Some(Err(error));
        }
        let len = payload.len();
        if let Some(mps) = self.mps.filter(|&mps| len > mps) {
            return Some(Err(SendError::TooBig { len, mps }));
        }
        let when_full = options.when_full.unwrap_or(self.waiting.when_full);
        let wishes = Wishes {
            label: options.label(),
            tag: options.terms.tag,
            when_full,
        };
        let pushed = self.tx.push(payload, wishes).map(Ok);
        self.wants_room = pushed.is_none();
        if pushed.is_none() && when_full == WhenFull::Error {
            return Some(Err(SendError::WouldBlock));
        }
        pushed
    }

    /// Why nothing more can be sent. The application's own shutdown counts before what happened to
    /// the connection afterwards.
    pub(crate) fn sending_over(&self) -> Option<SendError> {
        if self.is_write_shut {
            Some(SendError::ShutDown)
        } else if let Phase::Ended(reason) = &self.phase {
            Some(SendError::Closed(reason.clone()))
        } else if !self.is_peer_listening {
            Some(SendError::PeerNotListening)
        } else {
            None
        }
    }

    /// Counters of all datagrams that the application sent.
    pub(crate) fn sent(&self) -> SendCounts {
        let ring = self.ring.as_ref().map(|ring| ring.counts());
        self.tx.counts() + ring.unwrap_or_default()
    }

    /// How the handshake has ended, if it has.
    pub(crate) fn opened(&self) -> Option<Result<(), CloseReason>> {
        match &self.phase {
            Phase::Connecting => None,
            Phase::Open => Some(Ok(())),
            Phase::Ended(reason) => Some(Err(reason.clone())),
        }
    }

    /// Why the connection has ended, if it has.
    pub(crate) fn ended(&self) -> Option<CloseReason> {
        match &self.phase {
            Phase::Ended(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// Copies the next datagram, or says why there will be none; `None`: there is none now.
    pub(crate) fn pop_into(&mut self, buf: &mut [u8]) -> Option<Result<RecvMeta, RecvError>> {
        match self.rx.pop_into(buf) {
            Some(found) => Some(Ok(found)),
            None => self.recv_over().map(Err),
        }
    }

    /// Takes the next datagram, or says why there will be none; `None`: there is none now.
    pub(crate) fn pop(&mut self) -> Option<Result<Received, RecvError>> {
        match self.rx.pop() {
            Some(found) => Some(Ok(found)),
            None => self.recv_over().map(Err),
        }
    }

    /// Takes the datagrams that wait, or says why there will be none; `None`: there are none now.
    pub(crate) fn pop_batch(&mut self, batch: &mut RecvBatch) -> Option<Result<usize, RecvError>> {
        match self.rx.pop_batch(batch) {
            0 => self.recv_over().map(Err),
            n => Some(Ok(n)),
        }
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

    /// Keeps an event for the application. Of packet sizes and of rates only the last counts; of others the
    /// oldest make room.
    pub(crate) fn push_event(&mut self, event: Event) {
        if let Event::Rate(hint) = &event {
            self.rate = Some(*hint);
        }
        match (&event, self.events.back_mut()) {
            (Event::Mps(new), Some(Event::Mps(old))) => {
                *old = *new;
                return;
            }
            (Event::Rate(new), Some(Event::Rate(old))) => {
                *old = *new;
                return;
            }
            _ => {}
        }
        if self.events.len() >= bounds::EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// The descriptor's signal, created at the first request.
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
        // The end of sending is an event.
        let has_room = self.wants_room && !self.is_sending_over() && self.is_worth_sending();
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

    pub(crate) fn sleepers(&mut self, side: Side) -> &mut Sleepers {
        match side {
            Side::Recv => &mut self.receivers,
            Side::Send => &mut self.senders,
        }
    }
}

/// The application's source of datagrams.
impl SocketState {
    /// Sets the source of datagrams. Returns the one before.
    #[must_use]
    pub(crate) fn set_source(&mut self, source: DatagramSource) -> Option<DatagramSource> {
        if self.is_ended() {
            return Some(source);
        }
        self.is_source_due = true;
        self.source.replace(source)
    }

    /// Lets the engine call the source again.
    pub(crate) fn wake_source(&mut self) {
        self.is_source_due = true;
    }

    /// Takes the source and its request for a datagram that may leave now.
    pub(crate) fn begin_request(
        &mut self,
        now: Instant,
    ) -> Option<(DatagramSource, SourceRequest)> {
        if !self.may_request() {
            return None;
        }
        let max_len = self.mps?;
        let source = self.source.take()?;
        self.is_source_due = false;
        let id = self.tx.reserve_id();
        Some((source, SourceRequest { id, now, max_len }))
    }

    /// Takes the source's reply. Returns the source if another has replaced it.
    #[must_use]
    pub(crate) fn end_request(
        &mut self,
        source: DatagramSource,
        request: &SourceRequest,
        answer: Option<SourceReply>,
    ) -> Option<DatagramSource> {
        if answer == Some(SourceReply::Datagram) {
            let data = Payload::Bytes(source.data());
            // There was room, unless others have sent a whole buffer meanwhile.
            let wishes = Wishes {
                when_full: WhenFull::DropLowestPriority,
                ..Wishes::default()
            };
            self.tx.push_as(request.id, data, wishes);
            self.is_source_due = true;
        } else {
            self.tx.return_id(request.id);
            // If `data_ready` was called meanwhile, the next turn calls the source again.
            self.is_source_deferred |= self.is_source_due;
        }
        if answer.is_none() || self.source.is_some() {
            return Some(source);
        }
        self.source = Some(source);
        None
    }

    /// A turn of the engine is over. Returns whether the next must come at once.
    fn end_source_turn(&mut self) -> bool {
        core::mem::take(&mut self.is_source_deferred) && (self.may_request() || self.may_fill())
    }

    fn may_request(&self) -> bool {
        self.is_source_due
            && !self.is_source_deferred
            && self.source.is_some()
            && self.phase == Phase::Open
            && !self.is_sending_over()
    }
}
