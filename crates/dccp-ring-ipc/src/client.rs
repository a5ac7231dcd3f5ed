//! The application's side of a lent ring.

use crate::channel::{Channel, Doorbell, Incoming, SHORT, has_ended};
use crate::error::{RingConnectError, RingError};
use crate::message::{ClientMessage, ServerMessage};
use crate::request::RingRequest;
use crate::wait::{Waiting, timespec};
use core::time::Duration;
use dccp::unstable::delivery;
use dccp::{DccpAddr, Ready, ReadyFd, RecvMeta, RingFate, clock};
use dccp_io::{is_out_of_descriptors, is_out_of_memory};
use dccp_proto::queue::Fate;
use dccp_proto::wire::ServiceCode;
use dccp_proto::{CloseReason, Event, Instant};
use dccp_ring::shared::SharedError;
use dccp_ring::{Receiver, Sender, Violation, shared};
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// A connection that a [`RingServer`](crate::RingServer) in another process runs, and the ring before it.
///
/// Datagrams, changes and fates are reads and writes of memory. A system call wakes the server only if it sleeps, and this
/// process only if it waits. Dropping a client closes the connection when the pushed datagrams have been sent, or after 10 s.
/// A [`RingListener`](crate::RingListener) accepts connections of peers.
#[derive(Debug)]
pub struct RingClient {
    sender: Sender,
    receiver: Receiver,
    channel: Channel,
    bell: Arc<Doorbell>,
    ends: Ends,
    /// The other end of the bell is closed.
    is_bell_cut: bool,
    events: VecDeque<Event>,
    mps: Option<usize>,
    closing: Closing,
    has_aborted: bool,
    /// The reason of the end, once the server has reported it.
    over: Option<RingError>,
    timeout: Option<Duration>,
}

/// The two ends of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) local: DccpAddr,
    pub(crate) peer: DccpAddr,
    pub(crate) service: ServiceCode,
}

/// The request to close the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Closing {
    NotAsked,
    /// The system had no memory for the request, so it is repeated soon.
    Owed,
    Asked,
}

/// Events that wait for the application; the oldest make room.
const EVENTS_MAX: usize = 64;
/// The longest wait for an answer of the server.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);
/// The pause after a failed system call.
const PAUSE: Duration = Duration::from_millis(1);
/// The default of the longest wait for a connection: a handshake takes at most 3 minutes by default.
const OPENING: Duration = Duration::from_secs(190);

/// Making a connection.
impl RingClient {
    /// Requests a connection from the server at `path`, and waits until it is open, at most for 190 s.
    ///
    /// # Errors
    /// When there is no server, it refuses, or the connection does not open in time.
    pub fn connect(
        path: impl AsRef<Path>,
        request: &RingRequest,
    ) -> Result<Self, RingConnectError> {
        Self::connect_timeout(path, request, OPENING)
    }

    /// Requests a connection from the server at `path`, and waits until it is open, at most for `timeout`. Then the
    /// connection is closed.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_timeout(
        path: impl AsRef<Path>,
        request: &RingRequest,
        timeout: Duration,
    ) -> Result<Self, RingConnectError> {
        request.check().map_err(RingConnectError::Refused)?;
        let until = clock::now() + timeout;
        let channel = send_request(
            path.as_ref(),
            &ClientMessage::Lend(request.clone()),
            timeout,
        )?;
        let mut client = Self::take(channel, request, until)?;
        loop {
            match client.poll_event() {
                Some(Event::Connected) => return Ok(client),
                Some(Event::Closed(reason)) => return Err(RingConnectError::Ended(reason)),
                // The decisive event may follow.
                Some(_) => {}
                None if client.over.is_some() => return Err(RingConnectError::ServerGone),
                None => match until - clock::now() {
                    Duration::ZERO => return Err(RingConnectError::NoAnswer),
                    left => client.sleep(Some(left)),
                },
            }
        }
    }

    /// Receives the ring from the server.
    fn take(
        channel: Channel,
        request: &RingRequest,
        until: Instant,
    ) -> Result<Self, RingConnectError> {
        let (message, fds) = first_answer(&channel, until)?;
        let local = match ServerMessage::parse(&message) {
            Some(ServerMessage::Lent(local)) => local,
            Some(ServerMessage::Refused(why)) => return Err(RingConnectError::Refused(why)),
            _ => return Err(RingConnectError::Foreign),
        };
        let fds = fds.map_err(|error| RingConnectError::Ring(error.into()))?;
        let ring = <[_; 2]>::try_from(fds).map_err(|_| RingConnectError::Foreign)?;
        let ends = Ends {
            local,
            peer: request.remote,
            service: request.service,
        };
        Self::new(ring, channel, ends, None).map_err(RingConnectError::Ring)
    }

    /// The ring in this memory, with this bell and the server's channel for its connection.
    pub(crate) fn new(
        [memory, bell]: [OwnedFd; 2],
        channel: Channel,
        ends: Ends,
        mps: Option<u32>,
    ) -> Result<Self, SharedError> {
        let bell = Arc::new(Doorbell::of(bell));
        let app = shared::attach(memory, bell.clone())?;
        Ok(Self {
            sender: app.sender,
            receiver: app.receiver,
            channel,
            bell,
            ends,
            is_bell_cut: false,
            events: VecDeque::new(),
            mps: mps.and_then(|mps| usize::try_from(mps).ok()),
            closing: Closing::NotAsked,
            has_aborted: false,
            over: None,
            timeout: None,
        })
    }
}

