//! The connections of a run: begins and ends them, and reads their state.

use super::outcome::{Datagram, Ending, RoundTrip, Totals};
use super::stage::{self, State, add_known};
use crate::scenario::plan::{Alteration, Flow, Machine, Network, Run, Transport};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::cc::{Snapshot, safeudp};
use dccp_proto::conn::stats::Stats;
use dccp_proto::path::{Encap, Flow as Ports, Path};
use dccp_proto::time::nanos;
use dccp_proto::wire::{DropCode, ServiceCode};
use dccp_proto::{CloseReason, Config, Instant, Rate};
use dccp_sim::flow::{FlowId, FlowSample};
use dccp_sim::host::SimHash;
use dccp_sim::link::LinkStats;
use dccp_sim::machine::{Clock, HostLosses};
use dccp_sim::source::{self, Source, endings};
use dccp_sim::{Change, Checks, Handle, Host, LinkId, NodeId, Router, Seed, World};
use std::collections::BTreeMap;

/// The first port that flows listen on: each has its own.
const PORT: u16 = 5001;
/// The first port that a host's streams send from.
const LOCAL_PORT: u16 = 10_000;
const SERVICE: ServiceCode = ServiceCode(0x4c41_4220);
/// A release build checks the invariants after one of this many events, because checking each of them takes a
/// fifth of the instructions. Other builds, as of tests, check every event.
const CHECK_EVERY: u64 = 100;

/// The simulated network of a run and its connections.
pub(crate) struct Stage {
    pub(crate) world: World,
    /// The hosts, by node.
    hosts: Vec<Option<Handle<Host>>>,
    nodes: Vec<NodeId>,
    /// The clock of each node.
    clocks: Vec<Clock>,
    /// Both directions of each link of the plan: there, back.
    links: Vec<(LinkId, LinkId)>,
    /// The streams that have begun, by flow.
    streams: Vec<Vec<Stream>>,
    /// Accepted connections of each host that are known already.
    seen: Vec<usize>,
    /// The stream that sends from an address and port.
    senders: BTreeMap<SocketAddr, (usize, usize)>,
    /// The next port of each node.
    ports: Vec<u16>,
}

/// A connection of a flow.
struct Stream {
    /// The identifier at the sending host.
    sender: FlowId,
    /// The identifier at the receiving host, once it is known.
    receiver: Option<FlowId>,
    is_stopped: bool,
    /// Round trips measured until the last sample.
    round_trips: u64,
    /// Counters that end with the connection, as they were at the stop: loss events, and packets that the receiver
    /// missed.
    last_known: (Option<u64>, Option<u64>),
}

impl Stage {
    /// Builds the network of a run; nothing has begun yet.
    pub(crate) fn new(run: &Run) -> Self {
        let seed = Seed(run.seed);
        let mut world = World::new(seed);
        if !cfg!(debug_assertions) {
            world.set_checks(Checks::Sampled(CHECK_EVERY));
        }
        let mut hosts = Vec::new();
        let mut nodes = Vec::new();
        let is_host = run.network.hosts(&run.flows);
        for (n, name) in run.network.nodes.iter().enumerate() {
            if is_host[n] {
                let host = Host::new(SimHash::new(seed, name));
                let host = world.add(name, &[address(n)], host);
                hosts.push(Some(host));
                nodes.push(host.id());
            } else {
                hosts.push(None);
                nodes.push(world.add(name, &[], Router).id());
            }
        }
        let mut clocks = vec![Clock::default(); nodes.len()];
        for machine in run.network.machines.iter().filter(|m| is_host[m.node]) {
            world.set_machine(nodes[machine.node], machine.config);
            clocks[machine.node] = machine.config.clock;
        }
        let links = connect(&mut world, &run.network, &nodes);
        set_routes(&mut world, &run.network, &nodes, &links);
        set_changes(&mut world, &run.network, &links);
        let mut stage = Self {
            world,
            links,
            streams: run.flows.iter().map(|_| Vec::new()).collect(),
            seen: vec![0; nodes.len()],
            senders: BTreeMap::new(),
            ports: vec![LOCAL_PORT; nodes.len()],
            hosts,
            nodes,
            clocks,
        };
        for (n, flow) in run.flows.iter().enumerate() {
            stage.listen(n, flow);
        }
        stage
    }

    /// The name of a node in the world.
    pub(crate) fn node(&self, node: usize) -> NodeId {
        self.nodes[node]
    }

    /// A direction of a link, in the order of the plan.
    fn direction(&self, n: usize) -> LinkId {
        direction(&self.links, n)
    }

    fn host(&self, node: usize) -> Handle<Host> {
        self.hosts[node].expect("ends of flows are hosts")
    }

