//! The mutants that cargo-mutants would make.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use dccp_dev::shell::command;

/// One small change of the code.
#[derive(Clone, Deserialize)]
pub(super) struct Mutant {
    /// `path:line:column: replace …`
    pub(super) name: String,
    /// Path from the root.
    pub(super) file: String,
    pub(super) genre: Genre,
    /// What takes the place of what begins at `span.start`.
    pub(super) replacement: String,
    pub(super) span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub(super) enum Genre {
    /// The whole body of a function becomes a value.
    FnValue,
    BinaryOperator,
    /// The operator goes.
    UnaryOperator,
    /// The arm goes.
    MatchArm,
    MatchArmGuard,
    /// The field goes from an expression that has `..base`.
    StructField,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Span {
    pub(super) start: Position,
}

/// Both from 1; columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// All mutants of the files that cargo-mutants' options choose.
pub(super) fn list(which: &[String]) -> Result<Vec<Mutant>> {
    let mut list = command(&["cargo", "mutants", "--package", "dccp-proto"]);
    list.args(["--list", "--json"]).args(which);
    let output = list.output().context("cargo mutants --list")?;
    ensure!(output.status.success(), "cargo mutants --list failed");
    serde_json::from_slice(&output.stdout).context("cargo mutants --list --json")
}
