//! `cargo xtask test`: every test, and one last line that says how it went.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result};

use dccp_dev::shell::command;
use dccp_dev::{Tally, packages, python};

use crate::libtest::Reader;
use crate::{testbed, wheel};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A test that lacks a prerequisite is no failure
    #[arg(long)]
    pub(crate) allow_skip: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    packages::install(packages::FOR_TESTS)?;
    if let Err(error) = python::BROWSER.install() {
        // The test that needs them reports it.
        println!("Python packages for the browser are missing: {error:#}");
    }
    let mut tally = rust_tests()?;
    tally.add(wheel::tests()?);
    tally.add(testbed::interop()?);
    Ok(tally.conclude(args.allow_skip))
}

/// Unit, property, conversation, corpus and documentation tests of the workspace.
fn rust_tests() -> Result<Tally> {
    let words = "cargo test --workspace --all-features --no-fail-fast -- --show-output";
    println!("$ {words}");
    let words: Vec<_> = words.split(' ').collect();
    let mut child = command(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("no pipe")?;
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
