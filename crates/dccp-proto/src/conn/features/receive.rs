//! Feature options that arrive (RFC 4340 §6.6.2).

use super::settled::low_byte;
use super::table::{Slot, reconcile};
use super::values::Values;
use super::{Answered, Confirm, Features, Negotiation, Phase, Side};
use crate::config::bounds::PENDING_CONFIRMS;
use crate::seq::Seq;
use crate::wire::features::{Feature, Reconciliation};
use crate::wire::options::FeatureOpt;
use crate::wire::{Opt, ResetCode};

/// The connection is to be reset because of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal {
    /// Option Error or Mandatory Error.
    pub(crate) code: ResetCode,
    /// The option's type and the first two bytes of its data (4340-5.6-4).
    pub(crate) data: [u8; 3],
}

/// A Change or Confirm option with the packet that carries it.
struct Received<'a> {
    kind: u8,
    /// Where the feature is located.
    side: Side,
    number: u8,
    values: &'a [u8],
    is_mandatory: bool,
    is_in_order: bool,
    seq: Seq,
    ack: Option<Seq>,
}

impl Received<'_> {
    fn refusal(&self, code: ResetCode) -> Refusal {
        let first = self.values.first().copied().unwrap_or(0);
        Refusal {
            code,
            data: [self.kind, self.number, first],
        }
    }
}

/// The verdict of a Confirm on our Change.
enum Verdict {
    Accepted(u64),
    Invalid,
}

const CHANGE_L: u8 = 32;
const CHANGE_R: u8 = 34;

impl Features {
    /// Takes one option of a sequence-valid packet, in order of appearance; `ack` is the packet's
    /// Acknowledgement Number. Options other than Change and Confirm are ignored.
    ///
    /// 4340-6-1: not to be called for Data packets.
    ///
    /// # Errors
    /// The Reset that the option calls for.
    pub(crate) fn on_option(
        &mut self,
        option: &Opt<'_>,
        is_mandatory: bool,
        seq: Seq,
        ack: Option<Seq>,
    ) -> Result<(), Refusal> {
        const NO_VALUE: &[u8] = &[];
        let (side, number, values) = match *option {
            Opt::ChangeL(FeatureOpt { feature, values })
            | Opt::ConfirmL(FeatureOpt { feature, values }) => (Side::Remote, feature, values),
            Opt::ChangeR(FeatureOpt { feature, values })
            | Opt::ConfirmR(FeatureOpt { feature, values }) => (Side::Local, feature, values),
            // 4340-6.1-1: a Change without a value is invalid like one with a wrong value.
            Opt::Malformed {
                kind: CHANGE_L,
                data: &[feature],
            } => (Side::Remote, feature, NO_VALUE),
            Opt::Malformed {
                kind: CHANGE_R,
                data: &[feature],
            } => (Side::Local, feature, NO_VALUE),
            _ => return Ok(()),
        };
        // 4340-6.6.4-1
        let is_in_order = self.fgsr.is_none_or(|fgsr| seq.is_after(fgsr));
        if is_in_order {
            self.reading = Some(seq);
        }
        let kind = option.kind();
        let received = Received {
            kind,
            side,
            number,
            values,
            is_mandatory,
            is_in_order,
            seq,
            ack,
        };
        if matches!(kind, CHANGE_L | CHANGE_R) {
            self.on_change(&received)
        } else {
            self.on_confirm(&received)
        }
    }

    /// Ends the processing of a packet: to be called after every valid packet, with the connection's
    /// GSR and GSS as they are then.
    pub(crate) fn after_packet(&mut self, gsr: Seq, gss: Seq) {
        const W_MAX: u64 = Feature::SequenceWindow.info().max;
        if let Some(seq) = self.reading.take() {
            self.fgsr = Some(seq);
        }
        // 4340-6.6.4-4 (erratum 974): after 2^47 packets without negotiation, old would look new.
        if self.fgsr.is_some_and(|fgsr| fgsr.is_after(gsr)) {
            self.fgsr = Some(gsr.minus(W_MAX));
        }
        if self.fgss.is_after(gss) {
            self.fgss = gss.minus(W_MAX);
        }
    }

