//! Feature negotiation (RFC 4340 §6): what both ends agree on, and how they come to agree.
//!
//! [`Features`] holds both sides of every feature. The connection
//! - says what it wants ([`change`](Features::change), [`change_number`](Features::change_number)) and
//!   what it would accept ([`prefer`](Features::prefer));
//! - hands in each feature option of a valid packet ([`on_option`](Features::on_option)), then says
//!   that the packet is done ([`after_packet`](Features::after_packet));
//! - lets it [`write`](Features::write) into every packet that leaves, and asks whether it
//!   [`wants_packet`](Features::wants_packet);
//! - acts on the values that took effect ([`poll_changed`](Features::poll_changed)).
//!
//! A Confirm answers a Change and nothing answers a Confirm (4340-6.2-1), so negotiation cannot go
//! round in circles. Memory: tables of fixed size, a negotiation for each feature that is not settled,
//! [`PENDING_CONFIRMS`] answers, one report per feature.
//!
//! [`PENDING_CONFIRMS`]: crate::config::bounds::PENDING_CONFIRMS

mod fingerprint;
mod negotiation;
mod receive;
mod send;
mod settled;
mod table;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use table::Side;

use crate::cc::config::DEFAULT_RTT;
use crate::cc::registry::Ccids;
use crate::seq::Seq;
use crate::time::{Instant, Nanos};
use crate::wire::Opt;
use crate::wire::features::{Feature, Reconciliation};
use crate::wire::options::FeatureOpt;
use core::time::Duration;
use negotiation::{Negotiation, Offer, Phase};
use settled::{InForce, Wishes};
use std::collections::VecDeque;
use table::Slot;
use values::Values;

/// The state of all features of a connection.
#[derive(Debug)]
pub(crate) struct Features {
    is_server: bool,
    /// The CCIDs of this end: they say which features of 128 and above there are.
    ccids: Ccids,
    in_force: InForce,
    wishes: Wishes,
    /// Boxed while there is any: a packet costs something only then.
    under_way: Option<Box<UnderWay>>,
    /// Of each feature the last Change that we answered, as long as it may come again.
    answered: Vec<Answered>,
    /// Keeps to the letter of RFC 4340 where peers do not.
    is_strict: bool,
    /// Greatest sequence number received on a packet with feature options, before the current one.
    fgsr: Option<Seq>,
    /// The current packet, if it has feature options and came in order.
    reading: Option<Seq>,
    /// Sequence number of the last packet with a new Change.
    fgss: Seq,
    rtt: Nanos,
    /// When feature options left last.
    last_written: Option<Instant>,
}

/// Negotiations and answers that are not over yet.
#[derive(Debug, Default)]
struct UnderWay {
    /// Negotiations, and those that may still be answered, in the order of [`Slot::place`].
    open: Vec<Negotiation>,
    /// Confirms that wait for a packet, in the order of the Changes that they answer.
    confirms: VecDeque<Confirm>,
    /// Confirms that have left and are said again, while that is wanted.
    repeated: Option<Vec<Confirm>>,
    /// A packet has said them all again.
    is_repeated: bool,
    changed: VecDeque<(Side, Feature, u64)>,
}

impl UnderWay {
    fn is_over(&self) -> bool {
        self.open.is_empty()
            && self.confirms.is_empty()
            && self.repeated.is_none()
            && self.changed.is_empty()
    }
}

/// A Change of the peer and how we answered it.
#[derive(Clone, Debug, Hash)]
struct Answered {
    slot: Slot,
    /// The peer's preferences.
    asked: Box<[u8]>,
    /// Ours, which led to the answer.
    list: Box<[u8]>,
    /// The packet that carried the Confirm, once it has left.
    confirmed_by: Option<Seq>,
}

/// An answer to a Change that waits for a packet.
#[derive(Clone, Copy, Debug, Hash)]
struct Confirm {
    side: Side,
    number: u8,
    values: Values,
    /// The value that takes effect when the Confirm leaves; `None`: the Confirm is empty.
    effect: Option<(Slot, u64)>,
    /// The packet that carried the Change: the answer must acknowledge it.
    asked_by: Seq,
}

impl Confirm {
    fn option(&self) -> Opt<'_> {
        let values = FeatureOpt {
            feature: self.number,
            values: self.values.as_slice(),
        };
        match self.side {
            Side::Local => Opt::ConfirmL(values),
            Side::Remote => Opt::ConfirmR(values),
        }
    }

    /// Bytes of the option.
    fn option_len(&self) -> usize {
        3 + self.values.as_slice().len()
    }
}

