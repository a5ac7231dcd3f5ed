//! A scenario that can be run: names resolved, quantities in their units, chances drawn. It cannot be
//! invalid, since only [`Scenario::parse`](super::Scenario::parse) makes one.

use core::time::Duration;
use dccp_proto::{Config, Rate};
use dccp_sim::LinkConfig;
use dccp_sim::machine::MachineConfig;
use dccp_sim::queue::Limit;
use dccp_sim::source::App;
use dccp_sim::tcp;

/// One run: one cell of the matrix, in one phase, with one seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The variables of the matrix and their values.
    pub cell: Vec<(String, String)>,
    /// The phase, and the flow that is alone in it: `baseline/path1`.
    pub phase: Option<String>,
    /// Which repetition, from 0.
    pub repeat: u32,
    /// The seed of the world.
    pub seed: u64,
    /// Machines and links.
    pub network: Network,
    /// What they send.
    pub flows: Vec<Flow>,
    /// When it ends.
    pub end: Duration,
    /// What is recorded.
    pub measure: Measure,
}

/// Machines and what lies between them.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// Nodes. Those at an end of a flow are hosts, the others routers.
    pub nodes: Vec<String>,
    /// Links.
    pub links: Vec<Link>,
    /// Ways that are not the shortest.
    pub routes: Vec<Route>,
    /// What hosts are made of; the others take no time.
    pub machines: Vec<Machine>,
}

/// What a host is made of.
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
    /// What changes while it is used: those of each direction in the order of time.
    pub changes: Vec<Change>,
}

/// A change of one direction of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// When.
    pub at: Duration,
    /// Of the direction `to` → `from`.
    pub is_back: bool,
    /// To what.
    pub what: Alteration,
}

/// What a direction of a link has from then on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Alteration {
    /// This rate.
    Rate(Rate),
    /// This delay.
    Delay(Duration),
    /// A queue of this size.
    Queue(Limit),
    /// Whether it works.
    Up(bool),
}

/// At the node `at`, what goes to `to` goes to the neighbour `via`. All are indexes of the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Where.
    pub at: usize,
    /// What goes where.
    pub to: usize,
    /// By which neighbour.
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
    /// What carries it.
    pub transport: Transport,
    /// The law of CCID 2 or TCP as text, if the scenario names one.
    pub law: Option<String>,
    /// What it is for.
    pub kind: Kind,
    /// The application that sends.
    pub sender: App,
    /// The one at the other end.
    pub receiver: App,
    /// When each of its streams begins: one for each, so `reno*16` has 16.
    pub starts: Vec<Duration>,
    /// When it is closed; `None`: at the end.
    pub stop: Option<Duration>,
}

/// What carries a flow, with its settings.
#[derive(Clone, PartialEq, Debug)]
pub enum Transport {
    /// Our DCCP: those of the sender. The receiver has the same.
    Dccp(Box<Config>),
    /// The simulator's TCP.
    Tcp(tcp::Config),
    /// UDP.
    Udp,
}

/// What a flow is for, which decides what is summed up of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It takes as much as it gets: fairness, asymmetry and convergence compare these.
    Bulk,
    /// It sends by a rhythm of its own.
    Rhythm,
    /// It measures round trips.
    Probe,
}

/// What is recorded of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// Length of the intervals of the series.
    pub interval: Duration,
    /// So much from the begin is left out of summaries.
    pub discard: Duration,
    /// What the table on the screen shows.
    pub metrics: Vec<String>,
    /// Links whose utilisation is recorded as a series, and at which interval.
    pub link_util: Option<LinkUtil>,
}

/// A series of the utilisation of links.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkUtil {
    /// Indexes of the links.
    pub links: Vec<usize>,
    /// From one value to the next.
    pub every: Duration,
}

impl Run {
    /// The hash of everything that can change the result, as 64 hexadecimal digits.
    pub fn key(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        // Debug texts hold every field, and floats to the last bit.
        let text = format!("dccplab {version} {self:?}");
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// What people call it: the values of its variables, the phase, and which repetition.
    pub fn label(&self) -> String {
        let mut words: Vec<String> = self.cell.iter().map(|(_, value)| value.clone()).collect();
        words.extend(self.phase.clone());
        if self.repeat > 0 {
            words.push(format!("repeat {}", self.repeat));
        }
        words.join(", ")
    }

    /// How many connections there are.
    pub fn streams(&self) -> usize {
        self.flows.iter().map(|flow| flow.starts.len()).sum()
    }
}

impl Network {
    /// Which nodes are at an end of a flow.
    pub fn hosts(&self, flows: &[Flow]) -> Vec<bool> {
        let is_end = |node| {
            flows
                .iter()
                .any(|flow| flow.from == node || flow.to == node)
        };
        (0..self.nodes.len()).map(is_end).collect()
    }
}
