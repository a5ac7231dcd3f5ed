//! Cells that differ only in their repetition, and the spread of their values.

use super::super::read::{each, number, text};
use super::super::table;
use crate::metrics::Metric;
use dccp_plot::Spread;
use serde_json::Value;
use std::collections::BTreeMap;

/// With more repetitions than this, pages show some of each cell, and sum all up in tables.
pub(super) const REPEATS_MAX: usize = 5;

/// The repetitions of a cell.
#[derive(Debug)]
pub(super) struct Group<'a> {
    /// The values of the variables and the phase.
    pub(super) label: String,
    /// In their order. At least one.
    pub(super) cells: Vec<&'a Value>,
}

/// The groups, in the order of their first cells. `name` is the label of a cell without variables.
pub(super) fn of_cells<'a>(cells: &'a [Value], name: &str) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for cell in cells {
        let key = format!("{} {}", cell["variables"], cell["phase"]);
        let n = *known.entry(key).or_insert(groups.len());
        if let Some(group) = groups.get_mut(n) {
            group.cells.push(cell);
        } else {
            groups.push(Group {
                label: label(cell, name),
                cells: vec![cell],
            });
        }
    }
    groups
}

/// The label of a cell without its repetition.
fn label(cell: &Value, name: &str) -> String {
    let label = text(&cell["label"]);
    let repetition = format!("repeat {}", cell["repeat"]);
    let label = label.strip_suffix(&repetition).unwrap_or(label);
    match label.trim_end_matches(", ") {
        "" => name.to_owned(),
        label => label.to_owned(),
    }
}

impl<'a> Group<'a> {
    /// The repetition that stands for all: the first that did not fail, or of many the one with the median goodput.
    pub(super) fn sample(&self) -> Option<&'a Value> {
        if self.cells.len() > REPEATS_MAX {
            let sorted = self.by_goodput();
            return sorted.get(sorted.len() / 2).copied();
        }
        let mut cells = self.cells.iter();
        cells.find(|cell| cell["error"].is_null()).copied()
    }

    /// Of many repetitions those with the least, the median and the greatest goodput, with names; else the sample
    /// alone, without a name.
    pub(super) fn samples(&self) -> Vec<(&'static str, &'a Value)> {
        let sorted = self.by_goodput();
        if let ([least, .., greatest], true) = (&sorted[..], self.cells.len() > REPEATS_MAX) {
            return vec![
                ("least goodput", *least),
                ("median goodput", sorted[sorted.len() / 2]),
                ("greatest goodput", *greatest),
            ];
        }
        self.sample().map(|cell| ("", cell)).into_iter().collect()
    }

    /// The repetitions that did not fail, by their goodput.
    fn by_goodput(&self) -> Vec<&'a Value> {
        let played = self.cells.iter().filter(|cell| cell["error"].is_null());
        let mut sorted: Vec<&Value> = played.copied().collect();
        let key = |cell: &&Value| goodput(&cell["summary"]).unwrap_or(0.0);
        sorted.sort_by(|a, b| key(a).total_cmp(&key(b)));
        sorted
    }

    /// The value of a variable.
    pub(super) fn variable(&self, name: &str) -> &'a str {
        text(&self.cells[0]["variables"][name])
    }

    /// The phase; empty if there is none.
    pub(super) fn phase(&self) -> &'a str {
        text(&self.cells[0]["phase"])
    }

    /// The flows of the sample.
    pub(super) fn flows(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        each(
            self.sample()
                .map_or(&Value::Null, |cell| &cell["summary"]["flows"]),
        )
    }

    /// The flows of the sample. A measurement of this machine has one without a name.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        table::flows_of(self.sample().unwrap_or(&Value::Null))
    }

    /// The values of all repetitions that have one, such as `cell["summary"]["fairness"]`.
    pub(super) fn values(&self, of: impl Fn(&Value) -> Option<f64>) -> Vec<f64> {
        let cells = self.cells.iter();
        cells.filter_map(|cell| of(&cell["summary"])).collect()
    }
}

