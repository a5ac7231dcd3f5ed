//! Two results of one scenario on the same axes, and their differences.

use super::super::figure;
use super::super::read::text;
use super::super::table::flows_of;
use super::groups::{FIGURES, Figure, Group, mean, spread};
use super::stability::{Bar, numbers as bar_numbers, pictures};
use super::{Source, delays, over_time, record, short, summary};
use dccp_plot::{Figure as Chart, Panel};
use dccp_report::{Page, Section, Table};
use serde_json::Value;

/// Why two results cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// They are of different scenarios.
    Scenario,
    /// They have no cell in common.
    Cells,
}

/// A cell that both results have: its label, and the repetitions that both have, side by side.
struct Pair<'a> {
    label: String,
    cells: Vec<(&'a Value, &'a Value)>,
}

/// The page that compares two results.
///
/// # Errors
/// They are of different scenarios, or have no cell in common.
pub fn compare(a: &Source, b: &Source) -> Result<String, Mismatch> {
    if a.name() != b.name() {
        return Err(Mismatch::Scenario);
    }
    let (of_a, of_b) = (a.groups(), b.groups());
    let pairs: Vec<Pair<'_>> = of_a.iter().filter_map(|group| pair(group, &of_b)).collect();
    if pairs.is_empty() {
        return Err(Mismatch::Cells);
    }
    let page = Page::new(&format!("{}: A and B compared", a.name()))
        .subtitle(&format!("A is {} · B is {}", a.file, b.file))
        .section("Summary", |section| sum_up(section, a, b, &pairs))
        .section("Differences", |section| {
            section.table(&differences(&pairs));
        })
        .section("Stability", |section| stability(section, &pairs))
        .section("Cells over time", |section| curves(section, (a, b), &pairs))
        .section("Distributions", |section| distributions(section, &pairs))
        .section("Record of A", |section| record::fill(section, a))
        .section("Record of B", |section| record::fill(section, b));
    Ok(page.to_string())
}

/// The cell of the other result with the same variables and phase, and its repetitions by their numbers.
fn pair<'a>(group: &Group<'a>, others: &[Group<'a>]) -> Option<Pair<'a>> {
    let first = group.cells[0];
    let is_same = |other: &&Group<'_>| {
        let other = other.cells[0];
        other["variables"] == first["variables"] && other["phase"] == first["phase"]
    };
    let other = others.iter().find(is_same)?;
    let played = |cell: &&&Value| cell["error"].is_null();
    let both = group.cells.iter().filter(played).filter_map(|cell| {
        let mut cells = other.cells.iter().filter(played);
        Some((
            *cell,
            *cells.find(|other| other["repeat"] == cell["repeat"])?,
        ))
    });
    let cells: Vec<_> = both.collect();
    (!cells.is_empty()).then(|| Pair {
        label: group.label.clone(),
        cells,
    })
}

