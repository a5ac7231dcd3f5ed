//! Runs of a scenario, and what they measure.

pub(crate) mod agenda;
pub mod outcome;
pub mod pool;
pub mod sim;
mod streams;
