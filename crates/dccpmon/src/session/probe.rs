//! Probes of the path's delay beside the flows, on the control connection.

use crate::schema::DelayPhase;
use crate::wire::channel::{Channel, Lost};
use crate::wire::message::Message;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::{Instant, clock};
use dccp_cli::interrupt;
use dccp_stats::{Histogram, Probe, Spread};
use std::collections::BTreeSet;

/// The most probes before the load, and again after it.
const PROBES: u32 = 20;
/// The longest time for the probes before the load, unless the user says otherwise.
const IDLE_DEFAULT_MAX: Duration = Duration::from_secs(1);
/// The longest time that the user can ask for. The server waits some seconds more for the load.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(5);
/// The time between two probes after the load.
const AFTER_GAP: Duration = Duration::from_millis(5);
/// The time between two probes beside the load.
const LOADED_GAP: Duration = Duration::from_millis(20);
/// How long answers to the last probes are waited for.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// Probes on their way at once. More could wait for the window of the control connection, and measure that.
const ON_THE_WAY_MAX: usize = 2;
/// Probes whose answers are waited for. Older ones count as lost.
const OPEN_MAX: usize = 1024;
/// Answers whose four times are kept.
const KEPT_MAX: usize = 100;

/// How long the idle path is measured before a test of this duration, unless the user says otherwise.
pub(crate) fn idle_time(duration: Duration) -> Duration {
    (duration / 10).min(IDLE_DEFAULT_MAX)
}

/// Sends probes at equal gaps and matches their answers.
#[derive(Debug)]
pub(crate) struct Prober {
    gap: Duration,
    next_at: Instant,
    /// The times of departure of probes without an answer, in nanoseconds: they name the probes.
    open: BTreeSet<u64>,
    lost: u64,
    round_trips: Histogram,
    /// The first answers.
    kept: Vec<Probe>,
}

impl Prober {
    fn new(gap: Duration) -> Self {
        Self {
            gap,
            next_at: clock::now(),
            open: BTreeSet::new(),
            lost: 0,
            round_trips: Histogram::default(),
            kept: Vec::new(),
        }
    }

    /// For the time of the load.
    pub(crate) fn loaded() -> Self {
        Self::new(LOADED_GAP)
    }

    /// Takes the answers that have arrived, and sends the probe that is due, unless enough are on their way.
    pub(crate) fn step(&mut self, channel: &mut Channel) {
        self.take(channel);
        let now = clock::now();
        if now >= self.next_at {
            self.next_at = now + self.gap;
            if self.has_room(now) {
                self.sent(channel.probe());
            }
        }
    }

    /// Whether another probe may leave. One without an answer for a second is lost.
    fn has_room(&self, now: Instant) -> bool {
        self.open.range(latest(now)..).count() < ON_THE_WAY_MAX
    }

    /// Takes the last answers. Those that arrive later are ignored: an end that finishes its load is too busy to answer
    /// at once. So probes of the last second without an answer are not called lost.
    pub(crate) fn close(&mut self, channel: &mut Channel) {
        self.take(channel);
        self.lost += self.unanswered(clock::now());
        self.open.clear();
    }

    /// The probes that had a second for their answer.
    fn unanswered(&self, now: Instant) -> u64 {
        self.open.range(..latest(now)).count() as u64
    }

    /// Takes the answers that have arrived.
    fn take(&mut self, channel: &mut Channel) {
        for answer in channel.take_answers() {
            self.answered(answer);
        }
    }

    fn sent(&mut self, sent_ns: u64) {
        self.open.insert(sent_ns);
        if self.open.len() > OPEN_MAX {
            self.open.pop_first();
            self.lost += 1;
        }
    }

    /// An answer to no open probe is ignored, and so is one with impossible times.
    fn answered(&mut self, answer: Probe) {
        if !self.open.remove(&answer.sent_ns) {
            return;
        }
        let Some(round_trip_ns) = answer.round_trip_ns() else {
            return;
        };
        self.round_trips.record(round_trip_ns);
        if self.kept.len() < KEPT_MAX {
            self.kept.push(answer);
        }
    }

    /// The results. Probes still open are lost.
    pub(crate) fn finish(self) -> Delays {
        Delays {
            lost: self.lost + self.open.len() as u64,
            round_trips: self.round_trips,
            probes: self.kept,
        }
    }
}

/// A probe that left before this time has had a second for its answer.
fn latest(now: Instant) -> u64 {
    now.as_nanos().saturating_sub(nanos(ANSWER_MAX))
}

/// The results of a group of probes.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    round_trips: Histogram,
    /// Probes without an answer.
    lost: u64,
    /// The first answers.
    pub(crate) probes: Vec<Probe>,
}

/// Probes the path before the load, for `time`, and waits for the answers. The user's interrupt ends it early.
pub(crate) fn before(channel: &mut Channel, time: Duration) -> Result<Delays, Lost> {
    probe(channel, time / PROBES, interrupt::is_pressed)
}

/// Probes the path after the load, also of a test that the user ended: its clocks are known too.
pub(crate) fn after(channel: &mut Channel) -> Result<Delays, Lost> {
    probe(channel, AFTER_GAP, || false)
}

fn probe(channel: &mut Channel, gap: Duration, is_over: impl Fn() -> bool) -> Result<Delays, Lost> {
    let mut prober = Prober::new(gap);
    for _ in 0..PROBES {
        if is_over() {
            break;
        }
        prober.step(channel);
        wait(channel, prober.next_at)?;
    }
    prober.take(channel);
    let until = clock::now() + ANSWER_MAX;
    while !prober.open.is_empty() && clock::now() < until && !is_over() {
        wait(channel, clock::now() + AFTER_GAP)?;
        prober.take(channel);
    }
    Ok(prober.finish())
}

