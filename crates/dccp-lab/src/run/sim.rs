//! One run in the simulator.

use super::agenda::{Task, agenda};
use super::outcome::{
    FlowInterval, FlowOutcome, LinkInterval, LinkOutcome, Marks, Outcome, Totals,
};
use super::stage::Stage;
use super::streams;
use crate::metrics::BIN;
use crate::scenario::plan::{Run, Transport};
use core::time::Duration;
use dccp_proto::time::nanos;
use dccp_proto::{Instant, Rate};
use dccp_sim::link::LinkStats;
use dccp_sim::loss::Loss;
use std::io::Write;

/// Bounds the events of a run: a processor core needs days for them.
const EVENTS_MAX: u64 = 100_000_000_000;

/// Why a run has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The capture cannot be written.
    #[error("the capture cannot be written: {0}")]
    Capture(#[from] std::io::Error),
    /// The run makes more events than the simulator should work through.
    #[error(
        "more than {max} events until {at_s} s: write lower rates, larger datagrams or a shorter run"
    )]
    TooManyEvents {
        /// The bound.
        max: u64,
        /// The virtual time when the run was given up, in seconds.
        at_s: f64,
    },
}

/// Where packets are captured.
pub struct Capture {
    /// The capture file.
    pub out: Box<dyn Write>,
    /// The bytes of each packet to write, at most.
    pub snap: usize,
}

/// Plays a run. `progress` gets the virtual time that has passed, and returns whether to go on; if not, there
/// is no outcome. All packets of the first flow's sender go to `capture`.
///
/// # Errors
/// The capture cannot be written, or the run makes too many events.
///
/// # Panics
/// If a checker of the simulator finds a violation: the message says how to repeat it.
pub fn play(
    run: &Run,
    capture: Option<Capture>,
    progress: impl FnMut(Duration) -> bool,
) -> Result<Option<Outcome>, PlayError> {
    play_within(run, EVENTS_MAX, capture, progress)
}

/// Like [`play`], with a bound of the events.
fn play_within(
    run: &Run,
    events_max: u64,
    capture: Option<Capture>,
    mut progress: impl FnMut(Duration) -> bool,
) -> Result<Option<Outcome>, PlayError> {
    let mut recorder = Recorder::new(run, streams::Stage::new(run));
    if let (Some(capture), Some(flow)) = (capture, run.flows.first()) {
        let node = recorder.stage.node(flow.from);
        let Capture { out, snap } = capture;
        recorder.stage.world.capture_up_to(node, out, snap);
    }
    for (at, task) in agenda(run) {
        recorder.stage.world.run_until(Instant::ZERO + at);
        recorder.perform(at, task);
        if recorder.stage.world.events() > events_max {
            let (max, at_s) = (events_max, at.as_secs_f64());
            return Err(PlayError::TooManyEvents { max, at_s });
        }
        if matches!(task, Task::Look) && !progress(at) {
            return Ok(None);
        }
    }
    recorder.stage.world.run_until(Instant::ZERO + run.end);
    recorder.stage.world.check();
    recorder.stage.world.finish_captures()?;
    Ok(Some(recorder.finish()))
}

/// A run in progress.
pub(super) struct Recorder<'a, S> {
    run: &'a Run,
    pub(super) stage: S,
    outcome: Outcome,
    /// Sums of each flow when the last interval ended.
    last: Vec<Totals>,
    /// Bytes of each flow when its last bin ended.
    last_bin: Vec<u64>,
    /// Both directions of each link.
    links: Vec<Watched>,
}

/// A direction of a link with its counters at earlier times.
#[derive(Default)]
struct Watched {
    /// When the last interval ended.
    last: LinkStats,
    /// When the last interval of `link_util` ended.
    last_busy: Duration,
    discarded_busy: Duration,
    queue_max: u64,
}

