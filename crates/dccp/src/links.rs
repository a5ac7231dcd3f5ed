//! The queues of the connections of one endpoint: what the core sees of the applications.
//!
//! Locks are few: for sending one for each batch and each acknowledgement, for receiving two for each
//! turn of the engine.

use crate::recv_buffer::Intake;
use crate::settings::{Buffers, Waiting};
use crate::shared::{Shared, SocketState};
use dccp_io::PortClaim;
use dccp_proto::conn::App;
use dccp_proto::queue::{Fate, Offer, Outbox, Slot, Waiting as Queued};
use dccp_proto::wire::Place;
use dccp_proto::{ConnId, Event, Instant, Queues};
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

/// The connections of an endpoint and the state that each shares with its application.
///
/// A connection that a client opens exists before its event, because its first packet can carry data. So an unknown one gets
/// its state when the core first asks for it.
pub(crate) struct Links {
    by_id: HashMap<ConnId, Link>,
    /// Connections that something happened to since the last [`wake`](Self::wake).
    touched: Vec<ConnId>,
    /// Buffers of the connections that the core has not announced yet.
    pub(crate) buffers: Buffers,
    /// Intakes to be used again.
    idle_intakes: Vec<Intake>,
}

/// One connection.
struct Link {
    shared: Arc<Shared>,
    /// While it is touched: what has arrived for it.
    intake: Option<Intake>,
    /// Keeps the DCCP port this program's.
    claim: Option<Arc<PortClaim>>,
}

/// Intakes kept for the next turn.
const IDLE_INTAKES: usize = 16;

impl Link {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            intake: None,
            claim: None,
        }
    }

    /// Moves what has arrived to where the application finds it; gives the empty intake.
    fn hand_over(&mut self) -> Option<Intake> {
        let mut intake = self.intake.take()?;
        self.shared.lock().rx.absorb(&mut intake);
        Some(intake)
    }
}

impl Links {
    pub(crate) fn new(buffers: Buffers) -> Self {
        Self {
            by_id: HashMap::new(),
            touched: Vec::new(),
            buffers,
            idle_intakes: Vec::new(),
        }
    }

    /// Adds a connection that this end opens.
    pub(crate) fn insert(&mut self, id: ConnId, shared: Arc<Shared>, claim: PortClaim) {
        self.by_id.insert(id, Link::new(shared));
        self.keep(id, &Arc::new(claim));
    }

    /// Keeps a DCCP port as long as the connection lives; gives the connection's state.
    pub(crate) fn keep(&mut self, id: ConnId, claim: &Arc<PortClaim>) -> &Arc<Shared> {
        let link = self.touch(id);
        link.claim = Some(claim.clone());
        &link.shared
    }

    /// Whether a connection lives.
    pub(crate) fn holds(&self, id: ConnId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Forgets a connection.
    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Arc<Shared>> {
        let mut link = self.by_id.remove(&id)?;
        link.hand_over();
        Some(link.shared)
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// How many connections there are.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All connections, in the order of their names.
    pub(crate) fn ids(&self) -> Vec<ConnId> {
        let mut ids: Vec<ConnId> = self.by_id.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// The state of a connection that something happens to; its application is woken with the rest.
    pub(crate) fn shared(&mut self, id: ConnId) -> &Arc<Shared> {
        &self.touch(id).shared
    }

    fn touch(&mut self, id: ConnId) -> &mut Link {
        let Self {
            by_id,
            touched,
            buffers,
            idle_intakes,
        } = self;
        let link = by_id
            .entry(id)
            .or_insert_with(|| Link::new(Arc::new(Shared::new(*buffers, Waiting::default()))));
        if link.intake.is_none() {
            let mut intake = idle_intakes.pop().unwrap_or_default();
            link.shared.lock().rx.open(&mut intake);
            link.intake = Some(intake);
            touched.push(id);
        }
        link
    }

    /// Hands over what has arrived, and wakes the applications that can go on: ends a turn. Gives the connections
    /// that need another at once.
    pub(crate) fn wake(&mut self) -> Vec<ConnId> {
        let mut unfinished = Vec::new();
        for id in self.touched.drain(..) {
            if let Some(link) = self.by_id.get_mut(&id) {
                self.idle_intakes.extend(link.hand_over());
                if link.shared.end_turn() {
                    unfinished.push(id);
                }
            }
        }
        self.idle_intakes.truncate(IDLE_INTAKES);
        unfinished
    }
}

impl Queues for Links {
    fn with_app(&mut self, id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        let Link { shared, intake, .. } = self.touch(id);
        let mut outbox = Out {
            shared,
            state: None,
        };
        run(&mut App {
            outbox: &mut outbox,
            inbox: intake.get_or_insert_default(),
        });
    }
}

/// The sending queue, locked from its first use to the end of the core's call, but not while the application is
/// asked for data.
struct Out<'a> {
    shared: &'a Shared,
    state: Option<MutexGuard<'a, SocketState>>,
}

impl<'a> Out<'a> {
    fn state(&mut self) -> &mut MutexGuard<'a, SocketState> {
        self.state.get_or_insert_with(|| self.shared.lock())
    }
}

impl Outbox for Out<'_> {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        let offer = self.state().peek(now);
        if offer.is_some() {
            return offer;
        }
        let Some((mut source, request)) = self.state().begin_request(now) else {
            return self.state().fill_up(now);
        };
        // Unlocked, so that the application can use its socket.
        self.state = None;
        let answer = source.ask(&request).ok();
        if answer.is_none() {
            self.state().push_event(Event::SourcePanicked);
        }
        if let Some(replaced) = self.state().end_request(source, &request, answer) {
            self.state = None;
            replaced.dismiss();
        }
        let state = self.state();
        let offer = state.peek(now);
        offer.or_else(|| state.fill_up(now))
    }

    fn waiting(&mut self, now: Instant) -> Queued {
        self.state().waiting(now)
    }

    fn expire(&mut self, now: Instant) -> Option<Instant> {
        self.state().expire(now)
    }

    fn backlog(&mut self) -> u64 {
        self.state().backlog()
    }

    fn prepare(&mut self, datagrams: usize) {
        self.state().prepare(datagrams);
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        self.state().claim_into(now, slot, place)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.state().refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.state().on_fate(now, slot, fate);
    }
}
