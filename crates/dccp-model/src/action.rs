//! The steps between states.

use crate::end::End;
use crate::forge::Forgery;
use core::fmt;

/// One step. It names a packet by its place in the network, in the order of its arrival there: first those to the client, then those to the server.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// The end connects or listens with one of the scenario's settings: it proposes features with them.
    Start(End, u8),
    /// The application sends a datagram.
    Send(End),
    /// The application closes the connection.
    Close(End),
    /// The application aborts the connection.
    Abort(End),
    /// A packet arrives.
    Deliver(u8),
    /// A packet arrives, and the network keeps a copy.
    Duplicate(u8),
    /// A packet is lost.
    Drop(u8),
    /// The next timer of an end expires.
    Expire(End),
    /// The attacker's packet arrives.
    Inject(Forgery),
}

impl Action {
    /// Whether an application ends its connection.
    pub(crate) fn ends(self) -> bool {
        matches!(self, Self::Close(_) | Self::Abort(_))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(End::Client, n) => write!(f, "client connects with settings {n}"),
            Self::Start(End::Server, n) => write!(f, "server listens with settings {n}"),
            Self::Send(end) => write!(f, "{end} sends a datagram"),
            Self::Close(end) => write!(f, "{end} closes"),
            Self::Abort(end) => write!(f, "{end} aborts"),
            Self::Deliver(k) => write!(f, "packet {k} arrives"),
            Self::Duplicate(k) => write!(f, "packet {k} arrives and stays"),
            Self::Drop(k) => write!(f, "packet {k} is lost"),
            Self::Expire(end) => write!(f, "the next timer of the {end} expires"),
            Self::Inject(forgery) => write!(f, "{forgery}"),
        }
    }
}