/// Datagrams.
impl RingClient {
    /// The ring: pushes datagrams and changes those that wait. Deadlines are those of
    /// [`clock::now`](dccp::clock::now), in nanoseconds.
    pub fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// Copies the next datagram into `buf` and returns the number of bytes copied; waits for one.
    ///
    /// # Errors
    /// When none arrives in time, or the connection is over.
    pub fn recv(&mut self, buf: &mut [u8]) -> Result<usize, RingError> {
        self.recv_meta(buf).map(|meta| meta.len)
    }

    /// As [`recv`](Self::recv), with what is known about the datagram.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn recv_meta(&mut self, buf: &mut [u8]) -> Result<RecvMeta, RingError> {
        let (len, arrival) = self.wait(self.timeout, |this| {
            let found = this.receiver.recv(buf)?;
            if found.is_some() || this.receiver.prepare_to_sleep()? {
                return Ok(found);
            }
            Ok(this.receiver.recv(buf)?)
        })?;
        Ok(RecvMeta::new(len, buf.len(), delivery(arrival)))
    }

    /// Appends up to `at_most` known fates to `fates`, without waiting. When the connection is over, the datagrams that
    /// are still in the ring get the fate [`Withdrawn`](dccp::Fate::Withdrawn).
    ///
    /// # Errors
    /// When the server breaks the rules.
    pub fn recv_fates(
        &mut self,
        fates: &mut Vec<RingFate>,
        at_most: usize,
    ) -> Result<(), RingError> {
        let each = |report| fates.extend(dccp::unstable::ring_fate(report));
        let reported = self.sender.fates(at_most, each);
        let reported = self.unless_broken(reported)?;
        if self.over.is_none() || reported == at_most {
            return Ok(());
        }
        // The server claims no more datagrams.
        let held = self.sender.take_back(at_most - reported);
        let Ok(mut held) = held else {
            return Ok(());
        };
        while let Some(last) = held.len().checked_sub(1) {
            fates.push(RingFate {
                tag: held.withdraw(last).tag,
                fate: Fate::Withdrawn,
                at: clock::now(),
            });
        }
        Ok(())
    }

    /// Waits until there is room in the ring.
    ///
    /// # Errors
    /// When there is none in time, or the connection is over.
    pub fn wait_for_room(&mut self) -> Result<(), RingError> {
        self.wait(self.timeout, |this| {
            if let Some(error) = &this.over {
                return Err(error.clone());
            }
            let is_full = this.sender.prepare_to_wait_for_room()?;
            Ok((!is_full).then_some(()))
        })
    }

    /// Waits until there are fates, at most for `at_most`; returns whether there are.
    ///
    /// # Errors
    /// When the server breaks the rules.
    pub fn wait_for_fates(&mut self, at_most: Duration) -> Result<bool, RingError> {
        let waited = self.wait(Some(at_most), |this| {
            let is_none = this.sender.prepare_to_wait_for_fates()?;
            let is_rest = this.over.is_some() && this.sender.waiting().is_ok_and(|n| n > 0);
            Ok((!is_none || is_rest).then_some(()))
        });
        match waited {
            Ok(()) => Ok(true),
            Err(RingError::Broken(violation)) => Err(RingError::Broken(violation)),
            Err(_) => Ok(false),
        }
    }

    /// Sets the time for which calls wait. `None`, the default: without limit. With zero they do not wait.
    pub fn set_timeout(&mut self, at_most: Option<Duration>) {
        self.timeout = at_most;
    }
}

/// The connection.
impl RingClient {
    /// The address of the server's host, with the ports that the connection has there.
    pub fn local_addr(&self) -> DccpAddr {
        self.ends.local
    }

    /// The peer's address: the requested one, or the origin of an accepted connection.
    pub fn peer_addr(&self) -> DccpAddr {
        self.ends.peer
    }

    /// The Service Code of the connection.
    pub fn service_code(&self) -> ServiceCode {
        self.ends.service
    }

