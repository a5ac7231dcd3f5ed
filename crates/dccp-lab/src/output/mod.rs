//! Results: as JSON, as tables, as pictures, as pages.

pub mod figure;
pub mod json;
mod read;
pub mod report;
pub mod table;
