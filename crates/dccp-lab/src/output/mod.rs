//! Results: as JSON, as tables, as pictures.

pub mod columns;
pub mod csv;
pub mod figure;
pub mod json;
pub mod parquet;
mod read;
pub mod table;
