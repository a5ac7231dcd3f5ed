//! The settings that a connection passes to its controllers.

use super::law::LawConfig;
use super::safeudp_config::SafeUdpConfig;
use crate::time::{Instant, Rate};
use core::time::Duration;

/// The round-trip time while none is known (4340-3.4-1).
pub(crate) const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// Settings of a controller.
#[derive(Clone, PartialEq, Debug)]
pub struct CcConfig {
    /// When the half-connection begins.
    pub now: Instant,
    /// Maximum packet size in bytes of application data.
    pub mps: usize,
    /// The law of a window sender (`docs/design.md`, decision 9).
    pub law: LawConfig,
    /// The window of CCID 2 at the start in packets, at least 1; `None`: by the packet size (4341-5-9).
    pub initial_window: Option<u32>,
    /// The largest window of CCID 2 in packets, at least 1.
    pub max_window: u32,
    /// The most that CCIDs 3 and 4 send before the peer has reported a loss event; `None`: no bound.
    pub max_rate: Option<Rate>,
    /// The settings of CCID 248.
    pub safe_udp: SafeUdpConfig,
    /// Spread packets over the round trip (`docs/design.md`, decision 8b).
    pub is_paced: bool,
    /// The Ack Ratio that the application fixed; `None`: the controller chooses.
    pub ack_ratio: Option<u16>,
    /// Keep the RFC's values where `docs/design.md`, decision 8c, departs from them.
    pub is_strict: bool,
    /// The lowest RTO of a window sender.
    pub rto_min: Duration,
    /// The clock granularity of the caller: `t_gran` of RFC 5348.
    pub granularity: Duration,
    /// The longest delay of an acknowledgement (4340-11.3-3).
    pub delayed_ack: Duration,
    /// The round-trip time measured by the handshake, if any.
    pub rtt: Option<Duration>,
}
