//! Results as one HTML page: `dccplab report`.
//!
//! A page is made of documents alone, as `dccplab run --json` wrote them. The scenario's text in them gives the
//! network and the schedule.

mod assertions;
mod compare;
mod delays;
mod groups;
mod heat;
mod index;
mod losses;
mod multiples;
mod network;
mod over_time;
mod recommend;
mod record;
mod stability;
mod summary;
mod tables;

pub use compare::{Mismatch, compare};
pub use index::{INDEX, Listed, index};
pub use recommend::recommend;

use super::json::SCHEMA;
use super::read::{each, text};
use crate::scenario::plan::Run;
use crate::scenario::{Scale, Scenario};
use dccp_report::{Link, Page, Section};
use groups::Group;
use serde_json::Value;

/// A document, and what its scenario says.
#[derive(Debug)]
pub struct Source {
    file: String,
    document: Value,
    /// The scenario, or why there is none.
    scenario: Result<Scenario, String>,
}

/// A document that cannot become a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceError {
    /// It is no result of this program: the schema that it names.
    Foreign(String),
    /// It has no cell.
    NoCells,
}

impl Source {
    /// Takes a document; `file` is its name for readers.
    ///
    /// # Errors
    /// It is no result, or has no cell.
    pub fn new(file: &str, document: Value) -> Result<Self, SourceError> {
        Self::check_result(&document)?;
        Ok(Self {
            file: file.to_owned(),
            scenario: scenario_of(&document),
            document,
        })
    }

    /// Takes a document of a scenario that is read already.
    ///
    /// # Errors
    /// It is no result, or has no cell.
    pub fn of_scenario(
        file: &str,
        document: Value,
        scenario: Scenario,
    ) -> Result<Self, SourceError> {
        Self::check_result(&document)?;
        Ok(Self {
            file: file.to_owned(),
            scenario: Ok(scenario),
            document,
        })
    }

    fn check_result(document: &Value) -> Result<(), SourceError> {
        if document["schema"] != SCHEMA {
            let schema = match &document["schema"] {
                Value::String(schema) => schema.clone(),
                _ => "missing".to_owned(),
            };
            return Err(SourceError::Foreign(schema));
        }
        if each(&document["cells"]).next().is_none() {
            return Err(SourceError::NoCells);
        }
        Ok(())
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        text(&self.document["record"]["name"])
    }

    fn cells(&self) -> &[Value] {
        self.document["cells"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Cells that differ only in their repetition, together.
    fn groups(&self) -> Vec<Group<'_>> {
        groups::of_cells(self.cells(), self.name())
    }

    /// The plan of a cell.
    fn run(&self, cell: &Value) -> Option<&Run> {
        let runs = &self.scenario.as_ref().ok()?.runs;
        let has_its_names = |run: &&Run| {
            let mut variables = run.cell.iter();
            run.phase.as_deref() == cell["phase"].as_str()
                && cell["repeat"] == run.repeat
                && variables.all(|(name, value)| cell["variables"][name] == **value)
        };
        runs.iter().find(has_its_names)
    }

    /// The names of the variables, in the order of the scenario if it is known.
    fn variables(&self) -> Vec<String> {
        let run = self
            .scenario
            .as_ref()
            .ok()
            .and_then(|scenario| scenario.runs.first());
        if let Some(run) = run {
            return run.cell.iter().map(|(name, _)| name.clone()).collect();
        }
        let variables = self
            .cells()
            .first()
            .and_then(|cell| cell["variables"].as_object());
        variables.map_or_else(Vec::new, |variables| variables.keys().cloned().collect())
    }
}

/// The scenario in a document. Files that it names are looked for beside the path that it was run from.
fn scenario_of(document: &Value) -> Result<Scenario, String> {
    let record = &document["record"];
    let Some(scenario) = record["scenario"].as_str() else {
        return Err("the result is of a version that did not keep the scenario".into());
    };
    let file = record["argv"][2].as_str().unwrap_or("scenario");
    let scale = match record["scale"].as_str() {
        Some("quick") => Scale::Quick,
        _ => Scale::Full,
    };
    Scenario::parse(scenario, file, scale).map_err(|errors| {
        let first = errors.first().map(ToString::to_string);
        format!(
            "this version cannot read the scenario: {}",
            first.unwrap_or_default()
        )
    })
}

/// A part of the page.
type Fill = fn(&mut Section, &Source);

const PARTS: [(&str, Fill); 11] = [
    ("Summary", summary::fill),
    ("Topology", network::fill),
    ("Tables", tables::fill),
    ("Heat maps", heat::fill),
    ("Stability", stability::fill),
    ("Cells over time", over_time::fill),
    ("Distributions", delays::fill),
    ("Loss ledger", losses::fill),
    ("Schedule", network::schedule),
    ("Assertions", assertions::fill),
    ("Record", record::fill),
];

/// The page of one document or several, one after the other.
pub fn page(sources: &[Source]) -> String {
    of_sources(sources).to_string()
}

/// The page of an experiment in the folder of [`INDEX`], which it has a link to.
pub fn page_of_experiment(source: &Source) -> String {
    let link = Link {
        file: INDEX.to_owned(),
        text: "All experiments".to_owned(),
    };
    of_sources(core::slice::from_ref(source))
        .home(link)
        .to_string()
}

fn of_sources(sources: &[Source]) -> Page {
    let names: Vec<&str> = sources.iter().map(Source::name).collect();
    let mut page = Page::new(&names.join(", "));
    if let [source] = sources {
        page = page.subtitle(&record::line(source));
    }
    for source in sources {
        for (heading, fill) in PARTS {
            let heading = if sources.len() > 1 {
                format!("{}: {heading}", source.file)
            } else {
                heading.to_owned()
            };
            page = page.section(&heading, |section| fill(section, source));
        }
    }
    page
}

/// A number with about four digits.
fn short(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if size >= 1000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// The mark of an assertion or of a table, readable without colours.
fn mark(value: &Value) -> String {
    match text(value) {
        "" => "–".to_owned(),
        "holds" => "✓ holds".to_owned(),
        "fails" => "✗ fails".to_owned(),
        other => other.to_owned(),
    }
}
