//! One run between named machines: `dccpmon serve` runs on each, and `dccpmon` measures each stream.
//!
//! ```text
//! dccplab ─ starts ─→ dccpmon, one for each stream ─ control ─→ dccpmon serve ─ data ─→ dccpmon serve
//! ```
//! | module | contents |
//! |---|---|
//! | `words` | the command line of each stream, and what cannot run on hosts |
//! | `process` | the processes: their begin, their end, their documents |
//! | `curve` | documents become the recorded values of a run |

mod curve;
mod process;
mod words;

use super::live::LiveError;
use super::outcome::Outcome;
use crate::scenario::plan::{Link, Run};
use core::time::Duration;
use dccp_sim::LinkConfig;
use dccp_sim::loss::FaultConfig;
use process::Running;
use std::collections::BTreeSet;
use std::thread;

/// The longest wait between two looks at the processes.
const LOOK: Duration = Duration::from_millis(50);

/// Finds what a run asks and a run on hosts cannot do.
///
/// # Errors
/// The first such key.
pub fn check(run: &Run) -> Result<(), LiveError> {
    words::tests(run).map(drop)
}

/// Asks each machine whether it would serve, without sending data.
///
/// # Errors
/// The first machine that does not answer or refuses.
pub fn greet(runs: &[&Run]) -> Result<(), LiveError> {
    let mut greeted = BTreeSet::new();
    for run in runs {
        for test in words::tests(run)? {
            if greeted.insert(test.greeting.clone()) {
                process::greet(&test.greeting)?;
            }
        }
    }
    Ok(())
}

/// Plays a run. `progress` gets the time that has passed, and returns whether to go on; if not, there is no outcome.
///
/// # Errors
/// A stream could not be measured.
pub fn play(
    run: &Run,
    mut progress: impl FnMut(Duration) -> bool,
) -> Result<Option<Outcome>, LiveError> {
    let mut waiting = words::tests(run)?;
    // The next one to begin is the last.
    waiting.sort_by_key(|test| core::cmp::Reverse(test.begin));
    let begin = dccp_emu::clock::now();
    let mut running: Vec<Running> = Vec::new();
    let mut measured = Vec::new();
    while !(waiting.is_empty() && running.is_empty()) {
        let now = dccp_emu::clock::now() - begin;
        while let Some(test) = waiting.pop_if(|test| test.begin <= now) {
            running.push(Running::start(test)?);
        }
        if !progress(now.min(run.end)) {
            running.into_iter().for_each(Running::end);
            return Ok(None);
        }
        let ended: Vec<_> = running.extract_if(.., Running::has_ended).collect();
        for test in ended {
            measured.push(test.measured()?);
        }
        thread::sleep(LOOK);
    }
    let mut outcome = curve::outcome(run, &measured);
    outcome.warnings.splice(0..0, not_applied(run));
    Ok(Some(outcome))
}

/// The settings of the scenario's network that have no effect, because the path is the real one.
pub fn not_applied(run: &Run) -> Vec<String> {
    let network = &run.network;
    let of_link = |link: &Link| {
        let keys = keys_of(link).join(", ");
        let text = format!(
            "[[link]] {}: {keys}: not applied, because the path between the hosts is the real one",
            link.id
        );
        (!keys.is_empty()).then_some(text)
    };
    let mut texts: Vec<String> = network.links.iter().filter_map(of_link).collect();
    let hosts = network.machines.iter().map(|machine| {
        let host = &network.nodes[machine.node];
        format!(
            "[[host]] {host}: not applied, because the processor and clock are those of the machine"
        )
    });
    texts.extend(hosts);
    texts
}

/// The keys that describe a link.
fn keys_of(link: &Link) -> Vec<&'static str> {
    let own = LinkConfig::default();
    let differs = |is: fn(&LinkConfig, &LinkConfig) -> bool| {
        [&link.there, &link.back]
            .iter()
            .any(|config| is(config, &own))
    };
    let keys = [
        ("rate", differs(|config, _| config.rate.is_some())),
        ("trace", differs(|config, _| config.trace.is_some())),
        ("delay", differs(|config, own| config.delay != own.delay)),
        (
            "queue or aqm",
            differs(|config, own| config.queue != own.queue),
        ),
        ("mtu", differs(|config, own| config.mtu != own.mtu)),
        (
            "loss and other faults",
            differs(|config, _| config.faults != FaultConfig::default()),
        ),
        ("changes", !link.changes.is_empty()),
    ];
    let set = keys.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(key, _)| key).collect()
}
