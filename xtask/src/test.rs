//! `cargo xtask test`: every test, and one last line that says how it went.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

use anyhow::{Context, Result, anyhow};

use dccp_dev::shell::{self, command_line};
use dccp_dev::{Tally, daemon, packages, python};

use crate::libtest::{Outcome, Reader, failed_programs};
use crate::{testbed, wheel};

/// Writes the header of `dccp-capi`. A test compares it.
const CBINDGEN: &str = "0.29.4";

/// The daemon, as `build` makes it.
const DAEMON: &str = "target/debug/dccpd";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A test that lacks a prerequisite is no failure
    #[arg(long)]
    pub(crate) allow_skip: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    packages::install(packages::FOR_TESTS)?;
    // The tests that need these two report it.
    if let Err(error) = packages::install_cargo_tool("cbindgen", CBINDGEN) {
        println!("cbindgen is missing: {error:#}");
    }
    if let Err(error) = python::BROWSER.install() {
        println!("Python packages for the browser are missing: {error:#}");
    }
    build()?;
    let mut wheel = None;
    let mut tally = rust_tests(|| wheel = Some(wheel::Build::start()))?;
    tally.add(wheel.unwrap_or_else(wheel::Build::start).tests()?);
    tally.add(testbed::interop()?);
    Ok(tally.conclude(args.allow_skip))
}

/// Builds the tests, and the programs that they start.
pub(crate) fn build() -> Result<()> {
    let line = "cargo build --workspace --all-features --bins --tests --examples";
    shell::run(&mut command_line(line))
}

/// Unit, property, conversation, corpus and documentation tests of the workspace. Calls `at_first_line` when they
/// begin to run: cargo then lets others build.
///
/// Some tests watch real clocks. Where a busy machine holds one up, it fails without a defect. So a few failed tests
/// run once more, alone. One that passes then counts as passed, and is listed as flaky.
fn rust_tests(at_first_line: impl FnOnce()) -> Result<Tally> {
    let (outcome, failed_programs) = cargo_test(&[], at_first_line)?;
    let Some(failures) = outcome.few_failures(failed_programs) else {
        return Ok(outcome.tally);
    };
    println!("Again, alone: {}", failures.join(", "));
    let names: Vec<_> = failures.iter().map(String::as_str).collect();
    let (again, _) = cargo_test(&[&["--exact"][..], &names].concat(), || {})?;
    Ok(outcome.after(&again))
}

/// Runs the tests of the workspace to which `filters` apply. Returns cargo's number of programs that failed too.
fn cargo_test(filters: &[&str], at_first_line: impl FnOnce()) -> Result<(Outcome, usize)> {
    let words = "cargo test --workspace --all-features --no-fail-fast -- --show-output";
    let mut tests = command_line(words);
    tests.args(filters);
    println!("$ {words} {}", filters.join(" "));
    let mut child = tests
        .env(daemon::BUILT, std::env::current_dir()?.join(DAEMON))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take().context("no pipe")?;
    let errors = BufReader::new(child.stderr.take().context("no pipe")?);
    let errors = thread::spawn(move || {
        let lines = errors.split(b'\n').map_while(Result::ok);
        let numbers = lines.filter_map(|line| {
            let line = String::from_utf8_lossy(&line);
            eprintln!("{line}");
            failed_programs(&line)
        });
        numbers.sum()
    });
    let mut reader = Reader::default();
    let mut at_first_line = Some(at_first_line);
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line?;
        if let Some(call) = at_first_line.take() {
            call();
        }
        let line = String::from_utf8_lossy(&line);
        if reader.line(&line) {
            println!("{line}");
        }
    }
    let failed_programs = errors.join().map_err(|_| anyhow!("the reader panicked"))?;
    Ok((reader.finish(child.wait()?.success()), failed_programs))
}
