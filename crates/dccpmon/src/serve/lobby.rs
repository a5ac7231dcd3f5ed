//! Connections that have not asked for anything yet.
//!
//! One thread per listener reads them all without waiting for one, so that silent clients hold neither a thread nor
//! the others up. A connection that asks for a test gets a seat and a thread; one that joins a test goes there.

use super::log::{complain, log};
use super::policy::{Policy, wrong_version};
use super::queue::{Place, Queue};
use super::seats::{Hosts, Join, Seat, Seats};
use super::session::Session;
use super::third::{Granted, ThirdSession};
use crate::limits::{ANSWER_MAX, GUESTS_MAX};
use crate::schema::Transport;
use crate::third::errand::Errand;
use crate::transport::dccp::DccpFlow;
use crate::wire::auth::Exchange;
use crate::wire::channel::{Channel, Lost};
use crate::wire::message::{Message, RefusalCode, Refused, Request, Setup};
use crate::wire::packet::{Head, Kind, LEN_MAX};
use core::net::IpAddr;
use core::time::Duration;
use dccp::limits::source_of;
use dccp::{AcceptError, DccpAddr, Instant, Listener, ListenerEvent, RecvError, Socket, clock};
use dccp_cli::interrupt;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread;

/// The longest wait for the next connection, and the time between two checks whether the program ends.
const LOOK: Duration = Duration::from_millis(200);
/// The same while connections wait for their turn.
const LOOK_BUSY: Duration = Duration::from_millis(5);

/// The time between two messages with the same position.
const TELL: Duration = Duration::from_secs(3);

fn no_thread() -> Refused {
    Refused::new(
        RefusalCode::Busy,
        "the server's system has no thread left",
        "try again later",
    )
}

/// The connections of one listener that wait.
pub(super) struct Lobby {
    listener: Listener,
    seats: Arc<Seats>,
    policy: Arc<Policy>,
    queue: Arc<Queue>,
    is_one_off: bool,
    /// In the order of their arrival.
    guests: Vec<Guest>,
    /// Room for the first datagram of a connection.
    datagram: Vec<u8>,
    /// Starts the thread of a test.
    spawn: Spawn,
}

type Job = Box<dyn FnOnce() + Send>;
type Spawn = fn(Job) -> io::Result<()>;

/// A connection that waits.
struct Guest {
    peer: DccpAddr,
    /// It is aborted then.
    until: Instant,
    state: State,
}

enum State {
    /// Nothing was received.
    Silent(Socket),
    /// Its first message is incomplete.
    Asking(Channel),
    /// It was welcomed, and has not requested a test yet.
    Greeted(Channel, Exchange),
    /// Its request waits for a seat.
    Queued(Box<Queued>),
    /// A refusal is on its way.
    Refused(Channel),
    /// The connection has ended, or another part of the program has it.
    Gone,
}

/// A request that waits for a seat.
struct Queued {
    channel: Channel,
    exchange: Exchange,
    wanted: Wanted,
    place: Place,
    /// The position that the client knows.
    told: u32,
    /// When the position is sent again: a client that has vanished does not acknowledge it.
    tell_at: Instant,
}

/// A test that the policy grants.
enum Wanted {
    /// With the client.
    Test(Request),
    /// With another server.
    Errand(Box<Granted>),
}

impl Wanted {
    fn transport(&self) -> Transport {
        match self {
            Self::Test(request) => request.transport,
            Self::Errand(granted) => granted.request.transport,
        }
    }
}

impl Queued {
    /// Sends the position if it is new or was sent long ago, and the message before has been acknowledged.
    fn tell(&mut self, now: Instant) -> Result<(), Lost> {
        let position = self.place.position();
        if self.channel.is_heard() && (position != self.told || now >= self.tell_at) {
            self.told = position;
            self.tell_at = now + TELL;
            self.channel.say(&Message::Queued { position })?;
        }
        Ok(())
    }
}

impl Lobby {
    pub(super) fn new(
        listener: Listener,
        seats: Arc<Seats>,
        policy: Arc<Policy>,
        is_one_off: bool,
    ) -> Self {
        Self {
            listener,
            seats,
            policy,
            queue: Arc::new(Queue::new(0)),
            is_one_off,
            guests: Vec::new(),
            datagram: vec![0; LEN_MAX],
            spawn: |job| {
                let builder = thread::Builder::new().name("test".into());
                builder.spawn(job).map(|_| ())
            },
        }
    }

    /// Lets requests wait in a queue.
    pub(super) fn with_queue(self, queue: Arc<Queue>) -> Self {
        Self { queue, ..self }
    }

