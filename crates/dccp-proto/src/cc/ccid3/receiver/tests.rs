//! When feedback is due, and what it says.

use super::super::report::Reports;
use super::*;
use crate::cc::fixtures::{START, arrival, at, config, feedback, is_near, ms, pure_ack};
use crate::seq::Seq;
use crate::wire::ccid_options::{LossIntervals, RttEstimate};
use crate::wire::{Ecn, Options};

/// A receiver whose own estimate of the round-trip time is 100 ms.
fn receiver() -> Receiver {
    Receiver::new(&CcConfig {
        rtt: Some(ms(100)),
        ..config()
    })
}

fn packet(now: Instant, seq: u64, ccval: u8) -> Arrival<'static> {
    Arrival {
        ccval,
        ..arrival(now, seq)
    }
}

/// The contents of a feedback packet.
#[derive(PartialEq, Debug, Default)]
struct Said {
    rate: Option<u32>,
    inverse: Option<u32>,
    skip: u8,
    intervals: Vec<(u32, u32, u32)>,
}

/// Lets an acknowledgement leave.
fn ack(r: &mut Receiver, now: Instant, room: usize) -> Option<Said> {
    let mut options = OptionWriter::new(room);
    let fits = r.on_ack(&mut OutgoingAck {
        now,
        seq: Seq::ZERO,
        ack: Seq::ZERO,
        has_data: false,
        options: &mut options,
    });
    if !fits {
        assert!(options.is_empty());
        return None;
    }
    Some(said(Options(options.as_slice())))
}

/// Reads the options of a feedback packet.
fn said(options: Options<'_>) -> Said {
    let mut said = Said::default();
    for option in options {
        let Opt::CcidSpecific { kind, data } = option else {
            panic!("{option:?}");
        };
        match CcidOpt::decode(3, kind, data) {
            CcidOpt::ReceiveRate(rate) => said.rate = Some(rate),
            CcidOpt::LossEventRate(inverse) => said.inverse = Some(inverse),
            CcidOpt::LossIntervals { skip, .. } => said.skip = skip,
            other => panic!("{other:?}"),
        }
    }
    if let Some(told) = LossIntervals::of(options) {
        said.intervals = told.iter().map(|i| (i.lossless, i.loss, i.data)).collect();
    }
    said
}

#[test]
fn the_first_data_packet_is_answered_at_once_with_rate_0() {
    // 5348-6.3-1
    let mut r = receiver();
    assert_eq!(r.ack_due(START), AckDue::No);
    r.on_packet(&pure_ack(START, 1));
    assert_eq!(r.ack_due(START), AckDue::No);
    r.on_packet(&packet(at(5), 2, 0));
    assert_eq!(r.ack_due(at(5)), AckDue::Now);
    let said = ack(&mut r, at(5), 100).expect("room");
    let expected = Said {
        rate: Some(0),
        inverse: None,
        skip: 0,
        intervals: vec![(2, 0, 0)],
    };
    assert_eq!(said, expected);
    assert_eq!(r.ack_due(at(5)), AckDue::No);
}

#[test]
fn feedback_is_due_when_the_counter_has_advanced_by_4() {
    // 4342-10.3-1, 5348-6-1
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 14));
    ack(&mut r, at(0), 100);
    for (seq, ccval, is_due) in [(2, 14, false), (3, 1, false), (4, 2, true)] {
        r.on_packet(&packet(at(10 * seq), seq, ccval));
        assert_eq!(r.ack_due(at(10 * seq)) == AckDue::Now, is_due, "{ccval}");
    }
    ack(&mut r, at(40), 100);
    // Counted from the greatest counter when the last feedback left, not from the one that made
    // it due.
    r.on_packet(&packet(at(50), 5, 5));
    assert_ne!(r.ack_due(at(50)), AckDue::Now);
    r.on_packet(&packet(at(60), 6, 6));
    assert_eq!(r.ack_due(at(60)), AckDue::Now);
}

#[test]
fn below_one_packet_per_round_trip_each_is_answered() {
    // 5348-6-1: the sender's counter advances by 5 then.
    let mut r = receiver();
    for i in 0..10 {
        r.on_packet(&packet(at(700 * i), 1 + i, (5 * i % 16) as u8));
        assert_eq!(r.ack_due(at(700 * i)), AckDue::Now);
        let said = ack(&mut r, at(700 * i), 100).expect("room");
        assert_eq!(said.rate, Some(if i == 0 { 0 } else { 10_000 }));
    }
}

