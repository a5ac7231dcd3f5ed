//! Priority, deadline, key and what happens when the queue is full, against a plain list.

use super::*;

/// The slots of the waiting datagrams in the order of leaving.
fn order(queue: &SendQueue) -> Vec<u32> {
    let mut queue = queue.clone();
    let next = || {
        let slot = queue.peek()?.slot;
        queue.claim(slot).then_some(slot.0)
    };
    core::iter::from_fn(next).collect()
}

fn fates(queue: &mut SendQueue) -> Vec<(u32, Fate)> {
    core::iter::from_fn(|| queue.poll_fate())
        .map(|report| (report.slot.0, report.fate))
        .collect()
}

fn priority(priority: u8) -> QueueLabel {
    QueueLabel {
        priority,
        ..QueueLabel::default()
    }
}

fn key(key: u64, priority: u8) -> QueueLabel {
    QueueLabel {
        key: Some(key),
        priority,
        deadline: None,
    }
}

fn push(queue: &mut SendQueue, slot: u32, label: QueueLabel, when_full: WhenFull) {
    queue
        .push_with(T, offer(slot, 1), label, when_full)
        .unwrap();
    queue.check();
}

#[test]
fn datagrams_overtake_those_of_lower_priority() {
    let mut queue = SendQueue::new(20, 20);
    let priorities = [0, 3, 0, 255, 3, 64, 63, 255, 0];
    for (slot, p) in (0..).zip(priorities) {
        push(&mut queue, slot, priority(p), WhenFull::Wait);
    }
    assert_eq!(order(&queue), [3, 7, 5, 6, 1, 4, 0, 2, 8]);
}

fn due(ns: u64) -> QueueLabel {
    QueueLabel {
        deadline: Some(Instant::from_nanos(ns)),
        ..QueueLabel::default()
    }
}

#[test]
fn a_datagram_expires_at_its_deadline_wherever_it_waits() {
    let mut queue = SendQueue::new(20, 20);
    for (slot, label) in [
        (0, QueueLabel::default()),
        (1, due(8)),
        (2, due(7)),
        (3, due(9)),
    ] {
        push(&mut queue, slot, label, WhenFull::Wait);
    }
    assert_eq!(queue.next_expiry(), Some(T));
    assert!(queue.expire(T), "a deadline that is now has come");
    assert!(!queue.expire(T), "the others have time left");
    assert_eq!(queue.next_expiry(), Some(Instant::from_nanos(8)));
    assert_eq!((queue.len(), queue.bytes()), (3, 3), "its room is free");
    assert!(queue.expire(Instant::from_nanos(9)));
    assert!(queue.expire(Instant::from_nanos(9)));
    assert!(!queue.expire(Instant::from_nanos(9)));
    assert_eq!(queue.next_expiry(), None);
    assert_eq!(
        fates(&mut queue),
        [2, 1, 3].map(|slot| (slot, Fate::Expired))
    );
    assert_eq!(queue.peek(), Some(offer(0, 1)));
    queue.check();
}

#[test]
fn a_claimed_datagram_expires_no_more() {
    let mut queue = SendQueue::new(20, 20);
    push(&mut queue, 0, due(8), WhenFull::Wait);
    push(&mut queue, 1, due(9), WhenFull::Wait);
    assert!(queue.claim(Slot(0)));
    assert_eq!(queue.next_expiry(), Some(Instant::from_nanos(9)));
    assert!(!queue.expire(Instant::from_nanos(8)));
    queue.check();
}

#[test]
fn a_newer_datagram_brings_its_own_deadline() {
    let mut queue = SendQueue::new(20, 20);
    let keyed = |ns| QueueLabel {
        key: Some(1),
        ..due(ns)
    };
    push(&mut queue, 0, keyed(8), WhenFull::Wait);
    push(&mut queue, 1, keyed(20), WhenFull::Wait);
    assert_eq!(queue.next_expiry(), Some(Instant::from_nanos(20)));
    push(&mut queue, 2, key(1, 0), WhenFull::Wait);
    assert_eq!(queue.next_expiry(), None);
    push(&mut queue, 3, keyed(9), WhenFull::Wait);
    assert_eq!(queue.next_expiry(), Some(Instant::from_nanos(9)));
}

#[test]
fn stale_deadlines_use_bounded_memory() {
    let mut queue = SendQueue::new(4, 0);
    for slot in 0..10_000 {
        push(&mut queue, slot, due(1_000_000), WhenFull::DropOldest);
        assert!(queue.order.deadlines() < 100);
    }
}

#[test]
fn the_queue_is_bounded_in_bytes() {
    let mut queue = SendQueue::new(20, 20);
    queue.set_bytes_max(10);
    queue.push(offer(0, 9)).unwrap();
    queue.push(offer(1, 9)).unwrap();
    assert_eq!(queue.push(offer(2, 1)), Err(Full));
    // Both old datagrams must go before fewer than 10 bytes wait.
    push(&mut queue, 3, QueueLabel::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [1, 3]);
    push(&mut queue, 4, QueueLabel::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [3, 4]);
    assert_eq!(
        fates(&mut queue),
        [(0, Fate::Overflowed), (1, Fate::Overflowed)]
    );
}

