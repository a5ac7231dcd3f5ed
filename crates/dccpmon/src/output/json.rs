//! The result as one JSON document, `dccpmon/1`.
//!
//! `schema/dccpmon-1.json` is generated from these types: a test compares the two.

use crate::cli::Bulk;
use crate::plan::Plan;
use crate::result::ledger::Ledger;
use crate::result::verdict::Limit;
use crate::result::{FlowResult, Status, TestResult, rate};
use crate::wire::figures::{self, Host, Samples, Spread};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, clock};
use dccp_cli::Failure;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

const SCHEMA: &str = "dccpmon/1";

/// Result of one dccpmon test. Every number has its unit in its name: `_ns` nanoseconds, `_bps` bits per second,
/// `_bytes`, `_packets`. An unknown value is null.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
pub(crate) struct Document<'a> {
    schema: &'static str,
    kind: Kind,
    status: Outcome,
    /// The program's exit code.
    exit_code: u8,
    error: Option<Problem<'a>>,
    requested: Requested<'a>,
    negotiated: Option<Negotiated<'a>>,
    intervals: Vec<Interval<'a>>,
    /// Null if the test did not run.
    summary: Option<Summary<'a>>,
    hosts: Option<Hosts<'a>>,
    record: Record,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema))]
enum Kind {
    Bulk,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(JsonSchema))]
enum Outcome {
    Complete,
    Interrupted,
    Incomplete,
    Failed,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Problem<'a> {
    what: &'a str,
    next: &'a str,
}

/// The command line.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Requested<'a> {
    host: &'a str,
    /// Null without UDP encapsulation.
    udp_port: Option<u16>,
    dccp_port: u16,
    /// `udp` or `ip`.
    over: String,
    duration_ns: u64,
    interval_ns: u64,
    ccid: u8,
    /// The law of CCID 2; null if the sender has none, or is the server.
    cc: Option<String>,
    packet_bytes: Option<usize>,
    rate_bps: Option<u64>,
    flows: u32,
    reverse: bool,
}

/// The features of the first flow, as its sender sees them.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Negotiated<'a> {
    ccid_tx: u8,
    cc: Option<&'a str>,
    ack_ratio: u64,
    ecn: bool,
    /// `udp` or `ip`.
    encap: String,
    mps_bytes: u64,
    csum_cover: u8,
    packet_bytes: usize,
}

/// All flows in one interval.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Interval<'a> {
    t0_ns: u64,
    t1_ns: u64,
    flows: Vec<IntervalFlow<'a>>,
}

/// One flow in one interval. Null: the end did not report.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct IntervalFlow<'a> {
    /// Counts from 1.
    id: u32,
    sent_packets: Option<u64>,
    sent_bytes: Option<u64>,
    received_packets: Option<u64>,
    received_bytes: Option<u64>,
    goodput_bps: Option<f64>,
    lost_packets: Option<u64>,
    rtt_ns: Option<Spread>,
    cwnd_packets: Option<f64>,
    ssthresh_packets: Option<f64>,
    cc_rate_bps: Option<f64>,
    cc_state: Option<&'a str>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Summary<'a> {
    duration_ns: u64,
    flows: Vec<Flow<'a>>,
}

/// One flow in the whole test.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Flow<'a> {
    /// Counts from 1.
    id: u32,
    goodput_bps: f64,
    wire_bps: Option<f64>,
    received_bytes: Option<u64>,
    ledger: Ledger,
    acknowledged: Acknowledged,
    /// The reason why the connection ended too early.
    broken: Option<&'a str>,
    rtt_ns: Option<Spread>,
    reordered_packets: Option<u64>,
    duplicate_packets: Option<u64>,
    marked_packets: Option<u64>,
    sender_samples: Samples,
    limited_by: &'a Limit,
}

