//! The history against the RFC's examples, at its edges, and against a naive model.

mod model;

use super::*;
use proptest::prelude::*;

fn data(seq: u64, ccval: u8) -> Packet {
    Packet {
        seq: Seq::new(seq),
        ccval: Some(ccval),
        ecn: Ecn::Ect0,
        ndp_count: 0,
    }
}

fn non_data(seq: u64) -> Packet {
    Packet {
        ccval: None,
        ..data(seq, 0)
    }
}

fn marked(seq: u64, ccval: u8) -> Packet {
    Packet {
        ecn: Ecn::Ce,
        ..data(seq, ccval)
    }
}

/// A history that saw these data packets, with a counter that ticks every two packets.
fn history(seqs: impl IntoIterator<Item = u64>) -> LossHistory {
    let mut h = LossHistory::default();
    for seq in seqs {
        h.on_packet(&data(seq, (seq / 2 % 16) as u8));
    }
    h
}

/// (lossless, loss, data) of the intervals, newest first.
fn lengths(h: &LossHistory) -> Vec<(u64, u64, u64)> {
    h.intervals()
        .map(|i| (i.lossless, i.loss, i.data))
        .collect()
}

#[test]
fn the_rfcs_example_gives_the_rfcs_intervals() {
    // 4342-8.6-3, 4342-6.1-1, 4342-6.1.1-1: packets 10, 19–21, 23, 32 and 43 are lost; one packet of
    // the newest interval carries no data. The counter makes 10, 19, 32 and 43 events of their own.
    let lost = [10, 19, 20, 21, 23, 32, 43];
    let mut h = LossHistory::default();
    for seq in (0..=44).filter(|seq| !lost.contains(seq)) {
        let odd_nonce = [5, 40].contains(&seq);
        h.on_packet(&Packet {
            ccval: (seq != 35).then_some((seq * 5 / 8 % 16) as u8),
            ecn: if odd_nonce { Ecn::Ect1 } else { Ecn::Ect0 },
            ..data(seq, 0)
        });
    }
    h.set_first_length(15);
    assert_eq!(h.skip(), 2);
    let intervals: Vec<_> = h.intervals().map(LossInterval::from).collect();
    let interval = |lossless, nonce, loss, data| LossInterval {
        lossless,
        nonce,
        loss,
        data,
    };
    assert_eq!(
        intervals,
        [
            interval(10, true, 1, 10),
            interval(8, false, 5, 13),
            interval(8, false, 1, 9),
            interval(10, true, 0, 15),
        ]
    );
}

#[test]
fn before_the_first_loss_there_is_one_interval_of_data_length_0() {
    // 4342-6.1.1-1
    assert_eq!(lengths(&LossHistory::default()), []);
    assert_eq!(lengths(&history(7..=7)), [(1, 0, 0)]);
    assert_eq!(lengths(&history(7..=106)), [(100, 0, 0)]);
}

#[test]
fn a_rollback_leaves_no_trace_of_a_forged_packet() {
    // 4340-7.5.4-10: 100 was forged, and 13 comes next.
    for newest in [9, 12] {
        let mut h = history((0..=4).chain([6, 7, 8, 9]));
        h.on_packet(&data(100, 3));
        h.roll_back(Seq::new(newest));
        for seq in newest + 1..30 {
            h.on_packet(&data(seq, (seq / 2 % 16) as u8));
        }
        let real = history((0..=4).chain([6, 7, 8, 9]).chain(newest + 1..30));
        assert_eq!(lengths(&h), lengths(&real), "{newest}");
    }
}

#[test]
fn three_later_packets_make_a_hole_a_loss() {
    // 5348-5.1-1, 4342-6.1-1
    let mut h = history(0..10);
    for (seq, change, skip) in [
        (11, Change::None, 2),
        (12, Change::None, 3),
        (13, Change::Event, 0),
        (14, Change::None, 0),
    ] {
        assert_eq!(h.on_packet(&data(seq, 6)), change, "{seq}");
        assert_eq!(h.skip(), skip, "{seq}");
    }
    h.set_first_length(77);
    assert_eq!(lengths(&h), [(4, 1, 5), (10, 0, 77)]);
}

