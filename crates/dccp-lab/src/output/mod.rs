//! Results: as JSON, as tables, as pictures.

pub mod claims;
pub mod figure;
pub mod json;
mod read;
pub mod table;
pub mod verdicts;
