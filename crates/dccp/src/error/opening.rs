//! Errors of calls that open a socket: connect, bind and accept.

use super::{EngineGone, OptionError, io_next_step, reason_kind};
use crate::addr::{AddrError, DccpAddr};
use crate::clock;
use crate::fault::Fault;
use crate::words::{reason_text, service_text};
use core::time::Duration;
use dccp_io::OpenError;
use dccp_proto::config::bounds;
use dccp_proto::wire::{ResetCode, ServiceCode};
use dccp_proto::{self as proto, CloseReason};
use std::io;

/// Why [`Socket::connect`](crate::Socket::connect) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// Caller: an option has a value that is not allowed.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Caller: the text is no address.
    #[error(transparent)]
    Address(#[from] AddrError),
    /// Caller: the name has no address, or none of the family of [`Options::bind`](crate::Options::bind).
    #[error("the name has no address")]
    NoAddress,
    /// Caller: a link-local address without its interface, or one for DCCP over IP.
    #[error(
        "address {}: must have its interface, because it is link-local, and works over UDP only",
        remote.ip
    )]
    LinkLocal {
        /// The peer's address.
        remote: DccpAddr,
    },
    /// Caller: `connect` of [`dccp::tokio`](crate) was called outside a tokio runtime.
    #[error("no tokio runtime runs on this thread")]
    NoRuntime,
    /// Peer: its host refused the DCCP port (Reset 7, or Reset 3 from a Linux kernel).
    #[error("{remote} refused the DCCP port")]
    Refused {
        /// The peer's address.
        remote: DccpAddr,
    },
    /// Peer: something listens on the port, but not for this Service Code (Reset 8).
    #[error("{remote} does not serve {}", service_text(*service))]
    BadServiceCode {
        /// The peer's address.
        remote: DccpAddr,
        /// The Service Code of the Request.
        service: ServiceCode,
    },
    /// Peer: it has too many connections (Reset 9).
    #[error("{remote} is too busy")]
    TooBusy {
        /// The peer's address.
        remote: DccpAddr,
    },
    /// Peer: the handshake ended by a Reset.
    #[error("{remote} ended the handshake: {}", reason_text(reason))]
    Ended {
        /// The peer's address.
        remote: DccpAddr,
        /// How it ended.
        reason: CloseReason,
    },
    /// Peer: nothing answered.
    #[error(
        "nothing answers at {remote} ({requests} DCCP-Request packets in {:.1} s, no reply)",
        waited.as_secs_f64()
    )]
    NoAnswer {
        /// The peer's address.
        remote: DccpAddr,
        /// Request packets sent.
        requests: u64,
        /// Time from the first to the end.
        waited: Duration,
    },
    /// Peer: the network reports that it cannot be reached (ICMP).
    #[error("{remote} cannot be reached (ICMP type {kind} code {code})")]
    Unreachable {
        /// The peer's address.
        remote: DccpAddr,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
    /// System: the interface towards the peer carries less than a connection needs.
    #[error(
        "{remote} is behind an interface whose packets have at most {mtu} bytes: must be at least {least}",
        least = bounds::MTU_LEAST
    )]
    PathTooNarrow {
        /// The peer's address.
        remote: DccpAddr,
        /// MTU of the interface or route in bytes.
        mtu: usize,
    },
    /// System: a circuit breaker of CCID 248 ended a connection to this peer. Others may begin after a while.
    #[error(
        "a circuit breaker keeps connections from this peer for {:.1} s more",
        wait.as_secs_f64()
    )]
    HeldOff {
        /// The time until a connection may begin.
        wait: Duration,
    },
    /// System: no DCCP port is free, or the connection table is full.
    #[error("no DCCP port is free, or the connection table is full")]
    NoRoom,
    /// The engine has ended, or runs in the parent process.
    #[error(transparent)]
    EngineGone(#[from] EngineGone),
    /// System: no transport could be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// System: there is no route, the name could not be looked up, or there is no thread for the engine.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<proto::ConnectError> for ConnectError {
    /// The core's refusal on the last port that was tried.
    fn from(error: proto::ConnectError) -> Self {
        match error {
            proto::ConnectError::FlowInUse | proto::ConnectError::TooManyConnections => {
                Self::NoRoom
            }
            proto::ConnectError::HeldOff { until } => Self::HeldOff {
                wait: until - clock::now(),
            },
            proto::ConnectError::Config(problem) => OptionError::of_core(problem).into(),
        }
    }
}

