//! The stability of each flow as bars, with the range of its repetitions.

use super::super::read::text;
use super::groups::{Group, spread};
use super::{Source, short};
use dccp_plot::{Group as Bars, Grouped, Spread};
use dccp_report::{Section, Table};

/// More bars would have the same colours.
const SERIES_MAX: usize = 10;

pub(super) fn fill(section: &mut Section, source: &Source) {
    let groups = source.groups();
    let bars = bars(&groups, &source.variables());
    if bars.is_empty() {
        section.absent(
            "No flow has a stability: it needs at least two intervals of five seconds after the discarded time.",
        );
        return;
    }
    section.text(
        "Stability is the standard deviation of the goodput in intervals of five seconds, divided by its mean: 0 is \
         steady. Lines show the least and the greatest of the repetitions.",
    );
    for (caption, picture) in pictures(&bars, "Stability") {
        section.figure(&caption, &picture.to_svg(), &numbers(&picture));
    }
}

/// A bar: its group, its name within the group, its length.
pub(super) struct Bar {
    pub(super) group: String,
    pub(super) series: String,
    pub(super) spread: Spread,
}

/// The bars of all flows, grouped by the variable with the most values.
fn bars(groups: &[Group<'_>], variables: &[String]) -> Vec<Bar> {
    let values = |name: &&String| {
        let mut values: Vec<&str> = groups.iter().map(|group| group.variable(name)).collect();
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    // Of several, the first.
    let main = variables.iter().rev().max_by_key(values);
    let mut bars = Vec::new();
    for group in groups {
        let others = variables.iter().filter(|name| Some(*name) != main);
        let mut words: Vec<&str> = others.map(|name| group.variable(name)).collect();
        words.push(group.phase());
        words.retain(|word| !word.is_empty());
        for (n, flow) in group.flows().enumerate() {
            // A ping sends at a fixed rate, so its goodput says nothing.
            if flow["rtt_ping_ns"].is_object() {
                continue;
            }
            let values = group.values(|summary| summary["flows"][n]["stability"].as_f64());
            let words = words.iter().copied().chain([text(&flow["id"])]);
            bars.extend(spread(&values).map(|spread| Bar {
                group: main.map_or("", |name| group.variable(name)).to_owned(),
                series: words.collect::<Vec<_>>().join(", "),
                spread,
            }));
        }
    }
    bars
}

/// As many pictures as the colours require, with the same axis and the same groups.
pub(super) fn pictures(bars: &[Bar], what: &str) -> Vec<(String, Grouped)> {
    let distinct = |of: fn(&Bar) -> &String| {
        let mut names: Vec<&String> = Vec::new();
        for bar in bars {
            if !names.contains(&of(bar)) {
                names.push(of(bar));
            }
        }
        names
    };
    let (groups, series) = (distinct(|bar| &bar.group), distinct(|bar| &bar.series));
    let reach = bars.iter().map(|bar| bar.spread.high).fold(0.0, f64::max);
    let find = |group: &String, series: &String| {
        let mut bars = bars.iter();
        let found = bars.find(|bar| bar.group == *group && bar.series == *series);
        found.map(|bar| bar.spread)
    };
    let parts = series.chunks(SERIES_MAX);
    let count = parts.len();
    let picture = |(n, part): (usize, &[&String])| {
        let group = |group: &&String| Bars {
            name: (*group).clone(),
            bars: part.iter().map(|series| find(group, series)).collect(),
        };
        let caption = match count {
            1 => what.to_owned(),
            _ => format!("{what}, picture {} of {count}", n + 1),
        };
        let picture = Grouped {
            title: String::new(),
            x_label: "standard deviation divided by mean (no unit)".into(),
            series: part.iter().map(|name| (*name).clone()).collect(),
            groups: groups.iter().map(group).collect(),
            reach,
        };
        (caption, picture)
    };
    parts.enumerate().map(picture).collect()
}

pub(super) fn numbers(picture: &Grouped) -> Table {
    let mut table = Table::numbers("", &["group", "flow", "mean", "least", "greatest"]);
    for group in &picture.groups {
        for (series, bar) in picture.series.iter().zip(&group.bars) {
            let Some(bar) = bar else { continue };
            let values = [bar.middle, bar.low, bar.high].map(short);
            table.row(
                [group.name.clone(), series.clone()]
                    .into_iter()
                    .chain(values),
            );
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::groups::of_cells;
    use super::*;
    use serde_json::{Value, json};

    fn cell(law: &str, window: &str, repeat: u32, stability: Option<f64>) -> Value {
        json!({ "variables": { "law": law, "window": window }, "repeat": repeat, "label": "",
            "summary": { "flows": [{ "id": "flow", "stability": stability }] } })
    }

    #[test]
    fn bars_are_grouped_by_the_variable_with_most_values() {
        let cells = [
            cell("reno", "4MiB", 0, Some(0.1)),
            cell("reno", "4MiB", 1, Some(0.3)),
            cell("fast", "4MiB", 0, Some(0.4)),
            cell("bic", "8MiB", 0, None),
        ];
        let groups = of_cells(&cells, "");
        let variables = ["window", "law"].map(String::from);
        let bars = bars(&groups, &variables);
        let names: Vec<_> = bars
            .iter()
            .map(|bar| (&bar.group[..], &bar.series[..]))
            .collect();
        assert_eq!(names, [("reno", "4MiB, flow"), ("fast", "4MiB, flow")]);
        assert_eq!((bars[0].spread.low, bars[0].spread.high), (0.1, 0.3));
    }

    #[test]
    fn many_bars_make_several_pictures_with_one_axis() {
        let bar = |n: u32| Bar {
            group: format!("group {}", n % 2),
            series: format!("series {n}"),
            spread: spread(&[f64::from(n)]).unwrap(),
        };
        let bars: Vec<Bar> = (0..14).map(bar).collect();
        let pictures = pictures(&bars, "Stability");
        assert_eq!(pictures.len(), 2);
        assert_eq!(pictures[1].0, "Stability, picture 2 of 2");
        assert!(
            pictures
                .iter()
                .all(|(_, p)| p.reach > 12.9 && p.groups.len() == 2)
        );
        let bar = pictures[1].1.groups[1].bars[1].unwrap();
        assert!((bar.middle - 11.0).abs() < 1e-9);
    }
}
