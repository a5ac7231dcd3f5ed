//! The summary of a run: the metrics of `metrics.rs`, computed from the recorded values.

use crate::media::{self, DatagramSummary, FrameSummary};
use crate::metrics::{self, Distribution};
use crate::run::agenda::marks;
use crate::run::outcome::{FlowOutcome, LinkOutcome, Outcome, RoundTrip};
use crate::scenario::plan::{Flow, Kind, Run};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_proto::time::nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// The summary of a run. Values that a run does not have are `None`.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
pub struct Summary {
    /// In the order of the plan. The JSON adds their names and totals.
    #[serde(skip)]
    pub flows: Vec<FlowSummary>,
    /// Both directions of each link of the plan: there, back. The JSON adds their names and totals.
    #[serde(skip)]
    pub links: Vec<LinkSummary>,
    /// Fairness of the means of all streams of bulk flows, while all are active.
    #[schemars(range(min = 0, max = 1))]
    pub fairness: Option<f64>,
    /// The difference of the goodputs of the first two bulk flows, divided by their sum, if there are exactly two.
    #[schemars(range(min = -1, max = 1))]
    pub asymmetry: Option<f64>,
    /// The time to convergence, from the beginning of the last bulk flow.
    pub convergence_ns: Option<u64>,
    /// Stability of the sum of all flows but probes.
    #[schemars(range(min = 0))]
    pub constancy: Option<f64>,
    /// Round trips of all probes after the discarded time.
    pub rtt_ping_ns: Option<Distribution>,
    /// The mean of `rtt_ping_ns` less the mean before the first other flow begins.
    pub rtt_increase_ns: Option<f64>,
    /// The mean of `rtt_ping_ns` divided by the mean before the first other flow begins.
    #[schemars(range(min = 0))]
    pub rtt_ratio: Option<f64>,
}

/// The summary of a flow.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
pub struct FlowSummary {
    /// Goodput over the whole time of the flow.
    #[schemars(range(min = 0))]
    pub throughput_bps: f64,
    /// Goodput after the discarded time.
    #[schemars(range(min = 0))]
    pub throughput_after_discard_bps: Option<f64>,
    /// Mean goodput while all bulk flows are active; null for other flows.
    #[schemars(range(min = 0))]
    pub share_bps: Option<f64>,
    /// Stability of the five-second series after the discarded time.
    #[schemars(range(min = 0))]
    pub stability: Option<f64>,
    /// The share of datagrams lost after the discarded time.
    #[schemars(range(min = 0, max = 1))]
    pub loss: Option<f64>,
    /// Round trips that the transport measured after the discarded time.
    pub rtt_transport_ns: Option<Distribution>,
    /// Round trips that the application measured after the discarded time.
    pub rtt_ping_ns: Option<Distribution>,
    /// The age of data on arrival, if the flow records its datagrams. Those that were made in the discarded time are
    /// left out, here and in the following values.
    pub age_ns: Option<Distribution>,
    /// The share of important datagrams among those delivered, if the flow records its datagrams.
    #[schemars(range(min = 0, max = 1))]
    pub important_fraction: Option<f64>,
    /// The datagrams that the application made, if the flow records them.
    pub datagrams: Option<DatagramSummary>,
    /// The pictures of a film.
    pub frames: Option<FrameSummary>,
    /// The mean congestion window at the ends of the intervals after the discarded time.
    #[schemars(range(min = 0))]
    pub cwnd_packets_mean: Option<f64>,
}

/// The summary of a direction of a link.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
pub struct LinkSummary {
    /// The busy share of the time after the discarded time.
    #[schemars(range(min = 0, max = 1))]
    pub utilisation: Option<f64>,
    /// The mean number of packets in the queue after the discarded time.
    #[schemars(range(min = 0))]
    pub queue_packets_mean: Option<f64>,
}

