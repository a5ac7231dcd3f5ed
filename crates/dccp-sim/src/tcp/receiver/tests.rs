use super::*;
use crate::frame::segment::Timestamps;
use crate::testing;

const LEN: u64 = 1000;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The receiver after these segments of 1000 bytes, by their positions.
fn after(segments: &[u64]) -> Receiver {
    let mut r = Receiver::new(&Config::default());
    for &n in segments {
        arrive(&mut r, n);
    }
    r
}

fn arrive(r: &mut Receiver, position: u64) -> u64 {
    r.on_segment(at(0), &testing::segment(), position * LEN, Ecn::NotEct)
}

fn block(from: u64, to: u64) -> (u32, u32) {
    (wire_number(from * LEN), wire_number(to * LEN))
}

#[test]
fn every_second_segment_is_acknowledged_and_a_single_one_after_a_while() {
    let mut r = after(&[0]);
    assert!(!r.is_ack_due(at(39)));
    assert!(r.is_ack_due(at(40)));
    assert_eq!(r.ack_at(), Some(at(40)));
    arrive(&mut r, 1);
    assert!(r.is_ack_due(at(0)));
    r.on_ack_sent();
    assert!(!r.is_ack_due(at(40)) && r.ack_at().is_none());
    assert_eq!(r.next(), 2000);
}

#[test]
fn gaps_copies_and_filled_gaps_are_reported_at_once() {
    // RFC 5681 §4.2
    for segments in [&[0, 1, 3][..], &[0, 1, 1], &[1, 0]] {
        let (last, before) = segments.split_last().unwrap();
        let mut r = after(before);
        r.on_ack_sent();
        arrive(&mut r, *last);
        assert!(r.is_ack_due(at(0)), "{segments:?}");
    }
}

#[test]
fn the_application_gets_bytes_in_order() {
    let mut r = after(&[0, 2, 3, 5]);
    assert_eq!(r.received.bytes, 1000);
    assert_eq!(arrive(&mut r, 1), 3000);
    assert_eq!(arrive(&mut r, 2), 0);
    assert_eq!(arrive(&mut r, 4), 2000);
    assert_eq!(
        (r.next(), r.received.segments, r.received.bytes),
        (6000, 6, 6000)
    );
    assert_eq!(r.received.reordered, 2);
    assert!(!r.has_blocks());
}

#[test]
fn the_newest_block_is_reported_first_and_three_at_most() {
    // RFC 2018 §4
    let mut r = after(&[0, 2, 4, 6, 8]);
    assert_eq!(r.sack().blocks(), [block(8, 9), block(6, 7), block(4, 5)]);
    arrive(&mut r, 5);
    assert_eq!(r.sack().blocks(), [block(4, 7), block(8, 9)]);
    arrive(&mut r, 1);
    assert_eq!(r.sack().blocks(), [block(4, 7), block(8, 9)]);
    arrive(&mut r, 3);
    arrive(&mut r, 7);
    assert_eq!(r.sack().blocks(), []);
}

#[test]
fn marks_are_echoed_until_the_sender_says_that_it_knows() {
    // RFC 3168 §6.1.3
    let mut r = after(&[0]);
    assert_eq!(r.flags(), Flags::default());
    r.on_segment(at(0), &testing::segment(), LEN, Ecn::Ce);
    arrive(&mut r, 2);
    assert_eq!(r.flags(), Flags::ECE);
    let cwr = Segment {
        flags: Flags::ACK.with(Flags::CWR),
        ..testing::segment()
    };
    r.on_segment(at(0), &cwr, 3 * LEN, Ecn::Ce);
    assert_eq!(r.flags(), Flags::ECE, "marked again");
    r.on_segment(at(0), &cwr, 4 * LEN, Ecn::NotEct);
    assert_eq!((r.flags(), r.received.marked), (Flags::default(), 2));
}

#[test]
fn the_timestamp_of_the_first_segment_not_acknowledged_is_echoed() {
    // RFC 7323 §4.3
    let mut r = after(&[]);
    let stamped = |r: &mut Receiver, position: u64, value| {
        let timestamps = Some(Timestamps { value, echo: 0 });
        let segment = Segment {
            timestamps,
            ..testing::segment()
        };
        r.on_segment(at(0), &segment, position * LEN, Ecn::NotEct);
        r.echo()
    };
    assert_eq!(stamped(&mut r, 0, 7), 7);
    assert_eq!(stamped(&mut r, 1, 8), 7, "delayed");
    r.on_ack_sent();
    assert_eq!(stamped(&mut r, 3, 9), 7, "beyond a gap");
    assert_eq!(stamped(&mut r, 2, 10), 10);
}

#[test]
fn the_end_counts_as_a_number_and_is_reported_at_once() {
    let fin = Segment {
        flags: Flags::ACK.with(Flags::FIN),
        ..testing::segment()
    };
    let mut r = after(&[0]);
    assert_eq!(r.on_segment(at(0), &fin, 2 * LEN, Ecn::NotEct), 0);
    assert!(!r.is_finished());
    assert_eq!(arrive(&mut r, 1), 2000);
    assert!(r.is_finished() && r.is_ack_due(at(0)));
    assert_eq!(r.next(), 3001);
}
