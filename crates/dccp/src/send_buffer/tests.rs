use super::*;
use dccp_proto::queue::FateCounts;
use dccp_proto::wire::ChecksumRule;

const NOW: Instant = Instant::ZERO;

impl SendBuffer {
    fn send(&mut self, payload: Payload<'_>) -> Option<DatagramId> {
        self.push(payload, Wishes::default())
    }
}

fn buffer(packets: usize, fates: usize) -> SendBuffer {
    SendBuffer::new(Buffers {
        send_packets: packets,
        fates,
        ..Buffers::default()
    })
}

fn labelled(label: QueueLabel) -> Wishes {
    Wishes {
        label,
        ..Wishes::default()
    }
}

fn fates(buffer: &mut SendBuffer) -> Vec<(u64, Fate)> {
    let mut reports = Vec::new();
    buffer.pop_fates(&mut reports, 100);
    reports.iter().map(|r| (r.id.0, r.fate)).collect()
}

fn claimed(buffer: &mut SendBuffer) -> (Slot, Vec<u8>) {
    let offer = buffer.peek(NOW).unwrap();
    let mut bytes = vec![7; if offer.is_zeros { 0 } else { offer.len }];
    let mut place = Place::new(&mut bytes, 0, ChecksumRule::Udp);
    assert!(buffer.claim_into(NOW, offer.slot, &mut place));
    (offer.slot, bytes)
}

#[test]
fn datagrams_leave_in_order() {
    let mut buffer = buffer(2, 0);
    assert_eq!(buffer.send(Payload::Bytes(b"one")), Some(DatagramId(0)));
    assert_eq!(buffer.send(Payload::Zeros(9)), Some(DatagramId(1)));
    assert_eq!(buffer.send(Payload::Zeros(9)), None);
    assert_eq!(claimed(&mut buffer).1, b"one");
    assert!(buffer.has_room());
    let offer = buffer.peek(NOW).unwrap();
    assert_eq!((offer.len, offer.is_zeros), (9, true));
}

#[test]
fn every_datagram_has_one_fate() {
    let mut buffer = buffer(8, 8);
    for _ in 0..5 {
        buffer.send(Payload::Zeros(1));
    }
    let (a, _) = claimed(&mut buffer);
    let (b, _) = claimed(&mut buffer);
    buffer.on_fate(NOW, b, Fate::Lost);
    buffer.on_fate(NOW, a, Fate::Acked);
    let offer = buffer.peek(NOW).unwrap();
    buffer.refuse(NOW, offer.slot, Fate::TooBig);
    let (d, _) = claimed(&mut buffer);
    assert_eq!(buffer.counts().in_flight, 1);
    buffer.on_fate(NOW, d, Fate::Sent);
    buffer.end(NOW);
    let expected = [
        (1, Fate::Lost),
        (0, Fate::Acked),
        (2, Fate::TooBig),
        (3, Fate::Sent),
        (4, Fate::Withdrawn),
    ];
    assert_eq!(fates(&mut buffer), expected);
    assert_eq!(
        buffer.counts(),
        SendCounts {
            pushed: 5,
            fates: FateCounts {
                lost: 1,
                acked: 1,
                too_big: 1,
                sent: 1,
                withdrawn: 1,
                ..FateCounts::default()
            },
            ..SendCounts::default()
        }
    );
}

#[test]
fn dropped_datagram_has_its_fate_at_once() {
    let mut buffer = buffer(2, 8);
    let key = QueueLabel {
        key: Some(7),
        ..QueueLabel::default()
    };
    buffer.push(Payload::Bytes(b"old"), labelled(key));
    buffer.push(Payload::Bytes(b"new"), labelled(key));
    buffer.send(Payload::Zeros(1));
    let last = buffer.push(
        Payload::Bytes(b"last"),
        Wishes {
            when_full: WhenFull::DropOldest,
            ..Wishes::default()
        },
    );
    assert_eq!(last, Some(DatagramId(3)));
    assert!(buffer.has_fates());
    assert_eq!(
        fates(&mut buffer),
        [(0, Fate::Superseded), (1, Fate::Overflowed)]
    );
    assert_eq!(claimed(&mut buffer).1, [0; 0]);
    assert_eq!(claimed(&mut buffer).1, b"last");
    assert_eq!(buffer.entries.len(), 3, "slots are reused");
}

