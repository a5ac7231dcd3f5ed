//! A run summed up: the metrics of `metrics.rs`, of what was recorded.

use crate::metrics::{self, Distribution};
use crate::run::agenda::marks;
use crate::run::outcome::{FlowOutcome, LinkOutcome, Outcome};
use crate::scenario::plan::{Flow, Kind, Run};
use core::time::Duration;

/// A run summed up. What a run does not have is `None`.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// In the order of the plan.
    pub flows: Vec<FlowSummary>,
    /// Both directions of each link of the plan: there, back.
    pub links: Vec<LinkSummary>,
    /// Of the means of all bulk flows while all are active.
    pub fairness: Option<f64>,
    /// Of the first two bulk flows, if there are exactly two.
    pub asymmetry: Option<f64>,
    /// From the begin of the last bulk flow.
    pub convergence: Option<Duration>,
    /// Stability of the sum of all flows but probes.
    pub constancy: Option<f64>,
    /// Round trips of all probes after what is discarded.
    pub rtt_ping: Option<Distribution>,
    /// Their mean less that before the first other flow begins.
    pub rtt_increase_ns: Option<f64>,
    /// The loaded mean divided by the unloaded one.
    pub rtt_ratio: Option<f64>,
}

/// A flow summed up.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowSummary {
    /// Over its whole time.
    pub throughput_bps: f64,
    /// After what is discarded.
    pub throughput_after_discard_bps: Option<f64>,
    /// Mean while all bulk flows are active.
    pub share_bps: Option<f64>,
    /// Of the five-second series after what is discarded.
    pub stability: Option<f64>,
    /// Lost packets of those whose fate is decided.
    pub loss: Option<f64>,
    /// Measured by the transport.
    pub rtt_transport: Option<Distribution>,
    /// Measured by the application.
    pub rtt_ping: Option<Distribution>,
    /// How old its data was on arrival, if they are stamped.
    pub age: Option<Distribution>,
    /// Important datagrams of all delivered ones, if there are such.
    pub important_fraction: Option<f64>,
    /// Mean of the values at the ends of the intervals after what is discarded.
    pub cwnd_packets_mean: Option<f64>,
}

/// A direction of a link summed up.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkSummary {
    /// Share of the time after what is discarded that it sent.
    pub utilisation: Option<f64>,
    /// Packets waiting, mean of the intervals after what is discarded.
    pub queue_packets_mean: Option<f64>,
}

/// Sums a run up.
pub fn sum_up(run: &Run, outcome: &Outcome) -> Summary {
    let flows: Vec<FlowSummary> = (run.flows.iter().zip(&outcome.flows))
        .map(|(flow, recorded)| of_flow(run, flow, recorded, &outcome.ticks))
        .collect();
    let bulk = |n: &usize| run.flows[*n].kind == Kind::Bulk;
    let bulk: Vec<usize> = (0..run.flows.len()).filter(bulk).collect();
    let shares: Option<Vec<f64>> = bulk.iter().map(|&n| flows[n].share_bps).collect();
    let shares = shares.unwrap_or_default();
    let (loaded, unloaded) = round_trips(run, outcome);
    let mean = |d: Option<Distribution>| d.map(|d| d.avg);
    Summary {
        links: (outcome.links.iter())
            .map(|link| of_link(run, link, &outcome.ticks))
            .collect(),
        fairness: metrics::fairness(&shares),
        asymmetry: match shares[..] {
            [first, second] => metrics::asymmetry(first, second),
            _ => None,
        },
        convergence: convergence(run, outcome, &bulk),
        constancy: metrics::stability(&load(run, outcome)),
        rtt_ping: loaded,
        rtt_increase_ns: mean(loaded).zip(mean(unloaded)).map(|(l, u)| l - u),
        rtt_ratio: mean(loaded).zip(mean(unloaded)).map(|(l, u)| l / u),
        flows,
    }
}

fn of_flow(run: &Run, flow: &Flow, recorded: &FlowOutcome, ticks: &[Duration]) -> FlowSummary {
    let begin = flow.starts.iter().min().copied().unwrap_or_default();
    let end = flow.stop.map_or(run.end, |stop| stop.min(run.end));
    // Of the time until it stopped, not more: else goodput could be above the rate of a link.
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
    let windows: Vec<f64> = (recorded.intervals.iter().zip(ticks))
        .filter(|(_, at)| **at > discard)
        .filter_map(|(interval, _)| interval.cwnd_packets)
        .collect();
    FlowSummary {
        throughput_bps: rate(total, end.saturating_sub(begin)),
        throughput_after_discard_bps: after,
        share_bps: share.filter(|_| flow.kind == Kind::Bulk),
        stability: metrics::stability(bins_after(recorded, begin, discard)),
        loss: (recorded.totals.lost_packets)
            .and_then(|lost| metrics::loss(lost, recorded.totals.delivered_packets)),
        rtt_transport: Distribution::of(&recorded.rtt_transport_ns),
        rtt_ping: Distribution::of(&of_pings(recorded, discard, run.end)),
        age: Distribution::of(
            &recorded
                .ages
                .iter()
                .map(|(age, _)| *age)
                .collect::<Vec<_>>(),
        ),
        important_fraction: important(recorded),
        cwnd_packets_mean: metrics::mean(&windows),
    }
}

/// Important datagrams of all that arrived.
#[expect(clippy::cast_precision_loss, reason = "datagrams are below 2^53")]
fn important(recorded: &FlowOutcome) -> Option<f64> {
    let all = recorded.ages.len();
    let important = recorded
        .ages
        .iter()
        .filter(|(_, important)| *important)
        .count();
    (all > 0).then(|| important as f64 / all as f64)
}

/// The bins of a flow that begin after what is discarded.
fn bins_after(recorded: &FlowOutcome, begin: Duration, discard: Duration) -> &[f64] {
    let discarded = discard.saturating_sub(begin).as_nanos();
    let first = discarded.div_ceil(metrics::BIN.as_nanos());
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    recorded.bins.get(first..).unwrap_or_default()
}

/// Pings that came back in a span of time.
fn of_pings(recorded: &FlowOutcome, from: Duration, until: Duration) -> Vec<u64> {
    let came = recorded.pings.iter();
    let in_span = came.filter(|ping| from < ping.at && ping.at <= until);
    in_span.map(|ping| ping.rtt_ns).collect()
}

/// Round trips of all probes under load and before it.
fn round_trips(run: &Run, outcome: &Outcome) -> (Option<Distribution>, Option<Distribution>) {
    let others = run.flows.iter().filter(|flow| flow.kind != Kind::Probe);
    let load = others.flat_map(|flow| flow.starts.iter()).min().copied();
    let load = load.unwrap_or(run.end);
    let of = |from, until| {
        let flows = outcome.flows.iter();
        let all: Vec<u64> = flows.flat_map(|flow| of_pings(flow, from, until)).collect();
        Distribution::of(&all)
    };
    let loaded = of(load.max(run.measure.discard), run.end);
    (loaded, of(Duration::ZERO, load))
}

/// From the begin of the last bulk flow on, in its bins: those of the others are cut to fit.
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

/// The sum of all flows but probes, interval by interval, after what is discarded.
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

#[expect(clippy::cast_precision_loss, reason = "bytes of hours are below 2^53")]
fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8.0 / time.as_secs_f64()
}
