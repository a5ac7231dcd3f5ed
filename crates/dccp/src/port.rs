//! One transport with its endpoint, its connections and its listeners.

use crate::addr::random_dccp_port;
use crate::budget::EngineBudget;
use crate::clock;
use crate::command::{Connect, Listen};
use crate::error::{BindError, ConnectError, OptionError};
use crate::group::{Need, Seat};
use crate::incoming::{Accepted, Incoming, ListenerEvent};
use crate::inspection::Inspection;
use crate::lateness::Lateness;
use crate::links::Links;
use crate::names::{ConnRef, Opened, PortKey};
use crate::request::Request;
use crate::stats::EngineStats;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use dccp_io::{
    Carrier, Encapsulation, HostLosses, OpenError, Poller, PortClaim, Ready, RecvBuffer, Token,
    Transport,
};
use dccp_proto::batch::Batch;
use dccp_proto::cc::{HostDrops, HostLossWish};
use dccp_proto::path::{Flow, Path};
use dccp_proto::wire::{ResetCode, ServiceCode};
use dccp_proto::{
    self as proto, CloseReason, Config, ConnId, Endpoint, Event, Instant, ListenError,
};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

mod carriage;
mod events;
mod refusal;
#[cfg(test)]
mod tests;

use carriage::{Carriage, News, copy_of};

/// A transport and what runs over it.
pub(crate) struct Port {
    pub(crate) key: PortKey,
    pub(crate) encapsulation: Encapsulation,
    /// Other threads have sockets of the same UDP port.
    pub(crate) seat: Option<Seat>,
    carriage: Carriage,
    endpoint: Endpoint,
    links: Links,
    served: Vec<Served>,
    /// Connections whose handshake is not complete, and who is to have them then.
    half_open: HashMap<ConnId, (Accepted, Arc<Incoming>)>,
    batch: Batch,
    /// Where the batch stopped, if the transport had no room.
    blocked_at: Option<usize>,
    /// The connection of the batch; `None` for answers to strangers.
    sender: Option<ConnId>,
    lateness: Lateness,
    is_readable: bool,
    has_errors: bool,
    /// A flow rests in TIMEWAIT until then, for twice the maximum segment lifetime.
    rests_until: Option<Instant>,
    msl: Duration,
    /// The deadline that the driver knows of.
    pub(crate) deadline: Option<Instant>,
}

/// A DCCP port with a listener.
struct Served {
    local: IpAddr,
    dccp_port: u16,
    services: Vec<ServiceCode>,
    config: Config,
    incoming: Arc<Incoming>,
    thread: usize,
    claim: Arc<PortClaim>,
}

/// Purpose of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Occupation {
    /// Connections or listeners.
    Busy,
    /// Other threads' connections: without it their packets would go elsewhere.
    Shared,
    /// It keeps its address from other programs while a flow rests (4340-8.3-2: TIMEWAIT).
    Resting,
    /// Nothing.
    Idle,
}

/// The drops of the host are read this often while CCID 248 receives, and more often while packets are missing.
const HOST_LOSS_PERIOD: Duration = Duration::from_millis(100);

/// DCCP ports tried for a new connection before the local ports count as exhausted.
const PORT_ATTEMPTS: usize = 64;

/// Its life.
impl Port {
    pub(crate) fn new(
        key: PortKey,
        encapsulation: Encapsulation,
        gso: bool,
        transport: Box<dyn Transport>,
        endpoint: Endpoint,
        budget: Arc<EngineBudget>,
    ) -> Self {
        let carriage = Carriage::new(token(key), transport);
        // Over IP several packets go in one call, but stay single packets.
        let segments_max = if gso || encapsulation == Encapsulation::Ip {
            carriage.segments_max()
        } else {
            1
        };
        Self {
            key,
            encapsulation,
            seat: None,
            carriage,
            endpoint,
            links: Links::new(budget),
            served: Vec::new(),
            half_open: HashMap::new(),
            batch: Batch::new(segments_max),
            blocked_at: None,
            sender: None,
            lateness: Lateness::default(),
            is_readable: false,
            has_errors: false,
            rests_until: None,
            msl: Duration::ZERO,
            deadline: None,
        }
    }

    pub(crate) fn watch(&mut self, poller: &mut Poller) -> io::Result<()> {
        self.carriage.watch(poller)
    }

    pub(crate) fn unwatch(&mut self, poller: &mut Poller) {
        self.carriage.unwatch(poller);
    }