#[test]
fn one_turn_expires_a_bounded_number_of_datagrams() {
    let late = QueueLabel {
        deadline: Some(NOW),
        ..QueueLabel::default()
    };
    let now = Instant::from_nanos(1);
    let n = EXPIRED_MAX as usize;
    let mut buffer = buffer(n + 2, 0);
    for _ in 0..=n {
        buffer.push(Payload::Zeros(1), labelled(late));
    }
    buffer.send(Payload::Zeros(2));
    assert_eq!(buffer.peek(now), None);
    assert!(matches!(buffer.waiting(now), Waiting::OnRequest));
    assert_eq!(buffer.counts().fates.expired, u64::from(EXPIRED_MAX));
    assert!(buffer.end_turn(), "there is more");
    assert_eq!(buffer.peek(now).map(|offer| offer.len), Some(2));
    assert_eq!(buffer.counts().fates.expired, u64::from(EXPIRED_MAX) + 1);
    assert!(!buffer.end_turn());
}

#[test]
fn unused_name_is_given_again() {
    let mut buffer = buffer(4, 0);
    let id = buffer.reserve_id();
    buffer.return_id(id);
    assert_eq!(buffer.send(Payload::Zeros(1)), Some(id));
    let unused = buffer.reserve_id();
    assert_eq!(buffer.send(Payload::Zeros(1)), Some(DatagramId(2)));
    buffer.return_id(unused);
    assert_eq!(buffer.send(Payload::Zeros(1)), Some(DatagramId(3)));
    assert_eq!(buffer.counts().pushed, 3);
}

#[test]
fn unread_fates_are_bounded_and_counted() {
    let mut buffer = buffer(4, 2);
    for _ in 0..3 {
        buffer.send(Payload::Zeros(1));
        let (slot, _) = claimed(&mut buffer);
        buffer.on_fate(NOW, slot, Fate::Acked);
    }
    let mut reports = Vec::new();
    buffer.pop_fates(&mut reports, 100);
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0].id, DatagramId(1));
    assert_eq!(buffer.counts().fates_missed, 1);
}

#[test]
fn fates_are_stored_from_the_request_on() {
    let mut buffer = buffer(4, 0);
    buffer.send(Payload::Zeros(1));
    buffer.store_fates(2);
    buffer.send(Payload::Zeros(1));
    for _ in 0..2 {
        let (slot, _) = claimed(&mut buffer);
        buffer.on_fate(NOW, slot, Fate::Sent);
    }
    assert_eq!(fates(&mut buffer), [(1, Fate::Sent)]);
}

#[test]
fn slots_and_memory_are_reused() {
    let mut buffer = buffer(4, 0);
    for _ in 0..100 {
        buffer.send(Payload::Bytes(&[1; 100]));
        let (slot, _) = claimed(&mut buffer);
        buffer.on_fate(NOW, slot, Fate::Acked);
    }
    assert_eq!(buffer.entries.len(), 1);
    assert_eq!(buffer.spare.len(), 1);
}

#[test]
fn sender_is_woken_for_a_batch() {
    let mut buffer = buffer(256, 0);
    for _ in 0..256 {
        buffer.send(Payload::Zeros(1));
    }
    for _ in 0..63 {
        claimed(&mut buffer);
    }
    assert!(buffer.has_room() && !buffer.is_worth_filling());
    claimed(&mut buffer);
    assert!(buffer.is_worth_filling());
}

