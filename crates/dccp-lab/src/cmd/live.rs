//! `dccplab run FILE --backend live` and `--backend hosts`: what differs from runs in the simulator.

use crate::args::{Backend, Run as Asked};
#[cfg(target_os = "linux")]
use core::time::Duration;
use dccp_cli::Failure;
use dccp_lab::run::pool::News;
#[cfg(target_os = "linux")]
use dccp_lab::run::{hosts, live};
use dccp_lab::scenario::plan::Run;
#[cfg(target_os = "linux")]
use std::collections::BTreeSet;

/// Prepares this process for runs in real time, if such were asked for, and refuses what they cannot do.
pub(super) fn prepare(asked: &Asked, runs: &[&Run]) -> Result<(), Failure> {
    if let (Backend::Sim | Backend::Live, Some(placed)) = (asked.backend, asked.hosts.first()) {
        return Err(Failure::usage(
            format!("--host {placed}: only runs with --backend hosts have machines"),
            "add --backend hosts, or leave --host out",
        ));
    }
    if asked.backend == Backend::Sim {
        return Ok(());
    }
    let excess = [
        (
            "--pcap",
            asked.pcap.is_some(),
            "leave it out; `tcpdump` captures where the packets pass, while a cell runs",
        ),
        (
            "--jobs",
            asked.jobs.is_some(),
            "leave it out: cells run one after another",
        ),
    ];
    if let Some((option, _, next)) = excess.iter().find(|(_, is_given, _)| *is_given) {
        let what = format!("{option}: runs in real time have no such option");
        return Err(Failure::usage(what, *next));
    }
    refuse(asked.backend, runs)
}

#[cfg(target_os = "linux")]
fn refuse(backend: Backend, runs: &[&Run]) -> Result<(), Failure> {
    if backend == Backend::Hosts {
        return refuse_hosts(runs);
    }
    // In a user namespace the program may do more, such as choose any congestion control of TCP.
    live::user::prepare().map_err(failure)?;
    for run in runs {
        live::check(run).map_err(failure)?;
    }
    Ok(())
}

/// Refuses what runs on hosts cannot do, prints what they do not apply, and asks each machine.
#[cfg(target_os = "linux")]
fn refuse_hosts(runs: &[&Run]) -> Result<(), Failure> {
    for run in runs {
        hosts::check(run).map_err(failure)?;
    }
    let texts = runs.iter().flat_map(|run| hosts::not_applied(run));
    for text in texts.collect::<BTreeSet<_>>() {
        eprintln!("note: {text}");
    }
    hosts::greet(runs).map_err(failure)
}

/// The failure of the program for an error of a live run.
#[cfg(target_os = "linux")]
fn failure(error: live::LiveError) -> Failure {
    if error.is_refusal {
        Failure::usage(error.what, error.next)
    } else {
        Failure::run(error.what, error.next)
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse(backend: Backend, _: &[&Run]) -> Result<(), Failure> {
    let backend = dccp_lab::scenario::plan::Backend::from(backend).name();
    Err(Failure::usage(
        format!("--backend {backend}: runs in real time need Linux"),
        "use --backend sim",
    ))
}

/// Plays runs one after another and reports to `tell`. If `tell` returns `false`, the current run is given up, and no other
/// begins.
#[cfg(target_os = "linux")]
pub(super) fn play_all(
    backend: Backend,
    runs: &[&Run],
    mut tell: impl FnMut(Option<News>) -> bool,
) {
    for (n, run) in runs.iter().enumerate() {
        let mut last = Duration::ZERO;
        let progress = |at: Duration| {
            let passed = at.saturating_sub(last);
            last = at;
            tell(Some(News::Played(n, passed)))
        };
        let outcome = match backend {
            Backend::Hosts => hosts::play(run, progress),
            Backend::Sim | Backend::Live => live::play(run, progress),
        };
        let outcome = outcome.map_err(|error| error.what).transpose();
        let goes_on = outcome.is_some_and(|outcome| tell(Some(News::Over(n, outcome))));
        if !goes_on {
            return;
        }
    }
}

/// [`prepare`] has refused such runs.
#[cfg(not(target_os = "linux"))]
pub(super) fn play_all(_: Backend, _: &[&Run], _: impl FnMut(Option<News>) -> bool) {}
