//! Explores the models and prints a table. Fails if a property does not hold.

use clap::{Parser, ValueEnum};
use dccp_model::models::{self, Scale};
use dccp_model::search::{Report, explore};
use std::process::ExitCode;
use std::thread::available_parallelism;

#[derive(Parser, Debug)]
#[command(about = "Explores every behaviour of two ends on a bad network, up to a bound")]
struct Args {
    /// Size of the models: quick takes seconds, all takes minutes
    scale: Size,
    /// Only models whose names contain this
    #[arg(default_value = "")]
    pattern: String,
    /// States after which a search of a model ends
    #[arg(long, default_value_t = 100_000)]
    states: usize,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum Size {
    Quick,
    All,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let scale = match args.scale {
        Size::Quick => Scale::Quick,
        Size::All => Scale::All,
    };
    let threads = available_parallelism().map_or(1, usize::from);
    let models = models::all(scale);
    let wanted = models.iter().filter(|m| m.name.contains(&args.pattern));
    println!("| model | steps | states | depth | complete | time | properties |");
    println!("|---|---|---|---|---|---|---|");
    let (mut holds, mut total) = (true, 0);
    for model in wanted {
        let report = explore(model, threads, args.states);
        println!("{}", row(&report));
        eprint!("{report}");
        holds &= report.holds();
        total += report.states;
    }
    println!("\n{total} states");
    if holds && total > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn row(report: &Report) -> String {
    let verdict = if report.holds() { "hold" } else { "VIOLATED" };
    let complete = if report.is_complete { "yes" } else { "no" };
    format!(
        "| {} | {} | {} | {} | {complete} | {:.1} s | {verdict} |",
        report.model,
        report.steps,
        report.states,
        report.depth,
        report.time.as_secs_f64(),
    )
}
