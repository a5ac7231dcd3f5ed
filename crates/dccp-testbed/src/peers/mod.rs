//! `cargo xtask peers sim`: our simulator beside ns-2 on one dumbbell, cell by cell.
//!
//! A cell is a law, a rate, a queue and a number of flows. Each is run from many start offsets in
//! both simulators, and the medians are compared; `docs/peers.md` gives the reasons.
//! Runs are stored in `target/peers/` under a hash of their inputs, so that a second run of the command
//! repeats only those that changed. ns-2's medians are stored in the repository, because they take hours.

mod cells;
mod differences;
mod figures;
mod report;
mod runs;
mod stored;

pub(crate) use figures::Output;
pub(crate) use runs::{DUMBBELL, NS2_SCRIPT};

use crate::programs;
use anyhow::{Result, ensure};
use cells::Cell;
use dccp_dev::packages;
use differences::Differences;
use figures::Figures;
use runs::Engine;
use stored::{Reference, Stored};

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
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the command line"
)]
struct Sim {
    /// Only cells whose names contain this
    #[arg(long, default_value = "")]
    cell: String,
    /// A spread subset of the cells, from fewer start offsets
    #[arg(long)]
    quick: bool,
    /// Start offsets of each cell [default: 20, quick: 5]
    #[arg(long, value_parser = dccp_dev::shell::at_least_one)]
    offsets: Option<usize>,
    /// Run ns-2 again although its medians are stored, and store them
    #[arg(long)]
    fresh: bool,
    /// Run only ns-2, where its stored medians are missing or no longer hold
    #[arg(long)]
    reference: bool,
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
    let mut reference = Source {
        stored: Stored::read()?,
        is_fresh: args.fresh,
        can_run: false,
    };
    if args.reference {
        // Cells with one run or short runs come first.
        let mut cells = cells;
        cells.sort_by_key(|cell| (cell.flows, cell.quarters));
        for cell in &cells {
            let (_, how) = reference.of(cell, stored::OFFSETS)?;
            println!("{:<22} {how}", cell.name());
        }
        return Ok(true);
    }
    programs::build(programs::DUMBBELL)?;
    let differences = Differences::read()?;
    let offsets = args.offsets.unwrap_or(if args.quick { 5 } else { 20 });
    let results = compare(&cells, &differences, &mut reference, offsets)?;
    Ok(report::conclude(&results))
}

/// The source of ns-2's figures.
struct Source {
    stored: Stored,
    /// Whether stored figures are ignored.
    is_fresh: bool,
    /// Whether ns-2 is known to be installed.
    can_run: bool,
}

impl Source {
    /// The stored figures of a cell, or those of a new run of ns-2, and a word that says which.
    fn of(&mut self, cell: &Cell, offsets: usize) -> Result<(Reference, &'static str)> {
        if !self.is_fresh
            && let Some(reference) = self.stored.of(cell)?
        {
            return Ok((reference.clone(), "stored"));
        }
        if !self.can_run {
            packages::install(packages::FOR_PEERS)?;
            self.can_run = true;
        }
        let offsets = cell.offsets(offsets);
        let runs = runs::all(cell, Engine::Ns2, offsets)?;
        let reference = Reference::new(cell, offsets, &runs)?;
        if offsets == cell.offsets(stored::OFFSETS) {
            self.stored.keep(cell, reference.clone())?;
        }
        Ok((reference, "run"))
    }
}

/// A cell, what came out of it, and what is known of its difference.
struct Outcome<'a> {
    cell: &'a Cell,
    ours: Figures,
    peer: Figures,
    /// Start offsets that are left out, because ns-2 crashed.
    crashes: usize,
    /// Whether ns-2's figures were stored or have just been made.
    how: &'static str,
    /// The listed difference, and our figures with its switch.
    difference: Option<(&'a differences::Difference, Figures)>,
}

impl Outcome<'_> {
    fn agrees(&self) -> bool {
        figures::disagreements(&self.ours, &self.peer).is_empty()
    }

    /// Whether a listed switch makes the two agree.
    fn is_explained(&self) -> bool {
        let Some((difference, switched)) = &self.difference else {
            return false;
        };
        let still = figures::disagreements(switched, &self.peer);
        let may_remain = |figure: &&str| difference.remain.iter().any(|known| known == figure);
        still.iter().all(may_remain)
    }
}

fn compare<'a>(
    cells: &'a [Cell],
    differences: &'a Differences,
    reference: &mut Source,
    offsets: usize,
) -> Result<Vec<Outcome<'a>>> {
    report::header();
    let mut outcomes = Vec::new();
    // All processors work on one cell, so that the table grows line by line.
    for cell in cells {
        let (peer, how) = reference.of(cell, offsets)?;
        let ours = |switch| ours(cell, switch, offsets, &peer.crashed);
        let mut outcome = Outcome {
            cell,
            ours: ours(&[])?,
            crashes: peer.crashed.len(),
            how,
            difference: None,
            peer: peer.figures,
        };
        if !outcome.agrees()
            && let Some(difference) = differences.of(cell)
        {
            outcome.difference = Some((difference, ours(&difference.switch)?));
        }
        report::row(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Our figures, without the start offsets where ns-2 crashed.
fn ours(cell: &Cell, switch: &[String], offsets: usize, without: &[usize]) -> Result<Figures> {
    let runs = runs::all(cell, Engine::Ours(switch), cell.offsets(offsets))?;
    let runs = runs.into_iter().enumerate();
    let runs: Vec<_> = runs
        .filter(|(run, _)| !without.contains(run))
        .filter_map(|(_, output)| output)
        .collect();
    Ok(figures::medians(cell, &runs))
}
