//! A cell as a picture: goodput, window or rate, round trip and queue over time.

use super::read::{each, numbers, text};
use crate::scenario::plan::Run;
use dccp_plot::{Figure, Mark, Panel, Series};
use dccp_proto::Instant;
use serde_json::Value;

/// The picture of a cell of a document, as [`json::cell`](super::json::cell) made it. With its run, the picture
/// shows when links change and fail.
pub fn of_cell(name: &str, cell: &Value, run: Option<&Run>) -> Figure {
    let label = text(&cell["label"]);
    let title = if label.is_empty() {
        name.to_owned()
    } else {
        format!("{name}: {label}")
    };
    let series = &cell["series"];
    let times: Vec<f64> = numbers(&series["t_ns"]).iter().map(|ns| ns / 1e9).collect();
    let flows = |y_label: &str, key: &str, unit: f64| Panel {
        y_label: y_label.to_owned(),
        series: (each(&series["flows"]))
            .filter_map(|flow| curve(text(&flow["id"]), &times, &flow[key], unit))
            .collect(),
        ..Panel::default()
    };
    let mut panels = vec![
        flows("goodput, Mbit/s", "goodput_bps", 1e6),
        flows("window, packets", "cwnd_packets", 1.0),
        flows("round trip, ms", "rtt_ns", 1e6),
        Panel {
            y_label: "queue, packets".into(),
            series: queues(series, &times),
            ..Panel::default()
        },
    ];
    if panels[1].series.is_empty() {
        // Flows with a window have a rate only for pacing.
        panels[1] = flows("allowed rate, Mbit/s", "rate_bps", 1e6);
    }
    // Panels without a curve are not drawn.
    panels.retain(|panel| !panel.series.is_empty());
    Figure {
        title,
        x_label: "time, s".into(),
        panels,
        marks: run.map(marks).unwrap_or_default(),
    }
}

/// The changes of links as lines, outages as bands.
fn marks(run: &Run) -> Vec<Mark> {
    let seconds = |at: Instant| (at - Instant::ZERO).as_secs_f64();
    let mut marks: Vec<Mark> = Vec::new();
    for link in &run.network.links {
        let changes = link.changes.iter();
        marks.extend(changes.map(|change| Mark::At(change.at.as_secs_f64())));
        let outages = [&link.there, &link.back].map(|way| &way.faults.outages);
        let outages = outages.into_iter().flatten();
        marks.extend(outages.map(|outage| Mark::Span(seconds(outage.start), seconds(outage.end))));
    }
    // Both directions often change together.
    let mut shown: Vec<Mark> = Vec::new();
    for mark in marks {
        if !shown.contains(&mark) {
            shown.push(mark);
        }
    }
    shown
}

/// A curve, unless there is not one value.
fn curve(name: &str, times: &[f64], column: &Value, unit: f64) -> Option<Series> {
    let values = numbers(column);
    values.iter().any(|v| v.is_finite()).then(|| Series {
        name: name.to_owned(),
        points: (times.iter().copied())
            .zip(values.iter().map(|value| value / unit))
            .collect(),
    })
}

/// A curve for each queue that is not small beside the longest.
fn queues(series: &Value, times: &[f64]) -> Vec<Series> {
    const SMALL: f64 = 0.02;
    let longest = |link: &Value| {
        let lengths = numbers(&link["queue_packets_mean"]).into_iter();
        lengths.fold(0.0, f64::max)
    };
    let least = SMALL * each(&series["links"]).map(longest).fold(0.0, f64::max);
    let links = each(&series["links"]).filter(|link| longest(link) > least);
    let queue = |link: &Value| {
        let id = text(&link["id"]);
        let name = match text(&link["direction"]) {
            "there" => id.to_owned(),
            _ => format!("{id} (back)"),
        };
        curve(&name, times, &link["queue_packets_mean"], 1.0)
    };
    links.filter_map(queue).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn panel_shows_each_kind_of_value() {
        let link = |id: &str, direction: &str, max: u64| {
            json!({ "id": id, "direction": direction,
                "queue_packets_max": [0, max], "queue_packets_mean": [0, max] })
        };
        let cell = json!({
            "label": "reno",
            "series": {
                "t_ns": [1_000_000_000_u64, 2_000_000_000_u64],
                "flows": [{ "id": "x", "goodput_bps": [1e6, 2e6], "cwnd_packets": [null, 5.0],
                    "rate_bps": [1e6, 1e6], "rtt_ns": [null, null] }],
                "links": [link("l", "there", 0), link("l", "back", 2)],
            },
        });
        let figure = of_cell("name", &cell, None);
        assert_eq!(figure.title, "name: reno");
        let labels: Vec<&str> = figure.panels.iter().map(|p| p.y_label.as_str()).collect();
        assert_eq!(
            labels,
            ["goodput, Mbit/s", "window, packets", "queue, packets"]
        );
        assert_eq!(figure.panels[0].series[0].points, [(1.0, 1.0), (2.0, 2.0)]);
        assert!(figure.panels[1].series[0].points[0].1.is_nan());
        assert_eq!(figure.panels[2].series.len(), 1);
        assert_eq!(figure.panels[2].series[0].name, "l (back)");
    }
}
