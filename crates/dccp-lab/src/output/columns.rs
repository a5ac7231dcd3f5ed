//! The table of a campaign: a row for each flow of each cell. CSV, Parquet and Arrow are made from it.
//!
//! The columns of measured values are the numbers and texts of the result's schema, so a new value of the document is
//! a new column. A column's name is the path of its value: `flow.rtt_ping_ns.p99`, `summary.fairness`, and
//! `link.utilisation` of the busiest link.

use super::json;
use super::read::{each, number, text};
use super::table::{busiest_link, flows_of};
use serde_json::Value;
use std::collections::BTreeSet;

/// Columns of equal length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// In the order of the file.
    pub columns: Vec<Column>,
}

/// A column. Unknown values are `None`.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// The name. Names of numbers end in the unit, or have it before a dot: `rtt_ping_ns.p99`.
    pub name: String,
    /// One for each row.
    pub values: Values,
}

/// The values of a column, of one kind.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Texts.
    Texts(Vec<Option<String>>),
    /// Whole numbers.
    Counts(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
}

/// The kind of a column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Text,
    Count,
    Number,
}

impl Values {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Texts(values) => values.len(),
            Self::Counts(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of<'v>(kind: Kind, values: impl Iterator<Item = &'v Value>) -> Self {
        match kind {
            Kind::Text => Self::Texts(values.map(shown).collect()),
            Kind::Count => Self::Counts(values.map(Value::as_i64).collect()),
            Kind::Number => Self::Numbers(values.map(number).collect()),
        }
    }
}

/// A value as text; `None` for null.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

impl Table {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    fn add<'v>(&mut self, name: String, kind: Kind, values: impl Iterator<Item = &'v Value>) {
        let values = Values::of(kind, values);
        self.columns.push(Column { name, values });
    }

    /// Adds columns of the values that rows have at these paths of a part of theirs.
    fn add_leaves<'v>(
        &mut self,
        prefix: &str,
        leaves: &[Leaf],
        rows: &[Row<'v>],
        part: impl Fn(&Row<'v>) -> &'v Value,
    ) {
        for leaf in leaves {
            let values = rows.iter().map(|row| leaf.of(part(row)));
            self.add(format!("{prefix}{}", leaf.path), leaf.kind, values);
        }
    }
}

/// A row: a flow of a cell. A cell that failed has one row, without a flow.
struct Row<'a> {
    cell: &'a Value,
    flow: &'a Value,
    link: &'a Value,
}

/// The table of cells of a scenario, as [`json::cell`] made them. A variable with the name of another column gets
/// the prefix `variables.` or `drawn.`.
pub fn of_cells(scenario: &str, cells: &[Value]) -> Table {
    let schema = Schema::new();
    let rows: Vec<Row<'_>> = cells.iter().flat_map(rows_of).collect();
    let is_first = |leaf: &Leaf| ["key", "label"].contains(&leaf.path.as_str());
    let heads = schema.leaves("Cell", &["summary", "series"]);
    let mut taken: BTreeSet<String> = heads.iter().map(|leaf| leaf.path.clone()).collect();
    taken.insert("scenario".to_owned());
    let (first, rest): (Vec<Leaf>, Vec<Leaf>) = heads.into_iter().partition(is_first);

    let mut table = Table::default();
    let name = Value::from(scenario);
    table.add("scenario".into(), Kind::Text, rows.iter().map(|_| &name));
    table.add_leaves("", &first, &rows, |row| row.cell);
    for group in ["variables", "drawn"] {
        for variable in variables(cells, group) {
            let values = || rows.iter().map(|row| &row.cell[group][variable]);
            let is_number = |value: &Value| value.is_number() || value.is_null();
            let kind = if values().all(is_number) {
                Kind::Number
            } else {
                Kind::Text
            };
            let name = if taken.insert(variable.to_owned()) {
                variable.to_owned()
            } else {
                format!("{group}.{variable}")
            };
            table.add(name, kind, values());
        }
    }
    table.add_leaves("", &rest, &rows, |row| row.cell);
    table.add_leaves("flow.", &schema.leaves("Flow", &[]), &rows, |row| row.flow);
    table.add_leaves("summary.", &schema.leaves("Summary", &[]), &rows, |row| {
        &row.cell["summary"]
    });
    table.add_leaves("link.", &schema.leaves("Link", &[]), &rows, |row| row.link);
    table
}

