//! The keys of sections about variables, expected results, important datagrams and the utilisation of links. As in
//! `keys.rs`, the comments are the text of `docs/scenario-keys.md`.

use super::numbers::{Number, Share, Whole};
use super::values::{At, Name, OneOrMany, Period};
use crate::judge::{Best, Expectation};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// `[define]`
///
/// Each key is a name with its value. A table named like a variable of the matrix has a table for each value of the variable:
/// `[define.path]` with `ufl = { rtt = "64ms" }` makes `${path.rtt}`.
#[derive(Deserialize, JsonSchema, Debug)]
pub(crate) struct DefineKeys {}

/// `[draw]`
///
/// Each key is a variable with one of these tables. Repetition n of every cell has the same values.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct DrawKeys {
    /// The least value.
    pub(crate) from: Option<String>,
    /// The greatest value, with the same unit.
    pub(crate) to: Option<String>,
    /// Draws evenly in the logarithm. Default: false.
    pub(crate) log: Option<bool>,
    /// One of these, in place of a span.
    pub(crate) one_of: Option<Vec<String>>,
}

/// `[quick]`
///
/// Each of these tables replaces the values of the same keys when the program has `--quick`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
#[expect(
    dead_code,
    reason = "`scale.rs` reads the tables as they stand in the file"
)]
pub(crate) struct QuickKeys {
    /// Values of `[define]`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub(crate) define: Option<IgnoredAny>,
    /// Values of `[matrix]`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub(crate) matrix: Option<IgnoredAny>,
    /// Values of `[draw]`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub(crate) draw: Option<IgnoredAny>,
    /// Values of `[measure]`.
    #[schemars(with = "Option<BTreeMap<String, String>>")]
    pub(crate) measure: Option<IgnoredAny>,
}

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

/// `important`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportantKeys {
    /// One in this number of datagrams is important, the first for a start.
    pub(crate) every: Whole<1, 1_000_000>,
}

/// `link_util`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkUtilKeys {
    /// The ids of the links.
    pub(crate) links: At<OneOrMany<String>>,
    /// The interval of the series.
    pub(crate) every: Period,
}
