//! CCID 248: the states over time, the conclusions, and the places of missing packets.

use crate::output::html::name_of;
use crate::output::{safeudp as words, text};
use crate::schema::{Flow, SafeUdp, Summary};
use dccp::proto::number::to_f64;
use dccp_plot::{Row, Strip};
use dccp_report::{Section, Table};

/// Strips of more flows are long.
const FLOWS_MAX: usize = 8;

/// Fills the section; tests without a flow with CCID 248 have none.
pub(super) fn fill(section: &mut Section, summary: &Summary) {
    let flows = of(summary);
    let mut places = Table::numbers(
        "Packets",
        &[
            "flow",
            "dropped by the CCID",
            "network",
            "sending host",
            "receiving host",
            "host?",
        ],
    );
    for (flow, of) in &flows {
        let missing = &of.missing;
        places.row([
            name_of(flow.id),
            of.dropped_packets.to_string(),
            missing.network_packets.to_string(),
            missing.sending_host_packets.to_string(),
            missing.receiving_host_packets.to_string(),
            missing.unknown_host_packets.to_string(),
        ]);
    }
    section.table(&places);
    if flows.len() > FLOWS_MAX {
        section.text(&format!(
            "The pictures show the first {FLOWS_MAX} of {} flows.",
            flows.len()
        ));
    }
    for (flow, of) in flows.iter().take(FLOWS_MAX) {
        states(section, flow, of, summary.duration_ns);
        let trips = words::trips(of);
        if !trips.is_empty() {
            section.text(&format!("Circuit breakers tripped: {}.", trips.join(", ")));
        }
        if let Some(ended) = &of.ended {
            section.text(&format!("{}: {ended}.", name_of(flow.id)));
        }
        section.list(of.conclusions.iter().map(words::timed));
    }
}

/// The flows with CCID 248.
pub(super) fn of(summary: &Summary) -> Vec<(&Flow, &SafeUdp)> {
    let flows = summary.flows.iter();
    flows
        .filter_map(|flow| Some((flow, flow.safe_udp.as_ref()?)))
        .collect()
}

/// A row for each state, with the spans of time in it.
fn states(section: &mut Section, flow: &Flow, of: &SafeUdp, duration_ns: u64) {
    let mut rows: Vec<Row> = Vec::new();
    let mut table = Table::numbers("", &["from, s", "state", "time, s"]);
    let ends = of.states.iter().skip(1).map(|change| change.at_ns);
    for (change, end) in of.states.iter().zip(ends.chain([duration_ns])) {
        let [from, to] = [change.at_ns, end.max(change.at_ns)].map(|ns| to_f64(ns) / 1e9);
        let name = words::state(&change.state);
        table.row([
            format!("{from:.2}"),
            name.clone(),
            format!("{:.2}", to - from),
        ]);
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.spans.push((from, to)),
            None => rows.push(Row {
                name,
                spans: vec![(from, to)],
            }),
        }
    }
    let strip = Strip {
        title: String::new(),
        x_label: "time, s".into(),
        rows,
    };
    section.figure(
        &format!("States of CCID 248, {}", name_of(flow.id)),
        &strip.to_svg(),
        &table,
    );
    let rates = [
        ("The least advised rate was", of.advised_min_bps),
        ("The least cap was", of.cap_min_bps),
        ("The sender obeyed down to", of.obeyed_min_bps),
    ];
    let rates = rates.into_iter();
    section
        .list(rates.filter_map(|(what, bps)| Some(format!("{what} {}.", text::rate(Some(bps?))))));
}
