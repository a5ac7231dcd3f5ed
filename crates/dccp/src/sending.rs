//! Options of single datagrams.

use crate::clock;
use crate::error::SendError;
use crate::send_buffer::DatagramId;
use core::time::Duration;
use dccp_proto as proto;
use dccp_proto::queue::{QueueLabel, WhenFull};
use dccp_proto::wire::Payload;
use std::time::Instant;

/// Priority, deadline, key and tag of a datagram or a message. The deadline can depend on the time of sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Terms {
    pub(crate) priority: u8,
    deadline: Option<proto::Instant>,
    pub(crate) lifetime: Option<Duration>,
    pub(crate) key: Option<u64>,
    pub(crate) tag: u64,
}

impl Terms {
    pub(crate) fn set_deadline(&mut self, at: Instant) {
        self.deadline = Some(clock::from_std(at));
    }

    /// Returns the earlier one of the deadline and the end of the lifetime, which begins now. Calls `now` only if a
    /// lifetime is set.
    pub(crate) fn deadline(&self, now: impl FnOnce() -> proto::Instant) -> Option<proto::Instant> {
        let end = self.lifetime.map(|lifetime| now() + lifetime);
        self.deadline.into_iter().chain(end).min()
    }
}

/// Options of one datagram. They count while the datagram is in the send buffer.
///
/// ```
/// use dccp::{SendOptions, WhenFull};
/// use std::time::{Duration, Instant};
///
/// let key_frame = SendOptions::new().priority(7);
/// let frame = SendOptions::new().lifetime(Duration::from_millis(40));
/// let sample = SendOptions::new().deadline(Instant::now() + Duration::from_millis(5));
/// let reading = SendOptions::new().key(3).when_full(WhenFull::DropOldest);
/// # let _ = (key_frame, frame, sample, reading);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct SendOptions {
    pub(crate) terms: Terms,
    pub(crate) when_full: Option<WhenFull>,
}

impl SendOptions {
    /// Priority 0, no deadline, no key, and the socket's policy for a full buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the datagram overtake those of lower priority. Datagrams of one priority leave in the order of sending.
    pub fn priority(mut self, priority: u8) -> Self {
        self.terms.priority = priority;
        self
    }

    /// The latest time to leave. A datagram that is still queued then gets the fate
    /// [`Expired`](crate::Fate::Expired). The engine reads the clock once a turn, so one may leave late by one turn.
    pub fn deadline(mut self, at: Instant) -> Self {
        self.terms.set_deadline(at);
        self
    }

    /// A deadline at this time after the datagram is sent. With a deadline too, the earlier one counts.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.terms.lifetime = Some(lifetime);
        self
    }

    /// Replaces the queued datagram with the same key, which gets the fate [`Superseded`](crate::Fate::Superseded). The new
    /// one takes its place, or the last place of its own priority if that differs. It needs no further room.
    pub fn key(mut self, key: u64) -> Self {
        self.terms.key = Some(key);
        self
    }

    /// A number for the report of the datagram's fate, and for [`Socket::withdraw_if`](crate::Socket::withdraw_if).
    pub fn tag(mut self, tag: u64) -> Self {
        self.terms.tag = tag;
        self
    }

    /// The policy for a full send buffer, instead of that of [`Options::when_full`](crate::Options::when_full).
    pub fn when_full(mut self, policy: WhenFull) -> Self {
        self.when_full = Some(policy);
        self
    }

    /// The queue's label of a datagram that is sent now.
    pub(crate) fn label(&self) -> QueueLabel {
        QueueLabel {
            priority: self.terms.priority,
            deadline: self.terms.deadline(clock::now),
            key: self.terms.key,
        }
    }
}

/// A datagram for [`Socket::send_batch`](crate::Socket::send_batch), and the result.
#[derive(Clone, Debug)]
pub struct SendItem<'a> {
    pub(crate) payload: Payload<'a>,
    /// Priority, deadline, key and policy.
    pub options: SendOptions,
    /// The datagram's name once it is in the send buffer. Before the call, and if the call did not reach it,
    /// [`SendError::WouldBlock`].
    pub result: Result<DatagramId, SendError>,
}

impl<'a> SendItem<'a> {
    /// A datagram with the default options.
    pub fn new(data: &'a [u8]) -> Self {
        Self::with(data, SendOptions::new())
    }

    /// A datagram with options.
    pub const fn with(data: &'a [u8], options: SendOptions) -> Self {
        Self {
            payload: Payload::Bytes(data),
            options,
            result: Err(SendError::WouldBlock),
        }
    }

    /// A datagram of zeros, which are stored nowhere on this side: for benchmarks.
    #[doc(hidden)]
    pub fn zeros(len: usize) -> Self {
        Self {
            payload: Payload::Zeros(len),
            ..Self::new(&[])
        }
    }

    /// The outcome of a batch: how many are in the buffer, or the error of the first.
    pub(crate) fn sum_up(items: &[Self]) -> Result<usize, SendError> {
        let taken = items.iter().filter(|i| i.result.is_ok()).count();
        match items.first() {
            Some(Self { result: Err(e), .. }) if taken == 0 => Err(e.clone()),
            _ => Ok(taken),
        }
    }
}

impl<'a> From<&'a [u8]> for SendItem<'a> {
    fn from(data: &'a [u8]) -> Self {
        Self::new(data)
    }
}
