//! The order of departure, and the choice of the datagram that makes room.
//!
//! One list in the order of leaving: higher priorities first, and within a priority the oldest first. The last
//! datagram of each priority is known, so that no operation searches:
//!
//! ```text
//!   head                                   last of 7: b
//!    ▼                                     last of 3: c
//!   a 7 ⇄ b 7 ⇄ c 3 ⇄ d 0 ⇄ e 0            last of 0: e
//! ```
//!
//! A heap beside the list finds the earliest deadline. Entries of removed datagrams stay in it until they
//! reach its top, or until they outnumber the others.

use super::{Offer, QueueLabel, Slot};
use crate::time::Instant;
use core::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The index of no place.
const NONE: u32 = u32::MAX;

/// Stale heap entries that are tolerated whatever the number of others.
const STALE_MIN: usize = 64;

/// A waiting datagram and its neighbours in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) offer: Offer,
    /// Without a deadline while the place is free.
    pub(super) label: QueueLabel,
    /// The number of datagrams that were pushed before this one.
    age: u64,
    previous: u32,
    next: u32,
}

/// The waiting datagrams. Places in `list` are used again: in steady state nothing is allocated.
#[derive(Clone, Debug)]
pub(super) struct Order {
    list: Vec<Entry>,
    head: u32,
    /// The first free place; free places are linked by `next`.
    free: u32,
    ends: Ends,
    /// The place of the datagram with each key.
    keys: HashMap<u64, u32>,
    /// Deadlines and places, earliest first. An entry counts only if the place still has that deadline.
    deadlines: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Waiting datagrams that have a deadline.
    timed: usize,
    len: usize,
    bytes: u64,
    pushed: u64,
}

impl Order {
    pub(super) fn new() -> Self {
        Self {
            list: Vec::new(),
            head: NONE,
            free: NONE,
            ends: Ends::default(),
            keys: HashMap::new(),
            deadlines: BinaryHeap::new(),
            timed: 0,
            len: 0,
            bytes: 0,
            pushed: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next datagram to leave.
    pub(super) fn first(&self) -> Option<&Entry> {
        self.list.get(index(self.head))
    }

    /// Whether a datagram with the same key waits.
    pub(super) fn has_key(&self, label: &QueueLabel) -> bool {
        label.key.is_some_and(|key| self.keys.contains_key(&key))
    }

    /// The earliest deadline of all waiting datagrams.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        self.earliest().map(|(deadline, _)| deadline)
    }

    /// Removes the datagram with the earliest deadline if that has come.
    pub(super) fn remove_late(&mut self, now: Instant) -> Option<Slot> {
        let (_, place) = self.earliest().filter(|(deadline, _)| *deadline <= now)?;
        self.deadlines.pop();
        Some(self.remove(place))
    }

    /// Removes the datagrams for which `is_unwanted` returns true, in the order of leaving.
    pub(super) fn remove_if(
        &mut self,
        mut is_unwanted: impl FnMut(Offer, &QueueLabel) -> bool,
        mut on_removed: impl FnMut(Slot),
    ) {
        let mut place = self.head;
        while let Some(&Entry {
            offer, label, next, ..
        }) = self.list.get(index(place))
        {
            if is_unwanted(offer, &label) {
                on_removed(self.remove(place));
            }
            place = next;
        }
    }

    /// Places in memory, used or free.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.list.len()
    }

    /// Entries of the heap of deadlines, stale ones included.
    #[cfg(test)]
    pub(super) fn deadlines(&self) -> usize {
        self.deadlines.len()
    }

    /// Adds a datagram behind those of its priority. None with its key may be waiting.
    pub(super) fn push(&mut self, offer: Offer, label: QueueLabel) {
        let previous = self.ends.last_from(label.priority);
        let next = match self.list.get(index(previous)) {
            Some(previous) => previous.next,
            None => self.head,
        };
        let place = self.store(Entry {
            offer,
            label,
            age: self.pushed,
            previous,
            next,
        });
        self.link(previous, place);
        self.link(place, next);
        self.ends.set_last(label.priority, place);
        if let Some(key) = label.key {
            self.keys.insert(key, place);
        }
        self.note_deadline(place, label.deadline);
        self.pushed += 1;
        self.len += 1;
        self.bytes += offer.len as u64;
    }

    /// Replaces the waiting datagram with the same key. The new one takes its place, or goes behind those of its own
    /// priority if that differs. Returns the slot of the old one.
    pub(super) fn supersede(&mut self, offer: Offer, label: QueueLabel) -> Option<Slot> {
        let place = *self.keys.get(&label.key?)?;
        let old = self.list[index(place)];
        if old.label.priority == label.priority {
            self.bytes = self.bytes - old.offer.len as u64 + offer.len as u64;
            self.list[index(place)] = Entry {
                offer,
                label,
                ..old
            };
            if old.label.deadline != label.deadline {
                self.forget_deadline(old.label.deadline);
                self.note_deadline(place, label.deadline);
            }
        } else {
            self.remove(place);
            self.push(offer, label);
        }
        Some(old.offer.slot)
    }

    /// Removes the next datagram if it is this one.
    pub(super) fn remove_first(&mut self, slot: Slot) -> bool {
        let is_next = self.first().is_some_and(|e| e.offer.slot == slot);
        if is_next {
            self.remove(self.head);
        }
        is_next
    }

