//! Sequential tests of both sides of a ring; `tests/loom` runs them concurrently.

mod direct;
mod hostile;
mod labels;
mod plain_queue;
mod threads;

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A ring of slots for 16 bytes whose sides never sleep.
fn ring(slots: u32) -> (App, Transport) {
    in_process(Shape::new(slots, 16), silent(), silent()).unwrap()
}

fn tag(tag: u64) -> Label {
    Label {
        tag,
        ..Label::default()
    }
}

/// Claims the next datagram, if there is one.
fn claim(source: &mut Source) -> Option<(Vec<u8>, Label)> {
    let Look::Offer { len } = source.look(0).unwrap() else {
        return None;
    };
    let mut data = vec![0; len];
    let claimed = source.claim_into(&mut data).unwrap().unwrap();
    assert_eq!(claimed.len, len);
    Some((data, claimed.label))
}

/// The tags of all claimable datagrams.
fn claim_all(source: &mut Source) -> Vec<u64> {
    core::iter::from_fn(|| claim(source).map(|(_, label)| label.tag)).collect()
}

/// A bell that the system refuses to ring as often as this says, and the number of attempts.
#[derive(Default)]
struct Refusing {
    refusals: AtomicUsize,
    attempts: AtomicUsize,
}

impl Bell for Refusing {
    fn ring(&self) -> bool {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        let one_less = |n: usize| n.checked_sub(1);
        let refused = self
            .refusals
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        refused.is_err()
    }
}

#[test]
fn refused_wake_up_is_repeated_by_the_next_push() {
    let bell = Arc::new(Refusing::default());
    bell.refusals.store(2, Ordering::SeqCst);
    let shape = Shape::new(8, 16);
    let (mut app, mut transport) = in_process(shape, silent(), bell.clone()).unwrap();
    assert_eq!(transport.source.look(0), Ok(Look::Nothing));
    for attempts in [1, 2, 3, 3] {
        app.sender.push(&[7], Label::default()).unwrap();
        assert_eq!(bell.attempts.load(Ordering::SeqCst), attempts);
    }
}

#[test]
fn oversized_datagram_is_refused() {
    let (mut app, mut transport) = ring(2);
    let too_long = PushError::TooLong { len: 17, max: 16 };
    assert_eq!(app.sender.push(&[0; 17], tag(1)), Err(too_long));
    let first = app.sender.push(&[0; 16], tag(1)).unwrap().ticket;
    app.sender.push(&[], tag(2)).unwrap();
    assert_eq!(app.sender.push(&[], tag(3)), Err(PushError::Full));
    let too_long = ChangeError::TooLong { len: 17, max: 16 };
    assert_eq!(app.sender.revise(first, &[0; 17], tag(9)), Err(too_long));
    assert_eq!((app.sender.room(), app.sender.waiting()), (Ok(0), Ok(2)));
    assert_eq!(claim_all(&mut transport.source), [1, 2]);
    assert_eq!((app.sender.room(), app.sender.waiting()), (Ok(2), Ok(0)));
}

#[test]
fn ticket_is_good_only_while_its_datagram_waits() {
    let (mut app, mut transport) = ring(1);
    let sender = &mut app.sender;
    let first = sender.push(&[1], tag(1)).unwrap().ticket;
    assert_eq!(claim_all(&mut transport.source), [1]);
    assert_eq!(sender.withdraw(first), Err(ChangeError::TooLate));
    let second = sender.push(&[2], tag(2)).unwrap().ticket;
    assert_eq!(
        sender.revise(first, &[9], tag(9)),
        Err(ChangeError::TooLate)
    );
    sender.revise(second, &[3], tag(3)).unwrap();
    assert_eq!(sender.withdraw(second), Ok(tag(3)));
    assert_eq!(sender.withdraw(second), Err(ChangeError::TooLate));
    assert_eq!(claim_all(&mut transport.source), []);
}

