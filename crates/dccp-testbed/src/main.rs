//! Experiments with usrdccp beside other programs. `cargo xtask` starts them.
//!
//! - `interop`: our sockets and the Linux kernel's DCCP, in a QEMU guest
//! - `peers`: our simulator and ns-2, the same scenarios compared
//! - `bench`: goodput, processor time, memory and latency beside other programs
//! - `demo`: CCID 2 and CCID 3 on one bottleneck, tables and a picture
//!
//! The programs that the experiments start are in `src/bin/`.

mod bench;
mod demo;
mod interop;
mod peers;
mod programs;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "dccp-testbed",
    about = "Experiments with usrdccp beside other programs"
)]
struct Args {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// CCID 2 beside CCID 3 on one bottleneck: tables and a picture
    Demo(demo::Args),
    /// Our stack against the Linux kernel's own DCCP, in a QEMU guest
    Interop(interop::Args),
    /// Our simulator beside others: the same scenarios, compared
    Peers(peers::Args),
    /// Ours beside other programs: goodput, processor time, checksums, the simulator
    Bench(bench::Args),
}

fn main() -> ExitCode {
    match run(Args::parse().experiment) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("dccp-testbed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs an experiment at the root of the checkout. Returns whether it met its goals.
fn run(experiment: Experiment) -> Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    std::env::set_current_dir(root.context("the crate is in a folder of the workspace")?)?;
    match experiment {
        Experiment::Demo(args) => demo::run(&args),
        Experiment::Interop(args) => interop::run(&args),
        Experiment::Peers(args) => peers::run(&args),
        Experiment::Bench(args) => bench::run(&args),
    }
}