impl Features {
    /// The initial values of a connection whose first own sequence number is `iss`.
    pub(crate) fn new(is_server: bool, iss: Seq, ccids: Ccids) -> Self {
        Self {
            is_server,
            ccids,
            in_force: InForce::new(),
            wishes: Wishes::default(),
            under_way: None,
            answered: Vec::new(),
            is_strict: false,
            fgsr: None,
            reading: None,
            // 4340-6.6.4-3
            fgss: iss,
            rtt: DEFAULT_RTT.into(),
            last_written: None,
        }
    }

    /// Sets whether empty Confirms of features that every peer knows end the connection.
    pub(crate) const fn set_strict(&mut self, is_strict: bool) {
        self.is_strict = is_strict;
    }

    /// The first sequence number of the peer, once it is known.
    pub(crate) fn set_isr(&mut self, isr: Seq) {
        // 4340-6.6.4-2
        self.fgsr = Some(isr.minus(1));
    }

    /// From now on every Ack and `DataAck` repeats the Confirms that left before: a Linux server opens
    /// only on a packet that has them all, whatever was lost (LINUX-22).
    pub(crate) fn repeat_confirms(&mut self) {
        self.under_way().repeated = Some(Vec::new());
    }

    /// The peer has them.
    pub(crate) fn stop_repeating(&mut self) {
        if let Some(under_way) = &mut self.under_way {
            under_way.repeated = None;
        }
        self.tidy();
    }

    /// Bytes of the Confirms that must once be said again before data may go without them: with the data, or,
    /// where they find no room beside it, on an Ack right before.
    pub(crate) fn repeated_len(&self) -> usize {
        if self.under_way.as_ref().is_none_or(|u| u.is_repeated) {
            return 0;
        }
        self.repeated().map(Confirm::option_len).sum()
    }

