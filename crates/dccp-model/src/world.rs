//! Two endpoints, the packets between them, and an attacker.

mod fingerprint;
mod host;
mod sabotage;

pub use fingerprint::Fingerprint;

use crate::action::Action;
use crate::end::End;
use crate::forge::{Forgery, Known};
use crate::property::{Property, Violation};
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::conn::{Connection, State};
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::wire::features::Feature;
use dccp_proto::wire::{self, Datagram, Ecn, Kind, PacketType};
use dccp_proto::{Config, Instant, Seq};
use host::Host;
pub use sabotage::Sabotage;

const CLIENT_PORT: u16 = 40_000;
const SERVER_PORT: u16 = 5001;
/// The time between a connection and the next one of an end. Deliveries and calls take no time, so that states differ
/// only where their order matters. But initial sequence numbers come from the clock, and connections of one flow must
/// differ (4340-7.2-1).
const BETWEEN_CONNECTIONS: Duration = Duration::from_millis(1);
/// Actions of a fair network before it counts as a deadlock.
const FAIR_STEPS: u32 = 4000;

/// How often each kind of action may happen in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Budget {
    /// Datagrams of client and server.
    pub sends: [u8; 2],
    /// Calls that close or abort, of client and server.
    pub closes: [u8; 2],
    /// Whether [`Action::Abort`] is among these calls.
    pub may_abort: bool,
    /// Lost packets.
    pub drops: u8,
    /// Duplicates.
    pub duplicates: u8,
    /// Packets that overtake an older one to the same end. Without a bound, two ends could answer each other's
    /// reordered acknowledgements for ever, because a gap is acknowledged at once.
    pub reorders: u8,
    /// Timers that expire, of client and server. A fair network fires more to find out how a state ends.
    pub timers: [u8; 2],
    /// Forged packets.
    pub injections: u8,
}

/// The settings of one end.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The connection's or the listener's.
    pub config: Config,
    /// The server opens with DCCP-Listen (RFC 5596).
    pub invites: bool,
}

impl From<Config> for Settings {
    fn from(config: Config) -> Self {
        let invites = false;
        Self { config, invites }
    }
}

/// The settings and bounds of a model.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The settings among which [`Action::Start`] chooses, of client and server.
    pub settings: [Vec<Settings>; 2],
    /// Both ends are open in the first state, each with the first of its settings.
    pub starts_open: bool,
    /// Bounds of a trace.
    pub budget: Budget,
    /// Packets that the network holds. It loses what exceeds this.
    pub network_max: usize,
    /// The attacker's packets.
    pub forgeries: Vec<Forgery>,
    /// A deliberate fault.
    pub sabotage: Option<Sabotage>,
}

/// A packet in the network.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Travelling {
    to: End,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// A state of the model, in full.
pub struct World<'s> {
    scenario: &'s Scenario,
    hosts: [Host; 2],
    /// Packets to the client, then packets to the server, each oldest first. Packets to different ends have no order.
    network: Vec<Travelling>,
    left: Budget,
    batch: Batch,
    violations: Vec<Violation>,
}

impl<'s> World<'s> {
    /// The first state of a scenario.
    ///
    /// # Panics
    /// If the ends of a scenario that starts open do not open.
    pub fn new(scenario: &'s Scenario) -> Self {
        let mut world = Self {
            scenario,
            hosts: End::BOTH.map(|end| Host::new(end, flow(end), scenario.sabotage)),
            network: Vec::new(),
            left: scenario.budget,
            batch: Batch::new(1),
            violations: Vec::new(),
        };
        if scenario.starts_open {
            world.start(End::Server, 0);
            world.start(End::Client, 0);
            let is_settled = world.run_fairly();
            assert!(is_settled && world.are_both_open(), "both ends open");
        }
        world
    }

    /// The state after a list of actions.
    pub fn after(scenario: &'s Scenario, trace: &[Action]) -> Self {
        let mut world = Self::new(scenario);
        for &action in trace {
            world.apply(action);
        }
        world
    }

