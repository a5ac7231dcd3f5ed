//! A listener of the server for an application of another process.

use crate::caller::RingCaller;
use crate::channel::Channel;
use crate::inventory::{Entry, Inventory};
use crate::lent::{Lent, RingFds, Room, make_ring};
use crate::message::ServerMessage;
use crate::request::RingListenRequest;
use dccp::DccpAddr;
use dccp::Listener;
use dccp::Options;
use dccp::ReadyFd;
use dccp_ring::Shape;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The most datagrams that a connection stores before it is accepted. Later ones are dropped and reported to the peer.
/// Accepting moves them to the ring.
const UNACCEPTED: usize = 64;

/// A listener whose connections wait in its backlog, without a ring, until the application asks for each.
#[derive(Debug)]
pub(crate) struct Listening {
    listener: Arc<Listener>,
    local: DccpAddr,
    /// The address of the request.
    requested: DccpAddr,
    caller: RingCaller,
    inventory: Inventory,
    /// Its place in the server's list.
    pub(crate) entry: Entry,
    /// A descriptor that is readable while a connection waits.
    arrivals: ReadyFd,
    shape: Shape,
    connections: usize,
    /// The application has asked for a connection, and is not answered yet.
    is_asked: bool,
}

/// An accepted connection, and the descriptors for the application.
pub(crate) struct Accepted {
    pub(crate) lent: Lent,
    /// The server's end of its channel.
    pub(crate) channel: Channel,
    their_channel: OwnedFd,
    ring: RingFds,
}

impl Listening {
    /// Begins to listen.
    ///
    /// # Errors
    /// Returns the reason if it cannot.
    pub(crate) fn begin(
        caller: RingCaller,
        local: DccpAddr,
        request: &RingListenRequest,
        options: Options,
        inventory: &Inventory,
    ) -> Result<Self, String> {
        request.shape.bytes().map_err(|error| error.to_string())?;
        let options = options.recv_buffer(UNACCEPTED.min(request.shape.arrivals as usize));
        let listener = Listener::bind(local, &options);
        let listener = Arc::new(listener.map_err(|error| error.to_string())?);
        let local = *listener
            .local_addrs()
            .first()
            .ok_or("there is no address")?;
        Ok(Self {
            local,
            requested: request.local,
            caller,
            inventory: inventory.clone(),
            entry: inventory.add_listener(caller, local, request.served(), &listener),
            arrivals: listener.ready_fd().map_err(|error| error.to_string())?,
            listener,
            shape: request.shape,
            connections: request.connections as usize,
            is_asked: false,
        })
    }

    /// Returns the address that the application requested.
    pub(crate) fn requested(&self) -> &DccpAddr {
        &self.requested
    }

    /// Returns the address of the listener.
    pub(crate) fn local_addr(&self) -> DccpAddr {
        self.local
    }

    /// Notes that the application asks for a connection. Returns false if its last request is not answered yet.
    pub(crate) fn request(&mut self) -> bool {
        !core::mem::replace(&mut self.is_asked, true)
    }

    /// Returns the descriptor to watch for arrivals while the application asks for one.
    pub(crate) fn arrivals(&self) -> BorrowedFd<'_> {
        self.arrivals.as_fd()
    }

    /// Whether the application asks for a connection.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether the application asks for a connection and one waits.
    pub(crate) fn is_due(&self) -> bool {
        self.is_asked && self.listener.is_ready()
    }

    /// Returns the next connection, or the reason for a refusal; the connection then still waits. `held`: the number of
    /// connections that the application holds.
    pub(crate) fn accept(&mut self, room: Room, held: usize) -> Result<Accepted, String> {
        self.is_asked = false;
        if held >= self.connections {
            let most = self.connections;
            return Err(format!(
                "this listener has all {most} connections that it requested: close one first"
            ));
        }
        room.check_seat()?;
        room.check(self.shape)?;
        // Accept last, because a connection then stays in the backlog if an earlier step fails.
        let (ring, fds) = make_ring(self.shape)?;
        let (channel, their_channel) = Channel::pair().map_err(|error| error.to_string())?;
        let socket = self.listener.accept().map_err(|error| error.to_string())?;
        let lent = ring.lend(socket, self.caller, &self.inventory);
        Ok(Accepted {
            lent: lent.map_err(|error| error.to_string())?,
            channel,
            their_channel,
            ring: fds,
        })
    }
}

impl Accepted {
    /// Returns the message to the application.
    pub(crate) fn message(&self) -> ServerMessage {
        let socket = &self.lent.socket;
        let mps = socket.max_packet_size();
        ServerMessage::Accepted {
            local: socket.local_addr(),
            peer: socket.peer_addr(),
            service: socket.service_code(),
            mps: mps.and_then(|mps| u32::try_from(mps).ok()),
        }
    }

    /// Returns the descriptors that the message carries.
    pub(crate) fn fds(&self) -> [BorrowedFd<'_>; 3] {
        let [memory, bell] = self.ring.as_fds();
        [memory, bell, self.their_channel.as_fd()]
    }
}
