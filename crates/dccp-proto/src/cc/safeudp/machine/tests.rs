//! The pinned scenarios of SafeUDP §8, and the rules that they leave open.

use super::*;
use crate::cc::safeudp::time_scales::nominal_interval;

const RTT: Duration = Duration::from_millis(100);
const INPUT: f64 = 14.6e6;

/// A machine, and what its application does: 10,000 packets of 1460 bytes per second at a round trip of 100 ms.
struct Run {
    machine: Machine,
    input: f64,
    p_event: Option<f64>,
    silent_for: Duration,
    steps: u32,
    /// The length of the measurement interval.
    interval: Duration,
}

impl Run {
    fn new(profile: Profile) -> Self {
        Self {
            machine: Machine::new(profile, None),
            input: INPUT,
            p_event: None,
            silent_for: Duration::ZERO,
            steps: 0,
            interval: nominal_interval(RTT),
        }
    }

    fn shared() -> Self {
        Self::new(Profile::Shared)
    }

    fn measured(&self, interval: Interval, reports: Reports) -> Measured {
        Measured {
            interval,
            reports,
            input: self.input,
            sent: self
                .machine
                .cap()
                .map_or(self.input, |cap| cap.min(self.input)),
            p_event: self.p_event,
            rtt: RTT.as_secs_f64(),
            size: 1460.0,
            scales: TimeScales::new(RTT, self.interval),
        }
    }

    fn step(&mut self, interval: Interval) -> Vec<Verdict> {
        self.steps += 1;
        let measured = self.measured(interval, Reports::News);
        self.machine.step(&measured)
    }

    fn silence(&mut self) -> Vec<Verdict> {
        self.silent_for += nominal_interval(RTT);
        let measured = self.measured(Interval::default(), Reports::Silent(self.silent_for));
        self.machine.step(&measured)
    }

    /// Steps and checks the state after each, and that no verdict comes but those of a state.
    fn expect(&mut self, interval: Interval, states: &[State]) {
        for &state in states {
            self.step(interval);
            assert_eq!(self.machine.state(), state, "interval {}", self.steps);
        }
    }

    fn expect_any(&mut self, interval: Interval, steps: u32) {
        for _ in 0..steps {
            self.step(interval);
        }
    }

    fn cap(&self) -> f64 {
        self.machine.cap().expect("a cap")
    }

    #[track_caller]
    fn expect_cap(&self, cap: f64) {
        assert!(
            (self.cap() / cap - 1.0).abs() < 1e-9,
            "{} {cap}",
            self.cap()
        );
    }
}

fn judged(judged: u64) -> Interval {
    Interval {
        judged,
        ..Interval::default()
    }
}

fn clean() -> Interval {
    judged(4000)
}

fn lost(n: u64) -> Interval {
    Interval { lost: n, ..clean() }
}

use State::{Advisory, Clear, Enforce, Eval, Host, Open, PeerGone, Throttled};

#[test]
fn single_burst_is_transient() {
    let mut run = Run::shared();
    run.expect(clean(), &[Clear]);
    run.expect(lost(20), &[Eval]);
    run.expect(clean(), &[Eval, Eval, Eval]);
    assert_eq!(run.step(clean()), [Verdict::Info(Info::Transient)]);
    run.expect(clean(), &[Clear]);
}

#[test]
fn full_receiver_is_a_host() {
    let mut run = Run::shared();
    let full = Interval {
        receive_buffer: 12,
        ..clean()
    };
    let overrun = Interval {
        lost: 8,
        host_losses: 8,
        ..clean()
    };
    for interval in [full, overrun] {
        assert_eq!(run.step(interval), [Verdict::Host(Side::Receiver)]);
        assert_eq!(run.machine.state(), Host);
    }
    run.expect(clean(), &[Clear]);
}

#[test]
fn full_sender_is_a_host() {
    let mut run = Run::shared();
    let failed = Interval {
        lost: 30,
        failed: 30,
        ..clean()
    };
    assert_eq!(run.step(failed), [Verdict::Host(Side::Sender)]);
    run.expect(clean(), &[Clear]);
}

