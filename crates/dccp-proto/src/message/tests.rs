use super::*;
use crate::queue::Fate;
use crate::time::Instant;
use core::time::Duration;
use proptest::prelude::*;
use std::collections::BTreeMap;

const T: Instant = Instant::from_nanos(1_000_000_000);
const MS: Duration = Duration::from_millis(1);

fn sender() -> MessageSender {
    MessageSender::new(SendLimits::default())
}

fn due(ms: u32) -> MessageLabel {
    MessageLabel {
        deadline: Some(T + ms * MS),
        ..MessageLabel::default()
    }
}

/// Cuts the next fragment of at most `len` bytes of data.
fn cut(sender: &mut MessageSender, name: u64, len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let is_cut = sender.fill(T, name, HEADER_LEN + len, &mut out);
    is_cut.then_some(out)
}

fn reports(sender: &mut MessageSender) -> Vec<(u64, Fate)> {
    let next = || sender.poll_report().map(|r| (r.id.0, r.fate));
    core::iter::from_fn(next).collect()
}

#[test]
fn the_header_has_the_documented_bytes() {
    let header = Header {
        number: 0x0102_0304,
        len: 0x0005_0607,
        offset: 0x0008_090a,
    };
    let bytes = [1, 5, 6, 7, 1, 2, 3, 4, 0, 8, 9, 10];
    assert_eq!(header.to_bytes(), bytes);
    assert_eq!(Header::parse(&bytes), Some((header, &[][..])));
    for (at, value) in [(0, 2), (8, 1)] {
        let mut wrong = bytes;
        wrong[at] = value;
        assert_eq!(Header::parse(&wrong), None);
    }
    assert_eq!(Header::parse(&bytes[..11]), None);
}

#[test]
fn a_service_code_says_that_messages_are_sent() {
    let code = service_code(*b"vid");
    assert_eq!(code, ServiceCode::from_ascii(*b"Mvid"));
    assert!(is_message_service(code));
    assert!(!is_message_service(ServiceCode::NONE));
}

#[test]
fn a_message_is_acknowledged_when_all_its_fragments_are() {
    let mut sender = sender();
    sender
        .push(T, vec![7; 25], MessageLabel::default())
        .unwrap();
    let lens = [1, 2, 3].map(|name| cut(&mut sender, name, 10).unwrap().len() - HEADER_LEN);
    assert_eq!(lens, [10, 10, 5]);
    assert_eq!(cut(&mut sender, 4, 10), None);
    sender.on_fate(T, 3, Fate::AckedCe);
    sender.on_fate(T, 1, Fate::Acked);
    assert_eq!(reports(&mut sender), []);
    sender.on_fate(T, 2, Fate::Acked);
    assert_eq!(reports(&mut sender), [(0, Fate::AckedCe)]);
    assert!(sender.is_empty());
}

#[test]
fn the_rest_of_a_broken_message_is_not_sent() {
    for fate in [Fate::Lost, Fate::RxDropped(2), Fate::Limited] {
        let mut sender = sender();
        sender
            .push(T, vec![7; 100], MessageLabel::default())
            .unwrap();
        sender.push(T, vec![8; 5], MessageLabel::default()).unwrap();
        cut(&mut sender, 1, 10).unwrap();
        cut(&mut sender, 2, 10).unwrap();
        sender.on_fate(T, 1, fate);
        assert_eq!(reports(&mut sender), [(0, fate)]);
        let next = cut(&mut sender, 3, 10).unwrap();
        assert_eq!(next[HEADER_LEN..], [8; 5]);
        sender.on_fate(T, 2, Fate::Acked);
        assert_eq!(reports(&mut sender), []);
    }
}

#[test]
fn a_message_that_cannot_finish_in_time_does_not_begin() {
    let mut sender = sender();
    sender
        .push(T, vec![0; 10], MessageLabel::default())
        .unwrap();
    cut(&mut sender, 0, 10).unwrap();
    // 1000 bytes take 100 ms.
    sender.set_rate(Some(80_000));
    sender.push(T, vec![1; 1000], due(99)).unwrap();
    sender.push(T, vec![2; 1000], due(100)).unwrap();
    let next = cut(&mut sender, 1, 10).unwrap();
    assert_eq!(next[HEADER_LEN..], [2; 10]);
    assert_eq!(reports(&mut sender), [(1, Fate::Expired)]);
    // A message that has begun goes on until its rest needs twice the time that is left.
    sender.set_rate(Some(40_000));
    assert!(cut(&mut sender, 2, 10).is_some());
    sender.set_rate(Some(20_000));
    assert_eq!(cut(&mut sender, 3, 10), None);
    assert_eq!(reports(&mut sender), [(2, Fate::Expired)]);
}

