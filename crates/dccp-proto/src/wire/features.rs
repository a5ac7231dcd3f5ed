//! The features and their constants (RFC 4340 §6.4, RFC 4342 §8.4, RFC 6323 §3.2.2, RFC 9897).
//! How they are negotiated is `conn/features.rs`.

/// A feature that we know (requirements, table 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Feature {
    /// The CCID of the half-connection that the location sends on (RFC 4340 §10).
    CongestionControlId,
    /// The location may send 24-bit sequence numbers (RFC 4340 §7.6.1).
    AllowShortSeqnos,
    /// The Sequence Window of packets that the location sends (RFC 4340 §7.5.2).
    SequenceWindow,
    /// The location cannot read ECN fields (RFC 4340 §12.1).
    EcnIncapable,
    /// Data packets per acknowledgement of the location's data (RFC 4340 §11.3).
    AckRatio,
    /// The location sends Ack Vectors (RFC 4340 §11.5).
    SendAckVector,
    /// The location sends NDP Counts (RFC 4340 §7.7.2).
    SendNdpCount,
    /// The least coverage that the location accepts (RFC 4340 §9.2.1).
    MinChecksumCoverage,
    /// The location checks Data Checksums (RFC 4340 §9.3.1).
    CheckDataChecksum,
    /// Versions of Multipath DCCP (RFC 9897 §3.1).
    MultipathCapable,
    /// The location, an HC-Sender of CCID 3 or 4, sends RTT Estimates (RFC 6323 §3.2.2).
    SendRttEstimate,
    /// The location, an HC-Receiver of CCID 3 or 4, sends Loss Event Rates (RFC 4342 §8.4).
    SendLossEventRate,
    /// Another feature of a CCID, with its number, 128–255 (RFC 4340 §10.3). Its values are bytes that both ends
    /// reconcile; the initial value is 0.
    OfCcid(u8),
}

/// How two ends agree on a value (RFC 4340 §6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconciliation {
    /// Both have a list of one-byte values, the server's order decides (SP).
    ServerPriority,
    /// The location says a number (NN).
    NonNegotiable,
}

/// The constants of a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureInfo {
    /// The RFC's name.
    pub name: &'static str,
    /// How a value is agreed on.
    pub reconciliation: Reconciliation,
    /// The value before any negotiation.
    pub initial: u64,
    /// Every implementation must understand the feature (4340-6.4-1).
    pub is_required: bool,
    /// Length of one value in bytes.
    pub value_len: usize,
    /// The least valid value.
    pub min: u64,
    /// The greatest valid value.
    pub max: u64,
}

impl Feature {
    /// All features with a name, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::CongestionControlId,
        Self::AllowShortSeqnos,
        Self::SequenceWindow,
        Self::EcnIncapable,
        Self::AckRatio,
        Self::SendAckVector,
        Self::SendNdpCount,
        Self::MinChecksumCoverage,
        Self::CheckDataChecksum,
        Self::MultipathCapable,
        Self::SendRttEstimate,
        Self::SendLossEventRate,
    ];

    /// The feature with this number. `None` below 128 if we do not know it: from 128 on the CCID says which
    /// features there are.
    pub fn from_number(n: u8) -> Option<Self> {
        let named = Self::ALL.into_iter().find(|f| f.number() == n);
        named.or((n >= 128).then_some(Self::OfCcid(n)))
    }

    /// The number of the feature.
    pub const fn number(self) -> u8 {
        match self {
            Self::CongestionControlId => 1,
            Self::AllowShortSeqnos => 2,
            Self::SequenceWindow => 3,
            Self::EcnIncapable => 4,
            Self::AckRatio => 5,
            Self::SendAckVector => 6,
            Self::SendNdpCount => 7,
            Self::MinChecksumCoverage => 8,
            Self::CheckDataChecksum => 9,
            Self::MultipathCapable => 10,
            Self::SendRttEstimate => 128,
            Self::SendLossEventRate => 192,
            Self::OfCcid(number) => number,
        }
    }

    /// The constants of the feature. 4340-15-3: the initial value means "not available".
    pub const fn info(self) -> FeatureInfo {
        match self {
            Self::CongestionControlId => FeatureInfo {
                is_required: true,
                ..server_priority("Congestion Control ID", 2, 255)
            },
            Self::AllowShortSeqnos => FeatureInfo {
                is_required: true,
                ..server_priority("Allow Short Sequence Numbers", 0, 1)
            },
            // 4340-7.5.2-1
            Self::SequenceWindow => FeatureInfo {
                is_required: true,
                min: 32,
                ..non_negotiable("Sequence Window", 100, 6, (1 << 46) - 1)
            },
            Self::EcnIncapable => server_priority("ECN Incapable", 0, 1),
            // AMB-4: 0 is valid.
            Self::AckRatio => non_negotiable("Ack Ratio", 2, 2, 0xFFFF),
            Self::SendAckVector => server_priority("Send Ack Vector", 0, 1),
            Self::SendNdpCount => server_priority("Send NDP Count", 0, 1),
            Self::MinChecksumCoverage => server_priority("Minimum Checksum Coverage", 0, 15),
            Self::CheckDataChecksum => server_priority("Check Data Checksum", 0, 1),
            Self::MultipathCapable => server_priority("Multipath Capable", 0, 255),
            Self::SendRttEstimate => server_priority("Send RTT Estimate", 0, 1),
            Self::SendLossEventRate => server_priority("Send Loss Event Rate", 0, 1),
            Self::OfCcid(_) => server_priority("CCID-specific feature", 0, 255),
        }
    }

    /// The RFC's name of the feature.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Whether a value can be agreed on (RFC 4340 §6.6.8).
    pub const fn is_valid(self, value: u64) -> bool {
        let info = self.info();
        info.min <= value && value <= info.max
    }

    /// The number in an option of an NN feature; `None` if its length or range is wrong
    /// (4340-6.6.8-2).
    pub fn decode_number(self, values: &[u8]) -> Option<u64> {
        if values.len() != self.info().value_len {
            return None;
        }
        let value = values.iter().fold(0, |n, &b| n << 8 | u64::from(b));
        self.is_valid(value).then_some(value)
    }

    /// The number as it stands in an option of an NN feature: the last
    /// [`value_len`](FeatureInfo::value_len) of these bytes. Bits beyond that are lost.
    pub fn encode_number(self, value: u64) -> FeatureValue {
        FeatureValue {
            bytes: value.to_be_bytes(),
            len: self.info().value_len,
        }
    }
}