#[test]
fn unwanted_datagrams_are_withdrawn() {
    let mut queue = SendQueue::new(20, 20);
    for (slot, p) in [(0, 1), (1, 0), (2, 3), (3, 1), (4, 0)] {
        push(&mut queue, slot, priority(p), WhenFull::Wait);
    }
    let n = queue.withdraw_if(T, |offer, label| {
        label.priority == 1 || offer.slot == Slot(4)
    });
    assert_eq!(n, 3);
    assert_eq!(order(&queue), [2, 1]);
    assert_eq!(
        fates(&mut queue),
        [0, 3, 4].map(|slot| (slot, Fate::Withdrawn))
    );
    queue.check();
    assert_eq!(queue.withdraw_if(T, |_, _| true), 2);
    assert_eq!(queue.peek(), None);
}

#[test]
fn a_newer_datagram_takes_the_place_of_the_one_with_its_key() {
    let mut queue = SendQueue::new(4, 20);
    for slot in 0..4 {
        push(&mut queue, slot, key(u64::from(slot), 0), WhenFull::Error);
    }
    // A replacement needs no room.
    push(&mut queue, 4, key(1, 0), WhenFull::Error);
    assert_eq!(order(&queue), [0, 4, 2, 3]);
    // A replacement is as old as the datagram it replaces.
    push(&mut queue, 5, key(0, 0), WhenFull::Error);
    push(&mut queue, 6, QueueLabel::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [4, 2, 3, 6]);
    // A replacement of another priority goes behind those of its priority.
    push(&mut queue, 7, key(2, 9), WhenFull::Error);
    push(&mut queue, 8, key(1, 1), WhenFull::Error);
    assert_eq!(order(&queue), [7, 8, 3, 6]);
    assert_eq!(
        fates(&mut queue),
        [
            (1, Fate::Superseded),
            (0, Fate::Superseded),
            (5, Fate::Overflowed),
            (2, Fate::Superseded),
            (4, Fate::Superseded),
        ]
    );
    // A claimed datagram is no longer superseded.
    assert!(queue.claim(Slot(7)));
    push(&mut queue, 9, key(2, 0), WhenFull::Error);
    assert_eq!(order(&queue), [8, 3, 6, 9]);
    assert_eq!(queue.bytes(), 4);
}

#[test]
fn a_full_queue_follows_its_policy() {
    let mut full = SendQueue::new(3, 20);
    for (slot, p) in [(0, 5), (1, 2), (2, 2)] {
        push(&mut full, slot, priority(p), WhenFull::Wait);
    }
    for when_full in [WhenFull::Wait, WhenFull::Error] {
        let mut queue = full.clone();
        let refused = queue.push_with(T, offer(3, 1), priority(9), when_full);
        assert_eq!(refused, Err(Full));
        assert_eq!((order(&queue), queue.pushed()), (vec![0, 1, 2], 3));
    }
    let cases = [
        (WhenFull::DropOldest, 0, 0, vec![1, 2, 3]),
        (WhenFull::DropLowestPriority, 2, 1, vec![0, 2, 3]),
        (WhenFull::DropLowestPriority, 1, 3, vec![0, 1, 2]),
        (WhenFull::DropLowestPriority, 255, 1, vec![3, 0, 2]),
    ];
    for (when_full, p, dropped, left) in cases {
        let mut queue = full.clone();
        push(&mut queue, 3, priority(p), when_full);
        assert_eq!(fates(&mut queue), [(dropped, Fate::Overflowed)]);
        assert_eq!((order(&queue), queue.pushed()), (left, 4));
    }
}

#[test]
fn a_smaller_queue_drops_the_excess() {
    let mut queue = SendQueue::new(3, 20);
    for slot in 0..3 {
        push(&mut queue, slot, QueueLabel::default(), WhenFull::Wait);
    }
    queue.set_capacity(1);
    push(&mut queue, 3, QueueLabel::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [3]);
    queue.set_capacity(0);
    push(&mut queue, 4, QueueLabel::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [0; 0]);
    let all = [0, 1, 2, 3, 4].map(|slot| (slot, Fate::Overflowed));
    assert_eq!(fates(&mut queue), all);
}

#[test]
fn freed_places_are_reused() {
    let mut queue = SendQueue::new(4, 0);
    for slot in 0..100 {
        let label = key(u64::from(slot % 7), u8::try_from(slot % 3).unwrap());
        push(&mut queue, slot, label, WhenFull::DropOldest);
    }
    assert_eq!(queue.order.places(), 4);
}

/// The queue as a list from old to young.
#[derive(Default)]
struct Plain {
    waiting: Vec<(Offer, QueueLabel)>,
    open: Vec<u32>,
    fates: Vec<(u32, Fate)>,
}

impl Plain {
    fn next(&self) -> Option<usize> {
        let best = self.waiting.iter().map(|(_, l)| l.priority).max()?;
        self.waiting.iter().position(|(_, l)| l.priority == best)
    }

    fn drop(&mut self, at: usize, fate: Fate) {
        let (offer, _) = self.waiting.remove(at);
        self.fates.push((offer.slot.0, fate));
    }

