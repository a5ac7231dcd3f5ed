//! Results as JSON, `dccplab-result/1`. `schema/dccplab-result-1.json` is generated from these types: a test compares
//! the two. The simulator's results do not depend on the machine, the time or the number of threads: the same scenario
//! gives the same bytes.

use crate::judge::verdict::{AssertionVerdict, Mark, TableVerdict};
use crate::run::outcome::{
    Figures, FlowInterval, FlowOutcome, LinkInterval, LinkOutcome, Outcome, Totals,
};
use crate::scenario::plan::{Flow, Run, Transport};
use crate::scenario::{Scale, Scenario};
use crate::summary::{FlowSummary, LinkSummary, Summary, sum_up};
use dccp_cli::exit;
use dccp_proto::time::nanos;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema's name.
pub const SCHEMA: &str = "dccplab-result/1";

/// How the program ended.
#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// All cells are there.
    Complete,
    /// All cells are there, but an assertion failed.
    Failed,
    /// Some cells failed.
    Incomplete,
    /// A user stopped the program; unfinished cells are missing.
    Interrupted,
}

/// Where a document comes from.
#[derive(Serialize, JsonSchema, Clone, Debug)]
pub struct Record {
    /// The words of the command line that can change the result.
    pub argv: Vec<String>,
    /// Hash of the program.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    pub program_hash: String,
    /// Where the cells ran: in the simulator, in network namespaces of this machine, between named machines, or on this
    /// machine, which they measured.
    #[schemars(extend("enum" = ["sim", "live", "hosts", "machine"]))]
    pub backend: &'static str,
}

/// Output of `dccplab run --json`. Names of numbers end in the unit; unknown values are null.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Document<'a> {
    /// The name of this schema.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'a str,
    /// How the program ended.
    status: Status,
    /// The program's exit code: 0 complete, 3 failed, 5 incomplete, 130 interrupted.
    #[schemars(extend("enum" = [0, 3, 5, 130]))]
    exit_code: u8,
    /// Where the results come from.
    record: FullRecord<'a>,
    /// In the order of the scenario.
    #[schemars(with = "Vec<Cell<'_>>")]
    cells: &'a [Value],
    /// The outcome of each assertion.
    assertions: &'a [AssertionVerdict],
    /// Published tables with our numbers.
    published: Vec<TableVerdict>,
}

/// Where the results come from.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Record")]
struct FullRecord<'a> {
    /// The scenario's name.
    name: &'a str,
    /// Where the experiment was published.
    source: Option<&'a str>,
    /// The scenario's seed. Each cell derives its own from it.
    seed: u64,
    /// The size of the experiment: as the file says, or with the values of its `[quick]`.
    scale: Scale,
    /// Hash of the scenario file.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    scenario_hash: &'a str,
    /// The scenario file's text.
    scenario: &'a str,
    /// The program that wrote the results.
    #[schemars(extend("const" = "dccplab"))]
    program: &'a str,
    /// The program's version.
    version: &'a str,
    #[serde(flatten)]
    record: &'a Record,
}

/// One run: one combination of variables, in one phase, with one seed.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Cell<'a> {
    /// Hash of everything that can change the result.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    key: String,
    /// The name in tables: the values of the variables, the phase, and the repetition.
    label: String,
    /// The variables of the matrix and their values.
    variables: BTreeMap<&'a str, &'a str>,
    /// The variables that this repetition has drawn, and their values.
    drawn: BTreeMap<&'a str, &'a str>,
    /// The phase, and the flow that is alone in it: `baseline/path1`.
    phase: Option<&'a str>,
    /// The number of the repetition, from 0.
    repeat: u32,
    /// A text, because it has 64 bits.
    #[schemars(regex(pattern = "^[0-9]+$"))]
    seed: String,
    /// Simulated time; real time in a live run and in a measurement of this machine.
    duration_ns: u64,
    /// Why the cell failed.
    error: Option<&'a str>,
    /// Limits of a run in real time beside the network, with evidence: the processor, or the emulator. Its figures say
    /// less about the network. Also settings that a run on hosts does not apply.
    warnings: &'a [String],
    /// Null if the cell failed.
    summary: Option<CellSummary<'a>>,
    /// Null if the cell failed.
    series: Option<Series<'a>>,
}

