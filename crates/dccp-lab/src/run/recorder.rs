//! Records a run: samples, intervals and totals of flows and links, from any stage.

use super::agenda::Task;
use super::outcome::{
    FlowInterval, FlowOutcome, LinkInterval, LinkOutcome, Marks, Outcome, Totals,
};
use super::stage::Stage;
use crate::metrics::BIN;
use crate::scenario::plan::{Run, Transport};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_proto::time::nanos;
use dccp_sim::link::LinkStats;
use dccp_sim::loss::Loss;

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
