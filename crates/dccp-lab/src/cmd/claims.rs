//! `dccplab claims [DIR]`: which claims of the papers hold, by the results of `dccplab reproduce`.

use crate::args::Claims;
use crate::folder::{self, Stored};
use dccp_cli::{Failure, exit, print};
use dccp_lab::output::claims::{heading, of_claims};
use dccp_lab::papers;
use serde_json::json;
use std::path::Path;

/// Prints the marks.
pub(crate) fn run(asked: &Claims) -> Result<u8, Failure> {
    let folder = folder::of_scale(&asked.dir, folder::scale(asked.quick));
    let stored = folder::stored(&folder)?;
    if asked.json {
        let scales = folder::scales(&stored);
        let document = json!({ "scale": scales.word(), "claims": judged(&stored) });
        let text = serde_json::to_string_pretty(&document).expect("all keys are texts");
        print(&format!("{text}\n"))?;
    } else {
        print(&table(&folder, &stored))?;
    }
    Ok(exit::DONE)
}

/// The table of claims, and above it which results it shows.
pub(crate) fn table(folder: &Path, stored: &[Stored]) -> String {
    let heading = heading(&folder::scales(stored), &folder.display().to_string());
    format!("{heading}\n{}", of_claims(&judged(stored)))
}

/// The marks of all claims, by stored results.
pub(crate) fn judged(stored: &[Stored]) -> Vec<papers::ClaimVerdict> {
    let results = stored.iter();
    let results: Vec<_> = results.map(|s| (s.name, s.assertions.clone())).collect();
    papers::judge(&papers::claims(), &results)
}
