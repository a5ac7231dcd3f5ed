//! Applications that use the ring's memory without this crate, for example in C.

use super::{Entry, Sender};
use crate::error::Violation;
use crate::index::{AppIndex, TransportIndex};
use crate::layout::Control;
use crate::mem::{AtomicU64, Ordering};
use crate::slot::Place;

impl Sender {
    /// Returns the ring's memory, which the application may from now on use itself: `docs/ring.md` has the layout and the
    /// rules. Calls of this type remain possible between such uses, on the same thread. Each of them first reads the
    /// application's own indexes and entries from the memory, so it takes time in proportion to the datagrams that wait.
    ///
    /// A ticket stays valid while the datagram at its position keeps its slot, length and label.
    pub fn memory(&mut self) -> &[AtomicU64] {
        self.memory.open()
    }

    /// Wakes the transport if it sleeps: call it after publishing datagrams in the [`memory`](Self::memory).
    pub fn wake(&self) {
        self.wake_transport();
    }

    /// Reads the application's indexes and entries from the memory, because the application may have written them.
    ///
    /// The transport could have written them too, so they are checked as the transport checks them.
    pub(super) fn adopt(&mut self) -> Result<(), Violation> {
        let own = self.memory.own(Control::App.at());
        let transport = self.memory.atomic(Control::Transport.at());
        let transport = transport.load(Ordering::Acquire);
        if self.memory.is_taken_back() {
            return Err(Violation::Index);
        }
        let slots = self.slots.count;
        let (_, user) = AppIndex::halves(own);
        // The oldest position that can still have a slot.
        let oldest = user.wrapping_sub(slots);
        self.transport = TransportIndex::checked(transport, oldest, user, slots)?;
        self.own = AppIndex::checked(own, self.transport.dev, slots)?;

        let mut is_used = vec![false; slots as usize];
        self.keys.clear();
        let mut position = self.transport.dev;
        while position != user {
            let entry = self.read_entry(position)?;
            let slot = entry.slot as usize;
            if core::mem::replace(&mut is_used[slot], true) {
                return Err(Violation::Slot);
            }
            let index = self.index(position);
            let is_same = self.entries[index] == entry && self.turns[slot].position == position;
            if !is_same {
                self.next_turn(entry.slot);
            }
            self.entries[index] = entry;
            self.turns[slot].position = position;
            if let Some(key) = entry.label.key {
                self.keys.insert(key, entry.slot);
            }
            position = position.wrapping_add(1);
        }
        self.free.clear();
        self.free
            .extend((0..slots).rev().filter(|&slot| !is_used[slot as usize]));
        Ok(())
    }

    /// The datagram at a position, as the memory has it.
    fn read_entry(&self, position: u32) -> Result<Entry, Violation> {
        let place = Place::load(&self.memory, self.order.at(position));
        if place.slot >= self.slots.count {
            return Err(Violation::Slot);
        }
        if place.len > self.slots.bytes {
            return Err(Violation::Length);
        }
        Ok(Entry {
            slot: place.slot,
            len: place.len,
            label: place.label(&self.memory, self.slots.at(place.slot)),
        })
    }

    /// Continues behind the fates that the application has read itself.
    pub(super) fn adopt_fates(&mut self) -> Result<(), Violation> {
        if self.memory.is_direct() {
            self.fates.adopt(&self.memory)?;
        }
        Ok(())
    }
}
