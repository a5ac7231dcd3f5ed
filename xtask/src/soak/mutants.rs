//! `cargo xtask soak mutants`: does a test fail when an operator or a value of the core changes?
//!
//! cargo-mutants makes each change and runs the tests of `dccp-proto`, which take seconds. It then repeats the
//! survivors with the tests of `dccp-sim`. Each change needs a build, so `--shard` selects a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use dccp_dev::{packages, shell};
use serde::Deserialize;

const CARGO_MUTANTS: &str = "27.1.0";
const OUTPUT: &str = "target/mutants";
const ACCEPTED: &str = "xtask/mutants-accepted.toml";
/// Of the changes that build, the percentage that tests must catch.
const CAUGHT_MIN: usize = 90;

#[derive(clap::Args)]
pub(super) struct Args {
    /// Only the K-th of N parts of the changes, K from 0: `3/100`
    #[arg(long)]
    shard: Option<String>,
    /// Only files that match this, below crates/dccp-proto/src
    #[arg(long, default_values = ["wire/**", "conn/**", "cc/**"])]
    file: Vec<String>,
    /// Builds and tests at a time
    #[arg(long, default_value = "2", value_parser = shell::at_least_one)]
    jobs: usize,
}

/// The changes of one run by result, each as `path:line:column: replace …`.
struct Results {
    caught: BTreeSet<String>,
    missed: BTreeSet<String>,
    unviable: BTreeSet<String>,
}

pub(super) fn run(args: &Args) -> Result<bool> {
    packages::install_cargo_tool("cargo-mutants", CARGO_MUTANTS)?;
    if Path::new(OUTPUT).exists() {
        std::fs::remove_dir_all(OUTPUT).context(OUTPUT)?;
    }
    let files = args.file.iter();
    let files = files.flat_map(|file| ["--file".into(), format!("crates/dccp-proto/src/{file}")]);
    let mut options: Vec<String> = files.collect();
    let mut list = shell::command_line("cargo mutants --list --package dccp-proto --colors never");
    let all = shell::output(list.args(&options))?;
    options.extend(["--jobs".into(), args.jobs.to_string()]);

    let shard = args.shard.iter().flat_map(|shard| ["--shard", shard]);
    let shard = shard.map(str::to_owned);
    let first = mutate("dccp-proto", 20, options.iter().cloned().chain(shard))?;
    let survivors = if first.missed.is_empty() {
        BTreeSet::new()
    } else {
        // With `--iterate`, cargo-mutants skips what an earlier run has caught.
        let others = all.lines().filter(|name| !first.missed.contains(*name));
        let others: Vec<_> = others.collect();
        let folder = format!("{OUTPUT}/dccp-sim/mutants.out");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(format!("{folder}/caught.txt"), others.join("\n"))?;
        options.push("--iterate".into());
        mutate("dccp-sim", 300, options.into_iter())?.missed
    };
    judge(&first, &survivors)
}

/// Runs cargo-mutants with the tests of `package`. A change that makes them take 5 times as long, and at
/// least `seconds_min`, counts as caught.
fn mutate(
    package: &str,
    seconds_min: u32,
    options: impl Iterator<Item = String>,
) -> Result<Results> {
    let line = format!(
        "cargo mutants --package dccp-proto --test-package {package} --output {OUTPUT}/{package} --profile mutants \
         --timeout-multiplier 5 --minimum-test-timeout {seconds_min} --no-times --colors never --cargo-arg=--tests"
    );
    let mut mutants = shell::command_line(&line);
    let status = mutants.args(options).status().context("cargo mutants")?;
    // 2 and 3: changes survived or ran out of time, which `judge` looks at. After any other code the
    // results are incomplete.
    ensure!(
        matches!(status.code(), Some(0 | 2 | 3)),
        "cargo mutants, with the tests of {package}, ended with {status}"
    );
    let read = |kind: &str| -> Result<BTreeSet<String>> {
        let path = format!("{OUTPUT}/{package}/mutants.out/{kind}.txt");
        let text = std::fs::read_to_string(&path).context(path)?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    Ok(Results {
        caught: &read("caught")? | &read("timeout")?,
        missed: read("missed")?,
        unviable: read("unviable")?,
    })
}

/// Prints the survivors. Returns whether enough changes were caught and each survivor is accepted.
fn judge(first: &Results, survivors: &BTreeSet<String>) -> Result<bool> {
    let accepted = parse_accepted(&std::fs::read_to_string(ACCEPTED).context(ACCEPTED)?)?;
    let mut unexplained = 0;
    for survivor in survivors {
        let reason = accepted.get(&without_position(survivor));
        unexplained += usize::from(reason.is_none());
        let reason = reason.map_or("NO REASON GIVEN", |reason| reason.trim());
        println!("survivor: {survivor}\n          {reason}");
    }
    let total = first.caught.len() + first.missed.len();
    let caught = total - survivors.len();
    println!(
        "{caught} of {total} caught, {} missed, {unexplained} of them without a reason, {} did not build",
        survivors.len(),
        first.unviable.len()
    );
    Ok(total > 0 && caught * 100 >= total * CAUGHT_MIN && unexplained == 0)
}

/// `path:12:7: replace …` without line and column, which other changes move.
fn without_position(line: &str) -> String {
    let mut parts = line.splitn(4, ':');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(path), Some(_), Some(_), Some(change)) => format!("{path}:{change}"),
        _ => line.to_owned(),
    }
}

/// Reads the accepted survivors: change and reason.
fn parse_accepted(text: &str) -> Result<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        #[serde(default)]
        mutant: Vec<Accepted>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Accepted {
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
    fn change_is_compared_without_its_position() {
        let line = "crates/dccp-proto/src/seq.rs:45:9: replace Seq::after -> bool with true";
        let expected = "crates/dccp-proto/src/seq.rs: replace Seq::after -> bool with true";
        assert_eq!(without_position(line), expected);
    }

    #[test]
    fn every_accepted_change_has_a_reason() {
        let accepted = parse_accepted(include_str!("../../mutants-accepted.toml")).unwrap();
        assert!(accepted.values().all(|reason| !reason.trim().is_empty()));
    }
}
