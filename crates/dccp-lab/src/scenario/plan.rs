//! Runs: names are resolved, quantities have units, random values are drawn. Only
//! [`Scenario::parse`](super::Scenario::parse) makes them, so they cannot be invalid.

use super::places::Place;
use crate::metrics::Metric;
use core::time::Duration;
use dccp_historic::Inputs;
use dccp_proto::{Config, Rate};
use dccp_sim::machine::MachineConfig;
use dccp_sim::queue::Limit;
use dccp_sim::rate_trace::model::Model;
use dccp_sim::source::App;
use dccp_sim::tcp;
use dccp_sim::{LinkConfig, Seed};
use schemars::JsonSchema;
use serde::Deserialize;

/// Where a run takes place.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Backend {
    /// In the simulator, in virtual time.
    #[default]
    Sim,
    /// On this machine, in network namespaces and in real time.
    Live,
    /// Between named machines, through `dccpmon serve`.
    Hosts,
    /// On this machine without a network: a measurement of the machine, by `[bench]`.
    Machine(Bench),
}

impl Backend {
    /// The name in results; on the command line, but for measurements, which a scenario decides.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Live => "live",
            Self::Hosts => "hosts",
            Self::Machine(_) => "machine",
        }
    }
}

/// One run: one cell of the matrix, in one phase, with one seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Where it takes place.
    pub backend: Backend,
    /// The machines of nodes in a run on hosts; empty in others.
    pub places: Vec<Place>,
    /// The variables of the matrix and their values.
    pub cell: Vec<(String, String)>,
    /// The variables that this repetition has drawn, and their values.
    pub drawn: Vec<(String, String)>,
    /// The phase, and the flow that is alone in it: `baseline/path1`.
    pub phase: Option<String>,
    /// The number of the repetition, from 0.
    pub repeat: u32,
    /// The seed of the world.
    pub seed: u64,
    /// Nodes and links.
    pub network: Network,
    /// The traffic between nodes.
    pub flows: Vec<Flow>,
    /// The end of the run; of a measurement the time that it takes.
    pub end: Duration,
    /// The recording.
    pub measure: Measure,
}

/// A measurement of this machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bench {
    /// The header checksum of a datagram, alone and within a whole sender.
    Checksum {
        /// Bytes of data.
        size: usize,
        /// The bytes that the checksum covers.
        coverage: Coverage,
    },
    /// Datagrams over the loopback interface.
    Sending {
        /// The calls that hand them over.
        by: Call,
        /// Datagrams of a call.
        batch: usize,
        /// Bytes of data.
        size: usize,
    },
    /// Acknowledgements of a bulk transfer in memory.
    AckVector {
        /// Packets in flight.
        window: u64,
        /// The share of packets that are lost.
        loss: f64,
    },
}

/// The bytes that the checksum of a packet covers.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Coverage {
    /// The whole packet.
    Full,
    /// The header with its options.
    Header,
}

impl Coverage {
    /// The value of the header's field Checksum Coverage (RFC 4340 §9.2).
    pub const fn cscov(self) -> u8 {
        match self {
            Self::Full => 0,
            Self::Header => 1,
        }
    }
}

/// The calls that hand datagrams over.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Call {
    /// A system call of a UDP socket for each datagram.
    Udp,
    /// A call of a DCCP socket.
    Socket,
    /// A packet ring before a DCCP socket.
    Ring,
}

/// Nodes and the links between them. A measurement has none.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Network {
    /// Nodes. Those at an end of a flow are hosts, the others routers.
    pub nodes: Vec<String>,
    /// Links.
    pub links: Vec<Link>,
    /// Routes other than those with the fewest links.
    pub routes: Vec<Route>,
    /// Processors, interfaces and clocks of hosts. Other hosts take no time.
    pub machines: Vec<Machine>,
}

/// The processor, interface and clock of a host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// The host, as an index of the nodes.
    pub node: usize,
    /// Its processor, interface and clock.
    pub config: MachineConfig,
}

/// A link with two directions.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Its name in results.
    pub id: String,
    /// One end, as an index of the nodes.
    pub from: usize,
    /// The other.
    pub to: usize,
    /// The direction `from` → `to`.
    pub there: LinkConfig,
    /// The direction `to` → `from`.
    pub back: LinkConfig,
    /// The models that the traces of both directions are drawn from: there, back.
    pub models: [Option<Model>; 2],
    /// Changes during the run: those of each direction in the order of time.
    pub changes: Vec<Change>,
}

/// A change of one direction of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The time of the change.
    pub at: Duration,
    /// True for the direction `to` → `from`.
    pub is_back: bool,
    /// The new setting.
    pub what: Alteration,
}

/// A new setting of a direction of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Alteration {
    /// The rate.
    Rate(Rate),
    /// The delay.
    Delay(Duration),
    /// The room of the queue.
    Queue(Limit),
    /// Whether the link works.
    Up(bool),
}

/// The node `at` sends packets for `to` to its neighbour `via`. All are indexes of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The node that forwards.
    pub at: usize,
    /// The destination.
    pub to: usize,
    /// The neighbour.
    pub via: usize,
}

