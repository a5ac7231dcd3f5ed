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

mod opening;
mod using;

pub use opening::{AcceptError, BindError, ConnectError};
pub(crate) use using::reason_fault;
pub use using::{CloseError, RecvError, SendError};

use crate::addr::AddrError;
use crate::fault::Fault;
use dccp_proto::CloseReason;
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

    /// The core's objection to options that passed the checks here.
    pub(crate) fn of_core(problem: &str) -> Self {
        Self::new("configure", problem)
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

/// The kind of the system's error that is nearest to a connection's end.
pub(crate) fn reason_kind(reason: &CloseReason) -> io::ErrorKind {
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
    use crate::addr::DccpAddr;
    use core::time::Duration;
    use dccp_io::OpenError;
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
        assert!(e.next_step().contains("maximum packet size"));
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
