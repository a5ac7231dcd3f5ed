//! `changes = [{ at = "10s", rate = "5Mbit" }]` of a link: what is another from a moment on.

use super::document::{Item, Table, Value};
use super::fields::Fields;
use super::link::rate_of;
use super::mistake::Mistake;
use super::plan::Alteration;
use super::queue::{Path, room};
use super::read;
use super::topology::sections;
use core::time::Duration;
use dccp_sim::LinkConfig;
use dccp_sim::queue::QueueConfig;

pub(super) const KNOWN: &[&str] = &["at", "rate", "delay", "up", "queue"];

/// The changes of a direction that begins with these settings, in the order of time.
pub(super) fn changes(
    link: &Fields<'_>,
    config: &LinkConfig,
) -> Result<Vec<(Duration, Alteration)>, Mistake> {
    let mut config = config.clone();
    let mut last = Duration::ZERO;
    let mut changes = Vec::new();
    for item in link.list("changes") {
        let fields = Fields::of_item(item, "a change", KNOWN)?;
        let at = fields.need("at", read::period)?;
        if at < last {
            return Err(Mistake::new(
                &item.place,
                "this change comes before the one that is written before it",
                "write changes in the order of time",
            ));
        }
        last = at;
        let made = alterations(&fields, &mut config)?;
        if made.is_empty() {
            return Err(Mistake::new(
                &item.place,
                "this change changes nothing",
                "add rate, delay, up or queue",
            ));
        }
        config.check().map_err(|error| {
            let what = format!("{} is not possible after this change", error.setting);
            Mistake::new(&item.place, what, format!("it must be {}", error.must_be))
        })?;
        changes.extend(made.into_iter().map(|what| (at, what)));
    }
    Ok(changes)
}

/// What one entry changes; `config` is what the direction is before it, and after it.
fn alterations(fields: &Fields<'_>, config: &mut LinkConfig) -> Result<Vec<Alteration>, Mistake> {
    let mut made = Vec::new();
    if let Some(entry) = fields.entry("rate") {
        if matches!(config.queue, QueueConfig::TokenBucket(_)) {
            return Err(Mistake::new(
                &entry.place,
                "a token bucket keeps its rate",
                "leave out the change, or write another aqm",
            ));
        }
        let rate = read::rate(&entry.item)?;
        (config.rate, config.trace) = (Some(rate), None);
        made.push(Alteration::Rate(rate));
    }
    if let Some(delay) = fields.get("delay", read::time)? {
        config.delay = delay;
        made.push(Alteration::Delay(delay));
    }
    if let Some(item) = fields.item("queue") {
        let path = Path {
            rate: rate_of(config),
            delay: config.delay,
        };
        let size = room(item, path)?;
        config.queue.set_limit(size);
        made.push(Alteration::Queue(size));
    }
    made.extend(fields.get("up", read::flag)?.map(Alteration::Up));
    Ok(made)
}

/// Refuses changes that no run of the scenario lives to see.
pub(super) fn before(document: &Table, end: Duration) -> Result<(), Mistake> {
    for section in sections(document, "link")? {
        let back = entry(section, "back");
        for direction in [Some(section), back].into_iter().flatten() {
            let changes = entry(direction, "changes").map_or(&[][..], Item::items);
            for at in changes.iter().filter_map(|change| entry(change, "at")) {
                if read::time(at)? >= end {
                    return Err(Mistake::new(
                        &at.place,
                        format!(
                            "nothing runs any more at {}: the end is at {}",
                            at.label(),
                            super::flow::seconds(end)
                        ),
                        "write an earlier time, or let the run last longer",
                    ));
                }
            }
        }
    }
    Ok(())
}

fn entry<'a>(item: &'a Item, key: &str) -> Option<&'a Item> {
    match &item.value {
        Value::Table(table) => table.entry(key).map(|entry| &entry.item),
        _ => None,
    }
}
