//! From a CCID number to its two halves and what they need of the connection (RFC 4340 §10).

use super::{HcReceiver, HcSender, ccid2};
use crate::time::Instant;
use crate::wire::features::Feature;
use core::time::Duration;

/// Settings of a controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CcConfig {
    /// When the half-connection begins.
    pub now: Instant,
    /// Maximum packet size in bytes of application data.
    pub mps: usize,
    /// Spread packets over the round trip (design 8b).
    pub is_paced: bool,
    /// The Ack Ratio that the application fixed; `None`: the controller chooses.
    pub ack_ratio: Option<u16>,
    /// Keep to the RFC's values where design 8c departs from them.
    pub is_strict: bool,
    /// The lowest RTO of a window sender.
    pub rto_min: Duration,
    /// The clock granularity of whoever calls: `t_gran` of RFC 5348.
    pub granularity: Duration,
    /// The longest delay of an acknowledgement (4340-11.3-3).
    pub delayed_ack: Duration,
    /// The round-trip time measured by the handshake, if any.
    pub rtt: Option<Duration>,
}

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

/// A congestion control that connections can negotiate.
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

/// All congestion controls, in the order of their numbers.
pub const ENTRIES: &[Entry] = &[Entry {
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
}];
