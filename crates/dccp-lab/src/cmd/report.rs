//! `dccplab report RESULT…`: results as one HTML page.

use super::pages;
use crate::args::Report as Asked;
use crate::folder;
use crate::store::{check_distinct, replace};
use dccp_cli::{Failure, exit, print};
use dccp_lab::output::report::{Mismatch, Source, SourceError, compare, page};
use std::fs;
use std::path::Path;

/// Writes the page that was asked for.
pub(crate) fn run(asked: &Asked) -> Result<u8, Failure> {
    if let [folder] = &asked.results[..]
        && folder.is_dir()
    {
        return pages_of(asked, folder);
    }
    let results = asked.results.iter();
    let sources: Vec<Source> = results.map(|path| read(path)).collect::<Result<_, _>>()?;
    let html = if asked.compare {
        let [a, b] = &sources[..] else {
            return Err(Failure::usage(
                format!("--compare: must have two results, not {}", sources.len()),
                "write `dccplab report --compare A B`",
            ));
        };
        compare(a, b).map_err(|mismatch| explain(a, b, mismatch))?
    } else {
        page(&sources)
    };
    let path = asked.page();
    for result in &asked.results {
        check_distinct([("the result", &**result), ("the page", &*path)])?;
    }
    replace(&path, html.as_bytes())?;
    print(&format!("{}: {} kB\n", path.display(), html.len() / 1000))?;
    Ok(exit::DONE)
}

/// Writes the pages of all experiments in a folder of `dccplab reproduce`.
fn pages_of(asked: &Asked, folder: &Path) -> Result<u8, Failure> {
    if asked.html.is_some() || asked.compare {
        return Err(Failure::usage(
            format!("{}: must be a result, not a folder", folder.display()),
            "leave --html and --compare out: the pages of a folder have their places in it",
        ));
    }
    let stored = folder::stored(folder)?;
    for one in &stored {
        let path = folder::file_of(folder, one.name);
        pages::write(&path, &read(&path)?)?;
    }
    let index = pages::write_index(folder, &stored)?;
    print(&format!("{}\n", index.display()))?;
    Ok(exit::DONE)
}

/// Reads a result.
fn read(path: &Path) -> Result<Source, Failure> {
    const NEXT: &str = "write results with `dccplab run SCENARIO --json FILE`";
    let file = path.display().to_string();
    let text = fs::read(path).map_err(|e| {
        let next = "check the file's name, and who may read it";
        Failure::run(format!("{file}: cannot be read: {e}"), next)
    })?;
    let document = serde_json::from_slice(&text).map_err(|e| {
        Failure::usage(
            format!("{file}: must be a result of dccplab, but is no JSON: {e}"),
            NEXT,
        )
    })?;
    Source::new(&file, document).map_err(|error| match error {
        SourceError::Foreign(schema) => {
            let what = format!("{file}: must be a result of dccplab, but its schema is {schema}");
            Failure::usage(what, NEXT)
        }
        SourceError::NoCells => Failure::usage(
            format!("{file}: must have a cell, but has none"),
            "run the scenario again: `dccplab run SCENARIO --json FILE --resume` keeps what is finished",
        ),
    })
}

fn explain(a: &Source, b: &Source, mismatch: Mismatch) -> Failure {
    match mismatch {
        Mismatch::Scenario => Failure::usage(
            format!(
                "--compare: both must be results of one scenario, but are of {} and {}",
                a.name(),
                b.name()
            ),
            "leave --compare out: `dccplab report A B` shows both, one after the other",
        ),
        Mismatch::Cells => Failure::usage(
            "--compare: both must have a cell with the same variables, phase and repetition",
            "run the same cells: `dccplab check SCENARIO` lists them",
        ),
    }
}
