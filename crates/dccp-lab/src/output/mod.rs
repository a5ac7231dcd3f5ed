//! Results: as JSON, as tables, as pictures, as pages.

pub mod agreement;
pub mod claims;
pub mod columns;
pub mod csv;
pub mod figure;
pub mod json;
pub mod parquet;
mod read;
pub mod recommend;
pub mod report;
pub mod table;
pub mod verdicts;

/// A word with its count: `1 cell`, `3 cells`.
pub fn count(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}
