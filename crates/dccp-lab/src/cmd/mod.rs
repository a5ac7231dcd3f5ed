//! The subcommands.

pub(crate) mod agree;
pub(crate) mod check;
pub(crate) mod claims;
pub(crate) mod clean;
mod live;
mod pages;
pub(crate) mod recommend;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod trace;

use dccp_cli::Failure;
use dccp_lab::scenario::{Scale, Scenario, ScenarioError};
use std::path::Path;

/// Reads a scenario. Of several mistakes, the last is the failure; the others are printed at once.
fn scenario(file: &Path, scale: Scale) -> Result<Scenario, Failure> {
    readable(Scenario::read(file, scale))
}

fn readable(scenario: Result<Scenario, Vec<ScenarioError>>) -> Result<Scenario, Failure> {
    scenario.map_err(|errors| {
        let failures = errors.into_iter().map(|error| {
            let what = error.to_string();
            match error.position {
                Some(_) => Failure::usage(what, error.next),
                None => Failure::run(what, error.next),
            }
        });
        let mut failures: Vec<Failure> = failures.collect();
        let last = failures.pop();
        for failure in failures {
            eprintln!("{failure}");
        }
        last.unwrap_or_else(|| unreachable!("an unreadable scenario has a mistake"))
    })
}
