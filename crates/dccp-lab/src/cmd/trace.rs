//! `dccplab trace PRESET`: the rate of a preset's link over time, for other programs.

use crate::args::Trace as Asked;
use dccp_cli::{Failure, exit, print};
use dccp_sim::Seed;
use dccp_sim::rate_trace::model::{Model, Preset};

/// Prints a trace in mahimahi's format.
pub(crate) fn run(asked: &Asked) -> Result<u8, Failure> {
    let preset = Preset::named(&asked.preset);
    let preset = preset.unwrap_or_else(|| unreachable!("the command line knows the presets"));
    let model = Model {
        duration: asked.duration.unwrap_or(preset.model.duration),
        ..preset.model
    };
    let stream = Seed(asked.seed).stream(&format!("trace {}", preset.name));
    print(&model.draw(&stream).to_text())?;
    Ok(exit::DONE)
}
