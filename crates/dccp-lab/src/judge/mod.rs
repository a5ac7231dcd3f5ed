//! Judges results: assertions and published tables of a scenario, evaluated over its cells.
//!
//! ```text
//! text ─ token ─ parse ─→ expr ─ check (names exist) ─→ Expected ─ eval over cells ─→ verdict
//! ```
//! An expression has a number for each combination of the variables' values: `vector.rs`. `metric.rs` lists the
//! measured values that expressions can name.

pub(crate) mod check;
mod eval;
mod expr;
mod heat;
pub(crate) mod metric;
mod parse;
pub(crate) mod token;
mod vector;
pub mod verdict;

pub use heat::{Best, HeatFigure, HeatPicture, HeatTable};

use eval::Cells;
use expr::{Comparison, Expr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the axis of phases.
pub(crate) const PHASE: &str = eval::PHASE;

/// The kind of an expected result.
#[derive(Deserialize, Serialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Expectation {
    /// A value within bounds.
    Value,
    /// The order of several values.
    Order,
    /// The ratio of two values.
    Ratio,
    /// The change of a value with a variable.
    Trend,
}

/// The expected results of a scenario.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// Variables with their labels; a phase is one.
    pub(crate) axes: Vec<(String, Vec<String>)>,
    /// Statements about the results.
    pub assertions: Vec<Assertion>,
    /// Published tables.
    pub published: Vec<PublishedTable>,
    /// Heat maps of pages.
    pub figures: Vec<HeatFigure>,
}

/// A statement about the results.
#[derive(Clone, PartialEq, Debug)]
pub struct Assertion {
    /// The published claim that it tests.
    pub claim: Option<String>,
    /// The kind of the comparison.
    pub kind: Expectation,
    /// The statement in words.
    pub says: String,
    /// The comparison as the scenario has it.
    pub that: String,
    /// The artefact without which it is not expected to hold.
    pub artefact: Option<String>,
    /// The share of repetitions that must agree.
    pub(crate) share: f64,
    pub(crate) comparison: Comparison,
}

/// A published table, to be shown beside ours.
#[derive(Clone, PartialEq, Debug)]
pub struct PublishedTable {
    /// The title.
    pub title: String,
    /// The unit of the values.
    pub unit: String,
    /// The value in a cell of the table, as the scenario has it.
    pub value_text: String,
    pub(crate) value: Expr,
    /// The variable of the rows and its labels.
    pub rows: (String, Vec<String>),
    /// The variable of the columns and its labels.
    pub columns: (String, Vec<String>),
    /// The published numbers, row by row; NaN where none was published.
    pub numbers: Vec<Vec<f64>>,
    /// The least rank correlation of all numbers with ours.
    pub(crate) correlation: Option<f64>,
    /// The published claim that the correlation tests.
    pub claim: Option<String>,
}

/// A number for each combination of labels on the axes `wanted`, in the order of the cells. `axes` are the variables of
/// the cells.
///
/// # Errors
/// The expression is not valid, names what the cells do not have, or leaves other axes.
pub(crate) fn evaluate(
    text: &str,
    cells: &[&Value],
    axes: &[String],
    wanted: &[String],
) -> Result<Vec<(Vec<String>, f64)>, String> {
    let expr = parse::expression(text).map_err(|fault| format!("{text}: {}", fault.what))?;
    let vector = Cells::new(cells.iter().copied(), axes).evaluate(&expr)?;
    let places: Option<Vec<usize>> = wanted.iter().map(|axis| vector.position(axis)).collect();
    let places = places.filter(|places| places.len() == vector.axes().len());
    let places = places.ok_or_else(|| {
        let (left, wanted) = (vector.axes().join(", "), wanted.join(", "));
        format!("{text} leaves the variables {left}, not {wanted}")
    })?;
    let entries = vector.entries().iter();
    let in_order = entries.map(|(labels, value)| {
        let labels = places.iter().map(|&n| labels[n].clone());
        (labels.collect(), *value)
    });
    Ok(in_order.collect())
}