impl ConnectError {
    /// The party that can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Option(_)
            | Self::NoAddress
            | Self::LinkLocal { .. }
            | Self::NoRuntime
            | Self::EngineGone(_) => Fault::Caller,
            Self::Address(e) => e.fault(),
            Self::PathTooNarrow { .. }
            | Self::HeldOff { .. }
            | Self::NoRoom
            | Self::Open(_)
            | Self::Io(_) => Fault::System,
            _ => Fault::Peer,
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Option(e) => e.next_step(),
            Self::Address(e) => e.next_step(),
            Self::NoAddress => "check the name, or give an address of the other family",
            Self::LinkLocal { .. } => {
                "over UDP write the interface too, as in [fe80::1%eth0]:14233/5001; over IP use another address"
            }
            Self::NoRuntime => "call it in a task of a tokio runtime",
            Self::Refused { .. } => "start the program that listens there, or check the port",
            Self::BadServiceCode { .. } => "use the Service Code of the listener",
            Self::TooBusy { .. } => "try again later",
            Self::Ended {
                reason:
                    CloseReason::Reset {
                        code: ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR,
                        ..
                    },
                ..
            } => "check that both ends have the CCIDs and features that this end asks for",
            Self::Ended { .. } => "look at the peer's log for the reason",
            Self::NoAnswer { .. } => {
                "check that the program runs there, and that firewalls on the way let the port through"
            }
            Self::Unreachable { .. } => "check the address, and that the peer's UDP port is open",
            Self::PathTooNarrow { .. } => "raise the MTU of the interface or the route",
            Self::HeldOff { .. } => "wait, or send less than before",
            Self::NoRoom => "close connections that are not needed",
            Self::EngineGone(e) => e.next_step(),
            Self::Open(e) => e.next_step(),
            Self::Io(e) => io_next_step(e),
        }
    }

    pub(super) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Option(_) | Self::LinkLocal { .. } => io::ErrorKind::InvalidInput,
            Self::Address(e) => e.io_kind(),
            Self::NoAddress => io::ErrorKind::NotFound,
            Self::Refused { .. } | Self::BadServiceCode { .. } | Self::TooBusy { .. } => {
                io::ErrorKind::ConnectionRefused
            }
            Self::Ended { reason, .. } => reason_kind(reason),
            Self::NoAnswer { .. } => io::ErrorKind::TimedOut,
            Self::Unreachable { .. } | Self::PathTooNarrow { .. } => io::ErrorKind::HostUnreachable,
            Self::NoRoom | Self::HeldOff { .. } => io::ErrorKind::AddrNotAvailable,
            Self::Open(e) => e.io_kind(),
            Self::Io(e) => e.kind(),
            Self::NoRuntime | Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

/// Why [`Listener::bind`](crate::Listener::bind) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Caller: an option has a value that is not allowed.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// Caller: the text is no address.
    #[error(transparent)]
    Address(#[from] AddrError),
    /// Caller: the name has no address.
    #[error("the name has no address")]
    NoAddress,
    /// Caller: `bind` of [`dccp::tokio`](crate) was called outside a tokio runtime.
    #[error("no tokio runtime runs on this thread")]
    NoRuntime,
    /// Caller: UDP port 6511 belongs to a system-wide service (6773-3.8-1).
    #[error("UDP port 6511 is reserved for the system's DCCP service")]
    ReservedUdpPort,
    /// Caller: this program listens on the DCCP port for the same Service Code already (5595-3.3-1), or, over IP, another
    /// program has the port.
    #[error(
        "DCCP port {port} is taken: it has a listener for this Service Code, or another program uses it over IP"
    )]
    InUse {
        /// DCCP port.
        port: u16,
    },
    /// The engine has ended, or runs in the parent process.
    #[error(transparent)]
    EngineGone(#[from] EngineGone),
    /// System: no transport could be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// System: the name could not be looked up, or there is no thread for the engine.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl BindError {
    /// The party that can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Open(_) | Self::Io(_) => Fault::System,
            Self::Address(e) => e.fault(),
            _ => Fault::Caller,
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Option(e) => e.next_step(),
            Self::Address(e) => e.next_step(),
            Self::NoAddress => "bind to an address of this host, for example [::]:14233/5001",
            Self::NoRuntime => "call it in a task of a tokio runtime",
            Self::ReservedUdpPort => "take another UDP port, for example 14233",
            Self::InUse { .. } => "close the other listener, or take another port or Service Code",
            Self::EngineGone(e) => e.next_step(),
            Self::Open(e) => e.next_step(),
            Self::Io(e) => io_next_step(e),
        }
    }

    pub(super) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Option(_) => io::ErrorKind::InvalidInput,
            Self::Address(e) => e.io_kind(),
            Self::NoAddress => io::ErrorKind::NotFound,
            Self::ReservedUdpPort | Self::InUse { .. } => io::ErrorKind::AddrInUse,
            Self::Open(e) => e.io_kind(),
            Self::Io(e) => e.kind(),
            Self::NoRuntime | Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

/// Why [`Listener::accept`](crate::Listener::accept) gave no connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// No connection waits, and the listener is non-blocking.
    #[error("no connection waits")]
    WouldBlock,
    /// No connection arrived in time.
    #[error("no connection arrived in time")]
    TimedOut,
    /// The listener is closed.
    #[error("the listener is closed")]
    Closed,
    /// The engine has ended, or runs in the parent process.
    #[error(transparent)]
    EngineGone(#[from] EngineGone),
}

impl AcceptError {
    /// The party that can mend it; `None` if there was just no connection.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::WouldBlock | Self::TimedOut => None,
            Self::Closed | Self::EngineGone(_) => Some(Fault::Caller),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::WouldBlock => "call again when the listener is readable",
            Self::TimedOut => "wait longer, or check the clients",
            Self::Closed => "bind a new listener",
            Self::EngineGone(e) => e.next_step(),
        }
    }

    pub(super) fn io_kind(self) -> io::ErrorKind {
        match self {
            Self::WouldBlock => io::ErrorKind::WouldBlock,
            Self::TimedOut => io::ErrorKind::TimedOut,
            Self::Closed => io::ErrorKind::NotConnected,
            Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}
