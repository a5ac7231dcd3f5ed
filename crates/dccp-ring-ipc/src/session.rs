//! The server's session with one application of another process.

use crate::caller::RingCaller;
use crate::channel::{Channel, Incoming, SHORT};
use crate::inventory::Inventory;
use crate::lent::{Lent, Room, make_ring};
use crate::listening::{Accepted, Listening};
use crate::message::{self, ClientMessage, MESSAGE_MAX, ServerMessage};
use crate::request::{Policy, RingListenRequest, RingRequest};
use crate::watch::Watched;
use core::time::Duration;
use dccp::Options;
use dccp::Socket;
use dccp::clock;
use dccp::unstable::permit_unused_law;
use dccp_io::is_out_of_memory;
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Event, Instant};
use rustix::event::PollFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The longest time from connecting to the request of an application.
const ASKING: Duration = Duration::from_secs(5);
/// The time between two looks whether an application has read the rest of a ring whose connection has ended, and the longest
/// time to end a connection after its application has ended.
const LINGER: Duration = Duration::from_secs(10);
/// The time between two looks whether an application has taken the ring of an ended connection.
const UNREAD: Duration = Duration::from_secs(1);
/// The most messages that a session reads in one turn.
const MESSAGES_MAX: usize = 16;

/// An application, or the connection that remains after it.
#[derive(Debug)]
pub(crate) struct Session {
    /// `None` after the application has ended.
    channel: Option<Channel>,
    caller: RingCaller,
    resource: Resource,
    /// The connections that the policy has permitted, and 1 for a listener. Held by all sessions of one permission: a listener's, and its
    /// connections'.
    permit: Option<Arc<u32>>,
    has_closed: bool,
    has_aborted: bool,
    /// The last message, while the application does not read.
    unsent_reply: Option<Vec<u8>>,
    /// That message waits for memory of the system, not for the application.
    is_short: bool,
    /// The deadline of the session.
    until: Option<Instant>,
    /// The time of the next check whether the connection has ended, while the application does not read.
    recheck_at: Option<Instant>,
    /// The descriptors that the server watches for this session.
    pub(crate) watched: Watched,
}

/// The resource that an application holds.
#[derive(Debug)]
enum Resource {
    Nothing,
    /// The connection or listener has ended, and the application has not taken a ring. The descriptors on their way count as
    /// long as it does not read.
    UnreadRing,
    Connection(Lent),
    Listener(Box<Listening>),
}

/// The server's resources that a session can take during its turn.
pub(crate) struct Stock<'a> {
    policy: &'a mut Policy,
    inventory: &'a Inventory,
    pub(crate) room: Room,
    /// New sessions of accepted connections.
    pub(crate) new_sessions: Vec<Session>,
}

impl<'a> Stock<'a> {
    pub(crate) fn new(policy: &'a mut Policy, inventory: &'a Inventory, room: Room) -> Self {
        Self {
            policy,
            inventory,
            room,
            new_sessions: Vec::new(),
        }
    }

    /// Adds a session that has a ring.
    fn add(&mut self, session: Session) {
        self.room.memory = self.room.memory.saturating_sub(session.memory());
        self.room.seats = self.room.seats.saturating_sub(1);
        self.new_sessions.push(session);
    }
}

impl Session {
    /// Begins the session of an application that has connected.
    pub(crate) fn new(channel: Channel) -> io::Result<Self> {
        let until = Some(clock::now() + ASKING);
        Ok(Self::with(
            channel.caller()?,
            channel,
            Resource::Nothing,
            until,
        ))
    }

    fn with(
        caller: RingCaller,
        channel: Channel,
        resource: Resource,
        until: Option<Instant>,
    ) -> Self {
        Self {
            channel: Some(channel),
            caller,
            resource,
            permit: None,
            has_closed: false,
            has_aborted: false,
            unsent_reply: None,
            is_short: false,
            until,
            recheck_at: None,
            watched: Watched::default(),
        }
    }

    /// Refuses an application.
    fn turn_away(channel: &Channel, why: &str) {
        // An application that does not read finds the channel closed.
        let _ = channel.send(&ServerMessage::Refused(why.into()).build(), &[]);
    }

