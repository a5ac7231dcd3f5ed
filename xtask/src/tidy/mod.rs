//! `cargo xtask tidy`: the style rules that a program can check, each with its reason.

mod cycles;
mod documents;
mod prose;
mod sources;

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use regex_lite::Regex;
use serde::Deserialize;

use crate::tree::{self, File};

/// Where the maxima and the accepted findings are stored.
const LIMITS: &str = "xtask/tidy.toml";

#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// List all findings of the rules about prose in paths that start with this
    #[arg(long, num_args = 0..=1, default_missing_value = "")]
    prose: Option<String>,
}

/// One violation of a rule.
struct Finding {
    /// `path` or `path:line`.
    place: String,
    text: String,
    /// Printed, but no failure.
    is_hint: bool,
}

impl Finding {
    fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        let (place, text) = (place.into(), text.into());
        Self {
            place,
            text,
            is_hint: false,
        }
    }

    /// At a byte of a file.
    fn at(file: &File, byte: usize, text: impl Into<String>) -> Self {
        let line = file.text[..byte].matches('\n').count() + 1;
        Self::new(format!("{}:{line}", file.path), text)
    }
}

/// Maxima for what is not clean yet. They may only fall.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    /// Findings about prose that are not accepted.
    #[serde(default)]
    prose: usize,
    /// Import cycles by crate; none where no number is given.
    #[serde(default)]
    cycles: BTreeMap<String, usize>,
    #[serde(default)]
    accepted: Vec<Accepted>,
}

/// A finding about prose or references that stays.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Accepted {
    file: String,
    /// A part of the finding's text.
    text: String,
    reason: String,
}

impl Limits {
    fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context(LIMITS)
    }

    fn accepts(&self, path: &str, text: &str) -> bool {
        let is_it = |accepted: &Accepted| accepted.file == path && text.contains(&accepted.text);
        self.accepted.iter().any(is_it)
    }
}

type Rule = fn(&[File]) -> Vec<Finding>;

const RULES: [Rule; 9] = [
    sources::length,
    sources::syntax,
    sources::unfinished,
    sources::unsafe_code,
    documents::lints_of_crates,
    documents::machine_paths,
    documents::requirement_ids,
    documents::named_places,
    documents::folders_of_map,
];

/// A pattern that stands in the source.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Prints the findings. Returns whether there is none.
pub(crate) fn run(args: &Args) -> Result<bool> {
    let files = tree::files()?;
    let limits = std::fs::read_to_string(LIMITS).context(LIMITS)?;
    let limits = Limits::parse(&limits)?;
    if let Some(path) = &args.prose {
        return Ok(list_prose(&files, &limits, path));
    }
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&files)).collect();
    let is_accepted = |finding: &Finding| {
        let path = finding.place.split(':').next().unwrap_or_default();
        limits.accepts(path, &finding.text)
    };
    let references = documents::references(&files).into_iter();
    findings.extend(references.filter(|finding| !is_accepted(finding)));
    findings.extend(cycles::cycles(&files, &limits));
    findings.extend(reasons(&limits));
    findings.extend(prose_in_all(&files, &limits));
    for finding in &findings {
        let kind = if finding.is_hint { "hint" } else { "untidy" };
        println!("{kind}: {}: {}", finding.place, finding.text);
    }
    let hints = findings.iter().filter(|finding| finding.is_hint).count();
    let refused = findings.len() - hints;
    println!(
        "tidy: {} files, {refused} refused, {hints} hints",
        files.len()
    );
    Ok(refused == 0)
}

/// Prints the findings about prose in some files. Returns whether there is none.
fn list_prose(files: &[File], limits: &Limits, path: &str) -> bool {
    let mut findings = prose::findings(files);
    findings.retain(|finding| {
        finding.path.starts_with(path) && !limits.accepts(&finding.path, &finding.text)
    });
    for prose::Prose {
        path,
        line,
        rule,
        text,
    } in &findings
    {
        println!("{path}:{line}: {rule}: {text}");
    }
    println!("{} findings", findings.len());
    findings.is_empty()
}

/// The findings about prose of the whole tree, as one.
fn prose_in_all(files: &[File], limits: &Limits) -> Option<Finding> {
    let findings = prose::findings(files).into_iter();
    let count = findings.filter(|finding| !limits.accepts(&finding.path, &finding.text));
    let count = count.count();
    let max = limits.prose;
    if count > max {
        let text = format!(
            "{count} findings, at most {max} are permitted: `cargo xtask tidy --prose PATH` lists them"
        );
        return Some(Finding::new("prose", text));
    }
    (count < max).then(|| lower("prose", "", max, count))
}

/// Accepted findings have reasons.
fn reasons(limits: &Limits) -> Vec<Finding> {
    let empty = limits
        .accepted
        .iter()
        .filter(|accepted| accepted.reason.trim().is_empty());
    empty
        .map(|accepted| Finding::new(LIMITS, format!("no reason: {}", accepted.text)))
        .collect()
}

/// A hint that a stored maximum can be lowered.
fn lower(key: &str, name: &str, max: usize, count: usize) -> Finding {
    let mut finding = Finding::new(LIMITS, format!("{key} {name}: lower {max} to {count}"));
    finding.is_hint = true;
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_prose_does_not_count() {
        let text =
            "prose = 1\n[[accepted]]\nfile = \"a.md\"\ntext = \"What\"\nreason = \"a title\"\n";
        let limits = Limits::parse(text).unwrap();
        let of = |path: &str, text: &str| prose_in_all(&[File::new(path, text)], &limits);
        let lower = of("a.md", "What became of it.").unwrap();
        assert!(lower.is_hint && lower.text.contains("lower 1 to 0"));
        assert!(of("b.md", "What became of it.").is_none());
        let too_many = of("b.md", "Waits so long.\n\nWaits so long.").unwrap();
        assert!(!too_many.is_hint && too_many.text.contains("2 findings, at most 1"));
    }

    #[test]
    fn stored_limits_are_valid() {
        let limits = Limits::parse(include_str!("../../tidy.toml")).unwrap();
        assert!(reasons(&limits).is_empty());
    }
}
