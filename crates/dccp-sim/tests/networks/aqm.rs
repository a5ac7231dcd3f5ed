//! Active queues and ECN from end to end: marks take the place of losses, and the delay stays near what
//! the queue aims at.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::ops::RangeInclusive;
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{CoDelConfig, DualPi2Config, FqCoDelConfig, PieConfig, QueueConfig};
use dccp_sim::source::App;
use dccp_sim::{FlowId, FlowSample, tcp};

const SECOND: Duration = Duration::from_secs(1);

/// The longest round trip: 40 ms, and the wait in a queue as it marks.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// The interval at which the marks are read.
const STEP: Duration = Duration::from_millis(10);

/// The transport of the sender.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Sender {
    Dccp { ccid: u8 },
    Tcp,
}

const SENDERS: [Sender; 3] = [
    Sender::Dccp { ccid: 2 },
    Sender::Dccp { ccid: 3 },
    Sender::Tcp,
];

/// A flow through a queue: what happened in the last 40 s of a minute, when slow start is long over.
#[derive(Debug)]
struct Outcome {
    /// Marked and lost by the bottleneck; and before, in slow start.
    marked: u64,
    lost: u64,
    lost_in_slow_start: u64,
    /// Groups of marks, each within a round trip.
    mark_events: u64,
    /// Packets through the bottleneck.
    passed: u64,
    /// Mean wait in the queue, in ms, and share of the link in use.
    wait_ms: f64,
    used: f64,
    /// Congestion signals as the sender counts them.
    known: Known,
}

#[derive(Debug)]
struct Known {
    marked: u64,
    lost: u64,
    reductions: u64,
    loss_event_rate: f64,
}

impl Known {
    fn between(before: &FlowSample, after: &FlowSample) -> Self {
        Self {
            marked: after.marked - before.marked,
            lost: after.lost - before.lost,
            reductions: after.loss_events.unwrap_or(0) - before.loss_events.unwrap_or(0),
            loss_event_rate: after.cc.loss_event_rate.unwrap_or_default(),
        }
    }
}

/// One flow over 10 Mbit/s and a round trip of 40 ms.
fn run(sender: Sender, ecn: bool, queue: QueueConfig) -> Outcome {
    let config = dccp_proto::Config {
        ecn,
        ..dccp_proto::Config::default()
    };
    let profile = match sender {
        Sender::Dccp { ccid } => Profile::Ours(config).with_ccid(ccid),
        Sender::Tcp => Profile::Ours(config),
    };
    let mut setup = Setup {
        client: profile.clone(),
        server: profile,
        ..Setup::default()
    };
    setup.there.rate = Some(Rate::from_bytes_per_s(1_250_000.0));
    setup.there.queue = queue;
    let mut pair = Pair::new(setup);
    let flow = begin(&mut pair, sender, ecn);
    let look = |pair: &Pair| {
        (
            pair.world.link(pair.there).stats(),
            pair.world.node(pair.host(End::Client)).sample(flow),
        )
    };
    pair.run_for(20 * SECOND);
    let (before, known_before) = look(&pair);
    let mark_events = count_mark_events(&mut pair, 40 * SECOND);
    let (after, known_after) = look(&pair);
    let wait = after.mean_sojourn_since(&before).expect("packets passed");
    Outcome {
        marked: after.marked - before.marked,
        lost: after.lost.total() - before.lost.total(),
        lost_in_slow_start: before.lost.total(),
        mark_events,
        passed: after.delivered - before.delivered,
        wait_ms: 1000.0 * wait.as_secs_f64(),
        used: after.busy.saturating_sub(before.busy).as_secs_f64() / 40.0,
        known: Known::between(&known_before, &known_after),
    }
}

/// Runs for `time`, and counts the marks of the bottleneck. Those within a round trip of the first are one event.
fn count_mark_events(pair: &mut Pair, time: Duration) -> u64 {
    let marks = |pair: &Pair| pair.world.link(pair.there).stats().marked;
    let (mut events, mut seen) = (0, marks(pair));
    let (mut passed, mut event_end) = (Duration::ZERO, Duration::ZERO);
    while passed < time {
        pair.run_for(STEP);
        passed += STEP;
        let now = marks(pair);
        if now > seen && passed > event_end {
            events += 1;
            event_end = passed + ROUND_TRIP;
        }
        seen = now;
    }
    events
}