/// The value of an NN feature as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureValue {
    bytes: [u8; 8],
    len: usize,
}

impl FeatureValue {
    /// The bytes for [`FeatureOpt::values`](super::options::FeatureOpt::values).
    pub fn as_slice(&self) -> &[u8] {
        self.bytes.get(8 - self.len..).unwrap_or_default()
    }
}

const fn server_priority(name: &'static str, initial: u64, max: u64) -> FeatureInfo {
    FeatureInfo {
        name,
        reconciliation: Reconciliation::ServerPriority,
        initial,
        is_required: false,
        value_len: 1,
        min: 0,
        max,
    }
}

const fn non_negotiable(
    name: &'static str,
    initial: u64,
    value_len: usize,
    max: u64,
) -> FeatureInfo {
    FeatureInfo {
        name,
        reconciliation: Reconciliation::NonNegotiable,
        initial,
        is_required: false,
        value_len,
        min: 0,
        max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Reconciliation::{NonNegotiable, ServerPriority};

    #[test]
    fn features_have_the_constants_of_the_table() {
        // 4340-6.4-1, 4340-7.5.2-1; table 3.1 of the requirements
        for (number, reconciliation, initial, is_required, value_len, min, max) in [
            (1, ServerPriority, 2, true, 1, 0, 255),
            (2, ServerPriority, 0, true, 1, 0, 1),
            (3, NonNegotiable, 100, true, 6, 32, 0x3FFF_FFFF_FFFF),
            (4, ServerPriority, 0, false, 1, 0, 1),
            (5, NonNegotiable, 2, false, 2, 0, 65535),
            (6, ServerPriority, 0, false, 1, 0, 1),
            (7, ServerPriority, 0, false, 1, 0, 1),
            (8, ServerPriority, 0, false, 1, 0, 15),
            (9, ServerPriority, 0, false, 1, 0, 1),
            (10, ServerPriority, 0, false, 1, 0, 255),
            (128, ServerPriority, 0, false, 1, 0, 1),
            (192, ServerPriority, 0, false, 1, 0, 1),
        ] {
            let feature = Feature::from_number(number).unwrap();
            assert_eq!(feature.number(), number);
            let expected = FeatureInfo {
                name: feature.name(),
                reconciliation,
                initial,
                is_required,
                value_len,
                min,
                max,
            };
            assert_eq!(feature.info(), expected);
            assert!(feature.is_valid(initial));
        }
        for number in [0].into_iter().chain(11..128) {
            assert_eq!(Feature::from_number(number), None);
        }
    }

    #[test]
    fn every_number_from_128_on_is_a_feature_of_some_ccid() {
        for number in 128..=255 {
            let feature = Feature::from_number(number).unwrap();
            assert_eq!(feature.number(), number);
            assert_eq!(feature.info().initial, 0);
        }
        assert_eq!(Feature::from_number(200), Some(Feature::OfCcid(200)));
    }

    #[test]
    fn numbers_out_of_range_are_invalid() {
        // 4340-7.5.2-1, 4340-6.6.8-2, AMB-4
        let window = Feature::SequenceWindow;
        assert_eq!(window.decode_number(&[0, 0, 0, 0, 0, 31]), None);
        assert_eq!(window.decode_number(&[0, 0, 0, 0, 0, 32]), Some(32));
        assert_eq!(window.decode_number(&[0, 0, 0, 0, 4, 0]), Some(1024));
        let greatest = [0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(window.decode_number(&greatest), Some((1 << 46) - 1));
        assert_eq!(window.decode_number(&[0x40, 0, 0, 0, 0, 0]), None);
        assert_eq!(Feature::AckRatio.decode_number(&[0, 0]), Some(0));
    }

    #[test]
    fn numbers_of_a_wrong_length_are_invalid() {
        // 4340-6.6.8-2
        let window = Feature::SequenceWindow;
        assert_eq!(window.decode_number(&[0, 0, 0, 4, 0]), None);
        assert_eq!(window.decode_number(&[0, 0, 0, 0, 0, 4, 0]), None);
        assert_eq!(window.decode_number(&[]), None);
        assert_eq!(Feature::AckRatio.decode_number(&[2]), None);
    }

    #[test]
    fn numbers_are_encoded_in_their_length() {
        // 4340-3.1-1
        let window = Feature::SequenceWindow.encode_number(0x0102_0304_0506);
        assert_eq!(window.as_slice(), [1, 2, 3, 4, 5, 6]);
        assert_eq!(Feature::AckRatio.encode_number(258).as_slice(), [1, 2]);
    }
}
