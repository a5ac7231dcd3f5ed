//! The application's side of the sending lane: pushes datagrams and changes those that wait.
//!
//! It keeps its own records of them. From the ring it reads only the transport's indexes.

mod direct;
mod held;
mod news;
mod ticket;

pub use held::Held;
pub use ticket::Ticket;

use crate::bell::{self, Bell};
use crate::error::{ChangeError, PushError, Violation};
use crate::index::{AppIndex, TransportIndex, is_before, later};
use crate::lane::Consumer;
use crate::layout::{Control, Entries, Layout};
use crate::mem::{Memory, Ordering, fence};
use crate::slot::{self, Label, Place};
use crate::transport;
use std::collections::HashMap;
use std::sync::Arc;

/// The result of a push.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pushed {
    /// Identifies the new datagram.
    pub ticket: Ticket,
    /// The label of the datagram with the same key that it replaced and that will not leave.
    pub superseded: Option<Label>,
}

/// Pushes datagrams, changes those that wait, and reads their fates.
#[derive(Debug)]
pub struct Sender {
    memory: Memory,
    order: Entries,
    slots: Entries,
    /// Our indexes; `user` runs ahead of what the transport sees until [`show`](Self::show).
    own: AppIndex,
    /// The transport's indexes as last read.
    transport: TransportIndex,
    /// The datagram at each position from `dev` to `user`.
    entries: Box<[Entry]>,
    /// For each slot, its use count and its position.
    turns: Box<[Turn]>,
    free: Vec<u32>,
    /// The slots of datagrams with a key.
    keys: HashMap<u64, u32>,
    /// Datagrams taken back.
    held: Vec<Entry>,
    /// True between taking back and releasing.
    is_holding: bool,
    fates: Consumer,
    transport_bell: Arc<dyn Bell>,
}

/// A datagram in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Entry {
    slot: u32,
    len: u32,
    label: Label,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    number: u64,
    position: u32,
}

/// Several datagrams, shown to the transport together when this is dropped. A push that overtakes or
/// supersedes shows the earlier ones at once.
#[derive(Debug)]
pub struct Batch<'a> {
    sender: &'a mut Sender,
}

/// Pushing.
impl Sender {
    pub(crate) fn new(memory: &Memory, layout: &Layout, transport_bell: Arc<dyn Bell>) -> Self {
        let slots = layout.slots.count as usize;
        Self {
            memory: memory.clone(),
            order: layout.order,
            slots: layout.slots,
            own: AppIndex::START,
            transport: TransportIndex::START,
            entries: vec![Entry::default(); slots].into(),
            turns: vec![Turn::default(); slots].into(),
            free: (0..layout.slots.count).rev().collect(),
            // With twice the capacity the table clears removed keys without growing.
            keys: HashMap::with_capacity(2 * slots),
            held: Vec::with_capacity(slots),
            is_holding: false,
            fates: Consumer::new(transport::fates(layout)),
            transport_bell,
        }
    }

    /// Puts a datagram at the end of the ring, but before trailing datagrams of lower priority. It
    /// replaces a waiting datagram with the same key.
    ///
    /// At the end this takes constant time. To overtake or supersede, it takes back the datagrams behind
    /// the new place and rewrites their order: 16 bytes each.
    ///
    /// # Errors
    /// When there is no room, the datagram is too long, or the transport broke the rules.
    pub fn push(&mut self, data: &[u8], label: Label) -> Result<Pushed, PushError> {
        self.batch().push(data, label)
    }

