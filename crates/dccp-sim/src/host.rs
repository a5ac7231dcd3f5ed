//! A host: a real [`Endpoint`] of DCCP with its applications, and the TCP and UDP for comparison.
//!
//! The host connects the endpoint to frames and to applications. It keeps the endpoint's contract: after every
//! input it drains the packets, then the events, then reads the next deadline. It holds no protocol rule.

mod app;
mod flows;
mod watch;

use crate::flow::FlowId;
use crate::frame::{Content, FrameId, IcmpError};
use crate::loss::Loss;
use crate::machine::AckCost;
use crate::net::{Context, Departure};
use crate::node::Node;
use crate::random::{Seed, mix};
use crate::report::Report;
use crate::schedule::{Schedule, earlier};
use crate::source::App;
use crate::tcp::Tcp;
use crate::udp::Udp;
use app::Running;
use core::net::SocketAddr;
use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::cc::safeudp::SendCode;
use dccp_proto::conn::ConnSnapshot;
use dccp_proto::conn::stats::Stats;
use dccp_proto::path::{Flow, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{
    Config, ConnId, ConnectError, Connection, Endpoint, Event, IcmpKind, Instant, KeyedHash,
    ListenError, Queues,
};
use std::collections::BTreeMap;
use watch::Watch;

/// Datagrams that one call hands to the interface at most.
const SEGMENTS_MAX: usize = 64;

/// The keyed hash of a simulated host. It spreads well and is the same on every machine, but it is no secret:
/// the seed determines it.
#[derive(Clone, Copy, Debug)]
pub struct SimHash(u64, u64);

impl SimHash {
    /// The hash of the host with this name.
    pub fn new(seed: Seed, host: &str) -> Self {
        let mut stream = seed.stream(&format!("host {host} hash"));
        Self(stream.bits(), stream.bits())
    }
}

impl KeyedHash for SimHash {
    fn hash(&self, data: &[u8]) -> u128 {
        let half = |key: u64| {
            data.chunks(8)
                .fold(mix(key ^ data.len() as u64), |h, chunk| {
                    let word = chunk.iter().fold(0, |w, &b| w << 8 | u64::from(b));
                    mix(h.wrapping_add(word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
                })
        };
        u128::from(half(self.0)) << 64 | u128::from(half(self.1))
    }
}

/// A host with our DCCP, TCP and UDP.
pub struct Host {
    endpoint: Endpoint,
    listeners: BTreeMap<u16, App>,
    apps: Apps,
    /// Flows that peers began, with the address of the peer.
    accepted: Vec<(FlowId, SocketAddr)>,
    tcp: Tcp,
    udp: Udp,
    /// The next event of each application, by number of the connection.
    timers: Schedule,
    batch: Batch,
}

/// The applications of all connections that there have been.
#[derive(Default)]
struct Apps {
    running: Vec<(ConnId, Running, Watch)>,
    /// The number of each connection that the endpoint knows, by the index of its id.
    numbers: Vec<Option<(ConnId, usize)>>,
    /// Connections with new input or events since their applications last ran.
    touched: Vec<usize>,
    /// Memory for the next list of touched connections.
    spare: Vec<usize>,
    /// Connections to check after this event; empty when checks are off.
    drained: Vec<usize>,
}

impl Host {
    /// A host without connections.
    pub fn new(hash: impl KeyedHash + 'static) -> Self {
        Self {
            endpoint: Endpoint::new(Box::new(hash)),
            listeners: BTreeMap::new(),
            apps: Apps::default(),
            tcp: Tcp::default(),
            udp: Udp::default(),
            accepted: Vec::new(),
            timers: Schedule::default(),
            batch: Batch::for_simulation(SEGMENTS_MAX),
        }
    }

    /// Listens on a port; every connection gets such an application.
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn listen(
        &mut self,
        port: u16,
        services: &[ServiceCode],
        config: Config,
        app: App,
    ) -> Result<(), ListenError> {
        self.endpoint.listen(port, services, config)?;
        self.listeners.insert(port, app);
        Ok(())
    }

    /// Stops listening.
    pub fn unlisten(&mut self, port: u16) {
        self.endpoint.unlisten(port);
    }

    /// Connects, and returns the number of the connection on this host.
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn connect(
        &mut self,
        context: &mut Context<'_>,
        flow: Flow,
        config: Config,
        app: App,
    ) -> Result<usize, ConnectError> {
        let id = self.endpoint.connect(context.now(), flow, config)?;
        let number = self.apps.add(id, app);
        self.drive(context);
        Ok(number)
    }

    /// Waits for one peer and opens the way for it (RFC 5596).
    ///
    /// # Errors
    /// Those of the endpoint.
    pub fn open_simultaneously(
        &mut self,
        context: &mut Context<'_>,
        flow: Flow,
        config: Config,
        app: App,
    ) -> Result<usize, ListenError> {
        let now = context.now();
        let id = self.endpoint.open_simultaneously(now, flow, config)?;
        let number = self.apps.add(id, app);
        self.drive(context);
        Ok(number)
    }

    /// Closes a connection after its queued datagrams have left.
    pub fn close(&mut self, context: &mut Context<'_>, number: usize) {
        let id = self.apps.running[number].0;
        self.endpoint.close(context.now(), id, &mut self.apps);
        self.drive(context);
    }

    /// Ends the writing of an application, then closes after its queued datagrams have left.
    pub fn finish(&mut self, context: &mut Context<'_>, number: usize) {
        self.apps.running[number].1.leave();
        self.close(context, number);
    }

    /// Ends a connection at once.
    pub fn abort(&mut self, context: &mut Context<'_>, number: usize) {
        let (id, running, _) = &mut self.apps.running[number];
        let id = *id;
        running.leave();
        self.endpoint.abort(context.now(), id, &mut self.apps);
        self.drive(context);
    }

    /// Uses the endpoint in a way that has no method here, then drains it.
    pub fn with_endpoint<R>(
        &mut self,
        context: &mut Context<'_>,
        f: impl FnOnce(&mut Endpoint) -> R,
    ) -> R {
        let result = f(&mut self.endpoint);
        self.drive(context);
        result
    }

    /// The number of connections so far, accepted ones included. They are numbered in the order of their begin.
    pub fn connections(&self) -> usize {
        self.apps.running.len()
    }

    /// The report of a connection so far.
    pub fn report(&self, number: usize) -> Report {
        self.apps.running[number].1.report()
    }

    /// A connection, until it is over.
    pub fn connection(&self, number: usize) -> Option<&Connection> {
        self.endpoint.connection(self.apps.running[number].0)
    }

    /// A connection at this moment, until it is over.
    pub fn snapshot(&self, number: usize) -> Option<ConnSnapshot> {
        self.connection(number).map(Connection::snapshot)
    }

    /// Counters of a connection: of one that is over, as they last were.
    pub fn stats(&self, number: usize) -> Stats {
        let (_, running, _) = &self.apps.running[number];
        self.connection(number)
            .map_or_else(|| running.last_stats(), Connection::stats)
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Drains the endpoint after any input and schedules the next wake-up.
    fn drive(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        self.apps.drained.clear();
        loop {
            self.transmit(context);
            let had_events = self.take_events(now);
            let has_news = self.run_touched(now, context.is_checked());
            if !had_events && !has_news {
                break;
            }
        }
        self.arrange(context);
    }

    /// Schedules a wake-up for when the first timer expires.
    fn arrange(&mut self, context: &mut Context<'_>) {
        let dccp = earlier(self.endpoint.poll_timeout(), self.timers.next_at());
        let others = earlier(self.tcp.next_at(), self.udp.next_at());
        context.wake_at(earlier(dccp, others));
    }

    fn transmit(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        loop {
            let segments = context.may_send_dccp().min(SEGMENTS_MAX);
            if segments == 0 {
                return;
            }
            self.batch.set_segments_max(segments);
            if !self
                .endpoint
                .poll_transmit(now, &mut self.apps, &mut self.batch)
            {
                return;
            }
            if let Some((&path, ecn)) = self.batch.destination() {
                for datagram in self.batch.datagrams() {
                    if context.drops_at_interface() {
                        self.endpoint.on_send_failed(&path, datagram.bytes);
                    }
                    context.send(&Departure {
                        path,
                        ecn,
                        may_fragment: self.batch.may_fragment(),
                        datagram,
                    });
                }
            }
            self.batch.clear();
        }
    }

    fn take_events(&mut self, now: Instant) -> bool {
        let mut some = false;
        while let Some((id, event)) = self.endpoint.poll_event() {
            some = true;
            let number = self.apps.number(id);
            let running = &mut self.apps.running[number].1;
            match &event {
                Event::Accepted { port, .. } => {
                    running.set_app(self.listeners.get(port).cloned().unwrap_or_default());
                    if let Some(flow) = self.endpoint.connection(id).map(Connection::flow) {
                        let peer = SocketAddr::new(flow.path.remote, flow.remote_port);
                        self.accepted.push((FlowId::Dccp(number), peer));
                    }
                }
                Event::Connected => {
                    running.open(now);
                    if let Some(connection) = self.endpoint.connection(id) {
                        running.set_mps(connection.mps());
                    }
                }
                Event::Mps(mps) => running.set_mps(*mps),
                Event::SafeUdp(SendCode::Congestion {
                    advised_bits_per_s, ..
                }) => running.advise(now, *advised_bits_per_s),
                Event::PeerClosed if running.closes_after_peer() => {
                    self.endpoint.close(now, id, &mut self.apps);
                }
                Event::Closed(_) => {
                    // The endpoint forgets the connection with the next poll.
                    let stats = self.endpoint.connection(id).map(Connection::stats);
                    running.end(now, stats.as_ref());
                }
                _ => {}
            }
            let report = &mut self.apps.running[number].1.receive.report;
            report.on_event(event);
            self.apps.touched.push(number);
        }
        some
    }

    /// Runs the applications of touched connections: they write, read and close. Returns whether the
    /// endpoint must be drained again.
    fn run_touched(&mut self, now: Instant, is_checked: bool) -> bool {
        let mut has_news = false;
        let spare = core::mem::take(&mut self.apps.spare);
        let mut touched = core::mem::replace(&mut self.apps.touched, spare);
        touched.sort_unstable();
        touched.dedup();
        for &number in &touched {
            let (id, running, watch) = &mut self.apps.running[number];
            let id = *id;
            if is_checked {
                watch.look(self.endpoint.connection(id), now, running.sent());
            } else {
                watch.skip(running.sent());
            }
            if running.run(now) {
                self.endpoint.on_data_ready(id);
                has_news = true;
            }
            if let Some(is_slow) = running.receive.is_slow() {
                self.endpoint.set_slow_receiver(id, is_slow);
            }
            if running.wants_close() && watch.closes_once() {
                self.endpoint.close(now, id, &mut self.apps);
                has_news = true;
            }
            let next = self.apps.running[number].1.next_at();
            self.timers.set(timer(number), next, now);
        }
        if is_checked {
            self.apps.drained.extend_from_slice(&touched);
        }
        touched.clear();
        self.apps.spare = touched;
        has_news
    }
}

impl Host {
    /// A datagram of DCCP arrived, or an ICMP error about one.
    // Out of line: its large stack frame would slow the other transports.
    #[inline(never)]
    fn on_dccp(&mut self, context: &mut Context<'_>, id: FrameId, path: Path) {
        let now = context.now();
        let frame = context.frame(id);
        match frame.content {
            Content::Dccp => {
                let (ecn, datagram) = (frame.ecn, frame.datagram());
                self.endpoint.on_host_losses(context.host_losses());
                self.endpoint
                    .handle_datagram(now, &path, ecn, &datagram, &mut self.apps);
            }
            Content::Icmp { error, .. } => {
                let kind = match error {
                    IcmpError::TooBig { mtu } => IcmpKind::TooBig { mtu },
                    IcmpError::Unreachable { kind, code } => IcmpKind::Unreachable { kind, code },
                };
                let quoted = &frame.bytes;
                let error = dccp_proto::IcmpError { path, quoted, kind };
                self.endpoint.handle_icmp(now, &error, &mut self.apps);
            }
            Content::Tcp(_) | Content::Udp(_) => {}
        }
        context.deliver(id);
        let touched = self.apps.touched.last().copied();
        self.drive(context);
        if let (Some(cost), Some(number)) = (context.ack_cost(), touched) {
            context.work(self.work_of_ack(&cost, number));
        }
    }

    /// The processor time of a packet that a connection received: none if the connection never sent data.
    fn work_of_ack(&self, cost: &AckCost, number: usize) -> Duration {
        self.connection(number)
            .filter(|c| c.stats().counters.data_sent > 0)
            .map_or(Duration::ZERO, |c| {
                cost.each + cost.dccp_walk * c.data_in_flight()
            })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "memory ends before 2^32 connections"
)]
const fn timer(number: usize) -> u32 {
    number as u32
}

impl Apps {
    fn add(&mut self, id: ConnId, app: App) -> usize {
        self.running.push((id, Running::new(app), Watch::default()));
        let number = self.running.len() - 1;
        if self.numbers.len() <= id.index() {
            self.numbers.resize(id.index() + 1, None);
        }
        self.numbers[id.index()] = Some((id, number));
        number
    }

    /// The number of a connection. The first call for an accepted connection assigns it.
    fn number(&mut self, id: ConnId) -> usize {
        match self.numbers.get(id.index()) {
            Some(&Some((known, number))) if known == id => number,
            _ => self.add(id, App::default()),
        }
    }
}

impl Queues for Apps {
    fn with_app(&mut self, id: ConnId, run: &mut dyn FnMut(&mut dccp_proto::conn::App<'_>)) {
        let number = self.number(id);
        if self.touched.last() != Some(&number) {
            self.touched.push(number);
        }
        let running = &mut self.running[number].1;
        run(&mut dccp_proto::conn::App {
            outbox: &mut running.send,
            inbox: &mut running.receive,
        });
    }
}

impl Node for Host {
    fn on_frame(&mut self, context: &mut Context<'_>, id: FrameId) {
        if !context.is_here(id) {
            return context.lose(id, Loss::Stranger);
        }
        let frame = context.frame(id);
        match frame.content {
            Content::Tcp(segment) => self.on_segment(context, id, &segment),
            Content::Udp(datagram) => {
                self.on_datagram(context, id, frame.path_of_receiver(), &datagram);
            }
            Content::Dccp | Content::Icmp { .. } => {
                self.on_dccp(context, id, frame.path_of_receiver());
            }
        }
    }

    fn on_wake(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now, &mut self.apps);
        }
        // Applications whose time has come write before the endpoint sends.
        let mut is_due = false;
        while let Some(turn) = self.timers.pop_until(now) {
            self.apps.touched.push(turn.actor() as usize);
            is_due = true;
        }
        if is_due {
            self.run_touched(now, context.is_checked());
        }
        self.tcp.on_wake(context);
        self.udp.on_wake(context);
        self.drive(context);
    }

    fn check(&self) -> Result<(), String> {
        for &number in &self.apps.drained {
            let (_, running, watch) = &self.apps.running[number];
            running.check()?;
            watch.verdict()?;
        }
        self.tcp.check()
    }
}

#[cfg(test)]
mod tests;
