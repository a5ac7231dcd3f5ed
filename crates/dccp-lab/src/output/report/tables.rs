//! The metrics of all cells, and published tables beside ours.

use super::super::read::{each, text};
use super::super::table;
use super::groups::{FIGURES, Figure, Group, is_long};
use super::heat::Map;
use super::multiples::shades_of_rows;
use super::{Source, mark, short};
use crate::metrics::Metric;
use crate::quartiles::Quartiles;
use dccp_report::{Section, Table};
use serde_json::Value;

pub(super) fn fill(section: &mut Section, source: &Source) {
    let groups = source.groups();
    if is_long(&groups) {
        section.text(
            "Each cell has many repetitions, so the table has their means, and in brackets the quartiles: half of the \
             repetitions lie between the two. The result itself has each repetition.",
        );
        section.table(&means(source, &groups));
    } else {
        section.table(&metrics(source));
    }
    for published in each(&source.document["published"]) {
        beside(section, published);
    }
    if each(&source.document["published"]).next().is_none() {
        section.absent("The scenario has no published table to compare with.");
    }
}

/// The metrics that the scenario names.
fn wanted(source: &Source) -> &[Metric] {
    let scenario = source.scenario.as_ref().ok();
    let run = scenario.and_then(|scenario| scenario.runs.first());
    match run.map_or(&[][..], |run| &run.measure.metrics) {
        [] => table::DEFAULT,
        some => some,
    }
}

/// Means and quartiles of the repetitions of each cell.
fn means(source: &Source, groups: &[Group<'_>]) -> Table {
    let wanted = wanted(source);
    let values = |figure: &Figure, group: &Group<'_>, flow: usize| {
        let values = group.values(|summary| figure.of(summary, flow));
        Quartiles::of(&values)
    };
    let flows = |group: &Group<'_>| group.rows().count();
    let has_values = |figure: &&Figure| {
        let mut all = groups.iter();
        all.any(|group| (0..flows(group)).any(|flow| values(figure, group, flow).is_some()))
    };
    let figures = FIGURES.iter().filter(|f| wanted.contains(&f.metric));
    let figures: Vec<&Figure> = figures.filter(has_values).collect();
    let heads: Vec<&str> = ["cell", "flow", "repetitions"]
        .into_iter()
        .chain(figures.iter().map(|figure| figure.name))
        .collect();
    let mut table = Table::numbers("Means and quartiles of each flow of each cell", &heads);
    for group in groups {
        let played = group.cells.iter().filter(|cell| cell["error"].is_null());
        let played = played.count().to_string();
        for (n, flow) in group.rows().enumerate() {
            let names = [
                group.label.clone(),
                text(&flow["id"]).to_owned(),
                played.clone(),
            ];
            let cells = figures.iter().map(|figure| match values(figure, group, n) {
                Some(q) => format!(
                    "{} ({} to {})",
                    short(q.mean),
                    short(q.lower),
                    short(q.upper)
                ),
                None => "–".to_owned(),
            });
            table.row(names.into_iter().chain(cells));
        }
    }
    table
}

fn metrics(source: &Source) -> Table {
    let mut rows = table::rows(source.cells(), wanted(source)).into_iter();
    let mut headings = rows.next().unwrap_or_default();
    if let Some(first) = headings.first_mut() {
        "cell".clone_into(first);
    }
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::numbers("Metrics of each flow of each cell", &headings);
    for mut row in rows {
        if let Some(first) = row.first_mut().filter(|first| first.is_empty()) {
            source.name().clone_into(first);
        }
        table.row(row);
    }
    table
}

/// A table of a paper and ours.
fn beside(section: &mut Section, published: &Value) {
    let texts = |key: &str| -> Vec<String> {
        each(&published[key])
            .map(|name| text(name).to_owned())
            .collect()
    };
    let (rows, columns) = (texts("rows"), texts("columns"));
    section.heading(text(&published["title"]));
    section.text(&sentence(published));
    let paper = Numbers(&published["published"]);
    let ours = Numbers(&published["ours"]);
    let unit = match text(&published["unit"]) {
        "" | "1" => String::new(),
        unit => format!(", {unit}"),
    };
    let caption = format!("{}{unit}: the paper and ours", text(&published["value"]));
    section.table(&numbers(&caption, &rows, &columns, paper, ours));
    if rows.len() > 2 && columns.len() > 2 {
        maps(section, published, (rows, columns));
    }
}