    /// Pushes several datagrams; cheaper than single pushes, because it updates the index once.
    pub fn batch(&mut self) -> Batch<'_> {
        Batch { sender: self }
    }

    fn place(&mut self, data: &[u8], label: Label) -> Result<Pushed, PushError> {
        self.begin()?;
        if !self.fits(data) {
            let (len, max) = (data.len(), self.slots.bytes as usize);
            return Err(PushError::TooLong { len, max });
        }
        if let Some(key) = label.key
            && let Some(slot) = self.keys.get(&key).copied()
            && let Some(pushed) = self.supersede(slot, data, label)?
        {
            return Ok(pushed);
        }
        if self.free.is_empty() {
            self.see_transport()?;
        }
        if self.free.is_empty() {
            return Err(PushError::Full);
        }
        if label.priority > 0 {
            // Claims that were seen may have been given back since.
            self.see_transport()?;
        }
        let position = self.end_of_higher(label.priority);
        let overtakes = position != self.own.user;
        if overtakes {
            self.take_back_from(position)?;
        }
        // From here on nothing fails: a slot is in the ring or free.
        let slot = self.free.pop().ok_or(PushError::Full)?;
        if self.memory.is_direct() {
            // Slots that the application has emptied itself come back without a new turn.
            self.next_turn(slot);
        }
        let entry = self.fill(slot, data, label);
        if overtakes {
            self.held.insert(0, entry);
            self.release();
        } else {
            self.append(entry);
            if self.memory.is_direct() {
                // The next call reads the index from the memory.
                self.show(self.own.user);
            }
        }
        Ok(Pushed {
            ticket: self.ticket(slot),
            superseded: None,
        })
    }

    /// Puts a datagram in the place of the one in `slot`, if that one has not been claimed.
    fn supersede(
        &mut self,
        slot: u32,
        data: &[u8],
        label: Label,
    ) -> Result<Option<Pushed>, Violation> {
        let mut held = self.take_back_from_slot(slot)?;
        if !held.begins_with(slot) {
            return Ok(None);
        }
        let superseded = held.replace(0, data, label);
        Ok(Some(Pushed {
            ticket: held.renew(0),
            superseded: Some(superseded),
        }))
    }

    /// The position for a datagram of this priority: before the trailing ones of lower priority.
    fn end_of_higher(&self, priority: u8) -> u32 {
        let mut position = self.own.user;
        while position != self.transport.kern
            && self.entry(position.wrapping_sub(1)).label.priority < priority
        {
            position = position.wrapping_sub(1);
        }
        position
    }

    fn append(&mut self, entry: Entry) {
        let position = self.own.user;
        self.own.user = position.wrapping_add(1);
        Place::new(entry.slot, entry.len, &entry.label)
            .store(&self.memory, self.order.at(position));
        self.turns[entry.slot as usize].position = position;
        let index = self.index(position);
        self.entries[index] = entry;
    }

    /// Writes a datagram, which must fit, into a slot.
    fn fill(&mut self, slot: u32, data: &[u8], label: Label) -> Entry {
        let label = label.normal();
        slot::fill(&self.memory, self.slots.at(slot), data, &label);
        if let Some(key) = label.key {
            self.keys.insert(key, slot);
        }
        let len = u32::try_from(data.len()).unwrap_or(self.slots.bytes);
        Entry { slot, len, label }
    }

    fn fits(&self, data: &[u8]) -> bool {
        data.len() <= self.slots.bytes as usize
    }
}

impl Batch<'_> {
    /// As [`Sender::push`]; the transport sees the datagram when the batch is dropped, at the latest.
    ///
    /// # Errors
    /// As [`Sender::push`].
    pub fn push(&mut self, data: &[u8], label: Label) -> Result<Pushed, PushError> {
        self.sender.place(data, label)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if self.sender.memory.is_direct() {
            self.sender.wake_transport();
        } else {
            self.sender.show_all();
        }
    }
}

