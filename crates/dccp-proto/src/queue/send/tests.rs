use super::*;
use proptest::prelude::*;

mod labels;

const T: Instant = Instant::from_nanos(7);

fn offer(slot: u32, len: usize) -> Offer {
    Offer {
        slot: Slot(slot),
        len,
        is_zeros: slot.is_multiple_of(2),
    }
}

#[test]
fn datagrams_leave_in_the_order_of_their_push() {
    let mut queue = SendQueue::new(3, 9);
    for slot in [5, 2, 8] {
        queue.push(offer(slot, 10)).unwrap();
    }
    assert_eq!(queue.push(offer(1, 10)), Err(Full));
    assert_eq!(
        (queue.len(), queue.bytes(), queue.has_room()),
        (3, 30, false)
    );
    assert_eq!(queue.peek(), Some(offer(5, 10)));
    assert!(!queue.claim(Slot(2)), "not the next");
    assert!(queue.claim(Slot(5)));
    assert!(!queue.claim(Slot(5)), "not twice");
    assert_eq!((queue.len(), queue.bytes(), queue.open()), (2, 20, 1));
    assert_eq!(queue.peek(), Some(offer(2, 10)));
    assert!(queue.has_room(), "what left needs no room");
    queue.check();
}

#[test]
fn each_fate_has_its_counter_and_its_report() {
    let mut queue = SendQueue::new(11, 11);
    for (slot, fate) in (0..).zip(Fate::ALL) {
        queue.push(offer(slot, 1)).unwrap();
        if slot.is_multiple_of(2) {
            queue.refuse(T, Slot(slot), fate);
        } else {
            assert!(queue.claim(Slot(slot)));
            queue.on_fate(T, Slot(slot), fate);
        }
        let counts: Vec<_> = queue.counts().by_name().collect();
        let n = slot as usize;
        assert!(counts[..=n].iter().all(|&(_, n)| n == 1));
        assert!(counts[n + 1..].iter().all(|&(_, n)| n == 0));
        assert_eq!(counts[n].0, fate.name());
        queue.check();
    }
    for (slot, fate) in (0..).zip(Fate::ALL) {
        let slot = Slot(slot);
        assert_eq!(queue.poll_fate(), Some(SlotFate { slot, fate, at: T }));
    }
    assert_eq!(queue.poll_fate(), None);
    assert_eq!(queue.fates_missed(), 0);
}

#[test]
fn unfetched_fates_are_dropped_and_counted() {
    let mut queue = SendQueue::new(9, 2);
    for slot in 0..5 {
        queue.push(offer(slot, 1)).unwrap();
    }
    queue.withdraw_all(T);
    assert_eq!((queue.fates_waiting(), queue.fates_missed()), (2, 3));
    assert_eq!(queue.poll_fate().map(|r| r.slot), Some(Slot(3)));
    assert_eq!(queue.counts().withdrawn, 5);
    queue.check();
}

#[test]
fn a_smaller_capacity_keeps_what_is_queued() {
    let mut queue = SendQueue::new(2, 0);
    queue.push(offer(0, 1)).unwrap();
    queue.push(offer(1, 1)).unwrap();
    queue.set_capacity(1);
    assert_eq!((queue.len(), queue.has_room()), (2, false));
    assert!(queue.claim(Slot(0)));
    assert!(!queue.has_room());
    assert!(queue.claim(Slot(1)));
    assert!(queue.has_room());
}

#[test]
#[should_panic(expected = "each datagram is in one place")]
fn the_check_finds_a_missing_datagram() {
    let mut queue = SendQueue::new(2, 0);
    queue.push(offer(0, 1)).unwrap();
    queue.ledger.pushed += 1;
    queue.check();
}

/// The place of a datagram in the model.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Queued,
    Open,
    Decided(Fate),
}

proptest! {
    #[test]
    fn the_queue_does_what_a_list_of_datagrams_does(
        capacity in 0..6_usize,
        steps in proptest::collection::vec((0..6_u8, 0..11_usize), 1..200),
    ) {
        let mut queue = SendQueue::new(capacity, 1000);
        let mut model: Vec<Place> = Vec::new();
        let mut reports = Vec::new();
        for (step, n) in steps {
            let fate = Fate::ALL[n];
            let first = |place| {
                let index = model.iter().position(|&p| p == place)?;
                Some((index, Slot(u32::try_from(index).unwrap())))
            };
            match step {
                0 | 1 => {
                    let queued = model.iter().filter(|&&p| p == Place::Queued).count();
                    let slot = u32::try_from(model.len()).unwrap();
                    let pushed = queue.push(offer(slot, n));
                    prop_assert_eq!(pushed.is_ok(), queued < capacity);
                    if pushed.is_ok() {
                        model.push(Place::Queued);
                    }
                }
                2 | 3 => {
                    let next = first(Place::Queued);
                    prop_assert_eq!(queue.peek().map(|o| o.slot), next.map(|(_, slot)| slot));
                    let Some((index, slot)) = next else { continue };
                    if step == 2 {
                        prop_assert!(queue.claim(slot));
                        model[index] = Place::Open;
                    } else {
                        queue.refuse(T, slot, fate);
                        model[index] = Place::Decided(fate);
                        reports.push((slot, fate));
                    }
                }
                4 => {
                    let Some((index, slot)) = first(Place::Open) else { continue };
                    queue.on_fate(T, slot, fate);
                    model[index] = Place::Decided(fate);
                    reports.push((slot, fate));
                }
                _ => {
                    queue.withdraw_all(T);
                    for (slot, place) in (0..).zip(&mut model) {
                        if *place == Place::Queued {
                            *place = Place::Decided(Fate::Withdrawn);
                            reports.push((Slot(slot), Fate::Withdrawn));
                        }
                    }
                }
            }
            queue.check();
            prop_assert_eq!(queue.pushed(), model.len() as u64);
            let open = model.iter().filter(|&&p| p == Place::Open).count();
            prop_assert_eq!(queue.open(), open as u64);
        }
        let fates: Vec<_> = core::iter::from_fn(|| queue.poll_fate()).map(|r| (r.slot, r.fate)).collect();
        prop_assert_eq!(fates, reports);
    }
}

#[test]
fn first_datagram_is_important_if_it_has_a_priority() {
    let mut queue = SendQueue::new(10, 0);
    assert!(!queue.is_first_important());
    for (slot, priority) in [(0, 0), (1, 3)] {
        let offer = Offer {
            slot: Slot(slot),
            len: 1,
            is_zeros: true,
        };
        let label = QueueLabel {
            priority,
            ..QueueLabel::default()
        };
        let pushed = queue.push_with(Instant::ZERO, offer, label, WhenFull::Error);
        assert_eq!(pushed, Ok(()));
        assert_eq!(queue.is_first_important(), priority > 0);
    }
    assert!(queue.claim(Slot(1)));
    assert!(!queue.is_first_important());
}