    /// The actions that are possible now.
    pub fn enabled(&self, actions: &mut Vec<Action>) {
        actions.clear();
        for end in End::BOTH {
            self.enabled_calls(end, actions);
        }
        for (k, packet) in (0..).zip(&self.network) {
            // Equal packets are one choice.
            if self.network[..usize::from(k)].contains(packet) {
                continue;
            }
            if self.left.drops > 0 {
                actions.push(Action::Drop(k));
            }
            if self.left.reorders == 0 && self.overtakes(k) {
                continue;
            }
            actions.push(Action::Deliver(k));
            if self.left.duplicates > 0 {
                actions.push(Action::Duplicate(k));
            }
        }
        if self.left.injections > 0 {
            let forgeries = self.scenario.forgeries.iter();
            let possible = forgeries.filter(|forgery| self.forge(**forgery).is_some());
            actions.extend(possible.map(|&forgery| Action::Inject(forgery)));
        }
    }

    fn enabled_calls(&self, end: End, actions: &mut Vec<Action>) {
        let (i, host) = (end as usize, self.host(end));
        if !host.has_started() {
            let settings = (0..).zip(&self.scenario.settings[i]);
            actions.extend(settings.map(|(n, _)| Action::Start(end, n)));
            return;
        }
        if host.connection().is_some() {
            if self.left.sends[i] > 0 && !host.has_closed {
                actions.push(Action::Send(end));
            }
            if self.left.closes[i] > 0 && !host.has_closed {
                actions.push(Action::Close(end));
                if self.left.may_abort {
                    actions.push(Action::Abort(end));
                }
            }
        }
        if self.left.timers[i] > 0 && host.deadline().is_some() {
            actions.push(Action::Expire(end));
        }
    }

    /// Takes a step.
    ///
    /// # Panics
    /// If the action is not [`enabled`](Self::enabled), or the code under test panics.
    pub fn apply(&mut self, action: Action) {
        match action {
            Action::Start(end, n) => self.start(end, n),
            Action::Send(end) => {
                self.left.sends[end as usize] -= 1;
                self.send(end);
            }
            Action::Close(end) => {
                self.left.closes[end as usize] -= 1;
                self.call(end, Host::close);
            }
            Action::Abort(end) => {
                self.left.closes[end as usize] -= 1;
                self.call(end, Host::abort);
            }
            Action::Deliver(k) => {
                self.left.reorders -= u8::from(self.overtakes(k));
                self.deliver(k.into());
            }
            Action::Duplicate(k) => {
                self.left.reorders -= u8::from(self.overtakes(k));
                self.left.duplicates -= 1;
                let copy = self.network[usize::from(k)].clone();
                self.deliver(k.into());
                self.put(copy);
            }
            Action::Drop(k) => {
                self.left.drops -= 1;
                self.network.remove(k.into());
            }
            Action::Expire(end) => {
                self.left.timers[end as usize] -= 1;
                let at = self.host(end).deadline().expect("a timer is set");
                self.expire(end, at);
            }
            Action::Inject(forgery) => {
                self.left.injections -= 1;
                self.inject(forgery);
            }
        }
        self.check_features();
    }

    /// Takes what was seen that must not be.
    pub fn take_violations(&mut self) -> Vec<Violation> {
        for host in &mut self.hosts {
            self.violations.append(&mut host.app.sending.violations);
        }
        core::mem::take(&mut self.violations)
    }

    /// Whether an older packet travels to the same end.
    fn overtakes(&self, k: u8) -> bool {
        let (older, packet) = self.network.split_at(k.into());
        let to = packet.first().map(|packet| packet.to);
        older.iter().any(|packet| Some(packet.to) == to)
    }

    fn start(&mut self, end: End, n: u8) {
        let settings = &self.scenario.settings[end as usize][usize::from(n)];
        self.call(end, |host| host.start(n, settings));
    }