#[test]
fn ticket_of_another_ring_identifies_no_datagram() {
    let (mut other, _transport) = ring(8);
    let foreign: Vec<_> = (0..8)
        .map(|n| other.sender.push(&[], tag(n)).unwrap().ticket)
        .collect();
    let (mut app, mut transport) = ring(2);
    for ticket in foreign {
        assert_eq!(app.sender.withdraw(ticket), Err(ChangeError::TooLate));
        let revised = app.sender.revise(ticket, &[], tag(9));
        assert_eq!(revised, Err(ChangeError::TooLate));
    }
    app.sender.push(&[1], tag(1)).unwrap();
    assert_eq!(claim_all(&mut transport.source), [1]);
}

#[test]
#[should_panic(expected = "the offered length")]
fn datagram_is_not_claimed_into_a_buffer_of_another_length() {
    let (mut app, mut transport) = ring(2);
    app.sender.push(&[1], tag(1)).unwrap();
    assert_eq!(transport.source.look(0), Ok(Look::Offer { len: 1 }));
    // The buffer would hold bytes from behind the slot.
    _ = transport.source.claim_into(&mut [0; 300]);
}

#[test]
fn datagram_expires_at_its_deadline() {
    let (mut app, mut transport) = ring(4);
    let due = |tag, at| Label {
        tag,
        deadline_ns: Some(at),
        ..Label::default()
    };
    for (tag, at) in [(1, 11), (2, 13), (3, 12)] {
        app.sender.push(&[1], due(tag, at)).unwrap();
    }
    let source = &mut transport.source;
    assert_eq!(source.look(10), Ok(Look::Offer { len: 1 }));
    let expired = |tag, at| Claimed {
        len: 1,
        label: due(tag, at),
    };
    assert_eq!(source.look(11), Ok(Look::Expired(expired(1, 11))));
    assert_eq!(source.look(12), Ok(Look::Offer { len: 1 }));
    assert_eq!(source.claim_into(&mut [0]), Ok(Some(expired(2, 13))));
    assert_eq!(source.look(12), Ok(Look::Expired(expired(3, 12))));
    assert_eq!(source.look(12), Ok(Look::Nothing));
}

#[test]
fn claim_without_offer_takes_nothing() {
    let (mut app, mut transport) = ring(2);
    let source = &mut transport.source;
    app.sender.push(&[1], tag(1)).unwrap();
    assert_eq!(source.claim_into(&mut [0]), Ok(None), "not looked at");
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    let refused = Claimed {
        len: 1,
        label: tag(1),
    };
    assert_eq!(source.refuse(), Ok(Some(refused)));
    assert_eq!(source.refuse(), Ok(None), "not twice");
    assert_eq!(source.waiting(), 0);
}

#[test]
fn datagrams_claimed_ahead_and_not_taken_are_given_back() {
    let (mut app, mut transport) = ring(8);
    let source = &mut transport.source;
    let tickets: Vec<_> = (0..6)
        .map(|n| app.sender.push(&[n], tag(n.into())).unwrap().ticket)
        .collect();
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    source.claim_ahead(3).unwrap();
    let too_late = Err(ChangeError::TooLate);
    assert_eq!(app.sender.withdraw(tickets[2]), too_late);
    assert_eq!(app.sender.withdraw(tickets[3]), Ok(tag(3)));
    let mut buf = [9];
    assert_eq!(source.claim_into(&mut buf).unwrap().unwrap().label, tag(0));
    assert_eq!(app.sender.room(), Ok(3), "the first step is not over");
    // A second step begins when the first is over.
    source.claim_ahead(8).unwrap();
    assert_eq!(app.sender.withdraw(tickets[4]), Ok(tag(4)));
    source.flush();
    assert_eq!(app.sender.room(), Ok(5), "what was taken is free");
    assert_eq!(source.claim_into(&mut buf), Ok(None), "not offered again");
    assert_eq!(app.sender.withdraw(tickets[0]), too_late);
    assert_eq!(app.sender.withdraw(tickets[1]), Ok(tag(1)));
    assert_eq!(claim_all(source), [2, 5]);
    assert_eq!(source.look(0), Ok(Look::Nothing));
}

