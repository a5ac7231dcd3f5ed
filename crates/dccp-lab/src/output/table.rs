//! Results as text: a row for each flow of each cell.

use super::read::{each, number, text};
use crate::metrics::Metric;
use dccp_cli::quantity::show;
use dccp_stats::{deviation, mean};
use serde_json::Value;

/// The columns, unless the scenario names others.
pub(super) const DEFAULT: &[Metric] = &[
    Metric::Goodput,
    Metric::Loss,
    Metric::RttTransport,
    Metric::Cwnd,
    Metric::Queue,
    Metric::Utilisation,
    Metric::Stability,
];

/// The table of a document's cells, as [`json::cell`](super::json::cell) made them, with these metrics. Below
/// the repetitions of a cell stand their mean and standard deviation, below the table the warnings of live runs.
pub fn of_cells(cells: &[Value], metrics: &[Metric]) -> String {
    aligned(&rows(cells, metrics)) + &warnings(cells)
}

/// The same table as texts: the headings, then the rows. A row of a failed cell is short.
pub(super) fn rows(cells: &[Value], metrics: &[Metric]) -> Vec<Vec<String>> {
    let wanted = match metrics {
        [] => DEFAULT,
        some => some,
    };
    let mut head = vec![String::new(), "flow".to_owned()];
    head.extend(wanted.iter().map(|metric| title(*metric).to_owned()));
    let mut rows = vec![head];
    let mut rest = cells;
    while let Some(first) = rest.first() {
        let same = rest
            .iter()
            .skip(1)
            .take_while(|cell| are_repetitions(first, cell));
        let (group, after) = rest.split_at(1 + same.count());
        rows.extend(group.iter().flat_map(|cell| of_cell(cell, wanted)));
        if group.len() > 1 {
            rows.extend(of_repetitions(group, wanted));
        }
        rest = after;
    }
    rows
}

/// The limits of cells beside the network, below the table.
fn warnings(cells: &[Value]) -> String {
    let mut lines = String::new();
    for cell in cells {
        let label = text(&cell["label"]);
        let label = if label.is_empty() { "this run" } else { label };
        for warning in each(&cell["warnings"]) {
            lines.extend(["warning: ", label, ": ", text(warning), "\n"]);
        }
    }
    lines
}

/// True if cells differ only in their seeds.
fn are_repetitions(one: &Value, other: &Value) -> bool {
    let same = |key: &str| one[key] == other[key];
    same("variables") && same("phase") && one["repeat"].is_u64()
}

/// The rows of one cell: one for each flow.
fn of_cell(cell: &Value, metrics: &[Metric]) -> Vec<Vec<String>> {
    let label = text(&cell["label"]);
    if let Some(error) = cell["error"].as_str() {
        return vec![vec![label.to_owned(), format!("failed: {error}")]];
    }
    let row = |(n, flow): (usize, &Value)| {
        let mut row = vec![label.to_owned(), text(&flow["id"]).to_owned()];
        row.extend(metrics.iter().map(|metric| {
            let values = values(*metric, flow, n, &cell["summary"]);
            let shown = values.map(|values| shown(*metric, &values));
            match busiest_link(&cell["summary"]).filter(|_| is_of_link(*metric) && n == 0) {
                Some(link) => format!("{} {}", shown.unwrap_or_default(), name(link)),
                None => shown.unwrap_or_else(|| "-".to_owned()),
            }
        }));
        row
    };
    flows_of(cell).enumerate().map(row).collect()
}

/// The flows of a cell. A measurement of this machine has one without a name.
pub(super) fn flows_of(cell: &Value) -> impl Iterator<Item = &Value> {
    let nameless = cell["summary"]["bench"].is_object().then_some(&Value::Null);
    each(&cell["summary"]["flows"]).chain(nameless)
}

/// The rows for the repetitions of a cell: mean and standard deviation of each flow.
fn of_repetitions(cells: &[Value], metrics: &[Metric]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (n, flow) in flows_of(&cells[0]).enumerate() {
        let mut mean_row = vec![
            format!("mean of {}", cells.len()),
            text(&flow["id"]).to_owned(),
        ];
        let mut deviation_row = vec!["  deviation".to_owned(), text(&flow["id"]).to_owned()];
        for metric in metrics {
            let played = cells.iter().filter(|cell| cell["error"].is_null());
            let of_cell = |cell: &Value| {
                let summary = &cell["summary"];
                values(*metric, &summary["flows"][n], n, summary)
            };
            let all: Vec<Vec<f64>> = played.filter_map(of_cell).collect();
            let (mean, deviation) = spread(&all);
            let show = |values: &[f64]| match values {
                [] => "-".to_owned(),
                some => shown(*metric, some),
            };
            mean_row.push(show(&mean));
            deviation_row.push(show(&deviation));
        }
        rows.extend([mean_row, deviation_row]);
    }
    rows
}

