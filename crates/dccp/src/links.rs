//! The queues of the connections of one endpoint: what the core sees of the applications.
//!
//! Locks are few: for sending one for each batch and each acknowledgement, for receiving two for each
//! turn of the engine.

use crate::budget::EngineBudget;
use crate::host_drops::HostDrops;
use crate::limits::RECV_BYTES_UNACCEPTED;
use crate::recv_buffer::Intake;
use crate::settings::{Buffers, Waiting};
use crate::shared::Shared;
use crate::shared::outbox::SocketOutbox;
use dccp_io::{LocalDrop, PortClaim};
use dccp_proto::cc::safeudp::SendCode;
use dccp_proto::conn::App;
use dccp_proto::{ConnId, Queues};
use std::collections::HashMap;
use std::sync::Arc;

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
    /// The budget that all connections of the engine share.
    engine: Arc<EngineBudget>,
    /// The connection whose queues the core used last.
    pub(crate) last: Option<ConnId>,
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
    host_drops: HostDrops,
    /// The control reports to the application (CCID 248).
    reports_codes: bool,
}

/// Intakes kept for the next turn.
const IDLE_INTAKES: usize = 16;

impl Link {
    fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            intake: None,
            claim: None,
            host_drops: HostDrops::default(),
            reports_codes: false,
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
    pub(crate) fn new(engine: Arc<EngineBudget>) -> Self {
        Self {
            by_id: HashMap::new(),
            touched: Vec::new(),
            buffers: Buffers::default(),
            engine,
            last: None,
            idle_intakes: Vec::new(),
        }
    }

    /// Adds a connection that this end opens.
    pub(crate) fn insert(&mut self, id: ConnId, shared: Arc<Shared>, claim: PortClaim) {
        shared.lock().rx.account.join(self.engine.recv.clone());
        self.by_id.insert(id, Link::new(shared));
        self.keep(id, &Arc::new(claim));
    }

    /// The budget of the engine.
    pub(crate) fn engine(&self) -> &Arc<EngineBudget> {
        &self.engine
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

    /// Counts packets of a connection that this host did not send.
    pub(crate) fn count_host_drops(&mut self, id: ConnId, drops: LocalDrop) {
        if let Some(link) = self.by_id.get_mut(&id) {
            link.host_drops.count(drops);
        }
    }

    /// Packets of a connection that this host did not send.
    pub(crate) fn host_drops(&self, id: ConnId) -> HostDrops {
        let link = self.by_id.get(&id);
        link.map_or_else(HostDrops::default, |link| link.host_drops)
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
            engine,
            idle_intakes,
            ..
        } = self;
        let link = by_id.entry(id).or_insert_with(|| {
            let buffers = Buffers {
                recv_bytes: RECV_BYTES_UNACCEPTED,
                ..*buffers
            };
            let shared = Shared::new(buffers, Waiting::default());
            shared.lock().rx.account.join(engine.recv.clone());
            Link::new(Arc::new(shared))
        });
        if link.intake.is_none() {
            let mut intake = idle_intakes.pop().unwrap_or_default();
            link.shared.lock().rx.open(&mut intake);
            link.intake = Some(intake);
            touched.push(id);
        }
        link
    }

    /// The control of a connection reports to the application (CCID 248).
    pub(crate) fn report_codes(&mut self, id: ConnId) {
        self.touch(id).reports_codes = true;
    }

    /// Hands over what has arrived, and wakes the applications that can go on: ends a turn. Gives the connections
    /// that need another at once. `code_of` gives the report of a connection's control.
    pub(crate) fn wake(&mut self, code_of: impl Fn(ConnId) -> Option<SendCode>) -> Vec<ConnId> {
        let mut unfinished = Vec::new();
        for id in self.touched.drain(..) {
            if let Some(link) = self.by_id.get_mut(&id) {
                self.idle_intakes.extend(link.hand_over());
                if link.reports_codes
                    && let Some(code) = code_of(id)
                {
                    link.shared.lock().send_code = Some(code);
                }
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
        self.last = Some(id);
        let Link { shared, intake, .. } = self.touch(id);
        run(&mut App {
            outbox: &mut SocketOutbox::new(shared),
            inbox: intake.get_or_insert_default(),
        });
    }
}
