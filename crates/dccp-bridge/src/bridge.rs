//! The loop of one side: UDP sockets, connections, and the clock.

mod open;
mod table;

use crate::cli::{Plan, WhenFull};
use crate::context::Context;
use crate::files::flows_possible;
use crate::flow::{Drained, Flow, Outlet};
use crate::limits::{ROUNDS, SAMPLES_PER_TICK, TICK, WARN_EVERY};
use crate::publish::{FlowRate, Metrics, Publisher};
use crate::udp::{AppAddr, Intake, UdpPort};
use core::time::Duration;
use dccp::{AcceptError, Instant, Socket, clock};
use dccp_cli::log::{Log, print};
use dccp_cli::{Failure, exit, interrupt};
use mio::{Events, Poll, Registry, Token};
use open::{Door, Opened};
use sd_notify::NotifyState;
use std::collections::{BTreeMap, HashMap};
use std::io::ErrorKind;
use table::{Place, Table};

/// The longest wait for connections to end when the program ends.
const END_MAX: Duration = Duration::from_secs(1);

/// Carries datagrams until the program is interrupted. Returns the exit code.
///
/// # Errors
/// An address, a file or a socket cannot be opened.
pub(crate) fn run(plan: &Plan) -> Result<u8, Failure> {
    interrupt::listen()?;
    let poll = Poll::new().map_err(|e| no_poll(&e))?;
    let registry = poll.registry().try_clone().map_err(|e| no_poll(&e))?;
    let max_flows = flows_possible(plan.max_flows);
    let opened = open::open(plan, &registry)?;
    let publisher = Publisher::open(plan.rate_file.as_deref(), plan.rate_socket.as_deref())?;
    let metrics = Metrics::default();
    // It offers metrics until it is dropped at the end.
    let server = plan.metrics.map(|at| {
        dccp_metrics::Server::start(at, metrics.registry()).map_err(|e| {
            Failure::run(
                format!("--metrics {at}: cannot be opened: {e}"),
                "choose another port, or an address of this host",
            )
        })
    });
    let server = server.transpose()?;
    print(&opened.banner);
    if let Some(server) = &server {
        print(&format!(
            "  metrics: http://{}/metrics",
            server.local_addr()
        ));
    }
    if max_flows < plan.max_flows {
        print(&format!(
            "  --max-flows {}: this system's limit of open files permits {max_flows}",
            plan.max_flows
        ));
    }
    // A service manager that does not listen is no reason to end.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    let mut bridge = Bridge::new(plan, poll, registry, opened, publisher, metrics, max_flows);
    bridge.work()?;
    bridge.end();
    Ok(exit::INTERRUPTED)
}

fn no_poll(e: &std::io::Error) -> Failure {
    Failure::run(
        format!("the system gives no event queue: {e}"),
        "raise this system's limits of open files",
    )
}

struct Bridge {
    poll: Poll,
    door: Door,
    /// The program that datagrams go to, on the listening side.
    target: core::net::SocketAddr,
    context: Context,
    flows: Table,
    by_app: HashMap<AppAddr, usize>,
    max_flows: usize,
    idle: Duration,
    flows_seen: u64,
    /// Datagrams that found the table full, since the last warning.
    unplaced: u64,
    warned: Option<Instant>,
    /// The last warning about datagrams that programs did not take.
    complained: Option<Instant>,
    intake: Intake,
    outlet: Outlet,
    /// Sockets that may have more.
    pending: Vec<Token>,
    next_tick: Instant,
    /// The place that is sampled next.
    cursor: usize,
    rates: BTreeMap<usize, FlowRate>,
    publisher: Publisher,
}

impl Bridge {
    fn new(
        plan: &Plan,
        poll: Poll,
        registry: Registry,
        opened: Opened,
        publisher: Publisher,
        metrics: Metrics,
        max_flows: usize,
    ) -> Self {
        Self {
            poll,
            door: opened.door,
            target: plan.udp,
            context: Context {
                options: opened.options,
                peers: opened.peers,
                max_age: plan.max_age,
                queue: plan.queue,
                drops_oldest: plan.when_full == WhenFull::Oldest,
                registry,
                metrics,
                log: Log::default(),
                not_taken: 0,
                broken: None,
            },
            flows: Table::default(),
            by_app: HashMap::new(),
            max_flows,
            idle: plan.idle,
            flows_seen: 0,
            unplaced: 0,
            warned: None,
            complained: None,
            intake: Intake::new(),
            outlet: Outlet::new(),
            pending: Vec::new(),
            next_tick: Instant::ZERO,
            cursor: 0,
            rates: BTreeMap::new(),
            publisher,
        }
    }

