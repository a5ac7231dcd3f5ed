//! Runs of a scenario, and what they measure.

pub(crate) mod agenda;
mod bench;
#[cfg(target_os = "linux")]
pub mod hosts;
#[cfg(target_os = "linux")]
pub mod live;
pub mod outcome;
pub mod pool;
pub mod progress;
mod recorder;
pub mod sim;
mod stage;
mod streams;
mod work;
