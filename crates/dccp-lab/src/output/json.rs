//! Results as JSON, `dccplab-result/1`, with the schema `schema/dccplab-result-1.json`. Names of numbers end in the
//! unit; unknown values are null. The results do not depend on the machine, the time or the number of threads: the
//! same scenario gives the same bytes.

use crate::metrics::Distribution;
use crate::run::outcome::{FlowInterval, FlowOutcome, LinkInterval, LinkOutcome, Outcome};
use crate::scenario::Scenario;
use crate::scenario::plan::{Flow, Run, Transport};
use crate::summary::{FlowSummary, LinkSummary, Summary, sum_up};
use dccp_proto::time::nanos;
use serde_json::{Value, json};

/// The schema's name.
pub const SCHEMA: &str = "dccplab-result/1";

/// How the program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// All cells are there.
    Complete,
    /// Some cells failed.
    Incomplete,
    /// A user stopped the program; unfinished cells are missing.
    Interrupted,
}

impl Status {
    const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Incomplete => "incomplete",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Where a document comes from.
#[derive(Clone, Debug)]
pub struct Record {
    /// The words of the command line that can change the result.
    pub argv: Vec<String>,
    /// Hash of the program.
    pub program_hash: String,
}

/// The document: cells in the order of the scenario, as [`cell`] made them.
pub fn document(
    scenario: &Scenario,
    record: &Record,
    cells: &[Value],
    status: Status,
    exit_code: u8,
) -> Value {
    json!({
        "schema": SCHEMA,
        "status": status.word(),
        "exit_code": exit_code,
        "record": {
            "name": scenario.name,
            "source": scenario.source,
            "seed": scenario.seed,
            "scenario_hash": scenario.hash,
            "program": "dccplab",
            "version": env!("CARGO_PKG_VERSION"),
            "program_hash": record.program_hash,
            "backend": "sim",
            "argv": record.argv,
        },
        "cells": cells,
    })
}

/// One cell that was played.
pub fn cell(run: &Run, outcome: &Outcome) -> Value {
    let summary = sum_up(run, outcome);
    let mut cell = head(run);
    cell["summary"] = summary_of(run, outcome, &summary);
    cell["series"] = series(run, outcome);
    cell
}

/// One cell that failed.
pub fn failed(run: &Run, error: &str) -> Value {
    let mut cell = head(run);
    cell["error"] = error.into();
    cell
}

fn head(run: &Run) -> Value {
    let variables = run.cell.iter();
    let variables: serde_json::Map<String, Value> = variables
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect();
    json!({
        "key": run.key(),
        "label": run.label(),
        "variables": variables,
        "phase": run.phase,
        "repeat": run.repeat,
        "seed": run.seed.to_string(),
        "duration_ns": nanos(run.end),
        "error": null,
        "summary": null,
        "series": null,
    })
}

fn summary_of(run: &Run, outcome: &Outcome, summary: &Summary) -> Value {
    let flows = run.flows.iter().enumerate().map(|(n, flow)| {
        let mut value = of_flow(&summary.flows[n], &outcome.flows[n]);
        value["id"] = flow.id.clone().into();
        value["transport"] = transport(flow).into();
        value["streams"] = flow.starts.len().into();
        value
    });
    let links = directions(run).enumerate().map(|(n, (id, direction))| {
        let mut value = of_link(&summary.links[n], &outcome.links[n]);
        value["id"] = id.into();
        value["direction"] = direction.into();
        value
    });
    let machines = run.network.machines.iter().zip(&outcome.processors);
    let hosts = machines.map(|(machine, time)| {
        json!({
            "id": run.network.nodes[machine.node],
            "processor_ns": nanos(*time),
        })
    });
    json!({
        "flows": flows.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "hosts": hosts.collect::<Vec<_>>(),
        "fairness": summary.fairness,
        "asymmetry": summary.asymmetry,
        "convergence_ns": summary.convergence.map(nanos),
        "constancy": summary.constancy,
        "rtt_ping_ns": summary.rtt_ping.as_ref().map(distribution),
        "rtt_increase_ns": summary.rtt_increase_ns,
        "rtt_ratio": summary.rtt_ratio,
        "events": outcome.events,
    })
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

/// All directions of all links: `(id, there or back)`, in the order of outcomes.
pub(crate) fn directions(run: &Run) -> impl Iterator<Item = (String, &'static str)> {
    let links = run.network.links.iter();
    links.flat_map(|link| [(link.id.clone(), "there"), (link.id.clone(), "back")])
}

fn of_flow(summary: &FlowSummary, outcome: &FlowOutcome) -> Value {
    let totals = &outcome.totals;
    json!({
        "throughput_bps": summary.throughput_bps,
        "throughput_after_discard_bps": summary.throughput_after_discard_bps,
        "share_bps": summary.share_bps,
        "stability": summary.stability,
        "loss": summary.loss,
        "rtt_transport_ns": summary.rtt_transport.as_ref().map(distribution),
        "rtt_ping_ns": summary.rtt_ping.as_ref().map(distribution),
        "age_ns": summary.age.as_ref().map(distribution),
        "important_fraction": summary.important_fraction,
        "cwnd_packets_mean": summary.cwnd_packets_mean,
        "sent_packets": totals.sent_packets,
        "delivered_packets": totals.delivered_packets,
        "delivered_bytes": totals.delivered_bytes,
        "answered_bytes": totals.answered_bytes,
        "lost_packets": totals.lost_packets,
        "marked_packets": totals.marked_packets,
        "retransmitted_packets": totals.retransmitted_packets,
        "loss_events": totals.loss_events,
        "duplicate_acks": totals.duplicate_acks,
        "dropped_by_receiver_packets": totals.dropped_by_receiver_packets,
        "dropped_by_sender_packets": totals.dropped_by_sender_packets,
        "goodput_5s_bps": outcome.bins,
        "broken": outcome.broken,
    })
}

fn of_link(summary: &LinkSummary, outcome: &LinkOutcome) -> Value {
    let lost = outcome.lost_packets.iter();
    let lost: serde_json::Map<String, Value> = lost
        .map(|(reason, n)| (reason.replace(' ', "_"), (*n).into()))
        .collect();
    json!({
        "utilisation": summary.utilisation,
        "queue_packets_mean": summary.queue_packets_mean,
        "queue_packets_max": outcome.queue_packets_max,
        "offered_packets": outcome.offered_packets,
        "delivered_packets": outcome.delivered_packets,
        "lost_packets": lost,
        "marked_packets": outcome.marked_packets,
    })
}

fn distribution(d: &Distribution) -> Value {
    json!({
        "samples": d.samples,
        "min": d.min,
        "avg": d.avg,
        "max": d.max,
        "p50": d.p50,
        "p95": d.p95,
        "p99": d.p99,
    })
}

/// Columns: the n-th value of each belongs to the n-th interval.
fn series(run: &Run, outcome: &Outcome) -> Value {
    let flows = run
        .flows
        .iter()
        .zip(&outcome.flows)
        .map(|(flow, recorded)| {
            let i = &recorded.intervals;
            json!({
                "id": flow.id,
                "goodput_bps": column(i, |i| i.goodput_bps),
                "cwnd_packets": column(i, |i| i.cwnd_packets),
                "ssthresh_packets": column(i, |i| i.ssthresh_packets),
                "rate_bps": column(i, |i| i.rate_bps),
                "rtt_ns": column(i, |i| i.rtt_ns),
                "lost_packets": column(i, |i| i.lost_packets),
                "marked_packets": column(i, |i| i.marked_packets),
                "duplicate_acks": column(i, |i: &FlowInterval| i.duplicate_acks),
            })
        });
    let links = directions(run)
        .zip(&outcome.links)
        .map(|((id, direction), recorded)| {
            let i = &recorded.intervals;
            json!({
                "id": id,
                "direction": direction,
                "queue_packets_mean": column(i, |i| i.queue_packets_mean),
                "queue_packets_max": column(i, |i| i.queue_packets_max),
                "utilisation": column(i, |i| i.utilisation),
                "lost_packets": column(i, |i| i.lost_packets),
                "marked_packets": column(i, |i: &LinkInterval| i.marked_packets),
                "link_util": recorded.utilisation,
            })
        });
    json!({
        "interval_ns": nanos(run.measure.interval),
        "link_util_interval_ns": run.measure.link_util.as_ref().map(|wanted| nanos(wanted.every)),
        "t_ns": outcome.ticks.iter().map(|at| nanos(*at)).collect::<Vec<_>>(),
        "flows": flows.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}

fn column<I, V: Into<Value>>(intervals: &[I], of: impl Fn(&I) -> V) -> Value {
    intervals.iter().map(|i| of(i).into()).collect()
}