    /// Serves until the program is to end or the listener is lost.
    pub(super) fn run(&mut self) {
        while !(interrupt::is_pressed() || self.is_one_off && self.seats.has_served()) {
            if let Err(e) = self.turn() {
                complain(&format!("a listener has ended: {e}"));
                return;
            }
        }
    }

    /// Accepts connections, then looks once at each that waits.
    fn turn(&mut self) -> Result<(), AcceptError> {
        while let Some(event) = self.listener.poll_event() {
            log(&trouble(&event));
        }
        let mut patience = if self.guests.is_empty() {
            LOOK
        } else {
            LOOK_BUSY
        };
        for _ in 0..GUESTS_MAX {
            match self.listener.accept_timeout(patience) {
                Ok(socket) => self.admit(socket),
                Err(AcceptError::TimedOut | AcceptError::WouldBlock) => break,
                Err(e) => return Err(e),
            }
            patience = Duration::ZERO;
        }
        let now = clock::now();
        let mut guests = core::mem::take(&mut self.guests);
        for guest in &mut guests {
            let state = core::mem::replace(&mut guest.state, State::Gone);
            guest.state = self.look(guest.peer, state);
            if matches!(&guest.state, State::Queued(queued) if queued.channel.is_heard()) {
                guest.until = now + ANSWER_MAX;
            }
            if guest.until <= now {
                guest.dismiss();
            }
        }
        guests.retain(|guest| !matches!(guest.state, State::Gone));
        self.guests = guests;
        Ok(())
    }

    /// Adds a connection. A full lobby drops the oldest one of the source that holds the most.
    fn admit(&mut self, socket: Socket) {
        if self.guests.len() >= GUESTS_MAX {
            let sources: Vec<IpAddr> = self.guests.iter().map(Guest::source).collect();
            let held = |source| sources.iter().filter(|s| **s == source).count();
            let most = sources.iter().map(|s| held(*s)).max();
            if let Some(at) = sources.iter().position(|s| Some(held(*s)) == most) {
                self.guests.remove(at).dismiss();
            }
        }
        socket.set_nonblocking(true);
        self.guests.push(Guest {
            peer: socket.peer_addr(),
            until: clock::now() + ANSWER_MAX,
            state: State::Silent(socket),
        });
    }

    /// Reads what a connection has sent, and returns its next state.
    fn look(&mut self, peer: DccpAddr, state: State) -> State {
        match state {
            State::Silent(socket) => match socket.recv(&mut self.datagram) {
                Ok(len) => self.begin(peer, socket, len),
                Err(RecvError::TimedOut | RecvError::WouldBlock) => State::Silent(socket),
                Err(_) => State::Gone,
            },
            State::Asking(mut channel) => match channel.try_poll() {
                Ok(None) => State::Asking(channel),
                Ok(Some(Message::Hello(hello))) => match self.policy.welcome(&hello) {
                    Ok((exchange, welcome)) => {
                        match channel.say(&Message::Welcome(Box::new(welcome))) {
                            Ok(()) => State::Greeted(channel, exchange),
                            Err(_) => State::Gone,
                        }
                    }
                    Err(refused) => self.refuse(peer, channel, refused),
                },
                // The first message of programs that speak version 1.
                Ok(Some(Message::Setup(_))) => {
                    self.refuse(peer, channel, wrong_version("version 1"))
                }
                Ok(Some(_)) | Err(_) => State::Gone,
            },
            State::Greeted(mut channel, exchange) => match channel.try_poll() {
                Ok(None) => State::Greeted(channel, exchange),
                Ok(Some(Message::Setup(setup))) => self.answer(peer, channel, exchange, &setup),
                Ok(Some(_)) | Err(_) => State::Gone,
            },
            State::Queued(mut queued) => match queued.channel.try_poll() {
                Ok(None) => self.wait(peer, queued),
                Ok(Some(_)) | Err(_) => State::Gone,
            },
            State::Refused(mut channel) => match channel.try_poll() {
                Ok(_) if !channel.is_heard() => State::Refused(channel),
                _ => State::Gone,
            },
            State::Gone => State::Gone,
        }
    }

