//! Scenario files: TOML, parsed into runs that cannot be invalid.
//!
//! | file | reads |
//! |---|---|
//! | `document.rs`, `fields.rs`, `read.rs` | TOML with places · the keys of a section · quantities |
//! | `matrix.rs` | `[matrix]`, and `${variable}` everywhere |
//! | `topology.rs`, `link.rs`, `queue.rs` | nodes, links, routes · one link · its queue |
//! | `changes.rs`, `host.rs` | what changes of a link · `[[host]]` |
//! | `ways.rs`, `bottleneck.rs` | finds the ways of packets · what fits through them |
//! | `flow.rs`, `traffic.rs` | `[[flow]]` · what it sends |
//! | `pace.rs` | how many datagrams there will be |
//! | `measure.rs` | `[measure]`, `[[phase]]` |
//! | [`plan`] | what comes out |
//!
//! `docs/scenarios.md` shows every key by example.

mod bottleneck;
mod changes;
mod document;
mod fields;
mod flow;
mod host;
#[cfg(test)]
mod keys;
mod link;
mod matrix;
mod measure;
mod mistake;
mod pace;
pub mod plan;
mod queue;
mod read;
mod topology;
mod traffic;
mod ways;

pub use mistake::ScenarioError;

use core::time::Duration;
use dccp_sim::Seed;
use document::Table;
use fields::Fields;
use mistake::Mistake;
use plan::{Flow, Network, Run};
use std::path::Path;
use ways::Astray;

/// The schema that this version reads.
pub const SCHEMA: &str = "dccplab/1";

/// Streams of all flows together: each needs a port.
const STREAMS_MAX: usize = 50_000;
/// Runs of a file, and streams of all of them: what fits into memory.
const RUNS_MAX: usize = 100_000;
const ALL_STREAMS_MAX: usize = 10_000_000;
/// Values of a series.
const VALUES_MAX: u128 = 1_000_000;
const LONGEST: Duration = Duration::from_hours(720);

const KNOWN: &[&str] = &[
    "schema", "name", "source", "seed", "topology", "link", "route", "host", "flow", "matrix",
    "phase", "measure", "expect", "assert", "report",
];

/// A scenario: what its file says.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// Where the experiment was published.
    pub source: Option<String>,
    /// From which every random number derives.
    pub seed: u64,
    /// Everything that is to be run, in order: cells, in each the phases, of each the repetitions.
    pub runs: Vec<Run>,
    /// The hash of the file's text, as 64 hexadecimal digits.
    pub hash: String,
}

impl Scenario {
    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong, where, and what to do about it.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| ScenarioError {
            file: file.clone(),
            line: None,
            column: 0,
            what: format!("the file cannot be read: {error}"),
            next: "check the file's name".into(),
        })?;
        let text = core::str::from_utf8(&bytes).map_err(|error| {
            let good = error.valid_up_to();
            let mistake = Mistake::new(
                &(good..good),
                "this is no text in UTF-8",
                "save the file as UTF-8",
            );
            // What comes after the place is of no interest.
            ScenarioError::at(mistake, &file, &String::from_utf8_lossy(&bytes))
        })?;
        Self::parse(text, &file)
    }

    /// Reads a text; `file` is its name in errors.
    ///
    /// # Errors
    /// What is wrong, where, and what to do about it.
    pub fn parse(text: &str, file: &str) -> Result<Self, ScenarioError> {
        scenario(text, folder(file)).map_err(|mistake| ScenarioError::at(mistake, file, text))
    }
}

/// Where files are that a scenario names.
fn folder(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}

fn scenario(text: &str, folder: &Path) -> Result<Scenario, Mistake> {
    let document = document::parse(text)?;
    let fields = Fields::open(&document, &(0..0), "a scenario", KNOWN)?;
    let next = format!("write schema = \"{SCHEMA}\"");
    let schema = fields
        .item("schema")
        .ok_or_else(|| Mistake::new(fields.place(), "a scenario needs a schema", next.as_str()))?;
    if read::text(schema)? != SCHEMA {
        let what = format!("this version does not know the schema {}", schema.label());
        return Err(Mistake::new(&schema.place, what, next));
    }
    for later in ["expect", "assert", "report"] {
        fields.not_yet(later)?;
    }
    let seed = fields.need("seed", read::whole(0..=i64::MAX.unsigned_abs()))?;
    let mut runs: Vec<Run> = Vec::new();
    let mut streams = 0;
    for cell in matrix::cells(&document)? {
        let filled = matrix::fill_in(&document, &cell);
        let labels: Vec<(String, String)> = (cell.iter())
            .map(|(name, item)| (name.clone(), item.label()))
            .collect();
        cell_runs(&filled, &labels, seed, folder, &mut |run| {
            streams += run.streams();
            runs.push(run);
            if runs.len() <= RUNS_MAX && streams <= ALL_STREAMS_MAX {
                return Ok(());
            }
            Err(Mistake::new(
                &(0..0),
                format!(
                    "this makes more than {RUNS_MAX} runs, or {ALL_STREAMS_MAX} streams in all"
                ),
                "write fewer values, repetitions or streams, or split the file",
            ))
        })?;
    }
    Ok(Scenario {
        name: fields.need("name", read::name)?,
        source: fields.get("source", |item| read::text(item).map(str::to_owned))?,
        seed,
        runs,
        hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
    })
}

