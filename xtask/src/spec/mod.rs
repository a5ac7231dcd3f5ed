//! `cargo xtask spec-report`: which requirements the code and the tests cite.
//!
//! An ID in the code of a crate (or in a comment there) says *obeyed here*, an ID in a test says
//! *shown here*. `specs/exceptions.toml` lists the rules that we break, and why.

mod citations;
mod report;
mod requirements;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::tree::{self, File};
pub(crate) use citations::cited_ids;
pub(crate) use requirements::{Requirement, parse as parse_requirements};

/// Where the requirements are.
pub(crate) const REQUIREMENTS: &str = "specs/requirements.md";
/// Where the rules are that we break.
pub(crate) const EXCEPTIONS: &str = "specs/exceptions.toml";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// List each MUST that lacks code or a test, with its text
    #[arg(long)]
    missing: bool,
    /// List the requirements of the RFCs that the totals leave out
    #[arg(long)]
    out_of_scope: bool,
    /// Fail if a MUST or a SHOULD lacks both code and an exception, or fewer than 95 % of the MUSTs are tested
    #[arg(long)]
    check: bool,
}

impl Args {
    /// The checks that a submission must pass.
    pub(crate) fn checking() -> Self {
        Self {
            missing: true,
            out_of_scope: false,
            check: true,
        }
    }
}

/// Everything that a report is made from.
struct Evidence {
    requirements: Vec<Requirement>,
    implemented: BTreeSet<String>,
    tested: BTreeSet<String>,
    /// ID and reason.
    exceptions: BTreeMap<String, String>,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let evidence = gather(&tree::files()?)?;
    report::print_table(&evidence);
    report::print_exceptions(&evidence);
    if args.missing {
        report::print_missing(&evidence);
        report::print_unexplained(&evidence);
    }
    if args.out_of_scope {
        report::print_out_of_scope(&evidence);
    }
    let totals = report::Totals::of_musts(&evidence);
    println!("\n{totals}");
    let is_enough = totals.is_enough() && report::unexplained_shoulds(&evidence).is_empty();
    Ok(!args.check || is_enough)
}

fn gather(files: &[File]) -> Result<Evidence> {
    let text = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.map(|file| file.text.as_str())
            .with_context(|| format!("no {path}"))
    };
    let (mut implemented, mut tested) = (BTreeSet::new(), BTreeSet::new());
    for file in files.iter().filter(|file| is_evidence(file)) {
        let cited = citations::of_file(file);
        implemented.extend(cited.code);
        tested.extend(cited.tests);
    }
    Ok(Evidence {
        requirements: parse_requirements(text(REQUIREMENTS)?),
        implemented,
        tested,
        exceptions: parse_exceptions(text(EXCEPTIONS)?)?,
    })
}

/// Source and tests of the crates. Examples and experiments neither obey nor show a rule.
fn is_evidence(file: &File) -> bool {
    file.is_rust()
        && file.path.starts_with("crates/")
        && !["/examples/", "/dccp-testbed/"]
            .iter()
            .any(|folder| file.path.contains(folder))
}

/// The IDs and reasons of `specs/exceptions.toml`.
pub(crate) fn parse_exceptions(text: &str) -> Result<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        exception: Vec<Entry>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        id: String,
        reason: String,
    }
    let table: Table = toml::from_str(text).context(EXCEPTIONS)?;
    let entries = table.exception.into_iter();
    Ok(entries.map(|entry| (entry.id, entry.reason)).collect())
}
