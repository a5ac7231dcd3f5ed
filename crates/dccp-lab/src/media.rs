//! Metrics of flows that record their datagrams: which arrive, how old they are, and which pictures of a film they
//! make usable.

use crate::metrics::Distribution;
use crate::run::outcome::{Datagram, Ending};
use crate::scenario::plan::{Flow, Run};
use core::time::Duration;
use dccp_proto::number::to_f64;
use dccp_proto::time::nanos;
use dccp_sim::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

/// The datagrams of a flow by their ending: offered = delivered + dropped + lost + open.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct DatagramSummary {
    /// All that the application made.
    pub all: Endings,
    /// Those that are important.
    pub important: Endings,
    /// The share of datagrams that were dropped or lost, of all but the open ones.
    #[schemars(range(min = 0, max = 1))]
    pub undelivered_fraction: Option<f64>,
    /// The share of datagrams that the sender dropped, of all but the open ones.
    #[schemars(range(min = 0, max = 1))]
    pub dropped_fraction: Option<f64>,
    /// The share of important datagrams that were delivered, of all but the open ones.
    #[schemars(range(min = 0, max = 1))]
    pub important_delivered_fraction: Option<f64>,
    /// The age of important datagrams on arrival.
    pub age_important_ns: Option<Distribution>,
}

/// Numbers of datagrams by their ending.
#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Endings {
    /// The application made them.
    pub offered_packets: u64,
    /// The receiving application got them.
    pub delivered_packets: u64,
    /// The sender dropped them before they left: there was no room, or they became too old.
    pub dropped_packets: u64,
    /// They left and did not arrive, and one that left after them did.
    pub lost_packets: u64,
    /// None of these: they waited or were on the path at the end, or when the flow stopped.
    pub open_packets: u64,
}

impl Endings {
    fn add(&mut self, ending: Ending) {
        self.offered_packets += 1;
        *match ending {
            Ending::Delivered { .. } => &mut self.delivered_packets,
            Ending::Dropped => &mut self.dropped_packets,
            Ending::Lost => &mut self.lost_packets,
            Ending::Open => &mut self.open_packets,
        } += 1;
    }

    /// This part of those that are not open.
    fn share(&self, part: u64) -> Option<f64> {
        share(part, self.offered_packets - self.open_packets)
    }
}

/// The pictures of a film.
///
/// A picture is complete when its last datagram has arrived. It is usable if it is complete before its deadline and
/// the picture that it builds on is usable. The pattern is the order of sending: a P or B picture builds on the I or
/// P picture that was sent last before it, and an I picture on none.
///
/// A usable picture is shown at its deadline; in a flow without a deadline when it is complete, but not before the
/// ones before it. A stall is a time of more than max(3·d, d + 150 ms) between two shown pictures, where d is the
/// interval of the film (W3C, Identifiers for WebRTC's Statistics API, `freezeCount`). The time before the first shown
/// picture and after the last one counts in the same way.
#[derive(Serialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct FrameSummary {
    /// Pictures that are known to be usable or not. Those whose datagrams are under way at the end are left out.
    pub offered_frames: u64,
    /// Those that are usable.
    pub usable_frames: u64,
    /// Their share.
    #[schemars(range(min = 0, max = 1))]
    pub usable_fraction: Option<f64>,
    /// Usable pictures in a second of the film, of all streams together.
    #[schemars(range(min = 0))]
    pub usable_per_s: Option<f64>,
    /// The age of complete pictures, usable or not, when their last datagram arrives.
    pub age_ns: Option<Distribution>,
    /// How many stalls there are.
    pub stalls: u64,
    /// The sum of their times.
    pub stalled_ns: u64,
    /// The longest.
    pub stall_longest_ns: u64,
    /// Their share of the film's time.
    #[schemars(range(min = 0, max = 1))]
    pub stalled_fraction: Option<f64>,
}

