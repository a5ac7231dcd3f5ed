//! `[[link]]`: rate, delay, queue and faults of both directions.

use super::changes::changes;
use super::document::{Entry, Item, Table, Value};
use super::fields::Fields;
use super::mistake::{Mistake, Place};
use super::plan::{Alteration, Change, Link};
use super::queue::queue;
use super::read;
use super::topology::node;
use core::time::Duration;
use dccp_proto::{Instant, Rate};
use dccp_sim::LinkConfig;
use dccp_sim::link::TooBig;
use dccp_sim::loss::{FaultConfig, GilbertElliott, Jitter, Outage};
use dccp_sim::queue::QueueConfig;
use dccp_sim::rate_trace::RateTrace;
use dccp_sim::setting::Impossible;
use std::path::Path;

pub(super) const KNOWN: &[&str] = &[
    "id",
    "from",
    "to",
    "back",
    "rate",
    "delay",
    "rtt",
    "mtu",
    "pmtu_black_hole",
    "queue",
    "aqm",
    "mark_at",
    "burst",
    "latency",
    "loss",
    "corrupt",
    "ber",
    "ge",
    "duplicate",
    "reorder",
    "reorder_by",
    "jitter",
    "outages",
    "trace",
    "changes",
];

/// The links of a section: one for each pair of its two ends.
pub(crate) fn links(
    section: &Item,
    nodes: &[String],
    folder: &Path,
) -> Result<Vec<(Link, Place)>, Mistake> {
    let fields = Fields::of_item(section, "a link", KNOWN)?;
    let froms = ends(&fields, "from", nodes)?;
    let tos = ends(&fields, "to", nodes)?;
    let id = fields.get("id", read::name)?;
    let (there, changes_there) = direction(&fields, folder)?;
    let (back, changes_back) = match fields.item("back") {
        None => (there.clone(), changes_there.clone()),
        Some(changed) => direction_back(section, changed, folder)?,
    };
    fields.done("a link")?;
    let change = |is_back| move |(at, what)| Change { at, is_back, what };
    let changes_there = changes_there.into_iter().map(change(false));
    let changes: Vec<Change> = changes_there
        .chain(changes_back.into_iter().map(change(true)))
        .collect();
    let is_one = froms.len() * tos.len() == 1;
    let mut links = Vec::new();
    for (from, _) in &froms {
        for (to, place) in &tos {
            let id = match &id {
                None => format!("{}-{}", nodes[*from], nodes[*to]),
                Some(id) if is_one => id.clone(),
                Some(id) if froms.len() == 1 => format!("{id}.{}", nodes[*to]),
                Some(id) if tos.len() == 1 => format!("{id}.{}", nodes[*from]),
                Some(id) => format!("{id}.{}-{}", nodes[*from], nodes[*to]),
            };
            let link = Link {
                id,
                from: *from,
                to: *to,
                there: there.clone(),
                back: back.clone(),
                changes: changes.clone(),
            };
            links.push((link, place.clone()));
        }
    }
    Ok(links)
}

fn ends(
    fields: &Fields<'_>,
    key: &'static str,
    nodes: &[String],
) -> Result<Vec<(usize, Place)>, Mistake> {
    let item = fields.need(key, Ok)?;
    if item.items().is_empty() {
        return Err(Mistake::new(
            &item.place,
            format!("{key} names no node"),
            format!("write {key} = \"{}\", or several", nodes[0]),
        ));
    }
    let end = |item: &Item| Ok((node(item, nodes)?, item.place.clone()));
    fields.list(key).iter().map(end).collect()
}