#[test]
fn the_last_packets_before_a_pause_are_reported_two_round_trips_later() {
    // 4342-10.3-1
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 100);
    r.on_packet(&packet(at(100), 2, 3));
    r.on_packet(&packet(at(150), 3, 3));
    assert_eq!(r.ack_due(at(150)), AckDue::At(at(300)));
    assert_eq!(r.ack_due(at(299)), AckDue::At(at(300)));
    assert_eq!(r.ack_due(at(300)), AckDue::Now);
    // The pause is not part of what is measured: 2000 bytes in 150 ms.
    let said = ack(&mut r, at(300), 100).expect("room");
    assert_eq!(said.rate, Some(13_334));
}

#[test]
fn an_acknowledgement_that_is_not_due_says_nothing() {
    // 5348-6.2-1, 4342-8.3-1: only required acknowledgements carry the options.
    let mut r = receiver();
    assert_eq!(ack(&mut r, at(0), 100), Some(Said::default()));
    r.on_packet(&packet(at(0), 1, 0));
    assert_eq!(r.ack_options_len(at(0)), 96);
    ack(&mut r, at(0), 100);
    r.on_packet(&packet(at(10), 2, 1));
    assert_eq!(r.ack_options_len(at(10)), 0);
    assert_eq!(ack(&mut r, at(10), 100), Some(Said::default()));
    assert_eq!(r.ack_due(at(10)), AckDue::At(at(210)));
}

#[test]
fn without_room_nothing_is_written_and_the_feedback_timer_tries_again() {
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    assert_eq!(ack(&mut r, at(0), 17), None);
    // Not at once: the room may be gone for long, and acknowledgements must not follow one another.
    assert_eq!(r.ack_due(at(0)), AckDue::At(at(300)));
    assert_eq!(r.ack_due(at(300)), AckDue::Now);
    assert_eq!(ack(&mut r, at(300), 18).and_then(|said| said.rate), Some(0));
    assert_eq!(r.ack_due(at(300)), AckDue::No);
}

#[test]
fn a_new_loss_event_is_reported_at_once_and_so_is_its_end() {
    // 5348-6-1, 5348-5.1-1
    let mut r = receiver();
    for seq in 1..=10 {
        r.on_packet(&packet(at(seq), seq, 0));
    }
    ack(&mut r, at(10), 100);
    for seq in [12, 13] {
        r.on_packet(&packet(at(seq), seq, 1));
    }
    assert_ne!(r.ack_due(at(13)), AckDue::Now);
    r.on_packet(&packet(at(14), 14, 1));
    assert_eq!(r.ack_due(at(14)), AckDue::Now);
    ack(&mut r, at(14), 100);
    // More losses of the same event are no news.
    for seq in [16, 17, 18] {
        r.on_packet(&packet(at(seq), seq, 2));
    }
    assert_ne!(r.ack_due(at(18)), AckDue::Now);
    r.on_packet(&packet(at(19), 15, 1));
    assert_ne!(r.ack_due(at(19)), AckDue::Now);
    r.on_packet(&packet(at(20), 11, 0));
    assert_eq!(r.ack_due(at(20)), AckDue::Now);
    let said = ack(&mut r, at(20), 100).expect("room");
    assert_eq!(said.intervals, [(18, 0, 0)]);
}

#[test]
fn a_loss_shown_by_packets_without_data_waits_for_data() {
    // 5348-6.2-1: no feedback without new data.
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 100);
    for seq in 3..6 {
        r.on_packet(&pure_ack(at(seq), seq));
    }
    assert_eq!(r.ack_due(at(5)), AckDue::No);
    r.on_packet(&packet(at(6), 6, 0));
    assert_eq!(r.ack_due(at(6)), AckDue::At(at(206)));
}

#[test]
fn a_mark_is_reported_at_once() {
    // 5348-5.1-1, 5348-6-1
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 100);
    r.on_packet(&Arrival {
        ecn: Ecn::Ce,
        ..packet(at(1), 2, 0)
    });
    assert_eq!(r.ack_due(at(1)), AckDue::Now);
}

#[test]
fn the_first_interval_follows_from_the_highest_receive_rate() {
    // 5348-6.3.1-1: 10 packets per round trip of 100 ms, so 82.15 packets (appendix A.4).
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 200);
    let mut seq = 1;
    for round in 0..3 {
        for i in 1..=10 {
            seq += 1;
            let ccval = (4 * (round + i / 10) % 16) as u8;
            r.on_packet(&packet(at(100 * round + 10 * i), seq, ccval));
        }
        let said = ack(&mut r, at(100 * round + 100), 200).expect("room");
        assert_eq!(said.rate, Some(100_000));
    }
    r.on_packet(&packet(at(310), seq + 2, 13));
    r.on_packet(&packet(at(320), seq + 3, 13));
    r.on_packet(&packet(at(330), seq + 4, 13));
    let said = ack(&mut r, at(330), 200).expect("room");
    assert_eq!(said.intervals, [(3, 1, 4), (31, 0, 82)]);
    // Later events leave it as it is, however fast the sender has become.
    seq += 4;
    for i in 1..=400 {
        let lost = u64::from(i == 390);
        seq += 1 + lost;
        r.on_packet(&packet(at(330 + i), seq, ((13 + i / 25) % 16) as u8));
        ack(&mut r, at(330 + i), 200);
    }
    assert_eq!(r.history.event_count(), 2);
    let said = r.history.intervals().last().map(|i| i.data);
    assert_eq!(said, Some(82));
}