fn rows_of(cell: &Value) -> Vec<Row<'_>> {
    let summary = &cell["summary"];
    let link = busiest_link(summary).unwrap_or(&Value::Null);
    let row = |flow| Row { cell, flow, link };
    match summary {
        Value::Null => vec![row(&Value::Null)],
        _ => flows_of(cell).map(row).collect(),
    }
}

/// The names of the variables of all cells.
fn variables<'a>(cells: &'a [Value], group: &str) -> BTreeSet<&'a str> {
    let tables = cells.iter().filter_map(|cell| cell[group].as_object());
    tables
        .flat_map(|table| table.keys().map(String::as_str))
        .collect()
}

/// The series of a cell: a row for each interval. Columns are `FLOW.goodput_bps` and `LINK.there.utilisation`.
/// Series of other intervals, such as `link_util`, are left out.
pub fn of_series(cell: &Value) -> Table {
    let schema = Schema::new();
    let series = &cell["series"];
    let times = &series["t_ns"];
    let length = each(times).count();
    let mut table = Table::default();
    table.add("t_ns".into(), Kind::Count, each(times));
    for (list, definition) in [("flows", "FlowSeries"), ("links", "LinkSeries")] {
        for one in each(&series[list]) {
            let owner = match text(&one["direction"]) {
                "" => text(&one["id"]).to_owned(),
                direction => format!("{}.{direction}", text(&one["id"])),
            };
            for leaf in schema.lists(definition) {
                let values = &one[&leaf.path];
                if each(values).count() == length {
                    table.add(format!("{owner}.{}", leaf.path), leaf.kind, each(values));
                }
            }
        }
    }
    table
}

/// A value of the document that becomes a column.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Leaf {
    kind: Kind,
    /// Keys with dots between them.
    path: String,
}

impl Leaf {
    fn of<'v>(&self, value: &'v Value) -> &'v Value {
        self.path.split('.').fold(value, |value, key| &value[key])
    }
}

/// The schema of documents.
struct Schema(Value);

impl Schema {
    fn new() -> Self {
        Self(json::schema().to_value())
    }

    fn properties(&self, definition: &str) -> impl Iterator<Item = (&String, &Value)> {
        let properties = &self.0["$defs"][definition]["properties"];
        properties.as_object().into_iter().flatten()
    }

    /// The numbers and texts of a definition and of those that it contains: texts first, then by name.
    fn leaves(&self, definition: &str, except: &[&str]) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for (name, property) in self.properties(definition) {
            if except.contains(&name.as_str()) {
                continue;
            }
            if let Some(kind) = kind(property) {
                let path = name.clone();
                leaves.push(Leaf { kind, path });
            } else if let Some(inner) = reference(property) {
                let inner = self.leaves(inner, &[]).into_iter();
                leaves.extend(inner.map(|leaf| Leaf {
                    path: format!("{name}.{}", leaf.path),
                    ..leaf
                }));
            }
        }
        leaves.sort_by_key(|leaf| (leaf.kind != Kind::Text, leaf.path.clone()));
        leaves
    }

    /// The lists of numbers of a definition, by name.
    fn lists(&self, definition: &str) -> Vec<Leaf> {
        let lists = self.properties(definition).filter_map(|(name, property)| {
            let path = name.clone();
            kind(&property["items"]).map(|kind| Leaf { kind, path })
        });
        let mut lists: Vec<Leaf> = lists.collect();
        lists.sort_by(|a, b| a.path.cmp(&b.path));
        lists
    }
}

/// The kind of a property, if it is a number, a text or a truth value.
fn kind(property: &Value) -> Option<Kind> {
    let has = |name: &str| property["type"] == name || each(&property["type"]).any(|t| t == name);
    if has("integer") {
        Some(Kind::Count)
    } else if has("number") {
        Some(Kind::Number)
    } else if has("string") || has("boolean") {
        Some(Kind::Text)
    } else {
        None
    }
}