/// Mean and sample standard deviation, element by element; the latter is empty for a single row.
fn spread(rows: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let width = rows.iter().map(Vec::len).min().unwrap_or(0);
    let column = |n: usize| rows.iter().map(|row| row[n]).collect::<Vec<f64>>();
    let columns = || (0..width).map(column);
    (
        columns().filter_map(|column| mean(&column)).collect(),
        columns().filter_map(|column| deviation(&column)).collect(),
    )
}

/// Columns of equal width, the first two to the left, numbers to the right.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
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

const fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::Goodput => "goodput",
        Metric::Stability => "stability",
        Metric::Fairness => "fairness",
        Metric::Asymmetry => "asymmetry",
        Metric::Convergence => "convergence",
        Metric::Constancy => "constancy",
        Metric::RttPing => "ping p50/p99 ms",
        Metric::RttTransport => "RTT p50/p99 ms",
        Metric::RttIncrease => "RTT increase ms",
        Metric::Loss => "loss",
        Metric::Age => "age p50/p99 ms",
        Metric::AgeImportant => "important age ms",
        Metric::AgeFrame => "frame age ms",
        Metric::Important => "important",
        Metric::ImportantDelivered => "of important",
        Metric::Undelivered => "undelivered",
        Metric::Dropped => "dropped",
        Metric::Usable => "usable, per s",
        Metric::Stalls => "stalls, time",
        Metric::Cwnd => "mean cwnd",
        Metric::Queue => "mean queue",
        Metric::Utilisation => "utilisation",
        Metric::Operations => "per second",
        Metric::Cost => "cost, ns",
        Metric::CostShare => "share of cost",
        Metric::PacketCost => "packet, ns",
    }
}

/// True for metrics of the busiest link.
const fn is_of_link(metric: Metric) -> bool {
    matches!(metric, Metric::Queue | Metric::Utilisation)
}

/// The link with the highest utilisation.
pub(super) fn busiest_link(summary: &Value) -> Option<&Value> {
    let utilisation = |link: &Value| number(&link["utilisation"]).unwrap_or(0.0);
    each(&summary["links"]).max_by(|a, b| utilisation(a).total_cmp(&utilisation(b)))
}

fn name(link: &Value) -> String {
    match text(&link["direction"]) {
        "back" => format!("{} (back)", text(&link["id"])),
        _ => text(&link["id"]).to_owned(),
    }
}

/// The values of a metric: those of the flow, or in the row of the first flow those of the cell.
pub(super) fn values(metric: Metric, flow: &Value, n: usize, summary: &Value) -> Option<Vec<f64>> {
    let of_flow = |key: &str| number(&flow[key]);
    let of_datagrams = |key: &str| number(&flow["datagrams"][key]);
    let of_frames = |key: &str| number(&flow["frames"][key]);
    let of_cell = |key: &str| number(&summary[key]).filter(|_| n == 0);
    let of_bench = |key: &str| number(&summary["bench"][key]).filter(|_| n == 0);
    let of_link = |key: &str| number(&busiest_link(summary)?[key]).filter(|_| n == 0);
    let one = match metric {
        Metric::Goodput => of_flow("throughput_after_discard_bps").or(of_flow("throughput_bps")),
        Metric::Stability => of_flow("stability"),
        Metric::Loss => of_flow("loss"),
        Metric::Important => of_flow("important_fraction"),
        Metric::ImportantDelivered => of_datagrams("important_delivered_fraction"),
        Metric::Undelivered => of_datagrams("undelivered_fraction"),
        Metric::Dropped => of_datagrams("dropped_fraction"),
        Metric::Cwnd => of_flow("cwnd_packets_mean"),
        Metric::Fairness => of_cell("fairness"),
        Metric::Asymmetry => of_cell("asymmetry"),
        Metric::Constancy => of_cell("constancy"),
        Metric::Convergence => of_cell("convergence_ns"),
        Metric::RttIncrease => of_cell("rtt_increase_ns"),
        Metric::Queue => of_link("queue_packets_mean"),
        Metric::Utilisation => of_link("utilisation"),
        Metric::Operations => of_bench("operations_per_s"),
        Metric::Cost => of_bench("cost_ns"),
        Metric::CostShare => of_bench("cost_share"),
        Metric::PacketCost => of_bench("packet_cost_ns"),
        Metric::RttTransport => return percentiles(&flow["rtt_transport_ns"]),
        Metric::Age => return percentiles(&flow["age_ns"]),
        Metric::AgeImportant => return percentiles(&flow["datagrams"]["age_important_ns"]),
        Metric::AgeFrame => return percentiles(&flow["frames"]["age_ns"]),
        Metric::Usable => {
            let share = of_frames("usable_fraction")?;
            return Some(vec![share, of_frames("usable_per_s")?]);
        }
        Metric::Stalls => {
            let count = of_frames("stalls")?;
            return Some(vec![count, of_frames("stalled_fraction")?]);
        }
        Metric::RttPing => {
            let of_all = || percentiles(&summary["rtt_ping_ns"]).filter(|_| n == 0);
            return percentiles(&flow["rtt_ping_ns"]).or_else(of_all);
        }
    };
    one.map(|value| vec![value])
}