#[test]
fn if_the_very_first_data_packet_is_marked_the_interval_is_that_of_half_a_packet_per_round_trip() {
    // 5348-6.3.1-1: 4.84 packets
    let mut r = receiver();
    r.on_feature(192, 1);
    r.on_packet(&Arrival {
        ecn: Ecn::Ce,
        ..packet(at(0), 1, 0)
    });
    let said = ack(&mut r, at(0), 200).expect("room");
    assert_eq!(said.intervals, [(0, 1, 1), (0, 0, 5)]);
    assert_eq!(said.inverse, Some(5));
    let snapshot = r.snapshot();
    assert!(snapshot.loss_event_rate.is_some_and(|p| is_near(p, 0.2)));
    assert_eq!((snapshot.loss_events, snapshot.missing), (Some(1), Some(0)));
}

#[test]
fn on_the_largest_paths_the_first_interval_has_more_than_2_to_the_32_packets() {
    // 5348-6.3.1-1: 100,000 packets per round trip of 100 ms, so 2/3 · 10^10. The fields saturate.
    let mut r = receiver();
    r.on_feature(192, 1);
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 200).expect("room");
    for n in 0..100_000 {
        let now = at(1 + n / 1000);
        r.on_packet(&packet(now, 2 + n, (n / 25_000 % 16) as u8));
    }
    ack(&mut r, at(100), 200).expect("room");
    for seq in 100_003..=100_005 {
        r.on_packet(&packet(at(101), seq, 4));
    }
    let first = r.history.intervals().last().expect("it").data;
    assert!((6_600_000_000..6_700_000_000).contains(&first), "{first}");
    let said = ack(&mut r, at(101), 200).expect("room");
    assert_eq!(said.intervals, [(3, 1, 4), (100_001, 0, 0xFF_FFFF)]);
    assert_eq!(said.inverse, Some(u32::MAX - 1));
}

#[test]
fn if_the_very_first_data_packet_is_lost_it_is_the_same() {
    // 5348-6.3.1-1: an Ack of the handshake came before.
    let mut r = receiver();
    r.on_packet(&pure_ack(at(0), 1));
    for seq in 3..6 {
        r.on_packet(&packet(at(seq), seq, 0));
    }
    let said = ack(&mut r, at(5), 200).expect("room");
    assert_eq!(said.intervals, [(3, 1, 4), (1, 0, 5)]);
}

#[test]
fn loss_event_rate_is_sent_where_it_was_negotiated() {
    // 4342-8.4-1
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    let said = ack(&mut r, at(0), 100).expect("room");
    assert_eq!(said.inverse, None);
    r.on_feature(Feature::SendLossEventRate.number(), 1);
    r.on_packet(&packet(at(100), 2, 4));
    let said = ack(&mut r, at(100), 100).expect("room");
    assert_eq!(said.inverse, Some(u32::MAX));
    r.on_feature(Feature::SendLossEventRate.number(), 0);
    r.on_packet(&packet(at(200), 3, 8));
    let said = ack(&mut r, at(200), 100).expect("room");
    assert_eq!(said.inverse, None);
}

#[test]
fn loss_event_rate_option_lacks_the_history_discount_of_the_sender() {
    // 5348-5.5-1: only the sender discounts. 4342-9.2-1: the two rates may differ. One packet in a hundred is lost
    // at random, four packets per round trip.
    let mut r = receiver();
    r.on_feature(Feature::SendLossEventRate.number(), 1);
    let mut reports = Reports::default();
    let mut random = 1_u64;
    let (mut of_option, mut of_sender) = ((0.0, 0.0), (0.0, 0.0));
    for seq in 0..200_000 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        if (random >> 33).is_multiple_of(100) {
            continue;
        }
        let now = at(25 * seq);
        r.on_packet(&packet(now, seq, (seq % 16) as u8));
        if r.ack_due(now) != AckDue::Now {
            continue;
        }
        let mut options = OptionWriter::new(200);
        assert!(r.on_ack(&mut OutgoingAck {
            now,
            seq: Seq::ZERO,
            ack: Seq::ZERO,
            has_data: false,
            options: &mut options,
        }));
        let mut fb = feedback();
        fb.ack = Seq::new(seq);
        fb.elapsed = Some(Duration::ZERO);
        fb.options = Options(options.as_slice());
        let report = reports.read(&fb, &Tfrc, ms(100)).expect("feedback");
        let said = said(fb.options);
        let intervals = said.intervals.iter();
        let intervals = intervals.map(|&(_, _, data)| Weighed::new(data.into()));
        let without_discount = loss_event_rate(intervals, 1.0);
        if without_discount > 0.0 {
            // The option is the reported intervals' rate with all weights, in whole packets.
            assert_eq!(said.inverse, Some(whole(1.0 / without_discount)), "{seq}");
        }
        if reports.events().is_some_and(|events| events > 9) {
            let rate = |p| Tfrc.rate(1000.0, 0.1, p);
            of_option.0 += without_discount;
            of_option.1 += rate(without_discount);
            of_sender.0 += report.p;
            of_sender.1 += rate(report.p);
        }
    }
    let (p, rate) = (of_option.0 / of_sender.0, of_option.1 / of_sender.1);
    assert!((1.06..1.10).contains(&p), "{p}");
    assert!((0.95..0.97).contains(&rate), "{rate}");
}

