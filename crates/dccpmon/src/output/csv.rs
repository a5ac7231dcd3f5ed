//! Comma-separated values: a row for each flow in each interval, then one for each flow in the whole test.
//!
//! A cell is empty if its value is not known. No value contains a comma or a quote.

use crate::schema::{Document, Flow, Interval, IntervalFlow};
use core::fmt::Display;
use dccp::proto::number::to_f64;
use dccp_stats::Spread;

/// The columns.
const COLUMNS: [&str; 18] = [
    "row",
    "begin_s",
    "end_s",
    "flow",
    "sent_packets",
    "sent_bytes",
    "received_packets",
    "received_bytes",
    "goodput_bps",
    "lost_packets",
    "marked_packets",
    "rtt_min_s",
    "rtt_p50_s",
    "rtt_p99_s",
    "rtt_max_s",
    "queue_p50_s",
    "cwnd_packets",
    "cc_rate_bps",
];

pub(crate) fn head() -> String {
    COLUMNS.join(",")
}

pub(crate) fn interval(interval: &Interval) -> Vec<String> {
    let flows = interval.flows.iter();
    flows.map(|flow| interval_row(interval, flow)).collect()
}

fn interval_row(interval: &Interval, flow: &IntervalFlow) -> String {
    let mut cells = vec![
        "interval".to_owned(),
        seconds(interval.t0_ns),
        seconds(interval.t1_ns),
        flow.id.to_string(),
        cell(flow.sent_packets),
        cell(flow.sent_bytes),
        cell(flow.received_packets),
        cell(flow.received_bytes),
        cell(flow.goodput_bps.map(f64::round)),
        cell(flow.lost_packets),
        cell(flow.marked_packets),
    ];
    cells.extend(times(flow.rtt_ns.as_ref()));
    cells.push(time(flow.queue_ns.as_ref().and_then(|queue| queue.p50)));
    cells.push(cell(flow.cwnd_packets));
    cells.push(cell(flow.cc_rate_bps.map(f64::round)));
    cells.join(",")
}

pub(crate) fn totals(document: &Document) -> Vec<String> {
    let Some(summary) = &document.summary else {
        return Vec::new();
    };
    let flows = summary.flows.iter();
    flows
        .map(|flow| total_row(summary.duration_ns, flow))
        .collect()
}

fn total_row(duration_ns: u64, flow: &Flow) -> String {
    let ledger = flow.ledger.as_ref();
    let rtt = flow.rtt.as_ref();
    let mut cells = vec![
        "total".to_owned(),
        seconds(0),
        seconds(duration_ns),
        flow.id.to_string(),
        cell(ledger.map(|ledger| ledger.sent)),
        String::new(),
        cell(ledger.map(|ledger| ledger.delivered)),
        cell(flow.received_bytes),
        cell(flow.goodput_bps.map(f64::round)),
        cell(ledger.map(crate::schema::Ledger::lost)),
        cell(flow.marked_packets),
    ];
    cells.extend(times(rtt.and_then(|rtt| rtt.network_ns.as_ref())));
    let queue = rtt.and_then(|rtt| rtt.send_queue_ns.as_ref()?.p50);
    cells.extend([time(queue), String::new(), String::new()]);
    cells.join(",")
}

fn cell<T: Display>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// Least, median, p99 and greatest.
fn times(of: Option<&Spread>) -> [String; 4] {
    [
        time(of.map(|of| of.min)),
        time(of.and_then(|of| of.p50)),
        time(of.and_then(|of| of.p99)),
        time(of.map(|of| of.max)),
    ]
}

fn time(ns: Option<u64>) -> String {
    ns.map_or(String::new(), seconds)
}

fn seconds(ns: u64) -> String {
    format!("{:.9}", to_f64(ns) / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn test_without_an_interval_has_the_names_of_the_columns() {
        let mut document = sample::document();
        document.intervals.clear();
        let text = crate::output::export(&document, crate::output::Format::Csv);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0], head());
    }

    #[test]
    fn each_row_has_a_cell_for_each_column() {
        let document = sample::two_flows();
        let mut rows = vec![head()];
        rows.extend(document.intervals.iter().flat_map(interval));
        rows.extend(totals(&document));
        assert_eq!(rows.len(), 1 + 2 * 2 + 2);
        for row in &rows {
            assert_eq!(row.split(',').count(), COLUMNS.len(), "{row}");
        }
        assert_eq!(
            rows[1],
            "interval,0.000000000,1.000000000,1,8572,12000000,8498,11900000,95200000,2,0,\
             0.020100000,0.020400000,0.024100000,0.025000000,0.000100000,181,"
        );
        assert_eq!(
            rows[5],
            "total,0.000000000,5.000000000,1,42164,,42143,59000200,94400000,21,0,\
             0.020100000,0.027200000,0.042900000,0.044000000,0.000100000,,"
        );
    }
}
