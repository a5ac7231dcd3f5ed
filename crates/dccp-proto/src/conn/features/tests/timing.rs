//! Repetition, pace, and what negotiation may cost.

use super::*;
use crate::config::bounds::PENDING_CONFIRMS;
use PacketType as P;
use Side::{Local, Remote};

const RTT: Duration = Duration::from_millis(100);
const FIRST: Duration = Duration::from_millis(300);

fn end() -> End {
    let mut a = End::client();
    a.f.set_rtt(RTT);
    a
}

#[test]
fn changes_are_repeated_with_exponential_backoff_up_to_64_s() {
    // 4340-6.1-2, 4340-6.6.3-1, 4340-6.6.3-2, 4340-6.6.4-5: identical bytes, FGSS unmoved
    let mut a = end();
    a.f.change_number(WINDOW, 1024);
    let change = a.ack();
    let fgss = a.f.fgss;
    assert_eq!(fgss, a.gss);
    let mut interval = FIRST;
    for _ in 0..12 {
        assert_eq!(a.f.poll_timeout(), Some(a.now + interval));
        a.wait_almost(interval);
        assert_eq!(a.ack(), []);
        assert!(!a.f.wants_packet(a.now));
        a.wait(Duration::from_nanos(1));
        assert!(a.f.wants_packet(a.now));
        assert_eq!(a.ack(), change);
        assert_eq!(a.f.fgss, fgss);
        interval = (2 * interval).min(Duration::from_secs(64));
    }
    assert_eq!(interval, Duration::from_secs(64));
    // The latest and the first transmission are the same: an answer to any will do.
    let (seq, ack) = (a.gsr.next(), Some(fgss));
    let bytes = vec![35, 9, 3, 0, 0, 0, 0, 4, 0];
    a.recv(&Sent { seq, ack, bytes }).unwrap();
    assert_eq!(a.f.poll_timeout(), None);
}

#[test]
fn without_a_measurement_the_rtt_is_200_ms() {
    let mut a = End::client();
    a.f.change_number(WINDOW, 1024);
    a.ack();
    assert_eq!(a.f.poll_timeout(), Some(a.now + Duration::from_millis(400)));
}

#[test]
fn an_unanswered_extension_makes_no_packets_for_ever() {
    // LINUX-4, 4340-6.6.3-1: NDP Count need not be understood. It goes on with packets that leave
    // anyway.
    let mut a = end();
    a.f.change(Remote, NDP, &[1], false);
    let change = a.ack();
    let mut packets = 1;
    while let Some(at) = a.f.poll_timeout() {
        a.now = at;
        assert_eq!(a.ack(), change);
        packets += 1;
    }
    assert_eq!(packets, 8);
    a.wait(Duration::from_hours(1));
    for _ in 0..3 {
        assert_eq!(a.f.poll_timeout(), None);
        assert_eq!(a.ack(), change);
        a.wait_almost(FIRST * (1 << 7));
        assert_eq!(a.ack(), []);
        a.wait(Duration::from_secs(64));
    }
    a.hear(&[33, 5, 7, 1, 1]).unwrap();
    assert_eq!(a.f.value(Remote, NDP), 1);
}

#[test]
fn request_and_response_carry_all_outstanding_changes() {
    let mut a = end();
    a.f.change_number(WINDOW, 1024);
    let first = a.send(P::Request).bytes;
    a.f.change(Local, NDP, &[1], false);
    let second = a.send(P::Request).bytes;
    assert_eq!(second, [&first[..], &[32, 4, 7, 1]].concat());
    assert_eq!(a.send(P::Response).bytes, second);
    assert_eq!(a.send(P::Ack).bytes, []);
}

#[test]
fn a_confirm_requests_a_packet_at_once_but_not_twice_per_round_trip() {
    // 4340-6.6.1-3
    let mut a = end();
    assert!(!a.f.wants_packet(a.now));
    a.hear(&[32, 5, 5, 0, 4]).unwrap();
    assert!(a.f.wants_packet(a.now));
    a.ack();
    assert_eq!(a.f.poll_timeout(), None);
    a.hear(&[32, 5, 5, 0, 6]).unwrap();
    assert_eq!(a.f.poll_timeout(), Some(a.now + RTT));
    a.wait_almost(RTT);
    assert!(!a.f.wants_packet(a.now));
    a.wait(Duration::from_nanos(1));
    assert!(a.f.wants_packet(a.now));
}

#[test]
fn what_is_due_first_counts() {
    let mut a = end();
    a.f.change_number(WINDOW, 1024);
    a.ack();
    a.wait(RTT);
    a.hear(&[32, 5, 5, 0, 4]).unwrap();
    assert_eq!(a.f.poll_timeout(), Some(a.now));
    assert_eq!(a.ack(), [35, 5, 5, 0, 4]);
    assert_eq!(a.f.poll_timeout(), Some(a.now + FIRST - RTT));
}

#[test]
fn a_changed_preference_requests_a_packet() {
    let mut a = end();
    a.f.change_number(RATIO, 4);
    assert!(a.f.wants_packet(a.now));
}