    /// The next event, without waiting.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.read_messages();
        self.events.pop_front()
    }

    /// The greatest length of a datagram in bytes now. A longer one does not leave.
    pub fn max_packet_size(&mut self) -> Option<usize> {
        self.read_messages();
        self.mps
    }

    /// The reason of the connection's end; `None` while it is open.
    pub fn over(&mut self) -> Option<&RingError> {
        self.read_messages();
        self.over.as_ref()
    }

    /// Sends the pushed datagrams, closes, and waits for the end, at most for `at_most`.
    ///
    /// # Errors
    /// When the connection has not ended in time, or the server has.
    pub fn close(&mut self, at_most: Duration) -> Result<CloseReason, RingError> {
        let waited = self.wait(Some(at_most), |this| {
            if this.closing != Closing::Asked {
                let is_sent = this.send_request(&ClientMessage::Close);
                this.closing = if is_sent {
                    Closing::Asked
                } else {
                    Closing::Owed
                };
            }
            Ok(None::<()>)
        });
        match waited {
            Err(RingError::Closed(reason)) => Ok(reason),
            Err(error) => Err(error),
            Ok(()) => Err(RingError::TimedOut),
        }
    }

    /// Ends the connection at once, and withdraws the datagrams that wait.
    pub fn abort(&mut self) {
        self.has_aborted = self.has_aborted || self.send_request(&ClientMessage::Abort);
    }

    /// Sends a request. Returns `false` if the system has no memory for it now.
    fn send_request(&self, request: &ClientMessage) -> bool {
        match self.channel.send(&request.build(), &[]) {
            Err(error) => has_ended(&error),
            Ok(()) => true,
        }
    }
}

/// Event loops.
impl RingClient {
    /// Calls that would not wait now, and a request to the server: [`ready_fd`](Self::ready_fd) shall become readable at
    /// the next change.
    ///
    /// Datagrams and fates arrive in memory, without a system call, unless this process sleeps. Therefore call this before
    /// each wait, and wait only if it reports nothing to do. With a [timeout](Self::set_timeout) of zero no other call waits.
    ///
    /// ```no_run
    /// use dccp_ring_ipc::RingClient;
    /// use rustix::event::{PollFd, PollFlags, poll};
    ///
    /// fn receive(ring: &mut RingClient) -> Result<(), Box<dyn std::error::Error>> {
    ///     let ready_fd = ring.ready_fd()?;
    ///     let mut buf = [0; 1500];
    ///     loop {
    ///         let ready = ring.ready()?;
    ///         if ready.recv {
    ///             let len = ring.recv(&mut buf)?;
    ///             println!("{len} bytes arrived");
    ///         } else if ready.event {
    ///             ring.poll_event();
    ///         } else {
    ///             poll(&mut [PollFd::new(&ready_fd, PollFlags::IN)], None)?;
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// When the server breaks the rules.
    pub fn ready(&mut self) -> Result<Ready, RingError> {
        if !self.is_bell_cut {
            self.is_bell_cut = !self.bell.drain();
        }
        self.read_messages();
        let announced = self.announce_sleep();
        let ready = self.unless_broken(announced)?;
        let is_over = self.over.is_some();
        Ok(Ready {
            recv: ready.recv || is_over,
            send: ready.send || is_over,
            event: !self.events.is_empty(),
            fates: ready.fates || is_over && self.sender.waiting().is_ok_and(|n| n > 0),
        })
    }

    /// Requests wake-ups for datagrams, fates and room. What is there already needs none.
    fn announce_sleep(&mut self) -> Result<Ready, Violation> {
        Ok(Ready {
            recv: !self.receiver.prepare_to_sleep()?,
            send: !self.sender.prepare_to_wait_for_room()?,
            fates: !self.sender.prepare_to_wait_for_fates()?,
            ..Ready::default()
        })
    }

    /// A descriptor for `poll`, `epoll` and their relatives, such as tokio's `AsyncFd`. It becomes readable when what
    /// [`ready`](Self::ready) last reported may have changed, and stays readable until the next call of `ready`.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn ready_fd(&self) -> io::Result<ReadyFd> {
        let both = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let sources: [&dyn AsFd; 2] = [&self.channel, &*self.bell];
        for source in sources {
            let data = epoll::EventData::new_u64(0);
            epoll::add(&both, source.as_fd(), data, epoll::EventFlags::IN)?;
        }
        Ok(dccp::unstable::ready_fd(both))
    }
}

