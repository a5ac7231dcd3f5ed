//! Closed loops: senders and receivers over a network of one link (see `fixtures`).

use super::config::CcConfig;
use super::fixtures::{Fate, Net, START, at, config, is_near, ms, us};
use super::registry::Ccids;
use super::*;
use proptest::prelude::*;

/// A path of 20 ms whose link takes 1 ms for a packet and whose queue holds 20.
fn bottleneck(ccid: u8) -> Net {
    let mut net = Net::new(
        ccid,
        &CcConfig {
            rtt: Some(ms(21)),
            is_paced: true,
            ..config()
        },
    );
    net.service = ms(1);
    net.queue_max = 20;
    net
}

/// Packets that left within the last `seconds` of a run of 60 s.
fn sent_within(net: &Net, seconds: u64) -> usize {
    let from = net.now - Duration::from_secs(seconds);
    net.log.iter().filter(|p| p.at >= from).count()
}

#[test]
fn reno_saws_between_half_and_a_full_pipe() {
    // 4341-5-7, 4341-5-8: the pipe holds 21 packets and the queue 20.
    let mut net = bottleneck(2);
    let (mut low, mut high, mut events, mut last) = (f64::MAX, 0.0_f64, 0, 0.0);
    net.run(at(60_000), |net| {
        let cwnd = net.cwnd();
        if net.now > at(10_000) {
            (low, high) = (low.min(cwnd), high.max(cwnd));
            events += u32::from(cwnd < last);
            // Never by more than half, and never more than a packet up.
            assert!(cwnd >= (last / 2.0_f64).floor() && cwnd <= last + 1.0 || last == 0.0);
        }
        last = cwnd;
    });
    assert!((41.0..=44.0).contains(&high), "{high}");
    assert!(is_near(low, (high / 2.0).floor()), "{low} {high}");
    // From 21 to 42 packets takes 21 round trips of 21 to 42 ms.
    assert!((60..=90).contains(&events), "{events}");
    assert_eq!(net.timeouts, 0);
    // The link was hardly ever idle: half of 41 packets do not quite fill the pipe.
    assert!(sent_within(&net, 50) >= 48_500, "{}", sent_within(&net, 50));
}

#[test]
fn slow_start_multiplies_the_window_by_one_and_a_half_per_round_trip() {
    // 4341-5-8: Ack Ratio 2, so one packet per acknowledgement of two.
    let mut net = Net::new(
        2,
        &CcConfig {
            is_strict: true,
            ..config()
        },
    );
    let mut windows = Vec::new();
    for round in 1..=8 {
        net.run(at(20 * round + 1), |_| {});
        windows.push(net.cwnd());
    }
    for pair in windows[1..].windows(2) {
        let factor = pair[1] / pair[0];
        assert!((1.3..=1.6).contains(&factor), "{windows:?}");
    }
}

#[test]
fn an_application_that_sends_less_grows_its_window_to_twice_the_largest_flight() {
    // 4341-5.1-1, ratelimited-3-3: a quarter of the window per round trip, for 200 of them.
    let mut net = Net::new(2, &config());
    net.run(at(200), |_| {});
    let flight = net.cwnd();
    assert!(flight > 30.0);
    net.limit_app(Duration::from_secs_f64(0.02 / (flight / 4.0)));
    net.run(at(2_280), |_| {});
    let cwnd = net.cwnd();
    assert!((1.9..2.2).contains(&(cwnd / flight)), "{cwnd} {flight}");
    net.run(at(4_280), |net| assert!(is_near(net.cwnd(), cwnd)));
    assert!(net.log.len() > 1000);
}

#[test]
fn a_window_shrinks_while_the_application_is_silent() {
    // 4341-5.1-1
    let mut net = Net::new(2, &config());
    net.run(at(200), |_| {});
    net.is_app_silent = true;
    net.run(at(300), |_| {});
    let cwnd = net.cwnd();
    net.run(at(60_000), |_| {});
    assert!(is_near(net.cwnd(), cwnd));
    net.is_app_silent = false;
    net.run(at(60_001), |_| {});
    assert!(is_near(net.cwnd(), 4.0));
}