#[test]
fn a_message_begins_in_spite_of_the_rate_after_a_silence() {
    let mut sender = sender();
    sender
        .push(T, vec![0; 10], MessageLabel::default())
        .unwrap();
    cut(&mut sender, 0, 10).unwrap();
    // The window after an outage: 1000 bytes take 10 s.
    sender.set_rate(Some(800));
    let mut fill = |at: Instant, name| {
        let label = MessageLabel {
            deadline: Some(at + 50 * MS),
            ..MessageLabel::default()
        };
        sender.push(at, vec![1; 1000], label).unwrap();
        let mut out = Vec::new();
        let first = sender.fill(at, name, HEADER_LEN + 500, &mut out);
        (
            first,
            sender.fill(at + 20 * MS, name + 1, HEADER_LEN + 500, &mut out),
        )
    };
    assert_eq!(fill(T + 99 * MS, 1), (false, false));
    assert_eq!(fill(T + 120 * MS, 3), (true, true));
    assert_eq!(fill(T + 150 * MS, 5), (false, false));
}

#[test]
fn messages_expire_at_their_deadline() {
    let mut sender = sender();
    sender.push(T, vec![1; 10], due(20)).unwrap();
    sender.push(T, vec![1; 10], due(10)).unwrap();
    assert_eq!(sender.expire(T), Some(T + 10 * MS));
    assert_eq!(sender.expire(T + 10 * MS), Some(T + 20 * MS));
    assert_eq!(reports(&mut sender), [(1, Fate::Expired)]);
    assert_eq!(sender.expire(T + 20 * MS), None);
    assert_eq!(reports(&mut sender), [(0, Fate::Expired)]);
}

#[test]
fn priority_overtakes_and_keys_replace() {
    let mut sender = sender();
    let key = MessageLabel {
        key: Some(9),
        ..MessageLabel::default()
    };
    let urgent = MessageLabel {
        priority: 1,
        ..MessageLabel::default()
    };
    sender.push(T, vec![1; 20], key).unwrap();
    sender.push(T, vec![2; 20], key).unwrap();
    assert_eq!(reports(&mut sender), [(0, Fate::Superseded)]);
    assert_eq!(cut(&mut sender, 1, 10).unwrap()[HEADER_LEN], 2);
    sender.push(T, vec![3; 10], urgent).unwrap();
    assert_eq!(cut(&mut sender, 2, 10).unwrap()[HEADER_LEN], 3);
    // A message that has begun is finished.
    sender.push(T, vec![4; 20], key).unwrap();
    assert_eq!(reports(&mut sender), []);
    assert_eq!(cut(&mut sender, 3, 10).unwrap()[HEADER_LEN], 2);
    assert_eq!(cut(&mut sender, 4, 10).unwrap()[HEADER_LEN], 4);
}

#[test]
fn a_fragment_that_became_too_big_is_cut_again() {
    let mut sender = sender();
    sender
        .push(T, vec![7; 30], MessageLabel::default())
        .unwrap();
    cut(&mut sender, 1, 10).unwrap();
    cut(&mut sender, 2, 20).unwrap();
    sender.on_fate(T, 2, Fate::TooBig);
    let lens = [3, 4].map(|name| cut(&mut sender, name, 10).unwrap().len() - HEADER_LEN);
    assert_eq!(lens, [10, 10]);
    for name in [1, 3, 4] {
        sender.on_fate(T, name, Fate::Acked);
    }
    assert_eq!(reports(&mut sender), [(0, Fate::Acked)]);
}

#[test]
fn waiting_bytes_are_those_that_have_not_been_cut() {
    let mut sender = sender();
    sender.push(T, vec![1; 1000], due(50)).unwrap();
    sender
        .push(T, vec![2; 500], MessageLabel::default())
        .unwrap();
    assert_eq!(sender.waiting_bytes(), 1500);
    cut(&mut sender, 0, 400).unwrap();
    assert_eq!(sender.waiting_bytes(), 1100);
    sender.on_fate(T, 0, Fate::TooBig);
    assert_eq!(sender.waiting_bytes(), 1500);
    cut(&mut sender, 1, 300).unwrap();
    sender.on_fate(T, 1, Fate::Lost);
    assert_eq!(
        sender.waiting_bytes(),
        500,
        "the rest of a broken message does not wait"
    );
    sender.withdraw_if(T, |_, _| true);
    assert_eq!(sender.waiting_bytes(), 0);
}

#[test]
fn the_sender_is_bounded() {
    let mut sender = MessageSender::new(SendLimits {
        messages: 2,
        bytes: 100,
        reports: 1,
    });
    let label = MessageLabel::default();
    assert_eq!(
        sender.push(T, vec![0; LEN_MAX + 1], label),
        Err(NotTaken::TooLong)
    );
    assert!(sender.push(T, vec![0; 200], label).is_ok(), "the only one");
    assert_eq!(sender.push(T, vec![0; 1], label), Err(NotTaken::Full));
    assert_eq!(sender.withdraw_if(T, |_, _| true), 1);
    assert!(sender.push(T, vec![0; 50], label).is_ok());
    let keyed = MessageLabel {
        key: Some(7),
        ..label
    };
    assert!(sender.push(T, vec![0; 50], keyed).is_ok());
    assert_eq!(sender.push(T, vec![], label), Err(NotTaken::Full));
    // A replaced message makes room, but for no more than its length.
    assert_eq!(sender.push(T, vec![0; 51], keyed), Err(NotTaken::Full));
    assert!(sender.push(T, vec![0; 49], keyed).is_ok());
    sender.end(T);
    assert_eq!(sender.reports_missed(), 3);
    assert_eq!(reports(&mut sender), [(3, Fate::Withdrawn)]);
}

