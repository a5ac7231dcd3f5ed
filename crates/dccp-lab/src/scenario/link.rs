//! `[[link]]`: both directions of links.

use super::changes::changes;
use super::document::{Item, items, refuse, value};
use super::keys::{AqmKind, BurstKeys, LinkKeys};
use super::nodes;
use super::plan::{Alteration, Change, Link};
use super::queue::{mean_rate, queue};
use super::trace::{RateOverTime, rate_over_time};
use super::values::{At, OneOrMany};
use crate::mistake::{Mistake, Mistakes, Place};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_sim::LinkConfig;
use dccp_sim::link::TooBig;
use dccp_sim::loss::{FaultConfig, GilbertElliott, Jitter, Outage};
use dccp_sim::queue::QueueConfig;
use dccp_sim::rate_trace::model::Model;
use std::path::Path;
use toml::Spanned;
use toml::de::DeValue;

/// Keys of the link as a whole: its directions share them.
const KEYS_OF_LINKS: [&str; 4] = ["id", "from", "to", "back"];

/// A link before it is part of the network.
pub(crate) struct NewLink {
    pub(crate) link: Link,
    /// Where the file names its second end.
    pub(crate) place: Place,
    /// Whether the file gives each direction a queue: there, back.
    pub(crate) has_queue: [bool; 2],
}

/// The tables of the sections `[[link]]`.
pub(crate) fn tables<'a, 'i>(document: &'a Item<'i>) -> &'a [Item<'i>] {
    value(document, "link").map_or(&[], items)
}

