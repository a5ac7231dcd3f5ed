//! System calls that fail during a transfer: each call of the product with each of its errors.

mod calls;
mod ledger;
mod strace;
pub(crate) mod victim;

use anyhow::{Result, bail};
use calls::{CALLS, Call, LEFT_OUT, Target, WAIT};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;
use strace::{Fault, Mode, Outcome};

/// Faults at a time: a victim sleeps most of the time.
const AT_A_TIME: usize = 4;
/// Faults of a quick run.
const QUICK: &[(Target, &str, &str, Mode)] = &[
    (Target::Udp, WAIT, "EBADF", Mode::Always),
    (Target::Udp, "write", "EBADF", Mode::AtRandom),
    (Target::Udp, "sendmsg", "ENOBUFS", Mode::AtRandom),
    (Target::Udp, "sendmsg", "EPERM", Mode::Always),
    (Target::Udp, "recvmmsg", "ENOMEM", Mode::AtRandom),
    (Target::Udp, "recvmmsg", "EBADF", Mode::Always),
    (Target::Udp, "socket", "EMFILE", Mode::Always),
    (Target::Udp, "prlimit64", "EPERM", Mode::Always),
    (Target::RingServer, WAIT, "EINVAL", Mode::Always),
    (Target::RingServer, "sendmsg", "ENOBUFS", Mode::AtRandom),
    (Target::RingServer, "memfd_create", "ENFILE", Mode::Once),
    (Target::RingClient, "recvmsg", "ENOMEM", Mode::AtRandom),
    (Target::RingClient, "sendto", "ENOBUFS", Mode::AtRandom),
    (Target::RingClient, "sendmsg", "ENOMEM", Mode::Once),
];

/// Runs the faults whose names contain `pattern`, and prints a table. Returns whether all outcomes are as they must be.
pub(crate) fn run(scale: &str, pattern: &str, seed: u64) -> Result<bool> {
    let is_all = scale == "all";
    let mut faults: Vec<Fault> = CALLS
        .iter()
        .flat_map(|call| faults_of(call, is_all, seed))
        .filter(|fault| name(fault).contains(pattern))
        .collect();
    faults.sort_by_key(|fault| core::cmp::Reverse(fault.lasts));
    if faults.is_empty() {
        bail!("{pattern}: no fault has this in its name");
    }
    if is_all && pattern.is_empty() {
        complete()?;
    }
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = strace::run(fault);
                    eprintln!("{}: {}", name(fault), verdict(&outcome));
                    outcomes
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((fault, outcome));
                }
            });
        }
    });
    let mut outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(fault, _)| name(fault));
    print!("{}", table(&outcomes));
    let holds = outcomes
        .iter()
        .all(|(_, outcome)| outcome.as_ref().is_ok_and(|o| o.wrong.is_empty()));
    if !holds {
        println!("\nSeed {seed}. Repeat: dccp-attack faults --seed {seed} all \"NAME\"");
    }
    Ok(holds)
}

fn faults_of(call: &Call, is_all: bool, seed: u64) -> Vec<Fault> {
    let all = call
        .errors
        .iter()
        .flat_map(|error| Mode::ALL.map(|mode| (*error, mode)))
        .filter(|(_, mode)| !(call.is_once && *mode == Mode::AtRandom));
    let is_wanted = |error: &str, mode: Mode| {
        let row = (call.target, call.name, error, mode);
        is_all || QUICK.contains(&row)
    };
    let wanted = all.filter(|(error, mode)| is_wanted(error, *mode));
    let fault = |(error, mode)| Fault {
        call: *call,
        error,
        mode,
        lasts: match mode {
            Mode::Once | Mode::AtRandom => Duration::from_millis(500),
            Mode::Always if !is_all => Duration::from_millis(500),
            Mode::Always => Duration::from_secs(2),
        },
        seed,
    };
    wanted.map(fault).collect()
}

fn name(fault: &Fault) -> String {
    let names = fault.call.name.replace('?', "");
    format!(
        "{} {names} {} {}",
        fault.call.target.name(),
        fault.error,
        fault.mode.name()
    )
}

fn verdict(outcome: &Result<Outcome>) -> String {
    match outcome {
        Ok(outcome) if outcome.wrong.is_empty() => "as promised".into(),
        Ok(outcome) => format!("BROKEN: {}", outcome.wrong.join("; ")),
        Err(error) => format!("NOT RUN: {error:#}"),
    }
}

/// Checks that the table has every call that the victims make.
fn complete() -> Result<()> {
    let listed = |names: &'static str| {
        names
            .split([',', ' '])
            .map(|name| name.trim_start_matches('?'))
    };
    for target in Target::ALL {
        let mut known: BTreeSet<&str> = CALLS.iter().flat_map(|call| listed(call.name)).collect();
        known.extend(LEFT_OUT.iter().flat_map(|(names, _)| listed(names)));
        let made = strace::calls_of(target)?;
        let missing: Vec<_> = made
            .iter()
            .filter(|name| !known.contains(name.as_str()))
            .collect();
        if !missing.is_empty() {
            bail!(
                "calls of {} that the table lacks: {missing:?}",
                target.name()
            );
        }
    }
    Ok(())
}

/// The outcomes in Markdown.
fn table(outcomes: &[(&Fault, Result<Outcome>)]) -> String {
    use core::fmt::Write as _;
    let mut text = String::from(
        "| process, call, error, how often | calls failed | outcome | dropped by the host | longest gap | arrives again | opens again | openings failed |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let ms = |ms: Option<u64>| ms.map_or("never".into(), |ms| format!("{ms} ms"));
    for (fault, outcome) in outcomes {
        let (name, verdict) = (name(fault), verdict(outcome));
        let Ok(Outcome {
            injected, report, ..
        }) = outcome
        else {
            let _ = writeln!(text, "| {name} | 0 | {verdict} | | | | | |");
            continue;
        };
        let failed = report.openings.failed.iter();
        let failed: Vec<_> = failed.map(|(why, n)| format!("{n} × {why}")).collect();
        let _ = writeln!(
            text,
            "| {name} | {injected} | {verdict}: {} | {} | {} ms | {} | {} | {} |",
            report.fates_in_words(),
            report.host_dropped,
            report.longest_gap_ms,
            ms(report.resumed_ms),
            ms(report.opened_ms),
            failed.join("; "),
        );
    }
    text
}
