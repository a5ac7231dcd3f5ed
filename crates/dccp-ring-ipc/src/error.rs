//! Errors between a ring server and its clients.

use dccp::{Fault, printable, reason_text};
use dccp_proto::CloseReason;
use dccp_ring::Violation;
use dccp_ring::shared::SharedError;
use std::io;
use std::path::PathBuf;

/// Why there is no [`RingServer`](crate::RingServer).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingServerError {
    /// Caller: the path cannot be used, for example because another server runs there.
    #[error("cannot lend rings at {}: {error}", path.display())]
    Path {
        /// The path of the server's socket.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// System: there is no descriptor or no thread.
    #[error(transparent)]
    System(io::Error),
}

impl RingServerError {
    /// The party that can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Path { .. } => Fault::Caller,
            Self::System(_) => Fault::System,
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Path { error, .. } if error.kind() == io::ErrorKind::AddrInUse => {
                "stop the server that runs there, or take another path"
            }
            Self::Path { .. } => "take a path in a directory that exists and that you may write to",
            Self::System(error) => {
                dccp_io::limit_next_step(error).unwrap_or("check this host's limits")
            }
        }
    }
}

/// Why [`RingClient::connect`](crate::RingClient::connect) gave no ring, or
/// [`RingListener::bind`](crate::RingListener::bind) no listener.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingConnectError {
    /// Caller: no server lends rings at the path, or this program may not connect to it.
    #[error("no server lends rings at {}: {error}", path.display())]
    NoServer {
        /// The path of the server's socket.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// Caller: the server does not allow it. The text gives the server's reason.
    #[error("the server refused: {}", printable(.0))]
    Refused(String),
    /// Peer: the connection ended before it was open.
    #[error("the connection did not open: {}", reason_text(.0))]
    Ended(CloseReason),
    /// Peer: it did not answer in time. The server goes on trying until the application ends.
    #[error("the peer did not answer in time")]
    NoAnswer,
    /// System: the server did not answer in time.
    #[error("the program that lends rings did not answer in time")]
    TimedOut,
    /// System: the server has ended.
    #[error("the program that lends rings has ended")]
    ServerGone,
    /// System: the server's messages have another protocol version.
    #[error("incompatible ring server: protocol version mismatch")]
    Foreign,
    /// System: the ring cannot be used.
    #[error(transparent)]
    Ring(SharedError),
    /// System: it has no descriptor or no memory left for this program.
    #[error("cannot ask the program that lends rings: {0}")]
    System(#[source] io::Error),
}

impl RingConnectError {
    /// The party that can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::NoServer { .. } | Self::Refused(_) => Fault::Caller,
            Self::Ended(_) | Self::NoAnswer => Fault::Peer,
            Self::TimedOut | Self::ServerGone | Self::Foreign | Self::Ring(_) | Self::System(_) => {
                Fault::System
            }
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::TimedOut => "check the program that lends rings, or allow it more time",
            Self::NoServer { .. } => "start the program that lends rings, or check the path",
            Self::Refused(_) => "change the request, or the server's policy",
            Self::Ended(_) => "check that the program runs there and serves this port",
            Self::NoAnswer => {
                "check the address, that the program runs there, and that firewalls on the way let the port through"
            }
            Self::ServerGone => "start the program that lends rings again",
            Self::Foreign => "use the same version of this library on both sides",
            Self::Ring(_) | Self::System(_) => "free memory, or raise the limits of this process",
        }
    }
}

/// Why [`RingListener::accept`](crate::RingListener::accept) gave no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingAcceptError {
    /// No connection arrived in time.
    #[error("no connection arrived in time")]
    TimedOut,
    /// Caller: a connection waits, but the server has no ring left, or the program holds as many connections as it
    /// requested. The text gives the server's reason. The connection goes on waiting, unless the server's system has no
    /// resources.
    #[error("the server refused: {}", printable(.0))]
    Refused(String),
    /// Caller: the server's policy has changed, and does not let the program listen any more. The text gives the server's
    /// reason. The listener has ended, and with it the connections that wait.
    #[error("the server has ended the listener: {}", printable(.0))]
    Revoked(String),
    /// System: the server has ended, and with it the listener.
    #[error("the program that lends rings has ended")]
    ServerGone,
    /// System: the server's messages have another protocol version.
    #[error("incompatible ring server: protocol version mismatch")]
    Foreign,
    /// System: the ring cannot be used.
    #[error(transparent)]
    Ring(SharedError),
}

