use super::*;
use crate::seq::Seq;

const NOW: Instant = Instant::from_nanos(0x1234_5678_9ABC_DEF0);

fn record(ccval: u8, has_vector: bool, data: Option<Data>) -> Record {
    let packet = SentPacket {
        now: NOW,
        seq: Seq::ZERO,
        ccval,
        has_vector,
        data: None,
    };
    Record::new(&packet, data)
}

fn data(slot: u32, len: u16) -> Data {
    Data {
        slot: Slot(slot),
        len,
        stamp: Stamp {
            delivered: (1 << 36) - 2,
            delivered_at: NOW - Duration::from_nanos(1),
            first_sent_at: NOW,
            is_app_limited: false,
        },
        is_dropped: false,
    }
}

#[test]
fn a_record_takes_28_bytes() {
    assert_eq!(size_of::<Record>(), 28);
}

#[test]
fn a_record_keeps_what_it_is_given() {
    let r = record(0, false, None);
    assert_eq!((r.sent_at(), r.ccval(), r.has_vector()), (NOW, 0, false));
    assert_eq!((r.is(State::InFlight), r.len()), (true, None));
    assert!(r.data().is_none());
    let r = record(15, true, Some(data(u32::MAX, u16::MAX)));
    assert_eq!((r.sent_at(), r.ccval(), r.has_vector()), (NOW, 15, true));
    assert_eq!((r.is(State::InFlight), r.len()), (true, Some(u16::MAX)));
    let kept = r.data().unwrap();
    assert_eq!((kept.slot, kept.len), (Slot(u32::MAX), u16::MAX));
    assert_eq!((kept.is_dropped, kept.stamp.is_app_limited), (false, false));
    assert_eq!(kept.stamp.delivered, (1 << 36) - 2);
    assert_eq!(kept.stamp.delivered_at, NOW - Duration::from_nanos(1));
    assert_eq!(kept.stamp.first_sent_at, NOW);
    let mut odd = data(0, 0);
    odd.is_dropped = true;
    odd.stamp.is_app_limited = true;
    let kept = record(5, false, Some(odd)).data().unwrap();
    assert_eq!((kept.slot, kept.len), (Slot(0), 0));
    assert!(kept.is_dropped && kept.stamp.is_app_limited);
}

#[test]
fn a_state_changes_nothing_else() {
    let mut r = record(10, true, Some(data(0, 0)));
    // Whether the fate is open, and whether the peer has the packet.
    for (state, is_open, is_received) in [
        (State::TimedOut, true, false),
        (State::Passed, false, false),
        (State::Lost, false, false),
        (State::Received, false, true),
        (State::Marked, false, true),
        (State::InFlight, true, false),
    ] {
        r.set_state(state);
        assert_eq!((r.is(state), r.ccval(), r.has_vector()), (true, 10, true));
        assert_eq!((r.is_open(), r.is_received()), (is_open, is_received));
        assert_eq!((r.len(), r.data().unwrap().slot), (Some(0), Slot(0)));
    }
    assert!(r.note_drop());
    assert!(!r.note_drop());
    assert!(r.data().unwrap().is_dropped);
    assert_eq!((r.is(State::InFlight), r.ccval()), (true, 10));
}

#[test]
fn only_packets_with_data_have_a_fate() {
    for (data, told) in [(None, vec![]), (Some(data(7, 1)), vec![7])] {
        let mut fates = Vec::new();
        let record = record(0, false, data);
        record.tell(&mut |slot, _| fates.push(slot.0), Fate::Sent);
        assert_eq!(fates, told);
    }
}

#[test]
fn times_are_exact_to_2_s_then_to_a_microsecond() {
    let kept = |ns: u64| {
        let span = Span::between(NOW - Duration::from_nanos(ns), NOW);
        NOW.as_nanos() - span.before(NOW).as_nanos()
    };
    let coarse = 1 << 31;
    for exact in [0, 1, 1_000_000_007, coarse - 1, coarse, coarse + 1024] {
        assert_eq!(kept(exact), exact);
    }
    assert_eq!(kept(coarse + 1023), coarse);
    let longest = (coarse - 1) << 10;
    assert_eq!(kept(longest), longest);
    assert_eq!(kept(longest + 1024), longest);
    assert_eq!(kept(u64::from(u32::MAX) << 20), longest);
    // A clock that steps back must not panic.
    assert_eq!(Span::between(NOW + Duration::from_nanos(5), NOW).0, 0);
}