#[test]
fn what_has_not_arrived_is_missing_until_it_does() {
    assert_eq!(LossHistory::default().missing_data(), 0);
    let mut h = history(5..10);
    assert_eq!(h.missing_data(), 0);
    // Of 10, 11 and 12 one was no data packet, as the next says.
    h.on_packet(&Packet {
        ndp_count: 1,
        ..data(13, 6)
    });
    assert_eq!(h.missing_data(), 2);
    h.on_packet(&non_data(14));
    h.on_packet(&marked(15, 7));
    assert_eq!(h.missing_data(), 2, "neither is missing");
    h.on_packet(&data(11, 5));
    h.on_packet(&data(11, 5));
    assert_eq!(h.missing_data(), 1, "late, and twice");
}

#[test]
fn packets_without_data_show_losses_too() {
    // 5348-5.1-1: any later packet does.
    let mut h = history(0..10);
    h.on_packet(&non_data(11));
    h.on_packet(&non_data(12));
    assert_eq!(h.on_packet(&non_data(13)), Change::Event);
    assert_eq!(lengths(&h)[0], (3, 1, 1));
}

#[test]
fn skip_length_never_exceeds_3() {
    // 4342-8.6-2: ten packets are missing, and so far count as received but for the last.
    let mut h = history(0..10);
    h.on_packet(&data(20, 6));
    assert_eq!(h.skip(), 3);
    assert_eq!(lengths(&h), [(18, 0, 0)]);
    h.on_packet(&data(21, 6));
    assert_eq!(h.on_packet(&data(22, 6)), Change::Event);
    assert_eq!(lengths(&h)[0], (3, 10, 13));
}

#[test]
fn losses_are_one_event_while_the_counter_advanced_4_at_most() {
    // 4342-10.2-1, 5348-5.2-1: C(X_prev) is 9, C(Y_prev) is 13 or 14.
    for (counter, events) in [(13, 1), (14, 2), (15, 2)] {
        let mut h = LossHistory::default();
        h.on_packet(&data(1, 9));
        for (seq, ccval) in [(3, 9), (4, 10), (5, counter), (7, counter)] {
            h.on_packet(&data(seq, ccval));
        }
        h.on_packet(&data(8, counter));
        h.on_packet(&data(9, counter));
        assert_eq!(h.event_count(), events, "{counter}");
        let newest = lengths(&h)[0];
        let expected = if events == 1 { (3, 5, 8) } else { (3, 1, 4) };
        assert_eq!(newest, expected);
    }
}

#[test]
fn an_event_is_measured_from_its_first_loss() {
    // 5348-5.2-1: losses every 3 ticks; a third is 6 ticks after the first.
    let mut h = LossHistory::default();
    for (seq, ccval) in [(1, 0), (3, 3), (5, 6), (7, 6), (8, 6), (9, 6)] {
        h.on_packet(&data(seq, ccval));
    }
    // 2 and 4 are 3 ticks apart, 6 is 6 ticks after 2.
    assert_eq!(lengths(&h)[..2], [(3, 1, 4), (1, 3, 4)]);
}

#[test]
fn a_run_of_losses_is_one_event_however_long() {
    // 4342-10.2-1: X_prev is Y_prev.
    let mut h = LossHistory::default();
    h.on_packet(&data(1, 0));
    for seq in 5002..5005 {
        h.on_packet(&data(seq, 7));
    }
    assert_eq!(h.event_count(), 1);
    assert_eq!(lengths(&h)[0], (3, 5000, 5003));
}

#[test]
fn a_counter_that_wraps_between_losses_is_followed() {
    // 4342-10.2-1: C passes through all values and comes back to where it was.
    let mut h = LossHistory::default();
    let mut seq = 0;
    for tick in 0..=16 {
        seq += 1;
        h.on_packet(&data(seq, tick % 16));
        if tick == 0 {
            seq += 1;
        }
    }
    for i in 2..=4 {
        h.on_packet(&data(seq + i, 0));
    }
    assert_eq!(h.event_count(), 2);
    assert_eq!(h.counter(), 16);
}

#[test]
fn a_mark_is_an_event_at_once() {
    // 5348-5.1-1
    let mut h = history(0..10);
    assert_eq!(h.on_packet(&marked(10, 5)), Change::Event);
    h.set_first_length(30);
    assert_eq!(lengths(&h), [(0, 1, 1), (10, 0, 30)]);
    // Within a round trip it is the same event.
    assert_eq!(h.on_packet(&marked(11, 8)), Change::None);
    assert_eq!(lengths(&h)[0], (0, 2, 2));
    h.on_packet(&data(12, 10));
    assert_eq!(h.on_packet(&marked(13, 10)), Change::Event);
    assert_eq!(lengths(&h)[..2], [(0, 1, 1), (1, 2, 3)]);
}