    fn listen(&mut self, number: usize, flow: &Flow) {
        let handle = self.host(flow.to);
        let (port, app) = (port(number), flow.receiver.clone());
        self.world.call(handle, |host, _| match &flow.transport {
            Transport::Dccp(config) => host
                .listen(port, &[SERVICE], (**config).clone(), app)
                .expect("a port for each flow"),
            Transport::Tcp(config) => host.tcp_listen(port, config.clone(), app),
            Transport::Udp => host.udp_listen(port, app),
        });
    }

    fn datagrams_of(&self, flow: &Flow, stream: &Stream) -> Vec<Datagram> {
        let offered = self.world.node(self.host(flow.from)).offered(stream.sender);
        let receiver = self.world.node(self.host(flow.to));
        let arrivals = stream.receiver.map_or(&[][..], |id| receiver.arrivals(id));
        let (from, to) = (&self.clocks[flow.from], &self.clocks[flow.to]);
        let both = offered.iter().zip(endings(offered, arrivals));
        let datagram = |(offered, ending): (&source::Offered, source::Ending)| Datagram {
            made: from.when(offered.made) - Instant::ZERO,
            class: offered.class,
            picture: offered.picture,
            ending: match ending {
                source::Ending::Delivered(at) => Ending::Delivered {
                    at: to.when(at) - Instant::ZERO,
                    age_ns: nanos(at - offered.made),
                },
                source::Ending::Dropped => Ending::Dropped,
                source::Ending::Lost => Ending::Lost,
                source::Ending::Open => Ending::Open,
            },
        };
        both.map(datagram).collect()
    }
}

impl stage::Stage for Stage {
    fn start(&mut self, number: usize, flow: &Flow) {
        let local_port = self.ports[flow.from];
        self.ports[flow.from] += 1;
        let local = SocketAddr::new(address(flow.from), local_port);
        let remote = SocketAddr::new(address(flow.to), port(number));
        let stream = self.streams[number].len();
        let mut app = flow.sender.clone();
        if let Ok(n @ 1..) = u64::try_from(stream) {
            // Streams under one name do not move in step.
            app.random = app.random.fork(n);
        }
        let handle = self.host(flow.from);
        let sender = self
            .world
            .call(handle, |host, context| match &flow.transport {
                Transport::Dccp(config) => {
                    let config = Config {
                        service_code: SERVICE,
                        ..(**config).clone()
                    };
                    let number = host.connect(context, ports(local, remote), config, app);
                    FlowId::Dccp(number.expect("a plan has valid settings"))
                }
                Transport::Tcp(config) => {
                    host.tcp_connect(context, local, remote, config.clone(), app)
                }
                Transport::Udp => host.udp_open(context, local, remote, app),
            });
        self.senders.insert(local, (number, stream));
        self.streams[number].push(Stream {
            sender,
            receiver: None,
            is_stopped: false,
            round_trips: 0,
            last_known: (None, None),
        });
    }

    fn stop(&mut self, number: usize, flow: &Flow) {
        let host = self.host(flow.from);
        let receiver = self.host(flow.to);
        for stream in &mut self.streams[number] {
            stream.is_stopped = true;
            let got = (stream.receiver).map(|id| self.world.node(receiver).sample(id));
            stream.last_known = (
                self.world.node(host).sample(stream.sender).loss_events,
                got.and_then(|got| got.missing),
            );
            self.world
                .call(host, |host, context| host.abandon(context, stream.sender));
        }
    }

    fn meet(&mut self) {
        for node in 0..self.hosts.len() {
            let Some(handle) = self.hosts[node] else {
                continue;
            };
            let accepted = self.world.node(handle).accepted();
            for (receiver, peer) in &accepted[self.seen[node]..] {
                if let Some(&(flow, stream)) = self.senders.get(peer) {
                    self.streams[flow][stream].receiver = Some(*receiver);
                }
            }
            self.seen[node] = accepted.len();
        }
    }

    fn goodput_of_streams(&self, number: usize, flow: &Flow) -> Vec<u64> {
        let sender = self.world.node(self.host(flow.from));
        let receiver = self.world.node(self.host(flow.to));
        let streams = self.streams[number].iter();
        let of_stream = |s: &Stream| {
            let got = s
                .receiver
                .map_or(0, |id| receiver.sample(id).received_bytes);
            got + answered_bytes(flow, &sender.sample(s.sender))
        };
        streams.map(of_stream).collect()
    }

