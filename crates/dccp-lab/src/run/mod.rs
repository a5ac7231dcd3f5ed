//! Runs of a scenario, and what they measure.

pub(crate) mod agenda;
mod bench;
pub mod outcome;
pub mod pool;
pub mod progress;
pub mod sim;
mod streams;
mod work;