/// The summary of datagrams; `None` of none.
pub(crate) fn datagrams(made: &[Datagram]) -> Option<DatagramSummary> {
    let (mut all, mut important) = (Endings::default(), Endings::default());
    for datagram in made {
        all.add(datagram.ending);
        if datagram.class > 0 {
            important.add(datagram.ending);
        }
    }
    (!made.is_empty()).then(|| DatagramSummary {
        undelivered_fraction: all.share(all.dropped_packets + all.lost_packets),
        dropped_fraction: all.share(all.dropped_packets),
        important_delivered_fraction: important.share(important.delivered_packets),
        age_important_ns: Distribution::of(&ages(made, |datagram| datagram.class > 0)),
        all,
        important,
    })
}

/// The share of important datagrams among those delivered.
pub(crate) fn important_fraction(summary: &DatagramSummary) -> Option<f64> {
    let DatagramSummary { all, important, .. } = summary;
    share(important.delivered_packets, all.delivered_packets)
}

/// The ages of the delivered ones among these datagrams, in nanoseconds.
pub(crate) fn ages(made: &[Datagram], is_wanted: impl Fn(&Datagram) -> bool) -> Vec<u64> {
    let wanted = made.iter().filter(|datagram| is_wanted(datagram));
    let age = |datagram: &Datagram| match datagram.ending {
        Ending::Delivered { age_ns, .. } => Some(age_ns),
        _ => None,
    };
    wanted.filter_map(age).collect()
}

/// The summary of the pictures of a flow's streams; `None` unless it is a film.
pub(crate) fn frames(run: &Run, flow: &Flow, streams: &[Vec<Datagram>]) -> Option<FrameSummary> {
    let Source::Frames(film) = &flow.sender.source else {
        return None;
    };
    let rules = Rules {
        deadline: flow.deadline,
        interval: film.interval,
        begin: run.measure.discard,
        end: run.end,
    };
    let films = streams.iter().map(|stream| rules.watch(stream));
    Some(rules.sum_up(&films.collect::<Vec<_>>()))
}

/// The rules that decide whether a picture is usable, and whether it counts.
#[derive(Clone, Copy)]
struct Rules {
    deadline: Option<Duration>,
    interval: Duration,
    /// Pictures that were made earlier do not count.
    begin: Duration,
    /// The end of the run.
    end: Duration,
}

/// One stream of a film as its receiver saw it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Seen {
    offered: u64,
    usable: u64,
    ages_ns: Vec<u64>,
    stalls: Vec<Duration>,
    /// The time from the first picture to the last.
    time: Duration,
}

/// The state of a picture at the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Complete at this time.
    Complete(Duration),
    /// It cannot be complete in time any more.
    Broken,
    Unknown,
}

impl Rules {
    /// Watches one stream.
    fn watch(&self, datagrams: &[Datagram]) -> Seen {
        let mut seen = Seen::default();
        // Whether the pictures that build on the last I or P picture can be usable; `None`: not known.
        let mut base = Some(false);
        let mut playback = Playback::new(self);
        for picture in datagrams.chunk_by(|a, b| a.picture == b.picture) {
            let first = &picture[0];
            let state = self.state(picture);
            let own = match state {
                State::Complete(_) => Some(true),
                State::Broken => Some(false),
                State::Unknown => None,
            };
            let base_of_this = if first.class == 2 { Some(true) } else { base };
            let usable = match (own, base_of_this) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            if first.class > 0 {
                base = usable;
            }
            if first.made < self.begin {
                continue;
            }
            seen.ages_ns.extend(age(picture));
            let Some(is_usable) = usable else {
                continue;
            };
            seen.offered += 1;
            seen.usable += u64::from(is_usable);
            let shown = match (self.deadline, state) {
                (Some(deadline), _) => Some(first.made + deadline),
                (None, State::Complete(at)) => Some(at),
                (None, _) => None,
            };
            playback.pass(first.made, shown.filter(|_| is_usable));
        }
        (seen.stalls, seen.time) = playback.finish();
        seen
    }