fn percentiles(times: &Value) -> Option<Vec<f64>> {
    Some(vec![number(&times["p50"])?, number(&times["p99"])?])
}

/// The values of a metric with their unit.
fn shown(metric: Metric, values: &[f64]) -> String {
    let percent = |value: f64| format!("{:.1} %", value * 100.0);
    let one = |(n, &value): (usize, &f64)| match metric {
        Metric::Goodput => show::rate(value),
        Metric::Loss => format!("{:.3} %", value * 100.0),
        Metric::Cwnd | Metric::Queue => format!("{value:.0} p"),
        Metric::Convergence => format!("{:.0} s", value / 1e9),
        Metric::RttIncrease => format!("{:.1}", value / 1e6),
        Metric::RttTransport
        | Metric::RttPing
        | Metric::Age
        | Metric::AgeImportant
        | Metric::AgeFrame => show::millis(whole_nanos(value)),
        Metric::ImportantDelivered | Metric::Undelivered | Metric::Dropped | Metric::CostShare => {
            percent(value)
        }
        Metric::Usable if n == 0 => percent(value),
        Metric::Stalls if n == 1 => percent(value),
        Metric::Usable | Metric::Cost | Metric::PacketCost => format!("{value:.1}"),
        Metric::Stalls | Metric::Operations => format!("{value:.0}"),
        Metric::Stability
        | Metric::Fairness
        | Metric::Asymmetry
        | Metric::Constancy
        | Metric::Important
        | Metric::Utilisation => format!("{value:.3}"),
    };
    let all: Vec<String> = values.iter().enumerate().map(one).collect();
    all.join(" / ")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time of a run, in nanoseconds"
)]
fn whole_nanos(value: f64) -> u64 {
    value.round() as u64
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
        let link = |id: &str, utilisation, queue| {
            json!({ "id": id, "direction": "back", "utilisation": utilisation,
                "queue_packets_mean": queue })
        };
        vec![
            json!({ "label": "reno", "summary": {
                "flows": [flow("x", 95.2e6), flow("second", 1e6)],
                "links": [link("wide", 0.5, 3.0), link("neck", 0.99, 41.6)], "fairness": 0.5 } }),
            json!({ "label": "bic, 8MiB", "error": "broken", "warnings": ["late"] }),
        ]
    }

    #[test]
    fn table_has_a_row_per_flow_and_cell_metrics_in_the_first() {
        let metrics = [
            Metric::Goodput,
            Metric::Loss,
            Metric::Fairness,
            Metric::Queue,
            Metric::RttTransport,
            Metric::RttPing,
        ];
        assert_eq!(
            of_cells(&cells(), &metrics),
            "           flow                goodput     loss  fairness        mean queue  RTT p50/p99 ms  ping p50/p99 ms\n\
             reno       x               95.2 Mbit/s  1.250 %     0.500  42 p neck (back)     20.4 / 31.0                -\n\
             reno       second          1.00 Mbit/s  1.250 %         -                 -     20.4 / 31.0                -\n\
             bic, 8MiB  failed: broken\n\
             warning: bic, 8MiB: late\n"
        );
    }

    #[test]
    fn measurement_has_one_row_without_a_flow() {
        let cell = |repeat: u64, cost: f64| {
            json!({ "label": format!("r{repeat}"), "variables": {}, "phase": null, "repeat": repeat,
                "summary": { "flows": [], "bench": { "operations_per_s": 2e6, "cost_ns": cost,
                    "cost_share": 0.0625, "packet_cost_ns": null } } })
        };
        let metrics = [
            Metric::Operations,
            Metric::Cost,
            Metric::CostShare,
            Metric::PacketCost,
        ];
        assert_eq!(
            of_cells(&[cell(0, 10.0), cell(1, 11.0)], &metrics),
            "             flow  per second  cost, ns  share of cost  packet, ns\n\
             r0                    2000000      10.0          6.2 %           -\n\
             r1                    2000000      11.0          6.2 %           -\n\
             mean of 2             2000000      10.5          6.2 %           -\n  \
               deviation                 0       0.7          0.0 %           -\n"
        );
    }

    #[test]
    fn repetitions_have_mean_and_deviation() {
        let cell = |repeat: u64, bps: f64| {
            json!({ "label": format!("r{repeat}"), "variables": {}, "phase": null, "repeat": repeat,
                "summary": { "flows": [{ "id": "x", "throughput_bps": bps }] } })
        };
        let cells = [cell(0, 1e6), cell(1, 3e6)];
        assert_eq!(
            of_cells(&cells, &[Metric::Goodput]),
            "             flow      goodput\n\
             r0           x     1.00 Mbit/s\n\
             r1           x     3.00 Mbit/s\n\
             mean of 2    x     2.00 Mbit/s\n  \
               deviation  x     1.41 Mbit/s\n"
        );
    }
}