#[test]
fn a_new_change_lets_the_answers_to_others_arrive() {
    // 4340-6.6.4-3: it would make us ignore a Confirm that does not acknowledge it.
    let mut a = end();
    a.f.change_number(WINDOW, 1024);
    a.ack();
    let hold = a.now + FIRST;
    a.wait(RTT);
    a.f.change_number(RATIO, 4);
    assert_eq!(a.f.poll_timeout(), Some(hold));
    assert_eq!(a.ack(), []);
    a.hear(&[35, 9, 3, 0, 0, 0, 0, 4, 0]).unwrap();
    assert_eq!(a.f.value(Local, WINDOW), 1024);
    assert_eq!(a.ack(), [32, 5, 5, 0, 4]);
    // Not answered in time: both go.
    a.f.change_number(WINDOW, 2048);
    a.now += FIRST;
    assert_eq!(a.ack(), [32, 9, 3, 0, 0, 0, 0, 8, 0, 32, 5, 5, 0, 4]);
    // A repeated Change delays no other.
    a.hear(&[35, 9, 3, 0, 0, 0, 0, 8, 0]).unwrap();
    a.f.change_number(WINDOW, 4096);
    assert_eq!(a.ack(), [32, 9, 3, 0, 0, 0, 0, 16, 0]);
}

#[test]
fn an_unstable_feature_does_not_wait_for_a_repeated_change() {
    // 4340-6.6.5-1
    let mut a = end();
    a.f.change_number(RATIO, 4);
    a.ack();
    a.f.change_number(RATIO, 8);
    assert_eq!(a.f.poll_timeout(), Some(a.now + FIRST));
    assert_eq!(a.ack(), []);
    a.wait(FIRST);
    assert_eq!(a.ack(), [32, 5, 5, 0, 8]);
    a.wait(FIRST);
    assert_eq!(a.ack(), [32, 5, 5, 0, 8]);
    a.f.change_number(RATIO, 16);
    assert_eq!(a.ack(), [32, 5, 5, 0, 16]);
}

#[test]
fn an_outdated_change_is_repeated_while_its_successor_must_wait() {
    // Otherwise it would request a packet without options.
    let mut a = end();
    a.f.change(Remote, NDP, &[1], false);
    for _ in 0..6 {
        assert_eq!(a.ack(), [34, 4, 7, 1]);
        a.now = a.f.poll_timeout().unwrap();
    }
    assert_eq!(a.ack(), [34, 4, 7, 1]);
    a.f.change(Remote, NDP, &[1, 0], false);
    let due = a.f.poll_timeout().unwrap();
    a.now = due - RTT;
    a.f.change_number(RATIO, 4);
    assert_eq!(a.ack(), [32, 5, 5, 0, 4]);
    a.now = due;
    assert_eq!(a.ack(), [34, 4, 7, 1]);
    // The ninth is not held up by anybody.
    a.hear(&[35, 5, 5, 0, 4]).unwrap();
    a.wait(Duration::from_secs(64));
    assert_eq!(a.ack(), [34, 5, 7, 1, 0]);
}

#[test]
fn options_that_do_not_fit_request_one_packet_per_round_trip() {
    // 4340-6.6.1-3
    let mut a = end();
    a.f.change_number(WINDOW, 1024);
    assert!(a.f.wants_packet(a.now));
    assert_eq!(a.send_within(P::Ack, 4).bytes, []);
    assert_eq!(a.f.poll_timeout(), Some(a.now + RTT));
}

/// The peer's Change L of its Sequence Window to `n`; the answer has 9 bytes.
fn window(n: u8) -> [u8; 9] {
    [32, 9, 3, 0, 0, 0, 0, 1, n]
}

#[test]
fn options_that_leave_with_another_packet_restart_the_round_trip() {
    // 4340-6.6.1-3
    let mut a = end();
    a.hear(&window(1)).unwrap();
    assert_eq!(a.ack().len(), 9);
    a.wait(RTT / 2);
    a.hear(&window(2)).unwrap();
    assert!(!a.f.wants_packet(a.now));
    assert_eq!(a.ack().len(), 9);
    a.hear(&window(3)).unwrap();
    assert_eq!(a.f.poll_timeout(), Some(a.now + RTT));
}

#[test]
fn confirms_must_be_said_again_until_a_packet_had_them_all() {
    // LINUX-22: beside data only if there is room for all; no packet has more room than an Ack.
    let end = || {
        let mut a = end();
        a.f.repeat_confirms();
        a.hear(&window(1)).unwrap();
        assert_eq!(a.f.repeated_len(), 0);
        assert_eq!(a.ack().len(), 9);
        assert_eq!(a.f.repeated_len(), 9);
        a
    };
    for (packet_type, room, is_said) in [
        (P::DataAck, 8, false),
        (P::DataAck, 12, true),
        (P::Ack, 8, true),
        (P::Ack, 12, true),
        (P::Data, 12, false),
    ] {
        let mut a = end();
        a.send_within(packet_type, room);
        assert_eq!(a.f.repeated_len() == 0, is_said, "{packet_type:?} {room}");
    }
    // A new one that finds no room beside the repeated one must still be said.
    let mut a = end();
    a.hear(&window(2)).unwrap();
    assert_eq!(a.send_within(P::DataAck, 12).bytes.len(), 9);
    assert_eq!(a.f.repeated_len(), 9);
    // Of these there is a bound.
    for unknown in 20..80 {
        a.hear(&[32, 4, unknown, 1]).unwrap();
        a.send_within(P::DataAck, 1008);
    }
    assert_eq!(a.f.repeated().count(), PENDING_CONFIRMS);
}