/// The way back: as the way there, but for what `back = { … }` says.
fn direction_back(section: &Item, changed: &Item, folder: &Path) -> Result<Direction, Mistake> {
    let known: Vec<&str> = (KNOWN.iter().copied())
        .filter(|key| !["id", "from", "to", "back"].contains(key))
        .collect();
    Fields::of_item(changed, "the way back", &known)?;
    let (Value::Table(whole), Value::Table(changed)) = (&section.value, &changed.value) else {
        unreachable!("both were opened as tables");
    };
    let is_replaced = |entry: &&Entry| {
        let other = match entry.key.as_str() {
            "rtt" => "delay",
            "delay" => "rtt",
            key => key,
        };
        changed.entry(&entry.key).is_none() && changed.entry(other).is_none()
    };
    let kept = whole.0.iter().filter(is_replaced).cloned();
    let merged = Table(kept.chain(changed.0.iter().cloned()).collect());
    let fields = Fields::open(&merged, &section.place, "a link", KNOWN)?;
    direction(&fields, folder)
}

/// The settings of a direction, and how they change.
type Direction = (LinkConfig, Vec<(Duration, Alteration)>);

fn direction(fields: &Fields<'_>, folder: &Path) -> Result<Direction, Mistake> {
    let rate = fields.get("rate", read::rate)?;
    let trace = fields.get("trace", |item| trace(item, folder))?;
    let delay = delay(fields)?;
    let queue = queue(fields, rate.or(trace.as_ref().map(mean_rate)), delay)?;
    let mtu = fields.get("mtu", mtu)?.unwrap_or(1500);
    let is_black_hole = fields.get("pmtu_black_hole", read::flag)? == Some(true);
    let default = LinkConfig::default();
    let config = LinkConfig {
        // A token bucket keeps to the rate by itself.
        rate: rate.filter(|_| !matches!(queue, QueueConfig::TokenBucket(_))),
        trace,
        delay,
        queue,
        mtu,
        too_big: if is_black_hole {
            TooBig::Silent
        } else {
            default.too_big
        },
        faults: faults(fields)?,
        ..default
    };
    config.check().map_err(|error| impossible(fields, &error))?;
    let changes = changes(fields, &config)?;
    Ok((config, changes))
}

/// What the simulator says of a link's settings, by the names that they have in files.
fn impossible(fields: &Fields<'_>, error: &Impossible) -> Mistake {
    let name = |setting: &str| setting.replace("red.", "").replace("_threshold", "");
    let aqm = error.setting.split_once('.').and(fields.item("aqm"));
    Mistake::new(
        aqm.map_or(fields.place(), |item| &item.place),
        format!("{} is not possible here", name(error.setting)),
        format!("it must be {}", name(error.must_be)),
    )
}

/// The rate of a direction, whatever keeps to it; of a trace the mean.
pub(super) fn rate_of(config: &LinkConfig) -> Option<Rate> {
    match &config.queue {
        QueueConfig::TokenBucket(bucket) => Some(bucket.rate),
        _ => config.rate.or(config.trace.as_ref().map(mean_rate)),
    }
}

/// A rate that changes as it was recorded: a file in mahimahi's format, beside the scenario.
fn trace(item: &Item, folder: &Path) -> Result<RateTrace, Mistake> {
    let name = read::text(item)?;
    let text = std::fs::read_to_string(folder.join(name)).map_err(|error| {
        let what = format!("{name} cannot be read: {error}");
        Mistake::new(&item.place, what, "check the file's name")
    })?;
    RateTrace::parse(&text).map_err(|error| {
        let text = error.to_string();
        let (what, next) = text
            .split_once('\n')
            .unwrap_or((&text, "correct the trace"));
        Mistake::new(&item.place, format!("{name}: {what}"), next)
    })
}

fn mean_rate(trace: &RateTrace) -> Rate {
    Rate::from_bytes_per_s(trace.bytes_per_s())
}

fn delay(fields: &Fields<'_>) -> Result<Duration, Mistake> {
    let delay = fields.get("delay", read::time)?;
    match fields.entry("rtt") {
        None => Ok(delay.unwrap_or_default()),
        Some(entry) if delay.is_some() => Err(Mistake::new(
            &entry.place,
            "a link has either a delay or an rtt",
            "leave one of them out; the delay is half of the rtt",
        )),
        Some(entry) => Ok(read::time(&entry.item)? / 2),
    }
}

