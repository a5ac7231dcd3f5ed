//! `dccplab recommend [DIR]`: which stack for which path, by the results of `dccplab reproduce`.

use crate::args::{REPRODUCTION, Recommend};
use crate::folder;
use crate::store::replace;
use dccp_cli::{Failure, exit, print};
use dccp_lab::output::{recommend as text, report};
use dccp_lab::recommend::{Advice, Results, recommend};
use dccp_lab::scenario::Scale;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// Prints the rankings, and writes the page if that was asked for.
pub(crate) fn run(asked: &Recommend) -> Result<u8, Failure> {
    let scale = folder::scale(asked.quick);
    let folder = folder::of_scale(&asked.dir, scale);
    let advice = advice(&folder, &command(asked))?;
    if let Some(path) = &asked.html {
        let html = report::recommend(&advice, &folder.display().to_string());
        replace(path, html.as_bytes())?;
    }
    if asked.json {
        let document = serde_json::to_string_pretty(&advice).expect("all keys are texts");
        print(&format!("{document}\n"))?;
    } else {
        print(&text::of_advice(&advice))?;
    }
    Ok(exit::DONE)
}

/// The rankings by the results in a folder.
fn advice(folder: &Path, command: &str) -> Result<Advice, Failure> {
    let load = |experiment: &str| {
        let document: Option<Document> = folder::read(folder, experiment)?;
        Ok(document.map(|document| Results {
            scale: document.record.scale,
            cells: document.cells.into_iter().map(Cell::into_value).collect(),
        }))
    };
    let advice = recommend(load, command)?;
    if advice.paths.is_empty() {
        let what = format!("{} has no results that rank stacks", folder.display());
        return Err(Failure::usage(what, folder::hint(folder)));
    }
    Ok(advice)
}

/// The command that makes missing results in the same folder.
fn command(asked: &Recommend) -> String {
    let (dir, is_quick) = match folder::above_quick(&asked.dir) {
        Some(dir) => (dir, true),
        None => (asked.dir.as_path(), asked.quick),
    };
    let mut words = vec!["dccplab reproduce".to_owned()];
    if is_quick {
        words.push("--quick".to_owned());
    }
    if dir != Path::new(REPRODUCTION) {
        words.push(format!("--out {}", dir.display()));
    }
    words.join(" ")
}

/// The part of a result that rankings need. Series are left out, because they are most of a result.
#[derive(Deserialize)]
struct Document {
    record: Record,
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Record {
    scale: Scale,
}

#[derive(Deserialize)]
struct Cell {
    variables: Value,
    repeat: u32,
    error: Option<String>,
    summary: Value,
}

impl Cell {
    fn into_value(self) -> Value {
        let Self {
            variables,
            repeat,
            error,
            summary,
        } = self;
        json!({ "variables": variables, "repeat": repeat, "error": error, "summary": summary })
    }
}