impl RingAcceptError {
    /// The party that can mend it; `None` if the time was just too short.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TimedOut => None,
            Self::Refused(_) | Self::Revoked(_) => Some(Fault::Caller),
            Self::ServerGone | Self::Foreign | Self::Ring(_) => Some(Fault::System),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::TimedOut => "wait longer, or check the clients",
            Self::Refused(_) => "end connections, and accept again; or ask for smaller rings",
            Self::Revoked(_) => "change the server's policy, and listen again",
            Self::ServerGone => "start the program that lends rings, and listen again",
            Self::Foreign => "use the same version of this library on both sides",
            Self::Ring(_) => "free memory, or raise the limits of this process",
        }
    }
}

/// Why a call on a lent ring failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// Nothing arrived in time, or there was no room in time.
    #[error("nothing arrived in time")]
    TimedOut,
    /// The connection is over.
    #[error("the connection is over: {}", reason_text(.0))]
    Closed(CloseReason),
    /// System: the program that lent the ring has ended, and with it the connection.
    #[error("the program that lent the ring has ended")]
    ServerGone,
    /// System: the program that lent the ring breaks its rules.
    #[error(transparent)]
    Broken(#[from] Violation),
}

impl RingError {
    /// The party that can mend it; `None` if the time was just too short.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TimedOut => None,
            Self::Closed(CloseReason::Local) => Some(Fault::Caller),
            Self::Closed(_) => Some(Fault::Peer),
            Self::ServerGone | Self::Broken(_) => Some(Fault::System),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::TimedOut => "wait longer, or check the peer",
            Self::Closed(_) | Self::Broken(_) => "connect again",
            Self::ServerGone => "start the program that lends rings, and connect again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn errors_keep_their_source() {
        let no_server = || io::Error::from(io::ErrorKind::NotFound);
        let error = RingConnectError::NoServer {
            path: "/run/rings".into(),
            error: no_server(),
        };
        let source = error.source().expect("the system's error");
        assert_eq!(source.to_string(), no_server().to_string());
        let error = RingServerError::Path {
            path: "/run/rings".into(),
            error: no_server(),
        };
        assert!(error.source().is_some());
        // The next step stands beside the message, not in it.
        for error in [
            RingError::TimedOut,
            RingError::Closed(CloseReason::Peer),
            RingError::ServerGone,
        ] {
            assert!(!error.to_string().contains(error.next_step()), "{error}");
        }
    }

    #[test]
    fn errors_name_the_fault_and_the_next_step() {
        let error = RingServerError::Path {
            path: "/run/rings".into(),
            error: io::ErrorKind::AddrInUse.into(),
        };
        assert_eq!(error.fault(), Fault::Caller);
        assert!(error.next_step().starts_with("stop the server"));
        assert!(error.to_string().contains("/run/rings"));
        let error = RingConnectError::Refused("\u{1b}[2J".into());
        assert_eq!(error.to_string(), "the server refused: \\u{1b}[2J");
        assert_eq!(RingConnectError::ServerGone.fault(), Fault::System);
        let error = RingAcceptError::Refused("\u{1b}[2J".into());
        assert_eq!(error.to_string(), "the server refused: \\u{1b}[2J");
        assert_eq!(error.fault(), Some(Fault::Caller));
        assert!(error.next_step().contains("accept again"));
        assert_eq!(RingAcceptError::TimedOut.fault(), None);
        assert_eq!(RingError::TimedOut.fault(), None);
        assert_eq!(
            RingError::Closed(CloseReason::Peer).fault(),
            Some(Fault::Peer)
        );
    }
}