/// The fates of the datagrams that left, according to the peer's acknowledgements.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
#[expect(clippy::struct_field_names, reason = "names of the JSON document")]
struct Acknowledged {
    received_packets: u64,
    marked_packets: u64,
    lost_packets: u64,
    dropped_by_peer_packets: u64,
    unreported_packets: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Hosts<'a> {
    client: &'a Host,
    /// Null if the server was lost before it reported.
    server: Option<&'a Host>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(deny_unknown_fields))]
struct Record {
    argv: Vec<String>,
    program_version: &'static str,
    ended_unix_s: u64,
}

/// The document of a test that ran.
pub(crate) fn document<'a>(plan: &'a Plan, result: &'a TestResult, exit_code: u8) -> Document<'a> {
    let status = match result.status {
        Status::Complete => Outcome::Complete,
        Status::Interrupted => Outcome::Interrupted,
        Status::Incomplete => Outcome::Incomplete,
    };
    let first = result.flows.first();
    Document {
        status,
        exit_code,
        error: None,
        negotiated: first.map(|flow| negotiated(plan, result, &flow.tx.connection)),
        intervals: intervals(result),
        summary: Some(Summary {
            duration_ns: nanos(result.elapsed),
            flows: result.flows.iter().map(flow).collect(),
        }),
        hosts: Some(Hosts {
            client: &result.client,
            server: result.server.as_ref(),
        }),
        ..empty(&plan.asked)
    }
}

/// The document of a test that did not run.
pub(crate) fn failure<'a>(asked: &'a Bulk, failure: &'a Failure) -> Document<'a> {
    Document {
        exit_code: failure.code,
        error: Some(Problem {
            what: &failure.what,
            next: &failure.next,
        }),
        ..empty(asked)
    }
}

/// A document without results.
fn empty(asked: &Bulk) -> Document<'_> {
    Document {
        schema: SCHEMA,
        kind: Kind::Bulk,
        status: Outcome::Failed,
        exit_code: 0,
        error: None,
        requested: Requested {
            host: &asked.host,
            udp_port: (asked.over == Encapsulation::Udp).then_some(asked.udp_port),
            dccp_port: asked.dccp_port,
            over: asked.over.to_string(),
            duration_ns: nanos(asked.duration),
            interval_ns: nanos(asked.interval),
            ccid: asked.ccid,
            cc: asked.cc(),
            packet_bytes: asked.length,
            rate_bps: asked.rate_bps,
            flows: asked.flows,
            reverse: asked.is_reverse,
        },
        negotiated: None,
        intervals: Vec::new(),
        summary: None,
        hosts: None,
        record: Record {
            argv: std::env::args().collect(),
            program_version: env!("CARGO_PKG_VERSION"),
            ended_unix_s: clock::unix_time().as_secs(),
        },
    }
}

fn negotiated<'a>(
    plan: &Plan,
    result: &TestResult,
    agreed: &'a figures::Negotiated,
) -> Negotiated<'a> {
    Negotiated {
        ccid_tx: agreed.ccid,
        cc: agreed.cc.as_deref(),
        ack_ratio: agreed.ack_ratio,
        ecn: agreed.is_ecn,
        encap: plan.asked.over.to_string(),
        mps_bytes: agreed.mps_bytes,
        csum_cover: agreed.cscov,
        packet_bytes: result.length,
    }
}

/// The intervals of all flows, those of one time together.
fn intervals(result: &TestResult) -> Vec<Interval<'_>> {
    let groups = result.intervals.chunk_by(|a, b| a.index == b.index);
    groups.filter_map(interval).collect()
}

/// One interval of all flows.
fn interval(flows: &[figures::Interval]) -> Option<Interval<'_>> {
    let first = flows.first()?;
    Some(Interval {
        t0_ns: first.t0_ns,
        t1_ns: first.t1_ns,
        flows: flows.iter().map(interval_flow).collect(),
    })
}

fn interval_flow(interval: &figures::Interval) -> IntervalFlow<'_> {
    let time = Duration::from_nanos(interval.t1_ns - interval.t0_ns);
    let (tx, rx) = (interval.tx.as_ref(), interval.rx.as_ref());
    IntervalFlow {
        id: interval.flow + 1,
        sent_packets: tx.map(|t| t.packets),
        sent_bytes: tx.map(|t| t.bytes),
        received_packets: rx.map(|r| r.packets),
        received_bytes: rx.map(|r| r.bytes),
        goodput_bps: rx.map(|r| rate(r.bytes, time)),
        lost_packets: rx.map(|r| r.lost_packets),
        rtt_ns: tx.and_then(|t| t.rtt_ns),
        cwnd_packets: tx.and_then(|t| t.cwnd_packets),
        ssthresh_packets: tx.and_then(|t| t.ssthresh_packets),
        cc_rate_bps: tx.and_then(|t| t.rate_bps),
        cc_state: tx.and_then(|t| t.cc_state.as_deref()),
    }
}

fn flow(f: &FlowResult) -> Flow<'_> {
    let rx = f.rx.as_ref();
    Flow {
        id: f.id + 1,
        goodput_bps: f.goodput_bps,
        wire_bps: f.wire_bps,
        received_bytes: rx.map(|r| r.bytes),
        ledger: f.ledger,
        acknowledged: Acknowledged {
            received_packets: f.tx.acked,
            marked_packets: f.tx.marked,
            lost_packets: f.tx.lost,
            dropped_by_peer_packets: f.tx.rx_dropped,
            unreported_packets: f.tx.unreported,
        },
        broken: f.tx.broken.as_deref(),
        rtt_ns: f.tx.rtt_ns,
        reordered_packets: rx.map(|r| r.reordered),
        duplicate_packets: rx.map(|r| r.duplicates),
        marked_packets: rx.map(|r| r.marked),
        sender_samples: f.tx.samples,
        limited_by: &f.limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::generate::SchemaSettings;

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/dccpmon-1.json");

    /// `UPDATE=1 cargo test -p dccpmon schema` writes the file.
    #[test]
    fn stored_schema_is_that_of_the_types() {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings
            .into_generator()
            .into_root_schema_for::<Document<'_>>();
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
