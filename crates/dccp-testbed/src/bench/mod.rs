//! `cargo xtask bench`: ours beside other programs, in one table (`docs/performance.md`).
//!
//! In each repetition every program runs once, one after the other, so that what the machine does meanwhile meets
//! all of them; the figures are medians. Only ratios between programs of one run mean something elsewhere.

mod bridge;
mod checksum;
mod core;
mod dccprun;
mod handshake;
mod iframes;
mod link;
mod machine;
mod memory;
mod net;
mod ring;
mod row;
mod sim;

use anyhow::{Context, Result};
use std::path::PathBuf;

use dccp_dev::shell;
use row::Row;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which parts; all without one
    #[arg(value_enum)]
    groups: Vec<Group>,
    /// Seconds of each transfer
    #[arg(short = 't', long, default_value_t = 5)]
    time: u32,
    /// Runs of each program; the table shows medians
    #[arg(short = 'n', long, default_value = "5", value_parser = shell::at_least_one)]
    repetitions: usize,
    /// Fewer programs, smaller loads: a look, no figure
    #[arg(long)]
    quick: bool,
    /// Write the rows to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Group {
    /// Transfers over veth and loopback beside UDP, raw IP, TCP and QUIC; needs root
    Net,
    /// dccpmon beside iperf3 over UDP and TCP; needs root
    Dccpmon,
    /// Through an emulated link: what distance costs, how exactly packets leave
    Link,
    /// Handshakes a second, and a flood of Requests
    Handshake,
    /// Packet rings beside system calls
    Ring,
    /// dccp-bridge beside plain UDP on loopback
    Bridge,
    /// Programs for the kernel's DCCP beside the C library: CPU time
    Dccprun,
    /// Which frames arrive over a slow link, beside UDP and TCP; needs root. A minute for each repetition, whatever
    /// the time of the others
    Iframes,
    /// The header checksum beside a copy of the same bytes
    Checksum,
    /// Instructions per packet of the core
    Core,
    /// Memory of connections
    Memory,
    /// The simulator beside ns-2 and ns-3, and how its cost grows
    Sim,
}

const GROUPS: [Group; 12] = [
    Group::Net,
    Group::Dccpmon,
    Group::Link,
    Group::Handshake,
    Group::Ring,
    Group::Bridge,
    Group::Dccprun,
    Group::Iframes,
    Group::Checksum,
    Group::Core,
    Group::Memory,
    Group::Sim,
];

pub(crate) fn run(args: &Args) -> Result<bool> {
    let groups = if args.groups.is_empty() {
        &GROUPS[..]
    } else {
        &args.groups
    };
    let mut rows = Vec::new();
    for group in groups {
        rows.extend(match group {
            Group::Net => net::rows(args.time, args.repetitions, args.quick)?,
            Group::Dccpmon => net::dccpmon_rows(args.time, args.repetitions)?,
            Group::Link => link::rows(args.time, args.repetitions)?,
            Group::Handshake => handshake::rows(args.time, args.repetitions)?,
            Group::Ring => ring::rows(args.time, args.repetitions)?,
            Group::Bridge => bridge::rows(args.time, args.repetitions)?,
            Group::Dccprun => dccprun::rows(args.repetitions)?,
            Group::Iframes => iframes::rows(args.repetitions, args.quick)?,
            Group::Checksum => checksum::rows(args.repetitions)?,
            Group::Core => core::rows()?,
            Group::Memory => memory::rows()?,
            Group::Sim => sim::rows(args.repetitions, args.quick)?,
        });
    }
    println!("{}\n\n{}", machine::facts()?, row::HEADER);
    for row in &rows {
        println!("{row}");
    }
    if let Some(path) = &args.json {
        write(path, &rows)?;
    }
    Ok(true)
}

fn write(path: &PathBuf, rows: &[Row]) -> Result<()> {
    let text = serde_json::to_string_pretty(rows)?;
    std::fs::write(path, text + "\n").with_context(|| path.display().to_string())
}
