//! Tests BBR's phases by hand, and on the bottleneck of `bench`: 2000 packets/s, 100 ms.

use super::*;
use crate::cc::config::CcConfig;
use crate::cc::fixtures::{Fate, Net, START, at, config, ms, us};
use crate::cc::law::bench::{acked, assert_near, check_sawtooth, inner, law, loss};

/// An acknowledgement of `n` packets in round `round`, at this rate.
fn ack(t: u64, round: u64, n: u32, rate: f64) -> Ack {
    Ack {
        now: at(t),
        round,
        delivered_rate: Some(rate),
        rtt: Some(ms(100)),
        smoothed_rtt: Some(ms(100)),
        flight: 1000,
        pipe: 1000,
        ..acked(n)
    }
}

fn started() -> (Bbr, Window) {
    let mut bbr = Bbr::new(Config::default());
    let mut w = Window::new(10);
    bbr.on_start(&mut w);
    (bbr, w)
}

/// A flow that has filled 2000 packets/s and drained its queue; the round is 6.
fn cruising() -> (Bbr, Window) {
    let (mut bbr, mut w) = started();
    for round in 1..=4 {
        bbr.on_ack(&mut w, &ack(100 * round, round, 200, 2000.0));
    }
    assert_eq!(bbr.phase, Phase::Drain);
    for round in 5..=6 {
        let ack = Ack {
            pipe: 150,
            flight: 200,
            ..ack(100 * round, round, 1, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
    }
    assert_eq!(bbr.phase, Phase::Cruise);
    (bbr, w)
}

#[test]
fn rates_are_as_pinned() {
    let (mut bbr, w) = started();
    let bw = ack(0, 0, 1, 250_000.0 / 3.0);
    bbr.model.on_ack(&bw, 10.0, true);
    bbr.is_filled = true;
    for (phase, rate) in [
        (Phase::Startup, 228_525.0),
        (Phase::Up, 103_125.0),
        (Phase::Down, 74_250.0),
        (Phase::Drain, 41_250.0),
        (Phase::Cruise, 82_500.0),
        (Phase::Refill, 82_500.0),
        (Phase::ProbeRtt, 82_500.0),
    ] {
        bbr.set_rate(&w, &bw, phase.pacing_gain());
        assert_near(bbr.pacing_rate().unwrap_or_default(), rate);
    }
}

#[test]
fn rate_is_window_over_round_trip_before_the_first_sample() {
    let (mut bbr, mut w) = started();
    assert_eq!(bbr.pacing_rate(), None);
    let ack = Ack {
        delivered_rate: None,
        ..ack(100, 1, 2, 0.0)
    };
    bbr.on_ack(&mut w, &ack);
    assert_near(bbr.pacing_rate().unwrap_or_default(), 277.0);
    assert_near(w.cwnd, 12.0);
    assert!(!w.is_slow_start() && bbr.is_holding(&w, START));
}

#[test]
fn startup_ends_after_three_rounds_without_growth_by_a_quarter() {
    let (mut bbr, mut w) = started();
    for (round, rate, phase) in [
        (1, 100.0, Phase::Startup),
        (2, 125.0, Phase::Startup),
        (3, 156.0, Phase::Startup),
        (4, 156.0, Phase::Startup),
        (5, 156.0, Phase::Drain),
    ] {
        bbr.on_ack(&mut w, &ack(100 * round, round, 1, rate));
        assert_eq!(bbr.phase, phase, "{round}");
    }
    // The queue is not drained, therefore Drain takes three rounds.
    bbr.on_ack(&mut w, &ack(600, 6, 1, 156.0));
    bbr.on_ack(&mut w, &ack(700, 7, 1, 156.0));
    assert_eq!(bbr.phase, Phase::Drain);
    bbr.on_ack(&mut w, &ack(800, 8, 1, 156.0));
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn an_application_that_is_the_limit_does_not_end_startup() {
    let (mut bbr, mut w) = started();
    for round in 1..=10 {
        let ack = Ack {
            is_app_limited: true,
            ..ack(100 * round, round, 1, 100.0)
        };
        bbr.on_ack(&mut w, &ack);
    }
    assert_eq!(bbr.phase, Phase::Startup);
}

/// A slow start that still grows. In its third round, after a round in recovery, each of `gaps`
/// acknowledgements reports `lost` of 1000 packets as lost.
fn lossy_startup(gaps: u64, lost: u32) -> Bbr {
    let (mut bbr, mut w) = started();
    for round in 1..=4 {
        for i in 0..10 {
            let is_lossy = round == 3 && i < gaps;
            let ack = Ack {
                lost: if is_lossy { lost } else { 0 },
                is_recovering: round >= 3,
                ..ack(100 * round + i, round, 10, f64::from(100 << round))
            };
            bbr.on_ack(&mut w, &ack);
        }
    }
    bbr
}

#[test]
fn startup_ends_with_losses_in_six_places_above_two_percent() {
    for (gaps, lost, is_filled) in [(6, 4, true), (5, 10, false), (6, 3, false)] {
        let bbr = lossy_startup(gaps, lost);
        assert_eq!(bbr.is_filled, is_filled, "{gaps} {lost}");
        assert_eq!(bbr.model.inflight_longterm.is_finite(), is_filled);
    }
}

#[test]
fn a_probe_comes_after_2_to_3_s_or_62_rounds() {
    for (rounds_per_s, from_ms, to_ms) in [(10, 2000, 3100), (100, 600, 640)] {
        let (mut bbr, mut w) = cruising();
        let began = bbr.probed;
        let mut n = 0;
        while bbr.phase == Phase::Cruise {
            n += 1;
            let ack = Ack {
                now: began.1 + ms(n * 1000 / rounds_per_s),
                round: began.0 + n,
                flight: 200,
                pipe: 150,
                ..ack(0, 0, 1, 2000.0)
            };
            bbr.on_ack(&mut w, &ack);
        }
        assert_eq!(bbr.phase, Phase::Refill);
        let waited = n * 1000 / rounds_per_s;
        assert!((from_ms..=to_ms).contains(&waited), "{waited}");
    }
}

#[test]
fn probe_is_due_only_after_the_wait() {
    let (bbr, w) = cruising();
    let (round, at) = bbr.probed;
    let ack = |now| Ack {
        now,
        ..ack(0, round, 1, 2000.0)
    };
    let end = at + bbr.wait;
    assert!(!bbr.is_probe_due(&w, &ack(end)));
    assert!(bbr.is_probe_due(&w, &ack(end + Duration::from_nanos(1))));
}

#[test]
fn after_idling_it_starts_at_the_bandwidth_and_measures_no_round_trip() {
    let (mut bbr, mut w) = cruising();
    for (phase, rate) in [
        (Phase::Down, 0.99 * 2000.0),
        (Phase::Up, 0.99 * 2000.0),
        (Phase::Startup, 1.0),
        (Phase::ProbeRtt, 1.0),
    ] {
        bbr.phase = phase;
        bbr.rate = Some(1.0);
        bbr.after_idle = false;
        bbr.on_idle(at(1000), ms(500));
        assert_near(bbr.pacing_rate().unwrap_or_default(), rate);
        assert!(bbr.after_idle);
    }
    // Without a bandwidth the rate stays.
    let (mut unknown, _) = started();
    (unknown.phase, unknown.rate) = (Phase::Down, Some(1.0));
    unknown.on_idle(at(1000), ms(500));
    assert_near(unknown.pacing_rate().unwrap_or_default(), 1.0);
    // The queue emptied in the idle time, so the next acknowledgement measures the path without a queue.
    for is_idle in [false, true] {
        bbr.phase = Phase::Cruise;
        bbr.after_idle = is_idle;
        let mut then = bbr;
        then.on_ack(&mut w, &ack(20_000, 7, 1, 2000.0));
        assert_eq!(then.phase != Phase::ProbeRtt, is_idle);
        assert!(!then.after_idle);
    }
}

/// A flow in Up, in round 101.
fn probing() -> (Bbr, Window) {
    let (mut bbr, mut w) = cruising();
    for (round, acked) in [(100, 1), (101, 1000)] {
        assert_ne!(bbr.phase, Phase::Up);
        bbr.on_ack(&mut w, &ack(20 * round, round, acked, 2000.0));
    }
    assert_eq!(bbr.phase, Phase::Up);
    (bbr, w)
}

#[test]
fn a_probe_that_loses_more_than_two_percent_sets_the_bound() {
    // `flight_before` is 1000. The twentieth loss of these is still allowed.
    let (mut bbr, mut w) = probing();
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 20,
            ..ack(2021, 101, 1, 2000.0)
        },
    );
    assert_eq!(bbr.phase, Phase::Up);
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 1,
            ..ack(2022, 101, 1, 2000.0)
        },
    );
    assert_eq!(bbr.phase, Phase::Down);
    // 20 of 999 packets were lost, which is more than 2 %.
    assert_near(bbr.model.inflight_longterm, 999.0);
    assert!(bbr.was_too_much);
    // Later losses of the same probe do not change the bound.
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 300,
            ..ack(2023, 101, 1, 2000.0)
        },
    );
    assert_near(bbr.model.inflight_longterm, 999.0);
}

