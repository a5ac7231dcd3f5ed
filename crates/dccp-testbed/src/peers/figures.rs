//! Parses the output of a run, selects the compared figures, and defines how far they may differ.

use super::cells::Cell;
use anyhow::{Context, Result};
use dccp_dev::median;
use std::collections::HashMap;

/// One flow of a run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Flow {
    pub(crate) packets: f64,
    pub(crate) bytes: f64,
    pub(crate) events: f64,
}

/// The output of a program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Output {
    pub(crate) flows: Vec<Flow>,
    /// Mean length of the queue in packets, if the program was to watch it.
    pub(crate) mean_queue: Option<f64>,
    /// Transmissions over all links.
    pub(crate) hops: f64,
    /// The most memory that it took, in KiB, if it could tell.
    pub(crate) memory_kib: Option<f64>,
}

impl Output {
    /// Reads lines of `name value` pairs; those of other kinds are passed over.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut output = Self {
            flows: Vec::new(),
            mean_queue: None,
            hops: 0.0,
            memory_kib: None,
        };
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["flow", _, _, ref pairs @ ..] => {
                    let values = values(pairs).with_context(|| line.to_owned())?;
                    output.flows.push(Flow {
                        packets: values["packets"],
                        bytes: values["bytes"],
                        events: values["events"],
                    });
                }
                ["link", ref pairs @ ..] => {
                    let values = values(pairs).with_context(|| line.to_owned())?;
                    output.mean_queue = Some(values["mean_queue"]);
                }
                ["hops", hops] => output.hops = hops.parse()?,
                ["memory", kib] => output.memory_kib = Some(kib.parse()?),
                _ => {}
            }
        }
        anyhow::ensure!(!output.flows.is_empty(), "no flow in {text:?}");
        Ok(output)
    }

    /// Data packets delivered.
    pub(crate) fn packets(&self) -> f64 {
        self.flows.iter().map(|flow| flow.packets).sum()
    }

    /// Payload delivered.
    pub(crate) fn bytes(&self) -> f64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }
}

fn values<'a>(pairs: &[&'a str]) -> Result<HashMap<&'a str, f64>> {
    let pairs = pairs.chunks_exact(2);
    pairs.map(|pair| Ok((pair[0], pair[1].parse()?))).collect()
}

/// The compared figures: medians over all runs of a cell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Figures {
    /// The share of the law's flows in all deliveries, in percent; `None` for a lone flow.
    pub(super) share: Option<f64>,
    /// Reductions of the window of all flows together; of TFRC, which has none, nothing.
    pub(super) events: Option<f64>,
    /// Packets that waited at the bottleneck, mean over time.
    pub(super) queue: f64,
    /// Payload delivered, in Mbit/s.
    pub(super) goodput: f64,
}

pub(super) fn medians(cell: &Cell, runs: &[Output]) -> Figures {
    let of = |value: &dyn Fn(&Output) -> f64| median(runs.iter().map(value).collect());
    let major = |run: &Output| -> f64 {
        let flows = run.flows.iter().enumerate();
        let major = flows.filter(|(number, _)| cell.is_major(*number));
        major.map(|(_, flow)| flow.bytes).sum()
    };
    let events = |run: &Output| run.flows.iter().map(|flow| flow.events).sum();
    let (time, warmup) = cell.time();
    Figures {
        share: (cell.flows > 1).then(|| of(&|run| 100.0 * major(run) / run.bytes().max(1.0))),
        events: (cell.law.name != "ccid3").then(|| of(&events)),
        queue: of(&|run| run.mean_queue.unwrap_or(f64::NAN)),
        goodput: of(&|run| run.bytes() * 8e-6 / f64::from(time - warmup)),
    }
}

/// The permitted differences: percentage points of the share, and parts of the peer's other values.
const SHARE: f64 = 5.0;
const EVENTS: f64 = 0.15;
const QUEUE: f64 = 0.15;
const GOODPUT: f64 = 0.02;
/// Counts are whole: one event more or less is no difference, nor is a packet in a queue.
const ONE: f64 = 1.0;

/// Which of the figures are too far apart.
pub(super) fn disagreements(ours: &Figures, peer: &Figures) -> Vec<&'static str> {
    let far = |ours: f64, peer: f64, part: f64, least: f64| {
        let apart = (ours - peer).abs();
        apart.is_nan() || apart > (part * peer).max(least)
    };
    let pair = |ours: Option<f64>, peer: Option<f64>| ours.zip(peer);
    let mut names = Vec::new();
    if pair(ours.share, peer.share).is_some_and(|(o, p)| far(o, p, 0.0, SHARE)) {
        names.push("share");
    }
    if pair(ours.events, peer.events).is_some_and(|(o, p)| far(o, p, EVENTS, ONE)) {
        names.push("events");
    }
    if far(ours.queue, peer.queue, QUEUE, ONE) {
        names.push("queue");
    }
    if far(ours.goodput, peer.goodput, GOODPUT, 0.0) {
        names.push("goodput");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cmd select_ca reno\n\
        flow 0 reno packets 10 bytes 14480 events 2 lost 3\n\
        flow 1 cubic packets 30 bytes 43440 events 1 lost 0\n\
        link mean_queue 12.50 utilisation 0.9 delivered 45 drops 3\n\
        hops 200\n\
        memory 4096\n";

    #[test]
    fn the_programs_output_is_read() {
        let output = Output::read(TEXT).unwrap();
        assert_eq!(output.flows.len(), 2);
        assert_eq!(
            output.flows[1],
            Flow {
                packets: 30.0,
                bytes: 43_440.0,
                events: 1.0
            }
        );
        assert_eq!(output.mean_queue, Some(12.5));
        assert_eq!((output.packets(), output.hops), (40.0, 200.0));
        assert_eq!(output.memory_kib, Some(4096.0));
        assert!(Output::read("nothing").is_err());
        assert!(Output::read("flow 0 reno packets x").is_err());
    }

    #[test]
    fn figures_are_medians_over_the_runs() {
        let cell = super::super::cells::all()[1];
        let run = Output::read(TEXT).unwrap();
        let figures = medians(&cell, &[run.clone(), run]);
        assert_eq!(figures.share, Some(25.0));
        assert_eq!(figures.events, Some(3.0));
    }

    #[test]
    fn figures_agree_up_to_their_bounds() {
        let peer = Figures {
            share: Some(50.0),
            events: Some(100.0),
            queue: 200.0,
            goodput: 90.0,
        };
        let near = Figures {
            share: Some(55.0),
            events: Some(85.0),
            queue: 230.0,
            goodput: 88.2,
        };
        assert!(disagreements(&near, &peer).is_empty());
        let far = Figures {
            share: Some(55.1),
            events: Some(84.0),
            queue: 231.0,
            goodput: 88.1,
        };
        let all = ["share", "events", "queue", "goodput"];
        assert_eq!(disagreements(&far, &peer), all);
        let few = Figures {
            events: Some(2.0),
            ..peer
        };
        let fewer = Figures {
            events: Some(1.0),
            ..peer
        };
        assert!(disagreements(&fewer, &few).is_empty(), "one event");
    }
}
