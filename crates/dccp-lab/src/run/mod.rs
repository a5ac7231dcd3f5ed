//! Runs of a scenario, and what they measure.

mod agenda;
pub mod outcome;
pub mod sim;
mod streams;