#[test]
fn an_outage_times_out_and_slow_start_follows() {
    // 4341-5-5, 4341-5-7: doubling timeouts, then a window of 1.
    let mut net = bottleneck(2);
    net.run(at(5_000), |_| {});
    net.fate = Box::new(|_| Fate::Lost);
    let before = net.log.len();
    net.run(at(5_100), |_| {});
    let in_flight = net.log.len() - before;
    net.run(at(9_000), |_| {});
    // One window in flight is lost, then one packet per timeout: 0.2, 0.4, 0.8 and 1.6 s.
    let lone: Vec<_> = net.log[before + in_flight..]
        .windows(2)
        .map(|p| p[1].at - p[0].at)
        .collect();
    assert!(lone.len() >= 2, "{lone:?}");
    for pair in lone.windows(2) {
        let factor = pair[1].as_secs_f64() / pair[0].as_secs_f64();
        assert!((1.4..=2.1).contains(&factor), "{lone:?}");
    }
    assert!(is_near(net.cwnd(), 1.0));
    net.fate = Box::new(|_| Fate::Arrives);
    net.run(at(20_000), |_| {});
    assert!(net.cwnd() > 20.0);
}

#[test]
fn marks_halve_the_window_without_loss() {
    // 4341-7-1, 4341-5-7
    let mut net = Net::new(2, &config());
    net.fate = Box::new(|n| {
        if n == 500 {
            Fate::Marked
        } else {
            Fate::Arrives
        }
    });
    let (mut last, mut drop) = (0.0, None);
    net.run(at(400), |net| {
        if net.cwnd() < last {
            drop = drop.or(Some((last, net.cwnd())));
        }
        last = net.cwnd();
    });
    let (before, after) = drop.expect("an event");
    assert!(is_near(after, f64::floor(before / 2.0)), "{before} {after}");
}

#[test]
fn acknowledgements_stay_sixteen_per_round_trip() {
    // 4341-6.1.2-1; `docs/design.md`, decision 8c
    let mut net = Net::new(2, &config());
    net.run(at(400), |_| {});
    let cwnd = net.cwnd();
    assert!(cwnd > 1_000.0, "{cwnd}");
    net.limit_app(Duration::from_secs_f64(0.02 / cwnd));
    net.run(at(450), |_| {});
    let (acks, sent) = (net.acks, net.log.len());
    net.run(at(650), |_| {});
    let ratio = (net.log.len() - sent) as u64 / (net.acks - acks);
    assert_eq!(ratio, 64);
    let changes: Vec<_> = net
        .signals
        .iter()
        .filter(|s| matches!(s, Signal::Change { .. }))
        .collect();
    // Once per round trip at most.
    assert!(changes.len() <= 20, "{changes:?}");
}

