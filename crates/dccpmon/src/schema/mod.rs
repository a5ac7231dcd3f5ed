//! The result of a measurement as one document, `dccpmon/1`.
//!
//! Every number has its unit in its name: `_ns` nanoseconds, `_bps` bits per second, `_bytes`, `_packets`, `_ratio`.
//! Null stands for a value that is not known or that the transport lacks; 0 is a count of none.
//! `schema/dccpmon-1.json` is generated from these types: a test compares the two.

mod flow;
mod media;
mod modes;
mod requested;
mod rr;
mod safeudp;
mod stamps;

pub use flow::{
    Achieved, Acknowledged, CcSample, Flow, IntervalFlow, Ledger, Limit, OneWay, RttSplit, Samples,
    TcpTotals, Verdict,
};
pub use media::{Media, MediaClass};
pub use modes::{Knee, Point};
pub use requested::{
    Direction, FlowRequest, Granted, Negotiated, Requested, ServerLimits, Transport,
};
pub use rr::{Rr, RrPoint, Varied};
pub use safeudp::{Conclusion, Ended, Missing, SafeUdp, SafeUdpInterval, StateChange, Trip};
pub use stamps::{StampSource, Stamps};

use core::fmt;
use dccp_host::Delta;
use dccp_stats::{ClockFit, MeanInterval, Spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the schema.
pub const SCHEMA: &str = "dccpmon/1";

/// Result of one dccpmon test. Every number has its unit in its name: `_ns` nanoseconds, `_bps` bits per second,
/// `_bytes`, `_packets`, `_ratio`. An unknown value is null.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Document {
    /// `dccpmon/1`.
    pub schema: String,
    /// The kind of test.
    pub kind: Kind,
    /// How the test ended.
    pub status: Status,
    /// The program's exit code.
    pub exit_code: u8,
    /// Why the test could not run or ended early.
    pub error: Option<Problem>,
    /// The command line.
    pub requested: Requested,
    /// The test that the server granted.
    pub granted: Option<Granted>,
    /// The features of each flow, as its sender sees them.
    pub negotiated: Vec<Negotiated>,
    /// The programs and systems at both ends.
    pub ends: Option<Ends>,
    /// The server's clock against the client's.
    pub clock: Option<ClockFit>,
    /// Delay without and with load, measured by probes beside the flows.
    pub idle: Option<DelayPhase>,
    /// The intervals by rising time, without gaps.
    pub intervals: Vec<Interval>,
    /// The senders at points of time, by `--sample`; null without it.
    pub samples: Option<Vec<CcSample>>,
    /// The marks that the user set during the run.
    pub marks: Vec<Mark>,
    /// Null if the test did not run.
    pub summary: Option<Summary>,
    /// The counters of both hosts.
    pub hosts: Option<Hosts>,
    /// The points of a sweep; null for other kinds.
    pub points: Option<Vec<Point>>,
    /// The knee of each size for which a sweep found one; null without a search.
    pub knees: Option<Vec<Knee>>,
    /// Latency against message size; null for other kinds.
    pub rr: Option<Rr>,
    /// Important packets and others; null for other kinds.
    pub media: Option<Media>,
    /// The outcome of `--assert` and `--baseline`; null without them.
    pub assertions: Option<Vec<Assertion>>,
    /// How the document came about.
    pub record: Record,
}

/// The kind of a test.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Throughput.
    Bulk,
    /// A grid of packet sizes and spacings.
    Sweep,
    /// Latency against message size.
    Rr,
    /// Important packets and others.
    Media,
    /// Throughput, with echoes from program to program.
    Stream,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bulk => "bulk",
            Self::Sweep => "sweep",
            Self::Rr => "rr",
            Self::Media => "media",
            Self::Stream => "stream",
        })
    }
}

/// How a test ended.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It runs: only in the first line of a JSON stream.
    Running,
    /// As planned.
    Complete,
    /// By the user; the figures are those of both ends.
    Interrupted,
    /// The server or a flow was lost midway.
    Incomplete,
    /// It did not run.
    Failed,
    /// The server refused it.
    Refused,
    /// It was not to run: `--dry-run`.
    Planned,
}

