//! The time that each experiment of a folder took, in `times.json`. Results are the same on all machines, so they do
//! not have it.

use crate::store::replace;
use core::time::Duration;
use dccp_cli::Failure;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The name of the file.
const FILE: &str = "times.json";

/// Seconds by the names of experiments. A file that is missing or damaged only means that no time is known.
pub(crate) fn read(folder: &Path) -> BTreeMap<String, f64> {
    let text = fs::read(folder.join(FILE)).unwrap_or_default();
    let times: BTreeMap<String, f64> = serde_json::from_slice(&text).unwrap_or_default();
    let sensible = times.into_iter();
    sensible.filter(|(_, s)| (0.0..1e9).contains(s)).collect()
}

/// Notes the time of an experiment. If it kept cells from before, their time is part of it.
pub(crate) fn note(
    folder: &Path,
    experiment: &str,
    time: Duration,
    has_kept_cells: bool,
) -> Result<(), Failure> {
    let mut times = read(folder);
    let known = times.get(experiment).copied().filter(|_| has_kept_cells);
    let time = known.unwrap_or(0.0) + time.as_secs_f64();
    times.insert(experiment.to_owned(), time);
    let text = serde_json::to_string_pretty(&times).expect("all keys are texts");
    replace(&folder.join(FILE), format!("{text}\n").as_bytes())
}