#[test]
fn at_least_nine_intervals_are_reported() {
    // 4342-8.6-1, 4340-11-1: every twentieth packet is lost, a round trip and more apart.
    let mut r = receiver();
    r.on_feature(Feature::SendLossEventRate.number(), 1);
    for seq in (0..400).filter(|seq| seq % 20 != 19) {
        r.on_packet(&packet(at(10 * seq), seq, (seq / 2 % 16) as u8));
    }
    let said = ack(&mut r, at(4000), 200).expect("room");
    assert_eq!(said.intervals, [(19, 1, 20); 9]);
    assert_eq!(said.inverse, Some(20));
    assert_eq!(said.skip, 0);
}

#[test]
fn every_acknowledgement_tells_how_long_it_waited() {
    // 4342-8.2-1
    assert!(receiver().wants_elapsed_time());
}

#[test]
fn an_estimate_of_the_sender_counts_where_it_is_promised() {
    // 6323-3.3-2
    let mut w = OptionWriter::new(8);
    let estimate = RttEstimate::new(Some(ms(40)));
    CcidOpt::RttEstimate(estimate).push(&mut w).unwrap();
    let with_estimate = Arrival {
        options: Options(w.as_slice()),
        ..packet(at(0), 1, 0)
    };
    let mut r = receiver();
    r.on_packet(&with_estimate);
    assert_eq!(r.snapshot().rtt, Some(ms(100)));
    r.on_feature(Feature::SendRttEstimate.number(), 1);
    r.on_packet(&Arrival {
        seq: Seq::new(2),
        ..with_estimate
    });
    assert_eq!(r.snapshot().rtt, Some(ms(40)));
    assert_eq!(r.poll_signal(), None);
}

#[test]
fn a_bad_estimate_resets_unless_it_came_on_a_data_packet() {
    // 6323-3.3-2, 4340-7.5.5-2
    let mut r = receiver();
    r.on_feature(Feature::SendRttEstimate.number(), 1);
    let bad = Options(&[128, 6, 9, 8, 7, 6]);
    r.on_packet(&Arrival {
        options: bad,
        ..packet(at(0), 1, 0)
    });
    assert_eq!(r.poll_signal(), None);
    r.on_packet(&Arrival {
        options: bad,
        packet_type: PacketType::DataAck,
        ..packet(at(0), 2, 0)
    });
    assert_eq!(r.poll_signal(), Some(Signal::OptionError([128, 6, 9])));
    assert_eq!(r.poll_signal(), None);
    r.on_packet(&Arrival {
        options: Options(&[128, 2]),
        ..pure_ack(at(0), 3)
    });
    assert_eq!(r.poll_signal(), Some(Signal::OptionError([128, 2, 0])));
    // The receiver's own options, coming the wrong way, are none of this half-connection.
    r.on_packet(&Arrival {
        options: Options(&[194, 3, 0]),
        ..pure_ack(at(0), 4)
    });
    assert_eq!(r.poll_signal(), None);
}

#[test]
fn a_duplicate_is_not_counted() {
    let mut r = receiver();
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 100);
    r.on_packet(&packet(at(100), 1, 0));
    assert_eq!(r.ack_due(at(100)), AckDue::No);
}

#[test]
fn it_shows_the_receive_rate_once_data_has_come() {
    let mut r = receiver();
    assert_eq!(r.snapshot().receive_rate, None);
    r.on_packet(&packet(at(0), 1, 0));
    ack(&mut r, at(0), 200);
    for i in 1..=10 {
        r.on_packet(&packet(at(10 * i), 1 + i, 0));
    }
    ack(&mut r, at(100), 200);
    let shown = r.snapshot().receive_rate.map(Rate::bytes_per_s);
    assert_eq!(shown, Some(100_000.0));
}