#[test]
fn a_hole_before_a_mark_starts_its_event() {
    // 5348-5.1-1
    let mut h = history(0..10);
    h.on_packet(&data(11, 5));
    assert_eq!(h.on_packet(&marked(12, 5)), Change::Event);
    assert_eq!(h.skip(), 0);
    assert_eq!(lengths(&h)[0], (0, 3, 3));
}

#[test]
fn marks_on_packets_without_data_do_not_count() {
    // 4342-6.1-1
    let mut h = history(0..10);
    let change = h.on_packet(&Packet {
        ecn: Ecn::Ce,
        ..non_data(10)
    });
    assert_eq!(change, Change::None);
}

#[test]
fn ndp_count_tells_which_lost_packets_had_no_data() {
    // 4342-6.1-2, 4342-6.1.1-1: five packets are missing. The NDP Count of packet 16 is `ndp_count`.
    for (ndp_count, newest, count) in [
        (0, (3, 5, 8), 1),
        (2, (5, 3, 6), 1),
        (4, (7, 1, 4), 1),
        (5, (18, 0, 0), 0),
        (9, (18, 0, 0), 0),
    ] {
        let mut h = history(1..=10);
        h.on_packet(&Packet {
            ndp_count,
            ..data(16, 5)
        });
        h.on_packet(&data(17, 5));
        h.on_packet(&data(18, 5));
        assert_eq!(h.event_count(), count, "{ndp_count}");
        assert_eq!(lengths(&h)[0], newest, "{ndp_count}");
    }
}

#[test]
fn received_packets_without_data_do_not_lengthen_the_data() {
    // 4342-6.1.1-1: never below 1.
    let mut h = history(1..=10);
    for p in [non_data(12), non_data(13), data(14, 5), non_data(15)] {
        h.on_packet(&p);
    }
    assert_eq!(lengths(&h)[0], (4, 1, 2));
    let mut h = history(1..=10);
    h.on_packet(&marked(11, 5));
    h.on_packet(&non_data(12));
    assert_eq!(lengths(&h)[0], (1, 1, 1));
}

#[test]
fn a_packet_that_comes_late_fills_its_hole() {
    // 5348-5.1-1
    let mut h = history((0..10).chain(11..20));
    assert_eq!(h.event_count(), 1);
    assert_eq!(h.on_packet(&data(10, 5)), Change::EventGone);
    assert_eq!(lengths(&h), [(20, 0, 0)]);
    // But once.
    assert_eq!(h.on_packet(&data(10, 5)), Change::Ignored);
    assert_eq!(h.on_packet(&data(15, 7)), Change::Ignored);
}

#[test]
fn a_hole_can_be_filled_from_any_side() {
    // 5348-5.1-1
    for (late, runs) in [(10, (9, 2)), (11, (9, 3)), (12, (10, 2))] {
        let mut h = history((0..10).chain(13..22));
        assert_eq!(lengths(&h)[0], (9, 3, 12));
        assert_eq!(h.on_packet(&data(late, 5)), Change::None);
        let (lossless, loss, _) = lengths(&h)[0];
        assert_eq!((lossless, loss), runs, "{late}");
    }
}

#[test]
fn a_late_packet_can_part_two_events() {
    // 4342-10.2-1: 11 is lost, too; when 10 comes, its counter shows how late 11 was.
    let mut h = LossHistory::default();
    for (seq, ccval) in [(8, 0), (11, 9), (12, 9), (13, 9), (15, 9), (16, 9), (17, 9)] {
        h.on_packet(&data(seq, ccval));
    }
    assert_eq!(lengths(&h)[..2], [(3, 1, 4), (3, 2, 5)]);
    // 10 was sent with counter 6: 14 is no more than a round trip after it.
    assert_eq!(h.on_packet(&data(9, 6)), Change::EventGone);
    assert_eq!(lengths(&h)[0], (3, 5, 8));
}

#[test]
fn a_late_mark_is_a_mark() {
    let mut h = history((0..10).chain(13..22));
    assert_eq!(h.on_packet(&marked(11, 5)), Change::None);
    assert_eq!(lengths(&h)[0], (9, 3, 12));
    h.on_packet(&data(12, 5));
    assert_eq!(lengths(&h)[0], (10, 2, 12));
    h.on_packet(&data(10, 5));
    assert_eq!(lengths(&h)[0], (10, 1, 11));
}

