//! The transport's side of the sending lane: claims datagrams and reports their fates.
//!
//! Its cost does not depend on the number of waiting datagrams or on the application's changes. A caller that
//! will take several datagrams claims them in one step with [`Source::claim_ahead`].

use crate::bell::{self, Bell};
use crate::error::Violation;
use crate::index::{AppIndex, START, TransportIndex, is_before};
use crate::lane::{Lane, Producer};
use crate::layout::{Control, Entries, Layout};
use crate::mem::{Memory, Ordering, fence};
use crate::slot::{HEADER_WORDS, Label, Place};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of datagrams per claim: those of one system call.
const AHEAD_MAX: u32 = 64;

/// The result of [`Source::look`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Look {
    /// No datagram. The application rings the transport's bell when that changes.
    Nothing,
    /// A datagram of this length in bytes. The application may still take it back.
    Offer {
        /// Its length in bytes.
        len: usize,
    },
    /// A datagram whose deadline has passed. It has been claimed and must not leave.
    Expired(Claimed),
}

/// A datagram that was claimed and now belongs to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claimed {
    /// Its length in bytes.
    pub len: usize,
    /// Its label.
    pub label: Label,
}

/// The fate of one datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Its tag.
    pub tag: u64,
    /// The fate as a number that both sides know; opaque to the ring.
    pub fate: u64,
    /// The time of the fate, in nanoseconds of the transport's clock.
    pub at_ns: u64,
}

/// The transport's source of datagrams.
#[derive(Debug)]
pub struct Source {
    memory: Memory,
    order: Entries,
    slots: Entries,
    /// The position to take next; all before it have been copied.
    next: u32,
    /// Datagrams from `next` on that are claimed but not yet taken.
    ahead: VecDeque<Ahead>,
    /// Our published indexes.
    shown: TransportIndex,
    /// The application's indexes as last read.
    app: AppIndex,
    withdrawn: u64,
    /// The datagram that [`look`](Self::look) offered.
    offered: Option<Place>,
    fates: Producer,
    fates_missed: u64,
    has_reported: bool,
    has_given_room: bool,
    app_bell: Arc<dyn Bell>,
}

