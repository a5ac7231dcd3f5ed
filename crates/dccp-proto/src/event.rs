//! What a connection tells its application.

use crate::wire::{ResetCode, ServiceCode};
use core::time::Duration;

/// Something happened to a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The peer's application does not listen any more: sending data is over (Drop Code 1).
    PeerNotListening,
    /// The peer's application is slow (RFC 4340 §11.6).
    SlowReceiver,
    /// What the network takes has changed; only where that is wanted.
    Rate(RateHint),
    /// The connection is over.
    Closed(CloseReason),
}

/// What the network takes now: for encoders, to make as much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateHint {
    /// Bits of application data per second.
    pub bits_per_s: u64,
    /// How long a datagram would wait before it leaves that is pushed now, behind those that wait.
    pub wait: Duration,
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
    /// Nobody answered in time.
    TimedOut,
    /// The network says that the peer cannot be reached (ICMP type and code).
    Unreachable {
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
}
