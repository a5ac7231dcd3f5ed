//! Each cell over time: goodput, window or rate, round trip, queue.

use super::super::count;
use super::super::figure;
use super::groups::{Group, is_long, mean};
use super::{Source, short};
use dccp_plot::{Figure, Panel};
use dccp_report::{Detail, Section, Table};
use serde_json::Value;
use std::collections::BTreeMap;

/// More charts would make a page too large. Those of the first cells are shown.
const CHARTS_MAX: usize = 96;
/// With more cells, the reader unfolds what is of interest.
const OPEN_MAX: usize = 4;

pub(super) fn fill(section: &mut Section, source: &Source) {
    let groups = source.groups();
    let chosen = chosen(&groups);
    let figure = |shown: &Shown<'_>| {
        let mut figure = figure::of_cell("", shown.cell, source.run(shown.cell));
        figure.title.clear();
        figure
    };
    let shown = chosen.iter().take(CHARTS_MAX);
    let mut charts: Vec<_> = shown.map(|shown| (shown, figure(shown))).collect();
    // Measurements of this machine have none.
    if charts.iter().all(|(_, figure)| figure.panels.is_empty()) {
        section.absent("No cell has values over time.");
        return;
    }
    share_axes(&mut charts);
    if let Some(sentence) = sentence(&groups) {
        section.text(sentence);
    }
    if chosen.len() > charts.len() {
        section.text(&format!(
            "To keep the page small, it has the first {CHARTS_MAX} of {}.",
            count(chosen.len(), "chart")
        ));
    }
    section.text(
        "All cells of a phase have the same vertical axes until you zoom. Vertical lines and grey bands are changes \
         and outages of links.",
    );
    let detail = detail(charts.iter().map(|(_, figure)| figure));
    let is_open = charts.len() <= OPEN_MAX;
    for (shown, figure) in &charts {
        section.folded(&shown.label, is_open, |section| {
            let caption = format!("{} over time", shown.label);
            section.chart(&caption, figure, detail, &numbers(figure));
        });
    }
}

/// A repetition of a cell that is shown.
struct Shown<'a> {
    label: String,
    phase: &'a str,
    cell: &'a Value,
}

/// The repetitions that are shown: three of each cell if there are many and all have room, else one.
fn chosen<'a>(groups: &[Group<'a>]) -> Vec<Shown<'a>> {
    let has_room = groups.len() * 3 <= CHARTS_MAX;
    let of_group = |group: &Group<'a>| {
        let samples = if has_room {
            group.samples()
        } else {
            group.sample().map(|cell| ("", cell)).into_iter().collect()
        };
        let shown = |(name, cell): (&str, &'a Value)| Shown {
            label: match name {
                "" => group.label.clone(),
                name => format!("{}, repetition {} ({name})", group.label, cell["repeat"]),
            },
            phase: group.phase(),
            cell,
        };
        samples.into_iter().map(shown).collect::<Vec<_>>()
    };
    groups.iter().flat_map(of_group).collect()
}

