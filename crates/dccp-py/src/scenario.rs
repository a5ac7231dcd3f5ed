//! Scenarios: read, listed, played.

use crate::law::{Faults, Settings};
use crate::results::{Results, program_hash};
use core::time::Duration;
use dccp_cli::law::Laws;
use dccp_lab::output::json;
use dccp_lab::run::pool::{self, News};
use dccp_lab::run::progress::Progress;
use dccp_lab::scenario::plan::Run;
use dccp_lab::scenario::{self, Scale};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Real time between two looks at signals, which also report progress.
const PAUSE: Duration = Duration::from_millis(100);

/// A law of the caller: its name, what makes one, and a text that names its code.
type CallersLaw = (String, Py<PyAny>, String);

/// A mistake in a scenario: file, line and column if known, description, hint.
type Mistake = (String, Option<(usize, usize)>, String, String);

/// A scenario.
#[pyclass(frozen, module = "usrdccp._native")]
pub(crate) struct Scenario {
    scenario: Arc<scenario::Scenario>,
    faults: Faults,
}

/// A cell: one run of a scenario.
#[pyclass(frozen, get_all, module = "usrdccp._native")]
pub(crate) struct Cell {
    key: String,
    label: String,
    variables: BTreeMap<String, String>,
    drawn: BTreeMap<String, String>,
    phase: Option<String>,
    repeat: u32,
    seed: u64,
    duration_s: f64,
}

const fn scale(quick: bool) -> Scale {
    if quick { Scale::Quick } else { Scale::Full }
}

#[pymethods]
#[expect(
    clippy::needless_pass_by_value,
    reason = "Python's lists become vectors"
)]
impl Scenario {
    /// Parses the bytes of a file. Mistakes are the argument of the `ValueError`.
    #[staticmethod]
    fn parse(text: &[u8], file: &str, laws: Vec<CallersLaw>, quick: bool) -> PyResult<Self> {
        let faults = Faults::default();
        let mut known = Laws::default();
        for (name, make, code) in laws {
            let settings = Settings::new(&name, make, code, faults.clone());
            let added = known.add(settings.into());
            added.map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        let parsed = scenario::Scenario::from_bytes(text, file, scale(quick), &known);
        let scenario = parsed.map_err(|errors| {
            let mistakes = errors.into_iter();
            let mistakes: Vec<Mistake> = mistakes
                .map(|error| (error.file, error.position, error.what, error.next))
                .collect();
            PyValueError::new_err((mistakes,))
        })?;
        Ok(Self {
            scenario: Arc::new(scenario),
            faults,
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    #[getter]
    fn source(&self) -> Option<&str> {
        self.scenario.source.as_deref()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.scenario.seed
    }

    /// All cells, in the order of the scenario.
    fn cells(&self) -> Vec<Cell> {
        self.scenario.runs.iter().map(cell).collect()
    }

    /// The numbers of the cells with one of these names.
    fn chosen(&self, names: Vec<String>) -> PyResult<Vec<usize>> {
        let runs = &self.scenario.runs;
        for name in &names {
            if !runs.iter().any(|run| run.is_called(name)) {
                let what = format!("{name}: there is no such cell; `cells` lists them");
                return Err(PyKeyError::new_err(what));
            }
        }
        let is_chosen = |n: &usize| names.iter().any(|name| runs[*n].is_called(name));
        Ok((0..runs.len()).filter(is_chosen).collect())
    }

    /// Plays cells on threads. `tell` gets the share of the work and the number of cells that are over.
    #[pyo3(signature = (numbers, jobs, tell))]
    fn play(
        &self,
        py: Python<'_>,
        numbers: Vec<usize>,
        jobs: Option<usize>,
        tell: Option<Py<PyAny>>,
    ) -> PyResult<Results> {
        let runs = self.runs(&numbers)?;
        let cores = std::thread::available_parallelism().map_or(1, core::num::NonZero::get);
        let play = Play {
            progress: Progress::new(&runs, &[]),
            cells: vec![None; runs.len()],
            looked: now(),
            faults: &self.faults,
            tell,
            runs,
        };
        let cells = py.detach(|| play.run(jobs.unwrap_or(cores)))?;
        Ok(Results::new(
            Arc::clone(&self.scenario),
            cells,
            program_hash(py)?,
        ))
    }

    /// Results from cells that were played elsewhere, as the JSON of each.
    fn results(&self, py: Python<'_>, cells: Vec<String>) -> PyResult<Results> {
        let read = |text: &String| serde_json::from_str(text);
        let cells: Result<Vec<Value>, _> = cells.iter().map(read).collect();
        let cells = cells.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let hash = program_hash(py)?;
        Ok(Results::new(Arc::clone(&self.scenario), cells, hash))
    }
}

impl Scenario {
    fn runs(&self, numbers: &[usize]) -> PyResult<Vec<&Run>> {
        let run = |n: &usize| self.scenario.runs.get(*n);
        let runs: Option<Vec<&Run>> = numbers.iter().map(run).collect();
        runs.ok_or_else(|| PyIndexError::new_err("there is no such cell"))
    }
}

fn cell(run: &Run) -> Cell {
    Cell {
        key: run.key(),
        label: run.label(),
        variables: run.cell.iter().cloned().collect(),
        drawn: run.drawn.iter().cloned().collect(),
        phase: run.phase.clone(),
        repeat: run.repeat,
        seed: run.seed,
        duration_s: run.end.as_secs_f64(),
    }
}

/// Runs that are being played.
struct Play<'a> {
    runs: Vec<&'a Run>,
    progress: Progress,
    cells: Vec<Option<Value>>,
    /// When signals were last looked at.
    looked: Instant,
    faults: &'a Faults,
    tell: Option<Py<PyAny>>,
}

impl Play<'_> {
    /// Plays all runs. A signal, an error of a law or of `tell` ends it.
    fn run(mut self, jobs: usize) -> PyResult<Vec<Value>> {
        let mut result = Ok(());
        let runs = core::mem::take(&mut self.runs);
        pool::play_all(&runs, jobs, |news| {
            if result.is_ok() {
                result = self.note(&runs, news);
            }
            result.is_ok()
        });
        // The last error of a law comes after the last news.
        result.and_then(|()| self.faults.take())?;
        Python::attach(|py| self.report(py))?;
        Ok(self.cells.into_iter().flatten().collect())
    }

    fn note(&mut self, runs: &[&Run], news: Option<News>) -> PyResult<()> {
        self.faults.take()?;
        if let Some(news) = &news {
            self.progress.note(news);
        }
        if let Some(News::Over(n, outcome)) = news {
            self.cells[n] = Some(match outcome {
                Ok(outcome) => json::cell(runs[n], &outcome),
                Err(error) => json::failed(runs[n], &error),
            });
        }
        let now = now();
        if now - self.looked < PAUSE {
            return Ok(());
        }
        self.looked = now;
        Python::attach(|py| {
            py.check_signals()?;
            self.report(py)
        })
    }

    fn report(&self, py: Python<'_>) -> PyResult<()> {
        let Some(tell) = &self.tell else {
            return Ok(());
        };
        let progress = &self.progress;
        tell.call1(
            py,
            (progress.share(), progress.cells_over(), progress.cells()),
        )?;
        Ok(())
    }
}

/// The real time. No result depends on it.
#[expect(clippy::disallowed_methods, reason = "the only reader of the clock")]
fn now() -> Instant {
    Instant::now()
}
