//! The queues of the connections of one endpoint: what the core sees of the applications.

use crate::options::{Buffers, Waiting};
use crate::shared::Shared;
use dccp_io::PortClaim;
use dccp_proto::conn::App;
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::Payload;
use dccp_proto::{ConnId, Instant, Queues};
use std::collections::HashMap;
use std::sync::Arc;

/// The connections of an endpoint and the state that each shares with its application.
///
/// A connection that a client opens begins before we are told of it (its first packet can carry
/// data), so an unknown one gets its state when the core first asks for it.
pub(crate) struct Links {
    by_id: HashMap<ConnId, Link>,
    /// Connections that something happened to since the last [`wake`](Self::wake).
    touched: Vec<ConnId>,
    /// Buffers of the connections that we are not told of yet.
    pub(crate) buffers: Buffers,
}

/// One connection.
struct Link {
    shared: Arc<Shared>,
    outbox: Out,
    inbox: In,
    /// Keeps the DCCP port this program's.
    claim: Option<Arc<PortClaim>>,
    is_touched: bool,
}

impl Link {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            outbox: Out(shared.clone()),
            inbox: In(shared.clone()),
            shared,
            claim: None,
            is_touched: false,
        }
    }
}

impl Links {
    pub(crate) fn new(buffers: Buffers) -> Self {
        Self {
            by_id: HashMap::new(),
            touched: Vec::new(),
            buffers,
        }
    }

    /// Adds a connection that this end opens.
    pub(crate) fn insert(&mut self, id: ConnId, shared: Arc<Shared>, claim: PortClaim) {
        self.by_id.insert(id, Link::new(shared));
        self.keep(id, &Arc::new(claim));
    }

    /// Keeps a DCCP port as long as the connection lives.
    pub(crate) fn keep(&mut self, id: ConnId, claim: &Arc<PortClaim>) {
        self.touch(id).claim = Some(claim.clone());
    }

    /// Whether a connection lives.
    pub(crate) fn holds(&self, id: ConnId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Forgets a connection.
    pub(crate) fn remove(&mut self, id: ConnId) -> Option<Arc<Shared>> {
        self.by_id.remove(&id).map(|link| link.shared)
    }

    /// Whether there is no connection.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
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
        } = self;
        let link = by_id
            .entry(id)
            .or_insert_with(|| Link::new(Arc::new(Shared::new(*buffers, Waiting::default()))));
        if !core::mem::replace(&mut link.is_touched, true) {
            touched.push(id);
        }
        link
    }

    /// Wakes the applications of the connections that something happened to.
    pub(crate) fn wake(&mut self) {
        for id in self.touched.drain(..) {
            if let Some(link) = self.by_id.get_mut(&id) {
                link.is_touched = false;
                link.shared.wake();
            }
        }
    }
}

impl Queues for Links {
    fn app(&mut self, id: ConnId) -> App<'_> {
        let link = self.touch(id);
        App {
            outbox: &mut link.outbox,
            inbox: &mut link.inbox,
        }
    }
}

/// The application's datagrams as the core sees them.
struct Out(Arc<Shared>);

impl Outbox for Out {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        let mut state = self.0.lock();
        let offer = state.tx.peek(now);
        state.is_starving = offer.is_none();
        offer
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, buf: &mut [u8]) -> bool {
        self.0.lock().tx.claim_into(now, slot, buf)
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.0.lock().tx.refuse(now, slot, fate);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.0.lock().tx.on_fate(now, slot, fate);
    }
}

/// Where the core puts received data.
struct In(Arc<Shared>);

impl Inbox for In {
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted {
        self.0.lock().rx.push(datagram, meta)
    }
}