    /// The bound address and UDP port.
    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.carriage.local_addr()
    }

    /// Its present purpose, which it also reports to the other threads.
    pub(crate) fn occupation(&self) -> Occupation {
        let is_busy =
            !self.links.is_empty() || !self.served.is_empty() || self.blocked_at.is_some();
        let own = match self.rests_until {
            _ if is_busy => Need::Work,
            Some(_) => Need::Rest,
            None => Need::Nothing,
        };
        let group = self.seat.as_ref().map_or(own, |seat| seat.say(own));
        match (own, group) {
            (Need::Work, _) => Occupation::Busy,
            // The address is free only when all sockets have gone, and who listens again needs them all.
            (_, Need::Work) | (Need::Nothing, Need::Rest) => Occupation::Shared,
            (Need::Rest, _) => Occupation::Resting,
            (Need::Nothing, Need::Nothing) => Occupation::Idle,
        }
    }

    /// Connections that have not ended.
    pub(crate) fn connections(&self) -> usize {
        self.links.len()
    }

    /// Counters of the port since it was opened.
    pub(crate) fn stats(&mut self) -> EngineStats {
        let (protocol, resets) = self.endpoint.totals();
        EngineStats {
            protocol,
            resets,
            transport: self.carriage.counters(),
            connections: self.connections() as u64,
        }
    }

    /// The engine ends, and with it all that runs over the port.
    pub(crate) fn fail(&mut self) {
        self.blocked_at = None;
        self.rests_until = None;
        for id in self.links.ids() {
            self.end(id, CloseReason::Aborted(ResetCode::UNSPECIFIED));
        }
        for served in self.served.drain(..) {
            served.incoming.close(served.thread);
        }
    }
}

