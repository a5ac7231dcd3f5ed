//! The application's side of a listener that a server of rings has for it.

use crate::channel::{Channel, Heard};
use crate::client::{ANSWER, RingClient, ask, next_message, wait_for};
use crate::error::{RingAcceptError, RingConnectError};
use crate::message::{Ask, Tell};
use crate::request::RingListenRequest;
use crate::wait::Waiting;
use core::time::Duration;
use dccp::{DccpAddr, clock};
use dccp_proto::config::bounds;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Waits for connections that a [`RingServer`](crate::RingServer) in another process takes in, each with a ring before it.
///
/// Connections that were not accepted yet wait in the server, without a ring. Dropping it stops listening: they are aborted,
/// accepted ones live on.
#[derive(Debug)]
pub struct RingListener {
    channel: Channel,
    local: DccpAddr,
    /// The server owes an answer.
    has_asked: bool,
    is_over: bool,
    timeout: Option<Duration>,
}

impl RingListener {
    /// Asks the server at `path` to listen. Its policy must allow that
    /// ([`RingPolicy::allow_listening`](crate::RingPolicy::allow_listening)).
    ///
    /// ```no_run
    /// use dccp::packet_ring::{Label, Shape};
    /// use dccp_ring_ipc::{RingListenRequest, RingListener};
    ///
    /// let request = RingListenRequest::new("0.0.0.0:14233/5001".parse()?, Shape::new(64, 1400));
    /// let mut listener = RingListener::bind("/run/rings", &request)?;
    /// let mut ring = listener.accept()?;
    /// println!("a connection from {}", ring.peer_addr());
    /// ring.sender().push(b"welcome", Label::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no server, or it refuses.
    pub fn bind(
        path: impl AsRef<Path>,
        request: &RingListenRequest,
    ) -> Result<Self, RingConnectError> {
        if request.services.len() > bounds::SERVICE_CODES {
            let why = "a listener serves 32 Service Codes at most";
            return Err(RingConnectError::Refused(why.into()));
        }
        let channel = ask(path.as_ref(), &Ask::Listen(request.clone()))?;
        match next_message(&channel, clock::now() + ANSWER) {
            None => Err(RingConnectError::ServerGone),
            Some((message, _)) => match Tell::parse(&message) {
                Some(Tell::Listening(local)) => Ok(Self {
                    channel,
                    local,
                    has_asked: false,
                    is_over: false,
                    timeout: None,
                }),
                Some(Tell::Refused(why)) => Err(RingConnectError::Refused(why)),
                _ => Err(RingConnectError::Foreign),
            },
        }
    }

    /// The address where the server listens, with the ports that it got.
    pub fn local_addr(&self) -> DccpAddr {
        self.local
    }

    /// The next connection whose handshake is complete.
    ///
    /// # Errors
    /// When there is none in time, the server has no ring for it, or has ended.
    pub fn accept(&mut self) -> Result<RingClient, RingAcceptError> {
        self.take(self.timeout)
    }

    /// The next connection within `at_most`. Later connections wait for the next call.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn accept_timeout(&mut self, at_most: Duration) -> Result<RingClient, RingAcceptError> {
        self.take(Some(at_most))
    }

    /// How long [`accept`](Self::accept) waits; `None`, the default: for ever.
    pub fn set_timeout(&mut self, at_most: Option<Duration>) {
        self.timeout = at_most;
    }

    fn take(&mut self, timeout: Option<Duration>) -> Result<RingClient, RingAcceptError> {
        let mut waiting = Waiting::within(timeout);
        while !self.is_over {
            if !core::mem::replace(&mut self.has_asked, true) {
                // If the server has ended, the receive below finds the channel closed.
                let _ = self.channel.send(&Ask::Accept.build(), &[]);
            }
            match self.channel.recv() {
                Heard::Message(message, fds) => return self.answer(&message, fds),
                Heard::End => self.is_over = true,
                Heard::Nothing => {
                    let left = waiting.left().map_err(|_| RingAcceptError::TimedOut)?;
                    let until = left.map(|time| clock::now() + time);
                    wait_for(&mut [&self.channel], until);
                }
            }
        }
        Err(RingAcceptError::ServerGone)
    }

    /// Reads the server's answer.
    fn answer(
        &mut self,
        message: &[u8],
        fds: io::Result<Vec<OwnedFd>>,
    ) -> Result<RingClient, RingAcceptError> {
        self.has_asked = false;
        match (Tell::parse(message), fds.map(<[_; 3]>::try_from)) {
            (Some(Tell::Accepted { peer, service, mps }), Ok(Ok([memory, bell, channel]))) => {
                let ring = [memory, bell];
                RingClient::new(ring, Channel::of(channel), peer, service, mps)
                    .map_err(RingAcceptError::Ring)
            }
            // This connection is lost, others may come.
            (Some(Tell::Accepted { .. }), Err(error)) => Err(RingAcceptError::Ring(error.into())),
            (Some(Tell::Refused(why)), _) => Err(RingAcceptError::Refused(why)),
            _ => {
                self.is_over = true;
                Err(RingAcceptError::Foreign)
            }
        }
    }
}
