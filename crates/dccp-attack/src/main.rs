//! Attacks on usrdccp, each with its expected outcome. Prints a table, and fails if an outcome differs.
//!
//! Attacks in process run in virtual time and repeat exactly, because the attacker's numbers come from a fixed seed.
//! Those with sockets need root and Linux: they make network namespaces and remove them.

#![cfg(target_os = "linux")]

mod ackers;
mod engine;
mod faults;
mod floods;
mod host;
mod icmp;
mod offpath;
mod onpath;
mod pair;
mod random;
mod raw;
mod report;
mod ring;
mod strangers;
mod tools;
mod victim;

use anyhow::Result;
use clap::{Parser, Subcommand};
use dccp::DccpAddr;
use report::{Attack, Row, Scale, json, table};
use std::process::ExitCode;

#[derive(Parser, Debug)]
#[command(about = "Attacks on usrdccp, each with its expected outcome")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// 10^6 blind packets of each kind, short floods
    Quick(Choice),
    /// 10^8 blind packets of each kind, longer floods
    All(Choice),
    /// The names of the attacks
    List,
    /// An attack that succeeds: it must break its promise, and so the exit code is 1
    #[command(hide = true)]
    Control,
    /// System calls that fail during a transfer: each call of the product with each of its errors
    Faults {
        /// A choice, or every error of every call
        #[arg(value_parser = ["quick", "all"])]
        scale: String,
        /// Only faults whose names contain this
        #[arg(default_value = "")]
        pattern: String,
        /// Draws the calls that fail at random
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// A program whose system calls fail
    #[command(subcommand, hide = true)]
    FaultVictim(faults::victim::Part),
    /// A program that the attacks start
    #[command(subcommand, hide = true)]
    Part(Part),
}

#[derive(Subcommand, Debug)]
enum Part {
    /// The program under attack
    Victim {
        address: DccpAddr,
        /// The only processor core to run on
        core: usize,
    },
    /// A client that connects again and again
    Connect {
        address: DccpAddr,
        core: usize,
    },
    RingServer {
        path: String,
        core: usize,
    },
    /// An honest application of a ring server
    RingApp {
        path: String,
        peer: DccpAddr,
        core: usize,
    },
    /// One that writes random words into its rings
    RingHostile {
        path: String,
        peer: DccpAddr,
        core: usize,
        seed: u64,
    },
}

#[derive(clap::Args, Default, Debug)]
struct Choice {
    /// Only attacks whose names contain this
    #[arg(default_value = "")]
    pattern: String,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// All attacks.
fn attacks() -> Vec<Attack> {
    [
        offpath::attacks(),
        icmp::attacks(),
        onpath::attacks(),
        strangers::attacks(),
        floods::attacks(),
        engine::attacks(),
        ring::attacks(),
        tools::attacks(),
    ]
    .concat()
}

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Quick(choice) => run(attacks(), Scale::Quick, &choice),
        Command::All(choice) => run(attacks(), Scale::All, &choice),
        Command::Control => run(vec![offpath::control()], Scale::Quick, &Choice::default()),
        Command::List => {
            for attack in attacks() {
                println!("{}", attack.name);
            }
            ExitCode::SUCCESS
        }
        Command::Faults {
            scale,
            pattern,
            seed,
        } => exit_code(faults::run(&scale, &pattern, seed)),
        Command::FaultVictim(part) => exit_code(faults::victim::run(&part).map(|()| true)),
        Command::Part(part) => exit_code(play(&part).map(|()| true)),
    }
}

/// The exit code of a part that holds or not, or failed.
fn exit_code(holds: Result<bool>) -> ExitCode {
    match holds {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a part of an attack in this process.
fn play(part: &Part) -> Result<()> {
    let (Part::Victim { core, .. }
    | Part::Connect { core, .. }
    | Part::RingServer { core, .. }
    | Part::RingApp { core, .. }
    | Part::RingHostile { core, .. }) = part;
    host::pin(*core)?;
    match part {
        Part::Victim { address, .. } => victim::run(*address),
        Part::Connect { address, .. } => engine::connect_in_turn(*address),
        Part::RingServer { path, .. } => ring::serve(path),
        Part::RingApp { path, peer, .. } => ring::send(path, *peer),
        Part::RingHostile {
            path, peer, seed, ..
        } => ring::attack(path, *peer, *seed),
    }
}

fn run(attacks: Vec<Attack>, scale: Scale, choice: &Choice) -> ExitCode {
    let wanted =
        |attack: &Attack| attack.belongs_to(scale) && attack.name.contains(&choice.pattern);
    let rows: Vec<Row> = attacks
        .into_iter()
        .filter(wanted)
        .map(|attack| {
            let begin = dccp::clock::now();
            let outcome = attack.run(scale);
            let seconds = (dccp::clock::now() - begin).as_secs_f64();
            eprintln!("{}: {} ({seconds:.1} s)", attack.name, outcome.verdict());
            (attack, outcome, seconds)
        })
        .collect();
    if choice.json {
        println!("{:#}", json(&rows));
    } else {
        print!("{}", table(&rows));
    }
    if !rows.is_empty() && rows.iter().all(|(_, outcome, _)| outcome.holds()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attack_in_process_has_its_expected_outcome() {
        for attack in attacks() {
            if let Some(outcome) = attack.run_in_process(20_000) {
                assert!(outcome.holds(), "{}: {}", attack.name, outcome.verdict());
            }
        }
    }
}
