//! Results as text: a line for each flow of each cell.

use super::read::{each, number, text};
use dccp_cli::quantity::show;
use serde_json::Value;

/// What is shown if the scenario does not say.
const USUAL: &[&str] = &[
    "goodput",
    "loss",
    "rtt.transport",
    "cwnd",
    "queue",
    "utilisation",
    "stability",
];

/// The table of a document's cells, as [`json::cell`](super::json::cell) made them, with these
/// metrics.
pub fn of_cells(cells: &[Value], metrics: &[String]) -> String {
    let wanted: Vec<&str> = match metrics {
        [] => USUAL.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let mut head = vec![String::new(), "flow".to_owned()];
    head.extend(wanted.iter().map(|metric| title(metric).to_owned()));
    let mut rows = vec![head];
    for cell in cells {
        if let Some(error) = cell["error"].as_str() {
            rows.push(vec![
                text(&cell["label"]).to_owned(),
                format!("failed: {error}"),
            ]);
        }
        for (n, flow) in each(&cell["summary"]["flows"]).enumerate() {
            let mut row = vec![
                text(&cell["label"]).to_owned(),
                text(&flow["id"]).to_owned(),
            ];
            row.extend(wanted.iter().map(|metric| {
                let summary = &cell["summary"];
                let of_flow = of_flow(metric, flow);
                let of_cell = || of_cell(metric, summary).filter(|_| n == 0);
                of_flow.or_else(of_cell).unwrap_or_else(|| "-".into())
            }));
            rows.push(row);
        }
    }
    aligned(&rows)
}

/// Columns of equal width, the first two to the left, numbers to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |n: usize| {
        let cells = rows.iter().filter_map(|row| row.get(n));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut table = String::new();
    for row in rows {
        let mut line = String::new();
        for (n, cell) in row.iter().enumerate().filter(|(n, _)| widths[*n] > 0) {
            let padding = " ".repeat(widths[n] - cell.chars().count());
            line.extend(if n < 2 {
                [cell, &padding, "  "]
            } else {
                [&padding, cell, "  "]
            });
        }
        table.push_str(line.trim_end());
        table.push('\n');
    }
    table
}

fn title(metric: &str) -> &str {
    match metric {
        "rtt.ping" => "ping p50/p99 ms",
        "rtt.transport" => "RTT p50/p99 ms",
        "rtt.increase" => "RTT increase ms",
        "age" => "age p50/p99 ms",
        "cwnd" => "mean cwnd",
        "queue" => "mean queue",
        other => other,
    }
}

/// A metric that each flow has.
fn of_flow(metric: &str, flow: &Value) -> Option<String> {
    let of = |key: &str| number(&flow[key]);
    match metric {
        "goodput" => of("throughput_after_discard_bps")
            .or(of("throughput_bps"))
            .map(show::rate),
        "stability" => of("stability").map(share),
        "loss" => of("loss").map(|loss| format!("{:.3} %", loss * 100.0)),
        "rtt.transport" => percentiles(&flow["rtt_transport_ns"]),
        "rtt.ping" => percentiles(&flow["rtt_ping_ns"]),
        "age" => percentiles(&flow["age_ns"]),
        "important" => of("important_fraction").map(share),
        "cwnd" => of("cwnd_packets_mean").map(|cwnd| format!("{cwnd:.0} p")),
        _ => None,
    }
}

/// A metric that all flows of a cell have together, or that of its busiest link.
fn of_cell(metric: &str, summary: &Value) -> Option<String> {
    let of = |key: &str| number(&summary[key]);
    let busiest = || {
        let utilisation = |link: &Value| number(&link["utilisation"]).unwrap_or(0.0);
        each(&summary["links"]).max_by(|a, b| utilisation(a).total_cmp(&utilisation(b)))
    };
    match metric {
        "fairness" | "asymmetry" | "constancy" => of(metric).map(share),
        "convergence" => of("convergence_ns").map(|ns| format!("{:.0} s", ns / 1e9)),
        "rtt.ping" => percentiles(&summary["rtt_ping_ns"]),
        "rtt.increase" => of("rtt_increase_ns").map(|ns| format!("{:.1}", ns / 1e6)),
        "queue" => number(&busiest()?["queue_packets_mean"]).map(|n| format!("{n:.0} p")),
        "utilisation" => number(&busiest()?["utilisation"]).map(share),
        _ => None,
    }
}

fn share(x: f64) -> String {
    format!("{x:.3}")
}

fn percentiles(rtt: &Value) -> Option<String> {
    let millis = |key: &str| rtt[key].as_u64().map(show::millis);
    Some(format!("{} / {}", millis("p50")?, millis("p99")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cells() -> Vec<Value> {
        let flow = |id: &str, bps: f64| {
            json!({ "id": id, "throughput_bps": bps, "throughput_after_discard_bps": null,
                "loss": 0.0125, "rtt_transport_ns": { "p50": 20_400_000, "p99": 31_000_000 } })
        };
        let link =
            |utilisation, queue| json!({ "utilisation": utilisation, "queue_packets_mean": queue });
        vec![
            json!({ "label": "reno", "summary": {
                "flows": [flow("x", 95.2e6), flow("second", 1e6)],
                "links": [link(0.5, 3.0), link(0.99, 41.6)], "fairness": 0.5 } }),
            json!({ "label": "bic, 8MiB", "error": "broken" }),
        ]
    }

    #[test]
    fn a_line_for_each_flow_and_what_all_have_in_the_first() {
        let metrics = [
            "goodput",
            "loss",
            "fairness",
            "queue",
            "rtt.transport",
            "rtt.ping",
        ];
        let metrics = metrics.map(str::to_owned);
        assert_eq!(
            of_cells(&cells(), &metrics),
            "           flow                goodput     loss  fairness  mean queue  RTT p50/p99 ms  ping p50/p99 ms\n\
             reno       x               95.2 Mbit/s  1.250 %     0.500        42 p     20.4 / 31.0                -\n\
             reno       second          1.00 Mbit/s  1.250 %         -           -     20.4 / 31.0                -\n\
             bic, 8MiB  failed: broken\n"
        );
    }
}
