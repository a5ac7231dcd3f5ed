//! The connections of a run: how they are begun, ended and asked.

use super::outcome::{Ping, Totals};
use crate::scenario::plan::{Flow, Network, Run, Transport};
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::cc::Snapshot;
use dccp_proto::path::{Encap, Flow as Ports, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{CloseReason, Config, Instant, Rate};
use dccp_sim::host::SimHash;
use dccp_sim::{Handle, Host, LinkId, NodeId, Router, Seed, World};
use std::collections::BTreeMap;

/// The first port that flows listen on: each has its own.
const PORT: u16 = 5001;
/// The first port that a host's streams send from.
const LOCAL_PORT: u16 = 10_000;
const SERVICE: ServiceCode = ServiceCode(0x4c41_4220);

/// The world of a run, and where its parts are.
pub(crate) struct Stage {
    pub(crate) world: World,
    /// Those of the nodes that are hosts.
    hosts: Vec<Option<Handle<Host>>>,
    nodes: Vec<NodeId>,
    /// Both directions of each link of the plan: there, back.
    pub(crate) links: Vec<(LinkId, LinkId)>,
    /// By flow, those that have begun.
    streams: Vec<Vec<Stream>>,
    /// How many accepted connections of each host have been looked at.
    seen: Vec<usize>,
    /// Which stream sends from this address and port.
    senders: BTreeMap<(IpAddr, u16), (usize, usize)>,
    /// The next port of each node.
    ports: Vec<u16>,
}

/// A connection of a flow.
struct Stream {
    /// Its number at the sending host.
    sender: usize,
    /// Its number at the receiving host, once it is known there.
    receiver: Option<usize>,
    rtt_at: Option<Instant>,
}

/// What a flow's streams show of themselves at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) cwnd_packets: Option<f64>,
    pub(crate) ssthresh_packets: Option<f64>,
    pub(crate) rate_bps: Option<f64>,
    pub(crate) rtt: Option<Duration>,
}