/// Waiting.
impl RingClient {
    /// Repeats `attempt` until it returns a value, and sleeps between.
    fn wait<T>(
        &mut self,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Self) -> Result<Option<T>, RingError>,
    ) -> Result<T, RingError> {
        let mut waiting = Waiting::within(timeout);
        loop {
            // Read before the attempt: after the end nothing more arrives.
            let over = self.over.clone();
            let found = attempt(self);
            if let Some(found) = self.unless_broken(found)? {
                return Ok(found);
            }
            if let Some(error) = over {
                return Err(error);
            }
            let Ok(left) = waiting.left() else {
                // A call that does not wait learns the end here.
                self.read_messages();
                if self.over.is_some() {
                    continue;
                }
                return Err(RingError::TimedOut);
            };
            self.sleep(left);
        }
    }

    /// Reports the end of the server instead of a broken ring, because an ended server leaves any bytes in the ring.
    fn unless_broken<T, E: Into<RingError>>(
        &mut self,
        result: Result<T, E>,
    ) -> Result<T, RingError> {
        result.map_err(Into::into).map_err(|error| {
            self.read_messages();
            match (error, &self.over) {
                (RingError::Broken(_), Some(over)) => over.clone(),
                (error, _) => error,
            }
        })
    }

    /// Sleeps until the bell rings or the server sends a message, at most for `at_most`.
    fn sleep(&mut self, at_most: Option<Duration>) {
        let mut at_most = at_most;
        if self.bell.is_owed() || self.closing == Closing::Owed {
            // A batch wakes the server, even an empty one.
            drop(self.sender.batch());
            at_most = Some(at_most.map_or(SHORT, |time| time.min(SHORT)));
        }
        let until = at_most.map(|time| clock::now() + time);
        if self.is_bell_cut {
            wait_for(&mut [&self.channel], until);
        } else {
            wait_for(&mut [&self.channel, &*self.bell], until);
            self.is_bell_cut = !self.bell.drain();
        }
        self.read_messages();
    }

    /// Reads the messages of the server.
    fn read_messages(&mut self) {
        while self.over.is_none() {
            let event = match self.channel.recv() {
                Incoming::Nothing => return,
                Incoming::End => None,
                Incoming::Message(message, _) => ServerMessage::parse(&message),
            };
            // An unexpected message counts as the end of the server.
            let Some(ServerMessage::Event(event, mps)) = event else {
                self.over = Some(RingError::ServerGone);
                return;
            };
            self.mps = mps.and_then(|mps| usize::try_from(mps).ok());
            if let Event::Closed(reason) = &event {
                self.over = Some(RingError::Closed(reason.clone()));
            }
            if self.events.len() == EVENTS_MAX {
                self.events.pop_front();
            }
            self.events.push_back(event);
        }
    }
}

/// Sends a request to the server at a path. Waits at most for `timeout` until the server accepts this program.
pub(crate) fn send_request(
    path: &Path,
    request: &ClientMessage,
    timeout: Duration,
) -> Result<Channel, RingConnectError> {
    let channel = Channel::connect(path, timeout).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => RingConnectError::TimedOut,
        _ if is_out_of_descriptors(&error) || is_out_of_memory(&error) => {
            RingConnectError::System(error)
        }
        _ => RingConnectError::NoServer {
            path: path.to_path_buf(),
            error,
        },
    })?;
    match channel.send(&request.build(), &[]) {
        Err(error) if !has_ended(&error) => Err(RingConnectError::System(error)),
        // A server that has ended may have sent its reason before.
        _ => Ok(channel),
    }
}

/// The server's answer to a request, at most until `until` and within [`ANSWER`].
pub(crate) fn first_answer(
    channel: &Channel,
    until: Instant,
) -> Result<(Vec<u8>, io::Result<Vec<OwnedFd>>), RingConnectError> {
    let until = until.min(clock::now() + ANSWER);
    next_message(channel, until).ok_or_else(|| match clock::now() {
        now if now >= until => RingConnectError::TimedOut,
        _ => RingConnectError::ServerGone,
    })
}

/// The server's next message; `None` if there is none in time, or the server has ended.
pub(crate) fn next_message(
    channel: &Channel,
    until: Instant,
) -> Option<(Vec<u8>, io::Result<Vec<OwnedFd>>)> {
    loop {
        match channel.recv() {
            Incoming::Message(message, fds) => return Some((message, fds)),
            Incoming::End => return None,
            Incoming::Nothing if clock::now() >= until => return None,
            Incoming::Nothing => wait_for(&mut [channel], Some(until)),
        }
    }
}

/// Waits until one of them is readable or has ended.
pub(crate) fn wait_for(sources: &mut [&dyn AsFd], until: Option<Instant>) {
    let fds = sources.iter();
    let mut fds: Vec<_> = fds
        .map(|source| PollFd::from_borrowed_fd(source.as_fd(), PollFlags::IN))
        .collect();
    let time = until.map(|until| timespec(until, clock::now()));
    // After an error the caller checks again.
    if let Err(error) = poll(&mut fds, time.as_ref())
        && error != Errno::INTR
    {
        // An error that lasts must not use a core.
        std::thread::sleep(until.map_or(PAUSE, |until| PAUSE.min(until - clock::now())));
    }
}
