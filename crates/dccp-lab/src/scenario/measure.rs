//! `[measure]` and `[[phase]]`: how long runs last, and what is recorded of them.

use super::document::{Item, Table};
use super::fields::Fields;
use super::mistake::Mistake;
use super::plan::{Flow, Kind, Link, LinkUtil, Measure};
use super::read;
use super::topology::sections;
use crate::metrics;
use core::time::Duration;

pub(super) const KNOWN: &[&str] = &[
    "interval",
    "discard",
    "duration",
    "metrics",
    "repeat",
    "link_util",
];
pub(super) const LINK_UTIL: &[&str] = &["links", "every"];
pub(super) const PHASE: &[&str] = &["name", "run", "duration"];

/// What `[measure]` says.
pub(crate) struct Wanted {
    pub(crate) measure: Measure,
    /// How often everything is repeated with another seed.
    pub(crate) repeat: u32,
    /// How long runs last if nothing else says so.
    pub(crate) duration: Option<Duration>,
}

/// Reads `[measure]`; a file without one gets the defaults.
pub(crate) fn measure(document: &Table, links: &[Link]) -> Result<Wanted, Mistake> {
    let empty = Table::default();
    let fields = match document.entry("measure") {
        Some(entry) => Fields::of_item(&entry.item, "the measurement", KNOWN)?,
        None => Fields::open(&empty, &(0..0), "the measurement", KNOWN)?,
    };
    let interval = fields.get("interval", read::period)?;
    let mut wanted = Vec::new();
    for item in fields.list("metrics") {
        let name = read::text(item)?;
        if !metrics::NAMES.contains(&name) {
            return Err(Mistake::unknown(
                &item.place,
                "metric",
                name,
                metrics::NAMES,
            ));
        }
        wanted.push(name.to_owned());
    }
    let measure = Measure {
        interval: interval.unwrap_or(Duration::from_secs(1)),
        discard: fields.get("discard", read::time)?.unwrap_or_default(),
        metrics: wanted,
        link_util: fields.get("link_util", |item| link_util(item, links))?,
    };
    let repeat = fields.get("repeat", read::whole(1..=10_000))?.unwrap_or(1);
    Ok(Wanted {
        measure,
        repeat: u32::try_from(repeat).unwrap_or(1),
        duration: fields.get("duration", read::period)?,
    })
}

fn link_util(item: &Item, links: &[Link]) -> Result<LinkUtil, Mistake> {
    let fields = Fields::of_item(item, "link_util", LINK_UTIL)?;
    let known: Vec<&str> = links.iter().map(|link| link.id.as_str()).collect();
    let mut wanted = Vec::new();
    fields.need("links", Ok)?;
    for item in fields.list("links") {
        let id = read::text(item)?;
        let link = known.iter().position(|known| *known == id);
        let link = link.ok_or_else(|| Mistake::unknown(&item.place, "link", id, &known))?;
        if wanted.contains(&link) {
            let what = format!("the link {id} is here twice");
            return Err(Mistake::new(&item.place, what, "leave one out"));
        }
        wanted.push(link);
    }
    Ok(LinkUtil {
        links: wanted,
        every: fields.need("every", read::period)?,
    })
}

/// A part of the experiment.
pub(crate) struct Phase {
    /// `None`: the file has no phases.
    pub(crate) name: Option<String>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) end: Duration,
}

/// The runs of one cell, in order: all flows at their times if the file names no phases.
pub(crate) fn phases(
    document: &Table,
    flows: &[Flow],
    duration: Option<Duration>,
) -> Result<Vec<Phase>, Mistake> {
    let schedule = |name, duration: Option<Duration>, place: &_| {
        let stop = flows.iter().filter_map(|flow| flow.stop).max();
        let end = duration.or(stop).ok_or_else(|| {
            Mistake::new(
                place,
                "nothing says when the run ends",
                "give a flow a stop, or add duration = \"60s\" to [measure]",
            )
        })?;
        Ok(Phase {
            name,
            flows: flows.to_vec(),
            end,
        })
    };
    let sections = sections(document, "phase")?;
    if sections.is_empty() {
        let place = document.entry("measure").map_or(0..0, |e| e.place.clone());
        return Ok(vec![schedule(None, duration, &place)?]);
    }
    let mut phases: Vec<Phase> = Vec::new();
    for section in sections {
        const RUNS: &[&str] = &["each-alone", "schedule"];
        let fields = Fields::of_item(section, "a phase", PHASE)?;
        let name = fields.need("name", read::name)?;
        let is_taken = |p: &Phase| {
            p.name
                .as_ref()
                .is_some_and(|n| n.split('/').next() == Some(&name))
        };
        if phases.iter().any(is_taken) {
            let what = format!("there are two phases {name}");
            return Err(Mistake::new(fields.place(), what, "give each its own name"));
        }
        let run = fields.need("run", |item| Ok((read::text(item)?, item)))?;
        match run {
            ("schedule", _) => {
                let duration = fields.get("duration", read::period)?.or(duration);
                phases.push(schedule(Some(name), duration, fields.place())?);
            }
            ("each-alone", _) => {
                let duration = fields.need("duration", read::period)?;
                phases.extend(each_alone(&name, flows, duration));
            }
            (run, item) => return Err(Mistake::unknown(&item.place, "run", run, RUNS)),
        }
    }
    Ok(phases)
}

/// One run for each flow that carries load, from the begin; probes are there all the time.
fn each_alone<'a>(
    name: &'a str,
    flows: &'a [Flow],
    duration: Duration,
) -> impl Iterator<Item = Phase> + 'a {
    let is_probe = |flow: &Flow| flow.kind == Kind::Probe;
    flows
        .iter()
        .filter(move |flow| !is_probe(flow))
        .map(move |alone| {
            let kept = flows.iter().filter(|f| is_probe(f) || f.id == alone.id);
            let from_begin = |flow: &Flow| {
                let first = flow.starts.iter().min().copied().unwrap_or_default();
                Flow {
                    starts: flow
                        .starts
                        .iter()
                        .map(|start| start.saturating_sub(first))
                        .collect(),
                    stop: None,
                    ..flow.clone()
                }
            };
            Phase {
                name: Some(format!("{name}/{}", alone.id)),
                flows: kept.map(from_begin).collect(),
                end: duration,
            }
        })
}