#[test]
fn claim_ahead_is_bounded_by_one_system_call() {
    let (mut app, mut transport) = ring(128);
    for n in 0..100 {
        app.sender.push(&[], tag(n)).unwrap();
    }
    transport.source.claim_ahead(u32::MAX).unwrap();
    assert_eq!(app.sender.take_back(usize::MAX).unwrap().len(), 100 - 64);
}

#[test]
fn datagram_changed_after_offer_is_offered_again() {
    let (mut app, mut transport) = ring(2);
    let source = &mut transport.source;
    let first = app.sender.push(&[1], tag(1)).unwrap().ticket;
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    app.sender.revise(first, &[2, 3], tag(2)).unwrap();
    assert_eq!(source.claim_into(&mut [0]), Ok(None));
    assert_eq!(claim(source), Some((vec![2, 3], tag(2))));
    // While it is held, too.
    app.sender.push(&[4], tag(4)).unwrap();
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    let held = app.sender.take_back(9).unwrap();
    assert_eq!(source.claim_into(&mut [0]), Ok(None));
    assert_eq!(source.look(0), Ok(Look::Nothing));
    drop(held);
    assert_eq!(claim(source), Some((vec![4], tag(4))));
}

#[test]
fn urgent_datagrams_overtake_those_directly_before_them() {
    let (mut app, mut transport) = ring(8);
    for (tag, priority) in [(1, 0), (2, 5), (3, 0), (4, 1), (5, 1), (6, 2)] {
        let label = Label {
            tag,
            priority,
            ..Label::default()
        };
        app.sender.push(&[], label).unwrap();
    }
    assert_eq!(claim_all(&mut transport.source), [2, 6, 4, 5, 1, 3]);
}

#[test]
fn newer_datagram_supersedes_same_key() {
    let (mut app, mut transport) = ring(4);
    let keyed = |number, key| Label {
        key: Some(key),
        ..tag(number)
    };
    let sender = &mut app.sender;
    let first = sender.push(&[1], keyed(1, 7)).unwrap();
    assert_eq!(first.superseded, None);
    sender.push(&[2], keyed(2, 8)).unwrap();
    let third = sender.push(&[3, 3], keyed(3, 7)).unwrap();
    assert_eq!(third.superseded, Some(keyed(1, 7)));
    assert_eq!(sender.withdraw(first.ticket), Err(ChangeError::TooLate));
    assert_eq!(
        claim(&mut transport.source),
        Some((vec![3, 3], keyed(3, 7)))
    );
    // A claimed datagram cannot be superseded.
    assert_eq!(sender.push(&[4], keyed(4, 7)).unwrap().superseded, None);
    // A revised datagram has the new key only.
    let fifth = sender.push(&[5], keyed(5, 9)).unwrap().ticket;
    sender.revise(fifth, &[6], keyed(6, 10)).unwrap();
    assert_eq!(sender.push(&[7], keyed(7, 9)).unwrap().superseded, None);
    let superseded = sender.push(&[8], keyed(8, 10)).unwrap().superseded;
    assert_eq!(superseded, Some(keyed(6, 10)));
    assert_eq!(claim_all(&mut transport.source), [2, 4, 8, 7]);
}

#[test]
fn datagram_is_not_revised_into_another_ones_key() {
    let (mut app, mut transport) = ring(4);
    let keyed = |number, key| Label {
        key: Some(key),
        ..tag(number)
    };
    let sender = &mut app.sender;
    let first = sender.push(&[1], keyed(1, 7)).unwrap().ticket;
    sender.push(&[2], keyed(2, 8)).unwrap();
    let in_use = ChangeError::KeyInUse { key: 8 };
    assert_eq!(sender.revise(first, &[3], keyed(3, 8)), Err(in_use));
    assert_eq!(in_use.to_string(), "another datagram with the key 8 waits");
    // Both datagrams keep their keys.
    sender.revise(first, &[4], keyed(4, 7)).unwrap();
    let superseded = sender.push(&[5], keyed(5, 8)).unwrap().superseded;
    assert_eq!(superseded, Some(keyed(2, 8)));
    assert_eq!(claim_all(&mut transport.source), [4, 5]);
    // A datagram that left has no key.
    let sixth = sender.push(&[6], keyed(6, 9)).unwrap().ticket;
    sender.revise(sixth, &[6], keyed(7, 8)).unwrap();
    assert_eq!(claim_all(&mut transport.source), [7]);
}

