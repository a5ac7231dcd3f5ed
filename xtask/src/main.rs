//! The project's own commands, `cargo xtask NAME`: a file each.

mod bench;
mod ci;
mod clock;
mod demo;
mod instructions;
mod interop;
mod libtest;
mod netns;
mod packages;
mod peers;
mod shell;
mod soak;
mod source;
mod spec;
mod tally;
mod test;
mod tidy;
mod tree;

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
    Demo(demo::Args),
    /// Every test; installs what they need on a Debian machine and says so
    Test(test::Args),
    /// What a submission must pass: tidy, formatting, lints, licences, other targets, every test
    Ci,
    /// The style rules that a program can check
    Tidy,
    /// Our stack against the Linux kernel's own DCCP, in a QEMU guest
    Interop(interop::Args),
    /// Checks that take long: simulations, fuzzing, models, Miri, mutations
    Soak(soak::Args),
    /// Our simulator beside others: the same scenarios, compared
    Peers(peers::Args),
    /// Ours beside other programs: goodput, processor time, checksums, the simulator
    Bench(bench::Args),
    /// What a packet costs the core, beside what is stored
    Instructions(instructions::Args),
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

/// Runs a command at the root of the checkout; whether it found all well.
fn run(command: Command) -> Result<bool> {
    std::env::set_current_dir(tree::root()?)?;
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Ci => ci::run(),
        Command::Tidy => tidy::run(),
        Command::Interop(args) => interop::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Peers(args) => peers::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Instructions(args) => instructions::run(&args),
        Command::SpecReport(args) => spec::run(&args),
    }
}
