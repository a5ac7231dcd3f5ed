use super::super::NoApp;
use super::super::tests::{START, TestSender, config, open};
use super::*;
use crate::Config;
use crate::cc::Snapshot;
use std::sync::Arc;

const RTT: Duration = Duration::from_millis(100);

/// An open connection whose controller has this state and gives this permit.
fn conn(snapshot: Snapshot, permit: Permit) -> Connection {
    let mut conn = open(config());
    conn.rtt = Some(RTT);
    conn.tx.cc = Box::new(TestSender {
        permit,
        snapshot,
        ..TestSender::default()
    });
    conn
}

const NOW: Permit = Permit::Now { packets: 1 };

fn rate(bytes_per_s: f64) -> Snapshot {
    Snapshot {
        rate: Some(Rate::from_bytes_per_s(bytes_per_s)),
        ..Snapshot::default()
    }
}

#[test]
fn the_hint_is_the_lesser_of_window_and_rate() {
    let window = |packets| Snapshot {
        cwnd_packets: Some(packets),
        ..rate(1e6)
    };
    let bits = |snapshot| {
        let hint = conn(snapshot, NOW).rate_hint(START, 0);
        hint.map(|hint| hint.bits_per_s)
    };
    // Nothing was sent yet, so packets count as full.
    let full = conn(rate(1.0), NOW).mps() as u64;
    assert_eq!(bits(window(10.0)), Some(10 * full * 8 * 10));
    assert_eq!(bits(window(1e5)), Some(8_000_000));
    assert_eq!(bits(rate(1e6)), Some(8_000_000));
    assert_eq!(bits(Snapshot::default()), None);
    assert_eq!(bits(rate(0.0)), None);
    let mut young = conn(rate(1e6), NOW);
    young.rtt = None;
    assert_eq!(young.rate_hint(START, 0), None);
    let mut over = conn(rate(1e6), NOW);
    over.state = State::Closing;
    assert_eq!(over.rate_hint(START, 0), None);
}

#[test]
fn a_datagram_waits_for_its_permit_and_for_the_backlog() {
    let wait = |permit, backlog| {
        let hint = conn(rate(1e6), permit).rate_hint(START, backlog);
        hint.map(|hint| hint.wait)
    };
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(wait(NOW, 0), ms(0));
    assert_eq!(wait(NOW, 50_000), ms(50));
    assert_eq!(wait(Permit::At(START + RTT), 50_000), ms(150));
    let full = conn(rate(1.0), NOW).mps() as u64;
    let one = Rate::from_bytes_per_s(1e6).time_for(full);
    assert_eq!(wait(Permit::OnFeedback, 0), Some(one));
}

#[test]
fn the_wait_of_a_silent_path_is_that_of_the_retransmission_timer() {
    let mut conn = conn(rate(1e6), Permit::OnFeedback);
    conn.tx.cc = Box::new(TestSender {
        permit: Permit::OnFeedback,
        snapshot: rate(1e6),
        timeout: Some(START + 30 * RTT),
        ..TestSender::default()
    });
    conn.last_valid = START;
    conn.await_answer(START + RTT);
    let wait = |rtts| conn.rate_hint(START + rtts * RTT, 0).map(|hint| hint.wait);
    assert!(wait(3) < Some(RTT), "an acknowledgement can still come");
    assert_eq!(wait(4), Some(26 * RTT));
    assert_eq!(wait(29), Some(RTT));
}

#[test]
fn a_burst_budget_is_the_rate_less_the_wait() {
    let hint = RateHint {
        bits_per_s: 8_000_000,
        delivered_bits_per_s: None,
        is_app_limited: false,
        wait: Duration::from_millis(10),
    };
    assert_eq!(hint.burst_budget(Duration::from_millis(30)), 20_000);
    assert_eq!(hint.burst_budget(Duration::from_millis(10)), 0);
    assert_eq!(hint.burst_budget(Duration::ZERO), 0);
    let fast = RateHint {
        bits_per_s: u64::MAX,
        ..hint
    };
    assert_eq!(fast.burst_budget(Duration::MAX), u64::MAX);
}

#[test]
fn the_rates_are_smoothed() {
    let allowed = |rate| Some(rate);
    let start = RateMeter::default().updated(START, allowed(1000.0), None);
    assert_eq!((start.allowed, start.delivered), (Some(1000.0), None));
    let mut meter = start;
    meter.acked_bytes = 500;
    // After the time constant, half of the difference is left.
    let meter = meter.updated(START + SMOOTHING, allowed(3000.0), None);
    assert_eq!(
        (meter.allowed, meter.delivered),
        (Some(2000.0), Some(1000.0))
    );
    let meter = meter.updated(START + 2 * SMOOTHING, allowed(2000.0), None);
    assert_eq!(
        (meter.allowed, meter.delivered),
        (Some(2000.0), Some(500.0))
    );
}

#[test]
fn the_delivered_rate_is_that_of_the_feedback_where_the_peer_measures_it() {
    let snapshot = Snapshot {
        receive_rate: Some(Rate::from_bytes_per_s(5e5)),
        ..rate(1e6)
    };
    let mut conn = conn(snapshot, NOW);
    let mut app = App {
        outbox: &mut NoApp,
        inbox: &mut NoApp,
    };
    conn.sample_rate(START, &mut app);
    // CCID 3 reports no single packets without Ack Vectors.
    assert_eq!(conn.rate_meter.acked_bytes, 0);
    let hint = conn.rate_hint(START + INTERVAL, 0).unwrap();
    assert_eq!(hint.delivered_bits_per_s, Some(4_000_000));
}

/// The rate of the event when the controller has this state.
fn reported(conn: &mut Connection, at: Duration, bytes_per_s: f64) -> Option<u64> {
    conn.tx.cc = Box::new(TestSender {
        snapshot: rate(bytes_per_s),
        ..TestSender::default()
    });
    let mut app = App {
        outbox: &mut NoApp,
        inbox: &mut NoApp,
    };
    conn.sample_rate(START + at, &mut app);
    match conn.poll_event() {
        Some(Event::Rate(hint)) => Some(hint.bits_per_s),
        _ => None,
    }
}

#[test]
fn hints_are_reported_on_request_after_a_notable_change_and_not_too_often() {
    let far = Duration::from_secs(1_000_000_000);
    let mut quiet = conn(rate(1e6), NOW);
    assert_eq!(reported(&mut quiet, Duration::ZERO, 1e6), None);
    let mut conn = conn(rate(1e6), NOW);
    conn.config = Arc::new(Config {
        rate_hints: true,
        ..config()
    });
    assert_eq!(reported(&mut conn, Duration::ZERO, 1e6), Some(8_000_000));
    let early = INTERVAL.saturating_sub(Duration::from_nanos(1));
    assert_eq!(reported(&mut conn, early, 2e6), None, "too soon");
    // After such a long time the old rate has no weight.
    assert_eq!(reported(&mut conn, far, 1.124e6), None, "not notable");
    assert_eq!(reported(&mut conn, 2 * far, 0.876e6), None, "not notable");
    let up = reported(&mut conn, 3 * far, 1.126e6);
    assert!(
        up.is_some_and(|bits| bits.abs_diff(9_008_000) < 100),
        "{up:?}"
    );
}
