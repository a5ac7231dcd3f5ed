//! The lab: scenario files are run, and their results become tables and pictures.
//!
//! ```text
//! FILE.toml ─ scenario ─→ Run … Run ─ run ─→ Outcome ─ summary ─→ output (JSON, tables, figures) ─ judge ─→ verdicts
//! ```
//! The program `dccplab` is this with a command line.

pub mod judge;
pub mod media;
pub mod metrics;
mod mistake;
pub mod output;
pub mod papers;
pub mod quartiles;
pub mod recommend;
pub mod run;
pub mod scenario;
mod suggestion;
pub mod summary;