#[test]
fn obeyed_advice_ends_without_enforcement() {
    let mut run = Run::shared();
    run.expect(lost(4), &[Eval, Eval, Advisory]);
    assert!((run.machine.advised() - 7_292_700.0).abs() < 1.0);
    run.input = 7.0e6;
    assert_eq!(run.step(lost(4)), [Verdict::Info(Info::Complied)]);
    run.expect(judged(2000), &[Eval, Eval, Eval, Eval, Clear]);
    assert_eq!(run.machine.cap(), None);
}

#[test]
fn ignored_advice_is_enforced_until_the_network_is_clean() {
    let mut run = Run::shared();
    run.expect(
        lost(4),
        &[Eval, Eval, Advisory, Advisory, Advisory, Enforce],
    );
    run.expect_cap(7_292_700.0);
    let limited = Interval {
        lost: 2,
        ..judged(2000)
    };
    run.expect(limited, &[Enforce; 3]);
    run.expect_cap(7_292_700.0 * 0.7);
    // The cap does not rise above TCP's rate: not before five intervals are clean.
    run.expect(judged(2000), &[Enforce; 4]);
    run.expect_cap(7_292_700.0 * 0.7);
    for n in 1..=4 {
        assert_eq!(run.step(judged(2000)), [Verdict::Raise], "raise {n}");
        run.expect_cap(7_292_700.0 * 0.7 * 1.25_f64.powi(n));
        run.expect(judged(2000), &[Enforce; 2]);
    }
    let last = [Verdict::Raise, Verdict::Info(Info::Cleared)];
    assert_eq!(run.step(judged(2000)), last);
    assert_eq!((run.machine.state(), run.machine.cap()), (Clear, None));
}

#[test]
fn heavy_loss_trips_twice() {
    let mut run = Run::shared();
    run.expect(
        lost(600),
        &[Eval, Eval, Advisory, Advisory, Advisory, Enforce],
    );
    run.expect_cap(6_205_000.0);
    let limited = Interval {
        lost: 300,
        ..judged(2000)
    };
    run.expect(limited, &[Enforce, Enforce, Throttled]);
    run.expect_cap(620_500.0);
    let throttled = Interval {
        lost: 60,
        ..judged(400)
    };
    run.expect(throttled, &[Throttled; 37]);
    run.expect(throttled, &[Enforce]);
    assert_eq!(run.steps, 47);
    assert_eq!(run.step(throttled), [Verdict::Trip(Cause::Loss)]);
    assert_eq!(run.machine.state(), Open);
}

#[test]
fn marks_and_corruption_count_as_losses_of_the_network() {
    let marked = Interval {
        marks: 4,
        ..clean()
    };
    let corrupt = Interval {
        corrupt: 4,
        ..clean()
    };
    for interval in [marked, corrupt] {
        Run::shared().expect(interval, &[Eval, Eval, Advisory, Advisory]);
    }
}

#[test]
fn provisioned_sender_keeps_its_rate_at_light_loss() {
    let mut run = Run::new(Profile::Provisioned);
    run.expect(lost(2), &[Eval; 4]);
    assert_eq!(run.step(lost(2)), [Verdict::Info(Info::WithinShare)]);
    run.expect(lost(2), &[Eval; 2]);
}

#[test]
fn provisioned_sender_is_enforced_at_heavy_loss() {
    let mut run = Run::new(Profile::Provisioned);
    run.expect(lost(80), &[Eval, Eval, Advisory]);
    assert!((run.machine.advised() - 7_154_000.0).abs() < 1.0);
    run.expect(
        lost(80),
        &[Advisory, Advisory, Enforce, Enforce, Enforce, Enforce],
    );
    run.expect_cap(7_154_000.0 * 0.7);
    run.expect(lost(80), &[Enforce; 3]);
    run.expect_cap(7_154_000.0 * 0.49);
}

