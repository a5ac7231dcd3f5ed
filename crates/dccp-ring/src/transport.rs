//! The transport's side of the sending lane: claims datagrams and tells what became of them.
//!
//! Its cost does not depend on how many datagrams wait, nor on what the application does meanwhile. Who is going to
//! claim several says so before: they are then claimed in one step.

use crate::bell::{self, Bell};
use crate::error::Violation;
use crate::index::{AppIndex, START, TransportIndex};
use crate::lane::{Lane, Producer};
use crate::layout::{Control, Entries, Layout};
use crate::mem::{Memory, Ordering, fence};
use crate::slot::{HEADER_WORDS, Label, Place};
use std::collections::VecDeque;
use std::sync::Arc;

/// Datagrams claimed in one step at most: what one system call sends.
const AHEAD_MAX: u32 = 64;

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
    /// The position to take next: all before it have been copied.
    next: u32,
    /// Claimed, and not yet taken: what stands from `next` on.
    ahead: VecDeque<Ahead>,
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

/// A datagram that was claimed before it is taken. What stands here was read once, and is no more looked at.
#[derive(Debug)]
struct Ahead {
    place: Place,
    label: Label,
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
            ahead: VecDeque::with_capacity(AHEAD_MAX.min(layout.slots.count) as usize),
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
        let place = match self.ahead.front().map(|ahead| ahead.place) {
            Some(place) => place,
            None if self.is_any_ready()? => self.place(self.next)?,
            None => return Ok(Look::Nothing),
        };
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

    /// Whether something may be claimed. If not, it has said that the transport sleeps.
    fn is_any_ready(&mut self) -> Result<bool, Violation> {
        if self.ready() == 0 {
            self.see_app()?;
        }
        if self.ready() == 0 {
            bell::lie_down(self.memory.atomic(Control::TransportSleeps.at()));
            self.see_app()?;
            if self.ready() == 0 {
                return Ok(false);
            }
            bell::stand_up(self.memory.atomic(Control::TransportSleeps.at()));
        }
        Ok(true)
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

    /// Claims the next datagrams in one step: as many as are ready, but at most so many, if none is claimed already.
    /// Each is then looked at and taken as ever, at the cost of its copy. What was offered is offered still, unless it was
    /// taken back or changed meanwhile. [`flush`](Self::flush) gives up those that were not taken.
    ///
    /// It says first that the datagrams are claimed and looks then which of them may be: the application
    /// does the same when it takes datagrams back, so that not both can win (docs/ring.md).
    ///
    /// # Errors
    /// When the application broke the rules.
    pub fn claim_ahead(&mut self, at_most: u32) -> Result<(), Violation> {
        let at_most = at_most.min(AHEAD_MAX);
        if !self.ahead.is_empty() {
            return Ok(());
        }
        if self.ready() < at_most {
            self.see_app()?;
        }
        let wanted = self.ready().min(at_most);
        if wanted == 0 {
            return Ok(());
        }
        self.show(self.next.wrapping_add(wanted), self.next);
        fence(Ordering::SeqCst);
        let seen = self.see_app();
        if seen.is_ok() {
            self.read_ahead(self.ready().min(wanted));
        }
        let first = self.ahead.front().map(|ahead| ahead.place);
        if self.offered.is_some_and(|offered| first != Some(offered)) {
            self.offered = None;
            self.ahead.clear();
        }
        self.show_claimed();
        seen
    }

    /// Reads what stands about the next datagrams, in one pass: a word that the processor has to wait for is not waited
    /// for once per datagram. It ends before what cannot be (the look that comes there says so), and where a
    /// batch does: before a longer one, and behind a shorter one.
    fn read_ahead(&mut self, claimed: u32) {
        let mut len = None;
        for n in 0..claimed {
            let Ok(place) = self.place(self.next.wrapping_add(n)) else {
                return;
            };
            let is_last = match *len.get_or_insert(place.len) {
                first if place.len > first => return,
                first => place.len < first,
            };
            let label = place.label(&self.memory, self.slots.at(place.slot));
            self.ahead.push_back(Ahead { place, label });
            if is_last {
                return;
            }
        }
    }

    /// Takes what was offered, unless that was taken back or changed meanwhile.
    fn claim(&mut self, copy: impl FnOnce(&Memory, usize)) -> Result<Option<Claimed>, Violation> {
        if self.offered.is_none() {
            return Ok(None);
        }
        self.claim_ahead(1)?;
        let Some(Ahead { place, label }) = self.offered.take().and(self.ahead.pop_front()) else {
            return Ok(None);
        };
        copy(&self.memory, self.slots.at(place.slot) + HEADER_WORDS);
        self.next = self.next.wrapping_add(1);
        self.has_given_room = true;
        if self.ahead.is_empty() {
            self.show_claimed();
        }
        Ok(Some(Claimed {
            len: place.len as usize,
            label,
        }))
    }

    /// Shows the application what is claimed, and what has been copied.
    fn show_claimed(&mut self) {
        // At most as many as were wanted.
        let ahead = u32::try_from(self.ahead.len()).unwrap_or(AHEAD_MAX);
        self.show(self.next.wrapping_add(ahead), self.next);
    }

    /// Lets the application have again what was claimed and not taken.
    fn give_up_ahead(&mut self) {
        if !self.ahead.is_empty() {
            self.offered = None;
            self.ahead.clear();
            self.show_claimed();
        }
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

    /// How many datagrams may be claimed, as far as is known.
    fn ready(&self) -> u32 {
        self.app.ready(self.next, self.slots.count)
    }

    /// What the order says about a position.
    fn place(&self, position: u32) -> Result<Place, Violation> {
        let place = Place::load(&self.memory, self.order.at(position));
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
            return Ok(());
        };
        self.memory.set(at, report.tag);
        self.memory.set(at + 1, report.fate);
        self.memory.set(at + 2, report.at_ns);
        self.fates.advance();
        Ok(())
    }

    /// Shows the application the reports, and wakes it if it waits for them or for room. Once for a
    /// batch. What was claimed ahead and not taken may be taken back again.
    pub fn flush(&mut self) {
        self.give_up_ahead();
        if core::mem::take(&mut self.has_reported) {
            let missed = self.memory.atomic(Control::FatesFilled.at() + 1);
            missed.store(self.fates_missed, Ordering::Relaxed);
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