#[test]
fn a_mark_counts_as_a_loss() {
    let (mut bbr, mut w) = probing();
    bbr.on_ack(
        &mut w,
        &Ack {
            marked: 21,
            ..ack(2021, 101, 1, 2000.0)
        },
    );
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn a_probe_ends_when_the_bandwidth_stands_for_three_rounds() {
    let (mut bbr, mut w) = probing();
    for round in 102..=104 {
        assert_eq!(bbr.phase, Phase::Up);
        bbr.on_ack(&mut w, &ack(20 * round, round, 1, 2000.0));
    }
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn bound_is_the_packets_in_flight_at_two_percent_loss() {
    // 10 of 970 packets were lost. The share reaches 2 % after (19.4 - 10)/0.98 more.
    let (mut bbr, mut w) = probing();
    for (lost, phase) in [(10, Phase::Up), (30, Phase::Down)] {
        let ack = Ack {
            lost,
            ..ack(2021, 101, 1, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.phase, phase);
    }
    assert_near(bbr.model.inflight_longterm, 970.0 + 9.4 / 0.98);
}

#[test]
fn losses_of_an_application_that_is_the_limit_are_not_too_much() {
    let (mut bbr, mut w) = probing();
    for (lost, is_app_limited) in [(21, true), (0, false)] {
        let ack = Ack {
            lost,
            is_app_limited,
            ..ack(2021, 101, 1, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.phase, Phase::Up);
        assert!(bbr.model.inflight_longterm.is_infinite());
    }
    // The bound is still unknown.
    let ack = Ack {
        lost: 1,
        ..ack(2022, 101, 1, 2000.0)
    };
    bbr.on_ack(&mut w, &ack);
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn samples_of_a_probe_last_until_the_end_of_the_next_round() {
    let (mut bbr, mut w) = probing();
    let mut round = 101;
    while bbr.phase == Phase::Up {
        round += 1;
        bbr.on_ack(&mut w, &ack(20 * round, round, 1, 2000.0));
    }
    // 1000 packets were in flight. The phase may end before they are acknowledged.
    for (acked, pipe, is_sampled) in [(500, 1000, true), (499, 150, true), (1, 1000, false)] {
        let ack = Ack {
            pipe,
            ..ack(20 * round, round, acked, 2000.0)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.probe.is_sampled, is_sampled, "{acked}");
    }
    assert_eq!(bbr.phase, Phase::Cruise);
}

#[test]
fn refill_lasts_a_full_round_trip() {
    let (mut bbr, mut w) = cruising();
    bbr.on_ack(&mut w, &ack(2000, 100, 1, 2000.0));
    for (round, acked, phase) in [
        (101, 500, Phase::Refill),
        (102, 499, Phase::Refill),
        (102, 1, Phase::Up),
    ] {
        bbr.on_ack(&mut w, &ack(20 * round, round, acked, 2000.0));
        assert_eq!(bbr.phase, phase, "{round}");
    }
}

#[test]
fn a_precautionary_probe_without_losses_is_followed_by_another_at_once() {
    for (lost, phase) in [(0, Phase::Refill), (20, Phase::Cruise)] {
        let (mut bbr, mut w) = cruising();
        bbr.model.inflight_longterm = 300.0;
        bbr.was_too_much = true;
        for (round, acked, flight) in [(100, 1, 200), (101, 250, 300), (102, 1, 300)] {
            bbr.on_ack(&mut w, &at_the_bound(round, acked, flight));
        }
        assert_eq!((bbr.phase, bbr.was_precautionary), (Phase::Down, true));
        let ack = Ack {
            lost,
            pipe: 100,
            ..at_the_bound(103, 250 - lost, 300)
        };
        bbr.on_ack(&mut w, &ack);
        assert_eq!(bbr.phase, phase, "{lost} lost");
    }
}

/// A flow in Up, in round 101, with a bound of 300 packets, which its window has reached.
fn probing_at_the_bound() -> (Bbr, Window) {
    let (mut bbr, mut w) = cruising();
    bbr.model.inflight_longterm = 300.0;
    for (round, acked) in [(100, 1), (101, 250)] {
        bbr.on_ack(&mut w, &at_the_bound(round, acked, 200));
    }
    assert_eq!(bbr.phase, Phase::Up);
    assert_near(w.cwnd, 300.0);
    (bbr, w)
}

/// An acknowledgement when `flight` packets were in flight.
fn at_the_bound(round: u64, acked: u32, flight: u32) -> Ack {
    Ack {
        flight,
        pipe: 250,
        ..ack(20 * round, round, acked, 2000.0)
    }
}

#[test]
fn a_probe_raises_the_bound_while_the_window_is_full_and_at_the_bound() {
    let (mut bbr, mut w) = probing_at_the_bound();
    for (round, acked, flight, bound) in [
        // One packet per window of 300 in this round trip, two in the next.
        (101, 150, 299, 300.0),
        (102, 150, 299, 301.0),
        // With two packets less in flight, the window is not full.
        (102, 150, 299, 301.0),
        (102, 150, 300, 302.0),
        (102, 300, 301, 304.0),
    ] {
        bbr.on_ack(&mut w, &at_the_bound(round, acked, flight));
        assert_near(bbr.model.inflight_longterm, bound);
    }
}

#[test]
fn a_window_is_full_with_a_packet_less_in_flight() {
    let w = Window::new(10);
    for (flight, expected) in [(8, false), (9, true), (10, true)] {
        assert_eq!(is_full(&w, &at_the_bound(1, 1, flight)), expected);
    }
}

#[test]
fn a_bandwidth_that_the_bound_holds_down_does_not_end_a_probe() {
    let (mut bbr, mut w) = probing_at_the_bound();
    for round in 102..=106 {
        bbr.on_ack(&mut w, &at_the_bound(round, 1, 300));
        assert_eq!(bbr.phase, Phase::Up, "{round}");
        w.cwnd = bbr.model.inflight_longterm;
    }
    // The three round trips without growth count from the bandwidth at the bound.
    for round in 107..=109 {
        assert_eq!(bbr.phase, Phase::Up, "{round}");
        bbr.on_ack(&mut w, &at_the_bound(round, 1, 200));
    }
    assert_eq!(bbr.phase, Phase::Down);
}

#[test]
fn the_queue_is_kept_empty_for_200_ms_and_a_round_trip() {
    let in_probe_rtt = |t, round| Ack {
        pipe: 50,
        flight: 50,
        ..ack(t, round, 1, 2000.0)
    };
    for (t, round, phase) in [
        (1200, 7, Phase::ProbeRtt),
        (1200, 8, Phase::ProbeRtt),
        (1201, 7, Phase::ProbeRtt),
        (1201, 8, Phase::Cruise),
    ] {
        let (mut bbr, mut w) = cruising();
        bbr.phase = Phase::ProbeRtt;
        bbr.on_ack(&mut w, &in_probe_rtt(1000, 7));
        bbr.on_ack(&mut w, &in_probe_rtt(t, round));
        assert_eq!(bbr.phase, phase, "{t} {round}");
    }
}

#[test]
fn losses_while_cruising_lower_the_bounds_until_the_next_probe() {
    let (mut bbr, mut w) = cruising();
    let before = w.cwnd;
    let quiet = |t, round| Ack {
        flight: 200,
        pipe: 150,
        ..ack(t, round, 1, 1000.0)
    };
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 1,
            ..quiet(650, 6)
        },
    );
    assert_near(bbr.model.bw(), 2000.0);
    bbr.on_ack(&mut w, &quiet(700, 7));
    // The latest sample is 2000 packets/s, which is more than 0.7 of the bound.
    assert_near(bbr.model.bw(), 2000.0);
    bbr.on_ack(
        &mut w,
        &Ack {
            lost: 1,
            ..quiet(750, 7)
        },
    );
    bbr.on_ack(&mut w, &quiet(800, 8));
    assert_near(bbr.model.bw(), 1400.0);
    assert!(w.cwnd < before);
    // The next probe removes the short-term bound.
    bbr.on_ack(&mut w, &quiet(2500, 90));
    assert_eq!(bbr.phase, Phase::Refill);
    assert_near(bbr.model.bw(), 2000.0);
}

#[test]
fn timeout_leaves_one_packet_until_the_window_is_restored() {
    let (mut bbr, mut w) = cruising();
    let before = w.cwnd;
    bbr.on_timeout(&mut w, at(900));
    assert_eq!((w.packets(), w.is_slow_start()), (1, false));
    bbr.on_ack(&mut w, &ack(1000, 7, 1, 2000.0));
    assert_near(w.cwnd, WINDOW_MIN);
    bbr.on_ack(&mut w, &ack(1100, 8, 1, 2000.0));
    assert!(w.cwnd >= before.min(400.0), "{}", w.cwnd);
}

#[test]
fn congestion_event_alone_does_not_change_the_window() {
    let (mut bbr, mut w) = cruising();
    let before = (bbr, w);
    bbr.on_congestion(&mut w, &loss(200));
    assert_eq!((bbr, w), before);
}

/// A flow alone on 2000 packets/s, 100 ms and a queue of 100 packets.
fn bottleneck(queue: u64) -> Net {
    let mut net = Net::new(
        2,
        &CcConfig {
            law: Config::default().into(),
            is_paced: true,
            rtt: Some(ms(100)),
            ..config()
        },
    );
    net.delay = ms(50);
    net.service = us(500);
    net.queue_max = queue;
    net
}

#[test]
fn it_fills_the_pipe_and_keeps_the_queue_short() {
    let mut net = bottleneck(400);
    net.run(at(10_000), |_| ());
    let (sent, mut longest) = (net.log.len(), ms(0));
    net.run(at(30_000), |net| {
        longest = longest.max(net.sender.snapshot().rtt.unwrap_or_default());
    });
    let sent = net.log.len() - sent;
    assert!((37_600..=40_400).contains(&sent), "{sent} of 40000");
    assert!(longest < ms(180), "{longest:?}");
}

#[test]
fn the_queue_is_emptied_every_5_s() {
    let mut net = bottleneck(400);
    let mut times = Vec::new();
    let mut was_probing = false;
    net.run(at(40_000), |net| {
        let inner = net.sender.snapshot().inner;
        let is_probing = inner.contains(&("phase", Phase::ProbeRtt.number()));
        if is_probing && !was_probing {
            times.push(net.now);
        }
        was_probing = is_probing;
    });
    assert!((5..=9).contains(&times.len()), "{times:?}");
    assert!(times.windows(2).all(|t| t[1] - t[0] >= ms(4900)));
    assert!(!was_probing || times.last().is_some_and(|t| net.now - *t < ms(2000)));
}

#[test]
fn one_lost_packet_in_a_hundred_leaves_most_of_the_rate_and_passes() {
    let mut net = bottleneck(400);
    // Each round trip with losses lowers the bound by the lost packets and by the margin of pacing. A probe
    // every 2 to 3 s removes it. Reno would keep 12 packets per round trip, 6 % of the rate.
    net.fate = Box::new(|n| {
        if n < 60_000 && n % 100 == 99 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    net.run(at(10_000), |_| ());
    let sent = net.log.len();
    net.run(at(30_000), |_| ());
    let lossy = net.log.len() - sent;
    assert!((24_000..=36_000).contains(&lossy), "{lossy} of 40000");
    net.run(at(50_000), |_| ());
    let sent = net.log.len();
    net.run(at(70_000), |_| ());
    let clean = net.log.len() - sent;
    assert!(clean > 37_600, "{clean} of 40000");
}

#[test]
fn one_random_loss_in_a_hundred_does_not_lower_the_rate_further_and_further() {
    for seed in 0..3_u64 {
        let mut net = bottleneck(400);
        net.fate = Box::new(move |n| {
            if hash(Instant::from_nanos(n * 7919 + seed * 1_000_003)).is_multiple_of(100) {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        });
        net.run(at(60_000), |_| ());
        let sent = net.log.len();
        net.run(at(120_000), |_| ());
        let sent = net.log.len() - sent;
        assert!(sent > 72_000, "seed {seed}: {sent} of 120000");
    }
}

#[test]
fn ten_times_the_bandwidth_is_found() {
    let mut net = bottleneck(400);
    net.run(at(10_000), |_| ());
    net.service = us(50);
    net.run(at(40_000), |_| ());
    let rate = net.rate() / 1000.0;
    assert!(rate > 17_000.0, "{rate}");
    // A tenth of the bandwidth does not lose all packets.
    net.service = us(500);
    net.run(at(60_000), |_| ());
    let rate = net.rate() / 1000.0;
    assert!((1500.0..=3000.0).contains(&rate), "{rate}");
}

#[test]
fn snapshot_reports_the_model() {
    let (bbr, _) = cruising();
    assert_near(inner(&bbr, "phase"), 3.0);
    assert_near(inner(&bbr, "max_bw"), 2000.0);
    assert_near(inner(&bbr, "bw"), 2000.0);
    assert_near(inner(&bbr, "min_rtt_s"), 0.1);
    let mut shown = Vec::new();
    bbr.inner(&mut shown);
    assert!(shown.iter().all(|(name, _)| *name != "inflight_longterm"));
    assert_eq!(
        law(Config {
            beta: 0.8,
            headroom: 0.0,
            ..Config::default()
        })
        .name(),
        "bbr"
    );
}

#[test]
fn sawtooth_is_as_stored() {
    check_sawtooth(
        Config::default().into(),
        include_str!("../sawtooth/bbr.txt"),
    );
}
