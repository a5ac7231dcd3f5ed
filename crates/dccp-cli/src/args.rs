//! Errors of command lines in two lines each, as far as programs have them in common.

use crate::Failure;
use crate::quantity::QuantityError;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use core::fmt;
use dccp_proto::cc::registry::Ccids;
use dccp_proto::cc::safeudp;

/// The error of a value: its constraint and a hint.
#[derive(Debug)]
pub struct BadValue {
    /// The constraint: `must be at least 1`.
    pub problem: String,
    /// The hint: `write 1`.
    pub next: String,
}

impl BadValue {
    /// An error with this constraint and hint.
    pub fn new(problem: impl Into<String>, next: impl Into<String>) -> Self {
        let (problem, next) = (problem.into(), next.into());
        Self { problem, next }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl core::error::Error for BadValue {}

/// Parses a CCID that this project has: its number, or `safeudp`.
///
/// # Errors
/// There is no such CCID.
pub fn ccid(text: &str) -> Result<u8, BadValue> {
    let ccids = Ccids::default();
    let number = match text {
        "safeudp" => Some(safeudp::NUMBER),
        _ => text.parse().ok(),
    };
    let known = number.filter(|&ccid| ccids.find(ccid).is_some());
    known.ok_or_else(|| {
        let list: Vec<String> = ccids
            .iter()
            .map(|c| format!("{} ({})", c.number(), c.name()))
            .collect();
        let next = format!("choose one of {}", list.join(", "));
        BadValue::new("there is no such congestion control", next)
    })
}

/// A key and the nearest name must be at least this similar.
const SIMILAR: f64 = 0.6;

/// The hint for an unknown key of a file: the nearest known one, or all.
pub fn hint_of_key<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let nearest = known
        .iter()
        .map(|name| (strsim::jaro_winkler(key, name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((similarity, name)) if similarity >= SIMILAR => format!("did you mean {name}?"),
        _ => format!("choose one of {}", known.join(", ")),
    }
}

impl From<QuantityError> for BadValue {
    fn from(e: QuantityError) -> Self {
        Self::new(e.to_string(), e.next_step())
    }
}

/// The command line that clap refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused<'a> {
    /// clap's error.
    pub error: &'a clap::Error,
    /// The name of the program.
    pub program: &'a str,
    /// The subcommand.
    pub command: &'a str,
    /// A hint that says where the options are listed.
    pub list: &'a str,
}

impl Refused<'_> {
    /// A part of clap's error.
    pub fn context(&self, kind: ContextKind) -> Option<String> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(list)) => list.first().cloned(),
            _ => None,
        }
    }

    /// The argument, without its value: `--rate`.
    pub fn word(&self) -> String {
        let argument = self.context(ContextKind::InvalidArg).unwrap_or_default();
        name_of(&argument).to_owned()
    }

    /// The hint for a name that does not exist: clap's suggestion, or the list.
    pub fn nearest(&self, kind: ContextKind) -> String {
        self.context(kind).map_or_else(
            || self.list.to_owned(),
            |known| format!("did you mean {known}?"),
        )
    }

    /// The error in two lines; `None`: clap has no such error of an option, `man` or `completions`.
    pub fn explain(&self) -> Option<Failure> {
        let (word, list) = (self.word(), self.list);
        let value = self.context(ContextKind::InvalidValue).unwrap_or_default();
        let (what, next) = match self.error.kind() {
            ErrorKind::UnknownArgument => (
                format!("{word}: there is no such option"),
                self.nearest(ContextKind::SuggestedArg),
            ),
            ErrorKind::MissingRequiredArgument if self.command == "man" => (
                "there is no folder for the pages".to_owned(),
                format!("write for example `{} man pages`", self.program),
            ),
            ErrorKind::MissingRequiredArgument | ErrorKind::InvalidValue
                if self.command == "completions" =>
            {
                let what = if value.is_empty() {
                    "there is no shell to complete for".to_owned()
                } else {
                    format!("{value}: completions for this shell do not exist")
                };
                (
                    what,
                    "write bash, elvish, fish, powershell or zsh".to_owned(),
                )
            }
            ErrorKind::ArgumentConflict => {
                let other = self.context(ContextKind::PriorArg).unwrap_or_default();
                let other = name_of(&other);
                let what = if word == other {
                    format!("{word} is given twice")
                } else {
                    format!("{word} and {other} exclude each other")
                };
                (what, "leave one of them out".to_owned())
            }
            ErrorKind::ValueValidation => {
                let source = core::error::Error::source(self.error);
                let known = source.and_then(|source| source.downcast_ref::<BadValue>());
                let (problem, next) = known.map_or(("is not valid", list), |bad| {
                    (&bad.problem[..], &bad.next[..])
                });
                (format!("{word} {value}: {problem}"), next.to_owned())
            }
            ErrorKind::InvalidValue
                if !value.is_empty()
                    && let Some(ContextValue::Strings(valid)) =
                        self.error.get(ContextKind::ValidValue) =>
            {
                let next = format!("choose one of {}", valid.join(", "));
                (format!("{word} {value}: there is no such choice"), next)
            }
            ErrorKind::InvalidValue => (format!("{word} needs a value"), list.to_owned()),
            ErrorKind::TooManyValues => (format!("{word} takes no value"), list.to_owned()),
            _ => return None,
        };
        Some(Failure::usage(what, next))
    }
}

/// The name of an argument, which clap shows with its value, and in brackets if it can be left out: `--daemon[=<PATH>]`, `[HOST]`.
fn name_of(argument: &str) -> &str {
    let argument = argument.trim_start_matches('[');
    argument
        .split([' ', '[', '=', ']'])
        .next()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arguments_stand_without_values_and_brackets() {
        for argument in ["--daemon[=<PATH>]", "--daemon=<PATH>", "--daemon <PATH>"] {
            assert_eq!(name_of(argument), "--daemon");
        }
        assert_eq!(name_of("[HOST]"), "HOST");
        assert_eq!(name_of("<HOST>"), "<HOST>");
    }
}
