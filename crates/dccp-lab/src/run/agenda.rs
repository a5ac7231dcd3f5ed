//! The tasks of a run with their times, which are known before it begins.

use super::outcome::Marks;
use crate::metrics::BIN;
use crate::scenario::plan::{Flow, Kind, Run};
use core::time::Duration;

/// A task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// A stream of a flow begins.
    Start { flow: usize, stream: usize },
    /// A flow's application closes.
    Stop { flow: usize },
    /// Sample queues and round trips.
    Look,
    /// A bin of a flow's series is complete.
    Bin { flow: usize },
    /// An interval is complete.
    Tick,
    /// An interval of `link_util` is complete.
    Utilisation,
    /// See [`Marks`].
    Discarded,
    /// See [`Marks`].
    AllActive,
    /// See [`Marks`].
    FirstStops,
}

/// The interval between samples of queues, or a tenth of the measuring interval.
const LOOK: Duration = Duration::from_millis(10);
/// Bounds the samples of a run.
const LOOKS_MAX: u32 = 1_000_000;

/// All tasks of a run in the order of time. Tasks at the same time have the order of this function: starts and
/// stops first.
pub(crate) fn agenda(run: &Run) -> Vec<(Duration, Task)> {
    let mut tasks = Vec::new();
    for (flow, plan) in run.flows.iter().enumerate() {
        let starts = plan.starts.iter().enumerate();
        tasks.extend(starts.map(|(stream, at)| (*at, Task::Start { flow, stream })));
        let stop = plan.stop.filter(|stop| *stop < run.end);
        tasks.extend(stop.map(|at| (at, Task::Stop { flow })));
        let first = plan.begin();
        let last = stop.unwrap_or(run.end);
        tasks.extend(every(BIN, first, last).map(|at| (at, Task::Bin { flow })));
    }
    let interval = run.measure.interval;
    let look = LOOK.min(interval / 10).max(Duration::from_micros(100));
    let look = look.max(run.end / LOOKS_MAX);
    tasks.extend(every(look, Duration::ZERO, run.end).map(|at| (at, Task::Look)));
    tasks.extend(every(interval, Duration::ZERO, run.end).map(|at| (at, Task::Tick)));
    if let Some(wanted) = &run.measure.link_util {
        let times = every(wanted.every, Duration::ZERO, run.end);
        tasks.extend(times.map(|at| (at, Task::Utilisation)));
    }
    let marks = marks(run);
    tasks.push((marks.discarded, Task::Discarded));
    tasks.push((marks.all_active, Task::AllActive));
    tasks.push((marks.first_stops, Task::FirstStops));
    tasks.retain(|(at, _)| *at <= run.end);
    // The sort is stable.
    tasks.sort_by_key(|(at, _)| *at);
    tasks
}

/// The times between which means are taken.
pub(crate) fn marks(run: &Run) -> Marks<Duration> {
    let bulk = || run.flows.iter().filter(|flow| flow.kind == Kind::Bulk);
    let last = |flow: &Flow| flow.starts.iter().max().copied();
    let begin = bulk().filter_map(last).max().unwrap_or_default();
    let stop = bulk().filter_map(|flow| flow.stop).min();
    let discarded = run.measure.discard;
    Marks {
        discarded,
        all_active: begin.max(discarded),
        first_stops: stop.map_or(run.end, |stop| stop.min(run.end)),
    }
}

/// The ends of all complete intervals between two times.
pub(crate) fn every(
    interval: Duration,
    from: Duration,
    until: Duration,
) -> impl Iterator<Item = Duration> {
    let mut at = from;
    core::iter::from_fn(move || {
        at += interval;
        (at <= until).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn run() -> Run {
        let text = "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n\
            [topology]\nnodes = [\"a\", \"b\"]\n[[link]]\nfrom = \"a\"\nto = \"b\"\n\
            rate = \"1Mbit\"\n[[flow]]\nid = \"x\"\nfrom = \"a\"\nto = \"b\"\nstart = \"2s\"\nstop = \"18s\"\n\
            [[flow]]\nid = \"y\"\nfrom = \"a\"\nto = \"b\"\nstart = \"7s\"\n\
            [measure]\nduration = \"20s\"\ndiscard = \"5s\"\ninterval = \"7s\"\n\
            link_util = { links = [\"a-b\"], every = \"6s\" }\n";
        Scenario::parse(text, "f", Scale::Full)
            .unwrap()
            .runs
            .remove(0)
    }

    fn times(task: Task) -> Vec<Duration> {
        let all = agenda(&run());
        let of_task = all.iter().filter(|(_, t)| *t == task);
        of_task.map(|(at, _)| *at).collect()
    }

    #[test]
    fn bins_begin_with_their_flow() {
        assert_eq!(times(Task::Bin { flow: 0 }), [S(7), S(12), S(17)]);
        assert_eq!(times(Task::Bin { flow: 1 }), [S(12), S(17)]);
        assert_eq!(times(Task::Tick), [S(7), S(14)]);
        assert_eq!(times(Task::Utilisation), [S(6), S(12), S(18)]);
        assert_eq!(times(Task::Look).len(), 2000);
    }

    #[test]
    fn means_cover_the_time_of_all_bulk_flows() {
        let marks = marks(&run());
        assert_eq!(marks.discarded, S(5));
        assert_eq!((marks.all_active, marks.first_stops), (S(7), S(18)));
        assert_eq!(times(Task::AllActive), [S(7)]);
        assert_eq!(times(Task::Stop { flow: 0 }), [S(18)]);
        assert_eq!(times(Task::Stop { flow: 1 }), []);
    }
}