#[test]
fn flow_slower_than_tcp_is_within_its_share() {
    let mut run = Run::shared();
    run.input = 0.3e6;
    run.p_event = Some(1e-3);
    let slow = Interval {
        lost: 1,
        ..judged(82)
    };
    run.expect(slow, &[Eval; 4]);
    assert_eq!(run.step(slow), [Verdict::Info(Info::WithinShare)]);
    run.expect(slow, &[Eval; 2]);
}

#[test]
fn silence_halves_the_cap_then_opens_the_breaker() {
    let mut run = Run::shared();
    run.expect(clean(), &[Clear]);
    for cap in [7.3e6, 3.65e6] {
        assert_eq!(run.silence(), [Verdict::NoFeedback]);
        run.expect_cap(cap);
        assert_eq!(run.machine.state(), Enforce);
    }
    assert_eq!(run.silence(), [Verdict::Trip(Cause::Feedback)]);
    assert_eq!(run.machine.state(), Open);
}

#[test]
fn silence_does_not_end_a_hold() {
    let mut run = Run::shared();
    run.expect(
        lost(600),
        &[Eval, Eval, Advisory, Advisory, Advisory, Enforce],
    );
    while run.machine.state() != Throttled {
        run.step(lost(600));
    }
    let cap = run.cap();
    assert_eq!(run.silence(), [Verdict::NoFeedback]);
    run.expect_cap(cap / 2.0);
    // The hold lasts for a breaker window of 38 intervals after the trip.
    run.expect(clean(), &[Throttled; 37]);
}

#[test]
fn interval_without_a_judged_packet_is_no_clean_one() {
    let mut run = Run::shared();
    run.expect(
        lost(4),
        &[Eval, Eval, Advisory, Advisory, Advisory, Enforce],
    );
    let cap = run.cap();
    run.expect(judged(0), &[Enforce; 20]);
    run.expect_cap(cap);
}

#[test]
fn cap_of_a_short_path_is_at_least_a_packet_in_100_ms() {
    let mut run = Run::shared();
    let measured = Measured {
        sent: 1.0,
        rtt: 20e-6,
        ..run.measured(Interval::default(), Reports::Silent(RTT))
    };
    assert_eq!(run.machine.step(&measured), [Verdict::NoFeedback]);
    run.expect_cap(14_600.0);
}

#[test]
fn absent_application_ends_the_control() {
    let mut run = Run::shared();
    let gone = Interval {
        not_listening: 1,
        ..clean()
    };
    assert_eq!(run.step(gone), [Verdict::NotListening]);
    assert_eq!(run.machine.state(), PeerGone);
    run.expect(lost(600), &[PeerGone; 20]);
}

#[test]
fn acknowledgements_without_news_open_the_breaker() {
    // RFC 8083 §4.2: media timeout with k = 5.
    let mut run = Run::shared();
    let stall = |run: &mut Run| {
        let measured = run.measured(Interval::default(), Reports::Stalled);
        run.machine.step(&measured)
    };
    for _ in 0..4 {
        assert_eq!(stall(&mut run), []);
    }
    run.expect(clean(), &[Clear]);
    for _ in 0..4 {
        assert_eq!(stall(&mut run), []);
    }
    assert_eq!(stall(&mut run), [Verdict::Trip(Cause::Stalled)]);
}

#[test]
fn growing_queue_counts_as_one_marked_interval_more() {
    let queued = |n: u64| Interval {
        is_inflated: true,
        ..lost(n)
    };
    let mut run = Run::shared();
    run.expect(queued(4), &[Eval, Advisory]);
    // A queue without losses is no congestion.
    let mut run = Run::shared();
    run.expect(queued(0), &[Clear; 10]);
}