/// A datagram that is claimed but not yet taken. Its fields were read once and are not read again.
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
            withdrawn: 0,
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

    /// Whether the datagram that [`look`](Self::look) offered has a priority above 0.
    pub fn is_offer_important(&self) -> bool {
        self.offered.is_some_and(|place| place.is_important)
    }

    /// Whether a datagram may be claimed. If not, the transport's sleep has been announced.
    fn is_any_ready(&mut self) -> Result<bool, Violation> {
        if self.ready() == 0 {
            self.see_app()?;
        }
        if self.ready() == 0 {
            bell::announce_sleep(self.memory.atomic(Control::TransportSleeps.at()));
            self.see_app()?;
            if self.ready() == 0 {
                return Ok(false);
            }
            bell::cancel_sleep(self.memory.atomic(Control::TransportSleeps.at()));
        }
        Ok(true)
    }

    /// Claims the datagram that [`look`](Self::look) offered and copies it into `buf`, which has its
    /// length. Returns `None` if it was taken back or changed meanwhile; look again.
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

    /// Claims the datagram that [`look`](Self::look) offered without sending it. Returns `None` as
    /// [`claim_into`](Self::claim_into) does.
    ///
    /// # Errors
    /// When the application broke the rules.
    pub fn refuse(&mut self) -> Result<Option<Claimed>, Violation> {
        self.claim(|_, _| ())
    }

    /// Claims up to `at_most` ready datagrams in one step, if none is claimed already. Look at and take each
    /// of them as usual. The current offer stays valid unless it was taken back or changed meanwhile.
    /// [`flush`](Self::flush) gives up those that were not taken.
    ///
    /// It first announces the claim, then reads which datagrams may be claimed. The application does the same
    /// when it takes datagrams back, so both cannot win (docs/ring.md).
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

    /// Reads order and labels of the next datagrams in one pass, so that cache misses overlap. It stops before an
    /// invalid entry, which a later look reports, and where a batch ends: before a longer datagram and behind
    /// a shorter one.
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

    /// Takes the offered datagram, unless it was taken back or changed meanwhile.
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

    /// Publishes which datagrams are claimed and which have been copied.
    fn show_claimed(&mut self) {
        let ahead = u32::try_from(self.ahead.len()).unwrap_or(AHEAD_MAX);
        self.show(self.next.wrapping_add(ahead), self.next);
    }

    /// Gives up claimed datagrams that were not taken.
    fn give_up_ahead(&mut self) {
        if !self.ahead.is_empty() {
            self.offered = None;
            self.ahead.clear();
            self.show_claimed();
        }
    }

    /// Publishes our indexes; we no longer read the slots before `dev`: Release.
    fn show(&mut self, kern: u32, dev: u32) {
        self.shown = TransportIndex { kern, dev };
        self.memory
            .publish(Control::Transport.at(), self.shown.word());
    }

    /// Reads the application's indexes and acquires its earlier writes. Checks that the application has not
    /// written ours.
    fn see_app(&mut self) -> Result<(), Violation> {
        if self.memory.own(Control::Transport.at()) != self.shown.word() {
            return Err(Violation::Index);
        }
        let word = self
            .memory
            .atomic(Control::App.at())
            .load(Ordering::Acquire);
        let app = AppIndex::checked(word, self.next, self.slots.count)?;
        if is_before(app.user, self.app.user) {
            self.withdrawn += u64::from(self.app.user.wrapping_sub(app.user));
        }
        self.app = app;
        Ok(())
    }

    /// The number of datagrams that may be claimed, from the indexes as last read.
    fn ready(&self) -> u32 {
        self.app.ready(self.next, self.slots.count)
    }

    /// The checked order entry of a position.
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

/// Reporting.
impl Source {
    /// Writes a report, which the application sees after [`flush`](Self::flush). Reports that find no room,
    /// because the application does not read them, are only counted.
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

    /// Publishes the reports and wakes the application if it waits for them or for room. Call it once per
    /// batch. Datagrams that were claimed ahead and not taken are given up.
    pub fn flush(&mut self) {
        self.give_up_ahead();
        if core::mem::take(&mut self.has_reported) {
            let missed = self.memory.atomic(Control::FatesFilled.at() + 1);
            missed.store(self.fates_missed, Ordering::Relaxed);
            self.fates.publish(&self.memory);
            let sleeper = self.memory.atomic(Control::WaitsForFates.at());
            bell::wake(sleeper, &*self.app_bell);
        }
        // The next look reports a wrong index.
        if self.has_given_room && self.see_app().is_ok() && self.is_worth_filling() {
            self.has_given_room = false;
            let sleeper = self.memory.atomic(Control::WaitsForRoom.at());
            bell::wake(sleeper, &*self.app_bell);
        }
    }

    /// Whether enough slots are free to wake an application that waits for room.
    fn is_worth_filling(&self) -> bool {
        const BATCH: u32 = 64;
        let used = self.app.user.wrapping_sub(self.next);
        self.slots.count - used.min(self.slots.count) >= BATCH.min(self.slots.count.div_ceil(2))
    }

    /// The ring's capacity in datagrams.
    pub fn slots(&self) -> u32 {
        self.slots.count
    }

    /// Reports that found no room.
    pub const fn fates_missed(&self) -> u64 {
        self.fates_missed
    }

    /// Datagrams that were in the ring at one look, and that the application had withdrawn at the next. Others that it pushed
    /// in between take their place.
    pub const fn withdrawn(&self) -> u64 {
        self.withdrawn
    }

    /// Datagrams in the ring, by the indexes as last read.
    pub fn waiting(&self) -> u32 {
        self.app.user.wrapping_sub(self.next)
    }
}
