//! From a CCID number to its two halves and what they need of the connection (RFC 4340 §10).

use super::config::CcConfig;
use super::{HcReceiver, HcSender, ccid2, ccid3, ccid4};
use crate::wire::features::Feature;

/// Who must have which value of a feature for a CCID to work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The feature.
    pub feature: Feature,
    /// Located at the HC-Sender (`true`) or at the HC-Receiver (`false`).
    pub at_sender: bool,
    /// The value needed.
    pub value: u8,
}

/// A congestion control that connections can negotiate: the name, number and features of its
/// profile (4340-10.4-1).
#[derive(Clone, Copy)]
pub struct Entry {
    /// CCID.
    pub ccid: u8,
    /// Its name in reports.
    pub name: &'static str,
    /// Makes the sending half.
    pub sender: fn(&CcConfig) -> Box<dyn HcSender>,
    /// Makes the receiving half.
    pub receiver: fn(&CcConfig) -> Box<dyn HcReceiver>,
    /// Features that a half-connection with this CCID needs.
    pub needs: &'static [Dependency],
}

/// The entry of a CCID, if we have it.
pub fn find(ccid: u8) -> Option<&'static Entry> {
    ENTRIES.iter().find(|e| e.ccid == ccid)
}

/// The entry of the first CCID in a list that we have; CCID 2 if there is none.
pub fn first_of(ccids: &[u8]) -> &'static Entry {
    ccids
        .iter()
        .find_map(|&ccid| find(ccid))
        .unwrap_or(&ENTRIES[0])
}

/// What CCID 3 and its variant need.
const TFRC_NEEDS: &[Dependency] = &[
    // Its 32 bits go on where the 24 of Loss Intervals end (4342-8.4-1).
    Dependency {
        feature: Feature::SendLossEventRate,
        at_sender: false,
        value: 1,
    },
    // Else the receiver takes lost acknowledgements for lost data (4342-6.1-2).
    Dependency {
        feature: Feature::SendNdpCount,
        at_sender: true,
        value: 1,
    },
];

/// All congestion controls, in the order of their numbers.
pub const ENTRIES: &[Entry] = &[
    Entry {
        ccid: 2,
        name: "tcp-like",
        sender: ccid2::sender,
        receiver: ccid2::receiver,
        // 4341-4-1
        needs: &[Dependency {
            feature: Feature::SendAckVector,
            at_sender: false,
            value: 1,
        }],
    },
    Entry {
        ccid: 3,
        name: "tfrc",
        sender: ccid3::sender,
        receiver: ccid3::receiver,
        needs: TFRC_NEEDS,
    },
    Entry {
        ccid: 4,
        name: "tfrc-sp",
        sender: ccid4::sender,
        receiver: ccid4::receiver,
        needs: TFRC_NEEDS,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_their_number() {
        // 4340-10-2
        assert_eq!(find(2).map(|e| e.name), Some("tcp-like"));
        assert_eq!(find(3).map(|e| e.name), Some("tfrc"));
        assert_eq!(find(4).map(|e| e.name), Some("tfrc-sp"));
        assert!(find(5).is_none());
        assert!(ENTRIES.is_sorted_by_key(|e| e.ccid));
    }

    #[test]
    fn ccid_2_needs_ack_vectors_from_its_receiver() {
        // 4341-4-1
        let needs = find(2).map_or(&[][..], |e| e.needs);
        assert_eq!(
            needs,
            [Dependency {
                feature: Feature::SendAckVector,
                at_sender: false,
                value: 1
            }]
        );
    }

    #[test]
    fn ccids_3_and_4_need_loss_event_rates_from_the_receiver_and_ndp_counts_from_the_sender() {
        // 4342-8.4-1, 4342-6.1-2
        for ccid in [3, 4] {
            let needs = find(ccid).map_or(&[][..], |e| e.needs);
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
