//! Tests UDT's rules by hand: increases by the unused capacity, decreases by loss reports, and the window.

use super::*;
use crate::cc::fixtures::{at, ms};
use crate::cc::law::bench::{
    acked, assert_near, avoiding, check_sawtooth, from_threshold, inner, loss, table,
};

/// An acknowledgement after `t` ms: 2 packets, 1000 packets/s delivered, a round trip of 100 ms.
fn ack(t: u64) -> Ack {
    Ack {
        now: at(t),
        delivered_rate: Some(1000.0),
        rtt: Some(ms(100)),
        smoothed_rtt: Some(ms(100)),
        flight: 100,
        pipe: 98,
        ..acked(2)
    }
}

/// The same with one loss report.
fn report(t: u64) -> Ack {
    Ack {
        lost: 1,
        is_clean: false,
        ..ack(t)
    }
}

fn congestion(t: u64) -> Congestion {
    Congestion {
        now: at(t),
        ..loss(100)
    }
}

/// A flow of 1000 packets/s whose slow start ended with a loss after 1 s.
fn started() -> (Udt, Window) {
    let mut udt = Udt::new(Config::default());
    let mut w = Window::new(200);
    udt.on_ack(&mut w, &ack(990));
    assert_eq!(udt.pacing_rate(), None);
    assert!(!udt.is_holding(&w, at(990)), "slow start grows the window");
    udt.on_congestion(&mut w, &congestion(1000));
    udt.on_ack(&mut w, &report(1000));
    (udt, w)
}

#[test]
fn the_increase_is_the_next_power_of_ten_of_the_unused_capacity() {
    // B − C in packets/s of 1500 bytes; packets more per SYN: 1.5e-6/1500 of the next power of ten in bit/s.
    for [unused, packets] in table(
        "
            -5      0.000666667
             0      0.000666667
             8      0.000666667
            80      0.001
            84      0.01
           800      0.01
           900      0.1
          8000      0.1
          9000      1
         90000      10
        ",
    ) {
        assert_near(increase(unused), packets);
    }
}

#[test]
fn slow_start_ends_at_the_rate_of_arrivals_and_happens_once() {
    let (udt, w) = started();
    assert_eq!(udt.pacing_rate(), Some(1000.0));
    assert!(!w.is_slow_start() && udt.is_holding(&w, at(1000)));
    // Without a delivery rate the window and the round trip make the rate, which shrinks.
    let mut udt = Udt::new(Config::default());
    let mut w = Window::new(220);
    let blind = Ack {
        delivered_rate: None,
        ..ack(990)
    };
    udt.on_ack(&mut w, &blind);
    udt.on_congestion(&mut w, &congestion(1000));
    assert_near(udt.pacing_rate().unwrap_or_default(), 2000.0 / 1.125);
    // Slow start can also end without a loss.
    let mut udt = Udt::new(Config::default());
    udt.on_ack(&mut avoiding(200.0), &ack(990));
    assert_eq!(udt.pacing_rate(), Some(1000.0));
}

#[test]
fn the_rate_grows_every_10_ms_unless_losses_were_reported() {
    let (mut udt, mut w) = started();
    // The first SYN had a loss. B = C without a queue counts as 2 C: later ones add 0.1 packets per 10 ms.
    for (t, rate) in [
        (1009, 1000.0),
        (1010, 1000.0),
        (1019, 1000.0),
        (1021, 1010.0),
        (1029, 1010.0),
        (1030, 1020.0),
        // A pause of five SYN is one increase.
        (1085, 1030.0),
        (1089, 1030.0),
        (1090, 1040.0),
    ] {
        udt.on_ack(&mut w, &ack(t));
        let now = udt.pacing_rate().unwrap_or_default();
        assert!((now - rate).abs() < 1e-9, "{t} ms: {now}, not {rate}");
    }
}

#[test]
fn a_queue_shows_that_the_greatest_delivery_rate_is_the_capacity() {
    let (mut udt, mut w) = started();
    udt.on_ack(&mut w, &ack(1010));
    // Beyond 100 ms, a millisecond and 1/32 are no queue.
    for (smoothed_ms, gained) in [(104, 10.0), (105, 1.0 / 15.0)] {
        let mut udt = udt;
        let slow = Ack {
            smoothed_rtt: Some(ms(smoothed_ms)),
            ..ack(1020)
        };
        udt.on_ack(&mut w, &slow);
        let now = udt.pacing_rate().unwrap_or_default();
        assert!(
            (now - 1000.0 - gained).abs() < 1e-9,
            "{smoothed_ms} ms: {now}"
        );
    }
}

