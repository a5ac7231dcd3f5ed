//! From a CCID number to its two halves and what they need of the connection (RFC 4340 §10).
//!
//! [`Config::ccids`](crate::Config::ccids) lists the CCIDs that a connection can negotiate. To add one of your own,
//! implement [`Ccid`] and put it into that list with [`Ccids::with`].

use super::config::CcConfig;
use super::{HcReceiver, HcSender, ccid2, ccid3, ccid4};
use crate::wire::features::Feature;
use core::fmt;
use std::sync::{Arc, LazyLock};

/// A feature value that a CCID needs at one of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The feature.
    pub feature: Feature,
    /// Located at the HC-Sender (`true`) or at the HC-Receiver (`false`).
    pub at_sender: bool,
    /// The value needed.
    pub value: u8,
    /// The CCID cannot work without it: a peer that refuses it ends the connection. Without this mark the
    /// half-connection lives with a refusal.
    pub is_mandatory: bool,
}

/// A congestion control that connections can negotiate: the name, number, features and options of its
/// profile (4340-10.4-1).
pub trait Ccid: fmt::Debug + Send + Sync {
    /// Its number. 248 to 254 are for experiments (RFC 4340 §19.5).
    fn number(&self) -> u8;

    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// Makes the sending half.
    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender>;

    /// Makes the receiving half.
    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver>;

    /// Whether the sending half follows [`CcConfig::law`]. A program that chooses a law for other CCIDs only has made a
    /// mistake.
    fn has_law(&self) -> bool {
        true
    }

    /// Features that a half-connection with this CCID needs. The connection asks for them, and sends no data before
    /// they have these values or, for those that are not mandatory, before the peer has refused them.
    fn needs(&self) -> &[Dependency] {
        &[]
    }

    /// Numbers of the features that the CCID defines: 128–191 are located at the HC-Sender, 192–255 at the
    /// HC-Receiver (4340-10.3-1). Their values are bytes that both ends reconcile; the initial value is 0.
    fn features(&self) -> &[u8] {
        &[]
    }

    /// Types of the options that the CCID understands: 128–191 go from HC-Sender to HC-Receiver, 192–255 back
    /// (4340-10.3-1). The halves decode them.
    fn options(&self) -> &[u8] {
        &[]
    }
}

/// The CCIDs that a connection can negotiate. The default holds those that are built in: 2, 3 and 4.
#[derive(Clone, Debug)]
pub struct Ccids(Arc<[Arc<dyn Ccid>]>);

impl Ccids {
    /// These CCIDs and `ccid`, which replaces the one with its number.
    #[must_use]
    pub fn with(&self, ccid: impl Ccid + 'static) -> Self {
        let others = self.0.iter().filter(|c| c.number() != ccid.number());
        let mut all: Vec<Arc<dyn Ccid>> = others.cloned().collect();
        all.push(Arc::new(ccid));
        all.sort_by_key(|c| c.number());
        Self(all.into())
    }

    /// The CCID with this number.
    pub fn find(&self, number: u8) -> Option<&dyn Ccid> {
        let found = self.0.iter().find(|c| c.number() == number);
        found.map(AsRef::as_ref)
    }

    /// The first CCID in a list of numbers that is here; the lowest if there is none.
    pub(crate) fn first_of(&self, numbers: &[u8]) -> &dyn Ccid {
        let found = numbers.iter().find_map(|&number| self.find(number));
        found.unwrap_or(&*self.0[0])
    }

    /// All of them, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Ccid> {
        self.0.iter().map(AsRef::as_ref)
    }
}

impl Default for Ccids {
    fn default() -> Self {
        // 4340-10-2: CCID 2 is always there.
        static BUILT_IN: LazyLock<Ccids> = LazyLock::new(|| {
            Ccids(Arc::new([
                Arc::new(ccid2::Ccid2),
                Arc::new(ccid3::Ccid3),
                Arc::new(ccid4::Ccid4),
            ]))
        });
        BUILT_IN.clone()
    }
}

