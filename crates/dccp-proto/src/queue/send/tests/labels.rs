//! Priority, deadline, key and what happens when the queue is full, against a plain list.

use super::*;

/// The slots of the datagrams in the order in which they would leave.
fn order(queue: &SendQueue) -> Vec<u32> {
    let mut queue = queue.clone();
    let next = || {
        let slot = queue.peek()?.slot;
        queue.claim(slot).then_some(slot.0)
    };
    core::iter::from_fn(next).collect()
}

fn told(queue: &mut SendQueue) -> Vec<(u32, Fate)> {
    core::iter::from_fn(|| queue.poll_fate())
        .map(|report| (report.slot.0, report.fate))
        .collect()
}

fn priority(priority: u8) -> Label {
    Label {
        priority,
        ..Label::default()
    }
}

fn key(key: u64, priority: u8) -> Label {
    Label {
        key: Some(key),
        priority,
        deadline: None,
    }
}

fn push(queue: &mut SendQueue, slot: u32, label: Label, when_full: WhenFull) {
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

#[test]
fn a_deadline_is_the_last_moment_to_leave() {
    let mut queue = SendQueue::new(20, 20);
    let due = |ns| Label {
        deadline: Some(Instant::from_nanos(ns)),
        ..Label::default()
    };
    push(&mut queue, 0, due(6), WhenFull::Wait);
    push(&mut queue, 1, due(7), WhenFull::Wait);
    push(&mut queue, 2, due(6), WhenFull::Wait);
    assert!(queue.expire(T));
    assert!(!queue.expire(T), "what is behind waits for its turn");
    assert_eq!(queue.peek(), Some(offer(1, 1)));
    assert!(queue.expire(Instant::from_nanos(8)));
    assert!(queue.expire(Instant::from_nanos(8)));
    assert!(!queue.expire(Instant::from_nanos(8)), "there is none");
    let all = [0, 1, 2].map(|slot| (slot, Fate::Expired));
    assert_eq!(told(&mut queue), all);
    queue.check();
}

#[test]
fn a_newer_datagram_takes_the_place_of_the_one_with_its_key() {
    let mut queue = SendQueue::new(4, 20);
    for slot in 0..4 {
        push(&mut queue, slot, key(u64::from(slot), 0), WhenFull::Error);
    }
    // It needs no room.
    push(&mut queue, 4, key(1, 0), WhenFull::Error);
    assert_eq!(order(&queue), [0, 4, 2, 3]);
    // It is as old as the one whose place it has.
    push(&mut queue, 5, key(0, 0), WhenFull::Error);
    push(&mut queue, 6, Label::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [4, 2, 3, 6]);
    // Of another priority it has that one's place.
    push(&mut queue, 7, key(2, 9), WhenFull::Error);
    push(&mut queue, 8, key(1, 1), WhenFull::Error);
    assert_eq!(order(&queue), [7, 8, 3, 6]);
    assert_eq!(
        told(&mut queue),
        [
            (1, Fate::Superseded),
            (0, Fate::Superseded),
            (5, Fate::Overflowed),
            (2, Fate::Superseded),
            (4, Fate::Superseded),
        ]
    );
    // What has left is superseded no more.
    assert!(queue.claim(Slot(7)));
    push(&mut queue, 9, key(2, 0), WhenFull::Error);
    assert_eq!(order(&queue), [8, 3, 6, 9]);
    assert_eq!(queue.bytes(), 4);
}

#[test]
fn a_full_queue_does_as_it_is_told() {
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
        assert_eq!(told(&mut queue), [(dropped, Fate::Overflowed)]);
        assert_eq!((order(&queue), queue.pushed()), (left, 4));
    }
}

#[test]
fn a_queue_that_has_become_smaller_drops_as_many_as_are_too_many() {
    let mut queue = SendQueue::new(3, 20);
    for slot in 0..3 {
        push(&mut queue, slot, Label::default(), WhenFull::Wait);
    }
    queue.set_capacity(1);
    push(&mut queue, 3, Label::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [3]);
    queue.set_capacity(0);
    push(&mut queue, 4, Label::default(), WhenFull::DropOldest);
    assert_eq!(order(&queue), [0; 0]);
    let all = [0, 1, 2, 3, 4].map(|slot| (slot, Fate::Overflowed));
    assert_eq!(told(&mut queue), all);
}

#[test]
fn places_are_used_again() {
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
    waiting: Vec<(Offer, Label)>,
    open: Vec<u32>,
    told: Vec<(u32, Fate)>,
}

impl Plain {
    fn next(&self) -> Option<usize> {
        let best = self.waiting.iter().map(|(_, l)| l.priority).max()?;
        self.waiting.iter().position(|(_, l)| l.priority == best)
    }

    fn drop(&mut self, at: usize, fate: Fate) {
        let (offer, _) = self.waiting.remove(at);
        self.told.push((offer.slot.0, fate));
    }

    /// Whether the datagram was taken.
    fn push(&mut self, new: (Offer, Label), capacity: usize, when_full: WhenFull) -> bool {
        let has_key = |(_, l): &(Offer, Label)| l.key.is_some() && l.key == new.1.key;
        if let Some(at) = self.waiting.iter().position(has_key) {
            let (old, label) = self.waiting[at];
            self.told.push((old.slot.0, Fate::Superseded));
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
            let is_lowest = |(_, l): &(Offer, Label)| Some(l.priority) == lowest;
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

fn a_label() -> impl Strategy<Value = Label> {
    let key = proptest::option::of(0..4_u64);
    let deadline = proptest::option::of((0..300_u64).prop_map(Instant::from_nanos));
    let priority = (0..PRIORITIES.len()).prop_map(|p| PRIORITIES[p]);
    (priority, deadline, key).prop_map(|(priority, deadline, key)| Label {
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
                    let late = next.filter(|&at| plain.waiting[at].1.is_late(now));
                    prop_assert_eq!(queue.expire(now), late.is_some());
                    if let Some(at) = late {
                        plain.drop(at, Fate::Expired);
                    }
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
                    plain.told.push((slot, Fate::Acked));
                }
            }
            queue.check();
            let next = plain.next().map(|at| plain.waiting[at].0);
            prop_assert_eq!(queue.peek(), next);
            prop_assert_eq!(queue.len(), plain.waiting.len());
            let bytes: usize = plain.waiting.iter().map(|(offer, _)| offer.len).sum();
            prop_assert_eq!(queue.bytes(), bytes as u64);
        }
        // Under close, too, each has one fate.
        queue.withdraw_all(T);
        while let Some(at) = plain.next() {
            plain.drop(at, Fate::Withdrawn);
        }
        for slot in plain.open.drain(..) {
            queue.on_fate(T, Slot(slot), Fate::Sent);
            plain.told.push((slot, Fate::Sent));
        }
        prop_assert_eq!(queue.counts().total(), queue.pushed());
        prop_assert_eq!(told(&mut queue), plain.told);
    }
}
