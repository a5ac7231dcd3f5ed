//! A listener that an application of another process has.

use crate::channel::Channel;
use crate::lent::{FULL, Lent, RingFds, Room, make_ring};
use crate::message::Tell;
use crate::request::RingListenRequest;
use dccp::DccpAddr;
use dccp::Listener;
use dccp::Options;
use dccp::ReadyFd;
use dccp_ring::Shape;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Datagrams that a connection keeps at most before it is accepted; later ones are dropped and reported to the peer.
/// From then on the ring has them.
const UNACCEPTED: usize = 64;

/// Connections wait in its backlog, without a ring, until the application asks for them one by one.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: Listener,
    local: DccpAddr,
    /// Readable while a connection waits.
    arrivals: ReadyFd,
    shape: Shape,
    connections: usize,
    /// The application has asked for a connection, and has no answer yet.
    is_asked: bool,
}

/// A connection for the application, and what it gets of it.
pub(crate) struct Accepted {
    pub(crate) lent: Lent,
    /// The server's end of its channel.
    pub(crate) channel: Channel,
    their_channel: OwnedFd,
    ring: RingFds,
}

impl Listening {
    /// Begins to listen, or says in words why not.
    pub(crate) fn begin(request: &RingListenRequest, options: Options) -> Result<Self, String> {
        request.shape.bytes().map_err(|error| error.to_string())?;
        let options = options.recv_buffer(UNACCEPTED.min(request.shape.arrivals as usize));
        let listener = Listener::bind(request.local, &options);
        let listener = listener.map_err(|error| error.to_string())?;
        Ok(Self {
            local: *listener
                .local_addrs()
                .first()
                .ok_or("there is no address")?,
            arrivals: listener.ready_fd().map_err(|error| error.to_string())?,
            listener,
            shape: request.shape,
            connections: request.connections as usize,
            is_asked: false,
        })
    }

    /// Where it listens.
    pub(crate) fn local_addr(&self) -> DccpAddr {
        self.local
    }

    /// Takes the question for a connection; `false`: the one before has no answer yet.
    pub(crate) fn ask(&mut self) -> bool {
        !core::mem::replace(&mut self.is_asked, true)
    }

    /// The descriptor to watch: connections only while the application wants one.
    pub(crate) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.is_asked.then(|| self.arrivals.as_fd())
    }

    /// The next connection if the application wants one and one waits. Or in words why it does not get it: then the
    /// connection still waits. `held`: how many the application has.
    pub(crate) fn accept(&mut self, room: Room, held: usize) -> Option<Result<Accepted, String>> {
        if !self.is_asked || !self.listener.is_ready() {
            return None;
        }
        self.is_asked = false;
        Some(self.take(room, held))
    }

    fn take(&self, room: Room, held: usize) -> Result<Accepted, String> {
        if held >= self.connections {
            return Err(format!("{held} connections at a time were asked for"));
        }
        if room.seats == 0 {
            return Err(FULL.into());
        }
        room.check(self.shape)?;
        // The connection comes last: what fails before leaves it where it is.
        let (ring, fds) = make_ring(self.shape)?;
        let (channel, their_channel) = Channel::pair().map_err(|error| error.to_string())?;
        let socket = self.listener.accept().map_err(|error| error.to_string())?;
        Ok(Accepted {
            lent: ring.lend(socket).map_err(|error| error.to_string())?,
            channel,
            their_channel,
            ring: fds,
        })
    }
}

impl Accepted {
    /// The message to the application.
    pub(crate) fn told(&self) -> Tell {
        let socket = &self.lent.socket;
        let mps = socket.max_packet_size();
        Tell::Accepted {
            peer: socket.peer_addr(),
            service: socket.service_code(),
            mps: mps.and_then(|mps| u32::try_from(mps).ok()),
        }
    }

    /// And what comes with it.
    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 3] {
        let [memory, bell] = self.ring.as_fds();
        [memory, bell, self.their_channel.as_fd()]
    }
}
