//! `cargo xtask tidy`: the style rules that a program can check, each with its reason.

mod documents;
mod sources;

use anyhow::Result;
use regex_lite::Regex;

use crate::tree::{self, File};

/// What a rule found.
struct Finding {
    /// `path` or `path:line`.
    place: String,
    text: String,
    /// Only said, not refused.
    is_hint: bool,
}

impl Finding {
    fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        let (place, text) = (place.into(), text.into());
        Self {
            place,
            text,
            is_hint: false,
        }
    }

    /// At a byte of a file.
    fn at(file: &File, byte: usize, text: impl Into<String>) -> Self {
        let line = file.text[..byte].matches('\n').count() + 1;
        Self::new(format!("{}:{line}", file.path), text)
    }
}

type Rule = fn(&[File]) -> Vec<Finding>;

const RULES: [Rule; 8] = [
    sources::length,
    sources::unfinished,
    sources::unsafe_code,
    sources::clocks,
    documents::lints_of_crates,
    documents::machine_paths,
    documents::requirement_ids,
    documents::named_places,
];

/// A pattern that stands in the source.
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// Prints what is untidy; whether nothing is.
pub(crate) fn run() -> Result<bool> {
    let files = tree::files()?;
    let (mut refused, mut hints) = (0, 0);
    for rule in RULES {
        for Finding {
            place,
            text,
            is_hint,
        } in rule(&files)
        {
            let kind = if is_hint { "hint" } else { "untidy" };
            println!("{kind}: {place}: {text}");
            *(if is_hint { &mut hints } else { &mut refused }) += 1;
        }
    }
    println!(
        "tidy: {} files, {refused} refused, {hints} hints",
        files.len()
    );
    Ok(refused == 0)
}
