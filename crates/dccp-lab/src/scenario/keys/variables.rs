//! `[define]`, `[draw]` and `[quick]`: the values of variables.

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