    /// 4340-6.6.2-2: unknown features first, then reordering, then the Change itself.
    fn on_change(&mut self, o: &Received<'_>) -> Result<(), Refusal> {
        let Some(slot) = self.known(o) else {
            // 4340-6.6.7-1
            return self.decline(o);
        };
        // 4340-6.6.4-2. A Change without room for its Confirm counts as lost: the peer repeats it.
        let is_ignored = !o.is_in_order || self.at(slot).phase == Phase::Unstable || self.is_full();
        if is_ignored {
            return Ok(());
        }
        match slot.feature.info().reconciliation {
            Reconciliation::ServerPriority if !o.values.is_empty() => self.on_preferences(slot, o),
            // 4340-6.3.2-1, 4340-6.3.2-2: only the location of an NN feature sends Changes.
            Reconciliation::NonNegotiable if o.side == Side::Remote => {
                let Some(value) = slot.feature.decode_number(o.values) else {
                    return self.decline(o);
                };
                self.confirm(o, Values::new(o.values), Some((slot, value)));
                Ok(())
            }
            _ => self.decline(o),
        }
    }

    /// The peer's preferences for an SP feature.
    fn on_preferences(&mut self, slot: Slot, o: &Received<'_>) -> Result<(), Refusal> {
        let n = self.at(slot);
        let list = self.list_to_answer(slot, o);
        let shared = self.reconcile(list.as_slice(), o.values);
        if shared.is_none() && o.is_mandatory {
            // 4340-6.6.9-1
            return Err(o.refusal(ResetCode::MANDATORY_ERROR));
        }
        // 4340-6.6.6-1: the peer's Change answers ours too, because both ends reconcile the same lists.
        // A mandatory value that this Confirm did not contain must still be requested.
        let must_ask = shared.is_none() && n.wish.is_mandatory;
        if list == n.preferences() && !must_ask {
            self.update(slot, Negotiation::settle);
        }
        // 4340-6.3.1-2: nothing in common, nothing changes.
        let value = shared.unwrap_or_else(|| low_byte(self.agreed(slot.side, slot.feature)));
        // 4340-6.6.1-1
        let values = Values::choice(value, &list);
        self.confirm(o, values, Some((slot, u64::from(value))));
        self.answered.retain(|answered| answered.slot != slot);
        self.answered.reserve_exact(1);
        self.answered.push(Answered {
            slot,
            asked: Values::new(o.values).as_slice().into(),
            list: list.as_slice().into(),
            confirmed_by: None,
        });
        Ok(())
    }

    /// Our preferences as the peer may already know them from an answer. The list of our last Confirm
    /// answers a Change that the peer repeats, or that it sent before it can have seen that Confirm. The
    /// peer stops at the first answer that reaches it. A newer proposal of ours leaves in our own Change.
    fn list_to_answer(&self, slot: Slot, o: &Received<'_>) -> Values {
        let last = self.answered.iter().find(|answered| answered.slot == slot);
        let known = last.filter(|answered| {
            let is_seen = answered
                .confirmed_by
                .zip(o.ack)
                .is_some_and(|(confirmed_by, ack)| !ack.is_before(confirmed_by));
            !is_seen || *answered.asked == *Values::new(o.values).as_slice()
        });
        known.map_or(self.at(slot).preferences(), |answered| {
            Values::new(&answered.list)
        })
    }

    /// 4340-6.2-2, 4340-6.6.8-1: an empty Confirm, or the end if the Change is Mandatory.
    fn decline(&mut self, o: &Received<'_>) -> Result<(), Refusal> {
        if o.is_mandatory {
            // 4340-6.6.9-1
            return Err(o.refusal(ResetCode::MANDATORY_ERROR));
        }
        if !self.is_full() {
            self.confirm(o, Values::EMPTY, None);
        }
        Ok(())
    }

    /// Whether no more Confirms can wait.
    fn is_full(&self) -> bool {
        let under_way = self.under_way.as_ref();
        under_way.is_some_and(|u| u.confirms.len() >= PENDING_CONFIRMS)
    }

    fn confirm(&mut self, o: &Received<'_>, values: Values, effect: Option<(Slot, u64)>) {
        let under_way = self.under_way();
        // The answer to an earlier Change is not repeated.
        if let Some(repeated) = &mut under_way.repeated {
            repeated.retain(|c| (c.side, c.number) != (o.side, o.number));
        }
        under_way.confirms.push_back(Confirm {
            side: o.side,
            number: o.number,
            values,
            effect,
            asked_by: o.seq,
        });
    }

