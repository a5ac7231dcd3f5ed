//! `dccplab reproduce`: runs the experiments of the source papers and judges their claims.

use super::run::{Results, play_scenario};
use super::{claims, pages};
use crate::args::{Backend, Reproduce, Run};
use crate::clock::now;
use crate::folder::{self, times};
use dccp_cli::{Failure, exit, interrupt, print};
use dccp_lab::judge::verdict::Mark;
use dccp_lab::output::count;
use dccp_lab::output::report::Source;
use dccp_lab::output::verdicts;
use dccp_lab::papers::{EXPERIMENTS, Experiment};
use dccp_lab::scenario::Scenario;
use std::fs;
use std::path::Path;

/// Runs the experiments that were asked for. Those that were run before keep their cells.
pub(crate) fn run(asked: &Reproduce) -> Result<u8, Failure> {
    let experiments = chosen(&asked.experiments)?;
    let dir = folder::of_scale(&asked.out, folder::scale(asked.quick));
    fs::create_dir_all(&dir).map_err(|error| Failure::write(&dir, &error))?;
    interrupt::listen()?;
    let mut code = exit::DONE;
    for experiment in experiments {
        let (results, scenario) = play(asked, &dir, experiment)?;
        print(&summary(experiment, &results))?;
        // A claim that fails is a result; a cell that fails is not.
        if matches!(results.code, exit::INTERRUPTED | exit::INCOMPLETE) {
            code = results.code;
        }
        let file = folder::file_of(&dir, experiment.name);
        let name = file.display().to_string();
        // Without a cell there is no page.
        if let Ok(source) = Source::of_scenario(&name, results.document, scenario) {
            pages::write(&file, &source)?;
        }
        if code == exit::INTERRUPTED {
            break;
        }
    }
    let stored = folder::stored(&dir)?;
    let index = pages::write_index(&dir, &stored)?;
    if code != exit::INTERRUPTED {
        let (table, index) = (claims::table(&dir, &stored), index.display());
        print(&format!("\n{table}\npages: {index}\n"))?;
    }
    Ok(code)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    let unknown = |name: &&String| !EXPERIMENTS.iter().any(|e| e.is_called(name));
    if let Some(name) = names.iter().find(unknown) {
        let all: Vec<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
        return Err(Failure::usage(
            format!("{name}: there is no such experiment"),
            format!("choose from {}", all.join(", ")),
        ));
    }
    let is_chosen = |e: &&Experiment| names.is_empty() || names.iter().any(|n| e.is_called(n));
    Ok(EXPERIMENTS.iter().filter(is_chosen).collect())
}

/// Plays the cells that are missing, and notes the time that it takes.
fn play(
    asked: &Reproduce,
    dir: &Path,
    experiment: &Experiment,
) -> Result<(Results, Scenario), Failure> {
    let file = format!("scenarios/papers/{}.toml", experiment.name);
    let scenario = super::readable(experiment.scenario(folder::scale(asked.quick)))?;
    let run = Run {
        quick: asked.quick,
        json: Some(folder::file_of(dir, experiment.name)),
        // Measurements of this machine run one after another.
        jobs: asked.jobs.filter(|_| !scenario.measures_this_machine()),
        resume: true,
        ..Run::of(file.into(), Backend::Sim)
    };
    let begun = now();
    let results = play_scenario(&run, &scenario)?;
    if results.played > 0 {
        times::note(dir, experiment.name, now() - begun, results.known > 0)?;
    }
    Ok((results, scenario))
}

/// One line, and a line for each assertion that does not hold.
fn summary(experiment: &Experiment, results: &Results) -> String {
    let cells = results.document["cells"].as_array().map_or(0, Vec::len);
    let cells = count(cells, "cell");
    let all = results.assertions.len();
    let held = results
        .assertions
        .iter()
        .filter(|a| a.mark == Mark::Holds)
        .count();
    let others: Vec<_> = (results.assertions.iter())
        .filter(|a| a.mark != Mark::Holds)
        .cloned()
        .collect();
    let others = verdicts::of_assertions(&others);
    let others = others.trim_start_matches('\n');
    format!(
        "{:<20} {cells:>10}, {held} of {all} assertions hold\n{others}",
        experiment.name
    )
}