    /// An application sends a datagram.
    pub(crate) fn send(&mut self, end: End) {
        self.call(end, Host::send);
    }

    fn call(&mut self, end: End, call: impl FnOnce(&mut Host)) {
        let host = &mut self.hosts[end as usize];
        call(host);
        self.drain(end);
    }

    fn deliver(&mut self, k: usize) {
        let packet = self.network.remove(k);
        self.arrive(packet.to, packet.ecn, &packet.bytes);
    }

    fn arrive(&mut self, to: End, ecn: Ecn, bytes: &[u8]) {
        let host = &mut self.hosts[to as usize];
        let path = host.flow.path;
        let datagram = Datagram::new(bytes);
        host.endpoint
            .handle_datagram(host.now, &path, ecn, &datagram, &mut host.app);
        self.drain(to);
        self.check_deliveries(to);
    }

    fn expire(&mut self, end: End, at: Instant) {
        let host = &mut self.hosts[end as usize];
        host.now = host.now.max(at);
        host.endpoint.handle_timeout(host.now, &mut host.app);
        self.drain(end);
    }

    fn forge(&self, forgery: Forgery) -> Option<Vec<u8>> {
        let (target, peer) = (self.host(forgery.to), self.host(forgery.to.other()));
        let connection = target.connection();
        let known = Known {
            peer: peer.last_sent,
            target: target.last_sent,
            window: connection.map_or(0, |conn| conn.feature(false, Feature::SequenceWindow)),
        };
        forgery.build(&target.flow, known)
    }

    fn inject(&mut self, forgery: Forgery) {
        let Some(bytes) = self.forge(forgery) else {
            return;
        };
        let sabotage = self.scenario.sabotage;
        let is_blind = forgery.numbers.is_blind() || sabotage == Some(Sabotage::SeesNumbers);
        let before = self.host(forgery.to).input_fingerprint();
        let had_connection = self.host(forgery.to).connection().is_some();
        self.arrive(forgery.to, Ecn::NotEct, &bytes);
        // A Request needs no numbers to make a new connection, nor a Listen to hurry a Request. `checks` compares
        // how these end.
        let may_act = match forgery.packet_type {
            PacketType::Request => !had_connection,
            PacketType::Listen => true,
            _ => false,
        };
        if is_blind && !may_act && self.host(forgery.to).input_fingerprint() != before {
            let detail = format!("{forgery}, and its state changes");
            self.note(Property::BlindIsHarmless, detail);
        }
    }

    /// Takes the outputs of an end into the network.
    fn drain(&mut self, end: End) {
        let i = end as usize;
        let had_ended = self.hosts[i].has_ended();
        let mut batch = core::mem::replace(&mut self.batch, Batch::new(1));
        loop {
            let host = &mut self.hosts[i];
            if !host
                .endpoint
                .poll_transmit(host.now, &mut host.app, &mut batch)
            {
                break;
            }
            let ecn = batch.destination().map_or(Ecn::NotEct, |(_, ecn)| ecn);
            for datagram in batch.datagrams() {
                self.depart(end, ecn, datagram.bytes, had_ended);
            }
            batch.clear();
        }
        self.batch = batch;
        self.hosts[i].poll_events(BETWEEN_CONNECTIONS);
        let haunts = self.scenario.sabotage == Some(Sabotage::SendsAfterEnd);
        if haunts && had_ended && end == End::Server {
            self.note_departure(end, true, PacketType::Data);
        }
    }

    fn depart(&mut self, end: End, ecn: Ecn, bytes: &[u8], had_ended: bool) {
        let rule = self.host(end).flow.path.checksum_rule();
        let packet = wire::parse(&Datagram::new(bytes), rule).expect("what leaves can be parsed");
        let packet_type = packet.packet_type();
        let has_number = !matches!(packet.kind, Kind::Reset { .. } | Kind::Listen { .. });
        if has_number && !packet.is_short {
            self.hosts[end as usize].last_sent = Some(packet.seq);
        }
        // The payload of a Reset is an error text.
        let is_data = !packet.payload.is_empty() && packet_type != PacketType::Reset;
        self.note_departure(end, had_ended && is_data, packet_type);
        self.travel(Travelling {
            to: end.other(),
            ecn,
            bytes: bytes.to_vec(),
        });
    }