impl<'a, S: Stage> Recorder<'a, S> {
    pub(super) fn new(run: &'a Run, stage: S) -> Self {
        let directions = 2 * run.network.links.len();
        Self {
            outcome: Outcome {
                flows: run.flows.iter().map(|_| FlowOutcome::default()).collect(),
                links: vec![LinkOutcome::default(); directions],
                ..Outcome::default()
            },
            last: vec![Totals::default(); run.flows.len()],
            last_bin: vec![0; run.flows.len()],
            links: (0..directions).map(|_| Watched::default()).collect(),
            run,
            stage,
        }
    }

    pub(super) fn perform(&mut self, at: Duration, task: Task) {
        match task {
            Task::Start { flow, .. } => self.stage.start(flow, &self.run.flows[flow]),
            Task::Stop { flow } => {
                let plan = &self.run.flows[flow];
                let bytes = self.stage.goodput_bytes(flow, plan);
                self.outcome.flows[flow].stopped_bytes = Some(bytes);
                self.stage.stop(flow, plan);
            }
            Task::Look => self.look(),
            Task::Bin { flow } => self.bin(flow),
            Task::Tick => self.tick(at),
            Task::Utilisation => self.utilisation(),
            Task::Discarded => {
                self.stage.meet();
                self.mark(|marks| &mut marks.discarded, |marks| &mut marks.discarded);
                for (n, flow) in self.run.flows.iter().enumerate() {
                    self.outcome.flows[n].discarded = self.stage.totals(n, flow);
                }
                for (n, link) in self.links.iter_mut().enumerate() {
                    link.discarded_busy = self.stage.link(n).busy;
                }
            }
            Task::AllActive => {
                self.mark(|marks| &mut marks.all_active, |marks| &mut marks.all_active);
            }
            Task::FirstStops => self.mark(
                |marks| &mut marks.first_stops,
                |marks| &mut marks.first_stops,
            ),
        }
    }

    /// Records the bytes that each flow and each of its streams has delivered.
    fn mark(
        &mut self,
        of_flow: impl Fn(&mut Marks<u64>) -> &mut u64,
        of_streams: impl Fn(&mut Marks<Vec<u64>>) -> &mut Vec<u64>,
    ) {
        for (n, flow) in self.run.flows.iter().enumerate() {
            let bytes = self.stage.goodput_of_streams(n, flow);
            let outcome = &mut self.outcome.flows[n];
            *of_flow(&mut outcome.marks) = bytes.iter().sum();
            *of_streams(&mut outcome.stream_marks) = bytes;
        }
    }

    /// Samples queues and round trips.
    fn look(&mut self) {
        self.stage.meet();
        for (n, flow) in self.run.flows.iter().enumerate() {
            let measured = self.stage.round_trips(n, flow);
            let outcome = &mut self.outcome.flows[n];
            if flow.transport == Transport::Udp {
                outcome.pings.extend(measured);
            } else {
                outcome.rtt_transport.extend(measured);
            }
        }
        for (n, link) in self.links.iter_mut().enumerate() {
            link.queue_max = link.queue_max.max(self.stage.queue_packets(n));
        }
    }

    fn bin(&mut self, flow: usize) {
        let bytes = self.stage.goodput_bytes(flow, &self.run.flows[flow]);
        let delivered = bytes - self.last_bin[flow];
        self.last_bin[flow] = bytes;
        self.outcome.flows[flow]
            .bins
            .push(Rate::over(delivered, BIN).bits_per_s());
    }

    fn tick(&mut self, at: Duration) {
        let interval = self.run.measure.interval;
        self.outcome.ticks.push(at);
        for (n, flow) in self.run.flows.iter().enumerate() {
            let totals = self.stage.totals(n, flow);
            let last = core::mem::replace(&mut self.last[n], totals);
            let state = self.stage.state(n, flow);
            let delivered = totals.goodput_bytes() - last.goodput_bytes();
            let since = |now: Option<u64>, last: Option<u64>| {
                // A datagram that was declared lost may have arrived since.
                now.map(|now| now.saturating_sub(last.unwrap_or(0)))
            };
            self.outcome.flows[n].intervals.push(FlowInterval {
                goodput_bps: Rate::over(delivered, interval).bits_per_s(),
                cwnd_packets: state.cwnd_packets,
                ssthresh_packets: state.ssthresh_packets,
                rate_bps: state.rate_bps,
                rtt_ns: state.rtt.map(nanos),
                lost_packets: since(totals.lost_packets, last.lost_packets),
                marked_packets: since(totals.marked_packets, last.marked_packets),
                duplicate_acks: since(totals.duplicate_acks, last.duplicate_acks),
            });
        }
        for (n, link) in self.links.iter_mut().enumerate() {
            let passed = link.interval(self.stage.link(n), interval);
            self.outcome.links[n].intervals.push(passed);
        }
    }

