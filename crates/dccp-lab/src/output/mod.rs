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
