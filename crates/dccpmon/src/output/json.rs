//! The result as one JSON document, `dccpmon/1`: the schema is in `schema/dccpmon-1.json`. Every
//! number has its unit in its name; what is not known is null.

use crate::args::Bulk;
use crate::plan::Plan;
use crate::result::{FlowResult, Status, TestResult};
use dccp::{Over, clock};
use dccp_cli::Failure;
use serde_json::{Value, json};

/// The document of a test that ran.
pub(crate) fn document(plan: &Plan, result: &TestResult, exit_code: u8) -> Value {
    let status = match result.status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Incomplete => "incomplete",
    };
    let agreed = result.flows.first().map(|f| &f.tx.connection);
    json!({
        "schema": "dccpmon/1",
        "kind": "bulk",
        "status": status,
        "exit_code": exit_code,
        "error": null,
        "requested": requested(&plan.asked),
        "negotiated": agreed.map(|n| json!({
            "ccid_tx": n.ccid,
            "cc": n.cc,
            "ack_ratio": n.ack_ratio,
            "ecn": n.is_ecn,
            "encap": plan.asked.over.to_string(),
            "mps_bytes": n.mps_bytes,
            "csum_cover": n.cscov,
            "packet_bytes": result.length,
        })),
        "intervals": intervals(result),
        "summary": {
            "duration_ns": crate::host::nanos(result.elapsed),
            "flows": result.flows.iter().map(flow).collect::<Vec<_>>(),
        },
        "hosts": { "client": result.client, "server": result.server },
        "record": record(),
    })
}

/// The document of a test that did not run.
pub(crate) fn failure(asked: &Bulk, failure: &Failure) -> Value {
    json!({
        "schema": "dccpmon/1",
        "kind": "bulk",
        "status": "failed",
        "exit_code": failure.code,
        "error": { "what": failure.what, "next": failure.next },
        "requested": requested(asked),
        "negotiated": null,
        "intervals": [],
        "summary": null,
        "hosts": null,
        "record": record(),
    })
}

fn requested(asked: &Bulk) -> Value {
    json!({
        "host": asked.host,
        "udp_port": (asked.over == Over::Udp).then_some(asked.udp_port),
        "dccp_port": asked.dccp_port,
        "over": asked.over.to_string(),
        "duration_ns": crate::host::nanos(asked.duration),
        "interval_ns": crate::host::nanos(asked.interval),
        "ccid": asked.ccid,
        "cc": asked.cc(),
        "packet_bytes": asked.length,
        "rate_bps": asked.rate_bps,
        "flows": asked.flows,
        "reverse": asked.is_reverse,
    })
}

/// The intervals of all flows, those of one time together.
fn intervals(result: &TestResult) -> Vec<Value> {
    let mut documents: Vec<Value> = Vec::new();
    for group in result.intervals.chunk_by(|a, b| a.index == b.index) {
        let flows: Vec<Value> = group
            .iter()
            .map(|i| {
                let time = core::time::Duration::from_nanos(i.t1_ns - i.t0_ns);
                let (tx, rx) = (i.tx.as_ref(), i.rx.as_ref());
                json!({
                    "id": i.flow + 1,
                    "sent_packets": tx.map(|t| t.packets),
                    "sent_bytes": tx.map(|t| t.bytes),
                    "received_packets": rx.map(|r| r.packets),
                    "received_bytes": rx.map(|r| r.bytes),
                    "goodput_bps": rx.map(|r| crate::result::rate(r.bytes, time)),
                    "lost_packets": rx.map(|r| r.lost_packets),
                    "rtt_ns": tx.and_then(|t| t.rtt_ns),
                    "cwnd_packets": tx.and_then(|t| t.cwnd_packets),
                    "ssthresh_packets": tx.and_then(|t| t.ssthresh_packets),
                    "cc_rate_bps": tx.and_then(|t| t.rate_bps),
                    "cc_state": tx.and_then(|t| t.cc_state.clone()),
                })
            })
            .collect();
        documents.extend(
            group
                .first()
                .map(|first| json!({ "t0_ns": first.t0_ns, "t1_ns": first.t1_ns, "flows": flows })),
        );
    }
    documents
}

fn flow(f: &FlowResult) -> Value {
    json!({
        "id": f.id + 1,
        "goodput_bps": f.goodput_bps,
        "wire_bps": f.wire_bps,
        "received_bytes": f.rx.as_ref().map(|r| r.bytes),
        "ledger": f.ledger,
        "acknowledged": {
            "received_packets": f.tx.acked,
            "marked_packets": f.tx.marked,
            "lost_packets": f.tx.lost,
            "dropped_by_peer_packets": f.tx.rx_dropped,
            "unreported_packets": f.tx.unreported,
        },
        "broken": f.tx.broken,
        "rtt_ns": f.tx.rtt_ns,
        "reordered_packets": f.rx.as_ref().map(|r| r.reordered),
        "duplicate_packets": f.rx.as_ref().map(|r| r.duplicates),
        "marked_packets": f.rx.as_ref().map(|r| r.marked),
        "sender_samples": f.tx.samples,
        "limited_by": f.limit,
    })
}

fn record() -> Value {
    json!({
        "argv": std::env::args().collect::<Vec<_>>(),
        "program_version": env!("CARGO_PKG_VERSION"),
        "ended_unix_s": clock::unix_time().as_secs(),
    })
}