#[test]
fn late_packets_move_counts_and_nonces_behind_them() {
    // 4342-8.6-3
    let mut h = history((0..10).chain(11..20).chain(21..30));
    assert_eq!(lengths(&h)[..2], [(9, 1, 10), (9, 1, 10)]);
    h.on_packet(&non_data(10));
    assert_eq!(lengths(&h), [(9, 1, 10), (20, 0, 0)]);
    let mut h = history((0..10).chain(12..20).chain(21..30));
    h.on_packet(&Packet {
        ecn: Ecn::Ect1,
        ..data(11, 5)
    });
    let nonces: Vec<_> = h.intervals().map(|i| i.nonce).collect();
    assert_eq!(nonces, [false, true, false]);
}

#[test]
fn what_came_before_the_first_packet_is_ignored() {
    let mut h = history(5..10);
    assert_eq!(h.on_packet(&data(3, 0)), Change::Ignored);
    assert_eq!(lengths(&h), [(5, 0, 0)]);
}

#[test]
fn numbers_wrap() {
    // 4340-3.1-2
    let top = (1 << 48) - 5;
    let mut h = LossHistory::default();
    for i in (0..20).filter(|&i| i != 5 && i != 12) {
        h.on_packet(&data(top + i, (i % 16) as u8));
    }
    h.set_first_length(9);
    assert_eq!(lengths(&h), [(7, 1, 8), (6, 1, 7), (5, 0, 9)]);
}

#[test]
fn old_events_are_forgotten_but_counted() {
    // Every tenth packet is lost, far apart.
    let h = history((0..1000).filter(|seq| seq % 20 != 19));
    assert_eq!(h.event_count(), 49);
    assert_eq!(h.intervals().count(), EVENTS);
    assert!(
        h.intervals()
            .skip(1)
            .all(|i| i.lossless == 19 && i.loss == 1)
    );
    assert!(h.losses.len() <= RECENT && h.events.len() <= EVENTS);
}

#[test]
fn a_packet_too_late_for_its_hole_changes_nothing() {
    let mut h = history((0..2000).filter(|seq| seq % 20 != 19));
    assert_eq!(h.on_packet(&data(19, 9)), Change::Ignored);
    let oldest_recent = h.losses[0].first;
    assert_eq!(
        h.on_packet(&data(oldest_recent.value(), 9)),
        Change::EventGone
    );
    assert_eq!(h.event_count(), 98);
}

#[test]
fn the_oldest_of_32_runs_can_still_be_filled() {
    // Packets 10, 20, … are missing.
    for (runs, change) in [(RECENT, Change::EventGone), (RECENT + 1, Change::Ignored)] {
        let last = 10 * runs as u64 + 5;
        let mut h = LossHistory::default();
        for seq in (1..=last).filter(|seq| seq % 10 != 0) {
            h.on_packet(&data(seq, (seq % 16) as u8));
        }
        assert_eq!(h.event_count(), runs as u64);
        assert_eq!(h.on_packet(&data(10, 10)), change, "{runs}");
    }
}

#[test]
fn lengths_beyond_their_field_are_cut() {
    let interval = Interval {
        lossless: 1 << 40,
        nonce: true,
        loss: 1 << 40,
        drops: 1 << 40,
        ticks: 1 << 40,
        data: 1 << 40,
    };
    let bytes = LossInterval::from(interval).to_bytes();
    assert_eq!(bytes, [0xFF; 9]);
}

proptest! {
    /// Packets that arrive in any order and twice give the model's result, unless one is too late.
    #[test]
    fn intervals_are_those_of_the_model(script in model::script()) {
        let mut history = LossHistory::default();
        let mut model = model::Model::default();
        for p in &script {
            history.on_packet(p);
            model.on_packet(p);
            prop_assert_eq!(u64::from(history.skip()), model.skip());
            prop_assert_eq!(lengths(&history), model.lengths());
            let nonces: Vec<_> = history.intervals().map(|i| i.nonce).collect();
            prop_assert_eq!(nonces, model.nonces());
        }
    }

    /// Whatever comes, memory stays bounded, and options can be written.
    #[test]
    fn no_packet_breaks_the_history(
        script in prop::collection::vec((0_u64..1 << 48, any::<Option<u8>>(), 0..4_u8, any::<u64>()), 0..200)
    ) {
        let mut h = LossHistory::default();
        for (seq, ccval, ecn, ndp_count) in script {
            h.on_packet(&Packet {
                seq: Seq::new(seq),
                ccval: ccval.map(|c| c % 16),
                ecn: Ecn::from_bits(ecn),
                ndp_count,
            });
            prop_assert!(h.losses.len() <= RECENT && h.events.len() <= EVENTS);
            prop_assert!(h.intervals().all(|i| i.data >= 1 || i.loss == 0));
        }
    }
}
