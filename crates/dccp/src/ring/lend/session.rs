//! One application of another process, as the server sees it.

use super::channel::{Channel, Doorbell, Heard};
use super::message::{Ask, MESSAGE_MAX, Tell};
use super::request::{Policy, RingCaller, RingRequest};
use crate::clock;
use crate::engine::Command;
use crate::error::ConnectError;
use crate::ring::attach;
use crate::signal::ReadyFd;
use crate::socket::Socket;
use core::time::Duration;
use dccp_proto::{Event, Instant};
use dccp_ring::shared;
use rustix::event::PollFlags;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// How long an application may take to say what it wants.
const ASKING: Duration = Duration::from_secs(5);
/// How long it may read what its ring holds when the connection has ended; and how long a connection may take
/// to end when its application has gone.
const LINGER: Duration = Duration::from_secs(10);
/// Messages taken from an application in one turn.
const MESSAGES_MAX: usize = 16;

/// An application, or what it has left behind.
#[derive(Debug)]
pub(crate) struct Session {
    /// `None`: it has gone.
    channel: Option<Channel>,
    caller: RingCaller,
    lent: Option<Lent>,
    /// By the policy.
    is_allowed: bool,
    has_closed: bool,
    has_aborted: bool,
    /// What it has been told last, and does not read.
    untold: Option<Vec<u8>>,
    /// Then it is over.
    until: Option<Instant>,
    /// It does not read: then we look whether its connection has ended.
    looks_again: Option<Instant>,
}

/// What it was lent.
#[derive(Debug)]
struct Lent {
    socket: Socket,
    /// Readable while the connection has events. `None`: it has ended.
    events: Option<ReadyFd>,
    /// Bytes of its ring.
    memory: u64,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.socket.command(Command::Unwatch);
    }
}

impl Session {
    /// Somebody has come in.
    pub(crate) fn new(channel: Channel) -> io::Result<Self> {
        Ok(Self {
            caller: channel.caller()?,
            channel: Some(channel),
            lent: None,
            is_allowed: false,
            has_closed: false,
            has_aborted: false,
            untold: None,
            until: Some(clock::now() + ASKING),
            looks_again: None,
        })
    }

    /// Tells somebody that there is nothing to be had.
    pub(crate) fn turn_away(channel: &Channel, why: &str) {
        // Who does not hear it sees the end of the channel.
        let _ = channel.send(&Tell::Refused(why.into()).build(), &[]);
    }