impl PartialEq for Ccids {
    /// Two lists are equal if they hold the same objects: two CCIDs of one name may have different settings.
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&*other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// The features that CCID 3 and its variant need. RFC 4342 requires neither of a peer, so none is
/// mandatory.
pub(super) const TFRC_NEEDS: &[Dependency] = &[
    // Its 32 bits go on where the 24 of Loss Intervals end (4342-8.4-1).
    Dependency {
        feature: Feature::SendLossEventRate,
        at_sender: false,
        value: 1,
        is_mandatory: false,
    },
    // Else the receiver takes lost acknowledgements for lost data (4342-6.1-2).
    Dependency {
        feature: Feature::SendNdpCount,
        at_sender: true,
        value: 1,
        is_mandatory: false,
    },
];

/// The features of CCID 3 and its variant.
pub(super) const TFRC_FEATURES: &[u8] = &[
    Feature::SendRttEstimate.number(),
    Feature::SendLossEventRate.number(),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// CCID 3 under another number.
    #[derive(Debug)]
    struct Own(u8);

    impl Ccid for Own {
        fn number(&self) -> u8 {
            self.0
        }

        fn name(&self) -> &'static str {
            "own"
        }

        fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
            ccid3::Ccid3.sender(config)
        }

        fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
            ccid3::Ccid3.receiver(config)
        }
    }

    #[test]
    fn ccids_are_found_by_their_number() {
        // 4340-10-2: the numbers of the built-in CCIDs.
        let ccids = Ccids::default();
        let name = |number| ccids.find(number).map(Ccid::name);
        assert_eq!(name(2), Some("tcp-like"));
        assert_eq!(name(3), Some("tfrc"));
        assert_eq!(name(4), Some("tfrc-sp"));
        assert_eq!(name(5), None);
        assert_eq!(ccids.first_of(&[9, 4, 3]).number(), 4);
        assert_eq!(ccids.first_of(&[9]).number(), 2);
    }

    #[test]
    fn a_ccid_of_ones_own_is_added_or_replaces_one() {
        let default = Ccids::default();
        let added = default.with(Own(1)).with(Own(249));
        assert!(added.iter().map(Ccid::number).eq([1, 2, 3, 4, 249]));
        assert_ne!(added, default);
        let replaced = default.with(Own(3));
        assert!(replaced.iter().map(Ccid::number).eq([2, 3, 4]));
        assert_eq!(replaced.find(3).map(Ccid::name), Some("own"));
        assert_ne!(replaced, default);
        assert_eq!(default, Ccids::default());
        assert_ne!(default.with(Own(249)), default.with(Own(249)));
    }

    #[test]
    fn ccid_2_needs_ack_vectors_from_its_receiver() {
        // 4341-4-1: CCID 2 needs Send Ack Vector.
        let ccids = Ccids::default();
        let needs = ccids.find(2).map_or(&[][..], Ccid::needs);
        assert_eq!(
            needs,
            [Dependency {
                feature: Feature::SendAckVector,
                at_sender: false,
                value: 1,
                is_mandatory: true
            }]
        );
    }

    #[test]
    fn ccids_3_and_4_need_loss_event_rates_from_the_receiver_and_ndp_counts_from_the_sender() {
        // 4342-8.4-1: Send Loss Event Rate. 4342-6.1-2: NDP Counts tell lost data from lost acknowledgements.
        let ccids = Ccids::default();
        for ccid in [3, 4] {
            let needs = ccids.find(ccid).map_or(&[][..], Ccid::needs);
            let features: Vec<_> = needs
                .iter()
                .map(|n| (n.feature, n.at_sender, n.value))
                .collect();
            assert_eq!(
                features,
                [
                    (Feature::SendLossEventRate, false, 1),
                    (Feature::SendNdpCount, true, 1)
                ]
            );
        }
    }
}