/// A failure, in the two lines that the terminal shows.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Problem {
    /// The failure.
    pub what: String,
    /// A hint for the user.
    pub next: String,
}

/// The programs and systems at both ends.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Ends {
    /// The end that asked for the test.
    pub client: End,
    /// Null if the server was lost before it reported.
    pub server: Option<End>,
}

/// One end of a test.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct End {
    /// The version of the program.
    pub version: String,
    /// The system, its release and its architecture.
    pub system: String,
    /// Equal at both ends on one machine.
    pub boot_id: Option<String>,
    /// The kernel's clock source, such as `tsc`.
    pub clock_source: Option<String>,
    /// The source of the arrival times at this end; null if it took none.
    pub timestamps: Option<StampSource>,
    /// Processor cores.
    pub cores: Option<u32>,
}

/// Delay without and with load.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct DelayPhase {
    /// Round trips of probes before the load.
    pub idle_ns: Spread,
    /// Round trips of probes beside the load, on a connection of their own.
    pub loaded_ns: Option<Spread>,
    /// Round trips of the load itself, of the flow with the longest ones.
    pub self_loaded_ns: Option<Spread>,
    /// Round trips per minute under load, after draft-ietf-ippm-responsiveness: the mean of those of the probes and those
    /// of the load itself.
    pub rpm: Option<f64>,
    /// Probes without an answer.
    pub lost_packets: u64,
}

/// All flows in one interval.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Interval {
    /// The begin, since the begin of the test.
    pub t0_ns: u64,
    /// The end.
    pub t1_ns: u64,
    /// Each flow.
    pub flows: Vec<IntervalFlow>,
}

/// A mark that the user set.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Mark {
    /// The time since the begin of the test.
    pub at_ns: u64,
    /// Its text.
    pub text: String,
}

/// The whole test.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Summary {
    /// How long the senders sent.
    pub duration_ns: u64,
    /// Each flow.
    pub flows: Vec<Flow>,
    /// Application data that arrived, of all flows; null if that of a flow is not known.
    pub goodput_bps: Option<f64>,
    /// Jain's fairness index of the flows' goodputs; null with fewer than two flows, or if one is not known.
    pub fairness_jain: Option<f64>,
    /// (first − second) / (first + second) of the goodputs of two flows; null otherwise.
    pub asymmetry: Option<f64>,
    /// The repetitions; null without them.
    pub repeat: Option<Repeat>,
    /// The limit of the flow that was limited most.
    pub limited_by: Limit,
}

/// A test that ran several times. All other figures of the summary are those of the last run.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Repeat {
    /// The goodput of each run.
    pub goodputs_bps: Vec<f64>,
    /// The mean goodput of all runs' intervals and its 95 % confidence interval; null with fewer than 8 intervals.
    pub goodput: Option<MeanInterval>,
}

/// The counters of both hosts.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Hosts {
    /// The host that asked for the test.
    pub client: Delta,
    /// Null if the server was lost before it reported.
    pub server: Option<Delta>,
}

/// The outcome of one assertion.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Assertion {
    /// The assertion as it was written.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
    /// The value that was measured; null if the figure is not known.
    pub value: Option<f64>,
    /// The value that it was compared with.
    pub wanted: Option<f64>,
}

/// How a document came about.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Record {
    /// The command line.
    pub argv: Vec<String>,
    /// The version of the program.
    pub program_version: String,
    /// The end of the test, in seconds since 1970.
    pub ended_unix_s: u64,
}

/// The JSON schema of [`Document`].
#[must_use]
pub fn json_schema() -> String {
    STORED.into()
}

/// The schema as it is stored: a test compares it with the types.
const STORED: &str = include_str!("../../schema/dccpmon-1.json");

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::generate::SchemaSettings;

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/dccpmon-1.json");

    /// `UPDATE=1 cargo test -p dccpmon schema` writes the file.
    #[test]
    fn stored_schema_is_that_of_the_types() {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<Document>();
        schema.insert("$id".into(), SCHEMA.into());
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(PATH, &text).unwrap();
        }
        let stored = std::fs::read_to_string(PATH).unwrap();
        assert!(
            stored == text,
            "schema/dccpmon-1.json is out of date: UPDATE=1 cargo test -p dccpmon schema"
        );
    }
}
