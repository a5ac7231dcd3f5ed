//! Transfers: what arrives, and what it costs, ours beside others.

mod place;
mod program;

use anyhow::{Result, ensure};

use super::row::{Goal, Row};
use crate::programs;
use dccp_dev::median;
use dccp_dev::packages;
use dccp_dev::shell;
use place::Place;
use program::{Program, Sample, dccp, dccpmon, iperf, quic, raw, udp};

/// Programs that run in one place, and what is said of them.
struct Stage {
    place: Place,
    /// Ours is the first.
    programs: Vec<Program>,
    comparisons: Vec<Comparison>,
}

/// One row: two of a stage's programs.
struct Comparison {
    ours: usize,
    peer: usize,
    figure: Figure,
    goal: Goal,
}

#[derive(Clone, Copy)]
enum Figure {
    /// Delivered payload.
    Goodput,
    /// Processor time of both ends.
    Cpu,
}

fn goodput(ours: usize, peer: usize, goal: Goal) -> Comparison {
    Comparison {
        ours,
        peer,
        figure: Figure::Goodput,
        goal,
    }
}

/// The rows of all stages.
pub(super) fn rows(time: u32, repetitions: usize, is_quick: bool) -> Result<Vec<Row>> {
    prepare(programs::BENCH_ENDS)?;
    let stages = if is_quick { vec![ethernet()] } else { stages() };
    run(stages, time, repetitions)
}

/// The rates of dccpmon beside those of iperf3.
pub(super) fn dccpmon_rows(time: u32, repetitions: usize) -> Result<Vec<Row>> {
    prepare(programs::MONITOR)?;
    let places = [Place::veth(1500, false), Place::Loopback];
    run(places.map(beside_iperf).into(), time, repetitions)
}

/// Installs and builds what transfers need.
fn prepare(program: &str) -> Result<()> {
    ensure!(
        shell::is_root(),
        "transfers need root, for namespaces; without it say: cargo xtask bench ring checksum core memory sim"
    );
    packages::install(packages::FOR_BENCH)?;
    programs::build(program)
}

fn run(stages: Vec<Stage>, time: u32, repetitions: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for stage in stages {
        rows.extend(stage.run(time, repetitions)?);
    }
    Ok(rows)
}

/// Both programs send as fast as the socket takes it.
fn beside_iperf(place: Place) -> Stage {
    Stage {
        place,
        programs: vec![
            dccpmon("UDP", "--transport udp -b 0 -l 1400"),
            iperf("UDP", "-u -b 0 -l 1400"),
            dccpmon("TCP", "--transport tcp"),
            iperf("TCP, CUBIC", "-C cubic"),
            // Its usual receive buffer is that of the system, and overflows.
            iperf("UDP, 4 MiB buffer", "-u -b 0 -l 1400 -w 4M"),
        ],
        comparisons: vec![
            goodput(0, 1, Goal::AtLeast(0.95)),
            goodput(0, 4, Goal::AtLeast(0.95)),
            goodput(2, 3, Goal::AtLeast(0.95)),
        ],
    }
}

/// Two hosts and a cable as most have it; the goals are about this one.
fn ethernet() -> Stage {
    use Goal::{AtLeast, AtMost, None};
    let programs = vec![
        dccp("udp", 2, "1400", ""),
        dccp("udp", 3, "1400", ""),
        dccp("ip", 2, "1400", ""),
        dccp("ip", 2, "1400", "--coverage 1"),
        udp("gso", "1400"),
        udp("sendmmsg", "1400"),
        udp("send", "1400"),
        raw("1416"),
        quic("1400"),
        iperf("UDP", "-u -b 0 -l 1400"),
        iperf("TCP, CUBIC", "-C cubic"),
        dccp("udp", 2, "1400", "--both-ways"),
    ];
    let comparisons = vec![
        goodput(0, 4, AtLeast(0.5)),
        goodput(0, 5, None),
        goodput(0, 6, None),
        goodput(0, 8, AtLeast(3.0)),
        goodput(0, 9, None),
        goodput(0, 10, None),
        Comparison {
            ours: 0,
            peer: 10,
            figure: Figure::Cpu,
            goal: AtMost(2.0),
        },
        goodput(1, 0, AtLeast(0.8)),
        goodput(2, 7, AtLeast(0.8)),
        goodput(3, 7, AtLeast(0.8)),
        goodput(11, 0, None),
    ];
    Stage {
        place: Place::veth(1500, true),
        programs,
        comparisons,
    }
}

