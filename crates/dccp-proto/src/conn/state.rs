//! The states of a connection and the moves between them (RFC 4340 §8.1–8.4).

/// This end's role in the connection: the client sends the Request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// The end that opened actively.
    Client,
    /// The end that listened.
    Server,
}

/// The states of RFC 4340 §8.4 that belong to one connection, in the RFC's order. LISTEN and the
/// long wait in TIMEWAIT belong to the endpoint, which keeps no connection for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// A server that has sent DCCP-Listen and awaits the Request (RFC 5596 §2.2.2).
    Invited,
    /// As [`Invited`](Self::Invited), after the last DCCP-Listen.
    Listen1,
    /// The client awaits the Response.
    Request,
    /// The server awaits the client's acknowledgement of its Response.
    Respond,
    /// The client awaits a sign that the server has its acknowledgement.
    PartOpen,
    /// Data flows.
    Open,
    /// The server has asked the client to close.
    CloseReq,
    /// This end has sent Close and awaits the Reset.
    Closing,
    /// The peer's Reset came: the connection is over, its numbers rest for 2 MSL.
    TimeWait,
    /// The connection is over.
    Closed,
}

impl State {
    /// All states, for reports.
    pub const ALL: [Self; 10] = [
        Self::Invited,
        Self::Listen1,
        Self::Request,
        Self::Respond,
        Self::PartOpen,
        Self::Open,
        Self::CloseReq,
        Self::Closing,
        Self::TimeWait,
        Self::Closed,
    ];

    /// Whether the connection still exists on the wire.
    pub fn is_alive(self) -> bool {
        self < Self::TimeWait
    }

    /// Whether the move to `next` is one of the RFC's (§8.4 and the steps of §8.5).
    pub fn may_become(self, next: Self) -> bool {
        use State::{
            CloseReq, Closed, Closing, Invited, Listen1, Open, PartOpen, Request, Respond, TimeWait,
        };
        match (self, next) {
            // A Close, a give-up or an abort ends any state; so does a Reset (steps 9 and 14).
            (from, Closed | TimeWait) => from.is_alive(),
            (Invited, Listen1 | Respond)
            | (Listen1, Respond)
            | (Request, PartOpen)
            | (Respond | PartOpen, Open)
            | (PartOpen | Open, Closing)
            | (Open, CloseReq) => true,
            _ => false,
        }
    }

    /// The RFC's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invited => "INVITED",
            Self::Listen1 => "LISTEN1",
            Self::Request => "REQUEST",
            Self::Respond => "RESPOND",
            Self::PartOpen => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq => "CLOSEREQ",
            Self::Closing => "CLOSING",
            Self::TimeWait => "TIMEWAIT",
            Self::Closed => "CLOSED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State::{
        CloseReq, Closed, Closing, Invited, Listen1, Open, PartOpen, Request, Respond, TimeWait,
    };
    use super::*;

    #[test]
    fn names_are_those_of_the_rfc() {
        for state in [
            Invited, Listen1, Request, Respond, PartOpen, Open, CloseReq, Closing, TimeWait, Closed,
        ] {
            assert_eq!(state.name(), format!("{state:?}").to_uppercase());
        }
    }

    #[test]
    fn a_connection_moves_as_the_state_diagram_says() {
        // RFC 4340 §8.4, RFC 5596 §2.2.2.
        for (from, successors) in [
            (Invited, &[Listen1, Respond, TimeWait, Closed][..]),
            (Listen1, &[Respond, TimeWait, Closed]),
            (Request, &[PartOpen, TimeWait, Closed]),
            (Respond, &[Open, TimeWait, Closed]),
            (PartOpen, &[Open, Closing, TimeWait, Closed]),
            (Open, &[CloseReq, Closing, TimeWait, Closed]),
            (CloseReq, &[TimeWait, Closed]),
            (Closing, &[TimeWait, Closed]),
            (TimeWait, &[]),
            (Closed, &[]),
        ] {
            let next = State::ALL.into_iter().filter(|next| from.may_become(*next));
            assert_eq!(next.collect::<Vec<_>>(), successors, "{from:?}");
        }
    }
}
