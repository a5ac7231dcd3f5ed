//! Settings of a socket that its buffers and calls need.

use crate::limits::RECV_BYTES_CONNECTION;
use crate::patience::{Patience, Side};
use core::time::Duration;
use dccp_proto::queue::WhenFull;

/// Limits of a socket's buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Buffers {
    /// Datagrams that wait to be sent.
    pub(crate) send_packets: usize,
    /// Their bytes.
    pub(crate) send_bytes: u64,
    /// Their greatest age.
    pub(crate) lifetime: Option<Duration>,
    /// Datagrams that wait for the application.
    pub(crate) recv_packets: usize,
    /// Their bytes.
    pub(crate) recv_bytes: u64,
    /// Fates that wait for the application; 0: they are only counted.
    pub(crate) fates: usize,
}

impl Default for Buffers {
    fn default() -> Self {
        Self {
            send_packets: 256,
            send_bytes: u64::MAX,
            lifetime: None,
            recv_packets: 1024,
            recv_bytes: RECV_BYTES_CONNECTION,
            fates: 0,
        }
    }
}

/// A rate to test, and the datagrams that fill up to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) bits_per_s: u64,
    pub(crate) filler: Vec<u8>,
}

/// How calls wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Waiting {
    /// Not at all.
    pub(crate) is_nonblocking: bool,
    /// How long `send` waits for room; `None`: until there is.
    pub(crate) send_timeout: Option<Duration>,
    /// How long `recv` and `accept` wait; `None`: until there is something.
    pub(crate) recv_timeout: Option<Duration>,
    /// The policy for a full send buffer, for datagrams without a policy of their own.
    pub(crate) when_full: WhenFull,
}

impl Waiting {
    /// How long a call on this side waits.
    pub(crate) fn patience(self, side: Side) -> Patience {
        if self.is_nonblocking {
            return Patience::None;
        }
        Patience::of(match side {
            Side::Recv => self.recv_timeout,
            Side::Send => self.send_timeout,
        })
    }
}
