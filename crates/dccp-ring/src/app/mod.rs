//! The application's side of the sending lane: pushes datagrams, and may change its mind about those
//! that wait.
//!
//! What it knows about them it keeps for itself: of the ring it only reads the transport's indexes.

mod held;
mod news;

pub use held::Held;

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

/// Names a datagram as long as it waits, for the [`Sender`] that has given it: another one may have a
/// datagram of the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    slot: u32,
    /// How often the slot had been used before: 64 bits of it never come round.
    turn: u64,
}

/// A datagram is in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pushed {
    /// Its name.
    pub ticket: Ticket,
    /// What the application had said of the one with the same key whose place it took, and which will
    /// not leave.
    pub superseded: Option<Label>,
}

/// Pushes datagrams, changes those that wait, and hears what became of them.
#[derive(Debug)]
pub struct Sender {
    memory: Memory,
    order: Entries,
    slots: Entries,
    /// Our indexes; `user` runs ahead of what the transport sees until [`show`](Self::show).
    own: AppIndex,
    /// The transport's as last seen.
    transport: TransportIndex,
    /// What stands at each position from `dev` to `user`.
    entries: Box<[Entry]>,
    /// For each slot, whose turn it is and where.
    turns: Box<[Turn]>,
    free: Vec<u32>,
    /// The slots of datagrams with a key.
    keys: HashMap<u64, u32>,
    /// What was taken back.
    held: Vec<Entry>,
    /// Between taking back and releasing.
    is_holding: bool,
    fates: Consumer,
    transport_bell: Arc<dyn Bell>,
}

/// A datagram in the ring.
#[derive(Clone, Copy, Debug, Default)]
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

/// Several datagrams, shown to the transport when this is dropped; together, as long as none overtakes
/// or supersedes another: that shows all that was pushed before.
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
            // Twice the room: so the table clears away what was removed without growing.
            keys: HashMap::with_capacity(2 * slots),
            held: Vec::with_capacity(slots),
            is_holding: false,
            fates: Consumer::new(transport::fates(layout)),
            transport_bell,
        }
    }

    /// Puts a datagram into the ring, behind those that wait, but before those of lower priority at the
    /// end. If one with the same key waits, it takes that one's place.
    ///
    /// At the end this costs the same however many wait. To overtake or supersede takes back what stands
    /// behind its place, and writes the order of that anew: 16 bytes for each.
    ///
    /// # Errors
    /// When there is no room, the datagram is too long, or the transport broke the rules.
    pub fn push(&mut self, data: &[u8], label: Label) -> Result<Pushed, PushError> {
        self.batch().push(data, label)
    }

    /// Pushes several: cheaper than one by one, because the transport is told once.
    pub fn batch(&mut self) -> Batch<'_> {
        Batch { sender: self }
    }

    fn place(&mut self, data: &[u8], label: Label) -> Result<Pushed, PushError> {
        self.finish();
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
            // What was seen claimed may have been given back since.
            self.see_transport()?;
        }
        let position = self.end_of_higher(label.priority);
        let overtakes = position != self.own.user;
        if overtakes {
            self.take_back_from(position)?;
        }
        // From here on nothing fails: a slot is in the ring or free.
        let slot = self.free.pop().ok_or(PushError::Full)?;
        let entry = self.fill(slot, data, label);
        if overtakes {
            self.held.insert(0, entry);
            self.release();
        } else {
            self.append(entry);
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

    /// Before which position a datagram of this priority belongs: those of lower priority at the end
    /// let it pass.
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
        self.sender.show_all();
    }
}

/// Changing.
impl Sender {
    /// Takes back the datagrams that wait, at most so many of the newest: until it is dropped, what
    /// this gives cannot be claimed, and can be changed, withdrawn and put into another order.
    ///
    /// # Errors
    /// When the transport broke the rules.
    pub fn take_back(&mut self, newest: usize) -> Result<Held<'_>, Violation> {
        self.finish();
        // A claim that was seen may have failed since.
        self.see_transport()?;
        let waiting = self.own.user.wrapping_sub(self.transport.kern);
        let n = u32::try_from(newest).unwrap_or(u32::MAX).min(waiting);
        self.take_back_from(self.own.user.wrapping_sub(n))?;
        Ok(Held::of(self))
    }

    /// Replaces a datagram that waits; it keeps its place and its name. What stands behind it is taken
    /// back meanwhile, and its order written anew: 16 bytes for each.
    ///
    /// # Errors
    /// When it has been claimed, its new data are too long, or another datagram waits with its new key.
    pub fn revise(&mut self, ticket: Ticket, data: &[u8], label: Label) -> Result<(), ChangeError> {
        self.hold(ticket)?.revise(0, data, label)
    }

    /// Takes a datagram out of the ring: it will not leave. Gives what was said of it. The order of
    /// what stands behind it is written anew: 16 bytes for each. Who withdraws many does so through
    /// [`take_back`](Self::take_back), which writes it once.
    ///
    /// # Errors
    /// When it has been claimed.
    pub fn withdraw(&mut self, ticket: Ticket) -> Result<Label, ChangeError> {
        Ok(self.hold(ticket)?.withdraw(0))
    }

    /// Takes back a datagram and those behind it.
    fn hold(&mut self, ticket: Ticket) -> Result<Held<'_>, ChangeError> {
        self.finish();
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

    /// Whether a ticket names a datagram in this ring; one that another ring gave can be anything.
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

    /// Says first that what is at `from` and behind it may not be claimed, and looks then how far the
    /// transport has got: it does the same when it claims, so that not both can win
    /// (docs/ring.md). What could be taken back is then in `held`.
    fn take_back_from(&mut self, from: u32) -> Result<(), Violation> {
        self.finish();
        let from = later(from, self.transport.kern);
        self.show(from);
        fence(Ordering::SeqCst);
        self.see_transport()?;
        self.is_holding = true;
        let claimed = self.transport.kern;
        if is_before(from, claimed) {
            // What was claimed meanwhile stays released: a claim that fails will be tried again.
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

    /// Releases what somebody took back and then forgot to drop.
    fn finish(&mut self) {
        if self.is_holding {
            self.release();
        }
    }

    /// Puts what is in `held` where it was taken from, and lets the transport have it.
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
    /// Lets the transport have everything.
    fn show_all(&mut self) {
        self.show(self.own.user);
        self.wake_transport();
    }

    /// Shows the transport that it may have what is before `umod`, and what was written there:
    /// Release.
    fn show(&mut self, umod: u32) {
        self.own.umod = umod;
        self.memory.publish(Control::App.at(), self.own.word());
    }

    fn wake_transport(&self) {
        let sleeper = self.memory.atomic(Control::TransportSleeps.at());
        bell::wake(sleeper, &*self.transport_bell);
    }

    /// Reads the transport's indexes, and takes the slots that it has given back. It has read them
    /// before it said so: Acquire.
    fn see_transport(&mut self) -> Result<(), Violation> {
        let TransportIndex { dev, .. } = self.transport;
        let word = self.memory.atomic(Control::Transport.at());
        let word = word.load(Ordering::Acquire);
        if self.memory.is_taken_back() {
            // How far the transport came, nobody knows any more.
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

    /// The datagram in a slot is no more the one with its key.
    fn forget_key(&mut self, slot: u32, label: &Label) {
        if let Some(key) = label.key
            && self.keys.get(&key) == Some(&slot)
        {
            self.keys.remove(&key);
        }
    }

    /// The slot's datagram has a new name.
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
