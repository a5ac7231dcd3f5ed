//! `cargo xtask soak mutants`: does a test notice when an operator or a constant changes?

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::packages;
use crate::shell::command;

const CARGO_MUTANTS: &str = "27.1.0";
const ACCEPTED: &str = "specs/mutants-accepted.toml";
/// Of the mutants that build, so many percent must be noticed.
const ENOUGH: usize = 90;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Only a fair sample, the K-th of N: `0/20`
    #[arg(long)]
    shard: Option<String>,
    /// Only files that match this, below crates/dccp-proto/src
    #[arg(long, default_values = ["wire/**", "conn/**", "cc/**"])]
    file: Vec<String>,
    /// Builds at a time
    #[arg(long, default_value = "2")]
    jobs: String,
    /// Do not run, only judge the last run
    #[arg(long)]
    last: bool,
}

pub(super) fn run(args: &Args) -> Result<bool> {
    if !args.last {
        mutate(args)?;
    }
    let read = |kind: &str| -> Result<Vec<String>> {
        let path = Path::new("target/mutants/mutants.out").join(format!("{kind}.txt"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(text.lines().map(without_position).collect())
    };
    let accepted = parse_accepted(&std::fs::read_to_string(ACCEPTED).context(ACCEPTED)?)?;
    let (caught, missed, timeout) = (read("caught")?, read("missed")?, read("timeout")?);
    for survivor in &missed {
        let reason = accepted
            .get(survivor)
            .map_or("NO REASON GIVEN", String::as_str);
        println!("survivor: {survivor}\n          {}", reason.trim());
    }
    let unexplained = missed
        .iter()
        .filter(|survivor| !accepted.contains_key(*survivor))
        .count();
    let noticed = caught.len() + timeout.len();
    let total = noticed + missed.len();
    println!(
        "{noticed} of {total} noticed ({} by time-out), {} missed, {unexplained} of them without a reason, {} did not build",
        timeout.len(),
        missed.len(),
        read("unviable")?.len()
    );
    Ok(total > 0 && noticed * 100 >= total * ENOUGH && unexplained == 0)
}

/// Runs cargo-mutants. It fails where a mutant survives, which is ours to judge.
fn mutate(args: &Args) -> Result<()> {
    packages::install_cargo_tool("cargo-mutants", CARGO_MUTANTS)?;
    std::fs::create_dir_all("target/mutants")?;
    let words = "cargo mutants --package dccp-proto --test-package dccp-proto,dccp-sim \
        --output target/mutants --timeout-multiplier 3 --minimum-test-timeout 60 --no-times --colors never --jobs";
    let words: Vec<_> = words
        .split_whitespace()
        .chain([args.jobs.as_str()])
        .collect();
    let mut mutants = command(&words);
    for file in &args.file {
        mutants
            .arg("--file")
            .arg(format!("crates/dccp-proto/src/{file}"));
    }
    if let Some(shard) = &args.shard {
        mutants.args(["--sharding", "round-robin", "--shard", shard]);
    }
    let status = mutants.status().context("cargo mutants")?;
    println!("cargo mutants ended with {status}");
    Ok(())
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
    fn the_list_of_the_accepted_is_well_formed() {
        let accepted =
            parse_accepted(include_str!("../../../specs/mutants-accepted.toml")).unwrap();
        assert!(accepted.values().all(|reason| !reason.trim().is_empty()));
    }
}
