//! Starts the crate `dccp-testbed`, which holds the experiments.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result};
use dccp_dev::Tally;
use dccp_dev::shell::{self, command_line};

/// The command line of an experiment, which `dccp-testbed` parses.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Options of the experiment, such as --help
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Runs an experiment. Returns whether it met its goals.
pub(crate) fn run(experiment: &str, args: &Args) -> Result<bool> {
    shell::run(&mut command_line(
        "cargo build --quiet --release --package dccp-testbed --bin dccp-testbed",
    ))?;
    let mut testbed = command_line("target/release/dccp-testbed");
    testbed.arg(experiment).args(&args.words);
    Ok(testbed.status()?.success())
}

/// Runs the eight cells of `interop` that are part of `cargo xtask test`.
pub(crate) fn interop() -> Result<Tally> {
    // Built with the tests.
    let mut child = command_line("target/debug/dccp-testbed interop --short --allow-skip")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("no pipe")?;
    let mut tally = Tally::default();
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        count(&line, &mut tally);
        println!("{line}");
    }
    if !child.wait()?.success() && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// Adds the result of one cell: a line that starts with `ok`, `FAIL` or `SKIP`.
fn count(line: &str, tally: &mut Tally) {
    match line.split_once(' ') {
        Some(("ok", _)) => tally.passed += 1,
        Some(("FAIL", _)) => tally.failed += 1,
        Some(("SKIP", reason)) => tally.skipped.push(reason.to_owned()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_is_counted_by_its_first_word() {
        let mut tally = Tally::default();
        let lines = "Building\nok    a 5 out\nFAIL  b: no Reset\nSKIP c: needs root\n1 passed";
        lines.lines().for_each(|line| count(line, &mut tally));
        assert_eq!((tally.passed, tally.failed), (1, 1));
        assert_eq!(tally.skipped, ["c: needs root"]);
    }
}