/// The expected correlation and the mark.
fn sentence(published: &Value) -> String {
    let compared = match published["expected_correlation"].as_f64() {
        None => "The scenario only shows both.".to_owned(),
        Some(least) => {
            let mark = mark(&published["mark"]);
            format!("A rank correlation of at least {least} is expected: {mark}.")
        }
    };
    match published["rank_correlation"].as_f64() {
        Some(rank) => format!("{compared} The rank correlation of both is {rank:.2}."),
        None => compared,
    }
}

/// The values of a table in a document.
#[derive(Clone, Copy)]
struct Numbers<'a>(&'a Value);

impl Numbers<'_> {
    fn at(self, row: usize, column: usize) -> Option<f64> {
        self.0[row][column].as_f64()
    }
}

/// With few columns, a row as in the paper; with many, a row for each value.
fn numbers(
    caption: &str,
    rows: &[String],
    columns: &[String],
    paper: Numbers<'_>,
    ours: Numbers<'_>,
) -> Table {
    const FEW: usize = 3;
    let cells = |row: usize, column: usize| {
        let (paper, ours) = (paper.at(row, column), ours.at(row, column));
        [shown(paper), shown(ours), difference(paper, ours)]
    };
    if columns.len() <= FEW {
        let heads = columns.iter().flat_map(|column| {
            ["paper", "ours", "difference"].map(|word| match &column[..] {
                "" => word.to_owned(),
                column => format!("{column}: {word}"),
            })
        });
        let heads: Vec<String> = core::iter::once("row".to_owned()).chain(heads).collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let mut table = Table::numbers(caption, &heads);
        for (n, name) in rows.iter().enumerate() {
            let cells = (0..columns.len()).flat_map(|m| cells(n, m));
            table.row(core::iter::once(name.clone()).chain(cells));
        }
        return table;
    }
    let heads = ["row", "column", "paper", "ours", "difference"];
    let mut table = Table::numbers(caption, &heads);
    for (n, name) in rows.iter().enumerate() {
        for (m, column) in columns.iter().enumerate() {
            let names = [name.clone(), column.clone()];
            table.row(names.into_iter().chain(cells(n, m)));
        }
    }
    table
}

/// Both tables as heat maps with the same colours.
fn maps(section: &mut Section, published: &Value, (rows, columns): (Vec<String>, Vec<String>)) {
    let values = |key: &str| -> Vec<Vec<Option<f64>>> {
        let rows = each(&published[key]);
        rows.map(|row| each(row).map(Value::as_f64).collect())
            .collect()
    };
    let both = [("The paper", values("published")), ("Ours", values("ours"))];
    let shades = shades_of_rows(&[&both[0].1[..], &both[1].1[..]].concat());
    for (who, values) in both {
        let map = Map {
            caption: format!("{who}: {}", text(&published["title"])),
            value: text(&published["value"]).to_owned(),
            x: String::new(),
            y: String::new(),
            columns: columns.clone(),
            rows: rows.clone(),
            values,
            shades,
        };
        map.add_to(section);
    }
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), short)
}

/// Ours less the paper's, also as a part of the paper's.
fn difference(paper: Option<f64>, ours: Option<f64>) -> String {
    let Some((paper, ours)) = paper.zip(ours) else {
        return "–".into();
    };
    let sign = if ours > paper { "+" } else { "" };
    let by = format!("{sign}{}", short(ours - paper));
    if paper == 0.0 {
        return by;
    }
    format!("{by} ({sign}{:.0} %)", (ours - paper) / paper.abs() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn difference_has_a_sign_and_a_share() {
        assert_eq!(difference(Some(200.0), Some(210.0)), "+10.00 (+5 %)");
        assert_eq!(difference(Some(0.5), Some(0.25)), "-0.250 (-50 %)");
        assert_eq!(difference(Some(-0.5), Some(0.0)), "+0.500 (+100 %)");
        assert_eq!(difference(Some(0.0), Some(0.1)), "+0.100");
        assert_eq!(difference(None, Some(1.0)), "–");
    }

    #[test]
    fn wide_table_has_a_row_for_each_value() {
        let names = |count: usize| (0..count).map(|n| format!("n{n}")).collect::<Vec<_>>();
        let values = json!([[1, 2, 3, 4], [5, 6, null, 8]]);
        let of = |columns: usize| {
            let numbers = Numbers(&values);
            let table = numbers_of(&names(columns), numbers);
            table.to_string().matches("<tr>").count() - 1
        };
        assert_eq!((of(2), of(4)), (2, 8));
    }

    fn numbers_of(columns: &[String], values: Numbers<'_>) -> Table {
        let rows = ["a".to_owned(), "b".to_owned()];
        numbers("", &rows, columns, values, values)
    }
}
