//! CCID 2's own parts: acknowledgements of acknowledgements, and the receiver.

use super::*;
use crate::cc::fixtures::{
    Net, START, arrival, at, config, feedback, ms, packets, pure_ack, single,
};
use crate::cc::law::reno::Reno;
use crate::cc::law::{LawConfig, ledbat, lp};
use crate::wire::{Ecn, OptionWriter};

fn ack(r: &mut Receiver, now: Instant) {
    let mut options = OptionWriter::new(0);
    assert!(r.on_ack(&mut OutgoingAck {
        now,
        seq: Seq::ZERO,
        ack: Seq::ZERO,
        has_data: false,
        options: &mut options,
    }));
    assert!(options.is_empty());
}

fn send(s: &mut Sender, now: Instant, seq: u64) -> u8 {
    let ccval = s.prepare(now, &mut OptionWriter::new(0));
    s.on_sent(&Run {
        pipe: 5,
        ..single(now, seq)
    });
    ccval
}

/// How many packets a sender with a window of `cwnd` sends from one acknowledgement of
/// acknowledgements to the next.
fn packets_per_ack_of_acks(cwnd: u16, is_strict: bool) -> u64 {
    let mut s = Sender::new(
        &CcConfig {
            is_strict,
            ..config()
        },
        Box::<Reno>::default(),
    );
    // Slow start up to the window, by Ack Ratio 1.
    s.on_feature(5, 1);
    while s.cwnd() < u32::from(cwnd) {
        s.on_feedback(
            START,
            &Feedback {
                acked: packets(2),
                pipe_max: u32::MAX,
                ..feedback()
            },
        );
    }
    let mut seq = 0;
    let mut until_ack = || {
        let start = seq;
        loop {
            seq += 1;
            send(&mut s, START, seq);
            let mut is_due = false;
            while let Some(signal) = s.poll_signal() {
                is_due |= signal == Signal::SendAck;
            }
            s.on_feedback(START, &feedback());
            if is_due {
                return seq - start;
            }
        }
    };
    until_ack();
    until_ack()
}

#[test]
fn ccval_is_zero() {
    // 4341-3-1
    let mut s = Sender::new(&config(), Box::<Reno>::default());
    assert_eq!(send(&mut s, START, 1), 0);
}

#[test]
fn acknowledgements_are_acknowledged_four_times_per_window_and_every_128_packets() {
    // 4341-6.2-1; `docs/design.md`, decision 8c
    for (cwnd, packets) in [
        (4, 1),
        (8, 2),
        (100, 25),
        (511, 127),
        (512, 128),
        (2000, 128),
    ] {
        assert_eq!(packets_per_ack_of_acks(cwnd, false), packets, "{cwnd}");
    }
}

#[test]
fn a_strict_sender_acknowledges_acknowledgements_once_per_window() {
    // 4341-6.2-1
    for cwnd in [4, 100, 2000] {
        assert_eq!(packets_per_ack_of_acks(cwnd, true), u64::from(cwnd));
    }
}

#[test]
fn without_new_acknowledgements_there_is_nothing_to_acknowledge() {
    // 4341-6.2-1
    let mut s = Sender::new(&config(), Box::<Reno>::default());
    for seq in 0..100 {
        send(&mut s, START, seq);
    }
    assert_eq!(s.poll_signal(), None);
}

#[test]
fn the_ack_ratio_is_requested_and_followed() {
    // 4341-6.1.2-3, LINUX-10: a window of 3 wants every packet acknowledged.
    let config = CcConfig {
        mps: 1400,
        ..config()
    };
    let mut s = Sender::new(&config, Box::<Reno>::default());
    assert_eq!(
        s.poll_signal(),
        Some(Signal::Change {
            feature: 5,
            value: 1
        })
    );
    assert_eq!(s.poll_signal(), None);
    s.on_feature(5, 1);
    s.on_feature(6, 77);
    let inner = s.snapshot().inner;
    assert!(inner.contains(&("ack_ratio", 1.0)), "{inner:?}");
    assert_eq!(s.packets_per_rtt(), Some(3.0));
}

