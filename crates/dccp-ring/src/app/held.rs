//! Datagrams that were taken back.

use super::{Entry, Sender, Ticket};
use crate::error::ChangeError;
use crate::index;
use crate::slot::Label;
use core::cmp::Ordering;

/// Datagrams taken back: the transport cannot claim them while this exists. They are in the order of
/// departure. Dropping this releases them.
#[derive(Debug)]
pub struct Held<'a> {
    sender: &'a mut Sender,
}

/// Looking.
impl<'a> Held<'a> {
    /// Wraps the datagrams that the sender has taken back.
    pub(super) fn of(sender: &'a mut Sender) -> Self {
        Self { sender }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sender.held.len()
    }

    /// Whether there is none: all had been claimed, or none waited.
    pub fn is_empty(&self) -> bool {
        self.sender.held.is_empty()
    }

    /// Their labels.
    pub fn labels(&self) -> impl Iterator<Item = &Label> {
        self.sender.held.iter().map(|entry| &entry.label)
    }

    /// The index of a datagram; `None` if it has been claimed.
    pub fn find(&self, ticket: Ticket) -> Option<usize> {
        let is_it = |slot| slot == ticket.slot && self.sender.ticket(slot) == ticket;
        self.sender.held.iter().position(|entry| is_it(entry.slot))
    }

    /// The ticket of the datagram at `index`.
    ///
    /// # Panics
    /// When there is none.
    pub fn ticket(&self, index: usize) -> Ticket {
        self.sender.ticket(self.sender.held[index].slot)
    }

    pub(super) fn begins_with(&self, slot: u32) -> bool {
        self.sender
            .held
            .first()
            .is_some_and(|entry| entry.slot == slot)
    }
}

/// Changing. All panic when there is no datagram at an index.
impl Held<'_> {
    /// Replaces the datagram at `index`, which keeps its place and its ticket.
    ///
    /// # Errors
    /// When its new data are too long, or another datagram waits with its new key; then it stays as it
    /// was.
    ///
    /// # Panics
    /// When there is none.
    pub fn revise(&mut self, index: usize, data: &[u8], label: Label) -> Result<(), ChangeError> {
        if !self.sender.fits(data) {
            let (len, max) = (data.len(), self.sender.slots.bytes as usize);
            return Err(ChangeError::TooLong { len, max });
        }
        let slot = self.sender.held[index].slot;
        if let Some(key) = label.key
            && let Some(other) = self.sender.keys.get(&key)
            && *other != slot
        {
            return Err(ChangeError::KeyInUse { key });
        }
        self.replace(index, data, label);
        Ok(())
    }

    /// Takes a datagram out of the ring: it will not leave. Gives what was said of it.
    ///
    /// # Panics
    /// When there is none.
    pub fn withdraw(&mut self, index: usize) -> Label {
        let entry = self.sender.held.remove(index);
        self.sender.free_slot(entry.slot, &entry.label);
        entry.label
    }

    /// Takes the datagrams out of the ring for whose label `keep` returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&Label) -> bool) {
        let mut held = core::mem::take(&mut self.sender.held);
        held.retain(|entry| {
            let is_kept = keep(&entry.label);
            if !is_kept {
                self.sender.free_slot(entry.slot, &entry.label);
            }
            is_kept
        });
        self.sender.held = held;
    }

    /// Moves a datagram before or behind others.
    ///
    /// # Panics
    /// When there is none.
    pub fn move_to(&mut self, from: usize, to: usize) {
        let held = &mut self.sender.held;
        if from < to {
            held[from..=to].rotate_left(1);
        } else {
            held[to..=from].rotate_right(1);
        }
    }

    /// Sorts the datagrams. The sort is stable.
    pub fn sort_by(&mut self, mut compare: impl FnMut(&Label, &Label) -> Ordering) {
        let Sender { held, turns, .. } = &mut *self.sender;
        let position = |entry: &Entry| turns[entry.slot as usize].position;
        // The stable sort of the standard library allocates.
        held.sort_unstable_by(|a, b| {
            compare(&a.label, &b.label).then_with(|| index::compare(position(a), position(b)))
        });
    }

    /// Overwrites the datagram at `index` and returns its old label.
    pub(super) fn replace(&mut self, index: usize, data: &[u8], label: Label) -> Label {
        let Entry {
            slot, label: old, ..
        } = self.sender.held[index];
        self.sender.held[index] = self.sender.fill(slot, data, label);
        if old.key != label.key {
            self.sender.forget_key(slot, &old);
        }
        old
    }

    /// Gives the datagram at `index` a new ticket.
    pub(super) fn renew(&mut self, index: usize) -> Ticket {
        self.sender.next_turn(self.sender.held[index].slot)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.sender.release();
    }
}