    fn totals(&self, number: usize, flow: &Flow) -> Totals {
        let sender = self.world.node(self.host(flow.from));
        let receiver = self.world.node(self.host(flow.to));
        let mut totals = Totals {
            lost_packets: Some(0),
            marked_packets: Some(0),
            loss_events: Some(0),
            duplicate_acks: Some(0),
            delivered_corrupt_packets: (!flow.sender.stamps).then_some(0),
            ..Totals::default()
        };
        for stream in &self.streams[number] {
            let sent = sender.sample(stream.sender);
            let got = stream.receiver.map(|id| receiver.sample(id));
            if let FlowId::Dccp(number) = stream.sender {
                add_reports(&mut totals, &sender.stats(number));
            }
            let is_tcp = matches!(stream.sender, FlowId::Tcp(_));
            let (events, missing) = stream.last_known;
            let (lost, marked) = if reports_fates(&flow.transport) {
                (Some(sent.lost), Some(sent.marked))
            } else {
                let lost = got.as_ref().and_then(|got| got.missing).or(missing);
                (lost, got.as_ref().map(|got| got.received_marked))
            };
            add_known(&mut totals.lost_packets, lost);
            add_known(&mut totals.marked_packets, marked);
            add_known(&mut totals.loss_events, sent.loss_events.or(events));
            add_known(
                &mut totals.duplicate_acks,
                is_tcp.then_some(sent.duplicate_acks),
            );
            totals.dropped_by_sender_packets += sent.dropped;
            totals.sent_packets += sent.sent;
            totals.retransmitted_packets += sent.retransmitted;
            totals.answered_bytes += answered_bytes(flow, &sent);
            let got = got.unwrap_or_default();
            totals.delivered_packets += got.received;
            totals.delivered_bytes += got.received_bytes;
            // Stamps are bytes that no link has changed.
            let corrupt = (!flow.sender.stamps).then_some(got.received_corrupt);
            add_known(&mut totals.delivered_corrupt_packets, corrupt);
        }
        totals
    }

    fn state(&self, number: usize, flow: &Flow) -> State {
        let host = self.world.node(self.host(flow.from));
        let mut state = State::default();
        for stream in self.streams[number].iter().filter(|s| !s.is_stopped) {
            let sample = host.sample(stream.sender);
            add(&mut state, &sample.cc);
            state.rtt = state.rtt.or(sample.rtt);
        }
        state
    }

    fn round_trips(&mut self, number: usize, flow: &Flow) -> Vec<RoundTrip> {
        let now = self.world.now();
        let host = self.world.node(self.host(flow.from));
        let mut all = Vec::new();
        for stream in self.streams[number].iter_mut().filter(|s| !s.is_stopped) {
            let (count, rtt) = match stream.sender {
                FlowId::Dccp(number) => {
                    let samples = host.stats(number).counters.rtt_samples;
                    let sample = host.snapshot(number).and_then(|s| s.rtt_sample);
                    (samples, sample.map(|(_, rtt)| rtt))
                }
                id => {
                    let sample = host.sample(id);
                    (sample.delivered.max(sample.received), sample.rtt)
                }
            };
            if let Some(rtt) = rtt.filter(|_| count > stream.round_trips) {
                stream.round_trips = count;
                all.push(RoundTrip {
                    at: now - Instant::ZERO,
                    rtt_ns: nanos(rtt),
                });
            }
        }
        all
    }

    fn stamps(&self, number: usize, flow: &Flow) -> Vec<RoundTrip> {
        let sender = self.world.node(self.host(flow.from));
        let mut pings = Vec::new();
        for stream in &self.streams[number] {
            if let FlowId::Dccp(number) = stream.sender {
                let came_back = sender.report(number).delays;
                pings.extend(came_back.iter().map(|delay| RoundTrip {
                    at: self.clocks[flow.from].when(delay.at) - Instant::ZERO,
                    rtt_ns: nanos(delay.age),
                }));
            }
        }
        pings
    }

    fn datagrams(&self, number: usize, flow: &Flow) -> Vec<Vec<Datagram>> {
        if !flow.sender.logs {
            return Vec::new();
        }
        let streams = self.streams[number].iter();
        streams.map(|s| self.datagrams_of(flow, s)).collect()
    }

    fn broken(&self, number: usize, flow: &Flow) -> Option<String> {
        let host = self.world.node(self.host(flow.from));
        let running = self.streams[number].iter().filter(|s| !s.is_stopped);
        let reason = |stream: &Stream| match stream.sender {
            FlowId::Dccp(number) => match host.report(number).close_reason() {
                None | Some(CloseReason::Local) => None,
                Some(reason) => Some(format!("{reason:?}")),
            },
            FlowId::Tcp(_) | FlowId::Udp(_) => None,
        };
        running.into_iter().find_map(reason)
    }

    fn queue_packets(&mut self, direction: usize) -> u64 {
        let link = self.world.link(self.direction(direction));
        link.queue_len().0 as u64
    }

    fn link(&self, direction: usize) -> LinkStats {
        let link = self.world.link(self.direction(direction));
        LinkStats {
            busy: link.busy_by(self.world.now()),
            ..link.stats()
        }
    }