#[test]
fn lost_acknowledgements_raise_the_ack_ratio() {
    // 4341-6.1.1-1, 4341-6.1.2-2
    let mut s = Sender::new(
        &CcConfig {
            mps: 500,
            ..config()
        },
        Box::<Reno>::default(),
    );
    while s.cwnd() < 20 {
        s.on_feedback(
            START,
            &Feedback {
                acked: packets(2),
                pipe_max: u32::MAX,
                ..feedback()
            },
        );
    }
    assert_eq!(s.poll_signal(), None);
    s.on_feedback(
        START,
        &Feedback {
            acks_lost: 3,
            ..feedback()
        },
    );
    s.on_feedback(
        START,
        &Feedback {
            round: 1,
            ..feedback()
        },
    );
    assert_eq!(
        s.poll_signal(),
        Some(Signal::Change {
            feature: 5,
            value: 4
        })
    );
}

#[test]
fn every_second_packet_is_acknowledged_at_once() {
    // 4340-11.3-1
    let mut r = Receiver::new(&config());
    assert_eq!(r.ack_due(START), AckDue::No);
    r.on_packet(&arrival(at(0), 1));
    assert_eq!(r.ack_due(at(0)), AckDue::At(at(200)));
    r.on_packet(&arrival(at(1), 2));
    assert_eq!(r.ack_due(at(1)), AckDue::Now);
    ack(&mut r, at(1));
    assert_eq!(r.ack_due(at(1)), AckDue::No);
}

#[test]
fn the_ack_ratio_is_obeyed_and_0_means_2() {
    // 4340-11.3-1, AMB-4
    for (ratio, expected) in [(1, 1), (2, 2), (7, 7), (64, 64), (0, 2)] {
        let mut r = Receiver::new(&config());
        r.on_feature(5, ratio);
        r.on_feature(6, 99);
        let mut n = 0;
        while r.ack_due(START) != AckDue::Now {
            n += 1;
            r.on_packet(&arrival(START, n));
        }
        assert_eq!(n, expected);
    }
}

#[test]
fn a_lone_packet_is_acknowledged_after_the_delay() {
    // 4340-11.3-3: counted from the first packet that waits.
    let mut r = Receiver::new(&config());
    r.on_feature(5, 10);
    r.on_packet(&arrival(at(10), 1));
    r.on_packet(&arrival(at(100), 2));
    assert_eq!(r.ack_due(at(209)), AckDue::At(at(210)));
    assert_eq!(r.ack_due(at(210)), AckDue::Now);
    ack(&mut r, at(210));
    r.on_packet(&arrival(at(300), 3));
    assert_eq!(r.ack_due(at(300)), AckDue::At(at(500)));
    let mut r = Receiver::new(&CcConfig {
        delayed_ack: ms(40),
        ..config()
    });
    r.on_packet(&arrival(at(0), 1));
    assert_eq!(r.ack_due(at(0)), AckDue::At(at(40)));
}

#[test]
fn gaps_and_late_packets_are_acknowledged_at_once() {
    // 4340-11.3-4
    let mut r = Receiver::new(&config());
    r.on_feature(5, 10);
    for (seq, is_urgent) in [
        (5, false),
        (6, false),
        (8, true),
        (9, false),
        (7, true),
        (10, false),
    ] {
        r.on_packet(&arrival(at(seq), seq));
        assert_eq!(r.ack_due(at(seq)) == AckDue::Now, is_urgent, "{seq}");
        if is_urgent {
            ack(&mut r, at(seq));
        }
    }
    // A packet without data shows a gap, too, but is itself not counted.
    let mut r = Receiver::new(&config());
    r.on_packet(&pure_ack(at(0), 1));
    r.on_packet(&pure_ack(at(0), 2));
    assert_eq!(r.ack_due(at(0)), AckDue::No);
    r.on_packet(&pure_ack(at(0), 4));
    assert_eq!(r.ack_due(at(0)), AckDue::Now);
}

