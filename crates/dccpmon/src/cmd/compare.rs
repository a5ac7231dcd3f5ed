//! `dccpmon compare A B`: two saved results beside each other.

use crate::output;
use crate::result::check::differences;
use crate::result::figures::{Better, FIGURES, Figure};
use crate::result::stored;
use crate::schema::Document;
use clap::Args;
use dccp_cli::quantity::show as units;
use dccp_cli::{Failure, exit, print};
use dccp_report::{Page, Table};
use std::path::PathBuf;

/// Values of `compare`.
#[derive(Args, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Compare {
    /// A file that `--save` wrote
    first: PathBuf,
    /// Another one
    second: PathBuf,
    /// Compare tests of different set-ups too
    #[arg(long)]
    force: bool,
    /// Write the comparison to FILE as a page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Prints the comparison; gives the exit code.
///
/// # Errors
/// A file is no result, or the tests had different set-ups.
pub(crate) fn run(asked: &Compare) -> Result<u8, Failure> {
    let (first, second) = (stored::read(&asked.first)?, stored::read(&asked.second)?);
    for (path, document) in [(&asked.first, &first), (&asked.second, &second)] {
        if document.summary.is_none() {
            return Err(Failure::usage(
                format!("{}: holds no figures to compare", path.display()),
                "compare results of `dccpmon bulk` or `dccpmon stream` that ran",
            ));
        }
    }
    let differences = differences(&first.requested, &second.requested);
    if !asked.force && !differences.is_empty() {
        return Err(Failure::usage(
            format!("the tests differ in {}", differences.join(", ")),
            "compare like with like, or add --force",
        ));
    }
    let names = [&asked.first, &asked.second].map(|path| path.display().to_string());
    let rows = rows(&first, &second);
    let mut sentences: Vec<String> = (differences.iter())
        .map(|difference| format!("The tests differ in {difference}."))
        .collect();
    for sentence in &sentences {
        print(&format!("{sentence}\n"))?;
    }
    print(&table(&names, &rows))?;
    let certainty = certainty(&first, &second);
    if let Some(sentence) = certainty {
        print(&format!("{sentence}\n"))?;
        sentences.push(sentence);
    }
    if let Some(path) = &asked.html {
        output::save(path, &page(&names, &rows, &sentences))?;
    }
    Ok(exit::DONE)
}

/// One figure of both tests, as texts.
struct Row {
    name: &'static str,
    values: [String; 2],
    change: String,
    judgement: &'static str,
}

/// The figures that at least one of the tests knows.
fn rows(first: &Document, second: &Document) -> Vec<Row> {
    let row = |figure: &Figure| {
        let values = [figure.of(first), figure.of(second)];
        let shown = |value: Option<f64>| value.map_or("-".into(), |v| figure.kind.show(v));
        let [before, after] = values;
        if before.is_none() && after.is_none() {
            return None;
        }
        Some(Row {
            name: figure.name,
            values: values.map(shown),
            change: change(before, after),
            judgement: judgement(figure.better, before, after),
        })
    };
    FIGURES.iter().filter_map(row).collect()
}

fn change(before: Option<f64>, after: Option<f64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) if before != 0.0 => {
            format!("{:+.1} %", (after - before) * 100.0 / before)
        }
        _ => String::new(),
    }
}

/// A change of at least 1 % is named.
fn judgement(better: Better, before: Option<f64>, after: Option<f64>) -> &'static str {
    let (Some(before), Some(after)) = (before, after) else {
        return "";
    };
    let change = after - before;
    if change == 0.0 || change.abs() < before.abs() / 100.0 {
        return "";
    }
    match (better, change > 0.0) {
        (Better::Open, _) => "",
        (Better::Greater, true) | (Better::Less, false) => "better",
        (Better::Greater, false) | (Better::Less, true) => "worse",
    }
}

/// Compares the confidence intervals of both mean goodputs; `None` unless both tests ran several times.
fn certainty(first: &Document, second: &Document) -> Option<String> {
    let interval = |document: &Document| {
        let repeat = document.summary.as_ref()?.repeat.as_ref()?;
        repeat.goodput
    };
    let (a, b) = (interval(first)?, interval(second)?);
    let outcome = if a.low <= b.high && b.low <= a.high {
        "overlap: the difference can be chance"
    } else {
        "are apart: the difference is no chance"
    };
    let [a, b] = [a, b].map(|interval| {
        let (low, high) = (units::rate(interval.low), units::rate(interval.high));
        format!("{low} to {high}")
    });
    Some(format!(
        "95 % intervals of goodput: {a}, {b}.\nThey {outcome}."
    ))
}

