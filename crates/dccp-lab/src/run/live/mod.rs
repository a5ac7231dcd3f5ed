//! One run in real time: network namespaces of this machine are the nodes, and the ends are real sockets.
//!
//! ```text
//! namespace a        namespace left               namespace right
//!   DCCP, TCP, UDP     forwards                     forwards
//!       l0 ═══ veth ═══ l0   l1 ─ TUN ─ emulator ─ TUN ─ l1   …
//! ```
//! - `refuse` checks that a live run can obey the plan.
//! - `network` makes namespaces and routes, `wire` the links, and `netlink` reads their counters.
//! - `testbed` begins and ends the flows of a run, and reads their state.
//! - `pump` sends what a source has, in time. The ends of streams are in `dccp`, `tcp` and `udp`.
//! - `load` is the load of the processors.
//! - `user` makes namespaces without root.

mod dccp;
mod end;
mod load;
mod netlink;
mod network;
mod pump;
mod refuse;
mod tcp;
mod testbed;
mod udp;
pub mod user;
mod wire;

use super::agenda::agenda;
use super::outcome::Outcome;
use super::recorder::Recorder;
use crate::scenario::plan::Run;
use core::time::Duration;
use dccp_netns::Namespace;
use std::io;
use testbed::Testbed;

pub(super) use refuse::kernel_law;

/// Why a live run is refused or ends without an outcome.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct LiveError {
    /// The problem.
    pub what: String,
    /// A hint for the user.
    pub next: String,
    /// True if the scenario asks for something that live runs cannot do.
    pub is_refusal: bool,
}

impl LiveError {
    /// A plan that asks for something that live runs cannot do.
    pub(super) fn refused(key: &str, what: &str, next: &str) -> Self {
        Self {
            what: format!("{key}: {what}"),
            next: next.to_owned(),
            is_refusal: true,
        }
    }

    pub(super) fn failed(what: impl Into<String>, next: &str) -> Self {
        Self {
            what: what.into(),
            next: next.to_owned(),
            is_refusal: false,
        }
    }

    /// The emulator's devices cannot be created.
    fn no_tun(error: &io::Error) -> Self {
        Self::failed(
            format!("the emulator's TUN devices: {error}"),
            "load the module tun; without root, allow it by `chmod 0666 /dev/net/tun`, as most systems do",
        )
    }
}

impl From<io::Error> for LiveError {
    fn from(error: io::Error) -> Self {
        Self::failed(
            error.to_string(),
            "live runs need Linux, iproute2 (ip, tc) and network namespaces",
        )
    }
}

/// Finds what a run asks and a live run on this machine cannot do.
///
/// # Errors
/// The first such key.
pub fn check(run: &Run) -> Result<(), LiveError> {
    refuse::check(run)
}

/// Plays a run. `progress` gets the time that has passed, and returns whether to go on; if not, there is no outcome.
/// All namespaces, devices and sockets are removed at the end.
///
/// # Errors
/// The plan asks for something that live runs cannot do, or the network cannot be built.
pub fn play(
    run: &Run,
    mut progress: impl FnMut(Duration) -> bool,
) -> Result<Option<Outcome>, LiveError> {
    check(run)?;
    let mut recorder = Recorder::new(run, Testbed::new(run)?);
    recorder.stage.begin();
    for (at, task) in agenda(run) {
        if !recorder.stage.wait_until(at, &mut progress) {
            return Ok(None);
        }
        recorder.perform(at, task);
    }
    if !recorder.stage.wait_until(run.end, &mut progress) {
        return Ok(None);
    }
    let warnings = recorder.stage.warnings();
    Ok(Some(Outcome {
        warnings,
        ..recorder.finish()
    }))
}

/// Runs `work` in a namespace.
fn in_namespace<T: Send + 'static>(
    namespace: &Namespace,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, LiveError> {
    Ok(dccp_netns::inside(namespace.name(), work)?)
}