fn sum_up(section: &mut Section, a: &Source, b: &Source, pairs: &[Pair<'_>]) {
    section.lead(&format!(
        "{} of {} cells of A and {} of B are in both.",
        pairs.len(),
        a.groups().len(),
        b.groups().len()
    ));
    section.text(&format!("A: {}", summary::verdict(&a.document)));
    section.text(&format!("B: {}", summary::verdict(&b.document)));
    let same = |key: &str| a.document["record"][key] == b.document["record"][key];
    let said = [
        (
            "scenario_hash",
            "Both have the same scenario file.",
            "The scenario files differ.",
        ),
        ("seed", "Both have the same seed.", "The seeds differ."),
        (
            "program_hash",
            "Both are of the same program.",
            "The programs differ.",
        ),
        (
            "backend",
            "Both ran on the same backend.",
            "The backends differ.",
        ),
    ];
    section.list(said.map(|(key, yes, no)| if same(key) { yes } else { no }));
    for (name, source) in [("A", a), ("B", b)] {
        let warnings = summary::shortened(summary::warnings(source));
        if !warnings.is_empty() {
            section
                .heading(&format!("Warnings of {name}"))
                .list(warnings);
        }
    }
}

/// The values of a number in the repetitions of both results.
fn values(pair: &Pair<'_>, figure: &Figure, flow: usize) -> Vec<(f64, f64)> {
    let cells = pair.cells.iter();
    let both = cells.filter_map(|(a, b)| {
        let of = |cell: &Value| figure.of(&cell["summary"], flow);
        Some((of(a)?, of(b)?))
    });
    both.collect()
}

/// The differences of each number of each flow of each cell.
fn differences(pairs: &[Pair<'_>]) -> Table {
    let caption = "Means of the repetitions that both results have. The spread is the standard deviation of the \
        differences of equal repetitions.";
    let heads = [
        "cell",
        "flow",
        "metric",
        "A",
        "B",
        "B less A",
        "part of A",
        "spread",
        "repetitions",
    ];
    let mut table = Table::numbers(caption, &heads);
    for pair in pairs {
        for (n, flow) in flows_of(pair.cells[0].0).enumerate() {
            for figure in &FIGURES {
                let values = values(pair, figure, n);
                if !values.is_empty() {
                    let names =
                        [pair.label.as_str(), text(&flow["id"]), figure.name].map(str::to_owned);
                    table.row(names.into_iter().chain(difference(&values)));
                }
            }
        }
    }
    table
}

/// The cells of a row: A, B, their difference, its part, its spread, the number of repetitions.
fn difference(values: &[(f64, f64)]) -> [String; 6] {
    let of = |pick: fn(&(f64, f64)) -> f64| values.iter().map(pick).collect::<Vec<f64>>();
    let (a, b) = (mean(&of(|pair| pair.0)), mean(&of(|pair| pair.1)));
    let each = of(|pair| pair.1 - pair.0);
    let by = mean(&each);
    let sign = if by > 0.0 { "+" } else { "" };
    [
        short(a),
        short(b),
        if by == 0.0 {
            "0".to_owned()
        } else {
            format!("{sign}{}", short(by))
        },
        if a == 0.0 || by == 0.0 {
            "–".to_owned()
        } else {
            format!("{sign}{:.1} %", by / a.abs() * 100.0)
        },
        dccp_stats::deviation(&each).map_or_else(|| "–".to_owned(), short),
        values.len().to_string(),
    ]
}

/// The bars of both results in one group for each flow of each cell.
fn stability(section: &mut Section, pairs: &[Pair<'_>]) {
    let mut bars = Vec::new();
    for pair in pairs {
        let flows = pair.cells[0].0["summary"]["flows"].as_array();
        for (n, flow) in flows.into_iter().flatten().enumerate() {
            let of = |cell: &Value| cell["summary"]["flows"][n]["stability"].as_f64();
            let a: Vec<f64> = pair.cells.iter().filter_map(|(a, _)| of(a)).collect();
            let b: Vec<f64> = pair.cells.iter().filter_map(|(_, b)| of(b)).collect();
            for (series, values) in [("A", a), ("B", b)] {
                bars.extend(spread(&values).map(|spread| Bar {
                    group: delays::name_of(&pair.label, flow),
                    series: series.to_owned(),
                    spread,
                }));
            }
        }
    }
    if bars.is_empty() {
        section.absent("No flow has a stability: it needs at least two intervals of five seconds.");
    }
    for (caption, picture) in pictures(&bars, "Stability of both results") {
        section.figure(&caption, &picture.to_svg(), &bar_numbers(&picture));
    }
}

/// The curves of both results in the same panels.
fn curves(section: &mut Section, (a, b): (&Source, &Source), pairs: &[Pair<'_>]) {
    const CELLS_MAX: usize = 64;
    const OPEN_MAX: usize = 4;
    if pairs.len() > CELLS_MAX {
        section.text(&format!(
            "The first {CELLS_MAX} of {} cells are shown.",
            pairs.len()
        ));
    }
    let chart = |pair: &Pair<'_>| {
        let (of_a, of_b) = pair.cells[0];
        let charts = [(a, of_a, "A"), (b, of_b, "B")].map(|(source, cell, name)| {
            let mut chart = figure::of_cell("", cell, source.run(cell));
            rename(&mut chart, name);
            chart
        });
        (pair.label.clone(), merged(charts))
    };
    let charts: Vec<(String, Chart)> = pairs.iter().take(CELLS_MAX).map(chart).collect();
    // Measurements of this machine have none.
    if charts.iter().all(|(_, chart)| chart.panels.is_empty()) {
        section.absent("No cell has values over time.");
        return;
    }
    let detail = over_time::detail(charts.iter().map(|(_, chart)| chart));
    for (label, chart) in &charts {
        section.folded(label, charts.len() <= OPEN_MAX, |section| {
            let caption = format!("{label} over time: A and B");
            section.chart(&caption, chart, detail, &over_time::numbers(chart));
        });
    }
}

fn rename(chart: &mut Chart, name: &str) {
    chart.title.clear();
    for series in chart.panels.iter_mut().flat_map(|panel| &mut panel.series) {
        series.name = format!("{name}: {}", series.name);
    }
}

/// Panels with the same label become one. The marks are those of the first.
fn merged([mut first, second]: [Chart; 2]) -> Chart {
    for panel in second.panels {
        let same = |own: &&mut Panel| own.y_label == panel.y_label;
        match first.panels.iter_mut().find(same) {
            Some(own) => own.series.extend(panel.series),
            None => first.panels.push(panel),
        }
    }
    first
}

/// The round trips of both results.
fn distributions(section: &mut Section, pairs: &[Pair<'_>]) {
    let mut is_empty = true;
    for (key, heading, label) in delays::KINDS {
        let mut curves = Vec::new();
        for pair in pairs {
            let (a, b) = pair.cells[0];
            for (name, cell) in [("A", a), ("B", b)] {
                let flows = cell["summary"]["flows"].as_array().into_iter().flatten();
                for flow in flows.filter(|flow| flow[key].is_object()) {
                    let label = format!("{name}: {}", delays::name_of(&pair.label, flow));
                    curves.push((label, &flow[key]));
                }
            }
        }
        if !curves.is_empty() {
            is_empty = false;
            section.heading(heading);
            delays::add(section, heading, label, &curves);
        }
    }
    if is_empty {
        section.absent("No flow measured a delay after the discarded time.");
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::of_cells;
    use super::*;
    use serde_json::json;

    fn cell(law: &str, repeat: u32, bps: f64) -> Value {
        json!({ "variables": { "law": law }, "phase": null, "repeat": repeat, "label": law, "error": null,
            "summary": { "flows": [{ "id": "flow", "throughput_bps": bps }] } })
    }

    #[test]
    fn cells_match_by_variables_and_repetition() {
        let a = [
            cell("reno", 0, 1e6),
            cell("reno", 1, 3e6),
            cell("bic", 0, 1e6),
        ];
        let b = [
            cell("fast", 0, 9e6),
            cell("reno", 1, 5e6),
            cell("reno", 2, 7e6),
        ];
        let (a, b) = (of_cells(&a, ""), of_cells(&b, ""));
        let pairs: Vec<_> = a.iter().filter_map(|group| pair(group, &b)).collect();
        assert_eq!(pairs.len(), 1, "only reno is in both");
        assert_eq!(
            pairs[0].cells.len(),
            1,
            "only the second repetition is in both"
        );
        assert_eq!(values(&pairs[0], &FIGURES[0], 0), [(3.0, 5.0)]);
    }

    #[test]
    fn failed_cell_matches_nothing() {
        let failed =
            json!({ "variables": {}, "phase": null, "repeat": 0, "label": "", "error": "broken" });
        let (a, b) = ([failed.clone()], [failed]);
        let (a, b) = (of_cells(&a, ""), of_cells(&b, ""));
        assert!(pair(&a[0], &b).is_none());
    }

    #[test]
    fn difference_has_the_spread_of_paired_repetitions() {
        let row = difference(&[(10.0, 11.0), (20.0, 23.0)]);
        assert_eq!(row, ["15.00", "17.00", "+2.000", "+13.3 %", "1.414", "2"]);
        let row = difference(&[(10.0, 10.0)]);
        assert_eq!(row, ["10.00", "10.00", "0", "–", "–", "1"]);
    }

    #[test]
    fn panels_of_both_become_one() {
        let chart = |labels: &[&str]| Chart {
            title: String::new(),
            x_label: "time, s".into(),
            panels: labels
                .iter()
                .map(|&label| Panel {
                    y_label: label.into(),
                    series: vec![dccp_plot::Series {
                        name: "flow".into(),
                        points: Vec::new(),
                    }],
                    ..Panel::default()
                })
                .collect(),
            marks: Vec::new(),
        };
        let both = merged([chart(&["goodput", "window"]), chart(&["goodput", "rate"])]);
        let panels: Vec<_> = both
            .panels
            .iter()
            .map(|p| (&p.y_label[..], p.series.len()))
            .collect();
        assert_eq!(panels, [("goodput", 2), ("window", 1), ("rate", 1)]);
    }
}
