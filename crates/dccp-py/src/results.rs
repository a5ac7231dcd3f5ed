//! Results of cells: as JSON, and as tables.

use dccp_lab::output::json::Record;
use dccp_lab::output::{columns, csv, json, parquet};
use dccp_lab::scenario;
use dccp_lab::scenario::plan::Backend;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use serde_json::Value;
use std::sync::Arc;

/// Results of the cells of a scenario.
#[pyclass(frozen, module = "usrdccp._native")]
pub(crate) struct Results {
    scenario: Arc<scenario::Scenario>,
    cells: Vec<Value>,
    program_hash: String,
}

impl Results {
    pub(crate) const fn new(
        scenario: Arc<scenario::Scenario>,
        cells: Vec<Value>,
        program_hash: String,
    ) -> Self {
        Self {
            scenario,
            cells,
            program_hash,
        }
    }

    fn cell(&self, n: usize) -> PyResult<&Value> {
        let cell = self.cells.get(n);
        cell.ok_or_else(|| PyIndexError::new_err("there is no such cell"))
    }
}

#[pymethods]
impl Results {
    fn __len__(&self) -> usize {
        self.cells.len()
    }

    #[getter]
    fn program_hash(&self) -> &str {
        &self.program_hash
    }

    /// Key, label and error of each cell.
    fn heads(&self) -> Vec<(String, String, Option<String>)> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let known = |value: &Value| text(value).unwrap_or_default();
        let cells = self.cells.iter();
        cells
            .map(|cell| {
                (
                    known(&cell["key"]),
                    known(&cell["label"]),
                    text(&cell["error"]),
                )
            })
            .collect()
    }

    /// The JSON of a cell.
    fn cell_json(&self, n: usize) -> PyResult<String> {
        Ok(self.cell(n)?.to_string())
    }

    /// The whole document, as `dccplab run --json` writes it.
    fn json(&self, argv: Vec<String>) -> String {
        let (assertions, outcome) = json::judge(&self.scenario, &self.cells, self.cells.len());
        let record = Record {
            argv,
            program_hash: self.program_hash.clone(),
            backend: (self.scenario.runs.first())
                .map_or(Backend::Sim, |run| run.backend)
                .name(),
        };
        json::document(&self.scenario, &record, &self.cells, &assertions, outcome).to_string()
    }

    /// The table with a row for each flow of each cell, as CSV and as Parquet.
    fn table(&self) -> (String, Vec<u8>) {
        both(&columns::of_cells(&self.scenario.name, &self.cells))
    }

    /// The table of a cell's series.
    fn series(&self, n: usize) -> PyResult<(String, Vec<u8>)> {
        Ok(both(&columns::of_series(self.cell(n)?)))
    }
}

fn both(table: &columns::Table) -> (String, Vec<u8>) {
    (csv::of_table(table), parquet::of_table(table))
}

/// The hash of this module's file: another build may give other results.
pub(crate) fn program_hash(py: Python<'_>) -> PyResult<String> {
    static HASH: PyOnceLock<String> = PyOnceLock::new();
    let hash = HASH.get_or_try_init(py, || -> PyResult<String> {
        let module = py.import("usrdccp._native")?;
        let file: String = module.getattr("__file__")?.extract()?;
        let bytes = std::fs::read(file)?;
        Ok(blake3::hash(&bytes).to_hex().to_string())
    })?;
    Ok(hash.clone())
}
