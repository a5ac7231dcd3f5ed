//! How many datagrams a run makes: one that nobody would see the end of is refused.

use super::document::{Item, Table, Value};
use super::flow::seconds;
use super::link::rate_of;
use super::measure::Phase;
use super::mistake::{Mistake, Place};
use super::plan::{Flow, Kind, Transport};
use super::topology::sections;
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::source::{Frames, Source};

/// Datagrams of a run: a day and more for a core.
const DATAGRAMS_MAX: f64 = 1e11;
/// Bytes of a packet that is full.
const FULL: f64 = 1500.0;

/// Datagrams in a second that each stream of a flow makes, about; `way` are the links there.
pub(crate) fn pace(flow: &Flow, way: &[&LinkConfig]) -> f64 {
    let delay: Duration = way.iter().map(|link| link.delay).sum();
    match &flow.sender.source {
        Source::Silent | Source::Script(_) => 0.0,
        Source::Cbr { interval, .. } | Source::Poisson { interval, .. } => per_second(*interval),
        Source::OnOff {
            interval, on, off, ..
        } => {
            let (on, off) = (on.mean().as_secs_f64(), off.mean().as_secs_f64());
            per_second(*interval) * on / (on + off)
        }
        Source::Sine { len, mean, .. } => mean.bytes_per_s() / to_f64(*len),
        Source::Frames(film) => of_film(film),
        Source::Requests { answer, think, .. } => {
            let packets = 1.0 + (to_f64(*answer) / FULL).ceil();
            let sending = to_f64(*answer) / slowest(way).unwrap_or(f64::INFINITY);
            let cycle = (think.mean() + 2 * delay).as_secs_f64() + sending;
            packets / cycle
        }
        Source::Bulk { len, .. } => {
            let by_rate = slowest(way).map_or(f64::INFINITY, |rate| rate / to_f64(*len));
            let by_window = window(flow).map(|w| f64::from(w) * per_second(2 * delay));
            by_rate.min(by_window.unwrap_or(f64::INFINITY))
        }
    }
}

/// Whether the datagrams of a phase come to an end; `paces` are those of `flows`, by which the phase's own
/// are found.
pub(crate) fn ends(
    document: &Table,
    phase: &Phase,
    flows: &[Flow],
    paces: &[f64],
) -> Result<(), Mistake> {
    let mut rhythms = 0.0;
    for flow in &phase.flows {
        let known = flows.iter().zip(paces).find(|(f, _)| f.id == flow.id);
        let end = flow.stop.map_or(phase.end, |stop| stop.min(phase.end));
        let active = flow.starts.iter().map(|start| end.saturating_sub(*start));
        let datagrams = known.map_or(0.0, |(_, pace)| pace * shared(flow, active));
        let datagrams = datagrams.min(amount(flow));
        // What bulk flows share is counted once.
        let total = if flow.kind == Kind::Bulk {
            datagrams
        } else {
            rhythms += datagrams;
            rhythms
        };
        if total > DATAGRAMS_MAX {
            return Err(Mistake::new(
                &place(document, &flow.id),
                format!(
                    "with {} this makes more than 100 thousand million datagrams until {}",
                    flow.id,
                    seconds(phase.end)
                ),
                "write lower rates, larger datagrams, longer pauses or a shorter run",
            ));
        }
    }
    Ok(())
}

/// Seconds of all streams; those of bulk flows share what there is.
fn shared(flow: &Flow, active: impl Iterator<Item = Duration>) -> f64 {
    let active = active.map(|time| time.as_secs_f64());
    match flow.kind {
        Kind::Bulk => active.fold(0.0, f64::max),
        _ => active.sum(),
    }
}

/// The datagrams of all streams, if it is known how many those are.
#[expect(clippy::cast_precision_loss, reason = "a bound")]
fn amount(flow: &Flow) -> f64 {
    match flow.sender.source {
        Source::Bulk { count, .. } if count < u64::MAX => count as f64 * to_f64(flow.starts.len()),
        _ => f64::INFINITY,
    }
}

