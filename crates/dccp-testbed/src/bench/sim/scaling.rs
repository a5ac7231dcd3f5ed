//! Whether a transmission costs the same whatever the number of flows and the size of windows.
//!
//! Windows are limited and the bottleneck is wide, so that nothing is lost and every run is made of
//! the same: data packets, and one acknowledgement for two.

use super::measure::measured;
use crate::bench::row::{Goal, Row};
use crate::peers::DUMBBELL;
use anyhow::{Context, Result};
use dccp_dev::instructions;
use dccp_dev::median;

/// Flows and the window of each in packets: what is compared with what.
const PAIRS: [(&str, Load, Load); 2] = [
    ("1,000 flows beside 1", load(1000, 10), load(1, 10)),
    (
        "windows of 10,000 packets beside 10",
        load(1, 10_000),
        load(1, 10),
    ),
];
/// Data packets of the two runs whose difference is counted: what opens connections and windows is
/// in both.
const FEW: u32 = 100_000;
const MANY: u32 = 200_000;
/// Data packets of the runs whose time is taken.
const TIMED: u32 = 2_000_000;
/// Many flows at once, and what they may take.
const CROWD: Load = load(10_000, 10);
const MEMORY_MIB: f64 = 1024.0;

/// By how much instructions and time may differ.
const FLAT: f64 = 0.10;
const TIME: f64 = 1.5;
/// Milliseconds.
const RTT: u32 = 70;

#[derive(Clone, Copy)]
struct Load {
    flows: u32,
    window: u32,
}

const fn load(flows: u32, window: u32) -> Load {
    Load { flows, window }
}

impl Load {
    /// The command line of a run with about this many data packets.
    fn words(self, packets: u32) -> Vec<String> {
        let per_s = f64::from(self.flows * self.window) * 1000.0 / f64::from(RTT);
        // And for slow start: two packets at first, doubled in each round trip.
        let start = f64::from(self.window).log2().ceil() * f64::from(RTT) / 1000.0;
        let time = f64::from(packets) / per_s + start;
        vec![
            DUMBBELL.to_owned(),
            "rate=100000".to_owned(),
            format!("rtt={RTT}"),
            "queue=1000000".to_owned(),
            format!("time={time:.3}"),
            "ack=2".to_owned(),
            format!("window={}", self.window),
            format!(
                "flows={}*tcp/reno:fractional=yes,slow_start=standard",
                self.flows
            ),
        ]
    }
}

pub(super) fn rows(repetitions: usize, quick: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, many, few) in PAIRS {
        let [ours, peer] = [many, few].map(per_hop);
        let name = |what| format!("{name}: {what} per hop");
        rows.push(Row::new(
            name("instructions"),
            ours?,
            Some(peer?),
            Goal::Within(FLAT),
        ));
        let [ours, peer] = timed([many, few], repetitions)?;
        rows.push(Row::new(
            name("CPU ns"),
            ours,
            Some(peer),
            Goal::AtMost(TIME),
        ));
    }
    if !quick {
        let sample = run(CROWD, TIMED)?;
        let name = "10,000 flows: peak memory, MiB, beside 1 GiB".to_owned();
        rows.push(Row::new(
            name,
            sample.memory_mib,
            Some(MEMORY_MIB),
            Goal::AtMost(1.0),
        ));
    }
    Ok(rows)
}

/// Instructions of a transmission more.
fn per_hop(load: Load) -> Result<f64> {
    let [few, many] = [FEW, MANY].map(|packets| {
        let words = load.words(packets);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        instructions::of(&[], &words)
    });
    let ((few, little), (many, much)) = (few?, many?);
    let hops = |text: &str| -> Result<f64> { Ok(crate::peers::Output::read(text)?.hops) };
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let more = (many - few) as f64;
    Ok(more / (hops(&much)? - hops(&little)?))
}

/// Nanoseconds of processor time per transmission of both, taken in turns.
fn timed(loads: [Load; 2], repetitions: usize) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..repetitions {
        for (load, times) in loads.iter().zip(&mut times) {
            let sample = run(*load, TIMED)?;
            times.push(1e9 * sample.cpu / sample.hops);
        }
    }
    Ok(times.map(median))
}

fn run(load: Load, packets: u32) -> Result<super::Sample> {
    let words = load.words(packets);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    measured(&words).context("dumbbell")
}
