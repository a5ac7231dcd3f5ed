//! The transport's side of the sending lane: claims datagrams and tells what became of them.
//!
//! Its cost does not depend on how many datagrams wait, nor on what the application does meanwhile.

use crate::bell::{self, Bell};
use crate::error::Violation;
use crate::index::{AppIndex, START, TransportIndex};
use crate::lane::{Lane, Producer};
use crate::layout::{Control, Entries, Layout};
use crate::mem::{Memory, Ordering, fence};
use crate::slot::{HEADER_WORDS, Label, Place};
use std::sync::Arc;

/// What can leave now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// Nothing. The application will ring the transport's bell when that changes.
    Nothing,
    /// A datagram of this length in bytes. The application may still take it back.
    Offer {
        /// How long it is.
        len: usize,
    },
    /// A datagram whose deadline has passed: it has been claimed, and must not leave.
    Expired(Claimed),
}

/// A datagram that was claimed: it is the transport's now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claimed {
    /// How long it is, in bytes.
    pub len: usize,
    /// What the application said about it.
    pub label: Label,
}

/// What became of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Its tag.
    pub tag: u64,
    /// What became of it, in numbers that both sides know; they mean nothing to the ring.
    pub fate: u64,
    /// When that was known, in nanoseconds of the transport's clock.
    pub at_ns: u64,
}

/// Where the transport takes datagrams from.
#[derive(Debug)]
pub struct Source {
    memory: Memory,
    order: Entries,
    slots: Entries,
    /// The position to claim next: all before it have been given back.
    next: u32,
    /// Our indexes as the application sees them.
    shown: TransportIndex,
    /// The application's indexes as last seen.
    app: AppIndex,
    /// What [`look`](Self::look) offered.
    offered: Option<Place>,
    fates: Producer,
    fates_missed: u64,
    has_reported: bool,
    has_given_room: bool,
    app_bell: Arc<dyn Bell>,
}

/// The lane of the reports.
pub(crate) const fn fates(layout: &Layout) -> Lane {
    Lane {
        entries: layout.fates,
        filled: Control::FatesFilled,
        taken: Control::FatesTaken,
    }
}

/// Claiming.
impl Source {
    pub(crate) fn new(memory: &Memory, layout: &Layout, app_bell: Arc<dyn Bell>) -> Self {
        Self {
            memory: memory.clone(),
            order: layout.order,
            slots: layout.slots,
            next: START,
            shown: TransportIndex::START,
            app: AppIndex::START,
            offered: None,
            fates: Producer::new(fates(layout)),
            fates_missed: 0,
            has_reported: false,
            has_given_room: false,
            app_bell,
        }
    }

    /// Looks at the next datagram, at `now_ns` of the transport's clock.
    ///
    /// # Errors
    /// When the application broke the rules.
    pub fn look(&mut self, now_ns: u64) -> Result<Look, Violation> {
        self.offered = None;
        if !self.is_next_ready() {
            self.see_app()?;
        }
        if !self.is_next_ready() {
            let sleeper = self.memory.atomic(Control::TransportSleeps.at());
            bell::lie_down(sleeper);
            self.see_app()?;
            if !self.is_next_ready() {
                return Ok(Look::Nothing);
            }
            bell::stand_up(self.memory.atomic(Control::TransportSleeps.at()));
        }
        let place = self.place()?;
        self.offered = Some(place);
        if place.is_expired(now_ns)
            && let Some(claimed) = self.refuse()?
        {
            return Ok(Look::Expired(claimed));
        }
        Ok(Look::Offer {
            len: place.len as usize,
        })
    }

    /// Claims the datagram that [`look`](Self::look) offered and copies it into `buf`, which has its
    /// length. `None`: it was taken back or changed meanwhile, nothing is claimed; look again.
    ///
    /// # Errors
    /// When the application broke the rules.
    ///
    /// # Panics
    /// When `buf` does not have the length that was offered.
    pub fn claim_into(&mut self, buf: &mut [u8]) -> Result<Option<Claimed>, Violation> {
        if let Some(offered) = self.offered {
            assert_eq!(buf.len(), offered.len as usize, "the offered length");
        }
        self.claim(|memory, at| memory.read(at, buf))
    }

    /// Claims the datagram that [`look`](Self::look) offered although it will not leave. `None`: as
    /// with [`claim_into`](Self::claim_into).
    ///
    /// # Errors
    /// When the application broke the rules.
    pub fn refuse(&mut self) -> Result<Option<Claimed>, Violation> {
        self.claim(|_, _| ())
    }