/// The table for a terminal: 80 columns.
fn table(names: &[String; 2], rows: &[Row]) -> String {
    let end = |name: &str| -> String {
        let skipped = name.chars().count().saturating_sub(15);
        name.chars().skip(skipped).collect()
    };
    let line = |name: &str, [a, b]: [&str; 2], change: &str, judgement: &str| {
        let line = format!("{name:<31}{a:>15} {b:>15} {change:>9}  {judgement}");
        line.trim_end().to_owned() + "\n"
    };
    let (first, second) = (end(&names[0]), end(&names[1]));
    let mut text = line("figure", [&first, &second], "change", "");
    for row in rows {
        let [a, b] = &row.values;
        text += &line(row.name, [a, b], &row.change, row.judgement);
    }
    text
}

fn page(names: &[String; 2], rows: &[Row], sentences: &[String]) -> String {
    let mut table = Table::numbers("", &["figure", &names[0], &names[1], "change", ""]);
    for row in rows {
        let [a, b] = row.values.clone();
        let cells = [
            row.name.into(),
            a,
            b,
            row.change.clone(),
            row.judgement.into(),
        ];
        table.row(cells);
    }
    let page = Page::new(&format!("{} and {}", names[0], names[1]));
    let page = page.section("Comparison", |section| {
        section.list(sentences).table(&table);
    });
    page.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use crate::schema::Repeat;
    use dccp_stats::MeanInterval;

    #[test]
    fn columns_stand_below_their_names() {
        let values = ["47.5 Mbit/s", "123456.789 ms"].map(str::to_owned);
        let row = |name| Row {
            name,
            values: values.clone(),
            change: "+198.7 %".into(),
            judgement: "better",
        };
        let names = FIGURES.iter().map(|figure| figure.name);
        let rows: Vec<Row> = names.map(row).collect();
        let text = table(
            &["a/long/name/before.json", "after.json"].map(str::to_owned),
            &rows,
        );
        let place = text
            .lines()
            .nth(1)
            .and_then(|line| line.find("47.5 Mbit/s"));
        for line in text.lines().skip(1) {
            assert_eq!(line.find("47.5 Mbit/s"), place, "{line}");
            assert!(line.len() <= 80, "{line}");
        }
    }

    // goal 46: repeated tests are compared by their confidence intervals.
    #[test]
    fn overlapping_intervals_can_be_chance() {
        let repeated = |low: f64, high: f64| {
            let mut document = sample::document();
            document.summary.as_mut().unwrap().repeat = Some(Repeat {
                goodputs_bps: vec![low, high],
                goodput: Some(MeanInterval {
                    mean: f64::midpoint(low, high),
                    low,
                    high,
                }),
            });
            document
        };
        let [a, b, c] = [(90e6, 95e6), (94e6, 98e6), (96e6, 99e6)].map(|(a, b)| repeated(a, b));
        assert_eq!(
            certainty(&a, &b).unwrap(),
            "95 % intervals of goodput: 90.0 Mbit/s to 95.0 Mbit/s, 94.0 Mbit/s to 98.0 Mbit/s.\n\
             They overlap: the difference can be chance."
        );
        assert!(
            certainty(&a, &c)
                .unwrap()
                .ends_with("They are apart: the difference is no chance.")
        );
        assert_eq!(certainty(&a, &sample::document()), None);
    }

    #[test]
    fn table_shows_change_and_judgement() {
        let before = sample::document();
        let mut after = before.clone();
        after.summary.as_mut().unwrap().goodput_bps = Some(0.9 * 94.4e6);
        let names = ["a/long/path/to/before.json".into(), "after.json".into()];
        let text = table(&names, &rows(&before, &after));
        let lines: Vec<&str> = text.lines().collect();
        let head: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(head, ["figure", "/to/before.json", "after.json", "change"]);
        assert_eq!(
            lines[1],
            "goodput                            94.4 Mbit/s     85.0 Mbit/s   -10.0 %  worse"
        );
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(!text.contains("better"), "{text}");
    }
}