    /// Returns the descriptors that the session holds, and what to watch each for: the channel, and the events of the
    /// connection or the arrivals of the listener. While the application does not read, the channel is also watched for room
    /// to send.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let news = match &self.resource {
            Resource::Nothing | Resource::UnreadRing => None,
            Resource::Connection(lent) => {
                let is_wanted = !lent.has_ended && self.unsent_reply.is_none();
                Some((lent.events.as_fd(), is_wanted))
            }
            Resource::Listener(listening) => Some((listening.arrivals(), listening.is_asked())),
        };
        let news = news.map(|(fd, is_wanted)| {
            let flags = if is_wanted {
                PollFlags::IN
            } else {
                PollFlags::empty()
            };
            (fd, flags)
        });
        let flags = match self.unsent_reply {
            _ if matches!(self.resource, Resource::UnreadRing) => PollFlags::empty(),
            None => PollFlags::IN,
            // The channel has room, so that watching it would not wait.
            Some(_) if self.is_short => PollFlags::IN,
            Some(_) => PollFlags::IN | PollFlags::OUT,
        };
        let channel = self.channel.as_ref();
        let channel = channel.map(|channel| (channel.as_fd(), flags));
        channel.into_iter().chain(news)
    }

    /// Returns when the session needs a turn although no descriptor is ready.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.until.into_iter().chain(self.recheck_at).min()
    }

    /// Returns the bytes of the session's ring.
    pub(crate) fn memory(&self) -> u64 {
        self.lent().map_or(0, |lent| lent.memory)
    }

    /// Returns the seats that the session takes: none before its request.
    pub(crate) fn seats(&self) -> usize {
        match self.resource {
            Resource::Nothing => 0,
            Resource::UnreadRing | Resource::Connection(_) | Resource::Listener(_) => 1,
        }
    }

    /// Returns the user of the application.
    pub(crate) fn uid(&self) -> u32 {
        self.caller.uid
    }

    /// Ends the session of an application that has requested nothing.
    pub(crate) fn dismiss(self, why: &str) {
        if let Some(channel) = &self.channel {
            Self::turn_away(channel, why);
        }
    }

    fn lent(&self) -> Option<&Lent> {
        match &self.resource {
            Resource::Connection(lent) => Some(lent),
            _ => None,
        }
    }

    /// Handles messages, arrivals, events and the deadline. Returns false when the session is over.
    pub(crate) fn turn(&mut self, stock: &mut Stock<'_>) -> bool {
        let is_over = self.until.is_some_and(|until| until <= clock::now()) && !self.keep_rest();
        let stays = if matches!(self.resource, Resource::UnreadRing) {
            false
        } else if is_over {
            self.expire()
        } else {
            self.read_messages(stock) && self.deliver_accepted(stock) && self.send_events()
        };
        if !stays {
            self.report_end(stock.policy);
        }
        stays
    }

    /// Keeps a ring whose connection has ended for longer, if the application has not read all that arrived: it may be slow,
    /// and the ring counts as its own all the time.
    fn keep_rest(&mut self) -> bool {
        let Some(lent) = self.lent().filter(|_| self.channel.is_some()) else {
            return false;
        };
        let received = lent.socket.stats().map(|stats| stats.received);
        let has_rest = lent.socket.close_reason().is_some()
            && received.is_ok_and(|counts| counts.taken < counts.delivered);
        if has_rest {
            self.until = Some(clock::now() + LINGER);
        }
        has_rest
    }

    /// Takes back the resource of a session that is over, whose descriptors are watched no more. Returns true if the session
    /// waits until the application has read what it was sent.
    pub(crate) fn outlasts_its_end(&mut self, policy: &mut Policy) -> bool {
        if !self.has_unread_ring() {
            self.release_permit(policy);
            return false;
        }
        self.resource = Resource::UnreadRing;
        self.watched = Watched::default();
        self.until = None;
        self.recheck_at = Some(clock::now() + UNREAD);
        true
    }

    /// Whether the application keeps the descriptors of a ring in the channel. A closed channel has none.
    fn has_unread_ring(&self) -> bool {
        let is_unread = |channel: &Channel| !channel.is_read();
        self.seats() > 0 && self.channel.as_ref().is_some_and(is_unread)
    }

    /// Takes back the resource, because the server ends.
    pub(crate) fn end(mut self, policy: &mut Policy) {
        self.report_end(policy);
        self.resource = Resource::Nothing;
        self.release_permit(policy);
    }

    /// Tells the policy what has ended.
    fn report_end(&mut self, policy: &mut Policy) {
        match &self.resource {
            Resource::Nothing | Resource::UnreadRing => {}
            Resource::Connection(lent) => {
                if let Some(connection) = lent.entry.connection() {
                    policy.connection_ended(&connection);
                }
            }
            Resource::Listener(listening) => {
                if let Some(listener) = listening.entry.listener() {
                    policy.listener_ended(&listener);
                }
            }
        }
    }

    fn release_permit(&mut self, policy: &mut Policy) {
        if let Some(connections) = self.permit.take().and_then(Arc::into_inner) {
            policy.released(&self.caller, connections);
        }
    }

    /// Aborts the connection and ends the session.
    fn expire(&mut self) -> bool {
        if let Some(lent) = self.lent() {
            lent.socket.abort();
        }
        false
    }

    /// Reads messages of the application. Returns false when the session is over.
    fn read_messages(&mut self, stock: &mut Stock<'_>) -> bool {
        for _ in 0..MESSAGES_MAX {
            let received = self
                .channel
                .as_ref()
                .map_or(Incoming::Nothing, Channel::recv);
            let message = match received {
                Incoming::Nothing => return true,
                Incoming::End => return self.on_hangup(),
                Incoming::Message(bytes, _) if bytes.len() > MESSAGE_MAX => None,
                Incoming::Message(bytes, _) => ClientMessage::parse(&bytes),
            };
            let is_obeyed = match (message, &mut self.resource) {
                (Some(ClientMessage::Lend(request)), Resource::Nothing) => {
                    self.lend(stock, &request)
                }
                (Some(ClientMessage::Listen(request)), Resource::Nothing) => {
                    self.lend_listener(stock, &request)
                }
                // Each is accepted once, so that the engine's commands stay few.
                (Some(ClientMessage::Close), Resource::Connection(lent)) if !self.has_closed => {
                    lent.socket.shutdown(std::net::Shutdown::Write);
                    self.has_closed = true;
                    true
                }
                (Some(ClientMessage::Abort), Resource::Connection(lent)) if !self.has_aborted => {
                    lent.socket.abort();
                    self.has_aborted = true;
                    true
                }
                // An application that does not read the answers gets no more, because each holds descriptors until it is read.
                (Some(ClientMessage::Accept), Resource::Listener(listening)) => {
                    self.channel.as_ref().is_some_and(Channel::is_read) && listening.request()
                }
                // The message is invalid here.
                _ => return self.expire(),
            };
            if !is_obeyed {
                return false;
            }
        }
        true
    }

    /// Closes the connection or the listener of an application that has ended.
    fn on_hangup(&mut self) -> bool {
        self.channel = None;
        self.until = Some(clock::now() + LINGER);
        let Some(lent) = self.lent() else {
            return false;
        };
        lent.socket.shutdown(std::net::Shutdown::Write);
        !lent.has_ended
    }

    fn lend(&mut self, stock: &mut Stock<'_>, request: &RingRequest) -> bool {
        let lent = self.open(stock, request);
        self.grant_or_refuse(lent.map(Resource::Connection))
    }

    fn lend_listener(&mut self, stock: &mut Stock<'_>, request: &RingListenRequest) -> bool {
        let listening = self.open_listener(stock, request);
        self.grant_or_refuse(listening.map(Box::new).map(Resource::Listener))
    }

    /// Stores the resource, or sends the reason for the refusal. Returns false when the session is over.
    fn grant_or_refuse(&mut self, given: Result<Resource, String>) -> bool {
        match given {
            Ok(resource) => {
                self.resource = resource;
                self.until = None;
                true
            }
            Err(why) => {
                if let Some(channel) = &self.channel {
                    Self::turn_away(channel, &why);
                }
                false
            }
        }
    }

    /// Opens a connection with a ring before it, and sends the ring to the application.
    fn open(&mut self, stock: &mut Stock<'_>, request: &RingRequest) -> Result<Lent, String> {
        stock.room.check_seat()?;
        stock.room.check(request.shape)?;
        let options = stock.policy.allow(&self.caller, request)?;
        self.permit = Some(Arc::new(1));
        let options =
            settle(options, request.ccid, &[request.service]).encapsulation(request.encapsulation);
        let options = stock.policy.with_law(options, request.law.as_deref())?;
        let options = options.recv_buffer(request.shape.arrivals as usize);
        let (ring, fds) = make_ring(request.shape)?;
        let socket = Socket::connect(request.remote, &options);
        let socket = socket.map_err(|error| error.to_string())?;
        let lent = ring.lend(socket, self.caller, stock.inventory);
        let lent = lent.map_err(|error| error.to_string())?;
        let message = ServerMessage::Lent(lent.socket.local_addr());
        self.send(&message, &fds.as_fds()).map(|()| lent)
    }

    /// Opens a listener, and sends its address to the application.
    fn open_listener(
        &mut self,
        stock: &mut Stock<'_>,
        request: &RingListenRequest,
    ) -> Result<Listening, String> {
        stock.room.check_seat()?;
        let options = stock.policy.allow_listening(&self.caller, request)?;
        self.permit = Some(Arc::new(request.connections.saturating_add(1)));
        let options =
            settle(options, request.ccid, &request.services).encapsulation(request.encapsulation);
        let options = stock.policy.with_law(options, request.law.as_deref())?;
        let local = stock.policy.local_addr(request);
        let listening = Listening::begin(self.caller, local, request, options, stock.inventory)?;
        let sent = ServerMessage::Listening(listening.local_addr());
        self.send(&sent, &[]).map(|()| listening)
    }

    fn send(&self, message: &ServerMessage, fds: &[BorrowedFd<'_>]) -> Result<(), String> {
        let channel = self.channel.as_ref().ok_or("the application has ended")?;
        let sent = channel.send(&message.build(), fds);
        sent.map_err(|error| error.to_string())
    }

    /// Gives the application a connection if it asked for one and one waits. Returns false when the session is over.
    fn deliver_accepted(&mut self, stock: &mut Stock<'_>) -> bool {
        let (Resource::Listener(listening), Some(permit)) = (&mut self.resource, &self.permit)
        else {
            return true;
        };
        if !listening.is_due() {
            return true;
        }
        let (caller, local) = (&self.caller, listening.requested());
        if let (Err(why), Some(channel)) =
            (stock.policy.allow_accepting(caller, local), &self.channel)
        {
            // An application that does not read finds the channel closed.
            let _ = channel.send(&ServerMessage::Revoked(why).build(), &[]);
            return false;
        }
        // The listener's session holds one of them.
        let held = Arc::strong_count(permit) - 1;
        let accepted = listening.accept(stock.room, held);
        let handed = accepted.and_then(|accepted| self.hand_over(stock, accepted));
        // If the reason cannot be sent, the application has ended.
        handed
            .or_else(|why| self.send(&ServerMessage::Refused(why), &[]))
            .is_ok()
    }

    /// Sends a connection to the application, and begins a session for it. On failure, for example when the system has
    /// too many descriptors in flight, aborts the connection and returns the reason.
    fn hand_over(&self, stock: &mut Stock<'_>, accepted: Accepted) -> Result<(), String> {
        let sent = self.send(&accepted.message(), &accepted.fds());
        let Accepted { lent, channel, .. } = accepted;
        if sent.is_ok() {
            let resource = Resource::Connection(lent);
            stock.add(Self {
                permit: self.permit.clone(),
                ..Self::with(self.caller, channel, resource, None)
            });
        } else {
            lent.socket.abort();
            if let Some(connection) = lent.entry.connection() {
                stock.policy.connection_ended(&connection);
            }
        }
        sent
    }

    /// Sends events of the connection, as fast as the application reads. Returns false when the session is over.
    fn send_events(&mut self) -> bool {
        self.recheck_at = None;
        self.is_short = false;
        while let Some(message) = self.unsent_reply.take().or_else(|| self.next_event()) {
            let sent = self.channel.as_ref().map(|c| c.send(&message, &[]));
            match sent {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.unsent_reply = Some(message);
                    self.linger_if_ended();
                    return true;
                }
                Some(Err(error)) if is_out_of_memory(&error) => {
                    self.unsent_reply = Some(message);
                    self.is_short = true;
                    self.recheck_at = Some(clock::now() + SHORT);
                    return true;
                }
                // An application that has ended or cannot be reached finds the channel closed.
                Some(Err(_)) | None if self.has_ended() => return false,
                _ => {}
            }
        }
        true
    }

    /// Sets the deadline after which the ring is taken back if the connection has ended. Needed because events are not
    /// watched while the application does not read.
    fn linger_if_ended(&mut self) {
        if self.until.is_some() {
            return;
        }
        let then = Some(clock::now() + LINGER);
        let socket = self.lent().map(|lent| &lent.socket);
        if socket.is_some_and(|socket| socket.close_reason().is_some()) {
            self.until = then;
        } else {
            self.recheck_at = then;
        }
    }

    /// Returns the next event as a message.
    fn next_event(&mut self) -> Option<Vec<u8>> {
        let Resource::Connection(lent) = &mut self.resource else {
            return None;
        };
        let mut events = core::iter::from_fn(|| lent.socket.poll_event());
        let event = events.find(message::has_form)?;
        if matches!(event, Event::Closed(_)) {
            lent.has_ended = true;
            self.until = Some(clock::now() + LINGER);
        }
        let mps = lent.socket.max_packet_size();
        let mps = mps.and_then(|mps| u32::try_from(mps).ok());
        Some(ServerMessage::Event(event, mps).build())
    }

    /// Returns true if the connection has ended.
    fn has_ended(&self) -> bool {
        self.lent().is_some_and(|lent| lent.has_ended)
    }
}

/// Adds the Service Codes and the CCID of the request to the policy's options.
fn settle(allowed: Options, ccid: Option<u8>, services: &[ServiceCode]) -> Options {
    let options = allowed.nonblocking(true).service_codes(services);
    match ccid {
        // The policy's law is for the CCIDs that have one.
        Some(ccid) => permit_unused_law(options.ccid(ccid)),
        None => options,
    }
}

#[cfg(test)]
mod tests;
