//! `cargo xtask soak mutants`: does a test notice when an operator or a constant changes?
//!
//! cargo-mutants lists the changes. A build for each would take a night, so one build holds all that
//! can stand behind a switch ([`schema`], [`build`]), and each is tried with only those tests that
//! reach it ([`trial`]). The rest, most of which no compiler takes, is left to cargo-mutants ([`each`]).

mod build;
mod each;
mod list;
mod outcome;
mod schema;
mod trial;

use std::collections::BTreeMap;
use std::str::FromStr;

use anyhow::{Context, Result};
use serde::Deserialize;

use dccp_dev::{packages, shell};
use list::Mutant;
use outcome::Outcome;
use trial::Verdict;

const CARGO_MUTANTS: &str = "27.1.0";
/// Where the copy with the switches is, and what became of the mutants.
const OUTPUT: &str = "target/mutants-out";
const ACCEPTED: &str = "specs/mutants-accepted.toml";
/// Of the mutants that build, so many percent must be noticed.
const ENOUGH: usize = 90;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Only a fair sample, the K-th of N: `0/20`
    #[arg(long)]
    shard: Option<Shard>,
    /// Only files that match this, below crates/dccp-proto/src
    #[arg(long, default_values = ["wire/**", "conn/**", "cc/**"])]
    file: Vec<String>,
    /// Builds and tests at a time
    #[arg(long, default_value = "2", value_parser = shell::at_least_one)]
    jobs: usize,
    /// Do not run, only judge the last run
    #[arg(long)]
    last: bool,
}

/// The K-th of N parts, each fair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shard {
    number: usize,
    of: usize,
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('/');
        let numbers = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match numbers {
            Some((number, of)) if number < of => Ok(Self { number, of }),
            _ => Err("write K/N with K from 0 and below N"),
        }
    }
}

pub(super) fn run(args: &Args) -> Result<bool> {
    if !args.last {
        packages::install_cargo_tool("cargo-mutants", CARGO_MUTANTS)?;
        mutate(args)?;
    }
    let mut outcome = Outcome::read("switched")?;
    outcome.add(Outcome::read("dccp-proto")?.followed_by(&Outcome::read("dccp-sim")?));
    let accepted = parse_accepted(&std::fs::read_to_string(ACCEPTED).context(ACCEPTED)?)?;
    let mut unexplained = 0;
    for survivor in &outcome.missed {
        let reason = accepted.get(&without_position(survivor));
        unexplained += usize::from(reason.is_none());
        let reason = reason.map_or("NO REASON GIVEN", |reason| reason.trim());
        println!("survivor: {survivor}\n          {reason}");
    }
    outcome.print_folders();
    let (noticed, total) = (outcome.noticed().count(), outcome.viable().count());
    println!(
        "{noticed} of {total} noticed ({} by time-out), {} missed, {unexplained} of them without a reason, {} did not build",
        outcome.timeout.len(),
        outcome.missed.len(),
        outcome.unviable.len()
    );
    Ok(total > 0 && noticed * 100 >= total * ENOUGH && unexplained == 0)
}

/// All mutants that can be behind a switch in one build, then the others, each with a build of its own.
fn mutate(args: &Args) -> Result<()> {
    let files = args.file.iter();
    let files = files.flat_map(|file| ["--file".into(), format!("crates/dccp-proto/src/{file}")]);
    let files: Vec<String> = files.collect();
    for stage in ["switched", "dccp-proto", "dccp-sim"] {
        Outcome::remove(stage)?;
    }
    let all = list::list(&files)?;
    let Shard { number, of } = args.shard.unwrap_or(Shard { number: 0, of: 1 });
    let sample: Vec<_> = all.iter().skip(number).step_by(of).cloned().collect();
    let left = switch(&sample, args.jobs)?;
    each::build_each("dccp-proto", 20, &files, (&all, &left), args.jobs)?;
    // The crate's own tests first, which take seconds; the simulator's for what those miss.
    let missed = Outcome::read("dccp-proto")?.missed;
    each::build_each("dccp-sim", 300, &files, (&all, &missed), args.jobs)
}

/// Tries what can stand behind a switch. Returns the names of what is left: what cannot, and what no
/// test reaches while it runs, as what the compiler computes.
fn switch(mutants: &[Mutant], jobs: usize) -> Result<Vec<String>> {
    let folder = std::path::absolute(OUTPUT)?.join("switched");
    let built = build::build(mutants, &folder)?;
    let verdicts = trial::try_all(&built, jobs, &folder)?;
    let (mut outcome, mut left) = (Outcome::default(), Vec::new());
    for (number, mutant) in (0..).zip(mutants) {
        let group = match verdicts.get(&number) {
            Some(Verdict::Caught) => &mut outcome.caught,
            Some(Verdict::Timeout) => &mut outcome.timeout,
            Some(Verdict::Missed) => &mut outcome.missed,
            Some(Verdict::NotReached) | None => &mut left,
        };
        group.push(mutant.name.clone());
    }
    eprintln!(
        "behind a switch: {} caught, {} ran out of time, {} missed; {} are left",
        outcome.caught.len(),
        outcome.timeout.len(),
        outcome.missed.len(),
        left.len()
    );
    outcome.write("switched")?;
    Ok(left)
}

/// `path:12:7: replace …` without line and column, which move.
fn without_position(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(_), Some(_), Some(change)) => format!("{path}:{change}"),
        _ => line.to_owned(),
    }
}

/// Survivors that nobody needs to catch, and why.
fn parse_accepted(text: &str) -> Result<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        #[serde(default)]
        mutant: Vec<Entry>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        change: String,
        reason: String,
    }
    let table: Table = toml::from_str(text).context(ACCEPTED)?;
    let entries = table.mutant.into_iter();
    Ok(entries.map(|entry| (entry.change, entry.reason)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_do_not_count() {
        let line = "crates/dccp-proto/src/seq.rs:45:9: replace Seq::after -> bool with true";
        let expected = "crates/dccp-proto/src/seq.rs: replace Seq::after -> bool with true";
        assert_eq!(without_position(line), expected);
    }

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!("3/20".parse(), Ok(Shard { number: 3, of: 20 }));
        assert!("20/20".parse::<Shard>().is_err());
        assert!("3".parse::<Shard>().is_err());
    }

    #[test]
    fn the_list_of_the_accepted_is_well_formed() {
        let accepted =
            parse_accepted(include_str!("../../../../specs/mutants-accepted.toml")).unwrap();
        assert!(accepted.values().all(|reason| !reason.trim().is_empty()));
    }
}
