//! `dccplab run FILE --backend live`: what differs from runs in the simulator.

use crate::args::{Backend, Run as Asked};
#[cfg(target_os = "linux")]
use core::time::Duration;
use dccp_cli::Failure;
use dccp_lab::run::pool::News;
use dccp_lab::scenario::plan::Run;

/// Prepares this process for live runs, if such were asked for, and refuses what they cannot do.
pub(super) fn prepare(asked: &Asked, runs: &[&Run]) -> Result<(), Failure> {
    if asked.backend == Backend::Sim {
        return Ok(());
    }
    let excess = [
        ("--pcap", asked.pcap.is_some()),
        ("--jobs", asked.jobs.is_some()),
    ];
    if let Some((option, _)) = excess.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(
            format!("{option}: live runs have no such option, because cells run one after another"),
            "leave it out; `tcpdump` captures in `ip netns` while a cell runs",
        ));
    }
    refuse(runs)
}

#[cfg(target_os = "linux")]
fn refuse(runs: &[&Run]) -> Result<(), Failure> {
    use dccp_lab::run::live;
    // In a user namespace the program may do more, such as choose any congestion control of TCP.
    live::user::prepare().map_err(failure)?;
    for run in runs {
        live::check(run).map_err(failure)?;
    }
    Ok(())
}

/// The failure of the program for an error of a live run.
#[cfg(target_os = "linux")]
fn failure(error: dccp_lab::run::live::LiveError) -> Failure {
    if error.is_refusal {
        Failure::usage(error.what, error.next)
    } else {
        Failure::run(error.what, error.next)
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse(_: &[&Run]) -> Result<(), Failure> {
    Err(Failure::usage(
        "--backend live: live runs need network namespaces of Linux",
        "use --backend sim",
    ))
}

/// Plays runs one after another and reports to `tell`. If `tell` returns `false`, the current run is given up, and no other
/// begins.
#[cfg(target_os = "linux")]
pub(super) fn play_all(runs: &[&Run], mut tell: impl FnMut(Option<News>) -> bool) {
    for (n, run) in runs.iter().enumerate() {
        let mut last = Duration::ZERO;
        let outcome = dccp_lab::run::live::play(run, |at| {
            let passed = at.saturating_sub(last);
            last = at;
            tell(Some(News::Played(n, passed)))
        });
        let outcome = outcome.map_err(|error| error.what).transpose();
        let goes_on = outcome.is_some_and(|outcome| tell(Some(News::Over(n, outcome))));
        if !goes_on {
            return;
        }
    }
}

/// [`prepare`] has refused such runs.
#[cfg(not(target_os = "linux"))]
pub(super) fn play_all(_: &[&Run], _: impl FnMut(Option<News>) -> bool) {}