/// Commands.
impl Port {
    /// Opens a connection over `path`, from the requested DCCP port or one that is free, chosen at random.
    pub(crate) fn connect(
        &mut self,
        carrier: &Carrier,
        path: Path,
        connect: &Connect,
        config: &Arc<Config>,
    ) -> Result<Opened, ConnectError> {
        let attempts = connect.dccp_port.map_or(PORT_ATTEMPTS, |_| 1);
        for _ in 0..attempts {
            let local_port = match connect.dccp_port {
                Some(port) => port.get(),
                None => random_dccp_port()?,
            };
            let flow = Flow {
                path,
                local_port,
                remote_port: connect.remote.dccp_port,
            };
            let Some(claim) = claim(carrier, flow.local_port)? else {
                continue;
            };
            match self.endpoint.connect(clock::now(), flow, config.clone()) {
                Ok(conn) => {
                    self.msl = self.msl.max(config.msl);
                    self.links.insert(conn, connect.shared.clone(), claim);
                    return Ok(self.opened(conn, flow));
                }
                Err(proto::ConnectError::FlowInUse) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(ConnectError::NoRoom)
    }

    fn opened(&self, conn: ConnId, flow: Flow) -> Opened {
        let port = self.key;
        let scope_id = match self.local_addr() {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(v6) => v6.scope_id(),
        };
        Opened {
            conn: ConnRef { port, conn },
            flow,
            scope_id,
        }
    }

    /// Listens for connections to `local`, which may be the address for all.
    pub(crate) fn listen(
        &mut self,
        carrier: &Carrier,
        local: IpAddr,
        listen: &Listen,
    ) -> Result<(), BindError> {
        let Listen {
            dccp_port,
            services,
            config,
            incoming,
            thread,
            ..
        } = listen;
        let in_use = || BindError::InUse { port: *dccp_port };
        let held = self.served.iter().find(|s| s.dccp_port == *dccp_port);
        if held.is_some() && listen.is_any_port {
            return Err(in_use());
        }
        let claim = match held {
            Some(served) => served.claim.clone(),
            None => Arc::new(claim(carrier, *dccp_port)?.ok_or_else(in_use)?),
        };
        self.endpoint
            .listen(*dccp_port, services, config.clone())
            .map_err(|e| match e {
                ListenError::ServiceCodeInUse => in_use(),
                other => OptionError::of_core(&other.to_string()).into(),
            })?;
        self.links.buffers = incoming.buffers;
        self.msl = self.msl.max(config.msl);
        self.served.push(Served {
            local,
            dccp_port: *dccp_port,
            services: services.clone(),
            config: config.clone(),
            incoming: incoming.clone(),
            thread: *thread,
            claim,
        });
        Ok(())
    }

    /// Stops what was listened for with `incoming`. Other listeners of the same DCCP port stay.
    pub(crate) fn unlisten(&mut self, incoming: &Arc<Incoming>) {
        let is_it = |s: &Served| Arc::ptr_eq(&s.incoming, incoming);
        let Some(index) = self.served.iter().position(is_it) else {
            return;
        };
        let belongs_to_listener = |(id, (_, to)): (&ConnId, &(_, Arc<Incoming>))| {
            Arc::ptr_eq(to, incoming).then_some(*id)
        };
        let orphaned: Vec<ConnId> = self
            .half_open
            .iter()
            .filter_map(belongs_to_listener)
            .collect();
        for id in orphaned {
            self.request(id, Request::Abort);
        }
        let dccp_port = self.served.remove(index).dccp_port;
        self.endpoint.unlisten(dccp_port);
        for other in self.served.iter().filter(|s| s.dccp_port == dccp_port) {
            // They were accepted before, so they are again.
            let _ = self
                .endpoint
                .listen(dccp_port, &other.services, other.config.clone());
        }
    }

    /// Does what a socket asks, if its connection still lives.
    pub(crate) fn request(&mut self, id: ConnId, request: Request) {
        if !self.links.holds(id) {
            return;
        }
        let now = clock::now();
        match request {
            Request::DataReady => self.endpoint.on_data_ready(id),
            Request::Close => self.endpoint.close(now, id, &mut self.links),
            Request::Abort => self.endpoint.abort(now, id, &mut self.links),
            Request::RateHint(reply) => {
                let shared = self.links.shared(id);
                let backlog = shared.backlog(&shared.lock());
                let connection = self.endpoint.connection(id);
                // The asking thread may have ended.
                let _ = reply.send(connection.and_then(|c| c.rate_hint(now, backlog)));
            }
            Request::SlowReceiver(is_slow) => self.endpoint.set_slow_receiver(id, is_slow),
            Request::Inspect(reply) => {
                if let Some(inspection) = self.inspect(id) {
                    // The asking thread may have ended.
                    let _ = reply.send(inspection);
                }
            }
        }
    }

    /// Whether [`mend`](Self::mend) is due.
    pub(crate) fn needs_mending(&self, now: Instant) -> bool {
        self.carriage.is_retry_due(now)
    }

    /// Whether [`mend`](Self::mend) needs a new socket.
    pub(crate) fn lacks_socket(&self) -> bool {
        self.carriage.lacks_socket()
    }

    /// Mends the port after a failure of its socket, with a new one where it lacks one.
    pub(crate) fn mend(
        &mut self,
        now: Instant,
        poller: &mut Poller,
        socket: Option<Result<Box<dyn Transport>, OpenError>>,
    ) {
        self.is_readable |= self.carriage.retry(now, poller, socket);
    }

    fn inspect(&mut self, id: ConnId) -> Option<Inspection> {
        let connection = self.endpoint.connection(id)?;
        Some(Inspection {
            snapshot: connection.snapshot(),
            connection: connection.stats(),
            resets: connection.resets(),
            endpoint: *self.endpoint.stats(),
            pacing: self.lateness.sum_up(),
            host_drops: self.links.host_drops(id),
            transport: self.carriage.counters(),
        })
    }
}

/// Turns.
impl Port {
    /// The poller has news.
    pub(crate) fn on_ready(&mut self, ready: Ready) {
        self.is_readable |= ready.readable;
        self.has_errors |= ready.error;
    }

    /// Takes one batch in, expires timers, sends what may leave, and notifies the applications. Returns
    /// whether there is more to do at once.
    ///
    /// The whole turn happens at one moment: so pacing bounds what it sends, however slow the
    /// computer is, and the contract of the core holds: outputs are drained until they are empty.
    pub(crate) fn turn(
        &mut self,
        now: Instant,
        poller: &mut Poller,
        buffer: &mut RecvBuffer,
        losses: &mut HostLosses,
    ) -> bool {
        // Data first: a flood of ICMP errors must not starve them.
        if self.is_readable {
            self.read(now, poller, buffer, losses);
        }
        if self.has_errors {
            self.read_errors(now, buffer);
        }
        self.carriage.tend_icmp(now);
        if let Some(news) = self.carriage.take_news() {
            self.announce(&news);
        }
        if self.next_deadline().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now, &mut self.links);
        }
        // Before anything is sent: who is refused gets no Response first.
        self.take_events();
        self.write(now, poller);
        self.take_events();
        let endpoint = &self.endpoint;
        let code_of = |id| endpoint.connection(id).and_then(|c| c.send_code(now));
        let unfinished = self.links.wake(code_of);
        for id in &unfinished {
            self.endpoint.on_data_ready(*id);
        }
        self.rests_until = self.rests_until.filter(|until| *until > now);
        self.is_readable || self.has_errors || !unfinished.is_empty()
    }

