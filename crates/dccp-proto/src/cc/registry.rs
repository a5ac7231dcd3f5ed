//! The list of CCIDs that a connection can negotiate: [`Config::ccids`](crate::Config::ccids).
//!
//! To add a CCID of your own, implement [`Ccid`] and put it into that list with [`Ccids::with`].

use super::{Ccid, ccid2, ccid3, ccid4, safeudp};
use std::sync::{Arc, LazyLock};

/// The CCIDs that a connection can negotiate. The default holds those that are built in: 2, 3, 4 and 248.
#[derive(Clone, Debug)]
pub struct Ccids(Arc<[Arc<dyn Ccid>]>);

impl Ccids {
    /// Returns these CCIDs and `ccid`, which replaces the one with its number.
    #[must_use]
    pub fn with(&self, ccid: impl Ccid + 'static) -> Self {
        let others = self.0.iter().filter(|c| c.number() != ccid.number());
        let mut all: Vec<Arc<dyn Ccid>> = others.cloned().collect();
        all.push(Arc::new(ccid));
        all.sort_by_key(|c| c.number());
        Self(all.into())
    }

    /// Returns the CCID with this number.
    pub fn find(&self, number: u8) -> Option<&dyn Ccid> {
        let found = self.0.iter().find(|c| c.number() == number);
        found.map(AsRef::as_ref)
    }

    /// Returns the first CCID of a list of numbers that is known, or the lowest CCID if none is.
    pub(crate) fn first_of(&self, numbers: &[u8]) -> &dyn Ccid {
        let found = numbers.iter().find_map(|&number| self.find(number));
        found.unwrap_or(&*self.0[0])
    }

    /// Returns all of them, in the order of their numbers.
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
                Arc::new(safeudp::SafeUdp),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::config::CcConfig;
    use crate::cc::{Dependency, HcReceiver, HcSender};
    use crate::wire::features::Feature;

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
        assert_eq!(name(248), Some("safeudp"));
        assert_eq!(name(5), None);
        assert_eq!(ccids.first_of(&[9, 4, 3]).number(), 4);
        assert_eq!(ccids.first_of(&[9]).number(), 2);
    }

    #[test]
    fn own_ccid_is_added_or_replaces_one() {
        let default = Ccids::default();
        let added = default.with(Own(1)).with(Own(249));
        assert!(added.iter().map(Ccid::number).eq([1, 2, 3, 4, 248, 249]));
        assert_ne!(added, default);
        let replaced = default.with(Own(3));
        assert!(replaced.iter().map(Ccid::number).eq([2, 3, 4, 248]));
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
