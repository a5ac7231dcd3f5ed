//! The control messages of a test.

use super::figures::{FlowTotal, Host, Interval};
use serde::{Deserialize, Serialize};

/// A control message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub(crate) enum Message {
    /// Client: this is the test that I want.
    Setup(Setup),
    /// Server: connect the flows and let each send this token.
    Ready {
        /// Names the test.
        token: u64,
    },
    /// Server: not with me.
    Refused {
        /// Why.
        reason: String,
        /// A hint what to do.
        next: String,
    },
    /// Server: the connection of this flow is known.
    Joined {
        /// The flow.
        flow: u32,
    },
    /// Client: all are joined, begin.
    Start,
    /// Server: what an interval brought for one flow.
    Interval(Interval),
    /// Client: end now. Sent if the server sends the data.
    Stop,
    /// Server: it shuts down, so this test ends now. Its totals follow.
    Ending,
    /// The sending end: nothing more will be sent.
    Sent,
    /// Server: what a flow brought in total.
    Total(Box<FlowTotal>),
    /// Server: about its host; the last message of a test.
    Host(Box<Host>),
    /// Client: everything has arrived, good bye.
    Bye,
}

/// A test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// The client's version of the program.
    pub(crate) version: String,
    pub(crate) flows: u32,
    pub(crate) duration_ns: u64,
    pub(crate) interval_ns: u64,
    /// Whether the server sends.
    pub(crate) is_reverse: bool,
    /// Bytes of a datagram.
    pub(crate) length_bytes: usize,
    /// Bits per second and flow.
    pub(crate) rate_bps: Option<u64>,
}
