//! Scenario files: TOML, parsed into runs that cannot be invalid.
//!
//! ```text
//! text ─ document ─ matrix ─→ a document per cell ─ keys ─→ File ─ topology, flow, measure ─→ Run …
//! ```
//! - `document.rs`: TOML with places.
//! - `scale.rs`: `[quick]`, the same experiment in less time.
//! - `matrix.rs`, `draw.rs`, `names.rs`: `[matrix]`, `[draw]`, `[define]`, and `${name}` in all sections.
//! - `keys.rs`, `values.rs`, `numbers.rs`, `placed.rs`: the keys of all sections and the forms of their values.
//! - `topology.rs`, `nodes.rs`, `link.rs`, `trace.rs`, `queue.rs`, `changes.rs`, `host.rs`: the network.
//! - `paths.rs`, `bottleneck.rs`: the paths of packets and their limits.
//! - `flow.rs`, `traffic.rs`: `[[flow]]` and its traffic.
//! - `measure.rs`: `[measure]`, `[[phase]]`.
//! - `bench.rs`: `[bench]`.
//! - `expect.rs`: `[[assert]]`, `[[published]]`, `[[figure]]`.
//! - [`plan`]: the result.
//!
//! `docs/scenarios.md` shows the format by example, `docs/scenario-keys.md` lists all keys.
//!
//! Mistakes are found in phases: syntax, keys and values, then what concerns several keys. All mistakes of a
//! phase are reported together.

mod bench;
mod bottleneck;
mod changes;
mod document;
mod draw;
mod expect;
mod flow;
mod host;
mod keys;
mod link;
mod matrix;
mod measure;
mod names;
mod nodes;
mod numbers;
pub(crate) mod paths;
mod placed;
pub mod places;
pub mod plan;
mod queue;
#[cfg(test)]
mod reference;
mod scale;
mod topology;
mod trace;
mod traffic;
mod values;

pub use crate::mistake::ScenarioError;
pub use scale::Scale;

use crate::judge::check::Context;
use crate::judge::{Expected, PHASE};
use crate::mistake::{Mistake, Mistakes, Place};
use core::ops::Range;
use core::time::Duration;
use dccp_cli::law::Laws;
use dccp_sim::Seed;
use document::{Item, items, value};
use draw::Draw;
use keys::{File, FlowKeys, MeasureKeys};
use matrix::Cell;
use names::{Names, Values};
use paths::PathError;
use plan::{Backend, Flow, Network, Run};
use serde::Deserialize;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use values::At;

/// Bounds the streams of all flows, because each needs a port.
const STREAMS_MAX: usize = 50_000;
/// Bound the memory that the runs of a file and their streams need.
const RUNS_MAX: usize = 100_000;
const ALL_STREAMS_MAX: usize = 10_000_000;

/// The experiment that a scenario file describes.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The name.
    pub name: String,
    /// Where the experiment was published.
    pub source: Option<String>,
    /// The source of all random numbers.
    pub seed: u64,
    /// The size of the experiment.
    pub scale: Scale,
    /// All runs, in order: cells, in each the repetitions, of each the phases.
    pub runs: Vec<Run>,
    /// The expected results.
    pub expected: Expected,
    /// The file's text.
    pub text: String,
    /// The hash of the file's text, as 64 hexadecimal digits.
    pub hash: String,
}

impl Scenario {
    /// Reads a file.
    ///
    /// # Errors
    /// All mistakes of a phase, at most 20, in the order of the file.
    pub fn read(path: &Path, scale: Scale) -> Result<Self, Vec<ScenarioError>> {
        let file = path.display().to_string();
        let bytes = contents(path).map_err(|error| {
            vec![ScenarioError {
                file: file.clone(),
                position: None,
                what: format!("the file cannot be read: {error}"),
                next: "check the file's name".into(),
            }]
        })?;
        Self::from_bytes(&bytes, &file, scale, &Laws::default())
    }