    /// The first datagram tells the purpose of a connection.
    fn begin(&mut self, peer: DccpAddr, socket: Socket, len: usize) -> State {
        let first = self.datagram.get(..len).unwrap_or_default();
        if Channel::is_control(first) {
            return match Channel::new(socket, Some(first)) {
                Ok(channel) => self.look(peer, State::Asking(channel)),
                Err(_) => State::Gone,
            };
        }
        if let Some(head) = Head::read(first).filter(|h| h.kind == Kind::Join) {
            socket.set_nonblocking(false);
            let join = Join {
                token: head.token,
                flow: head.flow,
                transport: Transport::Dccp,
                client: peer.ip,
            };
            self.seats.join(&join, Arc::new(DccpFlow::new(socket)));
        }
        State::Gone
    }

    /// Starts the test, lets it wait, or refuses it.
    fn answer(
        &mut self,
        peer: DccpAddr,
        channel: Channel,
        mut exchange: Exchange,
        setup: &Setup,
    ) -> State {
        let wanted = match Errand::read(&setup.body) {
            Some(errand) => self
                .policy
                .grant_errand(&mut exchange, setup, errand)
                .map(|granted| Wanted::Errand(Box::new(granted))),
            None => self.policy.grant(&mut exchange, setup).map(Wanted::Test),
        };
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(refused) => return self.refuse(peer, channel, refused),
        };
        let hosts = Hosts::of(&channel);
        let mut refused = match self.seats.take(hosts, wanted.transport()) {
            Ok(seat) => return self.start(peer, channel, exchange, wanted, seat),
            Err(refused) => refused,
        };
        if self.queue.is_open() && setup.is_patient {
            let Some(place) = self.queue.join(source_of(peer.ip)) else {
                refused.reason += ", and its queue is full";
                return self.refuse(peer, channel, refused);
            };
            let position = place.position();
            log(&format!("test from {peer}: waits at position {position}"));
            let now = clock::now();
            let queued = Queued {
                channel,
                exchange,
                wanted,
                place,
                told: 0,
                tell_at: now,
            };
            return self.wait(peer, Box::new(queued));
        }
        if self.queue.is_open() {
            refused.next = "try again, or wait in its queue with --wait".into();
        }
        self.refuse(peer, channel, refused)
    }

    /// Gives a seat to a request that waits, or tells its client the position.
    fn wait(&mut self, peer: DccpAddr, mut queued: Box<Queued>) -> State {
        let now = clock::now();
        // The client's last acknowledgement may be missing: it gets the answer all the same.
        let hosts = Hosts::of(&queued.channel);
        if let Ok(seat) = self.seats.take(hosts, queued.wanted.transport()) {
            let Queued {
                channel,
                exchange,
                wanted,
                ..
            } = *queued;
            return self.start(peer, channel, exchange, wanted, seat);
        }
        match queued.tell(now) {
            Ok(()) => State::Queued(queued),
            Err(_) => State::Gone,
        }
    }

    /// Starts the test in a thread of its own.
    fn start(
        &mut self,
        peer: DccpAddr,
        channel: Channel,
        exchange: Exchange,
        wanted: Wanted,
        seat: Seat,
    ) -> State {
        // The thread gets its test after it has been started, because a failed start drops what it was given.
        let (hand_over, session) = mpsc::sync_channel::<Job>(1);
        let job = move || {
            if let Ok(session) = session.recv() {
                session();
            }
        };
        match (self.spawn)(Box::new(job)) {
            Ok(()) => {
                let policy = self.policy.clone();
                let _ = hand_over.send(match wanted {
                    Wanted::Test(request) => {
                        let session = Session {
                            peer,
                            channel,
                            exchange,
                            policy,
                            request,
                            seat,
                        };
                        Box::new(|| session.run())
                    }
                    Wanted::Errand(granted) => {
                        let session = ThirdSession {
                            peer,
                            channel,
                            exchange,
                            policy,
                            granted,
                            seat,
                        };
                        Box::new(|| session.run())
                    }
                });
                State::Gone
            }
            Err(e) => {
                complain(&format!("no thread for a test: {e}"));
                self.refuse(peer, channel, no_thread())
            }
        }
    }

    fn refuse(&self, peer: DccpAddr, mut channel: Channel, refused: Refused) -> State {
        log(&format!("test from {peer}: refused ({})", refused.reason));
        self.seats.metrics().refused(refused.code);
        match channel.say(&Message::Refused(refused)) {
            Ok(()) => State::Refused(channel),
            Err(_) => State::Gone,
        }
    }
}

impl Guest {
    fn source(&self) -> IpAddr {
        source_of(self.peer.ip)
    }

    /// Aborts the connection.
    fn dismiss(&mut self) {
        match core::mem::replace(&mut self.state, State::Gone) {
            State::Silent(socket) => socket.abort(),
            State::Queued(queued) => queued.channel.socket().abort(),
            State::Asking(channel) | State::Greeted(channel, _) | State::Refused(channel) => {
                channel.socket().abort();
            }
            State::Gone => {}
        }
    }
}

