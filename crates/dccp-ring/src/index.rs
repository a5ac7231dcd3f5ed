//! The four indexes of the sending lane and their checks.
//!
//! ```text
//!         dev_i        kern_i      umod_i           user_i        dev_i + slots
//!   ────────┼────────────┼───────────┼────────────────┼───────────────┤
//!    free   │  claimed,  │  ready    │  held: being   │  free         │
//!           │  copying   │           │  changed       │               │
//! ```
//!
//! The application writes `umod_i` and `user_i`, the transport `kern_i` and `dev_i`. Each side's two share
//! a word, so the other side always reads a consistent pair. Indexes count datagrams and wrap around;
//! only differences have meaning.

use crate::error::Violation;
use core::cmp::Ordering;

/// The initial value of all indexes: just before the wrap, so every ring crosses it.
pub(crate) const START: u32 = u32::MAX;

/// The application's indexes: datagrams before `umod` may be claimed, those before `user` are in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AppIndex {
    pub(crate) umod: u32,
    pub(crate) user: u32,
}

/// The transport's indexes: datagrams before `kern` have been claimed, the slots of those before `dev` are
/// free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TransportIndex {
    pub(crate) kern: u32,
    pub(crate) dev: u32,
}

impl AppIndex {
    pub(crate) const START: Self = Self {
        umod: START,
        user: START,
    };

    pub(crate) fn word(self) -> u64 {
        pack(self.umod, self.user)
    }

    /// `umod` and `user` of a word, unchecked.
    pub(crate) fn halves(word: u64) -> (u32, u32) {
        unpack(word)
    }

    /// Checks the application's word; `dev` is the transport's own index.
    pub(crate) fn checked(word: u64, dev: u32, slots: u32) -> Result<Self, Violation> {
        let (umod, user) = unpack(word);
        // No push beyond the free slots; no ready datagram beyond the pushed ones.
        let is_possible = user.wrapping_sub(dev) <= slots && user.wrapping_sub(umod) <= slots;
        is_possible
            .then_some(Self { umod, user })
            .ok_or(Violation::Index)
    }

    /// The number of datagrams from `position` on that may be claimed. The application may have moved
    /// `umod` back before it, but by at most one ring length.
    pub(crate) fn ready(self, position: u32, slots: u32) -> u32 {
        let ready = self.umod.wrapping_sub(position);
        if ready <= slots { ready } else { 0 }
    }
}

impl TransportIndex {
    pub(crate) const START: Self = Self {
        kern: START,
        dev: START,
    };

    pub(crate) fn word(self) -> u64 {
        pack(self.kern, self.dev)
    }

    /// Checks the transport's word; `dev` is its previous value, `user` the application's own index.
    pub(crate) fn checked(word: u64, dev: u32, user: u32, slots: u32) -> Result<Self, Violation> {
        let (kern, new_dev) = unpack(word);
        // Slots are freed in order, and only used ones.
        let is_possible = new_dev.wrapping_sub(dev) <= user.wrapping_sub(dev)
            && kern.wrapping_sub(new_dev) <= slots;
        // A claim of a datagram that was just withdrawn is beyond `user` for a moment and will fail.
        let kern = if is_before(user, kern) { user } else { kern };
        let index = Self { kern, dev: new_dev };
        is_possible.then_some(index).ok_or(Violation::Index)
    }
}

/// The later of two positions that are less than half the numbers apart.
pub(crate) fn later(a: u32, b: u32) -> u32 {
    if is_before(a, b) { b } else { a }
}

/// Whether `a` comes before `b`, both less than half the numbers apart.
pub(crate) fn is_before(a: u32, b: u32) -> bool {
    compare(a, b).is_lt()
}

/// Compares two positions that are less than half the numbers apart.
pub(crate) fn compare(a: u32, b: u32) -> Ordering {
    a.wrapping_sub(b).cast_signed().cmp(&0)
}

fn pack(first: u32, second: u32) -> u64 {
    u64::from(first) | u64::from(second) << 32
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are asked for")]
fn unpack(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}