/// Computes the summary of a run.
pub fn sum_up(run: &Run, outcome: &Outcome) -> Summary {
    let flows: Vec<FlowSummary> = (run.flows.iter().zip(&outcome.flows))
        .map(|(flow, recorded)| of_flow(run, flow, recorded, &outcome.ticks))
        .collect();
    let bulk = |n: &usize| run.flows[*n].kind == Kind::Bulk;
    let bulk: Vec<usize> = (0..run.flows.len()).filter(bulk).collect();
    let shares: Option<Vec<f64>> = bulk.iter().map(|&n| flows[n].share_bps).collect();
    let shares = shares.unwrap_or_default();
    let streams = bulk
        .iter()
        .flat_map(|&n| stream_shares(run, &outcome.flows[n]));
    let streams: Vec<f64> = streams.collect();
    let (loaded, unloaded) = round_trips(run, outcome);
    let mean = |d: Option<Distribution>| d.map(|d| d.avg);
    Summary {
        links: (outcome.links.iter())
            .map(|link| of_link(run, link, &outcome.ticks))
            .collect(),
        fairness: metrics::fairness(&streams),
        asymmetry: match shares[..] {
            [first, second] => metrics::asymmetry(first, second),
            _ => None,
        },
        convergence_ns: convergence(run, outcome, &bulk).map(nanos),
        constancy: metrics::stability(&load(run, outcome)),
        rtt_ping_ns: loaded,
        rtt_increase_ns: mean(loaded).zip(mean(unloaded)).map(|(l, u)| l - u),
        rtt_ratio: mean(loaded).zip(mean(unloaded)).map(|(l, u)| l / u),
        flows,
    }
}

/// The mean goodput of each stream of a flow, in bits per second, while all bulk flows are active.
fn stream_shares(run: &Run, recorded: &FlowOutcome) -> Vec<f64> {
    let marks = marks(run);
    let time = marks.first_stops.saturating_sub(marks.all_active);
    if time.is_zero() {
        return Vec::new();
    }
    let bytes = &recorded.stream_marks;
    let spans = bytes.all_active.iter().zip(&bytes.first_stops);
    spans.map(|(begin, end)| rate(end - begin, time)).collect()
}

fn of_flow(run: &Run, flow: &Flow, recorded: &FlowOutcome, ticks: &[Duration]) -> FlowSummary {
    let begin = flow.begin();
    let end = flow.stop.map_or(run.end, |stop| stop.min(run.end));
    // Only bytes until the stop count. Otherwise goodput could exceed the rate of a link.
    let total = recorded
        .stopped_bytes
        .unwrap_or(recorded.totals.goodput_bytes());
    let discard = run.measure.discard;
    let marks = marks(run);
    let bytes = &recorded.marks;
    let after = (end > discard.max(begin)).then(|| {
        rate(
            total - bytes.discarded,
            end.saturating_sub(discard.max(begin)),
        )
    });
    let common = marks.first_stops.checked_sub(marks.all_active);
    let share = common
        .filter(|time| !time.is_zero())
        .map(|time| rate(bytes.first_stops - bytes.all_active, time));
    let made: Vec<_> = (recorded.datagrams.iter().flatten())
        .filter(|datagram| datagram.made >= discard)
        .copied()
        .collect();
    let datagrams = media::datagrams(&made);
    let windows: Vec<f64> = (recorded.intervals.iter().zip(ticks))
        .filter(|(_, at)| **at > discard)
        .filter_map(|(interval, _)| interval.cwnd_packets)
        .collect();
    FlowSummary {
        throughput_bps: rate(total, end.saturating_sub(begin)),
        throughput_after_discard_bps: after,
        share_bps: share.filter(|_| flow.kind == Kind::Bulk),
        stability: metrics::stability(bins_after(recorded, begin, discard)),
        loss: loss_after_discard(recorded),
        rtt_transport_ns: Distribution::of(&within(&recorded.rtt_transport, discard, run.end)),
        rtt_ping_ns: Distribution::of(&within(&recorded.pings, discard, run.end)),
        age_ns: Distribution::of(&media::ages(&made, |_| true)),
        important_fraction: datagrams.as_ref().and_then(media::important_fraction),
        datagrams,
        frames: media::frames(run, flow, &recorded.datagrams),
        cwnd_packets_mean: metrics::mean(&windows),
    }
}

/// The share of datagrams lost after the discarded time.
fn loss_after_discard(recorded: &FlowOutcome) -> Option<f64> {
    let (all, discarded) = (&recorded.totals, &recorded.discarded);
    // A datagram that was lost before may have arrived since.
    let lost = all
        .lost_packets?
        .saturating_sub(discarded.lost_packets.unwrap_or(0));
    metrics::loss(lost, all.delivered_packets - discarded.delivered_packets)
}

/// The bins of a flow that begin after the discarded time.
fn bins_after(recorded: &FlowOutcome, begin: Duration, discard: Duration) -> &[f64] {
    let discarded = discard.saturating_sub(begin).as_nanos();
    let first = discarded.div_ceil(metrics::BIN.as_nanos());
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    recorded.bins.get(first..).unwrap_or_default()
}

/// The round trips that end in a span of time, in nanoseconds.
fn within(trips: &[RoundTrip], from: Duration, until: Duration) -> Vec<u64> {
    let in_span = trips
        .iter()
        .filter(|trip| from < trip.at && trip.at <= until);
    in_span.map(|trip| trip.rtt_ns).collect()
}