/// The words for the repetition that [`Group::sample`] chooses.
pub(super) fn sample_words(groups: &[Group<'_>]) -> &'static str {
    if is_long(groups) {
        "the repetition with the median goodput"
    } else {
        "its first repetition"
    }
}

/// True if some cell has too many repetitions to show each.
pub(super) fn is_long(groups: &[Group<'_>]) -> bool {
    groups.iter().any(|group| group.cells.len() > REPEATS_MAX)
}

/// The goodput of all flows of a cell together, in Mbit/s.
pub(super) fn goodput(summary: &Value) -> Option<f64> {
    let of_flow = |flow: &Value| {
        let after = number(&flow["throughput_after_discard_bps"]);
        after.or(number(&flow["throughput_bps"]))
    };
    let flows: Vec<f64> = each(&summary["flows"]).filter_map(of_flow).collect();
    (!flows.is_empty()).then(|| flows.iter().sum::<f64>() / 1e6)
}

/// Mean and range of values; `None` of nothing.
pub(super) fn spread(values: &[f64]) -> Option<Spread> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(Spread {
        middle: mean(values),
        low,
        high,
    })
}

/// The mean; of nothing it is not a number.
pub(super) fn mean(values: &[f64]) -> f64 {
    dccp_stats::mean(values).unwrap_or(f64::NAN)
}

/// A number of a cell: a metric, the index of its value, and the unit on pages.
pub(super) struct Figure {
    /// The name, with its unit.
    pub(super) name: &'static str,
    pub(super) metric: Metric,
    /// 0: the value or the median. 1: the 99th percentile.
    part: usize,
    scale: f64,
}

const fn figure(name: &'static str, metric: Metric, part: usize, scale: f64) -> Figure {
    Figure {
        name,
        metric,
        part,
        scale,
    }
}

/// All numbers that pages compare.
pub(super) const FIGURES: [Figure; 29] = [
    figure("goodput, Mbit/s", Metric::Goodput, 0, 1e-6),
    figure("loss, %", Metric::Loss, 0, 100.0),
    figure("RTT p50, ms", Metric::RttTransport, 0, 1e-6),
    figure("RTT p99, ms", Metric::RttTransport, 1, 1e-6),
    figure("ping p50, ms", Metric::RttPing, 0, 1e-6),
    figure("ping p99, ms", Metric::RttPing, 1, 1e-6),
    figure("RTT increase, ms", Metric::RttIncrease, 0, 1e-6),
    figure("age p50, ms", Metric::Age, 0, 1e-6),
    figure("age p99, ms", Metric::Age, 1, 1e-6),
    figure("age of important p50, ms", Metric::AgeImportant, 0, 1e-6),
    figure("age of important p99, ms", Metric::AgeImportant, 1, 1e-6),
    figure("important, %", Metric::Important, 0, 100.0),
    figure(
        "delivered of important, %",
        Metric::ImportantDelivered,
        0,
        100.0,
    ),
    figure("undelivered, %", Metric::Undelivered, 0, 100.0),
    figure("dropped, %", Metric::Dropped, 0, 100.0),
    figure("usable pictures, %", Metric::Usable, 0, 100.0),
    figure("stalls", Metric::Stalls, 0, 1.0),
    figure("mean window, packets", Metric::Cwnd, 0, 1.0),
    figure("stability", Metric::Stability, 0, 1.0),
    figure("fairness", Metric::Fairness, 0, 1.0),
    figure("asymmetry", Metric::Asymmetry, 0, 1.0),
    figure("constancy", Metric::Constancy, 0, 1.0),
    figure("convergence, s", Metric::Convergence, 0, 1e-9),
    figure(
        "mean queue of the busiest link, packets",
        Metric::Queue,
        0,
        1.0,
    ),
    figure(
        "utilisation of the busiest link, %",
        Metric::Utilisation,
        0,
        100.0,
    ),
    figure("operations per second", Metric::Operations, 0, 1.0),
    figure("cost of an operation, ns", Metric::Cost, 0, 1.0),
    figure("share of cost, %", Metric::CostShare, 0, 100.0),
    figure("cost of a packet, ns", Metric::PacketCost, 0, 1.0),
];

impl Figure {
    /// The value for the n-th flow of a summary. Those of the whole cell belong to the first flow.
    pub(super) fn of(&self, summary: &Value, n: usize) -> Option<f64> {
        let values = table::values(self.metric, &summary["flows"][n], n, summary)?;
        Some(values.get(self.part)? * self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn repetitions_are_together_and_phases_apart() {
        let cell = |law: &str, phase: Option<&str>, repeat: u32, label: &str| json!({ "variables": { "law": law }, "phase": phase, "repeat": repeat, "label": label });
        let cells = [
            cell("reno", None, 0, "reno"),
            cell("fast", None, 0, "fast"),
            cell("reno", None, 1, "reno, repeat 1"),
            cell("reno", Some("alone"), 0, "reno, alone"),
        ];
        let groups = of_cells(&cells, "name");
        let labels: Vec<_> = groups
            .iter()
            .map(|g| (&g.label[..], g.cells.len()))
            .collect();
        assert_eq!(labels, [("reno", 2), ("fast", 1), ("reno, alone", 1)]);
    }

    #[test]
    fn many_repetitions_show_the_extremes_and_the_median() {
        let cell = |repeat: u64, bps: u64, error: Option<&str>| {
            json!({ "variables": {}, "repeat": repeat, "label": "", "error": error,
                "summary": { "flows": [{ "throughput_bps": bps }] } })
        };
        let mut cells: Vec<Value> = (0..7).map(|n| cell(n, 1_000 + (n * 5) % 7, None)).collect();
        cells.push(cell(7, 9_999, Some("broken")));
        let shown = |cells: &[Value]| {
            let groups = of_cells(cells, "");
            let samples = groups[0].samples().into_iter();
            let samples: Vec<_> = samples
                .map(|(name, c)| (name, c["repeat"].as_u64()))
                .collect();
            (samples, groups[0].sample().map(|c| c["repeat"].clone()))
        };
        let (samples, sample) = shown(&cells);
        let wanted = [
            ("least goodput", 0),
            ("median goodput", 2),
            ("greatest goodput", 4),
        ];
        assert_eq!(samples, wanted.map(|(name, n)| (name, Some(n))));
        assert_eq!(sample, Some(json!(2)));
        assert_eq!(shown(&cells[3..7]), (vec![("", Some(3))], Some(json!(3))));
    }

    #[test]
    fn label_without_words_is_the_name() {
        let cell = |repeat: u32, label: &str| json!({ "repeat": repeat, "label": label });
        assert_eq!(label(&cell(0, ""), "name"), "name");
        assert_eq!(label(&cell(2, "repeat 2"), "name"), "name");
        assert_eq!(label(&cell(2, "4MiB, repeat 2"), "name"), "4MiB");
    }

    #[test]
    fn spread_is_mean_and_range() {
        let spread = spread(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!((spread.middle, spread.low, spread.high), (3.0, 1.0, 6.0));
        assert!(super::spread(&[]).is_none());
    }
}
