//! One run in the simulator.

use super::agenda::{Task, agenda};
use super::outcome::Outcome;
use super::recorder::Recorder;
use super::streams;
use crate::scenario::plan::Run;
use core::time::Duration;
use dccp_proto::Instant;
use std::io::Write;

/// Bounds the events of a run: a processor core needs days for them.
const EVENTS_MAX: u64 = 100_000_000_000;

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The capture cannot be written.
    #[error("the capture cannot be written: {0}")]
    Capture(#[from] std::io::Error),
    /// The run makes more events than the simulator should work through.
    #[error(
        "more than {max} events until {at_s} s: write lower rates, larger datagrams or a shorter run"
    )]
    TooManyEvents {
        /// The bound.
        max: u64,
        /// The virtual time when the run was given up, in seconds.
        at_s: f64,
    },
}

/// Where packets are captured.
pub struct Capture {
    /// The capture file.
    pub out: Box<dyn Write>,
    /// The bytes of each packet to write, at most.
    pub snap: usize,
}

/// Plays a run. `progress` gets the virtual time that has passed, and returns whether to go on; if not, there
/// is no outcome. All packets of the first flow's sender go to `capture`.
///
/// # Errors
/// The capture cannot be written, or the run makes too many events.
///
/// # Panics
/// If a checker of the simulator finds a violation: the message says how to repeat it.
pub fn play(
    run: &Run,
    capture: Option<Capture>,
    progress: impl FnMut(Duration) -> bool,
) -> Result<Option<Outcome>, PlayError> {
    play_within(run, EVENTS_MAX, capture, progress)
}

/// Like [`play`], with a bound of the events.
fn play_within(
    run: &Run,
    events_max: u64,
    capture: Option<Capture>,
    mut progress: impl FnMut(Duration) -> bool,
) -> Result<Option<Outcome>, PlayError> {
    let mut recorder = Recorder::new(run, streams::Stage::new(run));
    if let (Some(capture), Some(flow)) = (capture, run.flows.first()) {
        let node = recorder.stage.node(flow.from);
        let Capture { out, snap } = capture;
        recorder.stage.world.capture_up_to(node, out, snap);
    }
    for (at, task) in agenda(run) {
        recorder.stage.world.run_until(Instant::ZERO + at);
        recorder.perform(at, task);
        if recorder.stage.world.events() > events_max {
            let (max, at_s) = (events_max, at.as_secs_f64());
            return Err(PlayError::TooManyEvents { max, at_s });
        }
        if matches!(task, Task::Look) && !progress(at) {
            return Ok(None);
        }
    }
    recorder.stage.world.run_until(Instant::ZERO + run.end);
    recorder.stage.world.check();
    recorder.stage.world.finish_captures()?;
    Ok(Some(recorder.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    const SMALL: &str = r#"
schema = "dccplab/1"
name = "small"
seed = 1
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "10Mbit"
[[flow]]
id = "f"
from = "a"
to = "b"
stop = "2s"
"#;

    #[test]
    fn run_with_too_many_events_is_given_up() {
        let scenario = Scenario::parse(SMALL, "small", Scale::Full).expect("a scenario");
        let run = &scenario.runs[0];
        let played = |max| play_within(run, max, None, |_| true);
        let error = played(1000).expect_err("too many events").to_string();
        assert!(
            error.starts_with("more than 1000 events until 0."),
            "{error}"
        );
        assert!(played(1_000_000).is_ok_and(|outcome| outcome.is_some()));
    }
}
