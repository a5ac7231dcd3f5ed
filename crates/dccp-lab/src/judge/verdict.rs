//! The outcome of assertions and of comparisons with published tables, as the JSON has it.

use super::eval::{Cells, Judged, median};
use super::{Assertion, Expectation, Expected, PublishedTable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Whether a statement holds.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// It holds in enough repetitions, and for the means over all repetitions.
    Holds,
    /// It does not.
    Fails,
    /// Cells that it needs are missing.
    Unknown,
}

/// The outcome of an assertion.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct AssertionVerdict {
    /// The published claim that it tests.
    pub claim: Option<String>,
    /// The kind of the comparison.
    pub kind: Expectation,
    /// The statement in words.
    pub says: String,
    /// The comparison.
    pub that: String,
    /// The artefact without which it is not expected to hold.
    pub artefact: Option<String>,
    /// Whether it holds.
    pub mark: Mark,
    /// The share of repetitions that agree for all groups.
    #[schemars(range(min = 0, max = 1))]
    pub share: Option<f64>,
    /// Repetitions that were evaluated.
    pub repetitions: usize,
    /// Whether it holds for the means over all repetitions.
    pub holds_for_means: Option<bool>,
    /// One for each combination of values that the statement is about.
    pub groups: Vec<Group>,
    /// Why it could not be evaluated.
    pub problem: Option<String>,
}

/// One combination of values.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Group {
    /// Variables and their values.
    #[serde(rename = "where")]
    pub place: BTreeMap<String, String>,
    /// Repetitions that agree.
    pub held: usize,
    /// The median of the left side.
    pub left: Option<f64>,
    /// The median of the bound that the left side is nearest to.
    pub right: Option<f64>,
}

/// A published table beside ours.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct TableVerdict {
    /// The title.
    pub title: String,
    /// The expression of a value.
    pub value: String,
    /// The unit of the values.
    pub unit: String,
    /// The labels of the rows.
    pub rows: Vec<String>,
    /// The labels of the columns.
    pub columns: Vec<String>,
    /// Published numbers, row by row.
    pub published: Vec<Vec<Option<f64>>>,
    /// Our means over all repetitions, row by row.
    pub ours: Vec<Vec<Option<f64>>>,
    /// Spearman's rank correlation of the two.
    #[schemars(range(min = -1, max = 1))]
    pub rank_correlation: Option<f64>,
    /// The least correlation that was expected.
    pub expected_correlation: Option<f64>,
    /// The published claim that the correlation tests.
    pub claim: Option<String>,
    /// Whether the correlation is as expected; null if nothing was.
    pub mark: Option<Mark>,
}

impl Expected {
    /// The outcome of each assertion. `is_complete`: all cells of the scenario are there.
    pub fn judge(&self, cells: &[Value], is_complete: bool) -> Vec<AssertionVerdict> {
        let axes = self.names();
        let repeats = by_repetition(cells);
        let repeats: Vec<Cells<'_>> = (repeats.values())
            .map(|cells| Cells::new(cells.iter().copied(), &axes))
            .collect();
        let all = Cells::new(cells, &axes);
        let judge = |assertion: &Assertion| assertion.judge(&repeats, &all, is_complete);
        self.assertions.iter().map(judge).collect()
    }

    /// Each published table with our numbers.
    pub fn compare(&self, cells: &[Value]) -> Vec<TableVerdict> {
        let all = Cells::new(cells, &self.names());
        self.published
            .iter()
            .map(|table| table.compare(&all))
            .collect()
    }

    fn names(&self) -> Vec<String> {
        self.axes.iter().map(|(name, _)| name.clone()).collect()
    }
}

fn by_repetition(cells: &[Value]) -> BTreeMap<u64, Vec<&Value>> {
    let mut repeats: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for cell in cells {
        let repeat = cell["repeat"].as_u64().unwrap_or(0);
        repeats.entry(repeat).or_default().push(cell);
    }
    repeats
}