    fn on_confirm(&mut self, o: &Received<'_>) -> Result<(), Refusal> {
        // 4340-6.6.7-2
        let Some(slot) = self.known(o) else {
            return Ok(());
        };
        // 4340-6.6.4-3: a Confirm must acknowledge our last new Change.
        if !o.is_in_order || o.ack.is_none_or(|ack| ack.is_before(self.fgss)) {
            return Ok(());
        }
        let is_expected = self.at(slot).awaits_answer();
        let may_be_stale = self.update(slot, Negotiation::on_answer);
        // 4340-6.6.2-1, 4340-6.6.8-2: neither expected nor an error.
        if self.at(slot).phase != Phase::Changing {
            if is_expected && self.contradicts(slot, o.values) {
                self.update(slot, Negotiation::ask_again);
            }
            return Ok(());
        }
        match self.judge(slot, o.values) {
            Verdict::Accepted(value) => {
                // A Confirm of ours that still waits has no effect any more.
                let overtaken = |c: &&mut Confirm| c.effect.is_some_and(|(s, _)| s == slot);
                let under_way = self.under_way.iter_mut();
                let confirms = under_way.flat_map(|u| &mut u.confirms);
                confirms.filter(overtaken).for_each(|c| c.effect = None);
                self.take_effect(slot, value);
            }
            // LINUX-5: it answers an earlier Change; ours is still on its way.
            Verdict::Invalid if may_be_stale => return Ok(()),
            // 4340-6.6.8-1
            Verdict::Invalid => return Err(o.refusal(ResetCode::OPTION_ERROR)),
        }
        self.answered.retain(|answered| answered.slot != slot);
        self.update(slot, Negotiation::settle);
        Ok(())
    }

    /// Whether a Confirm after the one that we believed has another number. Of Changes to 1, 2 and 1 again, the peer
    /// ignores the last if it arrives late (4340-6.6.4-2), and its answer to the first looks like the answer to the last.
    fn contradicts(&self, slot: Slot, values: &[u8]) -> bool {
        let number = slot.feature.decode_number(values);
        slot.feature.info().reconciliation == Reconciliation::NonNegotiable
            && number.is_some_and(|number| number != self.in_force.value(slot))
    }

    /// Compares a Confirm with the Change that we sent.
    fn judge(&self, slot: Slot, values: &[u8]) -> Verdict {
        let n = self.at(slot);
        let in_force = self.in_force.value(slot);
        let info = slot.feature.info();
        let mine = n.offer.values.as_slice();
        let kept = match (info.reconciliation, values) {
            // 4340-6.6.7-3: every peer knows the required features. LINUX-6: a Linux server sends an empty
            // Confirm where the lists have nothing in common, so that only strict mode refuses it.
            (Reconciliation::ServerPriority, []) => {
                (!self.is_strict || !info.is_required).then_some(in_force)
            }
            (Reconciliation::NonNegotiable, []) => (!info.is_required).then_some(in_force),
            (Reconciliation::NonNegotiable, _) => {
                let number = slot
                    .feature
                    .decode_number(values)
                    .filter(|_| values == mine);
                return number.map_or(Verdict::Invalid, Verdict::Accepted);
            }
            (Reconciliation::ServerPriority, &[value, ref theirs @ ..]) => {
                // The list may be left out (RFC 4340 §6.2).
                let theirs = if theirs.is_empty() { &[value] } else { theirs };
                match self.reconcile(mine, theirs) {
                    Some(shared) if shared == value => return Verdict::Accepted(u64::from(value)),
                    Some(_) => None,
                    // 4340-6.3.1-2: the old value.
                    None => Some(u64::from(value))
                        .filter(|v| [in_force, self.in_force.previous(slot)].contains(v)),
                }
            }
        };
        match kept {
            Some(value) if !n.offer.is_mandatory => Verdict::Accepted(value),
            _ => Verdict::Invalid,
        }
    }

    /// 4340-6.3.1-1: the server's order decides, also if the client asked.
    fn reconcile(&self, mine: &[u8], theirs: &[u8]) -> Option<u8> {
        if self.is_server {
            reconcile(mine, theirs)
        } else {
            reconcile(theirs, mine)
        }
    }

    /// The feature that an option speaks of, if we negotiate it. One of 128 and above exists only with
    /// a CCID that defines it (4340-10.3-1): the agreed one or, while we negotiate, one on our list.
    fn known(&self, o: &Received<'_>) -> Option<Slot> {
        let slot = Slot {
            side: o.side,
            feature: Feature::from_number(o.number)?,
        };
        let Some(ccid) = slot.ccid() else {
            return (slot.feature != Feature::MultipathCapable).then_some(slot);
        };
        let agreed = low_byte(self.agreed(ccid.side, ccid.feature));
        let n = self.at(ccid);
        let is_offered = n.phase == Phase::Changing
            && n.offer
                .values
                .as_slice()
                .iter()
                .any(|&c| self.ccid_defines(c, slot.feature));
        (is_offered || self.ccid_defines(agreed, slot.feature)).then_some(slot)
    }
}
