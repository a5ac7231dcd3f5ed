//! Heat maps: those that the scenario describes; else fairness and asymmetry of pairs, or goodput over two variables.

use super::super::read::number;
use super::groups::{Group, goodput, mean};
use super::multiples::{Axes, MAPS_MAX, add_figure, add_multiples, shades_of};
use super::{Source, short};
use crate::judge::{Best, HeatTable};
use dccp_plot::{HeatMap, Shades};
use dccp_report::{Section, Table};
use serde_json::Value;

pub(super) fn fill(section: &mut Section, source: &Source) {
    let figures = source.scenario.as_ref().map(|s| &s.expected.figures[..]);
    if let Ok(figures @ [_, ..]) = figures {
        for figure in figures {
            add_figure(section, figure, source.cells());
        }
        return;
    }
    let groups = source.groups();
    let variables = source.variables();
    if let Some((rows, columns)) = pair(&variables, &groups) {
        let matrix = Matrix::new(rows, columns, &variables, &groups);
        matrix.add_pairs(section);
    } else if let [.., rows, columns] = &varied(&variables, &groups)[..] {
        section.absent("No two variables have the same values, so there are no pairs to compare.");
        Matrix::new(rows, columns, &variables, &groups).add_goodput(section);
    } else {
        section
            .absent("Heat maps need two variables with several values; this scenario has fewer.");
    }
}

