//! The mutants that cannot be switched on: cargo-mutants builds each.

use anyhow::{Context, Result, ensure};

use super::OUTPUT;
use super::list::Mutant;
use super::outcome::Outcome;
use dccp_dev::shell;

/// Runs cargo-mutants for those of all the mutants of these files that are chosen, with the tests of a
/// package, which get so many seconds at least: on a busy machine a slow test is no endless one.
pub(super) fn build_each(
    package: &str,
    seconds_min: u32,
    files: &[String],
    (all, chosen): (&[Mutant], &[String]),
    jobs: usize,
) -> Result<()> {
    // cargo-mutants' way to leave mutants out: an earlier run has caught them. (No choice by `--re`:
    // deleted fields would be tried whatever it says.)
    let names = all.iter().map(|mutant| &mutant.name);
    Outcome {
        caught: names
            .filter(|name| !chosen.contains(name))
            .cloned()
            .collect(),
        ..Outcome::default()
    }
    .write(package)?;
    if chosen.is_empty() {
        return Outcome::default().write(package);
    }
    let words = "cargo mutants --package dccp-proto --profile mutants --timeout-multiplier 5 \
        --no-times --colors never --iterate --minimum-test-timeout";
    let mut mutants = shell::command_line(words);
    mutants.arg(seconds_min.to_string());
    mutants.args([
        "--test-package",
        package,
        "--output",
        &format!("{OUTPUT}/{package}"),
    ]);
    mutants.args(["--jobs", &jobs.to_string()]).args(files);
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