    /// Removes the datagram that has waited longest.
    pub(super) fn remove_oldest(&mut self) -> Option<Slot> {
        let fronts = self.ends.used().map(|priority| self.first_of(priority));
        let oldest = fronts.min_by_key(|&place| self.list[index(place)].age)?;
        Some(self.remove(oldest))
    }

    /// Removes the oldest datagram of the lowest priority, if that is at most `at_most`.
    pub(super) fn remove_least(&mut self, at_most: u8) -> Option<Slot> {
        let lowest = self.ends.used().next().filter(|&p| p <= at_most)?;
        Some(self.remove(self.first_of(lowest)))
    }

    /// The oldest datagram of a priority that is in use: it follows the last one of a higher priority.
    fn first_of(&self, priority: u8) -> u32 {
        let above = priority
            .checked_add(1)
            .map_or(NONE, |above| self.ends.last_from(above));
        match self.list.get(index(above)) {
            Some(above) => above.next,
            None => self.head,
        }
    }

    fn remove(&mut self, place: u32) -> Slot {
        let Entry {
            offer,
            label,
            previous,
            next,
            ..
        } = self.list[index(place)];
        self.link(previous, next);
        if self.ends.last_of(label.priority) == place {
            let before = self.list.get(index(previous));
            let is_equal = before.is_some_and(|e| e.label.priority == label.priority);
            let last = if is_equal { previous } else { NONE };
            self.ends.set_last(label.priority, last);
        }
        if let Some(key) = label.key {
            self.keys.remove(&key);
        }
        self.list[index(place)].next = self.free;
        self.free = place;
        self.len -= 1;
        self.bytes -= offer.len as u64;
        if label.deadline.is_some() {
            self.list[index(place)].label.deadline = None;
            self.forget_deadline(label.deadline);
        }
        offer.slot
    }

    fn store(&mut self, entry: Entry) -> u32 {
        let place = self.free;
        if let Some(free) = self.list.get_mut(index(place)) {
            self.free = free.next;
            *free = entry;
            return place;
        }
        self.list.push(entry);
        // Slots have 32 bits, so there are never more places than that.
        u32::try_from(self.list.len() - 1).unwrap_or(NONE)
    }

    /// Makes two places neighbours. [`NONE`] stands for the ends of the list.
    fn link(&mut self, place: u32, next: u32) {
        match self.list.get_mut(index(place)) {
            Some(entry) => entry.next = next,
            None => self.head = next,
        }
        if let Some(entry) = self.list.get_mut(index(next)) {
            entry.previous = place;
        }
    }
}

/// Deadlines.
impl Order {
    /// The earliest entry of the heap that still counts.
    fn earliest(&mut self) -> Option<(Instant, u32)> {
        while let Some(&Reverse((deadline, place))) = self.deadlines.peek() {
            if self.list[index(place)].label.deadline == Some(deadline) {
                return Some((deadline, place));
            }
            self.deadlines.pop();
        }
        None
    }

    fn note_deadline(&mut self, place: u32, deadline: Option<Instant>) {
        if let Some(deadline) = deadline {
            self.timed += 1;
            self.deadlines.push(Reverse((deadline, place)));
        }
    }

    /// A datagram with this deadline is gone. Its heap entry is stale from now on.
    fn forget_deadline(&mut self, deadline: Option<Instant>) {
        if deadline.is_none() {
            return;
        }
        self.timed -= 1;
        if self.deadlines.len() > 2 * self.timed + STALE_MIN {
            let list = &self.list;
            self.deadlines
                .retain(|Reverse((at, place))| list[index(*place)].label.deadline == Some(*at));
        }
    }
}

/// The last datagram of each priority.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// By priority, up to the highest that was ever used.
    last: Vec<u32>,
    /// A bit for each priority that has datagrams.
    used: [u64; 4],
}

impl Ends {
    fn last_of(&self, priority: u8) -> u32 {
        self.last.get(usize::from(priority)).map_or(NONE, |l| *l)
    }

    /// The last datagram of this priority or, if it has none, of the next higher one that has.
    fn last_from(&self, priority: u8) -> u32 {
        let last = self.last_of(priority);
        if last != NONE || usize::from(priority) >= self.last.len() {
            return last;
        }
        self.next_used(priority).map_or(NONE, |p| self.last_of(p))
    }

    fn set_last(&mut self, priority: u8, place: u32) {
        let (at, bit) = (usize::from(priority), 1 << (priority % 64));
        if at >= self.last.len() {
            self.last.resize(at + 1, NONE);
        }
        self.last[at] = place;
        let word = &mut self.used[at / 64];
        *word = if place == NONE {
            *word & !bit
        } else {
            *word | bit
        };
    }

    /// The priorities that have datagrams, lowest first.
    fn used(&self) -> impl Iterator<Item = u8> {
        let above = |p: &u8| self.next_used(p.checked_add(1)?);
        core::iter::successors(self.next_used(0), above)
    }

    /// The lowest priority at or above `from` that has datagrams.
    fn next_used(&self, from: u8) -> Option<u8> {
        let first = from / 64;
        (first..4).find_map(|word| {
            let skipped = if word == first { from % 64 } else { 0 };
            let bits = self.used[usize::from(word)] & (u64::MAX << skipped);
            let bit = u8::try_from(bits.trailing_zeros()).ok()?;
            (bit < 64).then(|| word * 64 + bit)
        })
    }
}

fn index(place: u32) -> usize {
    place as usize
}