/// The definition that a property refers to, also if the property may be null.
fn reference(property: &Value) -> Option<&str> {
    let choices = core::iter::once(property).chain(each(&property["anyOf"]));
    let mut names = choices.filter_map(|choice| choice["$ref"].as_str());
    names.next()?.strip_prefix("#/$defs/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn column<'t>(table: &'t Table, name: &str) -> &'t Values {
        let column = table.columns.iter().find(|column| column.name == name);
        &column.unwrap_or_else(|| panic!("a column {name}")).values
    }

    fn texts(values: &[&str]) -> Values {
        Values::Texts(values.iter().map(|text| Some((*text).to_owned())).collect())
    }

    fn cells() -> Vec<Value> {
        let link = |id: &str, utilisation| json!({ "id": id, "direction": "there", "utilisation": utilisation });
        vec![
            json!({ "key": "k0", "label": "reno, 1", "variables": { "law": "reno", "seed": "1" },
                "drawn": { "queue": 5 }, "phase": null, "repeat": 0, "seed": "7", "error": null,
                "summary": { "fairness": 0.5, "flows": [
                    { "id": "x", "throughput_bps": 1e6, "sent_packets": 7, "rtt_ping_ns": { "p99": 31 } },
                    { "id": "y", "throughput_bps": 2e6, "sent_packets": 8, "rtt_ping_ns": null }],
                    "links": [link("wide", 0.5), link("neck", 0.9)] } }),
            json!({ "key": "k1", "label": "bic, 2", "variables": { "law": "bic", "seed": "2" },
                "drawn": { "queue": 6.5 }, "error": "broken", "summary": null }),
        ]
    }

    #[test]
    fn each_flow_of_each_cell_has_a_row() {
        let table = of_cells("s", &cells());
        assert_eq!(table.rows(), 3);
        assert_eq!(column(&table, "scenario"), &texts(&["s", "s", "s"]));
        assert_eq!(column(&table, "key"), &texts(&["k0", "k0", "k1"]));
        assert_eq!(column(&table, "law"), &texts(&["reno", "reno", "bic"]));
        let numbers = |values: &[Option<f64>]| Values::Numbers(values.to_vec());
        let queue = numbers(&[Some(5.0), Some(5.0), Some(6.5)]);
        assert_eq!(column(&table, "queue"), &queue);
        let rates = numbers(&[Some(1e6), Some(2e6), None]);
        assert_eq!(column(&table, "flow.throughput_bps"), &rates);
        let fairness = numbers(&[Some(0.5), Some(0.5), None]);
        assert_eq!(column(&table, "summary.fairness"), &fairness);
        let trips = Values::Counts(vec![Some(31), None, None]);
        assert_eq!(column(&table, "flow.rtt_ping_ns.p99"), &trips);
        let busiest = numbers(&[Some(0.9), Some(0.9), None]);
        assert_eq!(column(&table, "link.utilisation"), &busiest);
    }

    #[test]
    fn variable_with_the_name_of_a_column_gets_a_prefix() {
        let table = of_cells("s", &cells());
        assert_eq!(
            column(&table, "seed"),
            &Values::Texts(vec![Some("7".into()), Some("7".into()), None])
        );
        assert_eq!(column(&table, "variables.seed"), &texts(&["1", "1", "2"]));
    }

    #[test]
    fn columns_do_not_depend_on_the_values() {
        let names = |cells: &[Value]| -> Vec<String> {
            of_cells("s", cells)
                .columns
                .into_iter()
                .map(|column| column.name)
                .collect()
        };
        let (one, other) = (names(&cells()[..1]), names(&cells()[1..]));
        assert_eq!(one, other);
        assert_eq!(
            one[..5],
            ["scenario", "key", "label", "law", "variables.seed"]
        );
        let distinct: BTreeSet<&String> = one.iter().collect();
        assert_eq!(distinct.len(), one.len());
    }

    #[test]
    fn series_have_a_row_for_each_interval() {
        let cell = json!({ "series": { "t_ns": [10, 20],
            "flows": [{ "id": "x", "goodput_bps": [1.0, 2.5], "cwnd_packets": [null, 3.0] }],
            "links": [{ "id": "neck", "direction": "back", "lost_packets": [0, 4], "link_util": [0.5] }] } });
        let table = of_series(&cell);
        let names: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let expected = [
            "t_ns",
            "x.cwnd_packets",
            "x.goodput_bps",
            "neck.back.lost_packets",
        ];
        assert_eq!(names, expected);
        assert_eq!(
            column(&table, "x.cwnd_packets"),
            &Values::Numbers(vec![None, Some(3.0)])
        );
        assert_eq!(
            column(&table, "neck.back.lost_packets"),
            &Values::Counts(vec![Some(0), Some(4)])
        );
    }
}
