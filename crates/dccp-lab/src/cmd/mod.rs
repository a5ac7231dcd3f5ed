//! The subcommands.

pub(crate) mod check;
pub(crate) mod run;

use dccp_cli::Failure;
use dccp_lab::scenario::Scenario;
use std::path::Path;

/// Reads a scenario.
fn scenario(file: &Path) -> Result<Scenario, Failure> {
    Scenario::read(file).map_err(|error| {
        let what = error.to_string();
        match error.line {
            Some(_) => Failure::usage(what, error.next),
            None => Failure::run(what, error.next),
        }
    })
}