    fn note_departure(&mut self, end: End, is_ghost: bool, packet_type: PacketType) {
        if is_ghost {
            let detail = format!("the {end} has closed and sends {packet_type:?} with data");
            self.note(Property::SilentAfterEnd, detail);
        }
    }

    fn travel(&mut self, mut packet: Travelling) {
        let rule = self.host(packet.to).flow.path.checksum_rule();
        let sabotage = self.scenario.sabotage;
        let copy = sabotage.and_then(|s| s.tamper(packet.to, &mut packet.bytes, rule));
        let copies = copy.map(|bytes| Travelling {
            bytes,
            ..packet.clone()
        });
        for packet in core::iter::once(packet).chain(copies) {
            if self.network.len() < self.scenario.network_max {
                self.put(packet);
            }
        }
    }

    fn put(&mut self, packet: Travelling) {
        let place = self.network.partition_point(|other| other.to <= packet.to);
        self.network.insert(place, packet);
    }

    /// Delivers every packet in order, and fires timers when there is none. Returns whether both ends settle.
    pub(crate) fn run_fairly(&mut self) -> bool {
        for _ in 0..FAIR_STEPS {
            if !self.network.is_empty() {
                self.deliver(0);
                self.check_features();
            } else if self.is_settled() {
                return true;
            } else {
                let waits = End::BOTH.map(|end| self.host(end).time_left());
                let Some(wait) = waits.into_iter().flatten().min() else {
                    return false;
                };
                for end in End::BOTH {
                    let at = self.host(end).now + wait;
                    self.expire(end, at);
                }
            }
        }
        false
    }

    /// Fires the timers of one end, and loses what it sends. Returns whether its connections end.
    pub(crate) fn run_alone(&mut self, end: End) -> bool {
        for _ in 0..FAIR_STEPS {
            self.network.clear();
            match self.host(end).deadline() {
                _ if self.host(end).connection().is_none() => return true,
                None => return false,
                Some(at) => self.expire(end, at),
            }
        }
        false
    }

    /// Whether both ends are open and idle, or neither has a connection.
    fn is_settled(&self) -> bool {
        let conns = End::BOTH.map(|end| self.host(end).connection());
        match conns {
            [None, None] => true,
            [Some(_), Some(_)] => self.hosts.iter().all(Host::is_idle),
            _ => false,
        }
    }

    /// Whether both ends are in OPEN.
    pub fn are_both_open(&self) -> bool {
        End::BOTH
            .iter()
            .all(|&end| self.state(end) == Some(State::Open))
    }

    /// The state of an end's connection, or `None` if it has none.
    pub fn state(&self, end: End) -> Option<State> {
        self.host(end).connection().map(Connection::state)
    }

    /// The value of a feature of an end's own connection.
    pub fn feature(&self, end: End, feature: Feature) -> Option<u64> {
        let connection = self.host(end).connection();
        connection.map(|connection| connection.feature(true, feature))
    }

    /// Numbers of the datagrams that an end has received, in order.
    pub fn delivered(&self, end: End) -> &[u8] {
        &self.host(end).app.receiving.delivered
    }

    /// Connections that an end has had.
    pub fn connections(&self, end: End) -> usize {
        self.host(end).ids.len()
    }

    /// Whether the last connection of an end is over.
    pub fn has_ended(&self, end: End) -> bool {
        self.host(end).has_ended()
    }

    /// Packets on their way: the end that gets each, its type and its numbers.
    pub fn packets(&self) -> Vec<(End, Kind, Seq)> {
        let packets = self.network.iter().filter_map(|packet| {
            let rule = self.host(packet.to).flow.path.checksum_rule();
            let parsed = wire::parse(&Datagram::new(&packet.bytes), rule).ok()?;
            Some((packet.to, parsed.kind, parsed.seq))
        });
        packets.collect()
    }