/// The repetitions that are shown, in words; `None` if each cell has one.
fn sentence(groups: &[Group<'_>]) -> Option<&'static str> {
    let most = groups.iter().map(|group| group.cells.len()).max()?;
    match (is_long(groups), groups.len() * 3 <= CHARTS_MAX) {
        (true, true) => Some(
            "Of the repetitions of each cell, those with the least, the median and the greatest goodput of all flows \
             are shown. The tables sum all up.",
        ),
        (true, false) => Some(
            "Of the repetitions of each cell, the one with the median goodput of all flows is shown. The tables sum \
             all up.",
        ),
        (false, _) if most > 1 => Some("Of each cell, its first repetition is shown."),
        (false, _) => None,
    }
}

/// The detail of all charts of a page.
pub(super) fn detail<'a>(figures: impl Iterator<Item = &'a Figure>) -> Detail {
    let panels = figures.flat_map(|figure| &figure.panels);
    Detail::for_curves(panels.map(|panel| panel.series.len()).sum())
}

/// Panels with the same label in cells of the same phase get the same axis.
fn share_axes(charts: &mut [(&Shown<'_>, Figure)]) {
    let mut reach: BTreeMap<(String, String), f64> = BTreeMap::new();
    let key = |phase: &str, panel: &Panel| (phase.to_owned(), panel.y_label.clone());
    for (shown, figure) in &*charts {
        for panel in &figure.panels {
            let most = reach.entry(key(shown.phase, panel)).or_default();
            *most = most.max(panel.greatest());
        }
    }
    for (shown, figure) in charts {
        for panel in &mut figure.panels {
            panel.reach = reach[&key(shown.phase, panel)];
        }
    }
}

/// The means of each curve in equal spans of time.
pub(super) fn numbers(figure: &Figure) -> Table {
    const SPANS: usize = 10;
    let curves = || {
        let panels = figure.panels.iter();
        panels.flat_map(|panel| panel.series.iter().map(move |series| (panel, series)))
    };
    let names = curves().map(|(panel, series)| format!("{}: {}", series.name, panel.y_label));
    let heads: Vec<String> = core::iter::once(format!("from, {}", unit(&figure.x_label)))
        .chain(names)
        .collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = Table::numbers("Means of equal spans of time", &heads);
    let times = curves()
        .flat_map(|(_, series)| &series.points)
        .map(|point| point.0);
    let end = times.fold(0.0, f64::max);
    let mut from = 0.0;
    for n in 1..=SPANS {
        let to = end * share(n, SPANS);
        let mean_of = |(_, series): (&Panel, &dccp_plot::Series)| {
            let is_inside =
                |point: &&(f64, f64)| from < point.0 && point.0 <= to && point.1.is_finite();
            let values: Vec<f64> = series
                .points
                .iter()
                .filter(is_inside)
                .map(|p| p.1)
                .collect();
            match values[..] {
                [] => "–".to_owned(),
                _ => short(mean(&values)),
            }
        };
        table.row(core::iter::once(short(from)).chain(curves().map(mean_of)));
        from = to;
    }
    table
}

fn share(part: usize, of: usize) -> f64 {
    let number = |n: usize| u32::try_from(n).map_or(f64::MAX, f64::from);
    number(part) / number(of)
}

/// `s` of `time, s`.
fn unit(label: &str) -> &str {
    label.rsplit(", ").next().unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use super::super::groups::of_cells;
    use super::*;
    use dccp_plot::Series;
    use serde_json::json;

    fn figure(values: &[f64]) -> Figure {
        let points = (1..).map(|n: i32| f64::from(n)).zip(values.iter().copied());
        Figure {
            title: String::new(),
            x_label: "time, s".into(),
            panels: vec![Panel {
                y_label: "queue, packets".into(),
                series: vec![Series {
                    name: "neck".into(),
                    points: points.collect(),
                }],
                ..Panel::default()
            }],
            marks: Vec::new(),
        }
    }

    #[test]
    fn cells_of_a_phase_share_their_axes() {
        let cell = |law: &str, phase: &str| json!({ "variables": { "law": law }, "phase": phase, "repeat": 0, "label": law });
        let cells = [
            cell("a", "alone"),
            cell("b", "alone"),
            cell("a", "together"),
        ];
        let groups = of_cells(&cells, "");
        let figures = [figure(&[3.0]), figure(&[7.0]), figure(&[90.0])];
        let chosen = chosen(&groups);
        let mut charts: Vec<_> = chosen.iter().zip(figures).collect();
        share_axes(&mut charts);
        let reach: Vec<f64> = charts.iter().map(|(_, f)| f.panels[0].reach).collect();
        assert_eq!(reach, [7.0, 7.0, 90.0]);
    }

    #[test]
    fn numbers_are_means_of_spans() {
        let values: Vec<f64> = (0..20)
            .map(|n| if n == 3 { f64::NAN } else { f64::from(n) })
            .collect();
        let html = numbers(&figure(&values)).to_string();
        assert_eq!(html.matches("<tr>").count(), 11);
        assert!(
            html.contains(
                "<th scope=\"col\">from, s</th><th scope=\"col\">neck: queue, packets</th>"
            )
        );
        // The first two values are 0 and 1. Of the next two, one is missing.
        assert!(html.contains("<tr><th scope=\"row\">0.000</th><td>0.500</td></tr>"));
        assert!(html.contains("<tr><th scope=\"row\">2.000</th><td>2.000</td></tr>"));
    }
}
