//! `dccplab claims [DIR]`: which claims of the papers hold, by the results of `dccplab reproduce`.

use crate::args::Claims;
use dccp_cli::{Failure, exit, print};
use dccp_lab::judge::verdict::AssertionVerdict;
use dccp_lab::output::claims::of_claims;
use dccp_lab::papers::{self, ClaimVerdict, EXPERIMENTS};
use serde::Deserialize;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// Prints the marks.
pub(crate) fn run(asked: &Claims) -> Result<u8, Failure> {
    let claims = judged(&asked.dir)?;
    if asked.json {
        let text = serde_json::to_string_pretty(&claims).expect("all keys are texts");
        print(&format!("{text}\n"))?;
    } else {
        print(&of_claims(&claims))?;
    }
    Ok(exit::DONE)
}

/// The part of a result that decides about claims.
#[derive(Deserialize)]
struct Judged {
    assertions: Vec<AssertionVerdict>,
}

/// The marks of all claims, by the results in a folder.
pub(crate) fn judged(dir: &Path) -> Result<Vec<ClaimVerdict>, Failure> {
    let mut results = Vec::new();
    for experiment in EXPERIMENTS {
        let path = file_of(dir, experiment.name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                let what = format!("{} cannot be read: {error}", path.display());
                return Err(Failure::run(what, "check who may read it"));
            }
        };
        let result: Judged = serde_json::from_reader(BufReader::new(file)).map_err(|error| {
            let what = format!("{} holds no results: {error}", path.display());
            Failure::usage(what, "remove it, and run `dccplab reproduce` again")
        })?;
        results.push((experiment.name, result.assertions));
    }
    if results.is_empty() {
        return Err(Failure::usage(
            format!("{} has no results of experiments", dir.display()),
            "run `dccplab reproduce --quick` first, or name its folder",
        ));
    }
    Ok(papers::judge(&papers::claims(), &results))
}

/// The file of an experiment's results.
pub(crate) fn file_of(dir: &Path, experiment: &str) -> PathBuf {
    dir.join(format!("{experiment}.json"))
}
