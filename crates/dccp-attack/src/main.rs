//! Attacks on usrdccp, each with its expected outcome. Prints a table, and fails if an outcome differs.
//!
//! All run in one process and in virtual time, and repeat exactly: the attacker's numbers come from a fixed seed.

mod icmp;
mod offpath;
mod onpath;
mod pair;
mod random;
mod report;
mod strangers;

use clap::{Parser, ValueEnum};
use report::{Attack, table};
use std::process::ExitCode;

#[derive(Parser, Debug)]
#[command(about = "Attacks on usrdccp, each with its expected outcome")]
struct Args {
    /// Packets of each attack: quick sends 10^6, all sends 10^8
    scale: Scale,
    /// Only attacks whose names contain this
    #[arg(default_value = "")]
    pattern: String,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Scale {
    Quick,
    All,
}

impl Scale {
    fn packets(self) -> u64 {
        match self {
            Self::Quick => 1_000_000,
            Self::All => 100_000_000,
        }
    }
}

/// All attacks.
fn attacks() -> Vec<Attack> {
    [
        offpath::attacks(),
        icmp::attacks(),
        onpath::attacks(),
        strangers::attacks(),
    ]
    .concat()
}

fn main() -> ExitCode {
    let args = Args::parse();
    let packets = args.scale.packets();
    let wanted = |attack: &Attack| attack.name.contains(&args.pattern);
    let outcomes: Vec<_> = attacks()
        .into_iter()
        .filter(wanted)
        .map(|attack| {
            let outcome = attack.run(packets);
            eprintln!("{}: {}", attack.name, outcome.verdict());
            (attack, outcome)
        })
        .collect();
    print!("{}", table(&outcomes));
    if !outcomes.is_empty() && outcomes.iter().all(|(_, outcome)| outcome.holds()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attack_has_its_expected_outcome() {
        for attack in attacks() {
            let outcome = attack.run(20_000);
            assert!(outcome.holds(), "{}: {}", attack.name, outcome.verdict());
        }
    }
}
