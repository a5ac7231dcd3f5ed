//! The four indexes of the sending lane, and when they may be believed.
//!
//! ```text
//!         dev_i        kern_i      umod_i           user_i        dev_i + slots
//!   ────────┼────────────┼───────────┼────────────────┼───────────────┤
//!    given  │  being     │  ready    │  taken back:   │  free         │
//!    back   │  copied    │           │  being changed │               │
//! ```
//!
//! The application moves `umod_i` and `user_i`, the transport `kern_i` and `dev_i`. The two of one
//! side share a word, so that the other side always sees both of one moment. Indexes count
//! datagrams and wrap around; only differences mean anything.

use crate::error::Violation;
use core::cmp::Ordering;

/// Where all indexes begin: just before they wrap around, so that every ring passes that point.
pub(crate) const START: u32 = u32::MAX;

/// What the application says: the datagrams before `umod` may be claimed, those before `user` are
/// in the ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AppIndex {
    pub(crate) umod: u32,
    pub(crate) user: u32,
}

/// What the transport says: the datagrams before `kern` have been claimed, the slots of those before
/// `dev` are free again.
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

    /// Reads what the application wrote; `dev` is the transport's own.
    pub(crate) fn checked(word: u64, dev: u32, slots: u32) -> Result<Self, Violation> {
        let (umod, user) = unpack(word);
        // Nothing is pushed over what has not been given back, nothing is ready that is not there.
        let is_possible = user.wrapping_sub(dev) <= slots && user.wrapping_sub(umod) <= slots;
        is_possible
            .then_some(Self { umod, user })
            .ok_or(Violation::Index)
    }

    /// How many datagrams from `position` on may be claimed. The application may have set `umod` back
    /// behind it, but not further than the ring is long.
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

    /// Reads what the transport wrote; `dev` is what it wrote before, `user` the application's own.
    pub(crate) fn checked(word: u64, dev: u32, user: u32, slots: u32) -> Result<Self, Violation> {
        let (kern, new_dev) = unpack(word);
        // Slots are given back in order, and only those that were there.
        let is_possible = new_dev.wrapping_sub(dev) <= user.wrapping_sub(dev)
            && kern.wrapping_sub(new_dev) <= slots;
        // A claim of what has just been withdrawn stands beyond `user` for a moment, and will fail.
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

/// Which of two positions comes first, both less than half the numbers apart.
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