    /// Says first that the datagram is claimed and looks then whether it may be: the application
    /// does the same when it takes datagrams back, so that not both can win (docs/ring.md).
    fn claim(&mut self, copy: impl FnOnce(&Memory, usize)) -> Result<Option<Claimed>, Violation> {
        let Some(offered) = self.offered.take() else {
            return Ok(None);
        };
        let position = self.next;
        self.show(position.wrapping_add(1), position);
        fence(Ordering::SeqCst);
        let seen = self.see_app();
        if seen.is_err() || !self.is_next_ready() || self.place() != Ok(offered) {
            self.show(position, position);
            return seen.map(|()| None);
        }
        let at = self.slots.at(offered.slot);
        let label = offered.label(&self.memory, at);
        copy(&self.memory, at + HEADER_WORDS);
        self.next = position.wrapping_add(1);
        self.show(self.next, self.next);
        self.has_given_room = true;
        Ok(Some(Claimed {
            len: offered.len as usize,
            label,
        }))
    }

    /// Shows the application our indexes, and that we have done with what is before `dev`: Release.
    fn show(&mut self, kern: u32, dev: u32) {
        self.shown = TransportIndex { kern, dev };
        self.memory
            .publish(Control::Transport.at(), self.shown.word());
    }

    /// Reads the application's indexes, and with them what it wrote before: Acquire. Ours are looked at
    /// too: they are not the application's to move.
    fn see_app(&mut self) -> Result<(), Violation> {
        if self.memory.own(Control::Transport.at()) != self.shown.word() {
            return Err(Violation::Index);
        }
        let word = self
            .memory
            .atomic(Control::App.at())
            .load(Ordering::Acquire);
        self.app = AppIndex::checked(word, self.next, self.slots.count)?;
        Ok(())
    }

    fn is_next_ready(&self) -> bool {
        self.app.allows(self.next, self.slots.count)
    }

    /// What the order says about the next position.
    fn place(&self) -> Result<Place, Violation> {
        let place = Place::load(&self.memory, self.order.at(self.next));
        if place.slot >= self.slots.count {
            return Err(Violation::Slot);
        }
        if place.len > self.slots.bytes {
            return Err(Violation::Length);
        }
        Ok(place)
    }
}

/// Telling.
impl Source {
    /// Writes a report. The application sees it after [`flush`](Self::flush); if it does not read them,
    /// the newest find no room and are only counted.
    ///
    /// # Errors
    /// When the application broke the rules.
    pub fn report(&mut self, report: Report) -> Result<(), Violation> {
        self.has_reported = true;
        let Some(at) = self.fates.free(&self.memory)? else {
            self.fates_missed += 1;
            let missed = self.memory.atomic(Control::FatesFilled.at() + 1);
            missed.store(self.fates_missed, Ordering::Relaxed);
            return Ok(());
        };
        self.memory.set(at, report.tag);
        self.memory.set(at + 1, report.fate);
        self.memory.set(at + 2, report.at_ns);
        self.fates.advance();
        Ok(())
    }

    /// Shows the application the reports, and wakes it if it waits for them or for room. Once for a
    /// batch.
    pub fn flush(&mut self) {
        if core::mem::take(&mut self.has_reported) {
            self.fates.publish(&self.memory);
            let sleeper = self.memory.atomic(Control::WaitsForFates.at());
            bell::wake(sleeper, &*self.app_bell);
        }
        // A wrong index is for the next look to find.
        if self.has_given_room && self.see_app().is_ok() && self.is_worth_filling() {
            self.has_given_room = false;
            let sleeper = self.memory.atomic(Control::WaitsForRoom.at());
            bell::wake(sleeper, &*self.app_bell);
        }
    }

    /// Whether so many slots are free that waking who waits for them pays.
    fn is_worth_filling(&self) -> bool {
        const BATCH: u32 = 64;
        let used = self.app.user.wrapping_sub(self.next);
        self.slots.count - used.min(self.slots.count) >= BATCH.min(self.slots.count.div_ceil(2))
    }

    /// How many datagrams the ring can hold.
    pub fn slots(&self) -> u32 {
        self.slots.count
    }

    /// Reports for which there was no room.
    pub const fn fates_missed(&self) -> u64 {
        self.fates_missed
    }

    /// Datagrams that were in the ring when it was last looked at.
    pub fn waiting(&self) -> u32 {
        self.app.user.wrapping_sub(self.next)
    }
}
