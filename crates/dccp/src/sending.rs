//! What is said of a datagram that is sent.

use crate::error::SendError;
use crate::send_buffer::DatagramId;
use dccp_proto::Instant;
use dccp_proto::queue::{Label, WhenFull};
use dccp_proto::wire::Payload;

/// What is said of a datagram; by default nothing. It counts as long as the datagram waits in the send buffer.
///
/// ```
/// use core::time::Duration;
/// use dccp::{SendOptions, WhenFull, clock};
/// let key_frame = SendOptions::new().priority(7);
/// let frame = SendOptions::new().deadline(clock::now() + Duration::from_millis(40));
/// let reading = SendOptions::new().key(3).when_full(WhenFull::DropOldest);
/// # let _ = (key_frame, frame, reading);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct SendOptions {
    pub(crate) label: Label,
    pub(crate) when_full: Option<WhenFull>,
}

impl SendOptions {
    /// Nothing: priority 0, no deadline, no key, and the socket's policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// Overtakes what has a lower priority. Of the same priority what was sent first leaves first.
    pub fn priority(mut self, priority: u8) -> Self {
        self.label.priority = priority;
        self
    }

    /// After this moment of [`clock::now`](crate::clock::now) it does not leave: its fate is
    /// [`Expired`](dccp_proto::queue::Fate::Expired), told when it would have left. Until then it needs its room in
    /// the send buffer. The engine reads the clock once a turn, when it begins: what it claims may be late by that turn.
    pub fn deadline(mut self, at: Instant) -> Self {
        self.label.deadline = Some(at);
        self
    }

    /// Takes the place of the datagram with the same key that waits, whose fate is
    /// [`Superseded`](dccp_proto::queue::Fate::Superseded); if their priorities differ, it waits behind those of its
    /// own. It needs no other room.
    pub fn key(mut self, key: u64) -> Self {
        self.label.key = Some(key);
        self
    }

    /// What happens when the send buffer is full; otherwise what
    /// [`Options::when_full`](crate::Options::when_full) says.
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = Some(policy);
        self
    }
}

/// A datagram for [`Socket::send_batch`](crate::Socket::send_batch), and what became of the attempt.
#[derive(Clone, Debug)]
pub struct SendItem<'a> {
    /// The data.
    pub payload: Payload<'a>,
    /// What is said of it.
    pub options: SendOptions,
    /// Its name once it is in the send buffer; before the call, and if the call did not come to it,
    /// [`SendError::WouldBlock`].
    pub result: Result<DatagramId, SendError>,
}

impl<'a> SendItem<'a> {
    /// A datagram to send, of which nothing is said.
    pub fn new(payload: Payload<'a>) -> Self {
        Self::with(payload, SendOptions::new())
    }

    /// A datagram to send.
    pub const fn with(payload: Payload<'a>, options: SendOptions) -> Self {
        Self {
            payload,
            options,
            result: Err(SendError::WouldBlock),
        }
    }
}
