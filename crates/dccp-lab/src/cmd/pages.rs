//! The pages in a folder of `dccplab reproduce`: one for each experiment, and `index.html`.

use super::claims::judged;
use crate::folder::{self, Stored, times};
use crate::store::replace;
use core::time::Duration;
use dccp_cli::Failure;
use dccp_lab::output::report::{INDEX, Listed, Source, index, page_of_experiment};
use dccp_lab::papers::{EXPERIMENTS, Experiment};
use std::path::{Path, PathBuf};

/// Writes the page of an experiment beside its result.
pub(crate) fn write(result: &Path, source: &Source) -> Result<(), Failure> {
    replace(&page_of(result), page_of_experiment(source).as_bytes())
}

/// Writes the page that leads to all others.
pub(crate) fn write_index(folder: &Path, stored: &[Stored]) -> Result<PathBuf, Failure> {
    let times = times::read(folder);
    let listed = |one: &Stored| {
        let page = page_of(&folder::file_of(folder, one.name));
        let name = page.file_name().filter(|_| page.exists());
        let experiment = EXPERIMENTS.iter().find(|e| e.name == one.name);
        let cells = one.cells.iter();
        Listed {
            name: one.name.to_owned(),
            title: experiment.map(Experiment::title).unwrap_or_default(),
            page: name.map(|name| name.display().to_string()),
            scale: one.scale,
            cells: one.cells.len(),
            failed: one.cells.iter().filter(|cell| cell.error.is_some()).count(),
            virtual_time: cells
                .map(|cell| Duration::from_nanos(cell.duration_ns))
                .sum(),
            run_time: times.get(one.name).copied().map(Duration::from_secs_f64),
            assertions: one.assertions.clone(),
        }
    };
    let listed: Vec<Listed> = stored.iter().map(listed).collect();
    let html = index(&listed, &judged(stored), &folder.display().to_string());
    let path = folder.join(INDEX);
    replace(&path, html.as_bytes())?;
    Ok(path)
}

fn page_of(result: &Path) -> PathBuf {
    result.with_extension("html")
}
