//! Errors, one small enum per operation, sorted by whose fault it is.
//!
//! `Display` says what happened in one line; [`next_step`](ConnectError::next_step) says what to do
//! about it. Bad packets from the network are never errors here: they are counted.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use dccp_io::OpenError;
use dccp_proto::CloseReason;
use dccp_proto::wire::{ResetCode, ServiceCode};
use std::io;

/// Whose fault an error is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The call cannot work as it was made.
    Caller,
    /// The peer, or the network up to it.
    Peer,
    /// This computer.
    System,
}

/// An option has a value that cannot be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError {
    /// The option's name, as in [`Options`](crate::Options).
    pub option: &'static str,
    /// What is wrong, with the values that are allowed.
    pub problem: String,
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option {}: {}", self.option, self.problem)
    }
}

impl std::error::Error for OptionError {}

/// Why [`Socket::connect`](crate::Socket::connect) failed.
#[derive(Debug)]
pub enum ConnectError {
    /// Caller: an option cannot be.
    Option(OptionError),
    /// Caller: the name has no address (of the wanted family).
    NoAddress,
    /// Caller: a link-local address without its interface, or for DCCP over IP.
    LinkLocal {
        /// Where to.
        remote: SocketAddr,
    },
    /// Peer: its host refused the DCCP port (Reset 7, or 3 from a Linux kernel).
    Refused {
        /// Where to.
        remote: SocketAddr,
        /// DCCP port.
        port: u16,
    },
    /// Peer: something listens on the port, but not for this Service Code (Reset 8).
    BadServiceCode {
        /// Where to.
        remote: SocketAddr,
        /// DCCP port.
        port: u16,
        /// The Service Code that we asked for.
        service: ServiceCode,
    },
    /// Peer: it has too much to do (Reset 9).
    TooBusy {
        /// Where to.
        remote: SocketAddr,
    },
    /// Peer: the connection ended before it was open.
    Ended {
        /// Where to.
        remote: SocketAddr,
        /// How.
        reason: CloseReason,
    },
    /// Peer: no answer at all.
    NoAnswer {
        /// Where to.
        remote: SocketAddr,
        /// DCCP port.
        port: u16,
        /// Request packets sent.
        requests: u64,
        /// How long we waited.
        waited: Duration,
    },
    /// Peer: the network says that it cannot be reached (ICMP).
    Unreachable {
        /// Where to.
        remote: SocketAddr,
        /// ICMP type.
        kind: u8,
        /// ICMP code.
        code: u8,
    },
    /// System: no DCCP port or no room in the connection table is left.
    NoRoom,
    /// System: a transport could not be opened.
    Open(OpenError),
    /// System: there is no route, or the name could not be looked up.
    Io(io::Error),
}

