//! `changes = [{ at = "10s", rate = "5Mbit" }]`: settings of a link that change during a run.

use super::keys::{ChangeKeys, File, LinkKeys};
use super::plan::Alteration;
use super::queue::{Capacity, room};
use super::values::At;
use crate::mistake::{Mistake, Mistakes, Place};
use core::time::Duration;
use dccp_sim::LinkConfig;
use dccp_sim::queue::QueueConfig;

/// The changes of a direction with these initial settings, in the order of time.
pub(crate) fn changes(
    keys: &LinkKeys,
    config: &LinkConfig,
) -> Result<Vec<(Duration, Alteration)>, Mistake> {
    let mut config = config.clone();
    let mut last = Duration::ZERO;
    let mut changes = Vec::new();
    for (change, place) in written(keys) {
        let at = change.at.0;
        if at < last {
            let what = "this change comes before the one that is written before it";
            let next = "write changes in the order of time";
            return Err(Mistake::new(place, what, next));
        }
        last = at;
        let made = alterations(change, &mut config)?;
        if made.is_empty() {
            let what = "this change changes nothing";
            return Err(Mistake::new(place, what, "add rate, delay, up or queue"));
        }
        config.check().map_err(|error| {
            let what = format!("{} is not possible after this change", error.setting);
            Mistake::new(place, what, format!("it must be {}", error.must_be))
        })?;
        changes.extend(made.into_iter().map(|what| (at, what)));
    }
    Ok(changes)
}

fn written(keys: &LinkKeys) -> Vec<(&ChangeKeys, &Place)> {
    keys.changes.as_ref().map(At::items).unwrap_or_default()
}

/// The alterations of one change. `config` has the settings before it, then those after it.
fn alterations(change: &ChangeKeys, config: &mut LinkConfig) -> Result<Vec<Alteration>, Mistake> {
    let mut made = Vec::new();
    if let Some(rate) = &change.rate {
        if matches!(config.queue, QueueConfig::TokenBucket(_)) {
            let what = "the rate of a token bucket cannot change";
            let next = "leave out the change, or write another aqm";
            return Err(Mistake::new(&rate.place, what, next));
        }
        (config.rate, config.trace) = (Some(rate.0), None);
        made.push(Alteration::Rate(rate.0));
    }
    if let Some(delay) = change.delay {
        config.delay = delay.0;
        made.push(Alteration::Delay(delay.0));
    }
    if let Some(size) = &change.queue {
        let size = room(size, Capacity::of(config))?;
        config.queue.set_limit(size);
        made.push(Alteration::Queue(size));
    }
    made.extend(change.up.map(Alteration::Up));
    Ok(made)
}

/// Refuses changes after the end of the last run.
pub(crate) fn are_before(file: &File, end: Duration, mistakes: &mut Mistakes) {
    for link in &file.link {
        let back = link.back.as_ref().map(|back| &*back.value);
        for keys in [Some(&link.value), back].into_iter().flatten() {
            for (change, _) in written(keys) {
                if change.at.0 >= end {
                    let (at, end) = (change.at.0.as_secs_f64(), end.as_secs_f64());
                    let what = format!("a change at {at}s has no effect: the end is at {end}s");
                    let next = "write an earlier time, or a longer run";
                    mistakes.add(Mistake::new(&change.at.place, what, next));
                }
            }
        }
    }
}
