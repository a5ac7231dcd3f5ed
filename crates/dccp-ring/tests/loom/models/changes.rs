//! Every operation of the application on datagrams, concurrent with claims.

use super::{REST, WAYS, Way, claim, filled, tag};
use crate::app::{Sender, Ticket};
use crate::error::PushError;
use crate::slot::Label;
use loom::thread;

/// Explores a model with each way to claim.
fn explore(name: &str, model: impl Fn(Way) + Copy + Sync + Send + 'static) {
    for way in WAYS {
        super::explore(&format!("{name}, {way:?}"), move || model(way));
    }
}

/// Runs `change` against at most two looks of the transport, which then claims the rest. Returns the data
/// claimed during the change and after it.
fn race(
    way: Way,
    slots: u32,
    data: &[u8],
    change: impl FnOnce(&mut Sender, &[Ticket]),
) -> (Vec<u8>, Vec<u8>) {
    let (mut sender, mut source, tickets) = filled(slots, data);
    let transport = thread::spawn(move || {
        let claimed = claim(&mut source, way);
        (source, claimed)
    });
    change(&mut sender, &tickets);
    let (mut source, during) = transport.join().expect("no panic");
    let after = claim(&mut source, REST);
    (during, after)
}

fn all((mut during, after): (Vec<u8>, Vec<u8>)) -> Vec<u8> {
    during.extend(after);
    during
}

#[test]
fn pushed_datagrams_are_claimed_once_in_order() {
    explore("push", |way| {
        let claimed = race(way, 2, &[], |sender, _| {
            sender.push(&[1], tag(1)).unwrap();
            sender.push(&[2], tag(2)).unwrap();
        });
        assert_eq!(all(claimed), [1, 2]);
    });
}

#[test]
fn batch_is_seen_as_a_whole() {
    explore("batch", |way| {
        let (during, after) = race(way, 2, &[], |sender, _| {
            let mut batch = sender.batch();
            batch.push(&[1], tag(1)).unwrap();
            batch.push(&[2], tag(2)).unwrap();
        });
        assert!(during.is_empty() || during == [1, 2] || during == [1]);
        assert_eq!(all((during, after)), [1, 2]);
    });
}

#[test]
fn slot_is_filled_again_only_after_it_was_copied() {
    explore("slots again", |way| {
        let mut third = false;
        let claimed = race(way, 1, &[1], |sender, _| match sender.push(&[2], tag(2)) {
            Ok(_) => third = true,
            Err(error) => assert_eq!(error, PushError::Full),
        });
        let expected: &[u8] = if third { &[1, 2] } else { &[1] };
        assert_eq!(all(claimed), expected);
    });
}

#[test]
fn held_datagram_is_not_claimed_until_released() {
    explore("take back, release", |way| {
        let claimed = race(way, 2, &[1, 2], |sender, _| {
            let held = sender.take_back(usize::MAX).unwrap();
            let tags: Vec<_> = held.labels().map(|label| label.tag).collect();
            assert!([&[1, 2][..], &[2], &[]].contains(&&tags[..]));
        });
        assert_eq!(all(claimed), [1, 2]);
    });
}

#[test]
fn older_datagrams_stay_ready_when_the_newest_is_taken_back() {
    explore("take back one", |way| {
        let mut was_held = false;
        let (during, after) = race(way, 2, &[1, 2], |sender, _| {
            let mut held = sender.take_back(1).unwrap();
            was_held = !held.is_empty();
            if was_held {
                held.revise(0, &[3], tag(3)).unwrap();
            }
        });
        let last = if was_held { 3 } else { 2 };
        assert_eq!(all((during, after)), [1, last]);
    });
}

#[test]
fn revised_datagram_leaves_with_latest_data() {
    explore("revise", |way| {
        let mut is_new = false;
        let claimed = race(way, 2, &[1, 2], |sender, tickets| {
            is_new = sender.revise(tickets[0], &[3], tag(3)).is_ok();
        });
        assert_eq!(all(claimed), [if is_new { 3 } else { 1 }, 2]);
    });
}

#[test]
fn withdrawn_datagram_does_not_leave() {
    explore("withdraw", |way| {
        let mut is_out = false;
        let claimed = race(way, 2, &[1, 2], |sender, tickets| {
            is_out = sender.withdraw(tickets[0]).is_ok();
        });
        let expected: &[u8] = if is_out { &[2] } else { &[1, 2] };
        assert_eq!(all(claimed), expected);
    });
}

#[test]
fn last_datagram_can_be_withdrawn_and_another_pushed() {
    explore("withdraw all, push", |way| {
        let mut is_out = false;
        let claimed = race(way, 2, &[1], |sender, tickets| {
            is_out = sender.withdraw(tickets[0]).is_ok();
            // A claim that will fail is beyond the end for a moment.
            assert!(sender.waiting().unwrap() <= usize::from(!is_out));
            sender.push(&[2], tag(2)).unwrap();
            if is_out {
                sender.revise(tickets[0], &[9], tag(9)).unwrap_err();
            }
        });
        let expected: &[u8] = if is_out { &[2] } else { &[1, 2] };
        assert_eq!(all(claimed), expected);
    });
}

#[test]
fn reordered_datagrams_all_leave() {
    explore("reorder", |way| {
        let mut order = Vec::new();
        let (during, after) = race(way, 2, &[1, 2], |sender, _| {
            let mut held = sender.take_back(usize::MAX).unwrap();
            held.sort_by(|a, b| b.tag.cmp(&a.tag));
            order = held.labels().map(|label| label.tag).collect();
        });
        let claimed = all((during, after));
        let held: Vec<u64> = claimed[2 - order.len()..]
            .iter()
            .map(|&b| b.into())
            .collect();
        assert_eq!(held, order);
        assert_eq!(claimed.iter().sum::<u8>(), 3, "each one, once");
    });
}

#[test]
fn urgent_datagram_overtakes_unclaimed_ones() {
    explore("overtake", |way| {
        let claimed = race(way, 4, &[1, 2], |sender, _| {
            let urgent = Label {
                priority: 1,
                ..tag(3)
            };
            sender.push(&[3], urgent).unwrap();
        });
        let claimed = all(claimed);
        assert!([[3, 1, 2], [1, 3, 2], [1, 2, 3]].contains(&claimed[..].try_into().unwrap()));
    });
}

#[test]
fn newer_datagram_supersedes_same_key() {
    explore("supersede", |way| {
        let keyed = |byte| Label {
            key: Some(7),
            ..tag(byte)
        };
        let (mut sender, mut source, _) = filled(2, &[]);
        sender.push(&[1], keyed(1)).unwrap();
        let transport = thread::spawn(move || {
            let claimed = claim(&mut source, way);
            (source, claimed)
        });
        let superseded = sender.push(&[2], keyed(2)).unwrap().superseded;
        let (mut source, mut claimed) = transport.join().unwrap();
        claimed.extend(claim(&mut source, REST));
        let expected: &[u8] = if superseded.is_some() { &[2] } else { &[1, 2] };
        assert_eq!(claimed, expected);
    });
}