/// A flow, or several under one name.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    /// Its name in results.
    pub id: String,
    /// The sending host, as an index of the nodes.
    pub from: usize,
    /// The receiving host.
    pub to: usize,
    /// The transport.
    pub transport: Transport,
    /// The law of CCID 2 or TCP as text, if the scenario names one.
    pub law: Option<String>,
    /// The inputs of the law. The settings of the transport contain them too.
    pub inputs: Inputs,
    /// The role in summaries.
    pub kind: Kind,
    /// The application that sends.
    pub sender: App,
    /// The application that receives.
    pub receiver: App,
    /// The age at which a picture must be complete to be usable.
    pub deadline: Option<Duration>,
    /// The beginning of each stream: `reno*16` has 16.
    pub starts: Vec<Duration>,
    /// The end; `None`: the end of the run.
    pub stop: Option<Duration>,
}

/// The transport of a flow with its settings.
#[derive(Clone, PartialEq, Debug)]
pub enum Transport {
    /// DCCP. Both ends have these settings.
    Dccp(Box<Config>),
    /// The simulator's TCP.
    Tcp(tcp::Config),
    /// UDP.
    Udp,
}

/// The role of a flow in summaries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A flow that takes the rate it gets. Fairness, asymmetry and convergence compare these.
    Bulk,
    /// A flow whose application sets the rate.
    Timed,
    /// A flow that measures round trips.
    Probe,
}

/// The recording of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// Length of the intervals of the series.
    pub interval: Duration,
    /// The time at the beginning that summaries leave out.
    pub discard: Duration,
    /// The columns of the table.
    pub metrics: Vec<Metric>,
    /// Links whose utilisation is recorded as a series.
    pub link_util: Option<LinkUtil>,
}

/// A series of the utilisation of links.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkUtil {
    /// Indexes of the links.
    pub links: Vec<usize>,
    /// The interval of the series.
    pub every: Duration,
}

impl Run {
    /// The hash of everything that can change the result, as 64 hexadecimal digits.
    pub fn key(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        // Debug texts have all fields, and floats with all bits.
        let text = format!("dccplab {version} {self:?}");
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// The name in tables: the values of the variables, the phase, and the repetition.
    pub fn label(&self) -> String {
        let mut words: Vec<String> = self.cell.iter().map(|(_, value)| value.clone()).collect();
        words.extend(self.phase.clone());
        if self.repeat > 0 {
            words.push(format!("repeat {}", self.repeat));
        }
        words.join(", ")
    }

    /// True if the cell has this name: the beginning of its key, its label, or `variable=value,…`.
    pub fn is_called(&self, name: &str) -> bool {
        const KEY_DIGITS_MIN: usize = 4;
        let has = |pair: &str| {
            let pair = pair.split_once('=');
            pair.is_some_and(|(n, v)| {
                self.cell
                    .iter()
                    .any(|(name, value)| name == n && value == v)
            })
        };
        self.label() == name
            || (name.len() >= KEY_DIGITS_MIN && self.key().starts_with(name))
            || name.split(',').all(has)
    }

    /// The measurement of this machine, if the run is one.
    pub const fn bench(&self) -> Option<Bench> {
        match self.backend {
            Backend::Machine(bench) => Some(bench),
            Backend::Sim | Backend::Live | Backend::Hosts => None,
        }
    }

    /// The number of connections.
    pub fn streams(&self) -> usize {
        self.flows.iter().map(|flow| flow.starts.len()).sum()
    }
}

impl Flow {
    /// The beginning of its first stream.
    pub(crate) fn begin(&self) -> Duration {
        self.starts.iter().min().copied().unwrap_or_default()
    }
}

impl Network {
    /// Draws the traces of links that have models. The random numbers of a link come from streams of its name.
    pub(crate) fn draw_traces(&mut self, seed: Seed) {
        for link in &mut self.links {
            let Link {
                id,
                there,
                back,
                models,
                ..
            } = link;
            for (model, config, way) in [(models[0], there, "there"), (models[1], back, "back")] {
                if let Some(model) = model {
                    let stream = seed.stream(&format!("link {id} trace {way}"));
                    config.trace = Some(model.draw(&stream));
                }
            }
        }
    }

    /// The direction from a node to its neighbour: twice the number of the link, and one more for `to` → `from`.
    pub(crate) fn direction_between(&self, from: usize, to: usize) -> Option<usize> {
        let mut links = self.links.iter().enumerate();
        links.find_map(|(n, link)| match (from, to) {
            ends if ends == (link.from, link.to) => Some(2 * n),
            ends if ends == (link.to, link.from) => Some(2 * n + 1),
            _ => None,
        })
    }

    /// The settings of a direction.
    pub(crate) fn direction(&self, direction: usize) -> &LinkConfig {
        let link = &self.links[direction / 2];
        if direction.is_multiple_of(2) {
            &link.there
        } else {
            &link.back
        }
    }

    /// The directions that packets take along a path of nodes.
    pub(crate) fn directions(&self, path: &[usize]) -> Vec<usize> {
        let steps = path.windows(2);
        steps
            .filter_map(|step| self.direction_between(step[0], step[1]))
            .collect()
    }

    /// True for each node at an end of a flow.
    pub fn hosts(&self, flows: &[Flow]) -> Vec<bool> {
        let is_end = |node| {
            flows
                .iter()
                .any(|flow| flow.from == node || flow.to == node)
        };
        (0..self.nodes.len()).map(is_end).collect()
    }
}
