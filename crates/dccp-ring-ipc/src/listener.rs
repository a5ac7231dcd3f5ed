//! The application's side of a listener in a server of rings.

use crate::channel::{Channel, Incoming, SHORT, has_ended};
use crate::client::{ANSWER, Ends, RingClient, first_answer, send_request, wait_for};
use crate::error::{RingAcceptError, RingConnectError};
use crate::message::{ClientMessage, ServerMessage};
use crate::request::RingListenRequest;
use crate::wait::Waiting;
use core::time::Duration;
use dccp::{DccpAddr, ReadyFd, clock};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Accepts connections of a [`RingServer`](crate::RingServer) in another process, each with a ring before it.
///
/// Connections that were not accepted yet wait in the server, without a ring. Dropping the listener aborts them; accepted
/// ones live on.
#[derive(Debug)]
pub struct RingListener {
    channel: Channel,
    local: DccpAddr,
    /// The server owes an answer.
    has_asked: bool,
    /// A descriptor shall become readable without a call of `accept`.
    is_watched: bool,
    is_over: bool,
    /// Why the server has ended the listener.
    revoked: Option<String>,
    timeout: Option<Duration>,
}

impl RingListener {
    /// Requests a listener from the server at `path`. Its policy must allow that
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
        request.check().map_err(RingConnectError::Refused)?;
        let until = clock::now() + ANSWER;
        let channel = send_request(
            path.as_ref(),
            &ClientMessage::Listen(request.clone()),
            ANSWER,
        )?;
        let (message, _) = first_answer(&channel, until)?;
        match ServerMessage::parse(&message) {
            Some(ServerMessage::Listening(local)) => Ok(Self {
                channel,
                local,
                has_asked: false,
                is_watched: false,
                is_over: false,
                revoked: None,
                timeout: None,
            }),
            Some(ServerMessage::Refused(why)) => Err(RingConnectError::Refused(why)),
            _ => Err(RingConnectError::Foreign),
        }
    }

    /// The address where the server listens, with the ports that it got.
    pub fn local_addr(&self) -> DccpAddr {
        self.local
    }

    /// The next connection whose handshake is complete.
    ///
    /// # Errors
    /// When none arrives in time, or the server has no ring for it or has ended.
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

    /// Sets the time for which [`accept`](Self::accept) waits. `None`, the default: without limit.
    pub fn set_timeout(&mut self, at_most: Option<Duration>) {
        self.timeout = at_most;
    }

    /// A descriptor for `poll`, `epoll` and their relatives. It is readable while a connection waits, and from the end of
    /// the server on.
    ///
    /// From now on the server makes the ring of the next connection before [`accept`](Self::accept) is called. When `accept`
    /// fails with [`RingAcceptError::Refused`], the descriptor becomes readable only after another call of `accept`, for
    /// example once a connection has ended.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn ready_fd(&mut self) -> io::Result<ReadyFd> {
        let fd = self.channel.as_fd().try_clone_to_owned()?;
        self.is_watched = true;
        self.request_connection()?;
        Ok(dccp::unstable::ready_fd(fd))
    }

    fn take(&mut self, timeout: Option<Duration>) -> Result<RingClient, RingAcceptError> {
        let mut waiting = Waiting::within(timeout);
        while !self.is_over {
            let is_asked = self.request_connection().is_ok();
            match self.channel.recv() {
                Incoming::Message(message, fds) => return self.answer(&message, fds),
                Incoming::End => self.is_over = true,
                Incoming::Nothing => {
                    let mut left = waiting.left().map_err(|_| RingAcceptError::TimedOut)?;
                    if !is_asked {
                        left = Some(left.map_or(SHORT, |time| time.min(SHORT)));
                    }
                    let until = left.map(|time| clock::now() + time);
                    wait_for(&mut [&self.channel], until);
                }
            }
        }
        let revoked = self.revoked.clone().map(RingAcceptError::Revoked);
        Err(revoked.unwrap_or(RingAcceptError::ServerGone))
    }

    /// Requests the next connection, unless the server owes one already.
    ///
    /// # Errors
    /// When the system has no memory for the message now.
    fn request_connection(&mut self) -> io::Result<()> {
        if self.has_asked {
            return Ok(());
        }
        match self.channel.send(&ClientMessage::Accept.build(), &[]) {
            Err(error) if !has_ended(&error) => Err(error),
            // If the server has ended, the next receive finds the channel closed.
            _ => {
                self.has_asked = true;
                Ok(())
            }
        }
    }

    /// Reads the server's answer.
    fn answer(
        &mut self,
        message: &[u8],
        fds: io::Result<Vec<OwnedFd>>,
    ) -> Result<RingClient, RingAcceptError> {
        self.has_asked = false;
        match (ServerMessage::parse(message), fds.map(<[_; 3]>::try_from)) {
            (
                Some(ServerMessage::Accepted {
                    local,
                    peer,
                    service,
                    mps,
                }),
                Ok(Ok([memory, bell, channel])),
            ) => {
                if self.is_watched {
                    // After a failure the next call of `accept` requests it.
                    let _ = self.request_connection();
                }
                let ring = [memory, bell];
                let ends = Ends {
                    local,
                    peer,
                    service,
                };
                RingClient::new(ring, Channel::of(channel), ends, mps)
                    .map_err(RingAcceptError::Ring)
            }
            // This connection is lost; later ones can be accepted.
            (Some(ServerMessage::Accepted { .. }), Err(error)) => {
                Err(RingAcceptError::Ring(error.into()))
            }
            (Some(ServerMessage::Refused(why)), _) => Err(RingAcceptError::Refused(why)),
            (Some(ServerMessage::Revoked(why)), _) => {
                self.is_over = true;
                self.revoked = Some(why.clone());
                Err(RingAcceptError::Revoked(why))
            }
            _ => {
                self.is_over = true;
                Err(RingAcceptError::Foreign)
            }
        }
    }
}
