//! One feature at one end during its negotiation: our preferences and the negotiation's state.

use super::table::Slot;
use super::values::Values;
use crate::time::Instant;
use crate::wire::features::{Feature, Reconciliation};
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// Unanswered transmissions of a Change after which we assume that the peer never answers. A Linux peer
/// does not once the connection is open (LINUX-4).
///
/// Then a Change that no peer must understand makes no packets of its own any more. It still leaves
/// with others, every 64 s, because 4340-6.6.3-1 wants it repeated without end. And new preferences may
/// take the place of those that were sent.
pub(super) const PATIENCE: u32 = 8;

/// The negotiation of one feature at one end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Negotiation {
    pub(super) slot: Slot,
    /// Our proposal. SP: preferences, which also answer the peer's Changes. NN: the number as on the wire.
    pub(super) wish: Offer,
    /// The contents of our outstanding Change, in CHANGING.
    pub(super) offer: Offer,
    pub(super) phase: Phase,
    /// How often the current Change has left.
    pub(super) transmissions: u32,
    pub(super) interval: Duration,
    pub(super) retransmit_at: Instant,
    /// Changes sent so far less Confirms received.
    unanswered: u32,
    /// Some of `unanswered` had other contents than the current Change.
    is_superseding: bool,
}

/// The contents of a Change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Offer {
    pub(super) values: Values,
    pub(super) is_mandatory: bool,
}

/// Where a negotiation stands (4340-6.6.2-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// STABLE.
    Stable,
    /// STABLE, with a Change to send.
    Wishing,
    /// CHANGING.
    Changing,
    /// UNSTABLE: CHANGING, but the Change that was sent is given up for another.
    Unstable,
}

impl Offer {
    /// The values that we accept before the connection sets preferences.
    pub(super) fn initial(slot: Slot) -> Self {
        let info = slot.feature.info();
        let values = match info.reconciliation {
            Reconciliation::ServerPriority => Values::new(slot.acceptable()),
            Reconciliation::NonNegotiable => Values::number(slot.feature, info.initial),
        };
        Self {
            values,
            is_mandatory: false,
        }
    }
}

impl Negotiation {
    /// A negotiation that is not under way, because there is nothing to ask.
    pub(super) fn settled(slot: Slot, wish: Offer) -> Self {
        Self {
            slot,
            wish,
            offer: wish,
            phase: Phase::Stable,
            transmissions: 0,
            interval: Duration::ZERO,
            retransmit_at: Instant::ZERO,
            unanswered: 0,
            is_superseding: false,
        }
    }

    /// Whether nothing but the wish need be remembered.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Stable && self.unanswered == 0
    }

    /// The preferences that count now: in CHANGING those that the peer may know (4340-6.6.6-1).
    pub(super) const fn preferences(&self) -> Values {
        match self.phase {
            Phase::Changing => self.offer.values,
            Phase::Stable | Phase::Wishing | Phase::Unstable => self.wish.values,
        }
    }

    /// Sets our proposal, and sends a Change for it if `is_asking`.
    ///
    /// 4340-6.6.5-1: in CHANGING the new preferences wait for the end of the negotiation, so that what
    /// is being negotiated never changes. Only what a peer does not answer is given up for them, by
    /// way of UNSTABLE. To give it up at once, as the RFC allows, can end with two values if the
    /// answer was under way: the peer has switched, and we ignore why.
    pub(super) fn want(&mut self, feature: Feature, wish: Offer, is_asking: bool) {
        self.wish = wish;
        match self.phase {
            Phase::Stable if is_asking => self.phase = Phase::Wishing,
            Phase::Changing if self.is_outdated() && self.transmissions >= patience(feature) => {
                self.phase = Phase::Unstable;
            }
            _ => {}
        }
    }

    /// Hashes everything but the times.
    pub(super) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        (self.slot, self.wish, self.offer, self.phase).hash(hasher);
        (self.transmissions, self.unanswered, self.is_superseding).hash(hasher);
    }

    /// The outstanding Change has been answered.
    pub(super) fn settle(&mut self) {
        let has_more = self.phase == Phase::Changing && self.is_outdated();
        self.phase = if has_more {
            Phase::Wishing
        } else {
            Phase::Stable
        };
    }

    /// The peer does not have what we believed: a new Change says it once more.
    pub(super) fn ask_again(&mut self) {
        if self.phase == Phase::Stable {
            self.phase = Phase::Wishing;
        }
    }

    /// Whether the Change that is due is to have the new contents.
    pub(super) fn is_given_up(&self, feature: Feature) -> bool {
        self.is_outdated() && self.transmissions + 1 >= patience(feature)
    }

    fn is_outdated(&self) -> bool {
        self.wish != self.offer
    }

    /// Whether one of our Changes may still be answered.
    pub(super) const fn awaits_answer(&self) -> bool {
        self.unanswered > 0
    }

    /// A Confirm arrived that acknowledges our last Change. Returns whether it may nevertheless be the
    /// answer to an earlier one that had other contents.
    pub(super) fn on_answer(&mut self) -> bool {
        let may_be_stale = self.is_superseding && self.unanswered > 0;
        self.unanswered = self.unanswered.saturating_sub(1);
        may_be_stale
    }

    /// A new Change with our current proposal leaves.
    pub(super) fn on_change_sent(&mut self, now: Instant, interval: Duration) {
        self.phase = Phase::Changing;
        self.is_superseding = self.unanswered > 0;
        self.transmissions = 0;
        self.offer = self.wish;
        self.on_transmission(now, interval);
    }

    /// The outstanding Change leaves, and will leave again after `interval` (4340-6.1-2).
    pub(super) fn on_transmission(&mut self, now: Instant, interval: Duration) {
        self.interval = interval;
        self.retransmit_at = now + interval;
        self.transmissions = self.transmissions.saturating_add(1);
        self.unanswered = self.unanswered.saturating_add(1);
    }
}

/// How many transmissions the contents of a Change last at least. A number is not reconciled with
/// anything, so it may be outdated once.
const fn patience(feature: Feature) -> u32 {
    match feature.info().reconciliation {
        Reconciliation::ServerPriority => PATIENCE,
        Reconciliation::NonNegotiable => 2,
    }
}