#[test]
fn held_datagrams_can_be_inspected_and_changed() {
    let (mut app, mut transport) = ring(8);
    let tickets: Vec<_> = (0..6)
        .map(|n| app.sender.push(&[], tag(n)).unwrap().ticket)
        .collect();
    assert_eq!(claim(&mut transport.source), Some((vec![], tag(0))));
    let mut held = app.sender.take_back(4).unwrap();
    let tags = |held: &Held<'_>| held.labels().map(|l| l.tag).collect::<Vec<_>>();
    assert_eq!((held.len(), held.is_empty()), (4, false));
    assert_eq!(tags(&held), [2, 3, 4, 5]);
    assert_eq!(held.find(tickets[1]), None, "not among the newest");
    assert_eq!(
        (held.find(tickets[3]), held.ticket(1)),
        (Some(1), tickets[3])
    );
    held.move_to(0, 2);
    assert_eq!(tags(&held), [3, 4, 2, 5]);
    held.move_to(3, 1);
    assert_eq!(tags(&held), [3, 5, 4, 2]);
    assert_eq!(held.withdraw(2), tag(4));
    held.sort_by(|a, b| (a.tag % 2).cmp(&(b.tag % 2)));
    assert_eq!(tags(&held), [2, 3, 5], "equal ones as they stood");
    // The older one is still ready.
    assert_eq!(claim_all(&mut transport.source), [1]);
    drop(held);
    assert_eq!(claim_all(&mut transport.source), [2, 3, 5]);
}

#[test]
fn unwanted_datagrams_are_taken_out_together() {
    let (mut app, mut transport) = ring(8);
    for n in 0..8 {
        app.sender.push(&[], tag(n)).unwrap();
    }
    let mut held = app.sender.take_back(6).unwrap();
    held.retain(|label| label.tag % 2 == 0);
    assert_eq!(held.len(), 3);
    drop(held);
    assert_eq!(app.sender.room(), Ok(3));
    assert_eq!(claim_all(&mut transport.source), [0, 1, 2, 4, 6]);
}

#[test]
fn leaked_held_datagrams_are_released_by_next_call() {
    let calls: [fn(&mut Sender, Ticket); 4] = [
        |sender, _| _ = sender.push(&[], tag(9)).unwrap(),
        |sender, _| drop(sender.take_back(9).unwrap()),
        |sender, first| assert!(sender.revise(first, &[], tag(0)).is_err()),
        |sender, first| assert!(sender.withdraw(first).is_err()),
    ];
    for (n, call) in calls.into_iter().enumerate() {
        let (mut app, mut transport) = ring(4);
        let sender = &mut app.sender;
        let first = sender.push(&[1], tag(1)).unwrap().ticket;
        sender.push(&[2], tag(2)).unwrap();
        let mut held = sender.take_back(9).unwrap();
        held.withdraw(0);
        held.revise(0, &[3], tag(3)).unwrap();
        core::mem::forget(held);
        assert_eq!(claim_all(&mut transport.source), []);
        call(sender, first);
        let expected: &[u64] = if n == 0 { &[3, 9] } else { &[3] };
        assert_eq!(claim_all(&mut transport.source), expected);
        assert_eq!((sender.room(), sender.waiting()), (Ok(4), Ok(0)));
    }
}

#[test]
fn batch_is_published_when_dropped() {
    let (mut app, mut transport) = ring(4);
    let mut batch = app.sender.batch();
    for n in 0..3 {
        batch.push(&[1], tag(n)).unwrap();
    }
    assert_eq!(transport.source.look(0), Ok(Look::Nothing));
    drop(batch);
    assert_eq!(claim_all(&mut transport.source), [0, 1, 2]);
}