/// The values of a variable, in the order of the cells.
fn values<'a>(name: &str, groups: &[Group<'a>]) -> Vec<&'a str> {
    let mut values = Vec::new();
    for group in groups {
        let value = group.variable(name);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Variables with several values.
fn varied<'v>(variables: &'v [String], groups: &[Group<'_>]) -> Vec<&'v str> {
    let names = variables.iter().map(String::as_str);
    names
        .filter(|name| values(name, groups).len() > 1)
        .collect()
}

/// The first two variables with the same values.
fn pair<'v>(variables: &'v [String], groups: &[Group<'_>]) -> Option<(&'v str, &'v str)> {
    let sorted = |name: &str| {
        let mut values = values(name, groups);
        values.sort_unstable();
        values
    };
    let names = varied(variables, groups);
    let mut pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    let found = pairs.find(|&(a, b)| sorted(names[a]) == sorted(names[b]));
    found.map(|(a, b)| (names[a], names[b]))
}

/// Cells by two of their variables.
struct Matrix<'a, 'g> {
    y: &'a str,
    x: &'a str,
    rows: Vec<&'g str>,
    columns: Vec<&'g str>,
    /// Other variables with several values.
    others: Vec<&'a str>,
    /// The groups with the same other variables and phase, and the name of these.
    slices: Vec<(String, Vec<&'a Group<'g>>)>,
}

impl<'a, 'g> Matrix<'a, 'g> {
    fn new(y: &'a str, x: &'a str, variables: &'a [String], groups: &'a [Group<'g>]) -> Self {
        let varied = varied(variables, groups).into_iter();
        let varied = varied.filter(|name| *name != y && *name != x).collect();
        let others = variables.iter().filter(|name| *name != y && *name != x);
        let others: Vec<&String> = others.collect();
        let mut slices: Vec<(String, Vec<&Group<'g>>)> = Vec::new();
        for group in groups {
            let others = others
                .iter()
                .map(|name| format!("{name} = {}", group.variable(name)));
            let phase = Some(group.phase().to_owned()).filter(|phase| !phase.is_empty());
            let name = others.chain(phase).collect::<Vec<_>>().join(", ");
            match slices.iter_mut().find(|slice| slice.0 == name) {
                Some(slice) => slice.1.push(group),
                None => slices.push((name, vec![group])),
            }
        }
        let columns = values(x, groups);
        // Both axes of pairs have the same order, so that the diagonal shows each value with itself.
        let rows = values(y, groups);
        let is_pair = rows.iter().all(|row| columns.contains(row)) && rows.len() == columns.len();
        Self {
            y,
            x,
            rows: if is_pair { columns.clone() } else { rows },
            columns,
            others: varied,
            slices,
        }
    }

    fn add_pairs(&self, section: &mut Section) {
        let fairness = ("fairness", Shades::Sequential { from: 0.5, to: 1.0 }, 1.0);
        let asymmetry = (
            "asymmetry",
            Shades::Diverging {
                middle: 0.0,
                reach: 1.0,
            },
            -1.0,
        );
        section.text(
            "Fairness is 1 if both flows get the same goodput, and 0.5 if one gets all. Asymmetry is positive if the \
             first flow gets more. Both are means of the repetitions.",
        );
        for (name, groups) in &self.slices {
            for (metric, shades, mirror) in [fairness, asymmetry] {
                let (values, is_mirrored) = self.pairs(groups, metric, mirror);
                let caption = [metric, name].into_iter().filter(|part| !part.is_empty());
                let mut map = self.map(caption.collect::<Vec<_>>().join(": "), metric, values);
                map.shades = shades;
                if is_mirrored {
                    map.caption
                        .push_str(" (each pair was run in one order; the other mirrors it)");
                }
                map.add_to(section);
            }
        }
    }

    /// The means of a metric. If each pair has only one order, the other has the same value times `mirror`.
    fn pairs(
        &self,
        groups: &[&Group<'_>],
        metric: &str,
        mirror: f64,
    ) -> (Vec<Vec<Option<f64>>>, bool) {
        let mut values = self.cells(groups, &|summary| number(&summary[metric]));
        let mut is_mirrored = false;
        let own = values.clone();
        for (n, row) in own.iter().enumerate() {
            for (m, value) in row.iter().enumerate().filter(|(m, _)| *m != n) {
                let other = own.get(m).and_then(|row| row[n]);
                if let (None, Some(other)) = (value, other) {
                    values[n][m] = Some(other * mirror);
                    is_mirrored = true;
                }
            }
        }
        (values, is_mirrored)
    }

    /// One map, or several beside each other if other variables have several values.
    fn add_goodput(&self, section: &mut Section) {
        let maps = self.slices.iter().map(|(_, groups)| {
            let values = self.cells(groups, &goodput);
            HeatTable {
                name: self.name(groups),
                best: Best::Greatest.of(&values),
                values,
            }
        });
        let maps: Vec<HeatTable> = maps.collect();
        let caption = "goodput of all flows together";
        let label = "goodput, Mbit/s";
        if let [one] = &maps[..] {
            let shades = shades_of(&maps);
            let mut map = self.map(caption.to_owned(), label, one.values.clone());
            map.shades = shades;
            map.add_to(section);
            return;
        }
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let axes = Axes {
            rows: (self.y.to_owned(), owned(&self.rows)),
            columns: (self.x.to_owned(), owned(&self.columns)),
        };
        section.text("The star marks the greatest value of each map.");
        let shades = shades_of(&maps);
        let parts = maps.chunks(MAPS_MAX);
        let count = parts.len();
        for (n, maps) in parts.enumerate() {
            let caption = match count {
                1 => caption.to_owned(),
                _ => format!("{caption}, picture {} of {count}", n + 1),
            };
            add_multiples(section, &caption, label, &axes, maps, shades);
        }
    }

    /// The values that distinguish a slice from the others.
    fn name(&self, groups: &[&Group<'_>]) -> String {
        let values = |group: &Group<'_>| {
            let values = self
                .others
                .iter()
                .map(|name| group.variable(name).to_owned());
            let values = values.chain([group.phase().to_owned()]);
            values.filter(|value| !value.is_empty()).collect::<Vec<_>>()
        };
        groups
            .first()
            .map_or_else(String::new, |group| values(group).join(", "))
    }

    /// The mean of a value over the repetitions of each cell.
    fn cells(
        &self,
        groups: &[&Group<'_>],
        of: &dyn Fn(&Value) -> Option<f64>,
    ) -> Vec<Vec<Option<f64>>> {
        let cell = |row: &str, column: &str| {
            let mut groups = groups.iter();
            let is_it = |group: &&&Group<'_>| {
                group.variable(self.y) == row && group.variable(self.x) == column
            };
            let values = groups.find(is_it)?.values(of);
            (!values.is_empty()).then(|| mean(&values))
        };
        let row = |row: &&str| {
            self.columns
                .iter()
                .map(|column| cell(row, column))
                .collect()
        };
        self.rows.iter().map(row).collect()
    }

    fn map(&self, caption: String, value: &str, values: Vec<Vec<Option<f64>>>) -> Map {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Map {
            caption,
            value: value.to_owned(),
            x: self.x.to_owned(),
            y: self.y.to_owned(),
            columns: owned(&self.columns),
            rows: owned(&self.rows),
            values,
            shades: Shades::Sequential { from: 0.0, to: 1.0 },
        }
    }
}

/// A heat map and its numbers.
pub(super) struct Map {
    pub(super) caption: String,
    pub(super) value: String,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<String>,
    pub(super) values: Vec<Vec<Option<f64>>>,
    pub(super) shades: Shades,
}

impl Map {
    pub(super) fn add_to(self, section: &mut Section) {
        let corner = match (&self.y[..], &self.x[..]) {
            ("", "") => "row".to_owned(),
            (y, x) => format!("{y}, by {x}"),
        };
        let headings: Vec<&str> = core::iter::once(corner.as_str())
            .chain(self.columns.iter().map(String::as_str))
            .collect();
        let mut table = Table::numbers(&self.caption, &headings);
        for (name, values) in self.rows.iter().zip(&self.values) {
            let values = values.iter();
            let values = values.map(|value| value.map_or_else(|| "–".into(), short));
            table.row(core::iter::once(name.clone()).chain(values));
        }
        let map = HeatMap {
            title: String::new(),
            x_label: self.x,
            y_label: self.y,
            value_label: self.value,
            columns: self.columns,
            rows: self.rows,
            values: self.values,
            shades: self.shades,
        };
        section.figure(&self.caption, &map.to_svg(), &table);
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::of_cells;
    use super::*;
    use serde_json::json;

    fn cell(major: &str, cross: &str, asymmetry: f64) -> Value {
        json!({ "variables": { "major": major, "cross": cross, "window": "8MiB" }, "label": "",
            "repeat": 0, "summary": { "asymmetry": asymmetry, "flows": [] } })
    }

    fn names() -> Vec<String> {
        ["window", "major", "cross"].map(String::from).into()
    }

    #[test]
    fn pair_is_of_variables_with_the_same_values() {
        let cells = [cell("reno", "fast", 0.5), cell("fast", "reno", -0.4)];
        let groups = of_cells(&cells, "");
        assert_eq!(pair(&names(), &groups), Some(("major", "cross")));
        let other = [cell("reno", "fast", 0.5), cell("bic", "reno", -0.4)];
        assert_eq!(pair(&names(), &of_cells(&other, "")), None);
    }

    #[test]
    fn pairs_of_one_order_are_mirrored() {
        let cells = [
            cell("reno", "reno", 0.0),
            cell("reno", "fast", 0.5),
            cell("fast", "fast", 0.1),
        ];
        let groups = of_cells(&cells, "");
        let names = names();
        let matrix = Matrix::new("major", "cross", &names, &groups);
        assert_eq!(matrix.columns, ["reno", "fast"]);
        let (values, is_mirrored) = matrix.pairs(&matrix.slices[0].1, "asymmetry", -1.0);
        assert_eq!(values, [[Some(0.0), Some(0.5)], [Some(-0.5), Some(0.1)]]);
        assert!(is_mirrored);
    }

    #[test]
    fn measured_pairs_stay_as_they_are() {
        let cells = [cell("reno", "fast", 0.5), cell("fast", "reno", -0.4)];
        let groups = of_cells(&cells, "");
        let names = names();
        let matrix = Matrix::new("major", "cross", &names, &groups);
        let (values, is_mirrored) = matrix.pairs(&matrix.slices[0].1, "asymmetry", -1.0);
        // The first column is `fast`.
        assert_eq!(values, [[None, Some(-0.4)], [Some(0.5), None]]);
        assert!(!is_mirrored);
    }
}
