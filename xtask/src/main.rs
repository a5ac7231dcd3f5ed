//! The project's own commands, `cargo xtask NAME`: a file each.
//!
//! It compiles no crate of the protocol. Commands that need one start the crate `dccp-testbed`.

mod ci;
mod dist;
mod fuzz;
mod goals;
mod instructions;
mod libtest;
mod lines;
mod lint;
mod soak;
mod spec;
mod syntax;
mod test;
mod testbed;
mod tidy;
mod tree;
mod wheel;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// CCID 2 beside CCID 3 on one bottleneck: tables and a picture
    Demo(testbed::Args),
    /// Every test; installs what they need on a Debian machine and says so
    Test(test::Args),
    /// The checks of a submission: tidy, formatting, lints, licences, other targets, every test, fuzzing
    Ci,
    /// Lints, documentation, licences, and builds for other systems
    Lint,
    /// The style rules that a program can check
    Tidy(tidy::Args),
    /// Packages of a program with a static binary, or of the library for C: .deb and tar.gz
    Dist(dist::Args),
    /// The goals of dccpmon with the tests that show them: docs/dccpmon-goals.md
    Goals(goals::Args),
    /// Our stack against the Linux kernel's own DCCP, in a QEMU guest
    Interop(testbed::Args),
    /// Checks that take long: simulations, fuzzing, models, Miri, mutations
    Soak(soak::Args),
    /// Our simulator beside others: the same scenarios, compared
    Peers(testbed::Args),
    /// Ours beside other programs: goodput, processor time, checksums, the simulator
    Bench(testbed::Args),
    /// Instructions per packet of the core, compared with the stored ones
    Instructions(instructions::Args),
    /// Source lines by component, beside the published ones: docs/code-size.md
    Lines(lines::Args),
    /// Which requirements of specs/requirements.md code and tests cite
    SpecReport(spec::Args),
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a command at the root of the checkout. Returns whether it found nothing wrong.
fn run(command: Command) -> Result<bool> {
    std::env::set_current_dir(tree::root()?)?;
    match command {
        Command::Demo(args) => testbed::run("demo", &args),
        Command::Test(args) => test::run(&args),
        Command::Ci => ci::run(),
        Command::Lint => lint::run(),
        Command::Tidy(args) => tidy::run(&args),
        Command::Dist(args) => dist::run(&args),
        Command::Goals(args) => goals::run(&args),
        Command::Interop(args) => testbed::run("interop", &args),
        Command::Soak(args) => soak::run(&args),
        Command::Peers(args) => testbed::run("peers", &args),
        Command::Bench(args) => testbed::run("bench", &args),
        Command::Instructions(args) => instructions::run(&args),
        Command::Lines(args) => lines::run(&args),
        Command::SpecReport(args) => spec::run(&args),
    }
}