#[test]
fn one_scattered_gap_per_half_an_ack_ratio_is_reported_at_once() {
    // 4340-11.3-4; `docs/design.md`, decision 8c
    let urgent = |is_strict| {
        let mut r = Receiver::new(&CcConfig {
            is_strict,
            ..config()
        });
        r.on_feature(5, 20);
        let mut urgent = Vec::new();
        for seq in (0..40).step_by(2) {
            r.on_packet(&arrival(at(seq), seq));
            if r.ack_due(at(seq)) == AckDue::Now {
                urgent.push(seq);
                ack(&mut r, at(seq));
            }
        }
        urgent
    };
    assert_eq!(urgent(false), [2, 12, 22, 32]);
    assert_eq!(urgent(true).len(), 19);
}

#[test]
fn marks_are_acknowledged_at_once_but_once_per_round_trip() {
    // 4340-11.3-4
    let mut r = Receiver::new(&CcConfig {
        rtt: Some(ms(50)),
        ..config()
    });
    r.on_feature(5, 10_000);
    let mut urgent = Vec::new();
    for t in 0..200 {
        r.on_packet(&Arrival {
            ecn: Ecn::Ce,
            rtt: (t >= 100).then_some(ms(20)),
            ..arrival(at(t), t)
        });
        if r.ack_due(at(t)) == AckDue::Now {
            urgent.push(t);
            ack(&mut r, at(t));
        }
    }
    assert_eq!(urgent, [0, 50, 100, 120, 140, 160, 180]);
    // Marks on packets without data are not.
    let mut r = Receiver::new(&config());
    r.on_packet(&Arrival {
        ecn: Ecn::Ce,
        ..pure_ack(at(0), 1)
    });
    assert_eq!(r.ack_due(at(0)), AckDue::No);
}

#[test]
fn an_acknowledgement_with_data_counts_like_one_without() {
    // 4340-11.3-2
    let mut r = Receiver::new(&config());
    r.on_packet(&arrival(at(0), 1));
    ack(&mut r, at(0));
    r.on_packet(&arrival(at(1), 2));
    assert_eq!(r.ack_due(at(1)), AckDue::At(at(201)));
}

#[test]
fn a_receiver_shows_what_it_waits_for() {
    let mut r = Receiver::new(&config());
    r.on_packet(&arrival(at(0), 1));
    let shown = r.snapshot();
    assert_eq!(shown.inner, [("ack_ratio", 2.0), ("pending", 1.0)]);
    assert_eq!(shown.rtt, Some(ms(200)));
}

#[test]
fn ccid_2_has_no_options_signals_or_receiver_timer() {
    // 4341-10-1
    let mut s = Ccid2.sender(&config());
    assert_eq!(s.data_options_len(), 0);
    let mut w = OptionWriter::new(100);
    s.on_send_sync(&mut w);
    assert!(w.is_empty());
    let mut r = Ccid2.receiver(&CcConfig {
        is_strict: true,
        ..config()
    });
    assert_eq!(r.ack_options_len(START), 0);
    assert_eq!(r.poll_signal(), None);
    assert!(!r.wants_elapsed_time());
}

#[test]
fn a_receiver_reports_when_data_arrived_and_a_law_receives_it() {
    // 4341-10-1: an option for experiments.
    assert_eq!(Ccid2.receiver(&config()).ack_options_len(START), 5);
    let by_rtt = lp::Config {
        one_way: false,
        ..lp::Config::default()
    };
    for (law, is_strict, is_one_way) in [
        (LawConfig::from(ledbat::Config::default()), false, 1.0),
        (ledbat::Config::default().into(), true, 0.0),
        (lp::Config::default().into(), false, 1.0),
        (by_rtt.into(), false, 0.0),
    ] {
        let config = CcConfig {
            law,
            is_strict,
            max_window: 100,
            ..config()
        };
        let mut net = Net::new(2, &config);
        net.run(at(1000), |_| ());
        let inner = net.sender.snapshot().inner;
        assert!(
            inner.contains(&("delay_is_one_way", is_one_way)),
            "{inner:?}"
        );
    }
}

#[test]
fn a_sender_takes_the_first_round_trip_and_the_packet_size_from_the_connection() {
    let mut s = Ccid2.sender(&config());
    s.on_rtt_hint(START, ms(40));
    assert_eq!(s.snapshot().rtt, Some(ms(40)));
    s.on_mps(500);
    let one = Permit::Now { packets: 1 };
    assert_eq!(s.permit(START, 0), one);
}