    /// The deadline of its next turn. While the socket has no room nothing can be drained, so timers
    /// wait too.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let socket = self.carriage.deadline();
        if self.blocked_at.is_some() {
            return socket;
        }
        let due = self.endpoint.poll_timeout();
        due.into_iter().chain(self.rests_until).chain(socket).min()
    }

    fn read(
        &mut self,
        now: Instant,
        poller: &mut Poller,
        buffer: &mut RecvBuffer,
        losses: &mut HostLosses,
    ) {
        self.report_host_losses(losses.total());
        let (endpoint, links) = (&mut self.endpoint, &mut self.links);
        self.is_readable = self.carriage.recv(now, poller, buffer, &mut |mut r| {
            endpoint.handle_train(now, &r.path, r.ecn, &mut r.datagrams, links);
        });
        let pause = match self.endpoint.take_host_loss_wish() {
            HostLossWish::None => return,
            HostLossWish::Regular => HOST_LOSS_PERIOD,
            HostLossWish::Now => Duration::ZERO,
        };
        self.report_host_losses(losses.read(now, pause, clock::now));
    }

    /// Tells CCID 248 what this host has dropped: in the socket, and below it.
    fn report_host_losses(&mut self, below: u64) {
        let in_socket = self.carriage.counters().recv_overflowed.unwrap_or(0);
        self.endpoint.on_host_losses(HostDrops { in_socket, below });
    }

    fn read_errors(&mut self, now: Instant, buffer: &mut RecvBuffer) {
        let (endpoint, links) = (&mut self.endpoint, &mut self.links);
        self.has_errors = self.carriage.recv_errors(now, buffer, &mut |error| {
            endpoint.handle_icmp(now, &error, links);
        });
    }

    /// 4340-18-10: tells the applications that the socket is lost, or works again.
    fn announce(&mut self, news: &News) {
        let event = match news {
            News::SocketLost(error) => Event::SocketLost {
                os_error: error.raw_os_error().unwrap_or(0),
            },
            News::SocketRestored => Event::SocketRestored,
        };
        for id in self.links.ids() {
            self.links.shared(id).lock().push_event(event.clone());
        }
        let place = self.local_addr();
        for served in &self.served {
            let place = (place, served.dccp_port).into();
            served.incoming.push_event(match news {
                News::SocketLost(error) => ListenerEvent::SocketLost {
                    place,
                    error: copy_of(error),
                },
                News::SocketRestored => ListenerEvent::SocketRestored { place },
            });
        }
    }

    /// Sends batches until there are none, or the socket has no room.
    fn write(&mut self, now: Instant, poller: &mut Poller) {
        if let Some(from) = self.blocked_at {
            self.send_batch(from);
        }
        while self.blocked_at.is_none() {
            self.batch.clear();
            self.links.last = None;
            if !self
                .endpoint
                .poll_transmit(now, &mut self.links, &mut self.batch)
            {
                break;
            }
            self.sender = self.links.last;
            if let Some(at) = self.batch.scheduled() {
                self.lateness.add(clock::now() - at);
            }
            self.send_batch(0);
        }
        let is_blocked = self.blocked_at.is_some();
        self.carriage.want_room(now, poller, is_blocked);
    }

    fn send_batch(&mut self, from: usize) {
        let sent = self.carriage.send(&self.batch, from);
        self.blocked_at = (!sent.is_done(&self.batch)).then_some(sent.next);
        if let Some(refused) = sent.dropped {
            self.on_refused(refused);
        }
    }
}

/// The poller's name of a port.
pub(crate) fn token(key: PortKey) -> Token {
    Token(usize::try_from(key.0).unwrap_or(usize::MAX))
}

/// Makes a DCCP port this program's; `None` if it is another's.
fn claim(carrier: &Carrier, port: u16) -> io::Result<Option<PortClaim>> {
    match carrier.claim(port) {
        Ok(claim) => Ok(Some(claim)),
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(e) => Err(e),
    }
}
