//! The folder of `dccplab reproduce`: a file for each experiment. Quick results have a folder of their own below that
//! of the full ones, so that neither replaces the other.

pub(crate) mod times;

use dccp_cli::Failure;
use dccp_lab::judge::verdict::AssertionVerdict;
use dccp_lab::papers::{EXPERIMENTS, Scales};
use dccp_lab::scenario::Scale;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of quick results, below that of full results.
const QUICK: &str = "quick";

/// The folder of the results of a scale.
pub(crate) fn of_scale(dir: &Path, scale: Scale) -> PathBuf {
    match scale {
        Scale::Full => dir.to_owned(),
        Scale::Quick => dir.join(QUICK),
    }
}

/// The folder of full results above one of quick results; `None` if it is none.
pub(crate) fn above_quick(dir: &Path) -> Option<&Path> {
    dir.parent().filter(|_| dir.ends_with(QUICK))
}

/// The scale that a command line asks for.
pub(crate) fn scale(is_quick: bool) -> Scale {
    if is_quick { Scale::Quick } else { Scale::Full }
}

/// The file of an experiment's results.
pub(crate) fn file_of(folder: &Path, experiment: &str) -> PathBuf {
    folder.join(format!("{experiment}.json"))
}

/// The part of an experiment's result that tables of experiments need.
pub(crate) struct Stored {
    /// The experiment.
    pub(crate) name: &'static str,
    /// Its size.
    pub(crate) scale: Scale,
    /// Its cells.
    pub(crate) cells: Vec<Cell>,
    /// The outcome of each assertion.
    pub(crate) assertions: Vec<AssertionVerdict>,
}

/// The part of a cell that tables of experiments need.
#[derive(Deserialize)]
pub(crate) struct Cell {
    /// Simulated time.
    pub(crate) duration_ns: u64,
    /// Why the cell failed.
    pub(crate) error: Option<String>,
}

/// The same part as the file has it.
#[derive(Deserialize)]
struct Document {
    record: Record,
    cells: Vec<Cell>,
    assertions: Vec<AssertionVerdict>,
}

#[derive(Deserialize)]
struct Record {
    name: String,
    scale: Scale,
}

/// The results of all experiments that are in a folder, in the order of their numbers.
pub(crate) fn stored(folder: &Path) -> Result<Vec<Stored>, Failure> {
    let mut all = Vec::new();
    for experiment in EXPERIMENTS {
        let document: Option<Document> = read(folder, experiment.name)?;
        if let Some(other) = document.as_ref().map(|d| &d.record.name)
            && other != experiment.name
        {
            let path = file_of(folder, experiment.name);
            return Err(Failure::usage(
                format!(
                    "{} holds results of another scenario, {other}",
                    path.display()
                ),
                "remove it, and run `dccplab reproduce` again",
            ));
        }
        all.extend(document.map(|document| Stored {
            name: experiment.name,
            scale: document.record.scale,
            cells: document.cells,
            assertions: document.assertions,
        }));
    }
    if all.is_empty() {
        let what = format!("{} has no results of experiments", folder.display());
        return Err(Failure::usage(what, hint(folder)));
    }
    Ok(all)
}

/// A part of the results of an experiment; `None` if there are none.
pub(crate) fn read<T: DeserializeOwned>(
    folder: &Path,
    experiment: &str,
) -> Result<Option<T>, Failure> {
    let path = file_of(folder, experiment);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let what = format!("{} cannot be read: {error}", path.display());
            return Err(Failure::run(what, "check who may read it"));
        }
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| {
        let what = format!("{} holds no results: {error}", path.display());
        Failure::usage(what, "remove it, and run `dccplab reproduce` again")
    })
}

/// The scales of results.
pub(crate) fn scales(results: &[Stored]) -> Scales {
    Scales::of(results.iter().map(|stored| (stored.name, stored.scale)))
}

/// The next step if a folder lacks results. Those of a quick run below it are worth a hint.
pub(crate) fn hint(folder: &Path) -> String {
    let quick = folder.join(QUICK);
    let mut experiments = EXPERIMENTS.iter();
    if experiments.any(|e| file_of(&quick, e.name).exists()) {
        return format!("add --quick: {} has quick results", quick.display());
    }
    "run `dccplab reproduce --quick` first, or name its folder".to_owned()
}
