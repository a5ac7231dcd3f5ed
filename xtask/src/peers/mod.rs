//! `cargo xtask peers sim`: our simulator beside ns-2 on one dumbbell, cell by cell.
//!
//! A cell is a law, a rate, a queue and a number of flows. Each is run from many start offsets in
//! both simulators, and the medians are compared; `docs/peers.md` says what was chosen and why.
//! Runs are kept in `target/peers/` by what they depend on, so that a second run of the command
//! repeats only what changed.

mod cells;
mod differences;
mod figures;
mod report;
mod runs;

pub(crate) use figures::{Output, median};
pub(crate) use runs::{DUMBBELL, NS2_SCRIPT, build_ours};

use crate::packages;
use anyhow::{Result, ensure};
use cells::Cell;
use differences::Differences;
use runs::Engine;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// The simulator beside ns-2
    Sim(Sim),
}

#[derive(clap::Args)]
struct Sim {
    /// Only cells whose names contain this
    #[arg(long, default_value = "")]
    cell: String,
    /// A spread subset of the cells, from fewer start offsets
    #[arg(long)]
    quick: bool,
    /// Start offsets of each cell [default: 20, quick: 5]
    #[arg(long, value_parser = crate::shell::at_least_one)]
    offsets: Option<usize>,
    /// Print the names of the cells
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    let What::Sim(args) = &args.what;
    let cells: Vec<Cell> = cells::all()
        .into_iter()
        .filter(|cell| cell.name().contains(&args.cell) && (!args.quick || cell.is_quick()))
        .collect();
    if args.list {
        for cell in &cells {
            println!("{}", cell.name());
        }
        return Ok(true);
    }
    ensure!(!cells.is_empty(), "no cell's name contains {}", args.cell);
    packages::install(packages::FOR_PEERS)?;
    build_ours()?;
    let differences = Differences::read()?;
    let offsets = args.offsets.unwrap_or(if args.quick { 5 } else { 20 });
    let results = compare(&cells, &differences, offsets)?;
    Ok(report::conclude(&results))
}

/// A cell, what came out of it, and what is known of its difference.
struct Outcome<'a> {
    cell: &'a Cell,
    ours: figures::Figures,
    peer: figures::Figures,
    /// Start offsets that are left out, because a program crashed.
    crashes: usize,
    /// The listed difference, and our figures with its switch.
    difference: Option<(&'a differences::Difference, figures::Figures)>,
}

impl Outcome<'_> {
    fn agrees(&self) -> bool {
        figures::disagreements(&self.ours, &self.peer).is_empty()
    }

    /// Whether a listed switch makes the two agree.
    fn is_explained(&self) -> bool {
        let switched = self.difference.as_ref().map(|(_, switched)| switched);
        switched.is_some_and(|switched| figures::disagreements(switched, &self.peer).is_empty())
    }
}

fn compare<'a>(
    cells: &'a [Cell],
    differences: &'a Differences,
    offsets: usize,
) -> Result<Vec<Outcome<'a>>> {
    report::header();
    let mut outcomes = Vec::new();
    // Both processors work on one cell, so that the table grows line by line.
    for cell in cells {
        let jobs = [Engine::Ours(&[]), Engine::Ns2];
        let runs = runs::all(cell, &jobs, offsets)?;
        let (both, crashes) = pairs(&runs[0], &runs[1]);
        let [ours, peer] = both.map(|runs| figures::medians(cell, &runs));
        let mut outcome = Outcome {
            cell,
            ours,
            peer,
            crashes,
            difference: None,
        };
        if !outcome.agrees()
            && let Some(difference) = differences.of(cell)
        {
            let runs = runs::all(cell, &[Engine::Ours(&difference.switch)], offsets)?;
            let switched: Vec<_> = runs[0].iter().flatten().cloned().collect();
            outcome.difference = Some((difference, figures::medians(cell, &switched)));
        }
        report::row(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The runs of those start offsets for which both programs have one, and how many others there are.
fn pairs(ours: &[Option<Output>], peer: &[Option<Output>]) -> ([Vec<Output>; 2], usize) {
    let both = ours.iter().zip(peer);
    let both = both.filter_map(|(ours, peer)| ours.clone().zip(peer.clone()));
    let (ours_too, peer_too): (Vec<_>, Vec<_>) = both.unzip();
    let crashes = ours.len() - ours_too.len();
    ([ours_too, peer_too], crashes)
}
