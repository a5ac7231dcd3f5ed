//! `dccplab check FILE`: is it a scenario, and what would be run?

use super::scenario;
use core::time::Duration;
use dccp_cli::{Failure, exit, print};
use dccp_lab::output::count;
use dccp_lab::scenario::Scale;
use dccp_lab::scenario::plan::Run;
use std::path::Path;

/// Reads a scenario at both scales and says what it is.
pub(crate) fn run(file: &Path) -> Result<u8, Failure> {
    let scenario = scenario(file, Scale::Full)?;
    let quick = super::scenario(file, Scale::Quick)?;
    let time: Duration = scenario.runs.iter().map(|run| run.end).sum();
    let clock = if scenario.measures_this_machine() {
        "real"
    } else {
        "virtual"
    };
    let mut lines = vec![format!(
        "{}: {}, {} s of {clock} time",
        scenario.name,
        count(scenario.runs.len(), "cell"),
        time.as_secs_f64()
    )];
    if quick.runs != scenario.runs {
        let time: Duration = quick.runs.iter().map(|run| run.end).sum();
        let (cells, time) = (count(quick.runs.len(), "cell"), time.as_secs_f64());
        lines.push(format!("with --quick: {cells}, {time} s of {clock} time"));
    }
    let cell = |run: &Run| format!("{}  {}", &run.key()[..12], run.label());
    lines.extend(scenario.runs.iter().map(cell));
    print(&(lines.join("\n") + "\n"))?;
    Ok(exit::DONE)
}