    fn host(&self, end: End) -> &Host {
        &self.hosts[end as usize]
    }

    fn note(&mut self, property: Property, detail: String) {
        self.violations.push(Violation { property, detail });
    }

    fn check_deliveries(&mut self, to: End) {
        let sent = self.host(to.other()).app.sending.fates.len();
        let receiving = &self.host(to).app.receiving;
        let garbled = receiving.garbled;
        let forged = receiving.forged;
        let may_be_forged = self
            .scenario
            .forgeries
            .iter()
            .any(|f| !f.numbers.is_blind());
        // Known limit, docs/security.md: a second connection of the server, which an old Request opens, can deliver
        // an old datagram that the first one had delivered. So each connection is checked by itself.
        let repeated = receiving.repeated;
        let has_unknown = |&number: &u8| usize::from(number) >= sent;
        let is_unknown = receiving.delivered.iter().any(has_unknown);
        if let Some(number) = repeated {
            let detail = format!("the {to} got datagram {number} twice");
            self.note(Property::AtMostOnce, detail);
        }
        if is_unknown || garbled > 0 || forged > 0 && !may_be_forged {
            let detail = format!("the {to} got a datagram that was never sent");
            self.note(Property::OnlySent, detail);
        }
    }

    /// Compares the features of two open ends while no negotiation is under way and no packet is on its way.
    fn check_features(&mut self) {
        let [Some(client), Some(server)] = End::BOTH.map(|end| self.host(end).connection()) else {
            return;
        };
        let is_open =
            |conn: &Connection| conn.state() == State::Open && conn.has_settled_features();
        // Known limit: after a lost Reset, an old Request can open a second connection of the server. A Sync of the
        // client, which still has the first one, moves it to OPEN (4340-8.5-11). These two never negotiated.
        let is_one_connection = self.connections(End::Server) == 1;
        if !self.network.is_empty() || !is_open(client) || !is_open(server) || !is_one_connection {
            return;
        }
        let differing = Feature::ALL.into_iter().find_map(|feature| {
            let of = |conn: &Connection, is_own| conn.feature(is_own, feature);
            let clients = (of(client, true), of(server, false));
            let servers = (of(client, false), of(server, true));
            let differs = clients.0 != clients.1 || servers.0 != servers.1;
            differs.then_some((feature, clients, servers))
        });
        if let Some((feature, clients, servers)) = differing {
            let detail = format!(
                "{feature:?} as client and server see it: of the client {clients:?}, of the server {servers:?}"
            );
            self.note(Property::EqualFeatures, detail);
        }
    }
}

/// The connection as an end sees it.
fn flow(end: End) -> Flow {
    let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
    let path = Path {
        local: ip(1),
        remote: ip(2),
        encap: Encap::Udp {
            local_port: 14_232,
            remote_port: 14_233,
        },
    };
    match end {
        End::Client => Flow {
            path,
            local_port: CLIENT_PORT,
            remote_port: SERVER_PORT,
        },
        End::Server => Flow {
            path: path.reversed(),
            local_port: SERVER_PORT,
            remote_port: CLIENT_PORT,
        },
    }
}

impl World<'_> {
    /// The packets on their way, for traces.
    pub fn network_text(&self) -> String {
        let packets = self.network.iter().map(|packet| {
            let rule = self.host(packet.to).flow.path.checksum_rule();
            let parsed = wire::parse(&Datagram::new(&packet.bytes), rule);
            let text = parsed.map(|p| {
                let options: Vec<_> = p.options.iter().collect();
                format!("{:?} {} {options:?}", p.kind, p.seq.value())
            });
            format!("to {}: {}", packet.to, text.unwrap_or_default())
        });
        packets.collect::<Vec<_>>().join("; ")
    }
}