    /// The round-trip time that paces retransmissions from now on.
    pub(crate) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt.into();
    }

    /// The value in force.
    pub(crate) fn value(&self, side: Side, feature: Feature) -> u64 {
        self.in_force.value(Slot { side, feature })
    }

    /// The value that will be in force once the Confirms that wait have left.
    pub(crate) fn agreed(&self, side: Side, feature: Feature) -> u64 {
        let slot = Slot { side, feature };
        let confirms = self.under_way.iter().flat_map(|u| &u.confirms);
        let effects = confirms.rev().filter_map(|c| c.effect);
        effects
            .filter(|&(s, _)| s == slot)
            .map(|(_, value)| value)
            .next()
            .unwrap_or(self.in_force.value(slot))
    }

    /// Whether a Change of ours waits to be sent or answered.
    pub(crate) fn is_negotiating(&self, side: Side, feature: Feature) -> bool {
        let slot = Slot { side, feature };
        self.unsettled().any(|n| n.slot == slot)
    }

    /// Whether `preferences` equal our last proposal, or the values that we accept.
    pub(crate) fn asks_for(&self, side: Side, feature: Feature, preferences: &[u8]) -> bool {
        self.at(Slot { side, feature }).wish.values.as_slice() == preferences
    }

    /// Sets what we accept for an SP feature, preferred first, without asking for a negotiation.
    /// If one is under way, another follows with this list.
    pub(crate) fn prefer(&mut self, side: Side, feature: Feature, preferences: &[u8]) {
        let slot = Slot { side, feature };
        let wish = Offer {
            values: Values::new(preferences),
            ..self.at(slot).wish
        };
        self.update(slot, |n| n.want(feature, wish, false));
    }

    /// Negotiates an SP feature with these preferences. A mandatory negotiation ends with one of
    /// them, or ends the connection (RFC 4340 §6.6.9).
    pub(crate) fn change(
        &mut self,
        side: Side,
        feature: Feature,
        preferences: &[u8],
        is_mandatory: bool,
    ) {
        debug_assert_eq!(
            feature.info().reconciliation,
            Reconciliation::ServerPriority,
            "{feature:?} has a number, not preferences"
        );
        let wish = Offer {
            values: Values::new(preferences),
            is_mandatory,
        };
        self.update(Slot { side, feature }, |n| n.want(feature, wish, true));
    }

    /// Announces a new value of an NN feature at this end; it is brought into the feature's range.
    /// (4340-6.3.2-2: this end cannot request the peer's value.)
    pub(crate) fn change_number(&mut self, feature: Feature, value: u64) {
        let info = feature.info();
        debug_assert_eq!(
            info.reconciliation,
            Reconciliation::NonNegotiable,
            "{feature:?} has preferences, not a number"
        );
        let wish = Offer {
            values: Values::number(feature, value.clamp(info.min, info.max)),
            is_mandatory: false,
        };
        let side = Side::Local;
        let slot = Slot { side, feature };
        if self.at(slot).wish != wish {
            self.update(slot, |n| n.want(feature, wish, true));
        }
    }

    /// The value is in force, without negotiation.
    #[cfg(test)]
    pub(crate) fn force(&mut self, side: Side, feature: Feature, value: u64) {
        self.in_force.set(Slot { side, feature }, value);
    }

    /// Whether [`poll_changed`](Self::poll_changed) has something to return.
    pub(crate) fn has_changed(&self) -> bool {
        let under_way = self.under_way.as_ref();
        under_way.is_some_and(|u| !u.changed.is_empty())
    }

    /// The next value that took effect, in order. Of several changes of one feature since the last
    /// call only the newest is returned.
    #[inline]
    pub(crate) fn poll_changed(&mut self) -> Option<(Side, Feature, u64)> {
        // Asked after each packet.
        self.under_way.as_ref()?;
        self.next_changed()
    }

    #[inline(never)]
    fn next_changed(&mut self) -> Option<(Side, Feature, u64)> {
        let changed = self.under_way.as_mut()?.changed.pop_front()?;
        self.tidy();
        Some(changed)
    }

    fn under_way(&mut self) -> &mut UnderWay {
        self.under_way.get_or_insert_default()
    }

    /// Keeps no memory for what is over.
    fn tidy(&mut self) {
        self.under_way.take_if(|u| u.is_over());
    }

    /// Negotiations under way, and those that may still be answered.
    fn open(&self) -> &[Negotiation] {
        self.under_way.as_ref().map_or(&[], |u| &u.open)
    }

    /// The first Confirm that waits for a packet.
    fn first_confirm(&self) -> Option<&Confirm> {
        self.under_way.as_ref()?.confirms.front()
    }

    /// Confirms that have left and are said again.
    fn repeated(&self) -> impl Iterator<Item = &Confirm> {
        let under_way = self.under_way.iter();
        under_way.flat_map(|u| u.repeated.iter().flatten())
    }

    /// Negotiations under way, in the order of their options.
    fn unsettled(&self) -> impl Iterator<Item = &Negotiation> {
        self.open().iter().filter(|n| n.phase != Phase::Stable)
    }

    fn at(&self, slot: Slot) -> Negotiation {
        let open = self.open().iter().find(|n| n.slot == slot);
        open.copied()
            .unwrap_or_else(|| Negotiation::settled(slot, self.wishes.of(slot)))
    }

    /// Changes a negotiation, which is kept for as long as it is not over.
    fn update<T>(&mut self, slot: Slot, change: impl FnOnce(&mut Negotiation) -> T) -> T {
        let mut negotiation = self.at(slot);
        let result = change(&mut negotiation);
        let place = self
            .open()
            .partition_point(|n| n.slot.place() < slot.place());
        let is_open = self.open().get(place).is_some_and(|n| n.slot == slot);
        if negotiation.is_over() {
            self.wishes.set(slot, &negotiation.wish);
            if is_open {
                self.under_way().open.remove(place);
                self.tidy();
            }
        } else if is_open {
            self.under_way().open[place] = negotiation;
        } else {
            self.under_way().open.insert(place, negotiation);
        }
        result
    }

    /// Whether a CCID defines a feature of 128 and above. CCID 2 defines none, so what a client asks of it
    /// before the CCIDs are agreed on is unknown, whether we have CCID 2 or not (4340-10.3-3).
    fn ccid_defines(&self, ccid: u8, feature: Feature) -> bool {
        let ccid = self.ccids.find(ccid);
        ccid.is_some_and(|ccid| ccid.features().contains(&feature.number()))
    }

    fn take_effect(&mut self, slot: Slot, value: u64) {
        if !self.in_force.set(slot, value) {
            return;
        }
        let Slot { side, feature } = slot;
        let changed = &mut self.under_way().changed;
        changed.retain(|&(s, f, _)| (s, f) != (side, feature));
        changed.push_back((side, feature, value));
    }
}
