//! `cargo xtask bench sim`: our simulator beside ns-2 and ns-3 on one dumbbell.
//!
//! In each repetition every program runs once, one after the other, so that what the machine does
//! meanwhile meets all of them; the figures are medians. Then our simulator alone: whether a
//! transmission costs the same whatever the number of flows and the size of windows.

mod measure;
mod row;
mod scaling;

use crate::packages;
use crate::peers::{self, median};
use anyhow::{Context, Result};
use measure::{Engine, Sample};
use row::{Goal, Row};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of each program; the table shows medians
    #[arg(short = 'n', long, default_value = "5", value_parser = crate::shell::at_least_one)]
    repetitions: usize,
    /// Only beside ns-2, with fewer flows and packets: a look, no figure
    #[arg(long)]
    quick: bool,
    /// Write the rows to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

/// What is run beside each other: name, law as our program takes it, as ns-2 and as ns-3 do.
const LAWS: [(&str, &str, &str, &str); 2] = [
    (
        "Reno",
        "reno:fractional=yes,slow_start=standard",
        "reno",
        "TcpLinuxReno",
    ),
    (
        "HighSpeed",
        "highspeed:table=kernel",
        "highspeed",
        "TcpHighSpeed",
    ),
];

/// Virtual seconds of the runs beside ns-2, and beside ns-3, which takes half a minute for them.
const BESIDE_NS2: u32 = 300;
const BESIDE_NS3: u32 = 60;
/// What the two peers are to be outdone by.
const TIMES_NS2: f64 = 5.0;
const TIMES_NS3: f64 = 100.0;
/// Goodputs that may be called equal.
const EQUAL: f64 = 0.02;

pub(crate) fn run(args: &Args) -> Result<bool> {
    packages::install(packages::FOR_BENCH_SIM)?;
    peers::build_ours()?;
    if !args.quick {
        measure::build_ns3()?;
    }
    let mut rows = Vec::new();
    for (name, ours, ns2, ns3) in LAWS {
        let tcp = Engine::Ours(format!("tcp/{ours}"));
        let dccp = Engine::Ours(format!("dccp/{ours}"));
        let runs = [tcp.clone(), Engine::Ns2(ns2), dccp];
        let [ours, peer, dccp] = measure(&runs, BESIDE_NS2, args.repetitions)?;
        rows.extend(beside(
            &format!("TCP {name}"),
            "ns-2",
            &ours,
            &peer,
            TIMES_NS2,
        ));
        rows.push(row::alone(
            &format!("CCID 2 {name}: data packets/CPU-s"),
            &dccp,
            packets,
        ));
        rows.push(row::alone(
            &format!("CCID 2 {name}: hops/CPU-s"),
            &dccp,
            hops,
        ));
        if !args.quick {
            let [ours, peer] = measure(&[tcp, Engine::Ns3(ns3)], BESIDE_NS3, args.repetitions)?;
            rows.extend(beside(
                &format!("TCP {name}"),
                "ns-3",
                &ours,
                &peer,
                TIMES_NS3,
            ));
        }
    }
    rows.extend(scaling::rows(args.repetitions, args.quick)?);
    println!("{}", row::HEADER);
    for row in &rows {
        println!("{row}");
    }
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&rows)?;
        std::fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    Ok(true)
}

/// All samples of each of these, in turns.
fn measure<const N: usize>(
    engines: &[Engine; N],
    time: u32,
    repetitions: usize,
) -> Result<[Vec<Sample>; N]> {
    let mut samples: [Vec<Sample>; N] = core::array::from_fn(|_| Vec::new());
    for repetition in 1..=repetitions {
        for (engine, samples) in engines.iter().zip(&mut samples) {
            let sample = engine.run(time)?;
            eprintln!("{repetition}: {engine:<48} {:>8.3} s", sample.cpu);
            samples.push(sample);
        }
    }
    Ok(samples)
}

fn packets(sample: &Sample) -> f64 {
    sample.packets / sample.cpu
}

fn hops(sample: &Sample) -> f64 {
    sample.hops / sample.cpu
}

/// The rows of two programs.
fn beside(what: &str, peer_name: &str, ours: &[Sample], peer: &[Sample], times: f64) -> Vec<Row> {
    let row = |figure: &str, value: fn(&Sample) -> f64, goal: Goal| {
        let [ours, peer] = [ours, peer].map(|s| median(s.iter().map(value).collect()));
        Row::new(
            format!("{what}, {peer_name}: {figure}"),
            ours,
            Some(peer),
            goal,
        )
    };
    vec![
        row("data packets/CPU-s", packets, Goal::AtLeast(times)),
        row("hops/CPU-s", hops, Goal::None),
        row(
            "payload delivered, MB",
            |s| s.bytes * 1e-6,
            Goal::Within(EQUAL),
        ),
        row("peak memory, MiB", |s| s.memory_mib, Goal::None),
    ]
}
