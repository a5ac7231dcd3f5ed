//! Errors: one small enum for each operation, sorted by who can mend them.
//!
//! `Display` says in one line what happened. `next_step` names the remedy in one line. `source` gives the
//! error below, and every error converts to [`std::io::Error`]. Bad packets from the network are never errors: they are
//! counted in [`Stats`](crate::Stats).
//!
//! ```
//! use dccp::{Options, Socket};
//!
//! // Over UDP a peer has two ports: UDP's and DCCP's.
//! let Err(error) = Socket::connect("127.0.0.1", &Options::new()) else {
//!     panic!("the address has no ports")
//! };
//! eprintln!("{error}");
//! eprintln!("  {}", error.next_step());
//! assert_eq!(error.fault(), dccp::Fault::Caller);
//! let error = std::io::Error::from(error);
//! assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
//! ```

use crate::addr::{AddrError, DccpAddr};
use crate::fault::Fault;
use crate::words::{reason_text, service_text};
use core::time::Duration;
use dccp_io::OpenError;
use dccp_proto::CloseReason;
use dccp_proto::wire::{ResetCode, ServiceCode};
use std::io;

/// An option has a value that is not allowed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("option {option}: {problem}")]
#[non_exhaustive]
pub struct OptionError {
    /// The option's name, as in [`Options`](crate::Options).
    pub option: &'static str,
    /// The constraint that the value breaks.
    pub problem: String,
}

impl OptionError {
    pub(crate) fn new(option: &'static str, problem: impl Into<String>) -> Self {
        Self {
            option,
            problem: problem.into(),
        }
    }

    /// Always [`Fault::Caller`].
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        "correct the option"
    }
}

/// The engine's thread has ended, or runs in the parent process.
///
/// Threads do not survive a `fork`: in the child every call on a socket, a listener or an engine of the parent fails with
/// this error. New sockets in the child start an engine of their own.
///
/// A call that waits for the engine fails with it on the engine's own thread too, where a
/// [datagram source](crate::Socket::set_datagram_source) runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, thiserror::Error)]
#[error("{}", self.text())]
pub struct EngineGone {
    is_own_thread: bool,
}

impl EngineGone {
    pub(crate) const OWN_THREAD: Self = Self {
        is_own_thread: true,
    };