    fn work(&mut self) -> Result<(), Failure> {
        let mut events = Events::with_capacity(1024);
        while !interrupt::is_pressed() {
            if let Some(reason) = self.context.broken.take() {
                return Err(Failure::run(reason, "start the bridge again"));
            }
            let now = clock::now();
            let wait = if self.pending.is_empty() {
                self.next_tick - now
            } else {
                Duration::ZERO
            };
            match self.poll.poll(&mut events, Some(wait)) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(no_poll(&e)),
                Ok(()) => {}
            }
            let now = clock::now();
            let again = core::mem::take(&mut self.pending);
            let ready = events.iter().map(mio::event::Event::token);
            for token in ready.chain(again) {
                if self.serve(now, token) && !self.pending.contains(&token) {
                    self.pending.push(token);
                }
            }
            if now >= self.next_tick {
                self.tick(now);
            }
        }
        Ok(())
    }

    /// Handles what a socket has. Returns true if it may have more.
    fn serve(&mut self, now: Instant, token: Token) -> bool {
        match Place::of(token) {
            Place::Door(index) => match &self.door {
                Door::Connect(_) => self.take_from_apps(now),
                Door::Listen(_) => self.accept(now, index),
            },
            Place::Connection(slot) => self.drain(now, slot),
            Place::Port(slot) => self.take_from_app(now, slot),
        }
    }

    /// Takes datagrams of all applications, on the connecting side.
    fn take_from_apps(&mut self, now: Instant) -> bool {
        for _ in 0..ROUNDS {
            let Door::Connect(port) = &self.door else {
                return false;
            };
            let has_some = port.recv(&mut self.intake);
            self.context.note_not_taken(self.intake.take_refused());
            if !has_some {
                return false;
            }
            // The intake is taken out, because its datagrams go to flows of this bridge.
            let intake = core::mem::replace(&mut self.intake, Intake::empty());
            self.share_out(now, &intake);
            self.intake = intake;
        }
        true
    }

    /// Hands datagrams to their flows.
    fn share_out(&mut self, now: Instant, intake: &Intake) {
        let mut datagrams: Vec<&[u8]> = Vec::new();
        let mut owner = None;
        for message in intake.messages() {
            if message.is_ce {
                self.context
                    .metrics
                    .marked
                    .inc_by(message.datagrams().count() as u64);
                continue;
            }
            if owner != Some(message.from) {
                self.hand_over(now, owner, &mut datagrams);
                owner = Some(message.from);
            }
            datagrams.extend(message.datagrams());
        }
        self.hand_over(now, owner, &mut datagrams);
    }

    fn hand_over(&mut self, now: Instant, app: Option<AppAddr>, datagrams: &mut Vec<&[u8]>) {
        if let Some(app) = app
            && !datagrams.is_empty()
        {
            match self.slot_of(now, app) {
                Some(slot) => {
                    if let Some(flow) = self.flows.get_mut(slot) {
                        flow.offer(now, datagrams, &mut self.context);
                    }
                }
                None => self.unplaced(datagrams.len()),
            }
        }
        datagrams.clear();
    }

    /// The flow of an application; a new one if there is a place.
    fn slot_of(&mut self, now: Instant, app: AppAddr) -> Option<usize> {
        if let Some(&slot) = self.by_app.get(&app) {
            return Some(slot);
        }
        if self.flows.len() >= self.max_flows {
            return None;
        }
        self.flows_seen += 1;
        let number = self.flows_seen;
        let slot = self.flows.insert(|slot| {
            let token = Place::Connection(slot).token();
            Flow::new(number, slot, token, app, None, now)
        });
        self.by_app.insert(app, slot);
        self.show_flows();
        Some(slot)
    }

    fn unplaced(&mut self, datagrams: usize) {
        self.unplaced += datagrams as u64;
        self.context.metrics.no_flow.inc_by(datagrams as u64);
    }

    fn show_flows(&self) {
        let flows = i64::try_from(self.flows.len()).unwrap_or(i64::MAX);
        self.context.metrics.flows.set(flows);
    }

    /// Accepts connections, on the listening side.
    fn accept(&mut self, now: Instant, index: usize) -> bool {
        for _ in 0..ROUNDS {
            let Door::Listen(listeners) = &self.door else {
                return false;
            };
            let Some((listener, _)) = listeners.get(index) else {
                return false;
            };
            match listener.accept() {
                Ok(socket) => self.admit(now, socket),
                Err(AcceptError::WouldBlock) => return false,
                Err(e) => {
                    self.context.broken = Some(e.to_string());
                    return false;
                }
            }
        }
        true
    }

    /// Opens a flow for a connection.
    fn admit(&mut self, now: Instant, socket: Socket) {
        if self.flows.len() >= self.max_flows {
            self.context.metrics.refused.inc();
            self.unplaced += 1;
            socket.abort();
            return;
        }
        let port = match UdpPort::connect(self.target) {
            Ok(port) => port,
            Err(e) => {
                self.context.metrics.refused.inc();
                let target = self.target;
                let line = format!("a connection was refused: UDP to {target}: {e}");
                self.context.log.line(now, &line);
                socket.abort();
                return;
            }
        };
        self.flows_seen += 1;
        let number = self.flows_seen;
        let app = AppAddr {
            remote: self.target,
            local: None,
        };
        let slot = self.flows.insert(|slot| {
            let token = Place::Connection(slot).token();
            Flow::new(number, slot, token, app, Some(port), now)
        });
        self.show_flows();
        let opened = self.open_flow(now, slot, socket);
        if let Err(e) = opened {
            self.end_flow(now, slot, &e.to_string());
            return;
        }
        // Datagrams may have arrived before the descriptors were watched.
        self.pending.push(Place::Connection(slot).token());
    }

    fn open_flow(&mut self, now: Instant, slot: usize, socket: Socket) -> std::io::Result<()> {
        let Some(flow) = self.flows.get_mut(slot) else {
            return Ok(());
        };
        if let Some(port) = &mut flow.port {
            port.register(&self.context.registry, Place::Port(slot).token())?;
        }
        flow.accept(now, socket, &mut self.context)
    }

    /// Takes datagrams of the program, on the listening side.
    fn take_from_app(&mut self, now: Instant, slot: usize) -> bool {
        for _ in 0..ROUNDS {
            let Some(flow) = self.flows.get_mut(slot) else {
                return false;
            };
            let Some(port) = &flow.port else { return false };
            let has_some = port.recv(&mut self.intake);
            self.context.note_not_taken(self.intake.take_refused());
            if !has_some {
                return false;
            }
            let mut datagrams = Vec::new();
            for message in self.intake.messages() {
                if message.is_ce {
                    self.context
                        .metrics
                        .marked
                        .inc_by(message.datagrams().count() as u64);
                } else {
                    datagrams.extend(message.datagrams());
                }
            }
            if !datagrams.is_empty() {
                flow.offer(now, &datagrams, &mut self.context);
            }
        }
        true
    }

    /// Hands datagrams of a connection to the application.
    fn drain(&mut self, now: Instant, slot: usize) -> bool {
        let Some(flow) = self.flows.get_mut(slot) else {
            return false;
        };
        let shared = match &self.door {
            Door::Connect(port) => Some(port),
            Door::Listen(_) => None,
        };
        match flow.drain(now, shared, &mut self.outlet, &mut self.context) {
            Drained::Empty => false,
            Drained::More => true,
            Drained::Ended(reason) => {
                if shared.is_some() {
                    flow.disconnect(now, &reason, &mut self.context);
                } else {
                    self.end_flow(now, slot, &reason);
                }
                false
            }
        }
    }

    fn end_flow(&mut self, now: Instant, slot: usize, reason: &str) {
        let Some(flow) = self.flows.remove(slot) else {
            return;
        };
        if matches!(self.door, Door::Connect(_)) {
            self.by_app.remove(&flow.app);
        }
        self.rates.remove(&slot);
        flow.end(now, reason, &mut self.context);
        self.show_flows();
    }

    /// Does what is due from time to time.
    fn tick(&mut self, now: Instant) {
        self.next_tick = now + TICK;
        let idle: Vec<usize> = self
            .flows
            .iter()
            .filter(|flow| flow.idle(now) >= self.idle)
            .map(|flow| flow.slot)
            .collect();
        let reason = format!("idle for {} s", self.idle.as_secs_f64());
        for slot in idle {
            self.end_flow(now, slot, &reason);
        }
        for slot in self.flows.next_slots(self.cursor, SAMPLES_PER_TICK) {
            self.cursor = slot + 1;
            if let Some(flow) = self.flows.get_mut(slot) {
                let rate = flow.sample(now, &mut self.context);
                self.rates.insert(slot, rate);
            }
        }
        let rates: Vec<FlowRate> = self.rates.values().cloned().collect();
        if let Some(complaint) = self.publisher.publish(&rates) {
            self.context.log.line(now, &complaint);
        }
        self.report_not_taken(now);
        if self.unplaced > 0 && self.warned.is_none_or(|at| now >= at + WARN_EVERY) {
            let (count, max) = (core::mem::take(&mut self.unplaced), self.max_flows);
            self.warned = Some(now);
            let what = match self.door {
                Door::Connect(_) => "datagrams of further programs were dropped",
                Door::Listen(_) => "connections were refused",
            };
            let line = format!("{count} {what}: --max-flows {max} flows are open");
            self.context.log.line(now, &line);
        }
    }

    /// Says that programs do not take their datagrams.
    fn report_not_taken(&mut self, now: Instant) {
        let is_due = self.complained.is_none_or(|at| now >= at + WARN_EVERY);
        if self.context.not_taken == 0 || !is_due {
            return;
        }
        self.complained = Some(now);
        let count = core::mem::take(&mut self.context.not_taken);
        let program = match self.door {
            Door::Connect(_) => "the program".to_owned(),
            Door::Listen(_) => format!("the program at {}", self.target),
        };
        let line = format!(
            "{program} does not take {count} datagrams: is it running, and does its link carry their size?"
        );
        self.context.log.line(now, &line);
    }

    /// Ends all flows, so that their peers learn of it.
    fn end(&mut self) {
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        let sockets: Vec<&Socket> = self.flows.iter().filter_map(Flow::socket).collect();
        // A peer that does not answer ends its side after a time of silence.
        let _ = Socket::close_all(sockets, END_MAX);
    }
}