    /// Whether the datagram was taken.
    fn push(&mut self, new: (Offer, QueueLabel), capacity: usize, when_full: WhenFull) -> bool {
        let has_key = |(_, l): &(Offer, QueueLabel)| l.key.is_some() && l.key == new.1.key;
        if let Some(at) = self.waiting.iter().position(has_key) {
            let (old, label) = self.waiting[at];
            self.fates.push((old.slot.0, Fate::Superseded));
            if label.priority == new.1.priority {
                self.waiting[at] = new;
            } else {
                self.waiting.remove(at);
                self.waiting.push(new);
            }
            return true;
        }
        self.waiting.push(new);
        while self.waiting.len() > capacity {
            let lowest = self.waiting.iter().map(|(_, l)| l.priority).min();
            let is_lowest = |(_, l): &(Offer, QueueLabel)| Some(l.priority) == lowest;
            let at = match when_full {
                WhenFull::Wait | WhenFull::Error => {
                    self.waiting.pop();
                    return false;
                }
                WhenFull::DropOldest => 0,
                WhenFull::DropLowestPriority => self.waiting.iter().position(is_lowest).unwrap(),
            };
            self.drop(at, Fate::Overflowed);
        }
        true
    }
}

const PRIORITIES: [u8; 6] = [0, 0, 1, 63, 64, 255];
const POLICIES: [WhenFull; 4] = [
    WhenFull::Wait,
    WhenFull::Error,
    WhenFull::DropOldest,
    WhenFull::DropLowestPriority,
];

fn a_label() -> impl Strategy<Value = QueueLabel> {
    let key = proptest::option::of(0..4_u64);
    let deadline = proptest::option::of((0..300_u64).prop_map(Instant::from_nanos));
    let priority = (0..PRIORITIES.len()).prop_map(|p| PRIORITIES[p]);
    (priority, deadline, key).prop_map(|(priority, deadline, key)| QueueLabel {
        priority,
        deadline,
        key,
    })
}

proptest! {
    #[test]
    fn the_queue_chooses_as_a_plain_list_does(
        capacity in 0..8_usize,
        steps in proptest::collection::vec((0..8_u8, a_label(), 0..4_usize), 1..300),
    ) {
        let mut queue = SendQueue::new(capacity, 1000);
        let mut plain = Plain::default();
        let mut reported = Vec::new();
        for (slot, (step, label, policy)) in (0..).zip(steps) {
            let now = Instant::from_nanos(u64::from(slot));
            let next = plain.next();
            match step {
                0..4 => {
                    let (new, when_full) = (offer(slot, policy), POLICIES[policy]);
                    let takes = queue.takes(&label, when_full);
                    let is_taken = queue.push_with(now, new, label, when_full).is_ok();
                    prop_assert_eq!(takes, is_taken);
                    prop_assert_eq!(plain.push((new, label), capacity, when_full), is_taken);
                }
                4 => {
                    reported.extend(fates(&mut queue));
                    while queue.expire(now) {}
                    let expired = fates(&mut queue);
                    for (slot, _) in &expired {
                        let at = plain.waiting.iter().position(|(offer, _)| offer.slot.0 == *slot);
                        plain.drop(at.unwrap(), Fate::Expired);
                    }
                    reported.extend(expired);
                    prop_assert!(!plain.waiting.iter().any(|(_, label)| label.is_late(now)));
                }
                5 | 6 => {
                    let Some(at) = next else { continue };
                    let slot = plain.waiting[at].0.slot;
                    if step == 5 {
                        prop_assert!(queue.claim(slot));
                        plain.waiting.remove(at);
                        plain.open.push(slot.0);
                    } else {
                        queue.refuse(now, slot, Fate::TooBig);
                        plain.drop(at, Fate::TooBig);
                    }
                }
                _ => {
                    let Some(slot) = plain.open.pop() else { continue };
                    queue.on_fate(now, Slot(slot), Fate::Acked);
                    plain.fates.push((slot, Fate::Acked));
                }
            }
            queue.check();
            let next = plain.next().map(|at| plain.waiting[at].0);
            prop_assert_eq!(queue.peek(), next);
            prop_assert_eq!(queue.len(), plain.waiting.len());
            let bytes: usize = plain.waiting.iter().map(|(offer, _)| offer.len).sum();
            prop_assert_eq!(queue.bytes(), bytes as u64);
            let earliest = plain.waiting.iter().filter_map(|(_, label)| label.deadline).min();
            prop_assert_eq!(queue.next_expiry(), earliest);
        }
        // Closing gives each remaining datagram one fate.
        queue.withdraw_all(T);
        while let Some(at) = plain.next() {
            plain.drop(at, Fate::Withdrawn);
        }
        for slot in plain.open.drain(..) {
            queue.on_fate(T, Slot(slot), Fate::Sent);
            plain.fates.push((slot, Fate::Sent));
        }
        prop_assert_eq!(queue.counts().total(), queue.pushed());
        reported.extend(fates(&mut queue));
        prop_assert_eq!(reported, plain.fates);
    }
}
