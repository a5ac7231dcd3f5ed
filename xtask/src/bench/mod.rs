//! `cargo xtask bench`: the first table of `docs/performance.md`; `cargo xtask bench sim`: that of
//! the simulator.
//!
//! Two namespaces joined by a veth pair; in each repetition every program runs once, one after the
//! other, so that what the machine does meanwhile meets all of them. Standard output gets what
//! `docs/performance.md` shows.

mod instructions;
mod programs;
mod sim;

use anyhow::{Result, ensure};

use crate::netns::{self, Namespace};
use crate::packages;
use crate::shell::{self, Background, command};
use programs::{MONITOR, PROGRAMS, Program, Sample};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    other: Option<Other>,
    /// Seconds of each run
    #[arg(short = 't', long, default_value_t = 5)]
    time: u32,
    /// Runs of each program; the table shows medians
    #[arg(short = 'n', long, default_value = "5", value_parser = shell::at_least_one)]
    repetitions: usize,
}

#[derive(clap::Subcommand)]
enum Other {
    /// The simulator beside ns-2 and ns-3, and how its cost grows
    Sim(sim::Args),
}

const SERVER: &str = "10.35.0.2";

pub(crate) fn run(args: &Args) -> Result<bool> {
    if let Some(Other::Sim(args)) = &args.other {
        return sim::run(args);
    }
    ensure!(shell::is_root(), "needs root, for namespaces");
    packages::install(packages::FOR_BENCH)?;
    shell::run(&mut command(&[
        "cargo",
        "build",
        "--quiet",
        "--release",
        "-p",
        "dccpmon",
    ]))?;
    let (client, server) = (Namespace::new("client")?, Namespace::new("server")?);
    netns::veth(&client, &server, "bench0")?;
    client.address("bench0", "10.35.0.1/24")?;
    server.address("bench0", &format!("{SERVER}/24"))?;
    let _monitor = Background::start(server.command(&[MONITOR, "serve"]), "serving")?;
    let iperf = server.command(&["iperf3", "-s", "--forceflush"]);
    let _iperf = Background::start(iperf, "listening")?;
    let samples = measure(&client, args)?;
    println!(
        "`cargo xtask bench -t {} -n {}`\n",
        args.time, args.repetitions
    );
    println!(
        "| program | goodput, Mbit/s (least … most) | CPU of the sender, % | of the receiver, % |"
    );
    println!("|---|---|---|---|");
    for (program, samples) in PROGRAMS.iter().zip(&samples) {
        println!("{}", row(program, samples));
    }
    println!("\nInstructions per data packet in the core:\n");
    println!("{}", instructions::table()?);
    Ok(true)
}

/// All samples of each program.
fn measure(client: &Namespace, args: &Args) -> Result<Vec<Vec<Sample>>> {
    let mut samples: Vec<Vec<Sample>> = PROGRAMS.iter().map(|_| Vec::new()).collect();
    for repetition in 1..=args.repetitions {
        for (program, samples) in PROGRAMS.iter().zip(&mut samples) {
            let sample = program.run(client, SERVER, args.time)?;
            eprintln!(
                "{repetition}: {:<24} {:>8.0} Mbit/s",
                program.name, sample.mbit_per_s
            );
            samples.push(sample);
        }
    }
    Ok(samples)
}

fn row(program: &Program, samples: &[Sample]) -> String {
    let sorted = |of: fn(&Sample) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let goodput = sorted(|sample| sample.mbit_per_s);
    let median = |values: &[f64]| values[values.len() / 2];
    let (least, most) = (goodput[0], goodput[goodput.len() - 1]);
    format!(
        "| {} | {:.0} ({least:.0} … {most:.0}) | {:.0} | {:.0} |",
        program.name,
        median(&goodput),
        median(&sorted(|sample| sample.sender_cpu)),
        median(&sorted(|sample| sample.receiver_cpu)),
    )
}