/// Changing.
impl Sender {
    /// Takes back at most `newest` waiting datagrams, the newest first. Until the result is dropped, they
    /// cannot be claimed and can be changed, withdrawn and reordered.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn take_back(&mut self, newest: usize) -> Result<Held<'_>, Violation> {
        self.begin()?;
        // A claim that was seen may have failed since.
        self.see_transport()?;
        let waiting = self.own.user.wrapping_sub(self.transport.kern);
        let n = u32::try_from(newest).unwrap_or(u32::MAX).min(waiting);
        self.take_back_from(self.own.user.wrapping_sub(n))?;
        Ok(Held::of(self))
    }

    /// Replaces a waiting datagram, which keeps its place and its ticket. The datagrams behind it are
    /// taken back meanwhile, and their order is rewritten: 16 bytes each.
    ///
    /// # Errors
    /// When it has been claimed, its new data are too long, or another datagram waits with its new key.
    pub fn revise(&mut self, ticket: Ticket, data: &[u8], label: Label) -> Result<(), ChangeError> {
        self.hold(ticket)?.revise(0, data, label)
    }

    /// Removes a datagram from the ring and returns its label. The order of the datagrams behind it is
    /// rewritten: 16 bytes each. To withdraw many, use [`take_back`](Self::take_back), which rewrites
    /// the order once.
    ///
    /// # Errors
    /// When it has been claimed.
    pub fn withdraw(&mut self, ticket: Ticket) -> Result<Label, ChangeError> {
        Ok(self.hold(ticket)?.withdraw(0))
    }

    /// Takes back a datagram and those behind it.
    fn hold(&mut self, ticket: Ticket) -> Result<Held<'_>, ChangeError> {
        self.begin()?;
        if !self.is_here(ticket) {
            return Err(ChangeError::TooLate);
        }
        let held = self.take_back_from_slot(ticket.slot)?;
        if held.begins_with(ticket.slot) {
            Ok(held)
        } else {
            Err(ChangeError::TooLate)
        }
    }

    /// Whether a ticket identifies a datagram in this ring; another ring's ticket may hold any value.
    fn is_here(&self, ticket: Ticket) -> bool {
        let Some(turn) = self.turns.get(ticket.slot as usize) else {
            return false;
        };
        let dev = self.transport.dev;
        let is_used = turn.position.wrapping_sub(dev) < self.own.user.wrapping_sub(dev);
        turn.number == ticket.turn && is_used && self.entry(turn.position).slot == ticket.slot
    }

    fn take_back_from_slot(&mut self, slot: u32) -> Result<Held<'_>, Violation> {
        // A claim that was seen may have failed since.
        self.see_transport()?;
        self.take_back_from(self.turns[slot as usize].position)?;
        Ok(Held::of(self))
    }

    /// Forbids claims from position `from` on, then reads how far the transport has claimed. The transport
    /// does the same in reverse order, so both cannot win (docs/ring.md). The datagrams taken back are
    /// then in `held`.
    fn take_back_from(&mut self, from: u32) -> Result<(), Violation> {
        self.finish();
        let from = later(from, self.transport.kern);
        self.show(from);
        fence(Ordering::SeqCst);
        self.see_transport()?;
        self.is_holding = true;
        let claimed = self.transport.kern;
        if is_before(from, claimed) {
            // Claimed datagrams stay released: the transport retries a claim that fails.
            self.show(claimed);
            self.wake_transport();
        }
        let mut position = self.own.umod;
        while position != self.own.user {
            self.held.push(*self.entry(position));
            position = position.wrapping_add(1);
        }
        Ok(())
    }

    /// Prepares a call.
    fn begin(&mut self) -> Result<(), Violation> {
        self.finish();
        if self.memory.is_direct() {
            self.adopt()?;
        }
        Ok(())
    }

    /// Releases held datagrams whose `Held` was leaked instead of dropped.
    fn finish(&mut self) {
        if self.is_holding {
            self.release();
        }
    }

    /// Puts the held datagrams back into the ring and allows claims.
    fn release(&mut self) {
        self.is_holding = false;
        self.own.user = self.own.umod;
        let mut held = core::mem::take(&mut self.held);
        for entry in held.drain(..) {
            self.append(entry);
        }
        self.held = held;
        self.show_all();
    }
}

/// Indexes.
impl Sender {
    /// Allows the transport to claim everything.
    fn show_all(&mut self) {
        self.show(self.own.user);
        self.wake_transport();
    }

    /// Allows claims before `umod` and publishes the data written there: Release.
    fn show(&mut self, umod: u32) {
        self.own.umod = umod;
        self.memory.publish(Control::App.at(), self.own.word());
    }

    fn wake_transport(&self) {
        let sleeper = self.memory.atomic(Control::TransportSleeps.at());
        bell::wake(sleeper, &*self.transport_bell);
    }

    /// Reads the transport's indexes and collects the slots that it has freed. The transport read those
    /// slots before it freed them: Acquire.
    fn see_transport(&mut self) -> Result<(), Violation> {
        let TransportIndex { dev, .. } = self.transport;
        let word = self.memory.atomic(Control::Transport.at());
        let word = word.load(Ordering::Acquire);
        if self.memory.is_taken_back() {
            // The memory is gone, and with it the transport's progress.
            return Err(Violation::Index);
        }
        self.transport = TransportIndex::checked(word, dev, self.own.user, self.slots.count)?;
        let mut position = dev;
        while position != self.transport.dev {
            let Entry { slot, label, .. } = *self.entry(position);
            self.free_slot(slot, &label);
            position = position.wrapping_add(1);
        }
        Ok(())
    }

    /// Forgets the datagram in a slot.
    fn free_slot(&mut self, slot: u32, label: &Label) {
        self.forget_key(slot, label);
        self.next_turn(slot);
        self.free.push(slot);
    }

    /// Removes the key of the datagram in a slot, unless a newer datagram has it.
    fn forget_key(&mut self, slot: u32, label: &Label) {
        if let Some(key) = label.key
            && self.keys.get(&key) == Some(&slot)
        {
            self.keys.remove(&key);
        }
    }

    /// Gives the slot's datagram a new ticket.
    fn next_turn(&mut self, slot: u32) -> Ticket {
        let turn = &mut self.turns[slot as usize];
        turn.number += 1;
        self.ticket(slot)
    }

    fn ticket(&self, slot: u32) -> Ticket {
        let turn = self.turns[slot as usize].number;
        Ticket { slot, turn }
    }

    fn entry(&self, position: u32) -> &Entry {
        &self.entries[self.index(position)]
    }

    fn index(&self, position: u32) -> usize {
        (position & (self.slots.count - 1)) as usize
    }
}
