//! The DCCP connection of one flow, and the waits between attempts to open it.

use crate::limits::{RETRY_FIRST, RETRY_MAX};
use core::time::Duration;
use dccp::safeudp::SendCode;
use dccp::{ConnectError, DccpAddr, Instant, Options, ReadyFd, Socket};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;
use std::os::fd::AsRawFd as _;

/// A connection with the descriptor that the bridge watches.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) socket: Socket,
    ready: ReadyFd,
    /// The time of the end of the handshake; `None` before.
    pub(crate) opened: Option<Instant>,
}

impl Link {
    /// Watches a connection.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(crate) fn new(socket: Socket, registry: &Registry, token: Token) -> io::Result<Self> {
        let ready = socket.ready_fd()?;
        registry.register(&mut SourceFd(&ready.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self {
            socket,
            ready,
            opened: None,
        })
    }

    /// Begins a connection to a peer.
    ///
    /// # Errors
    /// The system has no socket left, or no route.
    pub(crate) fn connect(
        peer: DccpAddr,
        options: &Options,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, ConnectError> {
        let socket = Socket::connect(peer, options)?;
        Ok(Self::new(socket, registry, token)?)
    }

    /// Whether CCID 248 limits the connection only because it has just begun. In EVAL there is no cap, but the start-up can go on.
    pub(crate) fn is_starting(&self, code: Option<SendCode>) -> bool {
        let is_limited = matches!(
            code,
            Some(SendCode::Limited { .. } | SendCode::Dropped { .. })
        );
        let snapshot = || self.socket.snapshot();
        let is_start = |phase| matches!(phase, Some("start_up" | "eval"));
        is_limited && snapshot().is_ok_and(|s| is_start(s.tx.phase))
    }

    /// Closes the connection in the background: datagrams that wait still leave.
    pub(crate) fn close(self, registry: &Registry) {
        // The descriptor has a duplicate in the socket, so its end alone would not remove it.
        let _ = registry.deregister(&mut SourceFd(&self.ready.as_raw_fd()));
    }
}

/// When the next attempt may begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Backoff {
    wait: Duration,
    not_before: Instant,
}

impl Backoff {
    /// The first attempt may begin at once.
    pub(crate) fn new() -> Self {
        Self {
            wait: RETRY_FIRST,
            not_before: Instant::ZERO,
        }
    }

    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.not_before
    }

    /// A connection ended, or an attempt failed. Returns the wait before the next attempt: none after a connection that
    /// lasted.
    pub(crate) fn after(&mut self, now: Instant, lasted: Option<Duration>) -> Duration {
        if lasted.is_some_and(|lasted| lasted >= RETRY_FIRST) {
            *self = Self::new();
            return Duration::ZERO;
        }
        let wait = self.wait;
        self.not_before = now + wait;
        self.wait = (2 * wait).min(RETRY_MAX);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_start_again_after_a_connection() {
        let now = Instant::from_nanos(7);
        let mut backoff = Backoff::new();
        assert!(backoff.is_over(now));
        let waits: Vec<_> = (0..7)
            .map(|_| backoff.after(now, None).as_millis())
            .collect();
        assert_eq!(waits, [250, 500, 1000, 2000, 4000, 5000, 5000]);
        assert!(!backoff.is_over(now + Duration::from_millis(4999)));
        assert!(backoff.is_over(now + Duration::from_secs(5)));
        // A peer that ends each connection at once is no reason to be faster.
        assert_eq!(backoff.after(now, Some(Duration::ZERO)), RETRY_MAX);
        assert_eq!(
            backoff.after(now, Some(Duration::from_secs(1))),
            Duration::ZERO
        );
        assert!(backoff.is_over(now));
    }
}