/// The outcomes of one combination of labels in all repetitions.
#[derive(Default)]
struct Outcomes {
    held: usize,
    left: Vec<f64>,
    right: Vec<f64>,
}

impl Assertion {
    fn judge(&self, repeats: &[Cells<'_>], all: &Cells<'_>, is_complete: bool) -> AssertionVerdict {
        let mut groups: Vec<(Vec<String>, Outcomes)> = Vec::new();
        let mut axes = Vec::new();
        let mut held = 0;
        let mut problem = None;
        for cells in repeats {
            match cells.judge(&self.comparison) {
                Ok((names, judged)) => {
                    held += usize::from(judged.iter().all(|judged| judged.holds));
                    axes = names;
                    for one in judged {
                        add(&mut groups, one);
                    }
                }
                Err(reason) => problem = Some(reason),
            }
        }
        let means = all.judge(&self.comparison).ok();
        let holds_for_means = means.map(|(_, judged)| judged.iter().all(|judged| judged.holds));
        #[expect(clippy::cast_precision_loss, reason = "repetitions are at most 10,000")]
        let share = (!repeats.is_empty()).then(|| held as f64 / repeats.len() as f64);
        let is_known = is_complete && problem.is_none() && !repeats.is_empty();
        let holds = share.is_some_and(|share| share >= self.share) && holds_for_means == Some(true);
        let varying = varying(&axes, &groups);
        AssertionVerdict {
            claim: self.claim.clone(),
            kind: self.kind,
            says: self.says.clone(),
            that: self.that.clone(),
            artefact: self.artefact.clone(),
            mark: match (is_known, holds) {
                (false, _) => Mark::Unknown,
                (true, true) => Mark::Holds,
                (true, false) => Mark::Fails,
            },
            share: share.filter(|_| is_known),
            repetitions: repeats.len(),
            holds_for_means: holds_for_means.filter(|_| is_known),
            groups: (groups.into_iter())
                .map(|(labels, outcomes)| outcomes.group(&axes, &labels, &varying))
                .collect(),
            problem,
        }
    }
}

fn add(groups: &mut Vec<(Vec<String>, Outcomes)>, judged: Judged) {
    let n = groups.iter().position(|(known, _)| *known == judged.labels);
    let n = n.unwrap_or_else(|| {
        groups.push((judged.labels, Outcomes::default()));
        groups.len() - 1
    });
    let outcomes = &mut groups[n].1;
    outcomes.held += usize::from(judged.holds);
    outcomes.left.push(judged.left);
    outcomes.right.push(judged.right);
}

/// The axes whose label differs between groups.
fn varying(axes: &[String], groups: &[(Vec<String>, Outcomes)]) -> Vec<bool> {
    let differ = |n: usize| {
        let labels: BTreeSet<&String> = groups.iter().map(|(labels, _)| &labels[n]).collect();
        labels.len() > 1
    };
    (0..axes.len()).map(differ).collect()
}

impl Outcomes {
    fn group(self, axes: &[String], labels: &[String], varying: &[bool]) -> Group {
        let named = axes.iter().zip(labels).zip(varying);
        Group {
            place: named
                .filter(|(_, varies)| **varies)
                .map(|((axis, label), _)| (axis.clone(), label.clone()))
                .collect(),
            held: self.held,
            left: finite(median(&self.left)),
            right: finite(median(&self.right)),
        }
    }
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

impl PublishedTable {
    fn compare(&self, cells: &Cells<'_>) -> TableVerdict {
        let ours = cells.evaluate(&self.value).ok();
        let (rows, columns) = (&self.rows, &self.columns);
        let value = |row: &String, column: &String| {
            let vector = ours.as_ref()?;
            let position = |axis: &str| vector.position(axis);
            let (r, c) = (position(&rows.0)?, position(&columns.0)?);
            // Other axes must have one label left.
            let mut found = vector
                .entries()
                .iter()
                .filter(|(labels, _)| labels[r] == *row && labels[c] == *column);
            let (_, value) = found.next()?;
            finite(Some(*value).filter(|_| found.next().is_none()))
        };
        let ours: Vec<Vec<Option<f64>>> = (rows.1.iter())
            .map(|row| columns.1.iter().map(|column| value(row, column)).collect())
            .collect();
        let published: Vec<Vec<Option<f64>>> = (self.numbers.iter())
            .map(|row| row.iter().map(|value| finite(Some(*value))).collect())
            .collect();
        let pairs: Vec<(f64, f64)> = (published.iter().flatten())
            .zip(ours.iter().flatten())
            .filter_map(|(theirs, ours)| Some(((*theirs)?, (*ours)?)))
            .collect();
        let correlation = rank_correlation(&pairs);
        let mark = |least: f64| match correlation {
            None => Mark::Unknown,
            Some(correlation) if correlation >= least => Mark::Holds,
            Some(_) => Mark::Fails,
        };
        TableVerdict {
            title: self.title.clone(),
            value: self.value_text.clone(),
            unit: self.unit.clone(),
            rows: rows.1.clone(),
            columns: columns.1.clone(),
            published,
            ours,
            rank_correlation: correlation,
            expected_correlation: self.correlation,
            claim: self.claim.clone(),
            mark: self.correlation.map(mark),
        }
    }
}

/// Spearman's rank correlation; equal values share the mean of their ranks.
fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let ranks = |of: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = pairs.iter().map(of).collect();
        let rank = |x: &f64| {
            let below = values.iter().filter(|y| *y < x).count();
            let equal = values.iter().filter(|y| y.to_bits() == x.to_bits()).count();
            count(below) + count(equal - 1) / 2.0
        };
        values.iter().map(rank).collect::<Vec<f64>>()
    };
    let (a, b) = (ranks(|pair| pair.0), ranks(|pair| pair.1));
    let (mean_a, mean_b) = (dccp_stats::mean(&a)?, dccp_stats::mean(&b)?);
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter()
            .zip(&b)
            .map(|(a, b)| f(a - mean_a, b - mean_b))
            .sum()
    };
    let squares = sum(&|a, _| a * a) * sum(&|_, b| b * b);
    (squares > 0.0).then(|| sum(&|a, b| a * b) / squares.sqrt())
}