impl Stage {
    /// Builds the network of a run; nothing has begun yet.
    pub(crate) fn new(run: &Run) -> Self {
        let seed = Seed(run.seed);
        let mut world = World::new(seed);
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
        let links = connect(&mut world, &run.network, &nodes);
        let mut stage = Self {
            world,
            links,
            streams: run.flows.iter().map(|_| Vec::new()).collect(),
            seen: vec![0; nodes.len()],
            senders: BTreeMap::new(),
            ports: vec![LOCAL_PORT; nodes.len()],
            hosts,
            nodes,
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

    fn host(&self, node: usize) -> Handle<Host> {
        self.hosts[node].expect("ends of flows are hosts")
    }

    fn listen(&mut self, number: usize, flow: &Flow) {
        let host = self.host(flow.to);
        let Transport::Dccp(config) = &flow.transport;
        let (config, app) = (config.clone(), flow.receiver.clone());
        self.world.call(host, |host, _| {
            host.listen(port(number), &[SERVICE], config, app)
                .expect("a port for each flow");
        });
    }

    /// Begins the next stream of a flow.
    pub(crate) fn start(&mut self, number: usize, flow: &Flow) {
        let local_port = self.ports[flow.from];
        self.ports[flow.from] += 1;
        let ports = Ports {
            path: Path {
                local: address(flow.from),
                remote: address(flow.to),
                encap: Encap::Ip,
            },
            local_port,
            remote_port: port(number),
        };
        let Transport::Dccp(config) = &flow.transport;
        let config = Config {
            service_code: SERVICE,
            ..config.clone()
        };
        let app = flow.sender.clone();
        let sender = self.world.call(self.host(flow.from), |host, context| {
            host.connect(context, ports, config, app)
                .expect("a plan has valid settings")
        });
        let sender_address = (address(flow.from), local_port);
        let stream = self.streams[number].len();
        self.senders.insert(sender_address, (number, stream));
        self.streams[number].push(Stream {
            sender,
            receiver: None,
            rtt_at: None,
        });
    }

    /// The application of a flow closes.
    pub(crate) fn stop(&mut self, number: usize, flow: &Flow) {
        let host = self.host(flow.from);
        for stream in &self.streams[number] {
            self.world
                .call(host, |host, context| host.close(context, stream.sender));
        }
    }

    /// Finds out which accepted connections belong to which streams.
    pub(crate) fn meet(&mut self) {
        for node in 0..self.hosts.len() {
            let Some(handle) = self.hosts[node] else {
                continue;
            };
            let host = self.world.node(handle);
            for number in self.seen[node]..host.connections() {
                let peer = host.snapshot(number).map(|s| s.flow);
                let key = peer.map(|f| (f.path.remote, f.remote_port));
                let stream = key.and_then(|key| self.senders.get(&key));
                if let Some(&(flow, stream)) = stream {
                    self.streams[flow][stream].receiver = Some(number);
                }
            }
            self.seen[node] = host.connections();
        }
    }

    /// Bytes that a flow's receiver has got.
    pub(crate) fn delivered_bytes(&self, number: usize, flow: &Flow) -> u64 {
        let host = self.world.node(self.host(flow.to));
        let streams = self.streams[number].iter();
        let received = |s: &Stream| s.receiver.map_or(0, |n| host.report(n).received_bytes);
        streams.map(received).sum()
    }

    /// Sums of a flow.
    pub(crate) fn totals(&self, number: usize, flow: &Flow) -> Totals {
        let sender = self.world.node(self.host(flow.from));
        let receiver = self.world.node(self.host(flow.to));
        let mut totals = Totals::default();
        for stream in &self.streams[number] {
            let report = sender.report(stream.sender);
            let stats = sender.stats(stream.sender);
            totals.sent_packets += report.sent;
            totals.dropped_by_sender_packets += report.overflowed;
            totals.lost_packets += stats.counters.data_lost;
            totals.marked_packets += stats.counters.data_marked;
            totals.dropped_by_receiver_packets += stats.rx_dropped.iter().sum::<u64>();
            if let Some(number) = stream.receiver {
                let report = receiver.report(number);
                totals.delivered_packets += report.received;
                totals.delivered_bytes += report.received_bytes;
            }
        }
        totals
    }

    /// What a flow's streams show of themselves: windows and rates are those of all together.
    pub(crate) fn state(&self, number: usize, flow: &Flow) -> State {
        let host = self.world.node(self.host(flow.from));
        let mut state = State::default();
        for stream in &self.streams[number] {
            let Some(snapshot) = host.snapshot(stream.sender) else {
                continue;
            };
            add(&mut state, &snapshot.tx);
            let sample = snapshot.rtt_sample.map(|(_, rtt)| rtt);
            state.rtt = state.rtt.or(sample);
        }
        state
    }

    /// Round trips measured by a flow's transport since the last look, in nanoseconds.
    pub(crate) fn new_round_trips(&mut self, number: usize, flow: &Flow, out: &mut Vec<u64>) {
        let host = self.world.node(self.host(flow.from));
        for stream in &mut self.streams[number] {
            let sample = host.snapshot(stream.sender).and_then(|s| s.rtt_sample);
            if let Some((at, rtt)) = sample
                && stream.rtt_at < Some(at)
            {
                stream.rtt_at = Some(at);
                out.push(nanos(rtt));
            }
        }
    }

    /// What the stamps of a flow's datagrams told: round trips to the sender, ages to the receiver.
    pub(crate) fn stamps(&self, number: usize, flow: &Flow) -> (Vec<Ping>, Vec<(u64, bool)>) {
        let (mut pings, mut ages) = (Vec::new(), Vec::new());
        let sender = self.world.node(self.host(flow.from));
        let receiver = self.world.node(self.host(flow.to));
        for stream in &self.streams[number] {
            let came_back = sender.report(stream.sender).delays;
            pings.extend(came_back.iter().map(|delay| Ping {
                at: delay.at - Instant::ZERO,
                rtt_ns: nanos(delay.age),
            }));
            let arrived = stream.receiver.map(|n| receiver.report(n).delays);
            let arrived = arrived.unwrap_or_default();
            ages.extend(
                arrived
                    .iter()
                    .map(|delay| (nanos(delay.age), delay.class > 0)),
            );
        }
        (pings, ages)
    }

    /// Why a stream of a flow ended by itself.
    pub(crate) fn broken(&self, number: usize, flow: &Flow) -> Option<String> {
        let host = self.world.node(self.host(flow.from));
        let reason = |stream: &Stream| match host.report(stream.sender).close_reason() {
            None | Some(CloseReason::Local) => None,
            Some(reason) => Some(format!("{reason:?}")),
        };
        self.streams[number].iter().find_map(reason)
    }
}

fn connect(world: &mut World, network: &Network, nodes: &[NodeId]) -> Vec<(LinkId, LinkId)> {
    let links = network.links.iter().map(|link| {
        let (from, to) = (nodes[link.from], nodes[link.to]);
        world.connect(from, to, link.there.clone(), link.back.clone())
    });
    links.collect()
}

/// Adds what one stream shows to what its flow shows.
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

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
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