fn stages() -> Vec<Stage> {
    let mut stages = vec![ethernet()];
    stages.push(Stage {
        place: Place::veth(1500, false),
        programs: vec![dccp("udp", 2, "1400", "--no-gso"), udp("sendmmsg", "1400")],
        comparisons: vec![goodput(0, 1, Goal::AtLeast(0.8))],
    });
    for (mtu, size) in [
        (1500, "64"),
        (1500, "512"),
        (1500, "64-1400"),
        (9000, "4000"),
        (9000, "8900"),
    ] {
        stages.push(beside_udp(Place::veth(mtu, true), size));
    }
    stages.push(beside_udp(Place::Loopback, "1400"));
    stages
}

/// Both CCIDs and the three ways to hand datagrams over, beside UDP; nothing is asked.
fn beside_udp(place: Place, size: &str) -> Stage {
    let mtu = format!("--mtu {}", place.mtu());
    let ours = [
        dccp("udp", 2, size, &mtu),
        dccp("udp", 2, size, &format!("{mtu} --form send")),
        dccp("udp", 2, size, &format!("{mtu} --form ring")),
        dccp("udp", 3, size, &mtu),
        dccp("ip", 2, size, &mtu),
    ];
    // GSO cuts into pieces of one size.
    let modes = if size.contains('-') {
        &["sendmmsg"][..]
    } else {
        &["gso", "sendmmsg"]
    };
    let peers = ours.len()..ours.len() + modes.len();
    let comparisons = (0..ours.len())
        .flat_map(|ours| {
            peers
                .clone()
                .map(move |peer| goodput(ours, peer, Goal::None))
        })
        .collect();
    let modes = modes.iter().map(|mode| udp(mode, size));
    Stage {
        place,
        programs: ours.into_iter().chain(modes).collect(),
        comparisons,
    }
}

impl Stage {
    /// Prints the figures of each program.
    fn print(&self, samples: &[Vec<Sample>]) {
        println!(
            "| {} | goodput, Mbit/s (least … most) | CPU of the sender, % | of the receiver, % |\n|---|---|---|---|",
            self.place
        );
        for (program, samples) in self.programs.iter().zip(samples) {
            let of = |value: fn(&Sample) -> f64| samples.iter().map(value).collect::<Vec<_>>();
            let goodput = of(|sample| sample.mbit_per_s);
            let least = goodput.iter().copied().fold(f64::INFINITY, f64::min);
            let most = goodput.iter().copied().fold(0.0, f64::max);
            let offers: String = samples.iter().map(Sample::offer).collect();
            println!(
                "| {}{offers} | {:.0} ({least:.0} … {most:.0}) | {:.0} | {:.0} |",
                program.name,
                median(goodput),
                median(of(|sample| sample.sender_cpu)),
                median(of(|sample| sample.receiver_cpu)),
            );
        }
        println!();
    }

    fn run(&self, time: u32, repetitions: usize) -> Result<Vec<Row>> {
        let hosts = self.place.build()?;
        let mut samples: Vec<Vec<Sample>> = self.programs.iter().map(|_| Vec::new()).collect();
        for repetition in 1..=repetitions {
            for (program, samples) in self.programs.iter().zip(&mut samples) {
                let sample = program.run(&hosts, time)?;
                eprintln!(
                    "{repetition}: {}, {:<44} {:>8.0} Mbit/s, {:.2} CPU-s/Gbit{}",
                    self.place,
                    program.name,
                    sample.mbit_per_s,
                    sample.cpu_per_gbit(),
                    sample.offer()
                );
                samples.push(sample);
            }
        }
        self.print(&samples);
        let row = |comparison: &Comparison| {
            let (unit, value): (_, fn(&Sample) -> f64) = match comparison.figure {
                Figure::Goodput => ("Mbit/s", |sample| sample.mbit_per_s),
                Figure::Cpu => ("CPU-s per Gbit", Sample::cpu_per_gbit),
            };
            let of = |program: usize| median(samples[program].iter().map(value).collect());
            let [ours, peer] = [comparison.ours, comparison.peer].map(|n| &self.programs[n].name);
            Row::new(
                format!("{}: {ours} beside {peer}, {unit}", self.place),
                of(comparison.ours),
                Some(of(comparison.peer)),
                comparison.goal,
            )
        };
        Ok(self.comparisons.iter().map(row).collect())
    }
}