/// The summary of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Summary")]
struct CellSummary<'a> {
    /// In the order of the scenario.
    flows: Vec<FlowRow<'a>>,
    /// Both directions of each link, in the order of the scenario; empty in a run on hosts.
    links: Vec<LinkRow<'a>>,
    /// Hosts that have a `[[host]]` in the scenario; empty in a run on hosts.
    hosts: Vec<Host<'a>>,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Events that the simulator played; null in other runs.
    events: Option<u64>,
    /// The figures of a measurement of this machine; null in other runs.
    bench: Option<&'a Figures>,
}

/// A flow, or several streams under one name.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Flow")]
struct FlowRow<'a> {
    /// The flow's name.
    id: &'a str,
    /// Transport and congestion control, such as `dccp/ccid2 cubic`.
    transport: String,
    /// The number of connections.
    #[schemars(range(min = 1))]
    streams: usize,
    #[serde(flatten)]
    summary: &'a FlowSummary,
    #[serde(flatten)]
    totals: &'a Totals,
    /// Goodput in bins of five seconds from the flow's begin.
    #[schemars(inner(range(min = 0)))]
    goodput_5s_bps: &'a [f64],
    /// Why a stream ended before it was stopped.
    broken: Option<&'a str>,
}

/// One direction of a link.
#[derive(Serialize, JsonSchema)]
struct LinkName {
    /// The link's name.
    id: String,
    /// `there` is from the link's `from` to its `to`.
    #[schemars(extend("enum" = ["there", "back"]))]
    direction: &'static str,
}

/// The summary of one direction of a link.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Link")]
struct LinkRow<'a> {
    #[serde(flatten)]
    name: LinkName,
    #[serde(flatten)]
    summary: &'a LinkSummary,
    /// The longest queue.
    queue_packets_max: u64,
    /// Packets that arrived at the link.
    offered_packets: u64,
    /// Packets that reached the other end.
    delivered_packets: u64,
    /// Packets lost, by reason.
    lost_packets: BTreeMap<String, u64>,
    /// Packets marked by the queue.
    marked_packets: u64,
}

/// A host and the busy time of its processor.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Host<'a> {
    /// The host's node.
    id: &'a str,
    /// The busy time of its processor; null in a live run.
    processor_ns: Option<u64>,
    /// Received packets that it lost before its transports, by reason; null in a live run.
    lost_packets: Option<BTreeMap<String, u64>>,
}

/// Columns: the n-th value of each belongs to the interval that ends at the n-th `t_ns`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Series<'a> {
    /// The length of an interval.
    interval_ns: u64,
    /// The length of an interval of `link_util`, if the scenario measures it.
    link_util_interval_ns: Option<u64>,
    /// The ends of the intervals.
    t_ns: Vec<u64>,
    /// In the order of the scenario.
    flows: Vec<FlowSeries<'a>>,
    /// Both directions of each link, in the order of the scenario; empty in a run on hosts.
    links: Vec<LinkSeries<'a>>,
}

/// The intervals of a flow: all its streams together.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FlowSeries<'a> {
    /// The flow's name.
    id: &'a str,
    /// Goodput; requests and answers together.
    #[schemars(inner(range(min = 0)))]
    goodput_bps: Vec<f64>,
    /// Congestion window at the interval's end.
    #[schemars(inner(range(min = 0)))]
    cwnd_packets: Vec<Option<f64>>,
    /// Slow-start threshold at the interval's end.
    #[schemars(inner(range(min = 0)))]
    ssthresh_packets: Vec<Option<f64>>,
    /// Allowed rate at the interval's end.
    #[schemars(inner(range(min = 0)))]
    rate_bps: Vec<Option<f64>>,
    /// The newest round-trip sample at the interval's end, of the first stream that has one.
    rtt_ns: Vec<Option<u64>>,
    /// Declared lost in the interval.
    lost_packets: Vec<Option<u64>>,
    /// Marked in the interval.
    marked_packets: Vec<Option<u64>>,
    /// Duplicate acknowledgements in the interval.
    duplicate_acks: Vec<Option<u64>>,
}

/// The intervals of one direction of a link.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct LinkSeries<'a> {
    #[serde(flatten)]
    name: LinkName,
    /// The mean queue.
    #[schemars(inner(range(min = 0)))]
    queue_packets_mean: Vec<f64>,
    /// The longest queue of the samples.
    queue_packets_max: Vec<u64>,
    /// The busy share of the time.
    #[schemars(inner(range(min = 0)))]
    utilisation: Vec<f64>,
    /// Lost in the interval, for any reason.
    lost_packets: Vec<u64>,
    /// Marked in the interval.
    marked_packets: Vec<u64>,
    /// The utilisation in each interval of `link_util_interval_ns`.
    #[schemars(inner(range(min = 0)))]
    link_util: &'a [f64],
}

