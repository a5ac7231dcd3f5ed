//! What a connection tells the controllers that it makes.

use super::ccid3::rules::Rules;
use super::law::LawConfig;
use crate::time::Instant;
use core::time::Duration;

/// The round-trip time while none is known (4340-3.4-1).
pub(crate) const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// Limits of a window sender besides those of its law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowConfig {
    /// Window at the start in packets, at least 1; `None`: by the packet size (4341-5-9).
    pub initial: Option<u32>,
    /// No window is larger than so many packets, at least 1.
    pub max: u32,
    /// The window may grow while packets that were sent before the last congestion event are still in
    /// flight: not in TCP, which retransmits at that time (RFC 6675 §5).
    pub grows_in_recovery: bool,
    /// Every acknowledgement gives a sample to the timeout, not one per round trip (4341-5-5): with one
    /// per packet the variation tells nothing of a queue that grows, and the timeout is short.
    pub samples_every_ack: bool,
    /// A timeout that was doubled stays so until a packet is acknowledged that was sent for the first time after
    /// it expired, whatever is sampled before: the rule of senders without timestamps, which ns-2 has with them too.
    pub keeps_backoff: bool,
}

impl WindowConfig {
    /// As CCID 2 has it.
    pub const CCID_2: Self = Self {
        initial: None,
        max: u32::MAX,
        grows_in_recovery: true,
        samples_every_ack: false,
        keeps_backoff: false,
    };
}

/// Settings of a controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CcConfig {
    /// When the half-connection begins.
    pub now: Instant,
    /// Maximum packet size in bytes of application data.
    pub mps: usize,
    /// The law of a window sender (design 9).
    pub law: LawConfig,
    /// Limits of a window sender.
    pub window: WindowConfig,
    /// Spread packets over the round trip (design 8b).
    pub is_paced: bool,
    /// The Ack Ratio that the application fixed; `None`: the controller chooses.
    pub ack_ratio: Option<u16>,
    /// Keep to the RFC's values where design 8c departs from them.
    pub is_strict: bool,
    /// In which rules CCIDs 3 and 4 are as ns-2 has them.
    pub tfrc: Rules,
    /// The lowest RTO of a window sender.
    pub rto_min: Duration,
    /// The clock granularity of whoever calls: `t_gran` of RFC 5348.
    pub granularity: Duration,
    /// The longest delay of an acknowledgement (4340-11.3-3).
    pub delayed_ack: Duration,
    /// The round-trip time measured by the handshake, if any.
    pub rtt: Option<Duration>,
}
