//! Round-trip samples, rounds, delivered rates, mean sizes.

use super::super::news::News;
use super::*;

fn after(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_sample_is_the_time_since_departure_less_the_elapsed_time() {
    // 4340-13.2-1
    for (elapsed, rtt) in [
        (None, Some(after(50))),
        (Some(after(20)), Some(after(30))),
        (Some(after(50)), Some(Duration::from_micros(1))),
        (Some(after(51)), None),
    ] {
        let mut flow = Flow::new("d");
        assert_eq!(flow.ack_at(ms(50), 0, elapsed, &[]).rtt, rtt);
    }
}

#[test]
fn a_packet_gives_one_sample() {
    let mut flow = Flow::new("ddd");
    assert_eq!(
        flow.ack_at(ms(10), 1, None, &vector("00")).rtt,
        Some(after(9))
    );
    assert_eq!(flow.ack_at(ms(11), 1, None, &vector("00")).rtt, None);
    assert_eq!(
        flow.ack_at(ms(11), 0, None, &vector("0")).rtt,
        None,
        "known already"
    );
    assert_eq!(
        flow.ack_at(ms(12), 2, None, &vector("000")).rtt,
        Some(after(10))
    );
}

#[test]
fn the_packet_that_is_named_gives_the_sample_whatever_its_cell_says() {
    // 4340-11.4-2: it is received, though the vector reports only older packets.
    let mut flow = Flow::new("ddd");
    assert_eq!(
        flow.ack_at(ms(10), 2, None, &vector("300")).rtt,
        Some(after(8))
    );
}

#[test]
fn the_newest_data_packet_measures_the_delivery_whatever_is_read_first() {
    let flow = Flow::new("ddd");
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]] {
        let mut tell = |_, _| {};
        let mut news = News::new(ms(10), LEN, &mut tell);
        for pos in order {
            let record = flow.flight.record_at(pos).unwrap();
            news.note_report(pos, record, false, None);
        }
        let newest = news
            .newest_data
            .map(|(pos, record)| (pos, record.sent_at()));
        assert_eq!(newest, Some((2, ms(2))), "{order:?}");
    }
}

#[test]
fn a_lost_packet_that_is_named_late_gives_a_sample() {
    let mut flow = Flow::new("dddd");
    flow.ack_at(ms(10), 3, None, &vector("0003"));
    assert_eq!(
        flow.ack_at(ms(12), 0, None, &vector("0")).rtt,
        Some(after(12))
    );
}

#[test]
fn a_packet_without_data_gives_a_sample_only_with_elapsed_time() {
    let mut flow = Flow::new("..");
    assert_eq!(flow.ack_at(ms(900), 0, None, &[]).rtt, None);
    assert_eq!(
        flow.ack_at(ms(900), 1, Some(after(890)), &[]).rtt,
        Some(after(9))
    );
}

#[test]
fn a_response_gives_a_sample_without_elapsed_time() {
    // 5348-4.2-1
    for (elapsed, rtt) in [(None, 40), (Some(after(15)), 25)] {
        let mut flow = Flow::new("..");
        let response = Ack {
            seq: ACK_SEQ,
            names: flow.seq(1),
            elapsed,
            is_prompt: true,
            slow_receiver: false,
            acks_lost: 0,
            options: Options::EMPTY,
        };
        let feedback = flow.flight.on_ack(ms(41), &response, &mut |_, _| {});
        assert_eq!(feedback.unwrap().rtt, Some(after(rtt)));
    }
}

#[test]
fn a_round_lasts_until_a_packet_of_its_own_is_received() {
    let mut flow = Flow::new("ddd");
    assert_eq!(flow.ack(0, &vector("0")).round, 1);
    assert_eq!(
        flow.ack(2, &vector("000")).round,
        1,
        "sent before the round began"
    );
    flow.send("dd");
    assert_eq!(flow.ack(3, &vector("0000")).round, 2);
    assert_eq!(flow.ack(4, &vector("00000")).round, 2);
}

