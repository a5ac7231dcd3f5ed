//! Distributions of round trips, pings and ages.

use super::super::read::{each, number, text};
use super::groups::{Group, sample_words};
use super::{Source, short};
use crate::metrics::QUANTILES;
use dccp_plot::{Cdf, Distribution, Scale};
use dccp_report::{Section, Table};
use serde_json::Value;

/// More curves would have the same colours.
const CURVES_MAX: usize = 10;
/// More pictures would hide what matters: the table has all.
const PICTURES_MAX: usize = 4;

/// The kinds: the key in a flow's summary, the heading, the label of the axis.
pub(super) const KINDS: [(&str, &str, &str); 3] = [
    (
        "rtt_transport_ns",
        "Round trips of the transport",
        "round trip, ms",
    ),
    (
        "rtt_ping_ns",
        "Round trips of the application",
        "round trip, ms",
    ),
    ("age_ns", "Age of data on arrival", "age, ms"),
];

pub(super) fn fill(section: &mut Section, source: &Source) {
    let groups = source.groups();
    let mut is_empty = true;
    for (key, heading, label) in KINDS {
        let curves = curves(&groups, key);
        if !curves.is_empty() {
            if is_empty && groups.iter().any(|group| group.cells.len() > 1) {
                section.text(&format!(
                    "Of each cell, {} is shown.",
                    sample_words(&groups)
                ));
            }
            is_empty = false;
            section.heading(heading);
            add(section, heading, label, &curves);
        }
    }
    if is_empty {
        section.absent("No flow measured a delay after the discarded time.");
    }
}

/// The name of a flow of a cell, and its distribution.
pub(super) type Curve<'a> = (String, &'a Value);

/// The distributions of a kind: those of one repetition of each cell.
fn curves<'a>(groups: &[Group<'a>], key: &str) -> Vec<Curve<'a>> {
    let mut curves = Vec::new();
    for group in groups {
        for flow in group.flows().filter(|flow| flow[key].is_object()) {
            curves.push((name_of(&group.label, flow), &flow[key]));
        }
    }
    curves
}

/// The flow's name alone would be the same in all cells.
pub(super) fn name_of(label: &str, flow: &Value) -> String {
    format!("{label}: {}", text(&flow["id"]))
}

/// Adds pictures with a common axis, and a table.
pub(super) fn add(section: &mut Section, heading: &str, label: &str, curves: &[Curve<'_>]) {
    let most = curves.iter().filter_map(|(_, times)| number(&times["max"]));
    let reach = most.fold(0.0, f64::max) / 1e6;
    let shown = curves.len().min(CURVES_MAX * PICTURES_MAX);
    if shown < curves.len() {
        section.text(&format!(
            "The pictures show the first {shown} of {} distributions, and the table all.",
            curves.len()
        ));
    }
    let parts = curves[..shown].chunks(CURVES_MAX);
    let count = parts.len();
    for (n, part) in parts.enumerate() {
        let cdf = Cdf {
            title: String::new(),
            x_label: label.to_owned(),
            x_scale: Scale::Linear,
            series: part
                .iter()
                .map(|(name, times)| distribution(name, times))
                .collect(),
            marks: Vec::new(),
            reach,
        };
        let caption = match count {
            1 => heading.to_owned(),
            _ => format!("{heading}, picture {} of {count}", n + 1),
        };
        let own = if count == 1 { curves } else { part };
        section.figure(&caption, &cdf.to_svg(), &numbers(own));
    }
    if shown < curves.len() {
        section.folded("All distributions", false, |section| {
            section.table(&numbers(curves));
        });
    }
}

fn distribution(name: &str, times: &Value) -> Distribution {
    let quantiles = each(&times["quantiles"]).zip(QUANTILES);
    let least = [(&times["min"], 0.0)].into_iter();
    let all = least.chain(quantiles).chain([(&times["max"], 1.0)]);
    Distribution {
        name: name.to_owned(),
        points: all
            .filter_map(|(value, share)| Some((number(value)? / 1e6, share)))
            .collect(),
    }
}

fn numbers(curves: &[Curve<'_>]) -> Table {
    let heads = [
        "times in ms",
        "least",
        "p50",
        "p95",
        "p99",
        "greatest",
        "mean",
        "samples",
    ];
    let mut table = Table::numbers("", &heads);
    for (name, times) in curves {
        let values =
            ["min", "p50", "p95", "p99", "max", "avg"].map(|key| match number(&times[key]) {
                Some(ns) => short(ns / 1e6),
                None => "–".to_owned(),
            });
        let samples = times["samples"].to_string();
        table.row(
            core::iter::once(name.clone())
                .chain(values)
                .chain([samples]),
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Distribution as Times;
    use serde_json::json;

    #[test]
    fn curve_goes_from_the_least_to_the_greatest_sample() {
        let times: Vec<u64> = (1..=1_000).map(|n| n * 1_000_000).collect();
        let times = serde_json::to_value(Times::of(&times)).unwrap();
        let curve = distribution("flow", &times);
        assert_eq!(curve.points.first(), Some(&(1.0, 0.0)));
        assert_eq!(curve.points[8], (500.0, 0.5));
        assert_eq!(curve.points.last(), Some(&(1000.0, 1.0)));
        assert!(curve.points.is_sorted());
    }

    #[test]
    fn result_without_quantiles_still_has_its_ends() {
        let curve = distribution("flow", &json!({ "min": 2e6, "max": 3e6 }));
        assert_eq!(curve.points, [(2.0, 0.0), (3.0, 1.0)]);
    }
}