fn fragment(number: u32, len: u32, offset: u32, data: &[u8]) -> Vec<u8> {
    let header = Header {
        number,
        len,
        offset,
    };
    [&header.to_bytes(), data].concat()
}

#[test]
fn what_breaks_the_format_has_no_effect() {
    let mut reassembler = Reassembler::new(ReceiveLimits {
        message_len: 100,
        ..ReceiveLimits::default()
    });
    let mut ignored = |bytes: &[u8]| match reassembler.receive(T, bytes) {
        Received::Ignored(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(ignored(&[]), Ignored::Malformed);
    assert_eq!(ignored(&[1; 11]), Ignored::Malformed);
    assert_eq!(ignored(&fragment(0, 10, 5, &[0; 6])), Ignored::Malformed);
    assert_eq!(ignored(&fragment(0, 10, 5, &[])), Ignored::Malformed);
    assert_eq!(ignored(&fragment(0, 101, 5, &[0; 6])), Ignored::TooLong);
    assert_eq!(reassembler.receive(T, &[0; 50]), Received::Padding);
    assert_eq!(reassembler.incomplete(), 0);
}

#[test]
fn repeated_and_contradicting_fragments_are_ignored() {
    let mut reassembler = Reassembler::new(ReceiveLimits::default());
    let overlap = Received::Ignored(Ignored::Overlap);
    let mut receive =
        |len, offset, data: &[u8]| reassembler.receive(T, &fragment(3, len, offset, data));
    assert_eq!(receive(10, 2, &[1; 3]), Received::Fragment);
    for (len, offset, n) in [(10, 2, 3), (10, 0, 3), (10, 4, 1), (10, 0, 10), (11, 6, 1)] {
        assert_eq!(receive(len, offset, &vec![9; n]), overlap);
    }
    assert_eq!(receive(10, 5, &[2; 5]), Received::Fragment);
    let Received::Message(message) = receive(10, 0, &[0; 2]) else {
        panic!("not complete");
    };
    assert_eq!(message.data, [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]);
}

#[test]
fn reassembly_is_bounded() {
    let limits = ReceiveLimits {
        messages: 3,
        bytes: 100,
        ..ReceiveLimits::default()
    };
    let mut reassembler = Reassembler::new(limits);
    for number in 0..10 {
        reassembler.receive(T, &fragment(number, 10, 0, &[1]));
    }
    assert_eq!((reassembler.incomplete(), reassembler.dropped()), (3, 7));
    reassembler.receive(T, &fragment(10, 90, 0, &[1]));
    assert_eq!((reassembler.incomplete(), reassembler.dropped()), (2, 9));
    reassembler.receive(T + limits.age, &fragment(11, 2, 0, &[1]));
    assert_eq!((reassembler.incomplete(), reassembler.dropped()), (1, 11));
    // Fragments with gaps between them.
    let mut reassembler = Reassembler::new(ReceiveLimits::default());
    let scattered: Vec<_> = (0..300)
        .map(|n| reassembler.receive(T, &fragment(0, 1000, 2 * n, &[1])))
        .collect();
    assert_eq!(scattered[255], Received::Fragment);
    assert_eq!(scattered[256], Received::Ignored(Ignored::Scattered));
    assert_eq!(reassembler.dropped(), 1);
}

proptest! {
    #[test]
    fn every_message_whose_fragments_arrive_is_restored(
        messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..20),
        cuts in proptest::collection::vec((1..60_usize, any::<u64>(), 0..10_u8), 1..400),
    ) {
        let mut sender = sender();
        for data in &messages {
            sender.push(T, data.clone(), MessageLabel::default()).unwrap();
        }
        let mut datagrams = Vec::new();
        for (name, (len, order, luck)) in (0..).zip(cuts.iter().cycle()) {
            let Some(datagram) = cut(&mut sender, name, *len) else { break };
            let is_lost = *luck == 0;
            datagrams.push((order.wrapping_mul(name + 1), is_lost, datagram));
        }
        let mut broken = std::collections::BTreeSet::new();
        datagrams.sort();
        let mut reassembler = Reassembler::new(ReceiveLimits::default());
        let mut restored = BTreeMap::new();
        for (_, is_lost, datagram) in datagrams {
            if is_lost {
                let (header, _) = Header::parse(&datagram).unwrap();
                broken.insert(header.number);
                continue;
            }
            if let Received::Message(message) = reassembler.receive(T, &datagram) {
                restored.insert(message.number, message.data);
            }
        }
        let whole: BTreeMap<_, _> = (0..).zip(messages).filter(|(n, _)| !broken.contains(n)).collect();
        prop_assert_eq!(restored, whole);
    }
}
