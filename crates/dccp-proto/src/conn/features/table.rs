//! Facts that negotiation needs of each feature, beyond its constants in [`Feature`].

use crate::wire::features::Feature;

/// At which end a feature is located.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Side {
    /// Here: this end's "L" options speak of it.
    Local,
    /// At the peer: this end's "R" options speak of it.
    Remote,
}

impl Side {
    /// The other end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// One feature at one end: F/A in the RFC's notation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Slot {
    pub(super) side: Side,
    pub(super) feature: Feature,
}

impl Slot {
    /// Its place in the order of written Changes: by the number of the feature. So the CCIDs come before the
    /// features that they define.
    pub(super) const fn place(self) -> u16 {
        2 * self.feature.number() as u16 + self.side as u16
    }

    /// The CCID that gives a feature of 128 and above its meaning (4340-10.3-1): 128–191 are located
    /// at an HC-Sender, where its CCID is too, 192–255 at an HC-Receiver. `None` for the features of
    /// all connections.
    pub(super) const fn ccid(self) -> Option<Self> {
        let side = match self.feature.number() {
            0..=127 => return None,
            128..=191 => self.side,
            192..=255 => self.side.other(),
        };
        Some(Self {
            side,
            feature: Feature::CongestionControlId,
        })
    }

    /// The values that we accept for an SP feature by default, preferred first.
    ///
    /// LINUX-C1: they include all that a Linux peer declares Mandatory in its handshake.
    pub(super) const fn acceptable(self) -> &'static [u8] {
        match (self.feature, self.side) {
            (Feature::CongestionControlId, _) => &[2],
            // Our own demand is a setting.
            (Feature::MinChecksumCoverage, Side::Local) | (Feature::MultipathCapable, _) => &[0],
            // The peer asks for vectors with a list that allows none: they are sent if it prefers them.
            (Feature::SendAckVector, Side::Local) => &[1, 0],
            (Feature::MinChecksumCoverage, Side::Remote) => {
                &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
            }
            _ => &[0, 1],
        }
    }
}

/// How many features have a name.
pub(super) const FEATURES: usize = Feature::ALL.len();

/// Where a feature stands in [`Feature::ALL`]; `None` for one that only its CCID knows.
pub(super) const fn index(feature: Feature) -> Option<usize> {
    match feature {
        Feature::SendRttEstimate => Some(FEATURES - 2),
        Feature::SendLossEventRate => Some(FEATURES - 1),
        Feature::OfCcid(_) => None,
        _ => Some(feature.number() as usize - 1),
    }
}

/// The first entry of the server's list that the client's has too (4340-6.3.1-1); unknown
/// values do no harm (4340-15-2).
pub(super) fn reconcile(server: &[u8], client: &[u8]) -> Option<u8> {
    server.iter().copied().find(|v| client.contains(v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_setting_or_another_protocol_is_declined() {
        // 4340-9.2.1-1: a peer cannot make us accept damaged data.
        for (feature, side) in [
            (Feature::MinChecksumCoverage, Side::Local),
            (Feature::MultipathCapable, Side::Local),
            (Feature::MultipathCapable, Side::Remote),
        ] {
            assert_eq!(Slot { side, feature }.acceptable(), [0], "{feature:?}");
        }
    }
}