/// The schema of documents.
pub(super) fn schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<Document<'_>>();
    schema.insert("title".into(), SCHEMA.into());
    schema
}

/// The document: cells in the order of the scenario, as [`cell`] made them.
pub fn document(
    scenario: &Scenario,
    record: &Record,
    cells: &[Value],
    assertions: &[AssertionVerdict],
    (status, exit_code): (Status, u8),
) -> Value {
    to_value(&Document {
        schema: SCHEMA,
        status,
        exit_code,
        record: FullRecord {
            name: &scenario.name,
            source: scenario.source.as_deref(),
            seed: scenario.seed,
            scale: scenario.scale,
            scenario_hash: &scenario.hash,
            scenario: &scenario.text,
            program: "dccplab",
            version: env!("CARGO_PKG_VERSION"),
            record,
        },
        cells,
        assertions,
        published: scenario.expected.compare(cells),
    })
}

/// Judges the assertions of a scenario by its cells. `wanted` is the number of cells that were asked for. Also returns
/// how the program ends, and its exit code.
pub fn judge(
    scenario: &Scenario,
    cells: &[Value],
    wanted: usize,
) -> (Vec<AssertionVerdict>, (Status, u8)) {
    let failed = cells.iter().filter(|cell| !cell["error"].is_null()).count();
    let is_whole = failed == 0 && cells.len() == scenario.runs.len();
    let assertions = scenario.expected.judge(cells, is_whole);
    let outcome = match failed {
        _ if cells.len() < wanted => (Status::Interrupted, exit::INTERRUPTED),
        0 if assertions.iter().any(|a| a.mark == Mark::Fails) => (Status::Failed, exit::ASSERTION),
        0 => (Status::Complete, exit::DONE),
        _ => (Status::Incomplete, exit::INCOMPLETE),
    };
    (assertions, outcome)
}

/// One cell that was played.
pub fn cell(run: &Run, outcome: &Outcome) -> Value {
    let summary = sum_up(run, outcome);
    to_value(&Cell {
        summary: Some(summary_of(run, outcome, &summary)),
        series: Some(series(run, outcome)),
        warnings: &outcome.warnings,
        ..head(run)
    })
}

/// One cell that failed.
pub fn failed(run: &Run, error: &str) -> Value {
    to_value(&Cell {
        error: Some(error),
        ..head(run)
    })
}

fn to_value(part: &impl Serialize) -> Value {
    serde_json::to_value(part).expect("all keys are texts")
}

fn head(run: &Run) -> Cell<'_> {
    Cell {
        key: run.key(),
        label: run.label(),
        variables: named(&run.cell),
        drawn: named(&run.drawn),
        phase: run.phase.as_deref(),
        repeat: run.repeat,
        seed: run.seed.to_string(),
        duration_ns: nanos(run.end),
        error: None,
        warnings: &[],
        summary: None,
        series: None,
    }
}

fn summary_of<'a>(run: &'a Run, outcome: &'a Outcome, summary: &'a Summary) -> CellSummary<'a> {
    let flows = run.flows.iter().zip(&summary.flows).zip(&outcome.flows);
    let links = directions(run).zip(&summary.links).zip(&outcome.links);
    let machines = run.network.machines.iter();
    let machines = machines
        .zip(&outcome.processors)
        .zip(&outcome.lost_by_hosts);
    CellSummary {
        flows: flows.map(|((flow, s), o)| flow_row(flow, s, o)).collect(),
        links: links.map(|((name, s), o)| link_row(name, s, o)).collect(),
        hosts: machines
            .map(|((machine, time), lost)| Host {
                id: &run.network.nodes[machine.node],
                processor_ns: time.map(nanos),
                lost_packets: lost.as_deref().map(by_reason),
            })
            .collect(),
        summary,
        events: outcome.events,
        bench: outcome.bench.as_deref(),
    }
}

fn named(values: &[(String, String)]) -> BTreeMap<&str, &str> {
    let values = values.iter();
    values.map(|(n, v)| (n.as_str(), v.as_str())).collect()
}

