//! `[[assert]]`, `[[published]]` and `[[figure]]`: expected results, and pictures of them.

use super::super::numbers::{Number, Share};
use super::super::values::{At, Name, OneOrMany};
use crate::judge::{Best, Expectation};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[[assert]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssertKeys {
    /// The statement in words.
    pub(crate) says: String,
    /// The statement as a comparison; see "Assertions" in `scenarios.md`.
    pub(crate) that: At<String>,
    /// The kind of the comparison.
    pub(crate) kind: Expectation,
    /// The published claim that it tests.
    pub(crate) claim: Option<Name>,
    /// The artefact without which the statement is not expected to hold.
    pub(crate) artefact: Option<String>,
    /// The share of repetitions that must agree. Default: 80%.
    pub(crate) share: Option<Share>,
}

/// `[[published]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedKeys {
    /// The title of the table.
    pub(crate) title: String,
    /// The value in a cell of the table, as an expression.
    pub(crate) value: At<String>,
    /// The unit of the values.
    pub(crate) unit: String,
    /// The variable whose values are the rows.
    pub(crate) rows: At<String>,
    /// The variable whose values are the columns.
    pub(crate) columns: At<String>,
    /// A list of published numbers for each row, in the order of the variables' values; nan where none was published.
    pub(crate) numbers: At<Vec<Vec<f64>>>,
    /// The least rank correlation of all numbers with ours. Default: the tables are shown only.
    pub(crate) correlation: Option<Number<0, 1>>,
    /// The published claim that the correlation tests.
    pub(crate) claim: Option<Name>,
}

/// `[[figure]]`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureKeys {
    /// The title of the picture.
    pub(crate) title: String,
    /// The kind of the picture.
    #[expect(dead_code, reason = "there is one kind, which deserializing checks")]
    pub(crate) kind: FigureKind,
    /// The value in a cell of the picture, as an expression.
    pub(crate) value: At<String>,
    /// The name of the value on the picture, with its unit. Default: the expression.
    pub(crate) label: Option<String>,
    /// The variable whose values are the rows.
    pub(crate) rows: At<String>,
    /// The variable whose values are the columns.
    pub(crate) columns: At<String>,
    /// The variables whose values have a map each. The maps of the last stand beside each other. Default: all others.
    pub(crate) by: Option<At<OneOrMany<String>>>,
    /// The cell of each map that is marked. Default: greatest.
    pub(crate) best: Option<Best>,
}

/// The kind of a picture.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum FigureKind {
    /// Heat maps.
    Heat,
}
