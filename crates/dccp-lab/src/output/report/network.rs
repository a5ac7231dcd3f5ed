//! The network and the schedule, as the scenario describes them.

use super::super::count;
use super::super::json::transport;
use super::Source;
use crate::scenario::plan::{Flow, Link, Run};
use core::time::Duration;
use dccp_cli::quantity::show;
use dccp_plot::{Edge, Node, Row, Strip, Topology};
use dccp_proto::Rate;
use dccp_proto::time::nanos;
use dccp_report::{Section, Table};
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};

/// The runs of the scenario, or the reason why there are none.
fn runs(source: &Source) -> Result<&[Run], String> {
    match &source.scenario {
        Ok(scenario) if scenario.measures_this_machine() => {
            Err("The scenario measures this machine: it has no network.".into())
        }
        Ok(scenario) => Ok(&scenario.runs),
        Err(reason) => Err(format!("There is nothing to draw: {reason}.")),
    }
}

pub(super) fn fill(section: &mut Section, source: &Source) {
    let (run, others) = match runs(source) {
        Ok([run, others @ ..]) => (run, others),
        Ok([]) => return,
        Err(reason) => {
            section.absent(&reason);
            return;
        }
    };
    let links = &run.network.links;
    let varied: Vec<&str> = (links.iter().enumerate())
        .filter(|(n, link)| {
            others
                .iter()
                .any(|other| other.network.links.get(*n) != Some(*link))
        })
        .map(|(_, link)| link.id.as_str())
        .collect();
    if !varied.is_empty() {
        let links = varied.join(", ");
        section.text(&format!(
            "Cells differ in these links: {links}. The first cell is drawn."
        ));
    }
    let caption = format!(
        "{}, {}; the slowest link is thick",
        count(run.network.nodes.len(), "node"),
        count(links.len(), "link")
    );
    section.figure(&caption, &picture(run).to_svg(), &numbers(run));
}

fn picture(run: &Run) -> Topology {
    let is_host = run.network.hosts(&run.flows);
    let names = run.network.nodes.iter().zip(is_host);
    let slowest = run.network.links.iter().filter_map(speed).reduce(f64::min);
    Topology {
        title: String::new(),
        nodes: names
            .map(|(name, is_host)| Node {
                name: name.clone(),
                is_host,
            })
            .collect(),
        edges: (run.network.links.iter())
            .map(|link| Edge {
                from: link.from,
                to: link.to,
                label: format!("{}, {} ms", rate(&link.there), millis(link.there.delay)),
                is_strong: speed(link).is_some_and(|speed| Some(speed) == slowest),
            })
            .collect(),
    }
}

/// In bit/s.
fn speed(link: &Link) -> Option<f64> {
    let rate = |way: &LinkConfig| way.rate.map(Rate::bits_per_s);
    [rate(&link.there), rate(&link.back)]
        .into_iter()
        .flatten()
        .reduce(f64::min)
}

fn numbers(run: &Run) -> Table {
    let heads = [
        "link",
        "from",
        "to",
        "rate",
        "delay, ms",
        "queue",
        "random faults",
    ];
    let mut table = Table::words("The links", &heads);
    let nodes = &run.network.nodes;
    for link in &run.network.links {
        let mut row = |from: usize, to: usize, way: &LinkConfig| {
            table.row([
                link.id.clone(),
                nodes[from].clone(),
                nodes[to].clone(),
                rate(way),
                millis(way.delay),
                if way.rate.is_some() || way.trace.is_some() {
                    queue(&way.queue)
                } else {
                    "none".to_owned()
                },
                if way.faults == LinkConfig::default().faults {
                    "no"
                } else {
                    "yes"
                }
                .to_owned(),
            ]);
        };
        row(link.from, link.to, &link.there);
        row(link.to, link.from, &link.back);
    }
    table
}

fn rate(way: &LinkConfig) -> String {
    match (&way.rate, &way.trace) {
        (Some(rate), _) => show::rate(rate.bits_per_s()),
        (None, Some(_)) => "trace".to_owned(),
        (None, None) => "no limit".to_owned(),
    }
}