#[test]
fn fates_come_in_batches_and_the_newest_are_missed() {
    let (mut app, mut transport) = ring(1);
    let report = |tag| Report {
        tag,
        fate: tag + 1,
        at_ns: tag + 2,
    };
    let mut heard = Vec::new();
    for n in 0..6 {
        transport.source.report(report(n)).unwrap();
    }
    assert_eq!(
        app.sender.fates(9, |r| heard.push(r)),
        Ok(0),
        "not before the flush"
    );
    transport.source.flush();
    assert_eq!(app.sender.fates(3, |r| heard.push(r)), Ok(3));
    assert_eq!(app.sender.fates(9, |r| heard.push(r)), Ok(1));
    assert_eq!(heard, [0, 1, 2, 3].map(report));
    assert_eq!(app.sender.fates_missed(), 2);
    transport.source.report(report(7)).unwrap();
    transport.source.flush();
    assert_eq!(app.sender.fates(9, |r| assert_eq!(r, report(7))), Ok(1));
}

#[test]
fn arrivals_come_whole_as_long_as_there_is_room() {
    let (mut app, mut transport) = ring(2);
    let arrival = |n| Arrival {
        at_ns: n,
        info: n + 1,
    };
    let sink = &mut transport.sink;
    assert_eq!(sink.deliver(&[0; 17], arrival(0)), Ok(Delivered::TooLong));
    for (n, expected) in [
        (1, Delivered::Yes),
        (2, Delivered::Yes),
        (3, Delivered::Full),
    ] {
        assert_eq!(sink.deliver(&[7; 9], arrival(n)), Ok(expected));
    }
    let mut buf = [0; 16];
    assert_eq!(
        app.receiver.recv(&mut buf),
        Ok(None),
        "not before the flush"
    );
    sink.flush();
    assert_eq!(app.receiver.recv(&mut buf), Ok(Some((9, arrival(1)))));
    assert_eq!(buf, [7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0]);
    // A small buffer receives the beginning; the full length is returned.
    assert_eq!(app.receiver.recv(&mut buf[..0]), Ok(Some((9, arrival(2)))));
    assert_eq!(app.receiver.recv(&mut buf), Ok(None));
}

#[test]
fn bells_ring_for_sleepers_only() {
    let rung = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let bell = |which: usize| -> Arc<dyn Bell> {
        let rung = rung.clone();
        Arc::new(move || _ = rung[which].fetch_add(1, Ordering::SeqCst))
    };
    let times = || [0, 1].map(|which| rung[which].load(Ordering::SeqCst));
    let (mut app, mut transport) = in_process(Shape::new(2, 8), bell(0), bell(1)).unwrap();
    app.sender.push(&[], tag(1)).unwrap();
    assert_eq!(times(), [0, 0], "the transport has not looked yet");
    assert_eq!(claim_all(&mut transport.source), [1]);
    app.sender.push(&[], tag(2)).unwrap();
    app.sender.push(&[], tag(3)).unwrap();
    assert_eq!(times(), [0, 1], "once");
    assert_eq!(app.sender.prepare_to_wait_for_room(), Ok(true));
    transport.source.flush();
    assert_eq!(times(), [0, 1], "there is no room");
    assert_eq!(claim_all(&mut transport.source), [2, 3]);
    transport.source.flush();
    assert_eq!(times(), [1, 1]);
    assert_eq!(app.sender.prepare_to_wait_for_room(), Ok(false));
    assert_eq!(app.sender.prepare_to_wait_for_fates(), Ok(true));
    assert_eq!(app.receiver.prepare_to_sleep(), Ok(true));
    transport.source.flush();
    transport.sink.flush();
    assert_eq!(times(), [1, 1], "no news");
    let report = Report {
        tag: 1,
        fate: 1,
        at_ns: 1,
    };
    transport.source.report(report).unwrap();
    transport.source.flush();
    assert_eq!(times(), [2, 1]);
    assert_eq!(app.sender.prepare_to_wait_for_fates(), Ok(false));
    transport.sink.deliver(&[], Arrival::default()).unwrap();
    transport.sink.flush();
    assert_eq!(times(), [3, 1]);
    assert_eq!(app.receiver.prepare_to_sleep(), Ok(false));
}