impl ConnectError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Option(_) | Self::NoAddress | Self::LinkLocal { .. } => Fault::Caller,
            Self::NoRoom | Self::Open(_) | Self::Io(_) => Fault::System,
            _ => Fault::Peer,
        }
    }

    /// What to do about it, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Option(_) => "correct the option",
            Self::NoAddress => "check the name, or give an address of the other family",
            Self::LinkLocal { .. } => {
                "over UDP write the interface too, as in fe80::1%eth0; over IP use another address"
            }
            Self::Refused { .. } => "start the program that is to listen there, or check the port",
            Self::BadServiceCode { .. } => "use the Service Code that the listener was given",
            Self::TooBusy { .. } => "try again later",
            Self::Ended { .. } => "look at the peer's log for the reason",
            Self::NoAnswer { .. } => {
                "is the program running there, and do firewalls on the way let the port through?"
            }
            Self::Unreachable { .. } => "check the address, and that the peer's UDP port is open",
            Self::NoRoom => "close connections that are not needed",
            Self::Open(e) => e.next_step(),
            Self::Io(e) => io_next_step(e),
        }
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(e) => e.fmt(f),
            Self::NoAddress => f.write_str("the name has no address"),
            Self::LinkLocal { remote } => {
                write!(f, "{} is a link-local address", remote.ip())
            }
            Self::Refused { remote, port } => {
                write!(f, "{remote} refused DCCP port {port}")
            }
            Self::BadServiceCode {
                remote,
                port,
                service,
            } => write!(
                f,
                "DCCP port {port} at {remote} does not serve {}",
                service_text(*service)
            ),
            Self::TooBusy { remote } => write!(f, "{remote} is too busy"),
            Self::Ended { remote, reason } => {
                write!(f, "{remote} ended the handshake: {}", reason_text(reason))
            }
            Self::NoAnswer {
                remote,
                port,
                requests,
                waited,
            } => write!(
                f,
                "nothing answers at {remote}, DCCP port {port} ({requests} DCCP-Request packets in {:.1} s, no reply)",
                waited.as_secs_f64()
            ),
            Self::Unreachable { remote, kind, code } => {
                write!(
                    f,
                    "{remote} cannot be reached (ICMP type {kind} code {code})"
                )
            }
            Self::NoRoom => f.write_str("no port or no room for one more connection is left"),
            Self::Open(e) => f.write_str(&e.what()),
            Self::Io(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ConnectError {}

impl From<OptionError> for ConnectError {
    fn from(e: OptionError) -> Self {
        Self::Option(e)
    }
}

impl From<OpenError> for ConnectError {
    fn from(e: OpenError) -> Self {
        Self::Open(e)
    }
}

impl From<io::Error> for ConnectError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Why [`Listener::bind`](crate::Listener::bind) failed.
#[derive(Debug)]
pub enum BindError {
    /// Caller: an option cannot be.
    Option(OptionError),
    /// Caller: the name has no address.
    NoAddress,
    /// Caller: UDP port 6511 belongs to a system-wide service (6773-3.8-1).
    ReservedUdpPort,
    /// Caller: this program listens on the DCCP port for the same Service Code already (5595-3.3-1);
    /// or, over IP, another program has the port.
    InUse {
        /// DCCP port.
        port: u16,
    },
    /// System: a transport could not be opened.
    Open(OpenError),
    /// System: the name could not be looked up, or there is no thread for the engine.
    Io(io::Error),
}

impl BindError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Open(_) | Self::Io(_) => Fault::System,
            _ => Fault::Caller,
        }
    }

    /// What to do about it, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::Option(_) => "correct the option",
            Self::NoAddress => "bind to an address of this host, for example [::]:14233",
            Self::ReservedUdpPort => "take another UDP port, for example 14233",
            Self::InUse { .. } => "close the other listener, or take another port or Service Code",
            Self::Open(e) => e.next_step(),
            Self::Io(e) => io_next_step(e),
        }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(e) => e.fmt(f),
            Self::NoAddress => f.write_str("the name has no address"),
            Self::ReservedUdpPort => f.write_str("UDP port 6511 is kept for the system's service"),
            Self::InUse { port } => write!(
                f,
                "DCCP port {port} is taken: it has a listener for this Service Code, or another \
                 program uses it over IP"
            ),
            Self::Open(e) => f.write_str(&e.what()),
            Self::Io(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for BindError {}

impl From<OptionError> for BindError {
    fn from(e: OptionError) -> Self {
        Self::Option(e)
    }
}

impl From<OpenError> for BindError {
    fn from(e: OpenError) -> Self {
        Self::Open(e)
    }
}

impl From<io::Error> for BindError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// Why [`Listener::accept`](crate::Listener::accept) gave no connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AcceptError {
    /// Non-blocking, and none waits.
    WouldBlock,
    /// None came in time.
    TimedOut,
    /// The listener was closed, or its engine has stopped.
    Closed,
}

impl fmt::Display for AcceptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "no connection waits: call again when the listener is readable",
            Self::TimedOut => "no connection came in time: wait longer, or check the clients",
            Self::Closed => "the listener is closed: bind a new one",
        })
    }
}

impl std::error::Error for AcceptError {}

/// Why a datagram was not taken for sending.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SendError {
    /// Caller: it is longer than the maximum packet size of the moment.
    TooBig {
        /// Its length in bytes.
        len: usize,
        /// The most that a datagram can hold now, in bytes.
        mps: usize,
    },
    /// Caller: this end has shut the connection down for writing.
    ShutDown,
    /// The send buffer is full, and the call does not wait: the socket is non-blocking, or the policy says so.
    WouldBlock,
    /// The send buffer stayed full for the whole time-out.
    TimedOut,
    /// Peer: its application does not listen any more.
    PeerNotListening,
    /// The connection is over.
    Closed(CloseReason),
}

impl SendError {
    /// Whose fault it is; none for a full buffer.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::TooBig { .. } | Self::ShutDown => Some(Fault::Caller),
            Self::WouldBlock | Self::TimedOut => None,
            Self::PeerNotListening => Some(Fault::Peer),
            Self::Closed(reason) => Some(reason_fault(reason)),
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooBig { len, mps } => write!(
                f,
                "{len} bytes do not fit in one packet: send at most {mps} bytes at a time"
            ),
            Self::ShutDown => {
                f.write_str("this end is shut down for writing: send before shutdown")
            }
            Self::WouldBlock => {
                f.write_str("the send buffer is full: call again when the socket is ready")
            }
            Self::TimedOut => {
                f.write_str("the send buffer stayed full: send slower, or wait longer")
            }
            Self::PeerNotListening => {
                f.write_str("the peer's application does not listen any more: close the socket")
            }
            Self::Closed(reason) => write_closed(f, reason),
        }
    }
}

impl std::error::Error for SendError {}

/// Why nothing was received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecvError {
    /// Caller: this end has shut the connection down for reading.
    ShutDown,
    /// Non-blocking, and nothing waits.
    WouldBlock,
    /// Nothing came in time.
    TimedOut,
    /// The connection is over, and everything received has been handed out.
    Closed(CloseReason),
}

