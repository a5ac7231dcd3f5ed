//! `[measure]` and `[[phase]]`: the durations of runs, and the recorded values.

use super::keys::LinkUtilKeys;
use super::keys::{MeasureKeys, PhaseKeys, PhaseRun, Sections};
use super::plan::{Flow, Kind, Link, LinkUtil, Measure};
use super::values::At;
use crate::mistake::{Mistake, Place};
use core::time::Duration;

/// The longest run.
const DURATION_MAX: Duration = Duration::from_hours(720);
/// Bounds the values of a series.
const VALUES_MAX: u128 = 1_000_000;

/// The recording of each run. A file without `[measure]` gets the defaults.
pub(crate) fn measure(keys: &MeasureKeys, links: &[Link]) -> Result<Measure, Mistake> {
    let link_util = keys.link_util.as_ref().map(|keys| link_util(keys, links));
    let metrics = keys.metrics.as_ref().map(At::items).unwrap_or_default();
    Ok(Measure {
        interval: keys.interval.map_or(Duration::from_secs(1), |time| time.0),
        discard: keys.discard.map_or(Duration::ZERO, |time| time.0),
        metrics: metrics.iter().map(|(metric, _)| **metric).collect(),
        link_util: link_util.transpose()?,
    })
}

fn link_util(keys: &LinkUtilKeys, links: &[Link]) -> Result<LinkUtil, Mistake> {
    let known: Vec<&str> = links.iter().map(|link| link.id.as_str()).collect();
    let mut wanted = Vec::new();
    for (id, place) in keys.links.items() {
        let link = known.iter().position(|known| known == id);
        let link = link.ok_or_else(|| Mistake::unknown(place, "link", id, &known))?;
        if wanted.contains(&link) {
            let what = format!("the link {id} is here twice");
            return Err(Mistake::new(place, what, "leave one out"));
        }
        wanted.push(link);
    }
    Ok(LinkUtil {
        links: wanted,
        every: keys.every.0,
    })
}

/// A part of the experiment.
pub(crate) struct Phase {
    /// `None`: the file has no phases.
    pub(crate) name: Option<String>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) end: Duration,
}

/// The phases of one cell, in order: one with all flows if the file has none. `duration` is that of
/// `[measure]`, which stands at `place`.
pub(crate) fn phases(
    sections: &Sections<PhaseKeys>,
    flows: &[Flow],
    duration: Option<Duration>,
    place: &Place,
) -> Result<Vec<Phase>, Mistake> {
    let schedule = |name, duration: Option<Duration>, place: &Place| {
        let stop = flows.iter().filter_map(|flow| flow.stop).max();
        let end = duration.or(stop).ok_or_else(|| {
            let next = "give a flow a stop, or add duration = \"60s\" to [measure]";
            Mistake::new(place, "nothing says when the run ends", next)
        })?;
        Ok(Phase {
            name,
            flows: flows.to_vec(),
            end,
        })
    };
    if sections.is_empty() {
        return Ok(vec![schedule(None, duration, place)?]);
    }
    let mut phases: Vec<Phase> = Vec::new();
    for (n, keys) in sections.iter().enumerate() {
        let name = keys.name.0.clone();
        if sections[..n].iter().any(|other| other.name == keys.name) {
            let what = format!("there are two phases {name}");
            return Err(Mistake::new(&keys.place, what, "give each its own name"));
        }
        let own = keys.duration.map(|time| time.0);
        match keys.run {
            PhaseRun::Schedule => {
                phases.push(schedule(Some(name), own.or(duration), &keys.place)?);
            }
            PhaseRun::EachAlone => {
                let own = own.ok_or_else(|| Mistake::missing(&keys.place, "duration"))?;
                phases.extend(each_alone(&name, flows, own));
            }
        }
    }
    Ok(phases)
}

/// One run for each flow that carries load, from the beginning; probes are in each.
fn each_alone<'a>(
    name: &'a str,
    flows: &'a [Flow],
    duration: Duration,
) -> impl Iterator<Item = Phase> + 'a {
    let is_probe = |flow: &Flow| flow.kind == Kind::Probe;
    let loads = flows.iter().filter(move |flow| !is_probe(flow));
    loads.map(move |alone| {
        let kept = flows.iter().filter(|f| is_probe(f) || f.id == alone.id);
        Phase {
            name: Some(format!("{name}/{}", alone.id)),
            flows: kept.map(from_zero).collect(),
            end: duration,
        }
    })
}

/// The flow, but its first stream begins at 0 s, and nothing stops it.
fn from_zero(flow: &Flow) -> Flow {
    let first = flow.begin();
    let starts = flow.starts.iter().map(|start| start.saturating_sub(first));
    Flow {
        starts: starts.collect(),
        stop: None,
        ..flow.clone()
    }
}

/// Refuses times that contradict each other. `[measure]` stands at `place`.
pub(crate) fn check(place: &Place, phase: &Phase, measure: &Measure) -> Result<(), Mistake> {
    let end_s = phase.end.as_secs_f64();
    let every = measure.link_util.as_ref().map_or(DURATION_MAX, |u| u.every);
    let every = every.min(measure.interval);
    let mut flows = phase.flows.iter();
    let late = flows.find(|flow| flow.starts.iter().any(|start| *start >= phase.end));
    let (what, next) = match late {
        _ if measure.discard >= phase.end => (
            format!("everything is discarded, because the run ends at {end_s}s"),
            "write a shorter discard",
        ),
        _ if measure.interval > phase.end => (
            format!("no interval is complete, because the run ends at {end_s}s"),
            "write a shorter interval",
        ),
        _ if phase.end > DURATION_MAX => (
            format!("the run ends at {end_s}s, which is too late"),
            "write 720h at most",
        ),
        _ if phase.end.as_nanos() / every.as_nanos() > VALUES_MAX => (
            format!(
                "a series with a value every {}s until {end_s}s has more than {VALUES_MAX} values",
                every.as_secs_f64()
            ),
            "write a longer interval, or every",
        ),
        Some(flow) => (
            format!("{} begins after the end of the run at {end_s}s", flow.id),
            "write a longer duration, or an earlier start",
        ),
        None => return Ok(()),
    };
    Err(Mistake::new(place, what, next))
}