/// Hands over the runs of one cell, one after the other.
fn cell_runs(
    document: &Table,
    labels: &[(String, String)],
    seed: u64,
    folder: &Path,
    add: &mut impl FnMut(Run) -> Result<(), Mistake>,
) -> Result<(), Mistake> {
    let network = topology::network(document, folder)?;
    let wanted = measure::measure(document, &network.links)?;
    let mut last = Duration::ZERO;
    for repeat in 0..wanted.repeat {
        let seed = repeated(seed, repeat);
        let (flows, paces) = flows(document, &network, Seed(seed))?;
        for phase in measure::phases(document, &flows, wanted.duration)? {
            fits(document, &phase, &wanted.measure)?;
            pace::ends(document, &phase, &flows, &paces)?;
            last = last.max(phase.end);
            add(Run {
                cell: labels.to_vec(),
                phase: phase.name,
                repeat,
                seed,
                network: network.clone(),
                flows: phase.flows,
                end: phase.end,
                measure: wanted.measure.clone(),
            })?;
        }
    }
    changes::before(document, last)
}

/// The seed of a repetition; the first has the file's.
fn repeated(seed: u64, repeat: u32) -> u64 {
    match repeat {
        0 => seed,
        n => Seed(seed).stream(&format!("repeat {n}")).bits(),
    }
}

/// All flows, and how many datagrams in a second each stream makes.
fn flows(
    document: &Table,
    network: &Network,
    seed: Seed,
) -> Result<(Vec<Flow>, Vec<f64>), Mistake> {
    let sections = topology::sections(document, "flow")?;
    let mut flows: Vec<Flow> = Vec::new();
    let mut packets = Vec::new();
    for section in &sections {
        let (flow, packet) = flow::flow(section, &network.nodes, seed)?;
        packets.push(packet);
        if flows.iter().any(|f| f.id == flow.id) {
            return Err(Mistake::new(
                &section.place,
                format!("there are two flows {}", flow.id),
                "give each its own id",
            ));
        }
        flows.push(flow);
    }
    if flows.is_empty() {
        return Err(Mistake::new(
            &(0..0),
            "there is no [[flow]]",
            "write [[flow]] and below it id, from and to",
        ));
    }
    let streams: usize = flows.iter().map(|flow| flow.starts.len()).sum();
    if streams > STREAMS_MAX {
        return Err(Mistake::new(
            &sections[0].place,
            format!("the flows have {streams} streams together, more than there are ports"),
            format!("write {STREAMS_MAX} or fewer"),
        ));
    }
    let hosts = network.hosts(&flows);
    host::are_hosts(document, &network.nodes, &hosts)?;
    let mut paces = Vec::new();
    for ((flow, packet), section) in flows.iter().zip(packets).zip(sections) {
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let way = ways::way(network, &hosts, from, to)
                .map_err(|astray| lost(&section.place, network, (from, to), &astray))?;
            if from == flow.from {
                let pace = bottleneck::passes(&section.place, network, &way, flow, packet)?;
                paces.push(pace);
            }
        }
    }
    Ok((flows, paces))
}

fn lost(
    place: &mistake::Place,
    network: &Network,
    (from, to): (usize, usize),
    astray: &Astray,
) -> Mistake {
    let name = |node: usize| network.nodes[node].as_str();
    let (from, to) = (name(from), name(to));
    let (what, next) = match astray {
        Astray::NoWay => (
            format!("no links lead from {from} to {to}"),
            "add a [[link]]".to_owned(),
        ),
        Astray::Loop(circle) => {
            let circle: Vec<&str> = circle.iter().map(|&node| name(node)).collect();
            let circle = circle.join(" → ");
            (
                format!("packets from {from} to {to} go round in circles: {circle}"),
                "change or leave out a [[route]]".to_owned(),
            )
        }
        Astray::Host(host) => (
            format!(
                "the way from {from} to {to} leads through {}, a host: hosts do not forward",
                name(*host)
            ),
            format!("put a node without flows in the place of {}", name(*host)),
        ),
    };
    Mistake::new(place, what, next)
}

/// Times that contradict each other.
fn fits(document: &Table, phase: &measure::Phase, measure: &plan::Measure) -> Result<(), Mistake> {
    let place = document.entry("measure").map_or(0..0, |e| e.place.clone());
    let end = flow::seconds(phase.end);
    if measure.discard >= phase.end {
        return Err(Mistake::new(
            &place,
            format!("everything is discarded: the run ends at {end}"),
            "write a shorter discard",
        ));
    }
    if measure.interval > phase.end {
        return Err(Mistake::new(
            &place,
            format!("no interval is complete: the run ends at {end}"),
            "write a shorter interval",
        ));
    }
    if phase.end > LONGEST {
        return Err(Mistake::new(
            &place,
            format!("the run ends at {end}: that is too long"),
            "write 720h at most",
        ));
    }
    let every = measure.link_util.as_ref().map_or(LONGEST, |u| u.every);
    let every = every.min(measure.interval);
    if phase.end.as_nanos() / every.as_nanos() > VALUES_MAX {
        return Err(Mistake::new(
            &place,
            format!(
                "one value each {} until {end} is more than {VALUES_MAX}",
                flow::seconds(every)
            ),
            "write a longer interval, or every",
        ));
    }
    let late = (phase.flows.iter()).find(|flow| flow.starts.iter().any(|s| *s >= phase.end));
    match late {
        Some(flow) => Err(Mistake::new(
            &place,
            format!(
                "{} begins after the end of the run, which is at {end}",
                flow.id
            ),
            "let the run last longer, or the flow begin earlier",
        )),
        None => Ok(()),
    }
}
