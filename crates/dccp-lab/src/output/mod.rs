//! Results: as JSON, as tables, as pictures, as pages.

pub mod claims;
pub mod figure;
pub mod json;
mod read;
pub mod report;
pub mod table;
pub mod verdicts;