    fn utilisation(&mut self) {
        let Some(wanted) = &self.run.measure.link_util else {
            return;
        };
        for &n in &wanted.links {
            for direction in [2 * n, 2 * n + 1] {
                let link = &mut self.links[direction];
                let busy = self.stage.link(direction).busy;
                let share =
                    busy.saturating_sub(link.last_busy).as_secs_f64() / wanted.every.as_secs_f64();
                link.last_busy = busy;
                self.outcome.links[direction].utilisation.push(share);
            }
        }
    }

    pub(super) fn finish(mut self) -> Outcome {
        self.stage.meet();
        for (n, flow) in self.run.flows.iter().enumerate() {
            let outcome = &mut self.outcome.flows[n];
            outcome.totals = self.stage.totals(n, flow);
            outcome.broken = self.stage.broken(n, flow);
            outcome.pings.extend(self.stage.stamps(n, flow));
            outcome.datagrams = self.stage.datagrams(n, flow);
        }
        let links = self.links.iter().zip(&mut self.outcome.links);
        for (n, (link, outcome)) in links.enumerate() {
            let stats = self.stage.link(n);
            let losses = Loss::ALL.map(|reason| (reason.name(), stats.lost.of(reason)));
            outcome.busy = stats.busy.saturating_sub(link.discarded_busy);
            outcome.offered_packets = stats.offered;
            outcome.delivered_packets = stats.delivered;
            outcome.lost_packets = losses.into_iter().filter(|(_, n)| *n > 0).collect();
            outcome.marked_packets = stats.marked;
            outcome.queue_packets_max = stats.queue_packets_max as u64;
        }
        for machine in &self.run.network.machines {
            self.outcome.processors.push(self.stage.processor(machine));
            let lost = self.stage.host_losses(machine);
            let lost = lost.map(|losses| {
                let lost = [
                    (Loss::Backlog.name(), losses.backlog),
                    (Loss::NoBuffer.name(), losses.no_buffer),
                ];
                lost.into_iter().filter(|(_, n)| *n > 0).collect()
            });
            self.outcome.lost_by_hosts.push(lost);
        }
        self.outcome.events = self.stage.events();
        self.outcome
    }
}

impl Watched {
    /// The changes since the last interval.
    fn interval(&mut self, stats: LinkStats, interval: Duration) -> LinkInterval {
        let last = core::mem::replace(&mut self.last, stats);
        let mean = stats.mean_queue_since(&last);
        LinkInterval {
            queue_packets_mean: mean.map_or(0.0, |(packets, _)| packets),
            queue_packets_max: core::mem::take(&mut self.queue_max),
            utilisation: stats.busy.saturating_sub(last.busy).as_secs_f64()
                / interval.as_secs_f64(),
            lost_packets: stats.lost.total() - last.lost.total(),
            marked_packets: stats.marked - last.marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    const SMALL: &str = r#"
schema = "dccplab/1"
name = "small"
seed = 1
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "10Mbit"
[[flow]]
id = "f"
from = "a"
to = "b"
stop = "2s"
"#;

    #[test]
    fn run_with_too_many_events_is_given_up() {
        let scenario = Scenario::parse(SMALL, "small", Scale::Full).expect("a scenario");
        let run = &scenario.runs[0];
        let played = |max| play_within(run, max, None, |_| true);
        let error = played(1000).expect_err("too many events").to_string();
        assert!(
            error.starts_with("more than 1000 events until 0."),
            "{error}"
        );
        assert!(played(1_000_000).is_ok_and(|outcome| outcome.is_some()));
    }
}