    fn text(self) -> &'static str {
        if self.is_own_thread {
            "the engine's own thread cannot wait for the engine"
        } else {
            "the engine of this socket does not run in this process"
        }
    }

    /// Always [`Fault::Caller`].
    pub fn fault(&self) -> Fault {
        Fault::Caller
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        if self.is_own_thread {
            "make the call on another thread"
        } else {
            "after fork open new sockets in the child"
        }
    }
}

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
            Self::NoRoom | Self::Open(_) | Self::Io(_) => Fault::System,
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
            Self::NoRoom => "close connections that are not needed",
            Self::EngineGone(e) => e.next_step(),
            Self::Open(e) => e.next_step(),
            Self::Io(e) => io_next_step(e),
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Option(_) | Self::LinkLocal { .. } => io::ErrorKind::InvalidInput,
            Self::Address(e) => e.io_kind(),
            Self::NoAddress => io::ErrorKind::NotFound,
            Self::Refused { .. } | Self::BadServiceCode { .. } | Self::TooBusy { .. } => {
                io::ErrorKind::ConnectionRefused
            }
            Self::Ended { reason, .. } => reason_kind(reason),
            Self::NoAnswer { .. } => io::ErrorKind::TimedOut,
            Self::Unreachable { .. } => io::ErrorKind::HostUnreachable,
            Self::NoRoom => io::ErrorKind::AddrNotAvailable,
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

    fn io_kind(&self) -> io::ErrorKind {
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

    fn io_kind(self) -> io::ErrorKind {
        match self {
            Self::WouldBlock => io::ErrorKind::WouldBlock,
            Self::TimedOut => io::ErrorKind::TimedOut,
            Self::Closed => io::ErrorKind::NotConnected,
            Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

/// Why a datagram was not taken for sending.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Caller: it is longer than the maximum packet size of the moment.
    #[error("{len} bytes do not fit in one packet of at most {mps} bytes")]
    TooBig {
        /// Its length in bytes.
        len: usize,
        /// The most bytes that a datagram can hold now.
        mps: usize,
    },
    /// Caller: this end has shut the connection down for writing.
    #[error("this end is shut down for writing")]
    ShutDown,
    /// The send buffer is full, and the call does not wait: the socket is non-blocking, or the policy is
    /// [`WhenFull::Error`](crate::WhenFull::Error).
    #[error("the send buffer is full")]
    WouldBlock,
    /// The send buffer stayed full for the whole time-out.
    #[error("the send buffer stayed full")]
    TimedOut,
    /// Peer: its application does not read any more (Drop Code 1).
    #[error("the peer's application does not read any more")]
    PeerNotListening,
    /// The connection has ended.
    #[error("the connection is over: {}", reason_text(.0))]
    Closed(CloseReason),
    /// The engine has ended, or runs in the parent process.
    #[error(transparent)]
    EngineGone(#[from] EngineGone),
}

impl SendError {
    /// The party that can mend it; `None` for a full buffer.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TooBig { .. } | Self::ShutDown | Self::EngineGone(_) => Some(Fault::Caller),
            Self::WouldBlock | Self::TimedOut => None,
            Self::PeerNotListening => Some(Fault::Peer),
            Self::Closed(reason) => Some(reason_fault(reason)),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::TooBig { .. } => "send less at a time: see Socket::max_packet_size",
            Self::ShutDown => "send before shutdown",
            Self::WouldBlock => "call again when the socket is ready",
            Self::TimedOut => "send slower, wait longer, or let old datagrams make room",
            Self::PeerNotListening => "close the socket",
            Self::Closed(_) => "connect again",
            Self::EngineGone(e) => e.next_step(),
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::TooBig { .. } => io::ErrorKind::InvalidInput,
            Self::ShutDown | Self::PeerNotListening => io::ErrorKind::BrokenPipe,
            Self::WouldBlock => io::ErrorKind::WouldBlock,
            Self::TimedOut => io::ErrorKind::TimedOut,
            Self::Closed(reason) => reason_kind(reason),
            Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

/// Why nothing was received.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// Caller: this end has shut the connection down for reading.
    #[error("this end is shut down for reading")]
    ShutDown,
    /// No datagram waits, and the socket is non-blocking.
    #[error("no datagram waits")]
    WouldBlock,
    /// No datagram arrived in time.
    #[error("no datagram arrived in time")]
    TimedOut,
    /// The connection has ended, and every datagram has been handed out.
    #[error("the connection is over: {}", reason_text(.0))]
    Closed(CloseReason),
    /// The engine has ended, or runs in the parent process.
    #[error(transparent)]
    EngineGone(#[from] EngineGone),
}

impl RecvError {
    /// The party that can mend it; `None` if there was just no datagram.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::ShutDown | Self::EngineGone(_) => Some(Fault::Caller),
            Self::WouldBlock | Self::TimedOut => None,
            Self::Closed(reason) => Some(reason_fault(reason)),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::ShutDown => "receive before shutdown",
            Self::WouldBlock => "call again when the socket is ready",
            Self::TimedOut => "wait longer, or check the peer",
            Self::Closed(_) => "connect again",
            Self::EngineGone(e) => e.next_step(),
        }
    }

    fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::ShutDown => io::ErrorKind::NotConnected,
            Self::WouldBlock => io::ErrorKind::WouldBlock,
            Self::TimedOut => io::ErrorKind::TimedOut,
            Self::Closed(reason) => reason_kind(reason),
            Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

/// Why a wait for the end of connections was in vain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CloseError {
    /// A connection has not ended in time. It ends in the background if the process lives on.
    #[error("the connection has not ended yet")]
    TimedOut,
    /// The engine has ended, or runs in the parent process.
    #[error(transparent)]
    EngineGone(#[from] EngineGone),
}

impl CloseError {
    /// The party that can mend it; `None` if the time was just too short.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TimedOut => None,
            Self::EngineGone(e) => Some(e.fault()),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::TimedOut => "raise the linger time, or abort",
            Self::EngineGone(e) => e.next_step(),
        }
    }

    fn io_kind(self) -> io::ErrorKind {
        match self {
            Self::TimedOut => io::ErrorKind::TimedOut,
            Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

macro_rules! into_io_error {
    ($($error:ty: $kind:expr),* $(,)?) => {$(
        impl From<$error> for io::Error {
            fn from(error: $error) -> Self {
                let kind: fn(&$error) -> io::ErrorKind = $kind;
                Self::new(kind(&error), error)
            }
        }
    )*};
}

into_io_error! {
    OptionError: |_| io::ErrorKind::InvalidInput,
    AddrError: |e| e.io_kind(),
    EngineGone: |_| io::ErrorKind::Other,
    ConnectError: |e| e.io_kind(),
    BindError: |e| e.io_kind(),
    AcceptError: |e| e.io_kind(),
    SendError: |e| e.io_kind(),
    RecvError: |e| e.io_kind(),
    CloseError: |e| e.io_kind(),
}

fn reason_fault(reason: &CloseReason) -> Fault {
    match reason {
        CloseReason::Local | CloseReason::Aborted(ResetCode::ABORTED) => Fault::Caller,
        _ => Fault::Peer,
    }
}

fn reason_kind(reason: &CloseReason) -> io::ErrorKind {
    match reason {
        CloseReason::Local => io::ErrorKind::NotConnected,
        CloseReason::Peer | CloseReason::Aborted(_) => io::ErrorKind::ConnectionAborted,
        CloseReason::Reset { .. } => io::ErrorKind::ConnectionReset,
        CloseReason::TimedOut => io::ErrorKind::TimedOut,
        CloseReason::Unreachable { .. } => io::ErrorKind::HostUnreachable,
    }
}

/// The next step for the user after an error of the system, in one line.
pub(crate) fn io_next_step(e: &io::Error) -> &'static str {
    dccp_io::limit_next_step(e).unwrap_or("check the name, the address and this host's network")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    fn remote() -> DccpAddr {
        "192.0.2.99:14233/5001".parse().unwrap()
    }

    #[test]
    fn errors_are_sorted_by_fault() {
        let remote = remote();
        assert_eq!(ConnectError::NoAddress.fault(), Fault::Caller);
        assert_eq!(ConnectError::TooBusy { remote }.fault(), Fault::Peer);
        assert_eq!(ConnectError::NoRoom.fault(), Fault::System);
        assert_eq!(BindError::ReservedUdpPort.fault(), Fault::Caller);
        assert_eq!(SendError::WouldBlock.fault(), None);
        assert_eq!(AcceptError::Closed.fault(), Some(Fault::Caller));
        assert_eq!(CloseError::TimedOut.fault(), None);
        assert_eq!(
            RecvError::Closed(CloseReason::Peer).fault(),
            Some(Fault::Peer)
        );
    }

    #[test]
    fn messages_say_what_happened() {
        let e = ConnectError::NoAnswer {
            remote: remote(),
            requests: 3,
            waited: Duration::from_millis(3100),
        };
        assert_eq!(
            e.to_string(),
            "nothing answers at 192.0.2.99:14233/5001 (3 DCCP-Request packets in 3.1 s, no reply)"
        );
        let e = SendError::TooBig {
            len: 9000,
            mps: 1424,
        };
        assert_eq!(
            e.to_string(),
            "9000 bytes do not fit in one packet of at most 1424 bytes"
        );
        assert!(e.next_step().contains("max_packet_size"));
    }

    #[test]
    fn errors_keep_their_source_and_become_io_errors() {
        let error = BindError::from(OpenError::from(io::Error::from(io::ErrorKind::AddrInUse)));
        assert!(error.source().is_some());
        assert!(!error.to_string().contains('\n'));
        let error = io::Error::from(error);
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let error = io::Error::from(SendError::Closed(CloseReason::TimedOut));
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(
            io::Error::from(RecvError::WouldBlock).kind(),
            io::ErrorKind::WouldBlock
        );
    }
}
