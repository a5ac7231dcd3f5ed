//! Uses the features (RFC 4340 §6): which values this end asks for, and what follows when they change.
//! `features/` negotiates them.

use super::features::{Features, Side};
use super::{Connection, Half, Reset};
use crate::cc::Signal;
use crate::cc::config::CcConfig;
use crate::cc::registry::Ccids;
use crate::cc::{Ccid, Dependency};
use crate::config::Config;
use crate::event::Event;
use crate::time::Instant;
use crate::wire::features::{Feature, Reconciliation};
use crate::wire::{Ecn, Opt, ResetCode};
use core::time::Duration;

/// The least time between two changes of CCID on an open connection (RFC 4340 §10.5).
const CCID_CHANGE_INTERVAL: Duration = Duration::from_mins(1);

impl Connection {
    /// The values that this end accepts when the peer proposes them, preferred first.
    pub(super) fn prefer_features(features: &mut Features, config: &Config) {
        features.set_strict(config.strict);
        features.prefer(Side::Local, Feature::CongestionControlId, &config.tx_ccids);
        features.prefer(Side::Remote, Feature::CongestionControlId, &config.rx_ccids);
        // 4340-7.5.5-1: short numbers are easier to guess, so they need the application's consent.
        let short: &[u8] = if config.short_seqnos { &[1, 0] } else { &[0] };
        features.prefer(Side::Local, Feature::AllowShortSeqnos, short);
        features.prefer(Side::Remote, Feature::AllowShortSeqnos, short);
        let incapable: &[u8] = if config.ecn { &[0, 1] } else { &[1] };
        features.prefer(Side::Local, Feature::EcnIncapable, incapable);
        let coverage = coverage_from(config.min_cscov);
        features.prefer(Side::Local, Feature::MinChecksumCoverage, &coverage);
    }

    /// Asks for values that differ from the initial ones, with the Request or the Response. A value
    /// that the peer asked for before is not asked for again.
    pub(super) fn wish_for_features(&mut self) {
        let config = self.config.clone();
        self.wish_for_ccid(Side::Local, &config.tx_ccids);
        self.wish_for_ccid(Side::Remote, &config.rx_ccids);
        self.features
            .change_number(Feature::SequenceWindow, config.sequence_window);
        if config.short_seqnos {
            self.features
                .change(Side::Local, Feature::AllowShortSeqnos, &[1, 0], false);
        }
        if !config.ecn {
            // 4340-12.1-3, 4340-12.1-1
            self.features
                .change(Side::Local, Feature::EcnIncapable, &[1], true);
        }
        if let Some(ratio) = config.ack_ratio {
            self.features
                .change_number(Feature::AckRatio, u64::from(ratio));
        }
        if config.ndp_count {
            self.features
                .change(Side::Local, Feature::SendNdpCount, &[1, 0], false);
            self.features
                .change(Side::Remote, Feature::SendNdpCount, &[1, 0], false);
        }
        if config.min_cscov > 0 {
            let values = coverage_from(config.min_cscov);
            self.features
                .change(Side::Local, Feature::MinChecksumCoverage, &values, false);
        }
        if config.send_cscov > 0 {
            // 4340-9.2.1-1: the peer's minimum must not exceed what we cover.
            let values: Vec<u8> = (1..=config.send_cscov).rev().collect();
            self.features
                .change(Side::Remote, Feature::MinChecksumCoverage, &values, false);
        }
        if config.data_checksum {
            // 4340-9.3.1-1
            self.features
                .change(Side::Remote, Feature::CheckDataChecksum, &[1], false);
        }
        if config.ack_vectors {
            // A peer that has none for this CCID may refuse. CCID 2 asks again, and insists (4341-4-1).
            // LINUX-24: with CCID 3 a Linux peer resets unless the list contains its own value, 0.
            self.features
                .change(Side::Remote, Feature::SendAckVector, &[1, 0], false);
        }
        if let [ccid] = *config.tx_ccids {
            self.wish_for_needs(needs_of_sender(&config.ccids, ccid));
        }
        if let [ccid] = *config.rx_ccids {
            self.wish_for_needs(needs_of_receiver(&config.ccids, ccid));
        }
    }

    /// 4340-10-1: without CCID 2 in the list, the peer must agree to another or refuse.
    fn wish_for_ccid(&mut self, side: Side, ccids: &[u8]) {
        let is_mandatory = !ccids.contains(&2);
        if ccids != [2] {
            self.features
                .change(side, Feature::CongestionControlId, ccids, is_mandatory);
        }
    }