/// Completes each `back = { … }` with the keys of the other direction, which it does not replace.
pub(crate) fn complete_back(document: &mut Item<'_>, mistakes: &mut Mistakes) {
    let DeValue::Table(document) = document.get_mut() else {
        return;
    };
    let Some(DeValue::Array(links)) = document.get_mut("link").map(Spanned::get_mut) else {
        return;
    };
    for link in links.iter_mut() {
        let DeValue::Table(whole) = link.get_mut() else {
            continue;
        };
        let kept = whole.clone();
        let Some(back) = whole.get_mut("back") else {
            continue;
        };
        let is_of_links = |key: &str| KEYS_OF_LINKS.contains(&key);
        refuse(back, "back", is_of_links, mistakes);
        let DeValue::Table(back) = back.get_mut() else {
            continue;
        };
        for (key, value) in kept.iter().filter(|(key, _)| !is_of_links(key.get_ref())) {
            let other = match key.get_ref().as_ref() {
                "rtt" => "delay",
                "delay" => "rtt",
                "rate" => "trace",
                "trace" => "rate",
                key => key,
            };
            if !back.contains_key(key.get_ref().as_ref()) && !back.contains_key(other) {
                back.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Bounds the memory of a section.
const LINKS_MAX: usize = 10_000;

/// The links of a section: one for each pair of its two ends. `table` is the section as it stands.
pub(crate) fn links(
    keys: &At<LinkKeys>,
    table: &Item<'_>,
    nodes: &[String],
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Vec<NewLink> {
    let froms = ends(keys, "from", keys.from.as_ref(), nodes, mistakes);
    let tos = ends(keys, "to", keys.to.as_ref(), nodes, mistakes);
    if froms.len() * tos.len() > LINKS_MAX {
        let what = format!("this section has more than {LINKS_MAX} links, one for each pair");
        mistakes.add(Mistake::new(
            &keys.place,
            what,
            "name fewer nodes in from and to",
        ));
        return Vec::new();
    }
    let there = direction(&keys.place, keys, table, folder, mistakes);
    let back = match (&keys.back, value(table, "back")) {
        (Some(back), Some(table)) => direction(&back.place, back, table, folder, mistakes),
        _ => there.clone(),
    };
    let (Some(there), Some(back)) = (there, back) else {
        return Vec::new();
    };
    let change = |is_back| move |&(at, what): &_| Change { at, is_back, what };
    let changes = there.changes.iter().map(change(false));
    let changes: Vec<Change> = changes
        .chain(back.changes.iter().map(change(true)))
        .collect();
    let has_queue = |keys: &LinkKeys| keys.queue.is_some() || keys.latency.is_some();
    let back_keys = keys.back.as_ref().map_or(&keys.value, |back| &back.value);
    let mut links = Vec::new();
    for &(from, _) in &froms {
        for &(to, place) in &tos {
            let link = Link {
                id: id(keys, nodes, (from, froms.len()), (to, tos.len())),
                from,
                to,
                there: there.config.clone(),
                back: back.config.clone(),
                models: [there.model, back.model],
                changes: changes.clone(),
            };
            links.push(NewLink {
                link,
                place: place.clone(),
                has_queue: [has_queue(keys), has_queue(back_keys)],
            });
        }
    }
    links
}

/// The name of one link of a section with this many first and second ends.
fn id(
    keys: &LinkKeys,
    nodes: &[String],
    (from, froms): (usize, usize),
    (to, tos): (usize, usize),
) -> String {
    let (from, to) = (&nodes[from], &nodes[to]);
    let Some(id) = &keys.id else {
        return format!("{from}-{to}");
    };
    let id = &id.0;
    match (froms, tos) {
        (1, 1) => id.clone(),
        (1, _) => format!("{id}.{to}"),
        (_, 1) => format!("{id}.{from}"),
        _ => format!("{id}.{from}-{to}"),
    }
}

/// The nodes at one end of a section's links.
fn ends<'a>(
    keys: &At<LinkKeys>,
    key: &str,
    names: Option<&'a At<OneOrMany<String>>>,
    nodes: &[String],
    mistakes: &mut Mistakes,
) -> Vec<(usize, &'a Place)> {
    let Some(names) = names else {
        mistakes.add(Mistake::missing(&keys.place, key));
        return Vec::new();
    };
    if names.items().is_empty() {
        let next = format!("write {key} = \"NODE\", or several nodes");
        mistakes.add(Mistake::new(
            &names.place,
            format!("{key} names no node"),
            next,
        ));
    }
    let node = |(name, place): (&String, &'a Place)| {
        let node = mistakes.check(nodes::find(name, place, nodes))?;
        Some((node, place))
    };
    names.items().into_iter().filter_map(node).collect()
}

/// A direction of a link.
#[derive(Clone)]
struct Direction {
    config: LinkConfig,
    /// The model that its trace is drawn from.
    model: Option<Model>,
    changes: Vec<(Duration, Alteration)>,
}

fn direction(
    place: &Place,
    keys: &LinkKeys,
    table: &Item<'_>,
    folder: &Path,
    mistakes: &mut Mistakes,
) -> Option<Direction> {
    check_keys(keys, table, mistakes);
    let faults = mistakes.check(faults(keys));
    let (config, model) = mistakes.check(config(place, keys, folder)).unzip();
    let config = LinkConfig {
        faults: faults?,
        ..config?
    };
    let checked = config.check().map_err(|error| {
        // The simulator's names, as files write them.
        let name = |setting: &str| setting.replace("red.", "").replace("_threshold", "");
        let aqm = error.setting.split_once('.').and(keys.aqm.as_ref());
        let what = format!("{} is not possible here", name(error.setting));
        let next = format!("it must be {}", name(error.must_be));
        Mistake::new(aqm.map_or(place, |aqm| &aqm.place), what, next)
    });
    mistakes.check(checked)?;
    let changes = mistakes.check(changes(keys, &config))?;
    Some(Direction {
        config,
        model: model?,
        changes,
    })
}

/// Refuses keys that the queue discipline does not use.
fn check_keys(keys: &LinkKeys, table: &Item<'_>, mistakes: &mut Mistakes) {
    let kind = keys
        .aqm
        .as_ref()
        .map_or(AqmKind::Droptail, |aqm| aqm.0.kind);
    let owner = format!("a link with aqm {}", kind.word());
    let is_refused = |key: &str| match key {
        "mark_at" => kind != AqmKind::Droptail,
        "burst" | "latency" => kind != AqmKind::Tbf,
        _ => false,
    };
    refuse(table, &owner, is_refused, mistakes);
    if let Some(aqm) = value(table, "aqm") {
        let is_refused = |key: &str| key != "kind" && !kind.keys().contains(&key);
        refuse(aqm, kind.word(), is_refused, mistakes);
    }
}

/// The settings, and the model that the trace is drawn from. Until then, the trace is one that the model can give.
fn config(
    place: &Place,
    keys: &LinkKeys,
    folder: &Path,
) -> Result<(LinkConfig, Option<Model>), Mistake> {
    let rate = keys.rate.map(|rate| rate.0);
    let trace = keys.trace.as_ref();
    let trace = trace
        .map(|trace| rate_over_time(trace, folder))
        .transpose()?;
    let RateOverTime {
        trace,
        model,
        delay: usual_delay,
        queue: usual_queue,
    } = trace.unwrap_or_default();
    let delay = match (&keys.delay, &keys.rtt) {
        (Some(_), Some(rtt)) => {
            let next = "leave one of them out; the delay is half of the rtt";
            let what = "a link has either a delay or an rtt";
            return Err(Mistake::new(&rtt.place, what, next));
        }
        (Some(delay), None) => delay.0,
        (None, Some(rtt)) => rtt.0 / 2,
        (None, None) => usual_delay,
    };
    let mut queue = queue(place, keys, rate.or(trace.as_ref().map(mean_rate)), delay)?;
    if let (None, None, Some(room)) = (&keys.queue, &keys.latency, usual_queue) {
        queue.set_limit(room);
    }
    let default = LinkConfig::default();
    let config = LinkConfig {
        // A token bucket limits the rate by itself.
        rate: rate.filter(|_| !matches!(queue, QueueConfig::TokenBucket(_))),
        trace,
        delay,
        queue,
        mtu: keys.mtu.map_or(1500, |mtu| mtu.0),
        too_big: match keys.pmtu_black_hole {
            Some(true) => TooBig::Silent,
            _ => default.too_big,
        },
        ..default
    };
    Ok((config, model))
}

fn faults(keys: &LinkKeys) -> Result<FaultConfig, Mistake> {
    match (&keys.reorder, &keys.reorder_by) {
        (Some(share), None) if share.0 > 0.0 => {
            let what = "reorder needs reorder_by, the time for which packets are held back";
            return Err(Mistake::new(&share.place, what, "add reorder_by = \"5ms\""));
        }
        (None, Some(time)) => {
            let what = "reorder_by needs reorder, the share of packets that are held back";
            return Err(Mistake::new(&time.place, what, "add reorder = \"1%\""));
        }
        _ => {}
    }
    let outages = keys.outages.as_ref().map(At::items).unwrap_or_default();
    let outage = |(span, _): &(&super::values::TimeSpan, &Place)| Outage {
        start: Instant::ZERO + span.begin,
        end: Instant::ZERO + span.end,
    };
    Ok(FaultConfig {
        bursts: keys.ge.as_ref().map(bursts).transpose()?,
        bit_error_rate: keys.ber.map_or(0.0, |number| number.0),
        loss: keys.loss.map_or(0.0, |share| share.0),
        duplicate: keys.duplicate.map_or(0.0, |share| share.0),
        corrupt: keys.corrupt.map_or(0.0, |share| share.0),
        reorder: keys.reorder.as_ref().map_or(0.0, |share| share.0),
        reorder_by: keys
            .reorder_by
            .as_ref()
            .map_or(Duration::ZERO, |time| time.0),
        jitter: keys
            .jitter
            .map_or(Jitter::None, |time| Jitter::Uniform(time.0)),
        outages: outages.iter().map(outage).collect(),
        ..FaultConfig::default()
    })
}

/// `ge = { loss = "1%", burst = 5 }`, or the four probabilities of the model of Gilbert and Elliott.
fn bursts(keys: &At<BurstKeys>) -> Result<GilbertElliott, Mistake> {
    let place = &keys.place;
    let missing = |key| Mistake::missing(place, key);
    if let Some(loss) = keys.loss {
        let four = [
            keys.to_bad,
            keys.to_good,
            keys.loss_in_good,
            keys.loss_in_bad,
        ];
        if four.iter().any(Option::is_some) {
            let what = "ge has loss and burst, or the four other keys";
            return Err(Mistake::new(place, what, "leave out one or the other"));
        }
        let burst = keys.burst.ok_or_else(|| missing("burst"))?.0;
        if loss.0 * (1.0 + 1.0 / burst) >= 1.0 {
            let what = "this much loss leaves no time between bursts";
            return Err(Mistake::new(place, what, "write less loss"));
        }
        return Ok(GilbertElliott::bursts(loss.0, burst));
    }
    if keys.burst.is_some() {
        return Err(missing("loss"));
    }
    Ok(GilbertElliott {
        to_bad: keys.to_bad.ok_or_else(|| missing("to_bad"))?.0,
        to_good: keys.to_good.ok_or_else(|| missing("to_good"))?.0,
        loss_in_good: keys.loss_in_good.map_or(0.0, |share| share.0),
        loss_in_bad: keys.loss_in_bad.map_or(1.0, |share| share.0),
    })
}

#[cfg(test)]
mod tests;