#[test]
fn sleeper_for_room_is_woken_once_a_batch_fits() {
    let rung = Arc::new(AtomicUsize::new(0));
    let count = rung.clone();
    let bell = Arc::new(move || _ = count.fetch_add(1, Ordering::SeqCst));
    let (mut app, mut transport) = in_process(Shape::new(256, 8), bell, silent()).unwrap();
    while app.sender.push(&[], tag(0)).is_ok() {}
    assert_eq!(app.sender.prepare_to_wait_for_room(), Ok(true));
    for claimed in 1..=64 {
        claim(&mut transport.source).unwrap();
        transport.source.flush();
        assert_eq!(rung.load(Ordering::SeqCst), usize::from(claimed == 64));
    }
}

#[test]
fn impossible_shapes_are_refused() {
    let good = Shape::new(4, 1500);
    let bad = [
        ("slots", Shape { slots: 3, ..good }),
        ("slots", Shape { slots: 0, ..good }),
        (
            "slots",
            Shape {
                slots: 1 << 17,
                ..good
            },
        ),
        ("fates", Shape { fates: 5, ..good }),
        (
            "arrivals",
            Shape {
                arrivals: 6,
                ..good
            },
        ),
        (
            "slot_bytes",
            Shape {
                slot_bytes: 65536,
                ..good
            },
        ),
        (
            "arrival_bytes",
            Shape {
                arrival_bytes: 65536,
                ..good
            },
        ),
    ];
    for (field, shape) in bad {
        let error = in_process(shape, silent(), silent())
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.field, field);
    }
    assert!(Layout::new(Shape::new(1 << 16, 65535)).is_ok());
}

#[test]
fn ring_allocates_nothing_after_creation() {
    const TURNS: u64 = if cfg!(miri) { 150 } else { 10_000 };
    let (mut app, mut transport) = ring(64);
    let work = || {
        for n in 0..TURNS {
            let label = Label {
                key: Some(n % 100),
                priority: u8::try_from(n % 7).unwrap_or_default(),
                ..tag(n)
            };
            let pushed = app.sender.push(&[1; 16], label);
            if let Ok(pushed) = pushed
                && n % 5 == 0
            {
                app.sender.withdraw(pushed.ticket).unwrap();
            }
            app.sender
                .take_back(9)
                .unwrap()
                .sort_by(|a, b| a.tag.cmp(&b.tag));
            let mut buf = [0; 16];
            while n % 50 == 0 && transport.source.look(0) == Ok(Look::Offer { len: 16 }) {
                let claimed = transport.source.claim_into(&mut buf).unwrap().unwrap();
                let report = Report {
                    tag: claimed.label.tag,
                    fate: 0,
                    at_ns: 0,
                };
                transport.source.report(report).unwrap();
                transport.sink.deliver(&buf, Arrival::default()).unwrap();
            }
            transport.source.flush();
            transport.sink.flush();
            app.sender.fates(99, |_| ()).unwrap();
            app.receiver.recv(&mut buf).unwrap();
        }
    };
    assert_eq!(allocation_counter::measure(work).count_total, 0);
}

#[test]
fn urgent_datagram_overtakes_given_back_ones() {
    let (mut app, mut transport) = ring(8);
    let source = &mut transport.source;
    let tickets: Vec<_> = (0..4)
        .map(|n| app.sender.push(&[n], tag(n.into())).unwrap().ticket)
        .collect();
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    source.claim_ahead(4).unwrap();
    assert_eq!(app.sender.withdraw(tickets[3]), Err(ChangeError::TooLate));
    source.claim_into(&mut [0]).unwrap().unwrap();
    source.flush();
    let urgent = Label {
        priority: 1,
        ..tag(9)
    };
    app.sender.push(&[9], urgent).unwrap();
    assert_eq!(claim_all(source), [9, 1, 2, 3]);
}