/// Round trips of all probes under load and before it.
fn round_trips(run: &Run, outcome: &Outcome) -> (Option<Distribution>, Option<Distribution>) {
    let others = run.flows.iter().filter(|flow| flow.kind != Kind::Probe);
    let load = others.flat_map(|flow| flow.starts.iter()).min().copied();
    let load = load.unwrap_or(run.end);
    let of = |from, until| {
        let flows = outcome.flows.iter();
        let all: Vec<u64> = flows
            .flat_map(|flow| within(&flow.pings, from, until))
            .collect();
        Distribution::of(&all)
    };
    let loaded = of(load.max(run.measure.discard), run.end);
    (loaded, of(Duration::ZERO, load))
}

/// Computed from the beginning of the last bulk flow. The bins of other flows that begin earlier are left out.
fn convergence(run: &Run, outcome: &Outcome, bulk: &[usize]) -> Option<Duration> {
    let begin = |n: usize| {
        run.flows[n]
            .starts
            .iter()
            .min()
            .copied()
            .unwrap_or_default()
    };
    let last = bulk.iter().map(|&n| begin(n)).max()?;
    let series: Vec<&[f64]> = (bulk.iter())
        .map(|&n| bins_after(&outcome.flows[n], begin(n), last))
        .collect();
    (series.len() >= 2).then(|| metrics::convergence(&series))?
}

/// The sum of all flows but probes, interval by interval, after the discarded time.
fn load(run: &Run, outcome: &Outcome) -> Vec<f64> {
    let flows = || {
        let flows = run.flows.iter().zip(&outcome.flows);
        flows.filter(|(flow, _)| flow.kind != Kind::Probe)
    };
    let sum = |k: usize| flows().map(|(_, o)| o.intervals[k].goodput_bps).sum();
    let kept = (0..outcome.ticks.len()).filter(|&k| outcome.ticks[k] > run.measure.discard);
    kept.map(sum).collect()
}

fn of_link(run: &Run, recorded: &LinkOutcome, ticks: &[Duration]) -> LinkSummary {
    let discard = run.measure.discard;
    let queue: Vec<f64> = (recorded.intervals.iter().zip(ticks))
        .filter(|(_, at)| **at > discard)
        .map(|(interval, _)| interval.queue_packets_mean)
        .collect();
    LinkSummary {
        utilisation: metrics::utilisation(recorded.busy, run.end.saturating_sub(discard)),
        queue_packets_mean: metrics::mean(&queue),
    }
}

/// Returns bits per second.
fn rate(bytes: u64, time: Duration) -> f64 {
    Rate::over(bytes, time).bits_per_s()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::outcome::Marks;
    use crate::scenario::{Scale, Scenario};

    const TWO_FLOWS: &str = r#"
schema = "dccplab/1"
name = "streams"
seed = 1
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "20Mbit"
[[flow]]
id = "three-streams"
from = "a"
to = "b"
cc = "reno*3"
[[flow]]
id = "one-stream"
from = "a"
to = "b"
[measure]
duration = "12s"
discard = "2s"
"#;

    /// A flow whose streams have these bytes after 2 s and after 12 s.
    fn flow(after_discard: &[u64], at_end: &[u64]) -> FlowOutcome {
        FlowOutcome {
            marks: Marks {
                all_active: after_discard.iter().sum(),
                first_stops: at_end.iter().sum(),
                ..Marks::default()
            },
            stream_marks: Marks {
                all_active: after_discard.to_vec(),
                first_stops: at_end.to_vec(),
                ..Marks::default()
            },
            ..FlowOutcome::default()
        }
    }

    #[test]
    fn fairness_compares_streams_and_asymmetry_compares_flows() {
        let run = Scenario::parse(TWO_FLOWS, "f", Scale::Full)
            .unwrap()
            .runs
            .remove(0);
        // In the 10 s of both flows, the streams get 1, 2, 3 and 6 Mbit/s: each flow gets 6 Mbit/s.
        let three = flow(&[500_000, 0, 250_000], &[1_750_000, 2_500_000, 4_000_000]);
        let one = flow(&[100_000], &[7_600_000]);
        let outcome = Outcome {
            flows: vec![three, one],
            ..Outcome::default()
        };
        let summary = sum_up(&run, &outcome);
        // Jain's index of the streams: 12² / (4 · (1 + 4 + 9 + 36)). Of the flows, it would be 1.
        let fairness = summary.fairness.unwrap();
        assert!((fairness - 0.72).abs() < 1e-12, "{fairness}");
        assert_eq!(summary.asymmetry, Some(0.0));
    }
}