    /// What to watch for it: its messages, and its connection's events; or, if it does not read, room to tell them.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let lent = self.lent.as_ref().filter(|_| self.untold.is_none());
        let events = lent.and_then(|lent| lent.events.as_ref());
        let events = events.map(|events| (events.as_fd(), PollFlags::IN));
        let flags = match self.untold {
            None => PollFlags::IN,
            Some(_) => PollFlags::IN | PollFlags::OUT,
        };
        let channel = self.channel.as_ref();
        let channel = channel.map(|channel| (channel.as_fd(), flags));
        channel.into_iter().chain(events)
    }

    /// When it wants a turn although nothing happens.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.until.into_iter().chain(self.looks_again).min()
    }

    /// Bytes of its ring.
    pub(crate) fn memory(&self) -> u64 {
        self.lent.as_ref().map_or(0, |lent| lent.memory)
    }

    /// Does what is to be done; whether it goes on. `memory` is what is left of the server's.
    pub(crate) fn turn(&mut self, policy: &mut Policy, memory: u64) -> bool {
        let is_over = self.until.is_some_and(|until| until <= clock::now());
        let stays = if is_over {
            self.expire()
        } else {
            self.listen(policy, memory) && self.tell_events()
        };
        if !stays {
            self.tell_policy(policy);
        }
        stays
    }

    /// The server ends: what was lent is taken back.
    pub(crate) fn end(mut self, policy: &mut Policy) {
        self.lent = None;
        self.tell_policy(policy);
    }

    fn tell_policy(&self, policy: &mut Policy) {
        if self.is_allowed {
            policy.ended(&self.caller);
        }
    }

    /// Its time is over: what was lent is taken back.
    fn expire(&mut self) -> bool {
        if let Some(lent) = &self.lent {
            lent.socket.abort();
        }
        false
    }

    /// Hears what the application has to say.
    fn listen(&mut self, policy: &mut Policy, memory: u64) -> bool {
        for _ in 0..MESSAGES_MAX {
            let heard = self.channel.as_ref().map_or(Heard::Nothing, Channel::recv);
            let ask = match heard {
                Heard::Nothing => return true,
                Heard::End => return self.leave(),
                Heard::Message(bytes, _) if bytes.len() > MESSAGE_MAX => None,
                Heard::Message(bytes, _) => Ask::parse(&bytes),
            };
            let is_obeyed = match (ask, &self.lent) {
                (Some(Ask::Lend(request)), None) => self.lend(policy, &request, memory),
                // Each is said once: what the engine has not done yet must not grow.
                (Some(Ask::Close), Some(lent)) if !self.has_closed => {
                    lent.socket.shutdown(std::net::Shutdown::Write);
                    self.has_closed = true;
                    true
                }
                (Some(Ask::Abort), Some(lent)) if !self.has_aborted => {
                    lent.socket.abort();
                    self.has_aborted = true;
                    true
                }
                // It does not keep to the rules.
                _ => return self.expire(),
            };
            if !is_obeyed {
                return false;
            }
        }
        true
    }

    /// The application has gone: its connection is closed.
    fn leave(&mut self) -> bool {
        self.channel = None;
        self.until = Some(clock::now() + LINGER);
        let Some(lent) = &self.lent else {
            return false;
        };
        lent.socket.shutdown(std::net::Shutdown::Write);
        lent.events.is_some()
    }

    fn lend(&mut self, policy: &mut Policy, request: &RingRequest, memory: u64) -> bool {
        let lent = self.open(policy, request, memory);
        match lent {
            Ok(lent) => {
                self.lent = Some(lent);
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

    /// Opens a connection with a ring before it, and hands the ring over.
    fn open(
        &mut self,
        policy: &mut Policy,
        request: &RingRequest,
        memory: u64,
    ) -> Result<Lent, String> {
        let bytes = request.shape.bytes().map_err(|error| error.to_string())?;
        if bytes > memory {
            return Err(format!("a ring of {bytes} bytes: {memory} are left"));
        }
        let mut options = policy.allow(&self.caller, request)?.nonblocking(true);
        self.is_allowed = true;
        if let Some(ccid) = request.ccid {
            options = options.ccid(ccid);
        }
        let arrivals = request.shape.arrivals as usize;
        let options = options.only_service(request.service).recv_buffer(arrivals);
        let (engines, theirs) = Doorbell::pair().map_err(|error| error.to_string())?;
        let engines = Arc::new(engines);
        let (transport, ring) =
            shared::create(request.shape, engines.clone()).map_err(|error| error.to_string())?;
        let to_text = |error: ConnectError| error.to_string();
        let socket = Socket::connect(request.remote, request.port, &options).map_err(to_text)?;
        attach(&socket, transport, engines.clone());
        socket.command(|conn| Command::Watch(conn, engines));
        let lent = Lent {
            events: Some(socket.ready_fd().map_err(|error| error.to_string())?),
            socket,
            memory: bytes,
        };
        let fds = [ring.as_fd(), theirs.as_fd()];
        let channel = self.channel.as_ref().ok_or("nobody is there")?;
        let sent = channel.send(&Tell::Lent.build(), &fds);
        sent.map(|()| lent).map_err(|error| error.to_string())
    }

    /// Tells the application what has happened to its connection, as fast as it reads; whether it goes on.
    fn tell_events(&mut self) -> bool {
        self.looks_again = None;
        while let Some(message) = self.untold.take().or_else(|| self.next_event()) {
            let told = self.channel.as_ref().map(|c| c.send(&message, &[]));
            match told {
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.untold = Some(message);
                    self.linger_if_ended();
                    return true;
                }
                // Who has gone, or cannot be told, sees the end of the channel.
                Some(Err(_)) | None if self.has_ended() => return false,
                _ => {}
            }
        }
        true
    }

    /// Who does not read does not hear of the end, and events are not watched meanwhile: its connection's end begins the
    /// time after which its memory is taken back.
    fn linger_if_ended(&mut self) {
        if self.until.is_some() {
            return;
        }
        let then = Some(clock::now() + LINGER);
        let socket = self.lent.as_ref().map(|lent| &lent.socket);
        if socket.is_some_and(|socket| socket.shared().lock().is_ended()) {
            self.until = then;
        } else {
            self.looks_again = then;
        }
    }

    /// The next event as it is told.
    fn next_event(&mut self) -> Option<Vec<u8>> {
        let lent = self.lent.as_mut()?;
        let event = lent.socket.poll_event()?;
        if matches!(event, Event::Closed(_)) {
            lent.events = None;
            self.until = Some(clock::now() + LINGER);
        }
        let mps = lent.socket.max_packet_size();
        let mps = mps.and_then(|mps| u32::try_from(mps).ok());
        Some(Tell::Event(event, mps).build())
    }

    /// Whether its connection has.
    fn has_ended(&self) -> bool {
        self.lent.as_ref().is_some_and(|lent| lent.events.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::Gate;
    use super::*;
    use crate::{Listener, Options};

    /// A session with an open connection, and its application's channel.
    fn session() -> (Session, Channel, Listener) {
        let listener = Listener::bind("127.0.0.1:0", 5001, &Options::new()).unwrap();
        let to = listener.local_addrs()[0];
        let socket = Socket::connect(to, 5001, &Options::new()).unwrap();
        let id = std::thread::current().id();
        let name = format!("dccp-session-{}-{id:?}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let gate = Gate::bind(&path).unwrap();
        let theirs = Channel::connect(&path).unwrap();
        let mut session = Session::new(gate.accept().unwrap()).unwrap();
        std::fs::remove_file(path).unwrap();
        session.until = None;
        session.lent = Some(Lent {
            events: Some(socket.ready_fd().unwrap()),
            socket,
            memory: 0,
        });
        (session, theirs, listener)
    }

    #[test]
    fn who_does_not_read_is_told_all_when_it_does() {
        let (mut session, theirs, _listener) = session();
        let shared = session.lent.as_ref().unwrap().socket.shared().clone();
        while session.untold.is_none() {
            let mut state = shared.lock();
            (0..32).for_each(|_| state.push_event(Event::SlowReceiver));
            drop(state);
            assert!(session.tell_events());
            if session.untold.is_none() {
                assert_eq!(session.sources().count(), 2);
            }
        }
        shared.lock().push_event(Event::PeerNotListening);
        assert!(session.tell_events());
        assert!(session.until.is_none() && session.due().is_some());
        let flags: Vec<_> = session.sources().map(|(_, flags)| flags).collect();
        assert_eq!(flags, [PollFlags::IN | PollFlags::OUT]);
        let (mut slow, mut last) = (0, None);
        loop {
            let Heard::Message(message, _) = theirs.recv() else {
                if session.untold.is_none() {
                    break;
                }
                assert!(session.tell_events());
                continue;
            };
            last = Tell::parse(&message);
            let is_slow = matches!(last, Some(Tell::Event(Event::SlowReceiver, _)));
            slow += usize::from(is_slow);
        }
        assert_eq!(slow % 32, 0, "all that there were");
        assert!(matches!(
            last,
            Some(Tell::Event(Event::PeerNotListening, _))
        ));
    }

    #[test]
    fn the_memory_of_who_does_not_read_is_taken_back_after_the_end() {
        let (mut session, _theirs, _listener) = session();
        let shared = session.lent.as_ref().unwrap().socket.shared().clone();
        while session.untold.is_none() {
            let mut state = shared.lock();
            (0..32).for_each(|_| state.push_event(Event::SlowReceiver));
            drop(state);
            assert!(session.tell_events());
        }
        let before = clock::now();
        let socket = &session.lent.as_ref().unwrap().socket;
        socket.abort();
        socket.wait_closed(LINGER).unwrap();
        // It looks again, although nothing it watches happens.
        assert!(session.due().is_some_and(|at| at <= before + LINGER));
        assert!(session.tell_events());
        let until = session.until.unwrap();
        assert!(until >= before + LINGER && until <= clock::now() + LINGER);
        session.until = Some(clock::now());
        let mut policy = Policy(Box::new(|_: &RingCaller, _: &RingRequest| {
            Err("nothing".into())
        }));
        assert!(!session.turn(&mut policy, 0), "its time is over");
    }
}