/// A listener's event in words.
fn trouble(event: &ListenerEvent) -> String {
    match event {
        ListenerEvent::SocketLost { place, error } => {
            format!("socket at {place}: failed ({error}); opening it again")
        }
        ListenerEvent::SocketRestored { place } => format!("socket at {place}: works again"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shape::Shape;
    use crate::plan::{SERVICE, data_options};
    use crate::session::agree::{Agreement, Granted};
    use crate::wire::message::Mode;
    use dccp::Options;
    use dccp::proto::time::nanos;
    use dccp_cli::Failure;
    use std::thread::JoinHandle;

    fn policy() -> Arc<Policy> {
        Arc::new(Policy {
            tests: 4,
            duration: Duration::from_mins(1),
            rate_bps: None,
            key: None,
            third_party: None,
        })
    }

    fn lobby() -> (Lobby, DccpAddr) {
        let options = data_options(Options::new().service_code(SERVICE));
        let listener = Listener::bind("127.0.0.1:0/5001", &options).unwrap();
        let to = listener.local_addrs()[0];
        (
            Lobby::new(listener, Arc::new(Seats::new(4)), policy(), false),
            to,
        )
    }

    /// Asks for a test, and returns the answer.
    fn ask(to: DccpAddr) -> JoinHandle<Result<Granted, Failure>> {
        thread::spawn(move || {
            let socket = Socket::connect(to, &Options::new().service_code(SERVICE)).unwrap();
            let mut channel = Channel::new(socket, None).unwrap();
            let second = nanos(Duration::from_secs(1));
            let request = Request {
                mode: Mode::Stream,
                transport: Transport::Dccp,
                shape: Shape::Greedy,
                seed: 0,
                congestion: None,
                socket_buffer_bytes: None,
                lost_runs: 0,
                flows: 1,
                duration_ns: second,
                interval_ns: second,
                is_reverse: false,
                length_bytes: 100,
                rate_bps: None,
                is_both: false,
                is_one_connection: false,
                has_echoes: false,
                obeys: false,
            };
            let agreed = Agreement::begin(&mut channel, None);
            let granted = agreed.and_then(|mut a| a.request(&mut channel, &request, false));
            // The acknowledgement ends the wait of a server that has refused.
            channel.flush(clock::now()).unwrap();
            granted
        })
    }

    #[test]
    fn service_goes_on_after_a_thread_could_not_be_made() {
        let (mut lobby, to) = lobby();
        let works = lobby.spawn;
        // No system has room for such a stack.
        lobby.spawn = |job| {
            let builder = thread::Builder::new().stack_size(1 << 60);
            builder.spawn(job).map(|_| ())
        };
        let refused = ask(to);
        while !refused.is_finished() {
            lobby.turn().unwrap();
        }
        let refused = refused.join().unwrap();
        assert_eq!(refused.unwrap_err().what, no_thread().reason);
        assert!(lobby.seats.are_free());
        lobby.spawn = works;
        let served = ask(to);
        while !served.is_finished() {
            lobby.turn().unwrap();
        }
        let served = served.join().unwrap();
        assert!(served.is_ok(), "{served:?}");
    }

    #[test]
    fn full_lobby_drops_the_oldest_of_the_largest_source() {
        let (mut lobby, to) = lobby();
        let from = |ip: [u8; 4]| {
            let options = Options::new().service_code(SERVICE).nonblocking(true);
            Socket::connect(to, &options.bind((ip, 0).into())).unwrap()
        };
        let quiet = from([127, 0, 0, 2]);
        let quiet_port = quiet.local_addr().dccp_port;
        // The first one waits longest.
        while lobby.guests.is_empty() {
            lobby.turn().unwrap();
        }
        let ports = |lobby: &Lobby| -> Vec<u16> {
            let ports = lobby.guests.iter().map(|g| g.peer.dccp_port);
            ports.collect()
        };
        let mut many = Vec::new();
        for _ in 0..2 * GUESTS_MAX {
            let socket = from([127, 0, 0, 1]);
            let port = socket.local_addr().dccp_port;
            many.push(socket);
            while !ports(&lobby).contains(&port) {
                lobby.turn().unwrap();
                assert!(lobby.guests.len() <= GUESTS_MAX);
            }
        }
        assert_eq!(lobby.guests.len(), GUESTS_MAX);
        assert_eq!(ports(&lobby)[0], quiet_port);
    }
}
