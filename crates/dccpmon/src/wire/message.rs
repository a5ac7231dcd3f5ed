//! The control messages of a test.
//!
//! ```text
//! C → S  Hello     versions, nonce
//! S → C  Welcome   version, nonce, limits; or Refused
//! C → S  Setup     the request, with a proof of the server's key if it has one
//! S → C  Queued    the position in the queue, again and again, if the client waits
//! S → C  Ready     the granted request, the test's token; or Refused
//!        Joined, Start, Interval, Stop or Sent, Total, Host
//! C → S  Bye; or Setup for the next test of a series
//! ```
//!
//! In a third-party test the request is an errand, and the messages between Ready and Bye are others:
//!
//! ```text
//! S → C  Piece     a piece of a line of JSON, again and again
//! C → S  Stop      after Ctrl-C
//! ```

use super::figures::{FlowTotal, Host, Interval};
use super::hello::{Hello, Welcome};
use super::pieces::Piece;
use crate::load::shape::Shape;
use crate::schema::Transport;
use serde::{Deserialize, Serialize};

/// A control message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "message", rename_all = "snake_case")]
pub(crate) enum Message {
    /// Client: the first message.
    Hello(Hello),
    /// Server: the answer to it.
    Welcome(Box<Welcome>),
    /// Client: this is the test that I want.
    Setup(Setup),
    /// Server: connect the flows and let each send this token.
    Ready(Ready),
    /// Server: wait, until this is 1 and a test ends.
    Queued {
        /// The first one has position 1.
        position: u32,
    },
    /// Server: not with me.
    Refused(Refused),
    /// Server: the connection of this flow is known.
    Joined {
        /// The flow.
        flow: u32,
    },
    /// Client: all are joined, begin.
    Start,
    /// Server: what an interval brought for one flow.
    Interval(Box<Interval>),
    /// Server: a piece of a line about the test that it runs to another server.
    Piece(Piece),
    /// Client: end now. Sent if the server sends the data, or runs the test.
    Stop,
    /// Server: it shuts down, so this test ends now. Its totals follow.
    Ending,
    /// The sending end: nothing more will be sent.
    Sent {
        /// The packets of each flow, so that the receiver knows of losses at the end.
        #[serde(default)]
        packets: Vec<u64>,
    },
    /// Server: what a flow brought in total.
    Total(Box<FlowTotal>),
    /// Server: about its host; the last message of a test.
    Host(Box<Host>),
    /// Client: everything has arrived, good bye.
    Bye,
}

/// A request with its proof.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// The JSON text of a [`Request`]. The proof covers exactly this text. It is empty in the requests of programs
    /// older than version 2.
    #[serde(default)]
    pub(crate) body: String,
    /// A [`Proof`](super::auth::Proof), if the server has a key.
    pub(crate) proof: Option<String>,
    /// Whether the client waits in a queue if no seat is free.
    #[serde(default)]
    pub(crate) is_patient: bool,
}

/// A granted test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Ready {
    /// Names the test.
    pub(crate) token: u64,
    /// The JSON text of the [`Request`] as the server grants it. The proof covers exactly this text.
    pub(crate) granted: String,
    /// A [`Proof`](super::auth::Proof), if the server has a key.
    pub(crate) proof: Option<String>,
}

/// A refusal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) code: RefusalCode,
    /// Why: a sentence without a full stop.
    pub(crate) reason: String,
    /// A hint what to do.
    pub(crate) next: String,
}

impl Refused {
    pub(crate) fn new(
        code: RefusalCode,
        reason: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        let (reason, next) = (reason.into(), next.into());
        Self { code, reason, next }
    }
}

/// The kind of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefusalCode {
    /// No place is free.
    Busy,
    /// The key is missing or wrong.
    Key,
    /// No common version of the protocol.
    Version,
    /// The test is beyond a limit, or no valid request.
    Limit,
    /// The server ends.
    Stopping,
    /// The server measures to no such host. Only requests for third-party tests are refused so.
    Destination,
}

/// The traffic of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// One end sends numbered datagrams.
    #[default]
    Stream,
    /// The client asks, the server responds.
    Rr,
    /// The client sends datagrams of two classes.
    Media,
}

/// A test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Request {
    #[serde(default)]
    pub(crate) mode: Mode,
    /// The carrier of the data.
    #[serde(default)]
    pub(crate) transport: Transport,
    pub(crate) flows: u32,
    pub(crate) duration_ns: u64,
    pub(crate) interval_ns: u64,
    /// Whether the server sends.
    pub(crate) is_reverse: bool,
    /// Whether both ends send: the client in the first half of the flows, the server in the second.
    #[serde(default)]
    pub(crate) is_both: bool,
    /// Whether a flow of the client and one of the server share each connection, if both ends send.
    #[serde(default)]
    pub(crate) is_one_connection: bool,
    /// Bytes of a datagram.
    pub(crate) length_bytes: usize,
    /// Bits per second and flow, on average.
    pub(crate) rate_bps: Option<u64>,
    #[serde(default)]
    pub(crate) shape: Shape,
    /// Of random shapes. Each flow adds its number.
    #[serde(default)]
    pub(crate) seed: u64,
    /// The congestion control of TCP; `None`: the usual one.
    #[serde(default)]
    pub(crate) congestion: Option<String>,
    /// Bytes of the kernel's buffers of the data sockets; `None`: the usual ones.
    #[serde(default)]
    pub(crate) socket_buffer_bytes: Option<u64>,
    /// The receiver lists this many runs of lost packets, the first ones.
    #[serde(default)]
    pub(crate) lost_runs: u32,
    /// Whether some packets ask their receiver for an echo.
    #[serde(default)]
    pub(crate) has_echoes: bool,
    /// Whether the senders follow the advice of CCID 248.
    #[serde(default)]
    pub(crate) obeys: bool,
}

impl Request {
    /// Whether the client sends in this flow.
    pub(crate) fn client_sends(&self, flow: u32) -> bool {
        client_sends(self.is_reverse, self.is_both, self.flows, flow)
    }

    /// The data connections of the test.
    pub(crate) fn connections(&self) -> u32 {
        connections(self.is_one_connection, self.flows)
    }
}

/// The data connections of a test with this number of flows.
pub(crate) fn connections(is_one_connection: bool, flows: u32) -> u32 {
    if is_one_connection { flows / 2 } else { flows }
}

/// The connection that carries `flow`. Both count from 0. A shared connection has a flow of the client, and one of the
/// server in the second half of the flows.
pub(crate) fn connection_of(is_one_connection: bool, flows: u32, flow: u32) -> u32 {
    flow % connections(is_one_connection, flows).max(1)
}

/// Whether the client sends in `flow` of `flows`.
pub(crate) fn client_sends(is_reverse: bool, is_both: bool, flows: u32, flow: u32) -> bool {
    if is_both {
        flow < flows / 2
    } else {
        !is_reverse
    }
}