#[test]
fn the_window_holds_what_arrives_in_a_round_trip_and_a_syn() {
    let (mut udt, mut w) = started();
    udt.on_ack(&mut w, &ack(1010));
    // 1000 packets/s for 110 ms, and 16.
    assert_near(w.cwnd, 126.0);
    let slower = Ack {
        delivered_rate: Some(200.0),
        ..ack(1020)
    };
    udt.on_ack(&mut w, &slower);
    // A = 7/8 of 1000 and 1/8 of 200: 900.
    assert_near(inner(&udt, "arrivals"), 900.0);
    assert_near(w.cwnd, 115.0);
}

#[test]
fn an_epoch_takes_a_ninth_and_the_way_back_is_slower() {
    let (mut udt, mut w) = started();
    udt.on_ack(&mut w, &ack(1010));
    udt.on_congestion(&mut w, &congestion(1500));
    udt.on_ack(&mut w, &report(1500));
    assert_near(udt.pacing_rate().unwrap_or_default(), 1000.0 * 8.0 / 9.0);
    // B − C = 111 packets/s: 0.01 packets per SYN, which is a packet/s.
    udt.on_ack(&mut w, &ack(1510));
    udt.on_ack(&mut w, &ack(1520));
    assert_near(udt.pacing_rate().unwrap_or_default(), 888.8889 + 2.0);
    // Below the rate before the epoch, B − C counts as B/9 at most.
    udt.rate = Some(500.0);
    udt.rate_before = 1000.0;
    assert_near(udt.unused(500.0), 1000.0 / 9.0);
    udt.rate_before = 400.0;
    assert_near(udt.unused(500.0), 500.0);
}

#[test]
fn further_reports_of_an_epoch_decrease_at_random_at_most_to_half() {
    // The first epoch has no mean yet: each report decreases, five in all: (8/9)^5 = 0.555.
    let (mut udt, mut w) = started();
    udt.on_ack(&mut w, &ack(1010));
    udt.epoch = Epoch::default();
    udt.on_congestion(&mut w, &congestion(1500));
    for n in 0..=10 {
        udt.on_ack(&mut w, &report(1500 + n % 2));
    }
    assert_near(udt.pacing_rate().unwrap_or_default(), 1000.0 * 0.554_929);
    // 11 reports: the mean is ⌈11/8⌉ = 2, so a decrease for each report or each second one.
    for t in 2000..2100 {
        let next = udt.epoch.next(at(t));
        assert_near(next.reports_mean, 2.0);
        assert!((1..=2).contains(&next.every) && next.reports == 1);
    }
    let drawn = |every| {
        (2000..2100)
            .filter(|t| udt.epoch.next(at(*t)).every == every)
            .count()
    };
    assert!(drawn(1) > 25 && drawn(2) > 25);
    let mut epoch = Epoch {
        every: 3,
        reports: 1,
        decreases: 1,
        reports_mean: 8.0,
    };
    let decreases: Vec<bool> = (2..=18).map(|_| epoch.on_report()).collect();
    let at: Vec<usize> = (2..=18).filter(|n| decreases[n - 2]).collect();
    assert_eq!(at, [3, 6, 9, 12], "five decreases with the first");
}

#[test]
fn a_timeout_is_an_epoch_and_leaves_one_packet_for_a_moment() {
    let (mut udt, mut w) = started();
    udt.on_timeout(&mut w, at(2000));
    assert_near(udt.pacing_rate().unwrap_or_default(), 1000.0 * 8.0 / 9.0);
    assert_near(w.cwnd, 1.0);
    assert!(!w.is_slow_start());
    udt.on_ack(&mut w, &ack(2100));
    assert_near(w.cwnd, 126.0);
}

#[test]
fn the_capacity_is_forgotten_after_a_minute() {
    let (mut udt, mut w) = started();
    let slower = |t| Ack {
        delivered_rate: Some(400.0),
        ..ack(t)
    };
    udt.on_ack(&mut w, &slower(30_000));
    assert_near(inner(&udt, "capacity"), 1000.0);
    udt.on_ack(&mut w, &slower(62_000));
    assert_near(inner(&udt, "capacity"), 400.0);
}

#[test]
fn memory_is_checked() {
    assert!(Config { memory_s: 0.5 }.check().is_err());
    assert!(Config { memory_s: 10.0 }.check().is_ok());
}

#[test]
fn sawtooth_is_as_stored() {
    check_sawtooth(
        from_threshold(Config::default()),
        include_str!("../sawtooth/udt.txt"),
    );
}