    fn processor(&self, machine: &Machine) -> Option<Duration> {
        Some(self.world.processor_time(self.node(machine.node)))
    }

    fn host_losses(&self, machine: &Machine) -> Option<HostLosses> {
        Some(self.world.host_losses(self.node(machine.node)))
    }

    fn events(&self) -> Option<u64> {
        Some(self.world.events())
    }
}

/// The addresses and ports of a DCCP connection.
fn ports(local: SocketAddr, remote: SocketAddr) -> Ports {
    Ports {
        path: Path {
            local: local.ip(),
            remote: remote.ip(),
            encap: Encap::Ip,
        },
        local_port: local.port(),
        remote_port: remote.port(),
    }
}

fn connect(world: &mut World, network: &Network, nodes: &[NodeId]) -> Vec<(LinkId, LinkId)> {
    let links = network.links.iter().map(|link| {
        let (from, to) = (nodes[link.from], nodes[link.to]);
        world.connect(from, to, link.there.clone(), link.back.clone())
    });
    links.collect()
}

fn set_routes(world: &mut World, network: &Network, nodes: &[NodeId], links: &[(LinkId, LinkId)]) {
    for route in &network.routes {
        let way = network.direction_between(route.at, route.via);
        let way = direction(links, way.expect("a route leads to a neighbour"));
        world.set_route(nodes[route.at], nodes[route.to], way);
    }
}

/// A direction of a link, in the order of the plan.
fn direction(links: &[(LinkId, LinkId)], direction: usize) -> LinkId {
    let (there, back) = links[direction / 2];
    if direction.is_multiple_of(2) {
        there
    } else {
        back
    }
}

fn set_changes(world: &mut World, network: &Network, links: &[(LinkId, LinkId)]) {
    for (link, &(there, back)) in network.links.iter().zip(links) {
        for change in &link.changes {
            let id = if change.is_back { back } else { there };
            let what = match change.what {
                Alteration::Rate(rate) => Change::Rate(id, Some(rate)),
                Alteration::Delay(delay) => Change::Delay(id, delay),
                Alteration::Queue(limit) => Change::QueueLimit(id, limit),
                Alteration::Up(is_up) => Change::Up(id, is_up),
            };
            world.at(Instant::ZERO + change.at, what);
        }
    }
}

/// True if the receiver of a connection reports the fate of each packet.
pub(super) fn has_ack_vectors(config: &Config) -> bool {
    matches!(*config.tx_ccids, [2 | safeudp::NUMBER])
}

/// True if receivers report which packets arrived and which were marked. With CCIDs 3 and 4 they report loss events
/// only, with UDP nothing.
fn reports_fates(transport: &Transport) -> bool {
    match transport {
        Transport::Dccp(config) => has_ack_vectors(config),
        Transport::Tcp(_) => true,
        Transport::Udp => false,
    }
}

/// Adds the receiver's reports on itself, which a connection's sender has counted.
fn add_reports(totals: &mut Totals, sender: &Stats) {
    let with_code = |code: DropCode| sender.rx_dropped[usize::from(code.number())];
    // RFC 4340 §11.7: with Drop Code 7 the application has the data, marked as corrupt.
    let delivered = with_code(DropCode::DELIVERED_CORRUPT);
    totals.dropped_by_receiver_packets += sender.rx_dropped.iter().sum::<u64>() - delivered;
    totals.reported_corrupt_packets += with_code(DropCode::CORRUPT) + delivered;
    totals.slow_receiver_packets += sender.counters.slow_receiver;
}

/// Bytes of answers that the sender of requests received.
fn answered_bytes(flow: &Flow, sender: &FlowSample) -> u64 {
    match flow.sender.source {
        Source::Requests { .. } => sender.received_bytes,
        _ => 0,
    }
}

/// Adds the state of one stream to that of its flow.
fn add(state: &mut State, tx: &Snapshot) {
    let sum = |sum: &mut Option<f64>, value: Option<f64>| {
        if let Some(value) = value {
            *sum = Some(sum.unwrap_or(0.0) + value);
        }
    };
    sum(&mut state.cwnd_packets, tx.cwnd_packets);
    sum(&mut state.ssthresh_packets, tx.ssthresh_packets);
    sum(&mut state.rate_bps, tx.rate.map(Rate::bits_per_s));
}

/// 10.0.0.1 and the following.
fn address(node: usize) -> IpAddr {
    let node = u32::try_from(node).unwrap_or(u32::MAX >> 8);
    Ipv4Addr::from_bits(0x0a00_0001 + node).into()
}

/// The port that a flow's receiver listens on.
fn port(flow: usize) -> u16 {
    PORT + u16::try_from(flow).expect("a plan has fewer flows than there are ports")
}