fn mtu(item: &Item) -> Result<usize, Mistake> {
    let bytes = read::size(item)?;
    match usize::try_from(bytes) {
        Ok(mtu) if (576..=65_535).contains(&mtu) => Ok(mtu),
        _ => Err(Mistake::new(
            &item.place,
            format!("an MTU of {bytes} bytes is not possible"),
            "write 576B to 65535B",
        )),
    }
}

fn faults(fields: &Fields<'_>) -> Result<FaultConfig, Mistake> {
    let share = |key| fields.get(key, read::share).map(Option::unwrap_or_default);
    let time = |key| fields.get(key, read::time).map(Option::unwrap_or_default);
    let faults = FaultConfig {
        bursts: fields.get("ge", bursts)?,
        bit_error_rate: fields.get("ber", read::number(0.0..=1.0))?.unwrap_or(0.0),
        loss: share("loss")?,
        duplicate: share("duplicate")?,
        corrupt: share("corrupt")?,
        reorder: share("reorder")?,
        reorder_by: time("reorder_by")?,
        jitter: fields
            .get("jitter", read::time)?
            .map_or(Jitter::None, Jitter::Uniform),
        outages: outages(fields)?,
        ..FaultConfig::default()
    };
    match (fields.entry("reorder"), fields.entry("reorder_by")) {
        (Some(entry), None) if faults.reorder > 0.0 => Err(Mistake::new(
            &entry.place,
            "reorder needs reorder_by: for how long packets are held back",
            "add reorder_by = \"5ms\"",
        )),
        (None, Some(entry)) => Err(Mistake::new(
            &entry.place,
            "reorder_by needs reorder: how many packets are held back",
            "add reorder = \"1%\"",
        )),
        _ => Ok(faults),
    }
}

pub(super) const BURSTS: &[&str] = &[
    "loss",
    "burst",
    "to_bad",
    "to_good",
    "loss_in_good",
    "loss_in_bad",
];

/// `ge = { loss = "1%", burst = 5 }`, or the four probabilities of Gilbert's and Elliott's model.
fn bursts(item: &Item) -> Result<GilbertElliott, Mistake> {
    let fields = Fields::of_item(item, "a loss in bursts", BURSTS)?;
    let model = if fields.item("loss").is_some() {
        let burst = fields.need("burst", read::number(1.0..=1e6))?;
        let loss = fields.need("loss", read::share)?;
        if loss * (1.0 + 1.0 / burst) >= 1.0 {
            let what = "so much loss leaves no room between bursts";
            return Err(Mistake::new(&item.place, what, "write less loss"));
        }
        GilbertElliott::bursts(loss, burst)
    } else {
        GilbertElliott {
            to_bad: fields.need("to_bad", read::share)?,
            to_good: fields.need("to_good", read::share)?,
            loss_in_good: fields.get("loss_in_good", read::share)?.unwrap_or(0.0),
            loss_in_bad: fields.get("loss_in_bad", read::share)?.unwrap_or(1.0),
        }
    };
    fields.done("a loss in bursts of this kind")?;
    Ok(model)
}

/// `outages = ["10s..12s"]`.
fn outages(fields: &Fields<'_>) -> Result<Vec<Outage>, Mistake> {
    let outage = |item: &Item| {
        let (start, end) = span(item)?;
        Ok(Outage {
            start: Instant::ZERO + start,
            end: Instant::ZERO + end,
        })
    };
    fields.list("outages").iter().map(outage).collect()
}

/// Two times, `"10s..12s"`, the second after the first.
pub(crate) fn span(item: &Item) -> Result<(Duration, Duration), Mistake> {
    let text = read::text(item)?;
    let Some((start, end)) = text.split_once("..") else {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' is no span of time"),
            "write 10s..12s",
        ));
    };
    let time = |text| dccp_cli::quantity::time(text).map_err(|e| read::from_quantity(item, &e));
    let (start, end) = (time(start)?, time(end)?);
    if end <= start {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' ends no later than it begins"),
            "write the earlier time first",
        ));
    }
    Ok((start, end))
}

#[cfg(test)]
mod tests;