/// `dccp/ccid2 highspeed`.
pub fn transport(flow: &Flow) -> String {
    let law = flow.law.as_deref().unwrap_or("reno");
    match &flow.transport {
        Transport::Dccp(config) => match config.tx_ccids.first() {
            Some(2) => format!("dccp/ccid2 {law}"),
            Some(ccid) => format!("dccp/ccid{ccid}"),
            None => "dccp".into(),
        },
        Transport::Tcp(_) => format!("tcp {law}"),
        Transport::Udp => "udp".into(),
    }
}

/// All directions of all links, in the order of outcomes.
fn directions(run: &Run) -> impl Iterator<Item = LinkName> {
    run.network.links.iter().flat_map(|link| {
        ["there", "back"].map(|direction| LinkName {
            id: link.id.clone(),
            direction,
        })
    })
}

fn flow_row<'a>(flow: &'a Flow, summary: &'a FlowSummary, outcome: &'a FlowOutcome) -> FlowRow<'a> {
    FlowRow {
        id: &flow.id,
        transport: transport(flow),
        streams: flow.starts.len(),
        summary,
        totals: &outcome.totals,
        goodput_5s_bps: &outcome.bins,
        broken: outcome.broken.as_deref(),
    }
}

fn link_row<'a>(name: LinkName, summary: &'a LinkSummary, outcome: &LinkOutcome) -> LinkRow<'a> {
    LinkRow {
        name,
        summary,
        queue_packets_max: outcome.queue_packets_max,
        offered_packets: outcome.offered_packets,
        delivered_packets: outcome.delivered_packets,
        lost_packets: by_reason(&outcome.lost_packets),
        marked_packets: outcome.marked_packets,
    }
}

fn by_reason(lost: &[(&'static str, u64)]) -> BTreeMap<String, u64> {
    let lost = lost.iter();
    lost.map(|(reason, n)| (reason.replace(' ', "_"), *n))
        .collect()
}

fn series<'a>(run: &'a Run, outcome: &'a Outcome) -> Series<'a> {
    let link_util = run.measure.link_util.as_ref();
    let flows = run.flows.iter().zip(&outcome.flows);
    let links = directions(run).zip(&outcome.links);
    Series {
        interval_ns: nanos(run.measure.interval),
        link_util_interval_ns: link_util.map(|wanted| nanos(wanted.every)),
        t_ns: outcome.ticks.iter().map(|at| nanos(*at)).collect(),
        flows: flows
            .map(|(flow, o)| flow_series(&flow.id, &o.intervals))
            .collect(),
        links: links.map(|(name, o)| link_series(name, o)).collect(),
    }
}

fn flow_series<'a>(id: &'a str, intervals: &[FlowInterval]) -> FlowSeries<'a> {
    FlowSeries {
        id,
        goodput_bps: column(intervals, |i| i.goodput_bps),
        cwnd_packets: column(intervals, |i| i.cwnd_packets),
        ssthresh_packets: column(intervals, |i| i.ssthresh_packets),
        rate_bps: column(intervals, |i| i.rate_bps),
        rtt_ns: column(intervals, |i| i.rtt_ns),
        lost_packets: column(intervals, |i| i.lost_packets),
        marked_packets: column(intervals, |i| i.marked_packets),
        duplicate_acks: column(intervals, |i| i.duplicate_acks),
    }
}

fn link_series(name: LinkName, outcome: &LinkOutcome) -> LinkSeries<'_> {
    let intervals: &[LinkInterval] = &outcome.intervals;
    LinkSeries {
        name,
        queue_packets_mean: column(intervals, |i| i.queue_packets_mean),
        queue_packets_max: column(intervals, |i| i.queue_packets_max),
        utilisation: column(intervals, |i| i.utilisation),
        lost_packets: column(intervals, |i| i.lost_packets),
        marked_packets: column(intervals, |i| i.marked_packets),
        link_util: &outcome.utilisation,
    }
}

fn column<I, V>(intervals: &[I], of: impl Fn(&I) -> V) -> Vec<V> {
    intervals.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/dccplab-result-1.json");

    #[test]
    fn stored_schema_is_that_of_the_types() {
        let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        if std::env::var_os("UPDATE").is_some() {
            fs::write(PATH, &text).unwrap();
        }
        assert!(
            fs::read_to_string(PATH).unwrap() == text,
            "schema/dccplab-result-1.json is out of date: UPDATE=1 cargo test -p dccp-lab schema"
        );
    }
}