#[test]
fn report_has_times_size_and_tag() {
    let mut buffer = buffer(8, 8);
    let before = clock::now();
    let wishes = Wishes {
        tag: 77,
        ..Wishes::default()
    };
    buffer.push(Payload::Zeros(5), wishes);
    buffer.push(Payload::Zeros(6), wishes);
    let left = clock::now() + Duration::from_secs(1);
    let offer = buffer.peek(left).unwrap();
    assert!(buffer.claim_into(
        left,
        offer.slot,
        &mut Place::new(&mut [], 0, ChecksumRule::Udp)
    ));
    let told = left + Duration::from_secs(1);
    buffer.on_fate(told, offer.slot, Fate::Acked);
    buffer.end(told);
    let mut reports = Vec::new();
    buffer.pop_fates(&mut reports, 100);
    let [acked, withdrawn] = reports[..] else {
        panic!("{reports:?}");
    };
    assert_eq!((acked.tag, acked.len, acked.fate), (77, 5, Fate::Acked));
    assert!((before..left).contains(&acked.queued));
    assert_eq!((acked.sent, acked.told), (Some(left), told));
    assert_eq!((withdrawn.len, withdrawn.sent), (6, None));
}

#[test]
fn socket_wide_lifetime_bounds_every_deadline() {
    let mut buffer = buffer(8, 8);
    let lifetime = Duration::from_secs(10);
    buffer.set_limits(Buffers {
        send_packets: 8,
        fates: 8,
        lifetime: Some(lifetime),
        ..Buffers::default()
    });
    let soon = clock::now() + lifetime / 2;
    let late = clock::now() + 2 * lifetime;
    for deadline in [None, Some(late), Some(soon)] {
        let label = QueueLabel {
            deadline,
            ..QueueLabel::default()
        };
        buffer.push(Payload::Zeros(1), labelled(label));
    }
    assert!(buffer.take_earlier_expiry());
    assert_eq!(buffer.expire(clock::now()), Some(soon));
    let end = clock::now() + lifetime;
    assert_eq!(buffer.expire(end), None);
    assert_eq!(fates(&mut buffer), [2, 0, 1].map(|id| (id, Fate::Expired)));
}

#[test]
fn only_an_earlier_deadline_needs_a_new_timer() {
    let mut buffer = buffer(8, 0);
    let due = |s| {
        labelled(QueueLabel {
            deadline: Some(clock::now() + Duration::from_secs(s)),
            ..QueueLabel::default()
        })
    };
    for (s, is_earlier) in [(20, true), (30, false), (10, true)] {
        buffer.push(Payload::Zeros(1), due(s));
        assert_eq!(buffer.take_earlier_expiry(), is_earlier, "{s} s");
        assert!(buffer.expire(clock::now()).is_some());
    }
}

#[test]
fn bytes_bound_the_buffer_too() {
    let mut buffer = buffer(8, 8);
    buffer.set_limits(Buffers {
        send_packets: 8,
        send_bytes: 1000,
        fates: 8,
        ..Buffers::default()
    });
    assert!(buffer.send(Payload::Zeros(999)).is_some());
    assert!(buffer.send(Payload::Zeros(999)).is_some());
    assert_eq!(buffer.send(Payload::Zeros(1)), None);
    claimed(&mut buffer);
    assert!(buffer.has_room() && !buffer.is_worth_filling());
    claimed(&mut buffer);
    assert!(buffer.is_worth_filling());
}

#[test]
fn datagrams_are_withdrawn_by_tag() {
    let mut buffer = buffer(8, 8);
    for tag in [1, 2, 1] {
        let wishes = Wishes {
            tag,
            ..Wishes::default()
        };
        buffer.push(Payload::Bytes(&[0; 10]), wishes);
    }
    assert_eq!(buffer.withdraw_if(NOW, |datagram| datagram.tag == 1), 2);
    assert_eq!(fates(&mut buffer), [0, 2].map(|id| (id, Fate::Withdrawn)));
    assert_eq!(buffer.len(), 1);
}

#[test]
fn fillers_have_no_report() {
    let mut buffer = buffer(8, 8);
    buffer.push_filler(&[0; 100]);
    assert_eq!(buffer.send(Payload::Zeros(1)), Some(DatagramId(0)));
    for _ in 0..2 {
        let (slot, _) = claimed(&mut buffer);
        buffer.on_fate(NOW, slot, Fate::Acked);
    }
    assert_eq!(fates(&mut buffer), [(0, Fate::Acked)]);
    let counts = buffer.counts();
    assert_eq!(
        (counts.pushed, counts.fillers, counts.fates.acked),
        (2, 1, 2)
    );
    assert_eq!(buffer.sent_bytes(), 101);
}