/// Where a flow stands in the file.
fn place(document: &Table, id: &str) -> Place {
    let sections = sections(document, "flow").unwrap_or_default();
    let has_id = |item: &&&Item| match &item.value {
        Value::Table(table) => table.entry("id").is_some_and(|e| e.item.label() == id),
        _ => false,
    };
    let found = sections.iter().find(has_id);
    found.map_or(0..0, |item| item.place.clone())
}

fn of_film(film: &Frames) -> f64 {
    let datagrams = film.pattern.chars().map(|picture| {
        let size = match picture {
            'I' => film.sizes[0],
            'P' => film.sizes[1],
            _ => film.sizes[2],
        };
        to_f64(size.div_ceil(film.datagram))
    });
    let each = datagrams.sum::<f64>() / to_f64(film.pattern.len());
    each * per_second(film.interval)
}

fn window(flow: &Flow) -> Option<u32> {
    match &flow.transport {
        Transport::Dccp(config) => config.max_window,
        Transport::Tcp(config) => config.max_window,
        Transport::Udp => None,
    }
}

/// Bytes in a second of the slowest link, if one has a rate.
fn slowest(way: &[&LinkConfig]) -> Option<f64> {
    let rates = way.iter().filter_map(|link| rate_of(link));
    rates.map(Rate::bytes_per_s).reduce(f64::min)
}

/// Infinite if there is no interval.
fn per_second(interval: Duration) -> f64 {
    1.0 / interval.as_secs_f64()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "bytes of a datagram or an answer"
)]
const fn to_f64(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    /// What is said of a flow that runs for so long over a link of 100 Mbit/s and 5 ms.
    fn said(flow: &str, duration: &str) -> Option<String> {
        let text = format!(
            "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"100Mbit\"\ndelay = \"5ms\"\n\
            [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n\
            [measure]\nduration = \"{duration}\"\ninterval = \"1h\"\n"
        );
        Scenario::parse(&text, "f").err().map(|e| e.to_string())
    }

    /// The longest run that a flow may have lies between these.
    fn ends_between(flow: &str, good: &str, bad: &str) {
        assert_eq!(said(flow, good), None, "{flow}");
        let said = said(flow, bad).expect("a mistake");
        assert!(said.contains("with f this makes more than"), "{said}");
    }

    #[test]
    fn the_datagrams_of_every_kind_are_counted() {
        // 10^11 datagrams: 10^8 seconds at 1000 a second, so 10^5 at a million: 27.8 hours.
        let million = "kind = \"udp\"\nsize = \"100B\"\nshape";
        ends_between(&format!("{million} = \"cbr:800Mbit\""), "27h", "28h");
        ends_between(&format!("{million} = \"poisson:800Mbit\""), "27h", "28h");
        let sine = format!("{million} = \"sine:400Mbit..1200Mbit/60s\"");
        ends_between(&sine, "27h", "28h");
        let on_off = "kind = \"onoff\"\ntransport = \"udp\"\nsize = \"100B\"\nrate = \"1600Mbit\"";
        ends_between(
            &format!("{on_off}\non = \"1s\"\noff = \"1s\""),
            "27h",
            "28h",
        );
        ends_between("kind = \"ping\"\nevery = \"1us\"", "27h", "28h");
        // Five datagrams for three pictures.
        let film = "kind = \"media\"\npattern = \"IPB\"\nsize = \"100B\"\nevery = \"1us\"";
        let film = format!("{film}\npictures = [\"201B\", \"100B\", \"1B\"]");
        ends_between(&film, "16h", "17h");
        // A thousand streams, of each a request and two packets of an answer in 10.24 ms: 94.8 hours.
        let asks = "kind = \"requests\"\nanswer = \"3kB\"\nthink = \"1ns\"\ncc = \"reno*1000\"";
        ends_between(asks, "94h", "96h");
    }

    #[test]
    fn bulk_flows_share_what_there_is() {
        // 125 datagrams of 100 bytes in a millisecond: 222 hours.
        ends_between("cc = \"reno*100\"\nsize = \"100B\"", "222h", "223h");
        assert_eq!(said("size = \"100B\"\namount = \"1MB\"", "700h"), None);
        // A hundred in a round trip of 10 ms.
        let window = "size = \"1B\"\nwindow = \"100B\"";
        assert_eq!(said(window, "700h"), None);
        assert!(said("size = \"1B\"", "700h").is_some());
    }
}
