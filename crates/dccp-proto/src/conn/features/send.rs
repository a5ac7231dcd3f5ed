//! Feature options that leave, and when (RFC 4340 §6.6.1, §6.6.3).

use super::negotiation::{Offer, PATIENCE};
use super::settled::low_byte;
use super::table::Slot;
use super::{Confirm, Features, Phase, Side};
use crate::config::bounds::PENDING_CONFIRMS;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::option_writer::NoSpace;
use crate::wire::options::FeatureOpt;
use crate::wire::{Opt, OptionWriter, PacketType};
use core::time::Duration;

/// The longest time between two transmissions of a Change (4340-6.6.3-2).
const INTERVAL_MAX: Duration = Duration::from_secs(64);

/// Time that a peer may add to the round trip before it answers: its delayed acknowledgement
/// (4340-11.3-3).
const ANSWER_DELAY: Duration = Duration::from_millis(200);

impl Features {
    /// Adds what is to be said to a packet that leaves now: the Confirms that wait, if it
    /// acknowledges (they take effect by this), new Changes, and those that are due again. What does
    /// not fit waits for the next packet.
    ///
    /// Request and Response carry every outstanding Change each time; Data, `CloseReq`, Close and
    /// Reset carry none.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        seq: Seq,
        ack: Option<Seq>,
        w: &mut OptionWriter,
    ) {
        use PacketType as P;
        let is_repeating = self.repeated().next().is_some();
        let mut has_repeated = false;
        if let (P::Ack | P::DataAck, Some(ack)) = (packet_type, ack) {
            has_repeated = self.write_repeated(ack, w);
        }
        let before = w.len();
        let is_wanted = self.wants_packet(now);
        // 4340-6-1, 4340-6.6.1-1: no Confirm where nothing is acknowledged.
        if let Some(ack) = ack {
            self.write_confirms(seq, ack, w);
            // No other packet has more room than an Ack.
            let is_last = self.first_confirm().is_none();
            let has_all = packet_type == P::Ack || has_repeated && is_last;
            if is_repeating && has_all {
                self.under_way().is_repeated = true;
            }
        }
        match packet_type {
            P::Request | P::Response => self.write_changes(now, true, seq, w),
            P::Ack | P::DataAck | P::Sync | P::SyncAck => self.write_changes(now, false, seq, w),
            P::Data | P::CloseReq | P::Close | P::Reset | P::Listen => {}
        }
        // Even if there was no room: what does not fit must not make packets without end.
        if is_wanted || w.len() > before {
            self.last_written = Some(now);
        }
    }

    /// Whether negotiation alone is reason enough for an acknowledgement now. To be asked from
    /// PARTOPEN on: before, the packets of the handshake carry the options.
    pub(crate) fn wants_packet(&self, now: Instant) -> bool {
        self.poll_timeout().is_some_and(|at| at <= now)
    }

    /// When [`wants_packet`](Self::wants_packet) becomes true; that may be past.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        // Asked several times for each packet.
        self.under_way.as_ref()?;
        self.next_packet_at()
    }

    #[inline(never)]
    fn next_packet_at(&self) -> Option<Instant> {
        let hold = self.hold_until();
        let changes = self.unsettled().filter_map(|n| {
            let slot = n.slot;
            let makes_packets = slot.feature.info().is_required || n.transmissions < PATIENCE;
            match n.phase {
                Phase::Stable => None,
                Phase::Wishing | Phase::Unstable => (!self.waits_for_ccid(slot)).then_some(hold),
                Phase::Changing => makes_packets.then_some(n.retransmit_at),
            }
        });
        let confirms = self.first_confirm().map(|_| Instant::ZERO);
        let need = changes.chain(confirms).min()?;
        // 4340-6.6.1-3: at most one packet per round trip that would not have left anyway.
        let earliest = self.last_written.map_or(Instant::ZERO, |at| at + self.rtt);
        Some(need.max(earliest))
    }

    fn write_confirms(&mut self, seq: Seq, ack: Seq, w: &mut OptionWriter) {
        while let Some(&confirm) = self.first_confirm() {
            // A Sync may acknowledge less than the packet that the Change came with.
            if ack.is_before(confirm.asked_by) {
                return;
            }
            if w.push(&confirm.option()).is_err() {
                return;
            }
            // 4340-6.6.1-2: the confirming end switches now.
            if let Some((slot, value)) = confirm.effect {
                self.take_effect(slot, value);
                let mut answered = self.answered.iter_mut();
                if let Some(answered) = answered.find(|answered| answered.slot == slot) {
                    answered.confirmed_by = Some(seq);
                }
            }
            self.under_way().confirms.pop_front();
            self.repeat_later(confirm);
        }
        self.tidy();
    }

    /// Confirms that an earlier packet had, which may be lost. Returns whether all fit.
    fn write_repeated(&self, ack: Seq, w: &mut OptionWriter) -> bool {
        let mut due = self.repeated().filter(|c| !ack.is_before(c.asked_by));
        due.all(|confirm| w.push(&confirm.option()).is_ok())
    }

    fn repeat_later(&mut self, confirm: Confirm) {
        if let Some(repeated) = &mut self.under_way().repeated
            && repeated.len() < PENDING_CONFIRMS
        {
            repeated.push(confirm);
        }
    }

    fn write_changes(&mut self, now: Instant, repeats_all: bool, seq: Seq, w: &mut OptionWriter) {
        let open = self.open().len();
        if open == 0 {
            return;
        }
        let may_start = repeats_all || self.hold_until() <= now;
        // None is over, or begins, by being sent.
        for place in 0..open {
            let n = self.open()[place];
            let slot = n.slot;
            let is_due = n.retransmit_at <= now;
            let may_start = may_start && !self.waits_for_ccid(slot);
            let has_new = match n.phase {
                Phase::Stable => false,
                Phase::Wishing | Phase::Unstable => true,
                Phase::Changing => is_due && n.is_given_up(slot.feature),
            };
            if has_new && may_start {
                if push_change(slot, &n.wish, w).is_ok() {
                    let interval = (self.rtt.duration() + ANSWER_DELAY).min(INTERVAL_MAX);
                    self.update(slot, |n| n.on_change_sent(now, interval));
                    self.fgss = seq;
                }
            } else if n.phase == Phase::Changing
                && (is_due || repeats_all)
                && push_change(slot, &n.offer, w).is_ok()
            {
                // 4340-6.6.3-2; 4340-6.6.4-5: identical, and FGSS stays.
                let interval = (2 * n.interval).min(INTERVAL_MAX);
                self.update(slot, |n| n.on_transmission(now, interval));
            }
        }
    }

    /// Until when new Changes wait. A new Change makes us ignore Confirms that do not acknowledge it
    /// (4340-6.6.4-3), so those that should be on their way get the time to arrive first; else
    /// features that change every round trip would starve the others, and each other.
    fn hold_until(&self) -> Instant {
        self.unsettled()
            .filter(|n| {
                matches!(n.phase, Phase::Changing | Phase::Unstable) && n.transmissions == 1
            })
            .map(|n| n.retransmit_at)
            .max()
            .unwrap_or(Instant::ZERO)
    }

    /// 4340-10.3-2: what has its meaning from a CCID waits until that CCID is sure.
    fn waits_for_ccid(&self, slot: Slot) -> bool {
        let Some(ccid) = slot.ccid().map(|ccid| self.at(ccid)) else {
            return false;
        };
        let is_sure = match ccid.phase {
            Phase::Stable => {
                self.ccid_defines(low_byte(self.in_force.value(ccid.slot)), slot.feature)
            }
            Phase::Wishing | Phase::Unstable => false,
            Phase::Changing => {
                let mut offered = ccid.offer.values.as_slice().iter();
                ccid.offer.is_mandatory && offered.all(|&c| self.ccid_defines(c, slot.feature))
            }
        };
        !is_sure
    }
}

fn push_change(slot: Slot, offer: &Offer, w: &mut OptionWriter) -> Result<(), NoSpace> {
    let values = FeatureOpt {
        feature: slot.feature.number(),
        values: offer.values.as_slice(),
    };
    let option = match slot.side {
        Side::Local => Opt::ChangeL(values),
        Side::Remote => Opt::ChangeR(values),
    };
    if offer.is_mandatory {
        w.push_mandatory(&option)
    } else {
        w.push(&option)
    }
}