    fn state(&self, picture: &[Datagram]) -> State {
        let made = picture[0].made;
        let limit = self.deadline.map(|deadline| made + deadline);
        let mut complete = Duration::ZERO;
        let mut is_open = false;
        for datagram in picture {
            match datagram.ending {
                Ending::Delivered { at, .. } => complete = complete.max(at),
                Ending::Dropped | Ending::Lost => return State::Broken,
                Ending::Open => is_open = true,
            }
        }
        let is_late = |at: Duration| limit.is_some_and(|limit| at > limit);
        match is_open {
            _ if is_late(complete) => State::Broken,
            false => State::Complete(complete),
            true if is_late(self.end) => State::Broken,
            true => State::Unknown,
        }
    }

    fn sum_up(&self, films: &[Seen]) -> FrameSummary {
        let sum = |of: fn(&Seen) -> u64| films.iter().map(of).sum::<u64>();
        let (offered, usable) = (sum(|film| film.offered), sum(|film| film.usable));
        let ages: Vec<u64> = films
            .iter()
            .flat_map(|f| f.ages_ns.iter().copied())
            .collect();
        let stalls = || films.iter().flat_map(|film| &film.stalls).copied();
        let stalled: Duration = stalls().sum();
        let time: Duration = films.iter().map(|film| film.time).sum();
        let usable_fraction = share(usable, offered);
        let streams = films.iter().filter(|film| film.offered > 0).count() as u64;
        let rate = to_f64(streams) / self.interval.as_secs_f64();
        FrameSummary {
            offered_frames: offered,
            usable_frames: usable,
            usable_fraction,
            usable_per_s: usable_fraction.map(|share| share * rate),
            age_ns: Distribution::of(&ages),
            stalls: stalls().count() as u64,
            stalled_ns: nanos(stalled),
            stall_longest_ns: nanos(stalls().max().unwrap_or_default()),
            stalled_fraction: (!time.is_zero()).then(|| stalled.as_secs_f64() / time.as_secs_f64()),
        }
    }
}

/// The age of a complete picture in nanoseconds: that of its last datagram.
fn age(picture: &[Datagram]) -> Option<u64> {
    let ages = picture.iter().map(|datagram| match datagram.ending {
        Ending::Delivered { at, age_ns } => Some((at, age_ns)),
        _ => None,
    });
    let ages: Option<Vec<_>> = ages.collect();
    ages?.into_iter().max().map(|(_, age_ns)| age_ns)
}

/// The times when pictures are shown.
struct Playback {
    /// The longest time between two pictures that is no stall.
    longest: Duration,
    deadline: Option<Duration>,
    begin: Option<Duration>,
    /// When the last picture was shown, or the start.
    last: Duration,
    /// When the film could have shown the last picture that has passed.
    end: Duration,
    stalls: Vec<Duration>,
}

impl Playback {
    fn new(rules: &Rules) -> Self {
        const PATIENCE: Duration = Duration::from_millis(150);
        Self {
            longest: (rules.interval * 3).max(rules.interval + PATIENCE),
            deadline: rules.deadline,
            begin: None,
            last: Duration::ZERO,
            end: Duration::ZERO,
            stalls: Vec::new(),
        }
    }

    /// The next picture, and when it is shown if it is usable.
    fn pass(&mut self, made: Duration, shown: Option<Duration>) {
        let due = made + self.deadline.unwrap_or_default();
        if self.begin.is_none() {
            self.begin = Some(due);
            self.last = due;
        }
        self.end = self.end.max(due);
        if let Some(shown) = shown {
            self.show(shown);
        }
    }

    fn show(&mut self, at: Duration) {
        let at = at.max(self.last);
        let gap = at.saturating_sub(self.last);
        if gap > self.longest {
            self.stalls.push(gap);
        }
        self.last = at;
        self.end = self.end.max(at);
    }

    /// Returns the stalls, and the time from the first picture to the last.
    fn finish(mut self) -> (Vec<Duration>, Duration) {
        self.show(self.end);
        let begin = self.begin.unwrap_or(self.end);
        (self.stalls, self.end.saturating_sub(begin))
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| to_f64(part) / to_f64(whole))
}

#[cfg(test)]
mod tests;