#[test]
fn two_hundred_thousand_packets_pass_without_a_step() {
    // 4342-8.1-1: the rate must never change at a power of two. The loss of one packet in 1000 keeps
    // the rate constant otherwise.
    let mut net = Net::new(
        3,
        &CcConfig {
            rtt: Some(ms(20)),
            ..config()
        },
    );
    net.fate = Box::new(|n| {
        if n % 1000 == 999 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    let mut rates = Vec::new();
    net.run(at(120_000), |net| rates.resize(net.log.len(), net.rate()));
    assert!(rates.len() > 200_000, "{}", rates.len());
    let expected = 1000.0 / 0.02 / 0.026_052_275;
    for (n, rate) in rates.iter().enumerate().skip(20_000) {
        assert!((0.97..=1.03).contains(&(rate / expected)), "{n} {rate}");
    }
    for power in (15..18).map(|bits| 1_usize << bits) {
        // Time for 100 packets before and after.
        let time = |from: usize| (net.log[from + 100].at - net.log[from].at).as_secs_f64();
        let factor = time(power) / time(power - 101);
        assert!((0.99..=1.01).contains(&factor), "{power} {factor}");
    }
}

#[test]
fn tfrc_fills_most_of_a_link_without_sawing() {
    // 5348-4.3-4, 5348-5.4-1
    let mut net = bottleneck(3);
    let (mut low, mut high) = (f64::MAX, 0.0_f64);
    net.run(at(60_000), |net| {
        if net.now > at(20_000) {
            (low, high) = (low.min(net.rate()), high.max(net.rate()));
        }
    });
    let sent = sent_within(&net, 40);
    assert!(sent > 32_000, "{sent}");
    assert!(high < 3.0 * low, "{low} {high}");
    assert_eq!(net.timeouts, 0);
}

#[test]
fn tfrc_gets_what_the_equation_gives_at_a_given_loss_rate() {
    // 5348-3.1-1: one packet in 100 is lost, about evenly, on a path without queue.
    let mut net = Net::new(
        3,
        &CcConfig {
            rtt: Some(ms(20)),
            ..config()
        },
    );
    net.fate = Box::new(|n| {
        if n % 100 == 99 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    net.run(at(60_000), |_| {});
    // f(0.01) is 0.0890216: 1000 bytes / 20 ms / f.
    let expected = 1000.0 / 0.02 / 0.089_021_6;
    let expected = expected / 1000.0 * 40.0;
    let sent = u32::try_from(sent_within(&net, 40)).expect("few");
    assert!(
        (0.9..=1.1).contains(&(f64::from(sent) / expected)),
        "{sent} {expected}"
    );
}

#[test]
fn the_allowed_rate_doubles_at_most_once_per_round_trip() {
    // 5348-4.3-4
    let mut net = Net::new(3, &config());
    let mut steps = vec![(START, net.rate())];
    net.run(at(220), |net| {
        if steps.last().is_some_and(|&(_, rate)| rate < net.rate()) {
            steps.push((net.now, net.rate()));
        }
    });
    // One packet per second, then 4 per 20 ms, then doubling.
    assert!(steps.len() > 5, "{steps:?}");
    assert!(is_near(steps[0].1, 1000.0) && is_near(steps[1].1, 200_000.0));
    for pair in steps[1..].windows(2) {
        assert!(pair[1].1 <= 2.0 * pair[0].1 * 1.000_001, "{steps:?}");
        assert!(pair[1].0 - pair[0].0 >= ms(20), "{steps:?}");
    }
}

#[test]
fn without_feedback_the_rate_halves_again_and_again() {
    // 5348-4.4-1
    let mut net = bottleneck(3);
    net.run(at(5_000), |_| {});
    let rate = net.rate();
    net.are_acks_lost = true;
    let mut halvings = Vec::new();
    let mut last = rate;
    net.run(at(7_000), |net| {
        if net.rate() < 0.75 * last {
            halvings.push(net.rate() / last);
            last = net.rate();
        }
    });
    assert!(halvings.len() >= 4, "{halvings:?}");
    assert!(
        halvings.iter().skip(1).all(|&f| is_near(f, 0.5)),
        "{halvings:?}"
    );
    // And comes back with the first feedback.
    net.are_acks_lost = false;
    net.run(at(20_000), |_| {});
    assert!(net.rate() > 0.5 * rate, "{} {rate}", net.rate());
}

#[test]
fn an_idle_tfrc_sender_starts_again_at_its_initial_rate() {
    // 5348-4.4-1, 4342-5-1
    let mut net = Net::new(
        3,
        &CcConfig {
            rtt: Some(ms(20)),
            ..config()
        },
    );
    net.run(at(200), |_| {});
    assert!(net.rate() > 1e6);
    net.is_app_silent = true;
    net.run(at(60_000), |_| {});
    // Between once and twice 4 packets per round trip.
    assert!(
        (200_000.0..=400_000.0).contains(&net.rate()),
        "{}",
        net.rate()
    );
    assert_eq!(net.sender.poll_timeout(), None);
}

#[test]
fn an_application_limited_tfrc_sender_may_send_twice_what_it_sent_at_least() {
    // 5348-4.3-3: 100 packets per second through a path that has room for more.
    let mut net = Net::new(
        3,
        &CcConfig {
            rtt: Some(ms(20)),
            ..config()
        },
    );
    net.limit_app(ms(10));
    net.run(at(10_000), |_| {});
    assert_eq!(net.log.len(), 1_001);
    assert!(net.rate() >= 200_000.0, "{}", net.rate());
}

#[test]
fn the_window_counter_of_adjacent_packets_never_wraps() {
    // 4342-8.1-1: at any rate of sending.
    let mut net = Net::new(
        3,
        &CcConfig {
            rtt: Some(ms(20)),
            ..config()
        },
    );
    for (i, interval) in [1_000, 7_000, 33_000, 110_000, 777_000]
        .into_iter()
        .enumerate()
    {
        net.limit_app(us(interval));
        net.run(at(20_000 * (i as u64 + 1)), |_| {});
    }
    // A feedback adds up to 4.
    let step = |pair: &[fixtures::Sent]| (pair[1].ccval + 16 - pair[0].ccval) % 16;
    assert!(net.log.windows(2).all(|pair| step(pair) <= 9));
    let slow = &net.log[net.log.len() - 20..];
    assert!(slow.windows(2).all(|pair| (4..=9).contains(&step(pair))));
}

/// A path of 20 ms without a limit, for half a second; `disturb` says what is wrong with it. For CCID 4,
/// which sends 100 packets per second at most, fifty times as long in both.
fn half_a_second(ccid: u8, disturb: impl FnOnce(&mut Net)) -> Net {
    let scale = if ccid == 4 { 50 } else { 1 };
    let config = CcConfig {
        rtt: Some(ms(20 * scale)),
        ..config()
    };
    let mut net = Net::new(ccid, &config);
    net.delay = ms(10 * scale);
    disturb(&mut net);
    net.run(at(500 * scale), |_| {});
    net
}

/// Every twentieth packet meets this fate.
fn every_twentieth(fate: Fate) -> Box<dyn FnMut(u64) -> Fate> {
    Box::new(move |n| if n % 20 == 19 { fate } else { Fate::Arrives })
}

/// Checks that every congestion control answers each question that its profile must answer.
#[test]
fn every_ccid_has_an_answer_to_what_its_profile_must_name() {
    // 4340-10.4-1
    type Disturb = fn(&mut Net);
    let disturbances: [(&str, Disturb); 4] = [
        ("loss", |net| net.fate = every_twentieth(Fate::Lost)),
        ("marks", |net| net.fate = every_twentieth(Fate::Marked)),
        ("data dropped", |net| net.drops.receive_buffer = 1),
        ("slow receiver", |net| net.is_receiver_slow = true),
    ];
    // CCID 248 answers by dropping its input: `sender/tests.rs` in its folder.
    let ccids = Ccids::default();
    let others = ccids.iter().filter(|c| c.number() != safeudp::NUMBER);
    for (ccid, name) in others.map(|c| (c.number(), c.name())) {
        assert!(!name.is_empty());
        let mut net = half_a_second(ccid, |_| {});
        let sent = net.log.len();
        for (what, disturb) in disturbances {
            let held = half_a_second(ccid, disturb).log.len();
            assert!(2 * held < sent, "{name}: {what}: {held} of {sent}");
        }
        // Acknowledgements are fewer than data packets.
        assert!(2 * net.acks <= sent as u64, "{name}: {}", net.acks);
        // A silence ends the permission that was earned before it.
        net.is_app_silent = true;
        net.run(at(60_000), |_| {});
        net.is_app_silent = false;
        net.run(at(60_019), |_| {});
        let burst = net.log.len() - sent;
        assert!((1..=8).contains(&burst), "{name}: {burst}");
    }
}

/// A path, an application, and the caller's clock.
#[derive(Clone, Copy, Debug)]
struct Script {
    tick_us: u64,
    delay_us: u64,
    service_us: u64,
    queue_max: u64,
    lost_every: u64,
    app_us: u64,
}

/// Runs a script. Returns when each packet left with which CCVal, the sender afterwards, and the
/// number of runs.
fn play(
    ccid: u8,
    is_paced: bool,
    script: Script,
    run_max: u32,
) -> (Vec<(Instant, u8)>, Snapshot, u64) {
    let mut net = Net::new(
        ccid,
        &CcConfig {
            is_paced,
            rtt: Some(us(2 * script.delay_us)),
            ..config()
        },
    );
    net.tick = us(script.tick_us);
    net.delay = us(script.delay_us);
    net.service = us(script.service_us);
    net.queue_max = script.queue_max;
    net.fate = Box::new(move |n| match n % script.lost_every {
        1 => Fate::Lost,
        2 => Fate::Marked,
        _ => Fate::Arrives,
    });
    net.run_max = run_max;
    net.limit_app(us(script.app_us));
    net.run(at(400), |_| ());
    let log = net.log.iter().map(|p| (p.at, p.ccval)).collect();
    (log, net.sender.snapshot(), net.runs)
}

proptest! {
    #[test]
    fn run_has_the_effect_of_its_single_packets(
        ccid in 2..=4_u8,
        is_paced in any::<bool>(),
        (tick_us, delay_us, service_us) in (1..3000_u64, 50..20_000_u64, 1..300_u64),
        (queue_max, lost_every, app_us) in (5..500_u64, 20..5000_u64, 0..50_u64),
    ) {
        let script = Script { tick_us, delay_us, service_us, queue_max, lost_every, app_us };
        let (singly, alone, _) = play(ccid, is_paced, script, 1);
        let (in_runs, together, _) = play(ccid, is_paced, script, u32::MAX);
        prop_assert_eq!(singly, in_runs);
        prop_assert_eq!(alone, together);
    }
}

#[test]
fn fast_sender_sends_runs_of_several_packets() {
    let script = Script {
        tick_us: 500,
        delay_us: 2000,
        service_us: 5,
        queue_max: 1000,
        lost_every: 5000,
        app_us: 0,
    };
    for (ccid, is_paced) in [(2, false), (2, true), (3, true)] {
        let (log, _, runs) = play(ccid, is_paced, script, u32::MAX);
        assert!(
            4 * runs < 3 * log.len() as u64,
            "{ccid}: {runs} of {}",
            log.len()
        );
    }
}
