//! Errors between a ring server and its clients.

use core::fmt;
use dccp::{Fault, printable, reason_text};
use dccp_proto::CloseReason;
use dccp_ring::Violation;
use dccp_ring::shared::SharedError;
use std::io;
use std::path::PathBuf;

/// Why there is no [`RingServer`](crate::RingServer).
#[derive(Debug)]
pub enum RingServerError {
    /// Caller: the path cannot be had, for example because another server runs there.
    Path {
        /// The path of the server's socket.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// System: there is no descriptor or no thread.
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

impl fmt::Display for RingServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { path, error } => {
                write!(f, "rings cannot be lent at {}: {error}", path.display())
            }
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RingServerError {}

/// Why [`RingClient::connect`](crate::RingClient::connect) gave no ring, or
/// [`RingListener::bind`](crate::RingListener::bind) no listener.
#[derive(Debug)]
pub enum RingConnectError {
    /// Caller: no server lends rings at the path, or this program may not connect to it.
    NoServer {
        /// Where.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// Caller: the server does not allow it; its words.
    Refused(String),
    /// Peer: the connection ended before it was open.
    Ended(CloseReason),
    /// System: the server has ended, or did not answer.
    ServerGone,
    /// System: what the server sends is not what this library understands: another version?
    Foreign,
    /// System: the ring cannot be used.
    Ring(SharedError),
}

impl RingConnectError {
    /// The party that can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::NoServer { .. } | Self::Refused(_) => Fault::Caller,
            Self::Ended(_) => Fault::Peer,
            Self::ServerGone | Self::Foreign | Self::Ring(_) => Fault::System,
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::NoServer { .. } => "start the program that lends rings, or check the path",
            Self::Refused(_) => "ask for something else, or change what the server allows",
            Self::Ended(_) => "is the program running there, and does it serve this port?",
            Self::ServerGone => "start the program that lends rings again",
            Self::Foreign => "use the same version of this library on both sides",
            Self::Ring(_) => "free memory, or raise the limits of this process",
        }
    }
}

impl fmt::Display for RingConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoServer { path, error } => {
                write!(f, "nobody lends rings at {}: {error}", path.display())
            }
            Self::Refused(why) => write!(f, "the server refused: {}", printable(why)),
            Self::Ended(reason) => {
                write!(f, "the connection did not open: {}", reason_text(reason))
            }
            Self::ServerGone => f.write_str(SERVER_GONE),
            Self::Foreign => f.write_str(FOREIGN),
            Self::Ring(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RingConnectError {}

/// Why [`RingListener::accept`](crate::RingListener::accept) gave no connection.
#[derive(Debug)]
pub enum RingAcceptError {
    /// None came in time.
    TimedOut,
    /// Caller: a connection waits, but the server has nothing for it, or you have as many as you asked for; its words. The
    /// connection still waits, unless it was the server's system that had nothing left for it.
    Refused(String),
    /// System: the server has ended, and with it the listener.
    ServerGone,
    /// System: what the server sends is not what this library understands: another version?
    Foreign,
    /// System: the ring cannot be used.
    Ring(SharedError),
}

impl RingAcceptError {
    /// The party that can mend it; none if there was just nothing.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TimedOut => None,
            Self::Refused(_) => Some(Fault::Caller),
            Self::ServerGone | Self::Foreign | Self::Ring(_) => Some(Fault::System),
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::TimedOut => "wait longer, or check the clients",
            Self::Refused(_) => "end connections, and accept again; or ask for smaller rings",
            Self::ServerGone => "start the program that lends rings, and listen again",
            Self::Foreign => "use the same version of this library on both sides",
            Self::Ring(_) => "free memory, or raise the limits of this process",
        }
    }
}

impl fmt::Display for RingAcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("no connection came in time"),
            Self::Refused(why) => write!(f, "the server refused: {}", printable(why)),
            Self::ServerGone => f.write_str(SERVER_GONE),
            Self::Foreign => f.write_str(FOREIGN),
            Self::Ring(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RingAcceptError {}

const SERVER_GONE: &str = "the program that lends rings has ended";
const FOREIGN: &str = "incompatible ring server: protocol version mismatch";

/// Why a lent ring gives nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RingError {
    /// Not in time.
    TimedOut,
    /// The connection is over.
    Closed(CloseReason),
    /// System: the program that lent the ring has ended, and with it the connection.
    ServerGone,
    /// System: the program that lent the ring breaks its rules.
    Broken(Violation),
}

impl RingError {
    /// The party that can mend it; none if there was just nothing.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TimedOut => None,
            Self::Closed(CloseReason::Local) => Some(Fault::Caller),
            Self::Closed(_) => Some(Fault::Peer),
            Self::ServerGone | Self::Broken(_) => Some(Fault::System),
        }
    }
}

impl fmt::Display for RingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("nothing came in time: wait longer, or check the peer"),
            Self::Closed(reason) => write!(
                f,
                "the connection is over ({}): connect again",
                reason_text(reason)
            ),
            Self::ServerGone => {
                f.write_str("the program that lent the ring has ended: start it, and connect again")
            }
            Self::Broken(violation) => write!(f, "{violation}: connect again"),
        }
    }
}

impl std::error::Error for RingError {}

impl From<Violation> for RingError {
    fn from(violation: Violation) -> Self {
        Self::Broken(violation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_whose_fault_they_are_and_what_to_do() {
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