#[test]
fn delivered_rate_is_what_arrived_over_the_longer_of_two_times() {
    // Packets of 100 bytes at 0, 1, 2, 3 ms, received all, known at 10 and 12 ms.
    let mut flow = Flow::new("dddd");
    let fb = flow.ack_at(ms(10), 1, None, &vector("00"));
    let rate = |bytes, t| Some(Rate::over(bytes, Duration::from_millis(t)));
    assert_eq!(fb.delivered_rate, rate(200, 10), "from idle");
    let fb = flow.ack_at(ms(12), 3, None, &vector("0000"));
    assert_eq!(fb.delivered_rate, rate(400, 12));
    // Sent at 12 and 30 ms: nothing in flight before, so the idle time does not count.
    flow.send_one(ms(20), true, LEN);
    flow.send_one(ms(38), true, LEN);
    let fb = flow.ack_at(ms(39), 5, None, &vector("00"));
    assert_eq!(fb.delivered_rate, rate(200, 19));
    let fb = flow.ack_at(ms(39), 5, None, &vector("00"));
    assert_eq!(fb.delivered_rate, None, "nothing new");
}

#[test]
fn acknowledgements_in_a_bunch_do_not_raise_the_rate() {
    // Sent 10 ms apart; the acknowledgements of 1 and 2 arrive together.
    let mut flow = Flow::new("");
    for i in 0..3 {
        flow.send_one(ms(10 * i), true, LEN);
    }
    flow.ack_at(ms(40), 0, None, &vector("0"));
    flow.send_one(ms(41), true, LEN);
    flow.ack_at(ms(80), 2, None, &vector("000"));
    // Packet 3 was sent after packet 0 was known: 41 ms of sending since then, 41 of learning.
    let fb = flow.ack_at(ms(81), 3, None, &vector("0000"));
    assert_eq!(
        fb.delivered_rate,
        Some(Rate::over(300, Duration::from_millis(41)))
    );
}

#[test]
fn no_time_gives_no_rate() {
    let mut flow = Flow::new("d");
    assert_eq!(
        flow.ack_at(ms(0), 0, None, &vector("0")).delivered_rate,
        None
    );
}

#[test]
fn samples_of_packets_sent_while_data_was_short_are_marked() {
    let mut flow = Flow::new("dd");
    flow.flight.on_app_limited(); // until 200 bytes are delivered
    flow.send("d");
    assert!(!flow.ack(0, &vector("0")).is_app_limited, "sent before");
    flow.send("d");
    assert!(!flow.ack(1, &vector("00")).is_app_limited);
    flow.send("d");
    assert!(flow.ack(2, &vector("000")).is_app_limited);
    assert!(flow.ack(3, &vector("0000")).is_app_limited);
    assert!(
        !flow.ack(4, &vector("00000")).is_app_limited,
        "sent after it was over"
    );
}

#[test]
fn idle_time_is_app_limited_too() {
    let mut flow = Flow::new("");
    flow.flight.on_app_limited();
    flow.send("dd");
    assert!(flow.ack(0, &vector("0")).is_app_limited);
    assert!(flow.ack(1, &vector("00")).is_app_limited);
    flow.send("d");
    assert!(!flow.ack(2, &vector("000")).is_app_limited);
}

#[test]
fn the_mean_size_follows_by_sixteenths() {
    let mut flow = Flow::new("");
    flow.send_one(ms(0), false, 0);
    assert_eq!(flow.ack(0, &[]).mean_size, 0, "no data yet");
    flow.send_one(ms(0), true, 1600);
    assert_eq!(flow.ack(1, &[]).mean_size, 1600);
    flow.send_one(ms(0), true, 0);
    assert_eq!(flow.ack(2, &[]).mean_size, 1500);
    flow.send_one(ms(0), true, 1600);
    assert_eq!(flow.ack(3, &[]).mean_size, 1506);
}
