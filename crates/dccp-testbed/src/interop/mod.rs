//! `cargo xtask interop`: our stack against the Linux kernel's own DCCP.
//!
//! The kernel runs in a QEMU guest (`interop/linux/guest.sh`); our program, the example `peer` of
//! the crate `usrdccp`, in the network namespace at the other end of the guest's tap device.

mod capture;
mod cells;
mod guest;
mod link;
mod peer;
mod run;
mod verdict;

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};

use crate::programs;
use cells::Cell;
use dccp_dev::Tally;
use dccp_dev::packages;
use dccp_dev::shell;
use guest::Guest;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only cells whose names contain this
    #[arg(default_value = "")]
    pattern: String,
    /// Only the eight cells that `cargo xtask test` runs
    #[arg(long)]
    short: bool,
    /// A cell that lacks a prerequisite is no failure
    #[arg(long)]
    allow_skip: bool,
    /// Print the names of the cells
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let cells = if args.short {
        cells::short()
    } else {
        cells::all()
    };
    let cells: Vec<_> = cells
        .into_iter()
        .filter(|cell| cell.name().contains(&args.pattern))
        .collect();
    if args.list {
        for cell in &cells {
            println!("{}", cell.name());
        }
        return Ok(true);
    }
    packages::install(packages::FOR_TESTS)?;
    let tally = match missing_prerequisite() {
        None => run_cells(&cells)?,
        Some(missing) => {
            let skipped = cells
                .iter()
                .map(|cell| format!("interop {}: needs {missing}", cell.name()));
            Tally {
                skipped: skipped.collect(),
                ..Tally::default()
            }
        }
    };
    Ok(tally.conclude(args.allow_skip))
}

/// The first prerequisite of the guest that this machine lacks.
fn missing_prerequisite() -> Option<String> {
    if !shell::is_root() {
        return Some("root, for namespaces and raw sockets".into());
    }
    if !Path::new("/dev/net/tun").exists() {
        return Some("/dev/net/tun".into());
    }
    let programs = [
        "qemu-system-x86_64",
        "busybox",
        "gcc",
        "ip",
        "tcpdump",
        "tshark",
        "python3",
        "apt-get",
    ];
    let missing = programs
        .into_iter()
        .find(|program| shell::find_program(program).is_none());
    missing.map(str::to_owned)
}

fn run_cells(cells: &[Cell]) -> Result<Tally> {
    programs::build_debug(programs::PEER)?;
    programs::build_debug(programs::EMULATOR)?;
    std::fs::create_dir_all("target/interop")?;
    let _one_at_a_time = lock()?;
    let guest = Guest::start()?;
    let mut tally = Tally::default();
    for cell in cells {
        let result = run::cell(&guest, cell);
        match &result {
            Ok(note) => println!("ok    {:<40} {note}", cell.name()),
            Err(error) => println!("FAIL  {:<40} {error:#}", cell.name()),
        }
        *(if result.is_ok() {
            &mut tally.passed
        } else {
            &mut tally.failed
        }) += 1;
    }
    Ok(tally)
}

/// Runs in one checkout write the same files, so they wait for each other.
fn lock() -> Result<File> {
    let path = Path::new("target/interop/lock");
    let file = File::create(path).with_context(|| path.display().to_string())?;
    if file.try_lock().is_err() {
        println!("Another interop run holds {}; waiting.", path.display());
        file.lock()?;
    }
    Ok(file)
}