    /// Parses the bytes of a file; `file` is its name in errors. Flows can have the given laws beside the built-in
    /// ones.
    ///
    /// # Errors
    /// All mistakes of a phase, at most 20, in the order of the file.
    pub fn from_bytes(
        bytes: &[u8],
        file: &str,
        scale: Scale,
        laws: &Laws,
    ) -> Result<Self, Vec<ScenarioError>> {
        let text = core::str::from_utf8(bytes).map_err(|error| {
            let good = error.valid_up_to();
            let next = "save the file as UTF-8";
            let mistake = Mistake::new(&(good..good), "the file is not text in UTF-8", next);
            // The position depends only on the valid text before it.
            let text = String::from_utf8_lossy(bytes);
            vec![ScenarioError::at(mistake, file, &text)]
        })?;
        let mut mistakes = Mistakes::default();
        let outside = Outside {
            folder: Path::new(file).parent().unwrap_or(Path::new("")),
            laws,
        };
        match scenario(text, scale, outside, &mut mistakes) {
            Some(scenario) if mistakes.is_empty() => Ok(scenario),
            _ => Err(mistakes.into_errors(file, text)),
        }
    }

    /// True if the cells measure this machine: they run one after the other, and their results vary.
    pub fn measures_this_machine(&self) -> bool {
        self.runs.iter().any(|run| run.bench().is_some())
    }

    /// Parses a text; `file` is its name in errors.
    ///
    /// # Errors
    /// All mistakes of a phase, at most 20, in the order of the file.
    pub fn parse(text: &str, file: &str, scale: Scale) -> Result<Self, Vec<ScenarioError>> {
        Self::from_bytes(text.as_bytes(), file, scale, &Laws::default())
    }
}

/// The contents of a file that someone names. A device has no end.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    const MAX: u64 = 128 << 20;
    let mut bytes = Vec::new();
    let size = fs::File::open(path)?
        .take(MAX + 1)
        .read_to_end(&mut bytes)?;
    if size as u64 > MAX {
        return Err(io::Error::other("it has more than 128 MiB"));
    }
    Ok(bytes)
}

/// The things that a scenario can name beside its own sections.
#[derive(Clone, Copy)]
struct Outside<'a> {
    /// The folder of the files that it names.
    folder: &'a Path,
    laws: &'a Laws,
}

fn scenario(
    text: &str,
    scale: Scale,
    outside: Outside<'_>,
    mistakes: &mut Mistakes,
) -> Option<Scenario> {
    let document = document::parse(text, mistakes)?;
    let sections = [
        "bench", "topology", "matrix", "measure", "define", "draw", "quick",
    ];
    if !document::are_tables(&document, &sections, mistakes) {
        return None;
    }
    let document = scale::apply(&document, scale, mistakes);
    let cells = matrix::cells(&document, mistakes)?;
    let draws = draw::draws(value(&document, "draw"), mistakes)?;
    let mut runs = Runs::default();
    let mut last = None;
    for cell in &cells {
        if mistakes.is_full() {
            return None;
        }
        last = add_cell(&document, cell, &draws, outside, &mut runs, mistakes).or(last);
    }
    let file = last?;
    let expected = expect::expected(&file, context(&cells, &runs.runs), text, mistakes)?;
    Some(Scenario {
        name: file.name.0,
        source: file.source,
        seed: file.seed.0,
        scale,
        runs: runs.runs,
        expected,
        text: text.to_owned(),
        hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
    })
}

/// The keys that must be known before variables are drawn.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Head {
    seed: u64,
    measure: Repeat,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Repeat {
    repeat: Option<u32>,
}

/// Adds the runs of one cell. If variables are drawn, each repetition has its own values. Returns the last document.
fn add_cell(
    document: &Item<'_>,
    cell: &Cell<'_>,
    draws: &[Draw],
    outside: Outside<'_>,
    runs: &mut Runs,
    mistakes: &mut Mistakes,
) -> Option<File> {
    // Reading the file reports the mistakes.
    let silent = &mut Mistakes::default();
    let first = filled(document, cell, &Vec::new(), silent);
    let head = document::read::<Head>(&first, silent).unwrap_or_default();
    let (seed, repeats) = (head.seed, head.measure.repeat.unwrap_or(1));
    // Without drawn variables, all repetitions have one document.
    let step = if draws.is_empty() { repeats } else { 1 };
    let mut last = None;
    for begin in (0..repeats).step_by(step as usize) {
        let values = draw::drawn(draws, seed, begin);
        let filled = filled(document, cell, &values, mistakes);
        let file = document::read::<File>(&filled, mistakes)?;
        let variables = Variables {
            cell: labels(cell),
            drawn: labels(&values),
        };
        let repeats = begin..begin + step;
        add_runs(&file, &filled, &variables, repeats, outside, runs, mistakes);
        if !mistakes.is_empty() {
            return Some(file);
        }
        last = Some(file);
    }
    last
}

