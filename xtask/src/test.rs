//! `cargo xtask test`: every test, and one last line that says how it went.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::libtest::{Reader, Tally};
use crate::packages;
use crate::shell::command;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A test that lacks a prerequisite is no failure
    #[arg(long)]
    pub(crate) allow_skip: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    packages::install(packages::FOR_TESTS)?;
    let tally = rust_tests()?;
    Ok(conclude(&tally, args.allow_skip))
}

/// Unit, property, conversation, corpus and documentation tests of the workspace.
fn rust_tests() -> Result<Tally> {
    let words = "cargo test --workspace --no-fail-fast -- --show-output";
    println!("$ {words}");
    let words: Vec<_> = words.split(' ').collect();
    let mut child = command(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("a pipe was asked for")?;
    let mut reader = Reader::default();
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if reader.line(&line) {
            println!("{line}");
        }
    }
    Ok(reader.finish(child.wait()?.success()))
}

/// Prints the skips and the last line; whether all is well.
fn conclude(tally: &Tally, allow_skip: bool) -> bool {
    let Tally {
        passed,
        failed,
        skipped,
    } = tally;
    println!();
    for skip in skipped {
        println!("SKIP {skip}");
    }
    println!(
        "{passed} passed, {failed} failed, {} skipped",
        skipped.len()
    );
    *failed == 0 && *passed > 0 && (skipped.is_empty() || allow_skip)
}
