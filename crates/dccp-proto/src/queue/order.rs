//! In which order datagrams leave, and which of them makes room for another (design 7).
//!
//! One list in the order of leaving: of higher priority first, and of the same priority the oldest
//! first. Where each priority ends is known, so that no operation searches:
//!
//! ```text
//!   head                                   last of 7: b
//!    ▼                                     last of 3: c
//!   a 7 ⇄ b 7 ⇄ c 3 ⇄ d 0 ⇄ e 0            last of 0: e
//! ```

use super::{Label, Offer, Slot};
use std::collections::HashMap;

/// No place.
const NONE: u32 = u32::MAX;

/// A datagram that waits, and its neighbours in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) offer: Offer,
    pub(super) label: Label,
    /// It waits since this many datagrams were pushed.
    age: u64,
    previous: u32,
    next: u32,
}

/// The datagrams that wait. Places in `list` are used again: in steady state nothing is allocated.
#[derive(Clone, Debug)]
pub(super) struct Order {
    list: Vec<Entry>,
    head: u32,
    /// The first of the places that are free, which are linked by `next`.
    free: u32,
    ends: Ends,
    /// Where the datagram with each key waits.
    keys: HashMap<u64, u32>,
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

    /// The datagram to leave next.
    pub(super) fn first(&self) -> Option<&Entry> {
        self.list.get(index(self.head))
    }

    /// Whether a datagram with the same key waits.
    pub(super) fn has_key(&self, label: &Label) -> bool {
        label.key.is_some_and(|key| self.keys.contains_key(&key))
    }

    /// Places in memory, used or free.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.list.len()
    }

    /// Puts a datagram behind those of its priority. None with its key must wait.
    pub(super) fn push(&mut self, offer: Offer, label: Label) {
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
        self.pushed += 1;
        self.len += 1;
        self.bytes += offer.len as u64;
    }

    /// If a datagram with the same key waits, the new one takes its place, or that of its own priority if
    /// it has another. Gives the slot of the old one.
    pub(super) fn supersede(&mut self, offer: Offer, label: Label) -> Option<Slot> {
        let place = *self.keys.get(&label.key?)?;
        let old = self.list[index(place)];
        if old.label.priority == label.priority {
            self.bytes = self.bytes - old.offer.len as u64 + offer.len as u64;
            self.list[index(place)] = Entry {
                offer,
                label,
                ..old
            };
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

    /// Removes the oldest datagram of the lowest priority, if that is not above `at_most`.
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
        // Slots, which have 32 bits, name the datagrams.
        u32::try_from(self.list.len() - 1).unwrap_or(NONE)
    }

    /// Makes two places neighbours; of none: the ends of the list.
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

/// The last datagram of each priority.
#[derive(Clone, Debug, Default)]
struct Ends {
    /// By priority, up to the highest that was ever used.
    last: Vec<u32>,
    /// A bit for each priority that has one.
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

    /// The priorities that have datagrams, the lowest first.
    fn used(&self) -> impl Iterator<Item = u8> {
        let above = |p: &u8| self.next_used(p.checked_add(1)?);
        core::iter::successors(self.next_used(0), above)
    }

    /// The lowest priority from this one on that has datagrams.
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
