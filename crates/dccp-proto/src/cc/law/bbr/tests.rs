//! Tests BBR's phases by hand: startup, drain, cruise, round trip probes and timeouts.

mod bottleneck;
mod probes;

use super::*;
use crate::cc::fixtures::{START, at, ms};
use crate::cc::law::bench::{acked, assert_near, inner, law, loss};

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
fn application_that_is_the_limit_does_not_end_startup() {
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
fn flow_after_idling_starts_at_the_bandwidth_and_measures_no_round_trip() {
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

#[test]
fn queue_is_kept_empty_for_200_ms_and_a_round_trip() {
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