impl RecvError {
    /// Whose fault it is; none if there was just nothing.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Self::ShutDown => Some(Fault::Caller),
            Self::WouldBlock | Self::TimedOut => None,
            Self::Closed(reason) => Some(reason_fault(reason)),
        }
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShutDown => f.write_str("this end is shut down for reading"),
            Self::WouldBlock => f.write_str("nothing waits: call again when the socket is ready"),
            Self::TimedOut => f.write_str("nothing came in time: wait longer, or check the peer"),
            Self::Closed(reason) => write_closed(f, reason),
        }
    }
}

impl std::error::Error for RecvError {}

/// Why [`Socket::close`](crate::Socket::close) did not see the end of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseError {
    /// Not within the linger time; the engine goes on in the background.
    TimedOut,
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection has not ended yet: raise `linger`, or abort")
    }
}

impl std::error::Error for CloseError {}

/// A connection's end in words.
pub fn reason_text(reason: &CloseReason) -> String {
    match reason {
        CloseReason::Local => "closed by this end".into(),
        CloseReason::Peer => "closed by the peer".into(),
        // 4340-5.6-4: the data are the option, Change L or R, its feature, CCID, and the first value.
        CloseReason::Reset {
            code: ResetCode::MANDATORY_ERROR,
            data: [32 | 34, 1, ccid],
            ..
        } => format!("the peer has no CCID {ccid}"),
        CloseReason::Reset { code, text, .. } if text.is_empty() => {
            format!("the peer sent Reset {code}")
        }
        CloseReason::Reset { code, text, .. } => {
            format!("the peer sent Reset {code}: {}", text.escape_debug())
        }
        CloseReason::Aborted(ResetCode::ABORTED) => "aborted by this end".into(),
        CloseReason::Aborted(code) => format!("this end sent Reset {code}"),
        CloseReason::TimedOut => "nobody answers".into(),
        CloseReason::Unreachable { kind, code } => {
            format!("the network cannot reach the peer (ICMP type {kind} code {code})")
        }
    }
}

/// A Service Code as its four letters where it has them, else as a number (RFC 5595 §2.2).
pub(crate) fn service_text(code: ServiceCode) -> String {
    let bytes = code.0.to_be_bytes();
    match core::str::from_utf8(&bytes) {
        Ok(s) if bytes.iter().all(u8::is_ascii_graphic) => format!("Service Code {s}"),
        _ => format!("Service Code {}", code.0),
    }
}

fn write_closed(f: &mut fmt::Formatter<'_>, reason: &CloseReason) -> fmt::Result {
    write!(
        f,
        "the connection is over ({}): connect again",
        reason_text(reason)
    )
}

fn reason_fault(reason: &CloseReason) -> Fault {
    match reason {
        CloseReason::Local => Fault::Caller,
        _ => Fault::Peer,
    }
}

pub(crate) fn io_next_step(e: &io::Error) -> &'static str {
    dccp_io::limit_next_step(e).unwrap_or("check the name, the address and this host's network")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_by_fault() {
        let remote = SocketAddr::from(([192, 0, 2, 1], 14233));
        assert_eq!(ConnectError::NoAddress.fault(), Fault::Caller);
        assert_eq!(ConnectError::TooBusy { remote }.fault(), Fault::Peer);
        assert_eq!(ConnectError::NoRoom.fault(), Fault::System);
        assert_eq!(BindError::ReservedUdpPort.fault(), Fault::Caller);
        assert_eq!(SendError::WouldBlock.fault(), None);
        assert_eq!(
            RecvError::Closed(CloseReason::Peer).fault(),
            Some(Fault::Peer)
        );
    }

    #[test]
    fn messages_say_what_happened() {
        let e = ConnectError::NoAnswer {
            remote: SocketAddr::from(([192, 0, 2, 99], 14233)),
            port: 5001,
            requests: 3,
            waited: Duration::from_millis(3100),
        };
        assert_eq!(
            e.to_string(),
            "nothing answers at 192.0.2.99:14233, DCCP port 5001 (3 DCCP-Request packets in 3.1 s, no reply)"
        );
        let e = SendError::TooBig {
            len: 9000,
            mps: 1424,
        };
        assert_eq!(
            e.to_string(),
            "9000 bytes do not fit in one packet: send at most 1424 bytes at a time"
        );
    }

    #[test]
    fn mandatory_error_names_the_ccid_that_the_peer_lacks() {
        let reason = CloseReason::Reset {
            code: ResetCode::MANDATORY_ERROR,
            data: [32, 1, 4],
            text: String::new(),
        };
        assert_eq!(reason_text(&reason), "the peer has no CCID 4");
    }

    #[test]
    fn a_peers_text_cannot_write_to_the_terminal() {
        let reason = CloseReason::Reset {
            code: ResetCode::CLOSED,
            data: [0; 3],
            text: "\u{1b}[2J".into(),
        };
        assert!(!reason_text(&reason).contains('\u{1b}'));
    }

    #[test]
    fn service_codes_read_as_letters() {
        assert_eq!(
            service_text(ServiceCode(u32::from_be_bytes(*b"DMON"))),
            "Service Code DMON"
        );
        assert_eq!(service_text(ServiceCode(7)), "Service Code 7");
    }
}
