//! Errors of calls on an open socket: send, receive and close.

use super::{EngineGone, reason_kind};
use crate::fault::Fault;
use crate::words::reason_text;
use dccp_proto::CloseReason;
use dccp_proto::wire::ResetCode;
use std::io;

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
            Self::TooBig { .. } => {
                "send less at a time: at most the maximum packet size of the connection"
            }
            Self::ShutDown => "send before shutdown",
            Self::WouldBlock => "call again when the socket is ready",
            Self::TimedOut => "send slower, wait longer, or let old datagrams make room",
            Self::PeerNotListening => "close the socket",
            Self::Closed(_) => "connect again",
            Self::EngineGone(e) => e.next_step(),
        }
    }

    pub(super) fn io_kind(&self) -> io::ErrorKind {
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

    pub(super) fn io_kind(&self) -> io::ErrorKind {
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

    pub(super) fn io_kind(self) -> io::ErrorKind {
        match self {
            Self::TimedOut => io::ErrorKind::TimedOut,
            Self::EngineGone(_) => io::ErrorKind::Other,
        }
    }
}

/// The party that ended the connection.
pub(crate) fn reason_fault(reason: &CloseReason) -> Fault {
    match reason {
        CloseReason::Local | CloseReason::Aborted(ResetCode::ABORTED) => Fault::Caller,
        _ => Fault::Peer,
    }
}
