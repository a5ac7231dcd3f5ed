//! Our simulator beside ns-2 and ns-3 on one dumbbell.
//!
//! In each repetition every program runs once, one after the other, so that what the machine does
//! meanwhile meets all of them; the figures are medians. Then our simulator alone: whether a
//! transmission costs the same whatever the number of flows and the size of windows.

mod measure;
mod scaling;

use super::row::{Goal, Row};
use crate::programs;
use anyhow::Result;
use dccp_dev::median;
use dccp_dev::packages;
use measure::{Engine, Sample};

/// The compared laws: name, then the name in our program, in ns-2 and in ns-3.
const LAWS: [(&str, &str, &str, &str); 2] = [
    (
        "Reno",
        "reno:fractional=yes,slow_start=standard",
        "reno",
        "TcpLinuxReno",
    ),
    ("HighSpeed", "highspeed-2.6.22", "highspeed", "TcpHighSpeed"),
];

/// Virtual seconds of the runs beside ns-2, and beside ns-3, which takes half a minute for them.
const BESIDE_NS2: u32 = 300;
const BESIDE_NS3: u32 = 60;
/// Our goals, as multiples of the peers' speed.
const TIMES_NS2: f64 = 5.0;
const TIMES_NS3: f64 = 100.0;
/// Goodputs that may be called equal.
const EQUAL: f64 = 0.02;

/// The rows; `is_quick` leaves ns-3 out and takes fewer flows and packets.
pub(super) fn rows(repetitions: usize, is_quick: bool) -> Result<Vec<Row>> {
    packages::install(packages::FOR_BENCH_SIM)?;
    programs::build(programs::DUMBBELL)?;
    if !is_quick {
        measure::build_ns3()?;
    }
    let mut rows = Vec::new();
    for (name, ours, ns2, ns3) in LAWS {
        let tcp = Engine::Ours(format!("tcp/{ours}"));
        let dccp = Engine::Ours(format!("dccp/{ours}"));
        let runs = [tcp.clone(), Engine::Ns2(ns2), dccp];
        let [ours, peer, dccp] = measure(&runs, BESIDE_NS2, repetitions)?;
        rows.extend(beside(
            &format!("TCP {name}"),
            "ns-2",
            &ours,
            &peer,
            TIMES_NS2,
        ));
        rows.push(alone(
            &format!("CCID 2 {name}: data packets/CPU-s"),
            &dccp,
            packets,
        ));
        rows.push(alone(&format!("CCID 2 {name}: hops/CPU-s"), &dccp, hops));
        if !is_quick {
            let [ours, peer] = measure(&[tcp, Engine::Ns3(ns3)], BESIDE_NS3, repetitions)?;
            rows.extend(beside(
                &format!("TCP {name}"),
                "ns-3",
                &ours,
                &peer,
                TIMES_NS3,
            ));
        }
    }
    rows.extend(scaling::rows(repetitions, is_quick)?);
    Ok(rows)
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

/// The row of a figure that no peer has.
fn alone(name: &str, samples: &[Sample], value: fn(&Sample) -> f64) -> Row {
    let ours = median(samples.iter().map(value).collect());
    Row::new(name.to_owned(), ours, None, Goal::None)
}