#[test]
fn trip_is_forgiven_after_a_calm_breaker_window() {
    let mut run = Run::shared();
    run.p_event = Some(1e-3);
    run.expect(
        lost(600),
        &[Eval, Eval, Advisory, Advisory, Advisory, Enforce],
    );
    run.expect(lost(600), &[Enforce, Enforce, Throttled]);
    assert_eq!(run.machine.trips(), 1);
    run.expect(clean(), &[Throttled; 37]);
    run.expect(clean(), &[Enforce]);
    // The hold does not count: a throttled sender proves nothing.
    for _ in 0..38 {
        assert_eq!(run.machine.trips(), 1);
        run.step(clean());
    }
    assert_eq!(run.machine.trips(), 0);
    // The second trip throttles again: it does not end the connection.
    let mut verdicts = Vec::new();
    while run.machine.state() != Throttled {
        verdicts = run.step(lost(600));
    }
    assert!(matches!(*verdicts, [Verdict::Throttle(_)]), "{verdicts:?}");
}

#[test]
fn hold_goes_on_while_nothing_is_sent() {
    let mut run = Run::shared();
    for _ in 0..9 {
        run.step(lost(600));
    }
    assert_eq!(run.machine.state(), Throttled);
    for _ in 0..37 {
        run.machine.idle(run.interval);
        assert_eq!(run.machine.state(), Throttled);
    }
    run.machine.idle(run.interval);
    assert_eq!(run.machine.state(), Enforce);
}

#[test]
fn slow_receiver_stops_raises() {
    let mut run = Run::shared();
    run.expect(
        lost(4),
        &[Eval, Eval, Advisory, Advisory, Advisory, Enforce],
    );
    let slow = Interval {
        has_slow_receiver: true,
        ..clean()
    };
    for _ in 0..20 {
        assert_eq!(run.step(slow), [Verdict::Host(Side::Receiver)]);
    }
    run.expect_cap(7_292_700.0);
    assert_eq!(run.step(clean()), [Verdict::Raise]);
}

#[test]
fn cap_is_at_least_one_packet_per_round_trip() {
    let mut run = Run::shared();
    run.p_event = Some(1.0);
    for _ in 0..200 {
        run.step(lost(200));
    }
    run.expect_cap(14_600.0);
}

#[test]
fn cycle_of_the_cap_varies_little() {
    // SafeUDP §6: the coefficient of variation of the enforced rate is at most 0.2. The bottleneck takes 7 MB/s, and TCP's rate
    // is no bound.
    let mut run = Run::new(Profile::Provisioned);
    let mut caps = Vec::new();
    for n in 0..1000 {
        let sent = run.machine.cap().map_or(INPUT, |cap| cap.min(INPUT));
        let loss = (1.0 - 7.0e6 / sent).max(0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "packets of a test"
        )]
        let missing = (4000.0 * loss) as u64;
        run.step(lost(missing));
        if n >= 100 {
            caps.push(run.cap());
        }
    }
    let n = to_f64(caps.len() as u64);
    let mean = caps.iter().sum::<f64>() / n;
    let variance = caps.iter().map(|cap| (cap - mean).powi(2)).sum::<f64>() / n;
    let cv = variance.sqrt() / mean;
    assert!(cv <= 0.2 && mean > 5.5e6, "{cv} {mean}");
}

#[test]
fn flow_at_its_fair_share_and_a_fifth_more_never_trips() {
    // A simulated hour at an event per second, with bursts of 40 lost packets.
    let mut run = Run::shared();
    let p = 1.0 / 3000.0;
    run.p_event = Some(p);
    run.input = 1.2 * Path::new(1460.0, 0.1).rate(p);
    for n in 0..9000 {
        let interval = Interval {
            lost: if n % 3 == 0 { 40 } else { 0 },
            ..judged(400)
        };
        let verdicts = run.step(interval);
        let has_tripped = |v: &Verdict| matches!(v, Verdict::Throttle(_) | Verdict::Trip(_));
        assert!(!verdicts.iter().any(has_tripped), "interval {n}");
    }
}

