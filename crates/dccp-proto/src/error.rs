//! Errors for the caller. Packets never cause one: bad packets are counted in
//! [`stats`](crate::conn::stats).

use crate::time::Instant;
use core::fmt;

/// Why [`Endpoint::connect`](crate::Endpoint::connect) failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectError {
    /// A connection with these addresses and ports exists, or rests in TIMEWAIT.
    FlowInUse,
    /// The endpoint has as many connections as it may have.
    TooManyConnections,
    /// A circuit breaker of CCID 248 ended a connection to this peer, and the time of its hold is not over.
    HeldOff {
        /// When a connection may begin.
        until: Instant,
    },
    /// The configuration contradicts itself; the text says how.
    Config(&'static str),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FlowInUse => f.write_str("a connection with these addresses and ports exists"),
            Self::TooManyConnections => f.write_str("too many connections"),
            Self::HeldOff { .. } => f.write_str(
                "a circuit breaker ended a connection to this peer, and its hold is not over",
            ),
            Self::Config(why) => f.write_str(why),
        }
    }
}

impl core::error::Error for ConnectError {}

/// Why [`Endpoint::listen`](crate::Endpoint::listen) failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListenError {
    /// The port has a listener with this Service Code (5595-3.3-1).
    ServiceCodeInUse,
    /// The port has as many Service Codes as it may have.
    TooManyServiceCodes,
    /// 4294967295 is no Service Code (5595-2.5-1).
    InvalidServiceCode,
    /// As for [`ConnectError`].
    Open(ConnectError),
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServiceCodeInUse => f.write_str("the port has a listener with this service code"),
            Self::TooManyServiceCodes => f.write_str("too many service codes at once"),
            Self::InvalidServiceCode => f.write_str("4294967295 is not a service code"),
            Self::Open(e) => e.fmt(f),
        }
    }
}

impl core::error::Error for ListenError {}
