//! `[[host]]`: what hosts are made of, if not of nothing that takes time.

use super::document::{Item, Table, Value};
use super::fields::Fields;
use super::link::rate_of;
use super::mistake::{Mistake, Place};
use super::plan::{Link, Machine};
use super::queue::{Path, room};
use super::read;
use super::topology::{node, sections};
use core::time::Duration;
use dccp_sim::machine::{Clock, LocalCongestion, MachineConfig};

pub(super) const KNOWN: &[&str] = &[
    "node",
    "send_cost",
    "receive_cost",
    "wakeup",
    "batch",
    "quantum",
    "backlog",
    "local_congestion",
    "txqueuelen",
    "clock",
];

pub(super) const CLOCK: &[&str] = &["offset", "drift", "granularity"];

/// All machines. `links` get the queues of their interfaces; `written` are the links' sections.
pub(super) fn machines(
    document: &Table,
    nodes: &[String],
    links: &mut [Link],
    written: &[&Item],
) -> Result<Vec<Machine>, Mistake> {
    let mut machines: Vec<Machine> = Vec::new();
    for section in sections(document, "host")? {
        let fields = Fields::of_item(section, "a host", KNOWN)?;
        let config = machine(&fields)?;
        let queue = fields.item("txqueuelen");
        for (node, place) in ends(&fields, nodes)? {
            if machines.iter().any(|m| m.node == node) {
                let what = format!("there are two hosts {}", nodes[node]);
                return Err(Mistake::new(&place, what, "write one [[host]] for it"));
            }
            if let Some(item) = queue {
                interface(item, node, links, written)?;
            }
            machines.push(Machine { node, config });
        }
    }
    Ok(machines)
}

/// Refuses machines of nodes that are routers.
pub(super) fn are_hosts(
    document: &Table,
    nodes: &[String],
    is_host: &[bool],
) -> Result<(), Mistake> {
    for section in sections(document, "host")? {
        let fields = Fields::of_item(section, "a host", KNOWN)?;
        for (node, place) in ends(&fields, nodes)? {
            if !is_host[node] {
                let what = format!("{} is at no end of a flow: it is a router", nodes[node]);
                return Err(Mistake::new(&place, what, "leave it out"));
            }
        }
    }
    Ok(())
}

fn ends(fields: &Fields<'_>, nodes: &[String]) -> Result<Vec<(usize, Place)>, Mistake> {
    fields.need("node", Ok)?;
    let end = |item: &Item| Ok((node(item, nodes)?, item.place.clone()));
    fields.list("node").iter().map(end).collect()
}

fn machine(fields: &Fields<'_>) -> Result<MachineConfig, Mistake> {
    let usual = MachineConfig::default();
    let cost = |key, usual| Ok::<_, Mistake>(fields.get(key, time)?.unwrap_or(usual));
    let count = |key, usual| -> Result<usize, Mistake> {
        let count = fields.get(key, read::whole(1..=1_000_000))?;
        Ok(count.and_then(|n| n.try_into().ok()).unwrap_or(usual))
    };
    Ok(MachineConfig {
        send_cost: cost("send_cost", usual.send_cost)?,
        quantum: count("quantum", usual.quantum)?,
        receive_cost: cost("receive_cost", usual.receive_cost)?,
        wakeup: cost("wakeup", usual.wakeup)?,
        batch: count("batch", usual.batch)?,
        backlog: count("backlog", usual.backlog)?,
        local_congestion: fields
            .get("local_congestion", local_congestion)?
            .unwrap_or(usual.local_congestion),
        clock: fields.get("clock", clock)?.unwrap_or(usual.clock),
    })
}

/// A time of no more than a day.
fn time(item: &Item) -> Result<Duration, Mistake> {
    const MOST: Duration = Duration::from_hours(24);
    let time = read::time(item)?;
    if time > MOST {
        let what = format!("{} is too long here", item.label());
        return Err(Mistake::new(&item.place, what, "write 0s to 24h"));
    }
    Ok(time)
}

fn local_congestion(item: &Item) -> Result<LocalCongestion, Mistake> {
    match read::text(item)? {
        "drop" => Ok(LocalCongestion::Drop),
        "wait" => Ok(LocalCongestion::Wait),
        "event" => Ok(LocalCongestion::Event),
        other => Err(Mistake::unknown(
            &item.place,
            "local congestion",
            other,
            &["drop", "wait", "event"],
        )),
    }
}

/// `clock = { offset = "1s", drift = "50ppm", granularity = "10ms" }`.
fn clock(item: &Item) -> Result<Clock, Mistake> {
    let fields = Fields::of_item(item, "a clock", CLOCK)?;
    Ok(Clock {
        offset: fields.get("offset", time)?.unwrap_or_default(),
        drift_ppb: fields.get("drift", drift)?.unwrap_or_default(),
        granularity: fields.get("granularity", time)?.unwrap_or_default(),
    })
}

/// `"50ppm"`, in parts per 10^9.
fn drift(item: &Item) -> Result<i32, Mistake> {
    let text = read::text(item)?;
    let ppm = (text.strip_suffix("ppm")).and_then(|ppm| ppm.parse::<f64>().ok());
    let Some(ppm) = ppm.filter(|ppm| (-100_000.0..=100_000.0).contains(ppm)) else {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' is no drift"),
            "write -100000ppm to 100000ppm",
        ));
    };
    #[expect(clippy::cast_possible_truncation, reason = "at most 10^8")]
    let ppb = (ppm * 1000.0).round() as i32;
    Ok(ppb)
}

/// `txqueuelen`: the queue of each link where it leaves the node.
fn interface(
    item: &Item,
    node: usize,
    links: &mut [Link],
    written: &[&Item],
) -> Result<(), Mistake> {
    for (link, section) in links.iter_mut().zip(written) {
        let config = match node {
            n if n == link.from => &mut link.there,
            n if n == link.to => &mut link.back,
            _ => continue,
        };
        if has_queue(section, node == link.to) {
            return Err(Mistake::new(
                &item.place,
                format!("the link {} has a queue of its own", link.id),
                "leave out txqueuelen, or the link's queue",
            ));
        }
        let path = Path {
            rate: rate_of(config),
            delay: config.delay,
        };
        config.queue.set_limit(room(item, path)?);
        config.check().map_err(|error| {
            let what = format!("{} is not possible then", error.setting);
            Mistake::new(&item.place, what, format!("it must be {}", error.must_be))
        })?;
    }
    Ok(())
}

/// Whether a link's section says how much may wait.
fn has_queue(section: &Item, is_back: bool) -> bool {
    let Value::Table(keys) = &section.value else {
        return false;
    };
    let has = |keys: &Table| ["queue", "latency"].iter().any(|k| keys.entry(k).is_some());
    let back = keys.entry("back").filter(|_| is_back);
    let has_back = back.is_some_and(|b| matches!(&b.item.value, Value::Table(keys) if has(keys)));
    has(keys) || has_back
}
