//! Events of a connection for its application.

use crate::cc::safeudp::{SendCode, Shortfall};
use crate::wire::{ResetCode, ServiceCode};
use core::time::Duration;

/// Something happened to a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A listener has a new connection, in RESPOND; [`Connected`](Self::Connected) follows.
    Accepted {
        /// The listening port.
        port: u16,
        /// The Service Code that the client asked for (5595-3.3-2).
        service: ServiceCode,
    },
    /// The handshake is done: data may flow.
    Connected,
    /// The maximum packet size changed; in bytes of application data.
    Mps(usize),
    /// The peer asked to end the connection, or ended it.
    PeerClosed,
    /// The peer's application no longer listens, so no data can be sent (Drop Code 1).
    PeerNotListening,
    /// The peer's application is slow (RFC 4340 §11.6). At most one a second.
    SlowReceiver,
    /// The network's rate has changed by at least an eighth; only with `Config::rate_hints`.
    Rate(RateHint),
    /// The peer has been silent for this time although it must answer. Syncs now ask for a sign of life.
    Silent {
        /// The time since its last valid packet.
        silent_for: Duration,
    },
    /// A router or the peer's host reports the peer as unreachable (ICMP type and code). At most one a second; the
    /// quoted packet is one of ours, but a host on the path can forge it. The connection goes on.
    Unreachable {
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
    /// The socket of this host that carries the connection failed. Nothing arrives or leaves until
    /// [`SocketRestored`](Self::SocketRestored); what is sent meanwhile is lost. The connection lives on until its timers
    /// expire.
    SocketLost {
        /// The system's error number (`errno`), 0 if there is none.
        os_error: i32,
    },
    /// A new socket at the same address carries the connection.
    SocketRestored,
    /// The peer reported a packet as received that never left (4340-12.3-2). It counts as congestion; if it happens again,
    /// the connection ends with `Aborted(ResetCode::AGGRESSION_PENALTY)`.
    Misreport,
    /// A notice of CCID 248: advice, enforcement or the trip of a circuit breaker.
    SafeUdp(SendCode),
    /// A notice of CCID 248 at the receiver: less data arrives than the sender declared, or again as much.
    Shortfall(Shortfall),
    /// The application's source of datagrams panicked and was removed.
    SourcePanicked,
    /// The connection is over.
    Closed(CloseReason),
}

/// The network's rate, for encoders that adapt to it. `docs/timely.md` says how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateHint {
    /// Bits of application data per second that congestion control allows, smoothed over half a second.
    pub bits_per_s: u64,
    /// Bits of application data per second that the peer reports as received, smoothed alike. `None` before the first
    /// report.
    pub delivered_bits_per_s: Option<u64>,
    /// The application sent less than it was allowed. The network has then not been tested at `bits_per_s`: only
    /// `delivered_bits_per_s` is proven.
    pub is_app_limited: bool,
    /// The time that a datagram pushed now waits before it leaves. It waits for the window or the pacer and for the
    /// datagrams before it. While the path is silent, it also waits for the retransmission timer.
    pub wait: Duration,
}

impl RateHint {
    /// Bytes of application data that may leave within `time` from now, in addition to those that wait already.
    pub fn burst_budget(&self, time: Duration) -> u64 {
        let bits =
            u128::from(self.bits_per_s).saturating_mul(time.saturating_sub(self.wait).as_nanos());
        u64::try_from(bits / 8_000_000_000).unwrap_or(u64::MAX)
    }
}

/// Why a connection ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CloseReason {
    /// This end closed, and the peer agreed.
    Local,
    /// The peer closed.
    Peer,
    /// The peer sent a Reset with this code, three bytes of data and an error text.
    Reset {
        /// The code.
        code: ResetCode,
        /// Data 1–3.
        data: [u8; 3],
        /// The error text, if the packet had one.
        text: String,
    },
    /// This end reset the connection with this code because of what the peer did or did not do.
    Aborted(ResetCode),
    /// The peer did not answer in time.
    TimedOut,
    /// The network says that the peer cannot be reached (ICMP type and code).
    Unreachable {
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
}