/// The document of one cell and repetition.
fn filled<'i>(
    document: &Item<'i>,
    cell: &Cell<'i>,
    drawn: &Values<'i>,
    mistakes: &mut Mistakes,
) -> Item<'i> {
    let names = Names {
        cell,
        drawn,
        define: value(document, "define"),
    };
    let mut filled = names::fill_in(document, &names);
    link::complete_back(&mut filled, mistakes);
    filled
}

/// Variables and their values as text.
fn labels(values: &Values<'_>) -> Vec<(String, String)> {
    let labels = values.iter();
    labels
        .map(|(name, value)| (name.clone(), document::label(value)))
        .collect()
}

/// The names that assertions can use.
fn context(cells: &[Cell<'_>], runs: &[Run]) -> Context {
    let mut axes: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |axis: &str, label: String| {
        let n = axes.iter().position(|(known, _)| known == axis);
        let n = n.unwrap_or_else(|| {
            axes.push((axis.to_owned(), Vec::new()));
            axes.len() - 1
        });
        if !axes[n].1.contains(&label) {
            axes[n].1.push(label);
        }
    };
    for (name, item) in cells.iter().flatten() {
        add(name, document::label(item));
    }
    for phase in runs.iter().filter_map(|run| run.phase.clone()) {
        add(PHASE, phase);
    }
    let mut context = Context {
        axes,
        flows: Vec::new(),
        links: Vec::new(),
        hosts: Vec::new(),
    };
    let note = |names: &mut Vec<String>, name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for run in runs {
        run.flows
            .iter()
            .for_each(|flow| note(&mut context.flows, flow.id.clone()));
        for link in &run.network.links {
            note(&mut context.links, link.id.clone());
            note(&mut context.links, format!("{} back", link.id));
        }
        for machine in &run.network.machines {
            let name = run.network.nodes[machine.node].clone();
            note(&mut context.hosts, name);
        }
    }
    context
}

/// The runs found so far.
#[derive(Default)]
struct Runs {
    runs: Vec<Run>,
    streams: usize,
}

impl Runs {
    fn add(&mut self, run: Run) -> Result<(), Mistake> {
        self.streams += run.streams();
        self.runs.push(run);
        if self.runs.len() <= RUNS_MAX && self.streams <= ALL_STREAMS_MAX {
            return Ok(());
        }
        let what =
            format!("this makes more than {RUNS_MAX} runs, or {ALL_STREAMS_MAX} streams in all");
        let next = "write fewer values, repetitions or streams, or split the file";
        Err(Mistake::new(&(0..0), what, next))
    }
}

/// The variables of a cell and repetition, with their values as text.
struct Variables {
    cell: Vec<(String, String)>,
    drawn: Vec<(String, String)>,
}

/// Adds the runs of some repetitions of one cell: its phases, each repeated.
fn add_runs(
    file: &File,
    document: &Item<'_>,
    variables: &Variables,
    repeats: Range<u32>,
    outside: Outside<'_>,
    runs: &mut Runs,
    mistakes: &mut Mistakes,
) -> Option<()> {
    if let Some(keys) = &file.bench {
        let measurement = bench::measurement(keys, file, document, mistakes)?;
        for repeat in repeats {
            mistakes.check(runs.add(Run {
                cell: variables.cell.clone(),
                drawn: variables.drawn.clone(),
                repeat,
                seed: repeated(file.seed.0, repeat),
                ..measurement.clone()
            }))?;
        }
        return Some(());
    }
    let network = topology::network(file, document, outside.folder, mistakes)?;
    let defaults = MeasureKeys::default();
    let measure_keys = file.measure.as_ref().map_or(&defaults, |keys| &keys.value);
    let place = file
        .measure
        .as_ref()
        .map_or(0..0, |keys| keys.place.clone());
    let measure = mistakes.check(measure::measure(measure_keys, &network.links));
    let tables = value(document, "flow").map_or(&[][..], items);
    for (keys, table) in file.flow.iter().zip(tables) {
        flow::check(keys, table, mistakes);
    }
    let duration = measure_keys.duration.map(|time| time.0);
    let mut last = Duration::ZERO;
    for repeat in repeats {
        let seed = repeated(file.seed.0, repeat);
        let flows = flows(file, &network, outside.laws, Seed(seed), mistakes)?;
        let phases = measure::phases(&file.phase, &flows, duration, &place);
        let (phases, measure) = (mistakes.check(phases)?, measure.as_ref()?);
        let mut network = network.clone();
        network.draw_traces(Seed(seed));
        for phase in phases {
            mistakes.check(measure::check(&place, &phase, measure))?;
            last = last.max(phase.end);
            mistakes.check(runs.add(Run {
                backend: Backend::default(),
                places: Vec::new(),
                cell: variables.cell.clone(),
                drawn: variables.drawn.clone(),
                phase: phase.name,
                repeat,
                seed,
                network: network.clone(),
                flows: phase.flows,
                end: phase.end,
                measure: measure.clone(),
            }))?;
        }
    }
    changes::are_before(file, last, mistakes);
    Some(())
}

/// The seed of a repetition; the first has the file's.
fn repeated(seed: u64, repeat: u32) -> u64 {
    match repeat {
        0 => seed,
        n => Seed(seed).stream(&format!("repeat {n}")).bits(),
    }
}

/// All flows, if they are possible in the network.
fn flows(
    file: &File,
    network: &Network,
    laws: &Laws,
    seed: Seed,
    mistakes: &mut Mistakes,
) -> Option<Vec<Flow>> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut packets = Vec::new();
    for keys in &file.flow {
        let Some((flow, packet)) = mistakes.check(flow::flow(keys, &network.nodes, laws, seed))
        else {
            continue;
        };
        if flows.iter().any(|f| f.id == flow.id) {
            let what = format!("there are two flows {}", flow.id);
            mistakes.add(Mistake::new(&keys.place, what, "give each its own id"));
        }
        flows.push(flow);
        packets.push(packet);
    }
    let streams: usize = flows.iter().map(|flow| flow.starts.len()).sum();
    if flows.is_empty() && mistakes.is_empty() {
        let next = "write [[flow]] and below it id, from and to";
        mistakes.add(Mistake::new(&(0..0), "there is no [[flow]]", next));
    }
    if streams > STREAMS_MAX {
        let what = format!("the flows have {streams} streams together, more than there are ports");
        let next = format!("write {STREAMS_MAX} or fewer");
        mistakes.add(Mistake::new(&file.flow[0].place, what, next));
    }
    if !mistakes.is_empty() {
        return None;
    }
    let hosts = network.hosts(&flows);
    host::are_hosts(&file.host, &network.nodes, &hosts, mistakes);
    for ((flow, packet), keys) in flows.iter_mut().zip(packets).zip(&file.flow) {
        for (from, to) in [(flow.from, flow.to), (flow.to, flow.from)] {
            let path = paths::path(network, &hosts, from, to);
            let path = path.map_err(|error| no_path(keys, network, (from, to), &error));
            let Some(path) = mistakes.check(path) else {
                break;
            };
            if from == flow.from {
                let place = &keys.place;
                mistakes.check(bottleneck::check(place, network, &path, flow, packet));
                traffic::use_mtu(keys, bottleneck::first_mtu(network, &path), flow);
            }
        }
    }
    mistakes.is_empty().then_some(flows)
}

fn no_path(
    keys: &At<FlowKeys>,
    network: &Network,
    (from, to): (usize, usize),
    error: &PathError,
) -> Mistake {
    let place: &Place = &keys.place;
    let name = |node: usize| network.nodes[node].as_str();
    let (from, to) = (name(from), name(to));
    match error {
        PathError::NoPath => {
            let what = format!("no links lead from {from} to {to}");
            Mistake::new(place, what, "add a [[link]]")
        }
        PathError::Loop(nodes) => {
            let nodes: Vec<&str> = nodes.iter().map(|&node| name(node)).collect();
            let nodes = nodes.join(" → ");
            let what = format!("packets from {from} to {to} loop: {nodes}");
            Mistake::new(place, what, "change or leave out a [[route]]")
        }
        PathError::Host(host) => {
            let host = name(*host);
            let what = format!(
                "the path from {from} to {to} leads through {host}, a host: hosts do not forward"
            );
            let next = format!("put a node without flows in the place of {host}");
            Mistake::new(place, what, next)
        }
    }
}