#[expect(clippy::cast_precision_loss, reason = "cells of a table")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;
    use serde_json::json;

    fn cell(law: &str, repeat: u64, bps: f64) -> Value {
        json!({ "variables": { "law": law }, "phase": null, "error": null, "repeat": repeat,
            "summary": { "flows": [{ "id": "a", "throughput_bps": bps }] } })
    }

    fn expected(that: &str) -> Expected {
        Expected {
            axes: vec![("law".into(), vec!["reno".into(), "bic".into()])],
            assertions: vec![Assertion {
                claim: Some("C01".into()),
                kind: Expectation::Order,
                says: "BIC is faster".into(),
                that: that.into(),
                artefact: None,
                share: 0.8,
                comparison: parse::comparison(that).expect(that),
            }],
            figures: Vec::new(),
            published: vec![PublishedTable {
                title: "t".into(),
                unit: "Mbit/s".into(),
                value_text: "goodput(a)/1e6".into(),
                value: parse::expression("goodput(a)/1e6").expect("valid"),
                rows: ("law".into(), vec!["reno".into(), "bic".into()]),
                columns: ("law".into(), vec!["reno".into(), "bic".into()]),
                numbers: vec![vec![1.0, f64::NAN], vec![2.0, 3.0]],
                correlation: Some(0.5),
                claim: None,
            }],
        }
    }

    const FASTER: &str = "goodput(a)[law = bic] > 1.5 * goodput(a)[law = reno]";

    /// In each of five repetitions, Reno has 1 Mbit/s and BIC one of these.
    fn cells(bic: [f64; 5]) -> Vec<Value> {
        let cells = (0_u64..).zip(bic);
        let pair = |(n, mbit): (u64, f64)| [cell("reno", n, 1e6), cell("bic", n, mbit * 1e6)];
        cells.flat_map(pair).collect()
    }

    #[test]
    fn assertion_holds_in_four_of_five_repetitions() {
        let verdict = |bic| expected(FASTER).judge(&cells(bic), true).remove(0);
        let held = verdict([2.0, 3.0, 2.0, 1.0, 4.0]);
        assert_eq!((held.mark, held.share), (Mark::Holds, Some(0.8)));
        assert_eq!(
            held.groups,
            [Group {
                place: BTreeMap::new(),
                held: 4,
                left: Some(2e6),
                right: Some(1.5e6)
            }]
        );
        assert_eq!(verdict([2.0, 3.0, 1.0, 1.0, 4.0]).mark, Mark::Fails);
        // The mean over all repetitions must agree.
        let of_means = verdict([1.6, 1.6, 1.6, 1.6, 0.1]);
        assert_eq!((of_means.mark, of_means.share), (Mark::Fails, Some(0.8)));
    }

    #[test]
    fn missing_cells_leave_the_mark_open() {
        let cells = cells([2.0; 5]);
        assert_eq!(expected(FASTER).judge(&cells, false)[0].mark, Mark::Unknown);
        let without_bic: Vec<Value> = cells.into_iter().step_by(2).collect();
        let verdict = expected(FASTER).judge(&without_bic, true).remove(0);
        assert_eq!(verdict.mark, Mark::Unknown);
        assert!(verdict.problem.is_some());
    }

    #[test]
    fn value_that_is_null_does_not_hold() {
        let mut cells = cells([2.0; 5]);
        cells[1]["summary"]["flows"][0]["throughput_bps"] = Value::Null;
        let verdict = expected(FASTER).judge(&cells, true).remove(0);
        assert_eq!((verdict.groups[0].held, verdict.share), (4, Some(0.8)));
        assert_eq!(verdict.mark, Mark::Fails, "the mean is unknown");
    }

    #[test]
    fn published_table_stands_beside_the_means() {
        let mut expected = expected(FASTER);
        let table = &mut expected.published[0];
        table.rows = ("window".into(), vec!["1".into(), "2".into()]);
        expected
            .axes
            .push(("window".into(), vec!["1".into(), "2".into()]));
        let mut cells = Vec::new();
        for (window, law, bps) in [
            ("1", "reno", 1e6),
            ("1", "bic", 9e6),
            ("2", "reno", 2e6),
            ("2", "bic", 3e6),
        ] {
            let mut cell = cell(law, 0, bps);
            cell["variables"]["window"] = window.into();
            cells.push(cell);
        }
        let compared = expected.compare(&cells).remove(0);
        assert_eq!(
            compared.published,
            [[Some(1.0), None], [Some(2.0), Some(3.0)]]
        );
        assert_eq!(
            compared.ours,
            [[Some(1.0), Some(9.0)], [Some(2.0), Some(3.0)]]
        );
        assert_eq!(compared.rank_correlation, Some(1.0));
        assert_eq!(compared.mark, Some(Mark::Holds));
    }

    #[test]
    fn rank_correlation_shares_the_ranks_of_equal_values() {
        let pairs =
            |b: [f64; 4]| -> Vec<(f64, f64)> { [1.0, 2.0, 3.0, 4.0].into_iter().zip(b).collect() };
        assert_eq!(
            rank_correlation(&pairs([10.0, 20.0, 30.0, 40.0])),
            Some(1.0)
        );
        assert_eq!(rank_correlation(&pairs([4.0, 3.0, 2.0, 1.0])), Some(-1.0));
        // Ranks 0.5, 0.5, 2, 3: covariance 4.5 of 5 · 4.5.
        let tied = rank_correlation(&pairs([1.0, 1.0, 2.0, 3.0])).expect("known");
        assert!(
            (tied - 4.5 / (5.0_f64 * 4.5).sqrt()).abs() < 1e-12,
            "{tied}"
        );
        assert_eq!(rank_correlation(&pairs([1.0; 4])), None);
    }
}