#[test]
fn rate_that_dips_now_and_then_does_not_renew_the_grace() {
    let mut run = Run::shared();
    run.expect(lost(4), &[Eval, Eval, Advisory, Advisory]);
    run.input = 7.0e6;
    assert_eq!(run.step(lost(4)), [Verdict::Info(Info::Complied)]);
    run.input = INPUT;
    // Of the grace of 1 s, two intervals of 400 ms are spent, and this one is the third.
    assert_eq!(run.step(lost(4)), [Verdict::Enforce]);
}

#[test]
fn application_that_complies_has_its_whole_grace_after_new_advice() {
    let mut run = Run::shared();
    run.expect(lost(4), &[Eval, Eval, Advisory, Advisory]);
    run.input = 7.0e6;
    run.expect(lost(4), &[Eval]);
    // The network has become worse: the rate that was advised is too high now.
    run.p_event = Some(0.01);
    run.expect(lost(4), &[Eval, Eval, Advisory]);
    assert_eq!(
        run.machine.grace_left(&TimeScales::new(RTT, run.interval)),
        Duration::from_secs(1)
    );
}

#[test]
fn grace_is_a_time_whatever_the_length_of_an_interval() {
    let mut run = Run::shared();
    run.expect(lost(4), &[Eval, Eval, Advisory]);
    // A grace of 1 s is three short intervals, or one long one.
    run.interval = Duration::from_secs(1);
    run.expect(lost(4), &[Enforce]);
}

#[test]
fn hold_is_a_time_whatever_the_length_of_an_interval() {
    let mut run = Run::shared();
    for _ in 0..9 {
        run.step(lost(600));
    }
    assert_eq!(run.machine.state(), Throttled);
    // A hold of 15 s is 38 short intervals, or fifteen long ones.
    run.interval = Duration::from_secs(1);
    run.expect(clean(), &[Throttled; 14]);
    run.expect(clean(), &[Enforce]);
}

#[test]
fn cap_below_the_rate_of_tcp_rises_to_it_although_packets_are_lost() {
    let mut run = Run::shared();
    run.expect(clean(), &[Clear]);
    run.silence();
    run.silence();
    run.expect_cap(INPUT / 4.0);
    // TCP would have 4.5e6 bytes/s.
    run.p_event = Some(1e-5);
    for cap in [INPUT / 4.0, INPUT / 4.0, 1.25 * INPUT / 4.0] {
        assert_eq!(run.step(lost(1)).len(), usize::from(run.steps == 4));
        run.expect_cap(cap);
    }
}

#[test]
fn rate_that_alternates_is_enforced_when_the_grace_is_over() {
    // Full rate while advised, then one interval at the advised rate or a pause without losses, and so on.
    for (pause, intervals) in [(lost(4), 1), (clean(), 3)] {
        let mut run = Run::shared();
        let mut laps = 0;
        loop {
            run.input = INPUT;
            while run.machine.state() != Advisory && run.machine.state() != Enforce {
                run.step(lost(4));
                assert!(run.steps < 38, "{laps} laps");
            }
            run.step(lost(4));
            if run.machine.state() == Enforce {
                break;
            }
            run.input = 1.0;
            run.expect_any(pause, intervals);
            laps += 1;
        }
        assert!(laps <= 3, "{laps}");
    }
}

#[test]
fn blocked_sender_keeps_half_of_its_rate() {
    let mut run = Run::shared();
    run.expect(clean(), &[Clear]);
    run.silence();
    run.expect_cap(INPUT / 2.0);
    // Nothing leaves, because the Sequence Window is full.
    run.input = 0.0;
    assert_eq!(run.silence(), []);
    run.expect_cap(INPUT / 2.0);
}

#[test]
fn trip_is_not_forgiven_by_one_long_interval() {
    let mut run = Run::shared();
    for _ in 0..9 {
        run.step(lost(600));
    }
    run.expect(clean(), &[Throttled; 37]);
    run.expect(clean(), &[Enforce]);
    run.expect_any(clean(), 29);
    run.interval = Duration::from_secs(1);
    // The breaker window is 30 s now, and 12 s were clean.
    run.step(clean());
    assert_eq!(run.machine.trips(), 1);
}
