//! `dccpmon export FILE`: a saved result in another form.

use crate::cli::export::Export;
use crate::cmd::{media, rr, sweep};
use crate::output::{self, Format};
use crate::result::figures::FIGURES;
use crate::result::stored;
use crate::schema::{self, Document};
use dccp_cli::{Failure, exit, print};
use std::path::Path;

/// Prints the result; gives the exit code.
///
/// # Errors
/// The file is no result.
pub(crate) fn run(asked: &Export) -> Result<u8, Failure> {
    let text = match &asked.file {
        Some(file) => form(file, &stored::read(file)?, asked.to)?,
        None if asked.schema => schema::json_schema(),
        None => figures(),
    };
    print(&text)?;
    Ok(exit::DONE)
}

/// The result in a form. Kinds of tests without flows have a table and documents.
fn form(file: &Path, document: &Document, to: Format) -> Result<String, Failure> {
    let table = if document.rr.is_some() {
        rr::table
    } else if document.media.is_some() {
        media::table
    } else if document.points.is_some() {
        sweep::stored
    } else {
        return Ok(output::export(document, to));
    };
    match to {
        Format::Table | Format::Live => Ok(table(document)),
        Format::Json | Format::JsonStream | Format::None => Ok(output::export(document, to)),
        _ => {
            let file = file.display();
            Err(Failure::usage(
                format!("{file}: a result of `{}` has no such form", document.kind),
                "choose --to table or --to json",
            ))
        }
    }
}

fn figures() -> String {
    let line = |figure: &crate::result::figures::Figure| {
        let (name, example) = (figure.name, figure.kind.example());
        format!("{name:<31} {example:<5} {}\n", figure.meaning)
    };
    FIGURES.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_line() {
        let text = figures();
        assert_eq!(text.lines().count(), FIGURES.len());
        let first =
            "goodput                         900M  application data that arrived, all flows\n";
        assert!(text.starts_with(first), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
