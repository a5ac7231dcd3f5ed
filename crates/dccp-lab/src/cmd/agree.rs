//! `dccplab agree FILE…`: plays scenarios in the simulator and live, and compares them.

use super::run::{Results, play_scenario};
use crate::args::{Agree, Backend, Run};
use crate::store::replace;
use dccp_cli::{Failure, exit, print};
use dccp_lab::output::agreement;
use dccp_lab::scenario::Scenario;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Plays what was asked for, and prints the comparison.
pub(crate) fn run(asked: &Agree) -> Result<u8, Failure> {
    let dir = &asked.out;
    let scenarios = asked.files.iter();
    let scenarios = scenarios.map(|file| super::scenario(file, asked.scale()));
    let scenarios: Vec<Scenario> = scenarios.collect::<Result<_, _>>()?;
    if let Some(scenario) = scenarios.iter().find(|s| s.measures_this_machine()) {
        return Err(Failure::usage(
            format!(
                "{}: the scenario measures this machine, so there is nothing to compare",
                scenario.name
            ),
            "leave it out",
        ));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = scenarios.iter().find(|s| !names.insert(&s.name)) {
        return Err(Failure::usage(
            format!(
                "{}: two scenarios have this name, and would share files",
                twice.name
            ),
            "give each a name of its own",
        ));
    }
    // A scenario that cannot be played live is refused before anything is played.
    for (file, scenario) in asked.files.iter().zip(&scenarios) {
        let runs: Vec<_> = scenario.runs.iter().collect();
        super::live::prepare(&Run::of(file.to_owned(), Backend::Live), &runs)?;
    }
    fs::create_dir_all(dir).map_err(|error| Failure::write(dir, &error))?;
    let mut rows = Vec::new();
    let mut is_complete = true;
    for (file, scenario) in asked.files.iter().zip(&scenarios) {
        let mut cells: Vec<Vec<Value>> = Vec::new();
        for backend in [Backend::Sim, Backend::Live] {
            let results = play(asked, file, scenario, backend)?;
            if results.code == exit::INTERRUPTED {
                return Ok(exit::INTERRUPTED);
            }
            is_complete &= results.code != exit::INCOMPLETE;
            cells.extend(results.document["cells"].as_array().cloned());
        }
        for cell in cells.iter().flatten() {
            print(&remarks(&scenario.name, cell))?;
        }
        if let [sim, live] = &cells[..] {
            rows.extend(agreement::compare(&scenario.name, sim, live));
        }
    }
    print(&agreement::table(&rows))?;
    let svg = agreement::picture(&rows)
        .map_err(|error| Failure::run(error.to_string(), "look at the errors of the cells"))?;
    replace(&dir.join("agreement.svg"), svg.as_bytes())?;
    Ok(match rows.iter().all(agreement::Row::holds) {
        // Cells that failed have no rows, and show nothing.
        _ if !is_complete => exit::INCOMPLETE,
        true => exit::DONE,
        false => exit::ASSERTION,
    })
}

/// Plays a scenario. Cells that were played before are kept.
fn play(
    asked: &Agree,
    file: &Path,
    scenario: &Scenario,
    backend: Backend,
) -> Result<Results, Failure> {
    let name = dccp_lab::scenario::plan::Backend::from(backend).name();
    let json = asked.out.join(format!("{}-{name}.json", scenario.name));
    let run = Run {
        json: Some(json),
        resume: true,
        quick: asked.quick,
        ..Run::of(file.to_owned(), backend)
    };
    play_scenario(&run, scenario)
}

/// The error and the warnings of a cell.
fn remarks(name: &str, cell: &Value) -> String {
    let label = cell["label"].as_str().unwrap_or_default();
    let warnings = cell["warnings"].as_array().into_iter().flatten();
    let texts = warnings.chain([&cell["error"]]).filter_map(Value::as_str);
    let lines = texts.map(|text| ["warning: ", name, " ", label, ": ", text, "\n"].concat());
    lines.collect()
}