/// Reads the control connection until then. Before the load and after its totals the server sends no message, unless it
/// ends.
fn wait(channel: &mut Channel, until: Instant) -> Result<(), Lost> {
    while clock::now() < until {
        match channel.poll(until)? {
            Some(Message::Refused(refused)) => return Err(Lost::Closed(refused.reason)),
            Some(_) => {}
            None => break,
        }
    }
    Ok(())
}

/// The delay without and with load; `None` if no idle probe was answered.
///
/// `own` are the round trips of the load itself.
pub(crate) fn phase(idle: &Delays, loaded: &Delays, own: Option<&Spread>) -> Option<DelayPhase> {
    Some(DelayPhase {
        idle_ns: idle.round_trips.spread()?,
        loaded_ns: loaded.round_trips.spread(),
        self_loaded_ns: own.cloned(),
        rpm: responsiveness(&loaded.round_trips, own),
        lost_packets: idle.lost + loaded.lost,
    })
}

/// Round trips per minute under load (draft-ietf-ippm-responsiveness): the mean of those of probes on another connection
/// and of those of the load. A probe here has one round trip and no handshakes, so each part has one term.
///
/// The probes' round trip is the mean of the lowest 95 %, as in the draft; that of the load is its mean.
fn responsiveness(others: &Histogram, own: Option<&Spread>) -> Option<f64> {
    const MINUTE_NS: f64 = 60e9;
    let per_minute = |ns: f64| (ns > 0.0).then(|| MINUTE_NS / ns);
    let foreign = trimmed_mean(others).and_then(per_minute)?;
    let own = own.and_then(|spread| per_minute(spread.mean));
    Some(own.map_or(foreign, |own| f64::midpoint(foreign, own)))
}

/// The mean of the lowest 95 % of the values; `None` if there are none.
fn trimmed_mean(values: &Histogram) -> Option<f64> {
    let wanted = (values.len() * 95).div_ceil(100);
    let (mut left, mut sum) = (wanted, 0.0);
    for bucket in values.buckets() {
        let taken = bucket.count.min(left);
        sum += to_f64(bucket.middle()) * to_f64(taken);
        left -= taken;
    }
    (wanted > 0).then(|| sum / to_f64(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(sent_ns: u64, round_trip_ns: u64) -> Probe {
        Probe {
            sent_ns,
            arrived_ns: 7,
            replied_ns: 9,
            returned_ns: sent_ns + round_trip_ns + 2,
        }
    }

    #[test]
    fn only_answers_to_open_probes_count() {
        let mut prober = Prober::new(LOADED_GAP);
        for sent_ns in [100, 200, 300] {
            prober.sent(sent_ns);
        }
        for repeated in [
            answer(100, 50),
            answer(100, 60),
            answer(150, 1),
            answer(300, 70),
        ] {
            prober.answered(repeated);
        }
        let found = prober.finish();
        assert_eq!((found.lost, found.probes.len()), (1, 2));
        let spread = found.round_trips.spread().unwrap();
        assert_eq!((spread.min, spread.max, spread.n), (50, 70, 2));
    }

    #[test]
    fn few_probes_are_on_their_way_at_once() {
        let at = |ms: u64| Instant::from_nanos(5_000_000_000 + ms * 1_000_000);
        let mut prober = Prober::new(LOADED_GAP);
        for ms in [0, 20] {
            assert!(prober.has_room(at(ms)));
            prober.sent(at(ms).as_nanos());
        }
        assert!(!prober.has_room(at(40)));
        prober.answered(answer(at(0).as_nanos(), 50));
        assert!(prober.has_room(at(50)));
        // A lost probe takes no room for ever.
        prober.sent(at(50).as_nanos());
        assert!(!prober.has_room(at(1000)));
        assert_eq!(prober.unanswered(at(1000)), 0);
        assert!(prober.has_room(at(1030)));
        assert_eq!(prober.unanswered(at(1030)), 1);
    }

    #[test]
    fn memory_for_probes_is_bounded() {
        let mut prober = Prober::new(LOADED_GAP);
        for sent_ns in 0..10_000 {
            prober.sent(sent_ns);
            assert!(prober.open.len() <= OPEN_MAX);
        }
        for sent_ns in 9_000..10_000 {
            prober.answered(answer(sent_ns, 5));
        }
        let found = prober.finish();
        assert_eq!((found.lost, found.probes.len()), (9_000, KEPT_MAX));
    }

    /// 100 ms under load are 600 round trips per minute; with 50 ms of the load itself the mean of 600 and 1,200.
    #[test]
    fn responsiveness_is_the_mean_of_both_round_trips() {
        let mut others = Histogram::default();
        assert_eq!(responsiveness(&others, None), None);
        // The slowest 5 % do not count.
        others.record_n(100_000_000, 95);
        others.record_n(3_000_000_000, 5);
        let near = |found: Option<f64>, wanted: f64| {
            let found = found.unwrap();
            assert!((found / wanted - 1.0).abs() < 0.01, "{found} {wanted}");
        };
        near(responsiveness(&others, None), 600.0);
        let mut own = Histogram::default();
        own.record(50_000_000);
        near(responsiveness(&others, own.spread().as_ref()), 900.0);
    }

    #[test]
    fn idle_time_is_a_tenth_and_at_most_a_second() {
        assert_eq!(
            idle_time(Duration::from_secs(2)),
            Duration::from_millis(200)
        );
        assert_eq!(idle_time(Duration::from_mins(5)), IDLE_DEFAULT_MAX);
    }
}