fn begin(pair: &mut Pair, sender: Sender, ecn: bool) -> FlowId {
    let bulk = App::bulk(1400, u64::MAX);
    if sender != Sender::Tcp {
        pair.listen(App::default());
        return FlowId::Dccp(pair.connect(bulk));
    }
    let config = tcp::Config {
        ecn,
        ..tcp::Config::default()
    };
    let at = |host, port| SocketAddr::new(IpAddr::from(Ipv4Addr::new(192, 0, 2, host)), port);
    let (client, server) = (pair.host(End::Client), pair.host(End::Server));
    pair.world.call(server, |host, _| {
        host.tcp_listen(80, config.clone(), App::default());
    });
    pair.world.call(client, |host, context| {
        host.tcp_connect(context, at(1, 5000), at(2, 80), config, bulk)
    })
}

/// CCID 2 learns every mark and loss, TCP every loss and every round trip with marks. Both reduce at most once for
/// each. CCID 3's sender learns their frequency, the loss event rate.
#[expect(clippy::cast_precision_loss, reason = "a minute has few packets")]
fn assert_answered(outcome: &Outcome, sender: Sender, what: &str) {
    let signals = outcome.marked + outcome.lost;
    assert!(signals >= 15, "{what}");
    let known = &outcome.known;
    if sender == (Sender::Dccp { ccid: 3 }) {
        let share = known.loss_event_rate * outcome.passed as f64 / signals as f64;
        assert!((0.7..=1.5).contains(&share), "{what}: {share}");
        return;
    }
    // TCP echoes that there were marks, not how many (RFC 3168 §6.1.3). It repeats the echo until the sender has
    // reduced its window, and PIE may mark again before that. The sender need not count more than the events.
    let marks_least = match sender {
        Sender::Tcp => outcome.mark_events,
        Sender::Dccp { .. } => outcome.marked,
    };
    // The sender has not heard yet of a signal just before the end.
    let least = marks_least + outcome.lost - 1;
    let heard = known.marked + known.lost;
    assert!((least..=signals).contains(&heard), "{what}");
    assert!((heard - 3..=heard).contains(&known.reductions), "{what}");
}

/// Runs each sender with ECN and without. With ECN nothing is lost after slow start. Without it as many packets
/// are lost as were marked before, at the same delay in ms. A flow uses at least the share `used` of the link.
/// Returns the losses of slow start with ECN.
fn marks_take_the_place_of_losses(
    queue: QueueConfig,
    wait_ms: RangeInclusive<f64>,
    used: f64,
) -> u64 {
    let mut lost_in_slow_start = 0;
    for sender in SENDERS {
        let [marking, dropping] = [true, false].map(|ecn| run(sender, ecn, queue));
        let what = format!("{sender:?} marking {marking:?} dropping {dropping:?}");
        assert_eq!((marking.lost, marking.known.lost), (0, 0), "{what}");
        assert_eq!((dropping.marked, dropping.known.marked), (0, 0), "{what}");
        assert!(dropping.lost.abs_diff(marking.marked) <= 5, "{what}");
        for outcome in [&marking, &dropping] {
            assert_answered(outcome, sender, &what);
            assert!(wait_ms.contains(&outcome.wait_ms), "{what}");
            assert!(outcome.used >= used, "{what}");
        }
        assert!((dropping.wait_ms - marking.wait_ms).abs() < 1.0, "{what}");
        assert!(dropping.lost_in_slow_start > 0, "{what}");
        lost_in_slow_start += marking.lost_in_slow_start;
    }
    lost_in_slow_start
}

// CoDel keeps the delay below its 5 ms, at a price: a queue so short is empty after each reduction.
#[test]
fn codel_marks_instead_of_dropping_even_in_slow_start() {
    // 4341-5-6, 4341-5-7
    let queue = QueueConfig::CoDel(CoDelConfig::default());
    let lost = marks_take_the_place_of_losses(queue, 1.5..=4.0, 0.84);
    assert_eq!(lost, 0);
}

#[test]
fn fq_codel_treats_a_single_flow_as_codel_does() {
    let queue = QueueConfig::FqCoDel(FqCoDelConfig::default());
    let lost = marks_take_the_place_of_losses(queue, 1.5..=4.0, 0.84);
    assert_eq!(lost, 0);
}

// 15 ms, and a sawtooth around them. In slow start the probability exceeds 10 %, where PIE drops all.
#[test]
fn pie_marks_instead_of_dropping_up_to_10_percent() {
    let queue = QueueConfig::Pie(PieConfig::default());
    let lost = marks_take_the_place_of_losses(queue, 12.0..=18.5, 0.97);
    assert!(lost > 0);
}

// Likewise 15 ms; in overload, which is from 25 % on, it drops too.
#[test]
fn dualpi2_marks_classic_packets_instead_of_dropping_them() {
    let queue = QueueConfig::DualPi2(DualPi2Config::default());
    marks_take_the_place_of_losses(queue, 10.0..=16.0, 0.95);
}