/// The discipline, and its room if that is its only number.
fn queue(queue: &QueueConfig) -> String {
    match queue {
        QueueConfig::DropTail(config) => match config.limit {
            Limit::Packets(packets) => format!("{packets} packets"),
            Limit::Bytes(bytes) => show::bytes(bytes as u64),
        },
        QueueConfig::TokenBucket(_) => "token bucket".to_owned(),
        QueueConfig::Red(_) => "RED".to_owned(),
        QueueConfig::CoDel(_) => "CoDel".to_owned(),
        QueueConfig::FqCoDel(_) => "FQ-CoDel".to_owned(),
        QueueConfig::Pie(_) => "PIE".to_owned(),
        QueueConfig::DualPi2(_) => "DualPI2".to_owned(),
    }
}

fn millis(time: Duration) -> String {
    let text = format!("{:.3}", time.as_secs_f64() * 1e3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A strip for each phase: the flows of its first cell.
pub(super) fn schedule(section: &mut Section, source: &Source) {
    let runs = match runs(source) {
        Ok(runs) => runs,
        Err(reason) => {
            section.absent(&reason);
            return;
        }
    };
    let mut shown: Vec<&Option<String>> = Vec::new();
    for run in runs {
        if shown.contains(&&run.phase) {
            continue;
        }
        shown.push(&run.phase);
        let caption = match &run.phase {
            Some(phase) => format!("Who sends when: {phase}"),
            None => "Who sends when".to_owned(),
        };
        let caption = match run.label() {
            label if label.is_empty() || runs.len() == 1 => caption,
            label => format!("{caption} (times of the first cell: {label})"),
        };
        section.figure(&caption, &strip(run).to_svg(), &times(run));
    }
}

/// The spans of each flow. Its streams may begin at different times.
fn spans(run: &Run, flow: &Flow) -> Vec<(f64, f64)> {
    let end = flow.stop.unwrap_or(run.end).min(run.end).as_secs_f64();
    let begin = flow.starts.iter().min();
    begin
        .map(|begin| (begin.as_secs_f64(), end))
        .into_iter()
        .collect()
}

fn strip(run: &Run) -> Strip {
    Strip {
        title: String::new(),
        x_label: "time, s".into(),
        rows: (run.flows.iter())
            .map(|flow| Row {
                name: flow.id.clone(),
                spans: spans(run, flow),
            })
            .collect(),
    }
}

fn times(run: &Run) -> Table {
    let heads = [
        "flow",
        "transport",
        "from",
        "to",
        "streams",
        "begin, s",
        "end, s",
    ];
    let mut table = Table::words("", &heads);
    for flow in &run.flows {
        let end = flow.stop.unwrap_or(run.end).min(run.end);
        table.row([
            flow.id.clone(),
            transport(flow),
            run.network.nodes[flow.from].clone(),
            run.network.nodes[flow.to].clone(),
            flow.starts.len().to_string(),
            show::seconds(nanos(flow.begin())),
            show::seconds(nanos(end)),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    const TEXT: &str = r#"
schema = "dccplab/1"
name = "two"
seed = 1
[topology]
nodes = ["a", "r", "b"]
[[link]]
from = "a"
to = "r"
rate = "1Gbit"
delay = "1500us"
[[link]]
id = "neck"
from = "r"
to = "b"
rate = "20Mbit"
delay = "5ms"
queue = "50p"
[[flow]]
id = "whole"
from = "a"
to = "b"
[[flow]]
id = "part"
from = "a"
to = "b"
start = "2s"
stop = "6s"
[measure]
duration = "10s"
"#;

    fn run() -> Run {
        Scenario::parse(TEXT, "f", Scale::Full)
            .unwrap()
            .runs
            .remove(0)
    }

    #[test]
    fn slowest_link_is_strong_and_labels_have_units() {
        let picture = picture(&run());
        let edges: Vec<_> = picture
            .edges
            .iter()
            .map(|e| (&e.label[..], e.is_strong))
            .collect();
        assert_eq!(
            edges,
            [("1.00 Gbit/s, 1.5 ms", false), ("20.0 Mbit/s, 5 ms", true)]
        );
        let hosts: Vec<bool> = picture.nodes.iter().map(|node| node.is_host).collect();
        assert_eq!(hosts, [true, false, true]);
        assert!(numbers(&run()).to_string().contains("<td>50 packets</td>"));
    }

    #[test]
    fn flow_without_stop_is_on_until_the_end() {
        let rows = strip(&run()).rows;
        assert_eq!(rows[0].spans, [(0.0, 10.0)]);
        assert_eq!(rows[1].spans, [(2.0, 6.0)]);
    }
}