    /// Asks for the values of other features that a CCID needs, where they differ. Asks once for a need
    /// that is not mandatory.
    fn wish_for_needs<'a>(&mut self, needs: impl Iterator<Item = (Side, &'a Dependency)>) {
        for (side, need) in needs {
            let is_agreed = self.features.agreed(side, need.feature) == u64::from(need.value);
            let was_asked = self.features.asks_for(side, need.feature, &[need.value]);
            if !is_agreed && (need.is_mandatory || !was_asked) {
                self.features
                    .change(side, need.feature, &[need.value], need.is_mandatory);
            }
        }
    }

    /// 4340-10.5-2: a new controller starts without state. So on an open connection the CCIDs change at
    /// most once in [`CCID_CHANGE_INTERVAL`], whatever the peer asks for.
    pub(super) fn limit_ccid_changes(&mut self, now: Instant, opt: &Opt<'_>) {
        let (Opt::ChangeL(change) | Opt::ChangeR(change)) = opt else {
            return;
        };
        let Some(changed_at) = self.ccid_changed_at else {
            return;
        };
        if change.feature != Feature::CongestionControlId.number() {
            return;
        }
        let is_early = now < changed_at + CCID_CHANGE_INTERVAL;
        let config = self.config.clone();
        for (side, list, current) in [
            (Side::Local, &config.tx_ccids, self.tx.ccid),
            (Side::Remote, &config.rx_ccids, self.rx.ccid),
        ] {
            let list = if is_early {
                &[current]
            } else {
                list.as_slice()
            };
            self.features
                .prefer(side, Feature::CongestionControlId, list);
        }
    }

    /// The CCIDs that are agreed on take their places, and ask for what they need.
    pub(super) fn settle_ccids(&mut self, now: Instant) {
        let cc = self.cc_config(now);
        let config = self.config.clone();
        let tx = self.agreed_ccid(Side::Local);
        if tx != self.tx.ccid
            && let Some(ccid) = config.ccids.find(tx)
        {
            self.tx = Half {
                ccid: tx,
                cc: ccid.sender(&cc),
            };
            self.has_needs_met = false;
            self.ccid_changed_at = self.was_established.then_some(now);
            // Packets of the old CCID take no room in the new one's window: it has no timer for them.
            self.in_flight.on_timeout();
        }
        let rx = self.agreed_ccid(Side::Remote);
        if rx != self.rx.ccid
            && let Some(ccid) = config.ccids.find(rx)
        {
            self.rx = Half {
                ccid: rx,
                cc: ccid.receiver(&cc),
            };
            self.ccid_changed_at = self.was_established.then_some(now);
        }
        self.wish_for_agreed_needs();
    }

    /// Asks for what the CCIDs that are agreed on need.
    pub(super) fn wish_for_agreed_needs(&mut self) {
        let (tx, rx) = (
            self.agreed_ccid(Side::Local),
            self.agreed_ccid(Side::Remote),
        );
        let config = self.config.clone();
        self.wish_for_needs(needs_of_sender(&config.ccids, tx));
        self.wish_for_needs(needs_of_receiver(&config.ccids, rx));
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a CCID is a byte on the wire"
    )]
    fn agreed_ccid(&self, side: Side) -> u8 {
        self.features.agreed(side, Feature::CongestionControlId) as u8
    }

    pub(super) fn cc_config(&self, now: Instant) -> CcConfig {
        CcConfig {
            now,
            mps: self.pmtu.mps(),
            law: self.config.law.clone(),
            initial_window: None,
            max_window: self.config.max_window.unwrap_or(u32::MAX),
            max_rate: self.config.max_rate(),
            safe_udp: self.config.safe_udp,
            is_paced: self.config.pacing,
            ack_ratio: self.config.ack_ratio,
            is_strict: self.config.strict,
            rto_min: self.config.rto_min,
            granularity: self.config.granularity,
            delayed_ack: self.config.delayed_ack,
            rtt: self.rtt,
        }
    }

    /// Whether the features that the sending CCID needs have their values: no data before
    /// (4341-4-1).
    pub(super) fn are_needs_met(&self) -> bool {
        let ccid = self
            .features
            .value(Side::Local, Feature::CongestionControlId);
        ccid == u64::from(self.tx.ccid)
            && needs_of_sender(&self.config.ccids, self.tx.ccid).all(|(side, need)| {
                self.features.value(side, need.feature) == u64::from(need.value)
                    || !need.is_mandatory && !self.features.is_negotiating(side, need.feature)
            })
    }

    /// Whether [`take_feature_changes`](Self::take_feature_changes) has something to do.
    pub(super) fn has_feature_news(&self) -> bool {
        !self.has_needs_met || self.features.has_changed()
    }

    /// Values that have just changed take effect.
    pub(super) fn take_feature_changes(&mut self, now: Instant) {
        let mut is_news = false;
        while let Some((side, feature, value)) = self.features.poll_changed() {
            is_news = true;
            self.stats.counters.feature_changes += 1;
            match (side, feature) {
                (Side::Local, Feature::SequenceWindow) => self.seqs.local_window = value,
                (Side::Remote, Feature::SequenceWindow) => self.seqs.remote_window = value,
                (_, Feature::CongestionControlId) => self.settle_ccids(now),
                (Side::Local, Feature::SendNdpCount) => self.ndp.set_enabled(value == 1),
                (Side::Remote, Feature::SendNdpCount) => {
                    self.reverse_path.expect_ndp_counts(value == 1);
                }
                (Side::Remote, Feature::SendAckVector) => self.in_flight.expect_vectors(value == 1),
                _ => {}
            }
            self.tell_controllers(side, feature, value);
        }
        // Met needs stay met until a value or the CCID changes.
        if is_news || !self.has_needs_met {
            self.has_needs_met = self.are_needs_met();
        }
    }

    /// Passes a value to the controller of the half-connection that the feature concerns (4340-10.3-1).
    /// A feature located at the HC-Sender concerns our sender if it is ours, and our receiver if it is
    /// the peer's. With a feature located at the HC-Receiver it is the other way round.
    fn tell_controllers(&mut self, side: Side, feature: Feature, value: u64) {
        let is_at_sender = match feature {
            Feature::AckRatio | Feature::SendRttEstimate => true,
            Feature::SendAckVector | Feature::SendLossEventRate => false,
            Feature::OfCcid(number) => number < 192,
            _ => return,
        };
        if is_at_sender == (side == Side::Local) {
            self.tx.cc.on_feature(feature.number(), value);
        } else {
            self.rx.cc.on_feature(feature.number(), value);
        }
    }

    /// Does what the controllers ask for, and lets the Sequence Window follow the rate.
    pub(super) fn follow_controllers(&mut self) {
        while let Some(code) = self.tx.cc.poll_notice() {
            self.tell(Event::SafeUdp(code));
        }
        if let Some(shortfall) = self.rx.cc.poll_shortfall() {
            self.tell(Event::Shortfall(shortfall));
        }
        while let Some(signal) = self
            .tx
            .cc
            .poll_signal()
            .or_else(|| self.rx.cc.poll_signal())
        {
            match signal {
                // 4341-6.2-1
                Signal::SendAck => self.due.ack_of_ack = true,
                // An Ack Ratio that the application fixed stays.
                Signal::Change { feature, value } => self.change_feature(feature, value),
                Signal::Reset(code) => self.controller_reset = Some(Reset::new(ResetCode(code))),
                Signal::OptionError(data) => {
                    self.controller_reset = Some(Reset {
                        code: ResetCode::OPTION_ERROR,
                        data,
                    });
                }
            }
        }
        self.adapt_sequence_window();
    }

    /// A controller requires another value of a feature at this end.
    fn change_feature(&mut self, number: u8, value: u64) {
        let Some(feature) = Feature::from_number(number) else {
            return;
        };
        match feature.info().reconciliation {
            Reconciliation::NonNegotiable => self.features.change_number(feature, value),
            Reconciliation::ServerPriority => {
                let value = u8::try_from(value).unwrap_or(u8::MAX);
                self.features.change(Side::Local, feature, &[value], false);
            }
        }
    }

    /// The ECN field of an arrived packet, as far as this end may report it: without ECN there are
    /// neither marks nor nonces (4340-12.2-1).
    pub(super) fn readable(&self, ecn: Ecn) -> Ecn {
        let is_incapable = self.features.value(Side::Local, Feature::EcnIncapable) == 1;
        if self.config.ecn && !is_incapable {
            ecn
        } else {
            Ecn::NotEct
        }
    }

    /// Whether data must be refused because the peer does not know yet that we cannot read ECN
    /// (4340-12.1-3).
    pub(super) fn refuses_ecn_blind_data(&self) -> bool {
        !self.config.ecn && self.features.value(Side::Local, Feature::EcnIncapable) == 0
    }

    /// 4340-9.2.1-1
    pub(super) fn accepts_coverage(&self, cscov: u8) -> bool {
        let minimum = self
            .features
            .value(Side::Local, Feature::MinChecksumCoverage);
        cscov == 0 || minimum > 0 && u64::from(cscov) >= minimum
    }

    /// Returns the Checksum Coverage for `payload_len` bytes: the application's choice, if the peer
    /// accepts it and the packet is long enough (4340-9.2-1, 4340-9.2.1-1).
    pub(super) fn coverage_to_send(&self, payload_len: usize) -> u8 {
        let chosen = self.config.send_cscov;
        let minimum = self
            .features
            .value(Side::Remote, Feature::MinChecksumCoverage);
        let fits = payload_len >= usize::from(chosen.saturating_sub(1)) * 4;
        if minimum > 0 && u64::from(chosen) >= minimum && fits {
            chosen
        } else {
            0
        }
    }
}

/// A receiver that accepts coverage `min` accepts more (4340-9.2.1-1).
fn coverage_from(min: u8) -> Vec<u8> {
    if min == 0 {
        vec![0]
    } else {
        (min..=15).collect()
    }
}

fn needs_of_sender(ccids: &Ccids, ccid: u8) -> impl Iterator<Item = (Side, &Dependency)> {
    needs(ccids, ccid).map(|need| {
        (
            if need.at_sender {
                Side::Local
            } else {
                Side::Remote
            },
            need,
        )
    })
}

fn needs_of_receiver(ccids: &Ccids, ccid: u8) -> impl Iterator<Item = (Side, &Dependency)> {
    needs(ccids, ccid).map(|need| {
        (
            if need.at_sender {
                Side::Remote
            } else {
                Side::Local
            },
            need,
        )
    })
}

fn needs(ccids: &Ccids, ccid: u8) -> impl Iterator<Item = &Dependency> {
    ccids.find(ccid).into_iter().flat_map(Ccid::needs)
}

#[cfg(test)]
mod tests;
