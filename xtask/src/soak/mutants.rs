//! `cargo xtask soak mutants`: does a test notice when an operator or a constant changes?

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::packages;
use crate::shell::command;

const CARGO_MUTANTS: &str = "27.1.0";
/// Where the results are, a folder for each run.
const OUTPUT: &str = "target/mutants-out";
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

/// What became of the mutants, each `path:line:column: replace …`.
struct Outcome {
    caught: Vec<String>,
    timeout: Vec<String>,
    missed: Vec<String>,
    unviable: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<bool> {
    if !args.last {
        packages::install_cargo_tool("cargo-mutants", CARGO_MUTANTS)?;
        mutate(args)?;
    }
    let outcome = Outcome::of_last_run()?;
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

/// The crate's own tests first, which take seconds; the simulator's for what those miss.
fn mutate(args: &Args) -> Result<()> {
    let mut which = Vec::new();
    for file in &args.file {
        which.extend(["--file".to_owned(), format!("crates/dccp-proto/src/{file}")]);
    }
    let all = names(&which)?;
    // What an earlier run left there is not about this one.
    if Path::new(OUTPUT).exists() {
        std::fs::remove_dir_all(OUTPUT)?;
    }
    let mut first = which.clone();
    if let Some(shard) = &args.shard {
        first.extend(["--sharding", "round-robin", "--shard", shard].map(str::to_owned));
    }
    mutate_for("dccp-proto", 20, &first, &args.jobs)?;
    let missed = Outcome::of("dccp-proto")?.missed;
    if missed.is_empty() {
        return Ok(());
    }
    // No choice by `--re`: deleted fields would be tried whatever it says.
    pass_over("dccp-sim", all.iter().filter(|name| !missed.contains(name)))?;
    which.push("--iterate".to_owned());
    mutate_for("dccp-sim", 300, &which, &args.jobs)
}

/// The names of all mutants of these files.
fn names(which: &[String]) -> Result<Vec<String>> {
    let mut list = command(&["cargo", "mutants", "--package", "dccp-proto", "--list"]);
    let output = list.args(which).output().context("cargo mutants --list")?;
    ensure!(output.status.success(), "cargo mutants --list failed");
    let names = String::from_utf8(output.stdout).context("names of mutants")?;
    Ok(names.lines().map(str::to_owned).collect())
}

/// A run with `--iterate` and the tests of a package then leaves these out, as if an earlier one had
/// caught them.
fn pass_over<'a>(package: &str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let folder = format!("{OUTPUT}/{package}/mutants.out");
    std::fs::create_dir_all(&folder)?;
    let lines: Vec<_> = names.map(String::as_str).collect();
    std::fs::write(format!("{folder}/caught.txt"), lines.join("\n"))?;
    Ok(())
}

/// Runs cargo-mutants with the tests of a package, which get so many seconds at least: on a busy
/// machine a slow test is no endless one.
fn mutate_for(package: &str, seconds_min: u32, which: &[String], jobs: &str) -> Result<()> {
    let output = format!("{OUTPUT}/{package}");
    std::fs::create_dir_all(&output)?;
    let words = "cargo mutants --package dccp-proto --profile mutants --timeout-multiplier 5 \
        --no-times --colors never --minimum-test-timeout";
    let mut mutants = command(&words.split_whitespace().collect::<Vec<_>>());
    mutants.arg(seconds_min.to_string());
    mutants.args(["--test-package", package, "--output", &output]);
    mutants.args(["--jobs", jobs]).args(which);
    // No examples, and no documentation tests: each is a program of its own to build.
    mutants.arg("--cargo-arg=--tests");
    let status = mutants.status().context("cargo mutants")?;
    // 2 and 3: mutants survived or ran out of time, which is ours to judge. Anything else, an
    // interruption too, leaves results that are not whole.
    ensure!(
        matches!(status.code(), Some(0 | 2 | 3)),
        "cargo mutants, with the tests of {package}, ended with {status}"
    );
    Ok(())
}

impl Outcome {
    /// With the tests of a package.
    fn of(package: &str) -> Result<Self> {
        let read = |kind: &str| -> Result<Vec<String>> {
            let path = format!("{OUTPUT}/{package}/mutants.out/{kind}.txt");
            let text = std::fs::read_to_string(&path).context(path)?;
            Ok(text.lines().map(str::to_owned).collect())
        };
        Ok(Self {
            caught: read("caught")?,
            timeout: read("timeout")?,
            missed: read("missed")?,
            unviable: read("unviable")?,
        })
    }

    fn of_last_run() -> Result<Self> {
        let first = Self::of("dccp-proto")?;
        if first.missed.is_empty() {
            return Ok(first);
        }
        Ok(first.followed_by(&Self::of("dccp-sim")?))
    }

    /// A survivor stays one until the second run has noticed it.
    fn followed_by(mut self, second: &Self) -> Self {
        let (caught, rest): (Vec<_>, Vec<_>) = self
            .missed
            .into_iter()
            .partition(|name| second.caught.contains(name));
        let (timeout, missed): (Vec<_>, Vec<_>) = rest
            .into_iter()
            .partition(|name| second.timeout.contains(name));
        self.caught.extend(caught);
        self.timeout.extend(timeout);
        self.missed = missed;
        self
    }

    fn noticed(&self) -> impl Iterator<Item = &String> {
        self.caught.iter().chain(&self.timeout)
    }

    /// Those that build.
    fn viable(&self) -> impl Iterator<Item = &String> {
        self.noticed().chain(&self.missed)
    }

    /// A line for `wire/`, `conn/` and `cc/`.
    fn print_folders(&self) {
        let folder = |name: &String| name.split('/').nth(3).unwrap_or_default().to_owned();
        let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
        for name in self.viable() {
            counts.entry(folder(name)).or_default().1 += 1;
        }
        for name in self.noticed() {
            counts.entry(folder(name)).or_default().0 += 1;
        }
        for (folder, (noticed, viable)) in counts {
            println!("{folder:<8} {noticed:>5} of {viable:>5} noticed");
        }
    }
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
    fn survivors_stay_until_the_second_run_notices_them() {
        let names = |names: &str| names.split_whitespace().map(str::to_owned).collect();
        let outcome = |caught, timeout, missed| Outcome {
            caught: names(caught),
            timeout: names(timeout),
            missed: names(missed),
            unviable: Vec::new(),
        };
        let first = outcome("a", "b", "c d e f");
        let both = first.followed_by(&outcome("c x", "d y", "e z"));
        assert_eq!(both.caught, ["a", "c"]);
        assert_eq!(both.timeout, ["b", "d"]);
        assert_eq!(both.missed, ["e", "f"]);
    }

    #[test]
    fn the_list_of_the_accepted_is_well_formed() {
        let accepted =
            parse_accepted(include_str!("../../../specs/mutants-accepted.toml")).unwrap();
        assert!(accepted.values().all(|reason| !reason.trim().is_empty()));
    }
}
