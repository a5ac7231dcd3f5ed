//! Applications that do not keep to the rules, are not allowed what they ask for, or are too many.

mod listening;
mod readiness;

use super::*;
use crate::channel::{Channel, Doorbell, Gate, Incoming};
use crate::message::{ClientMessage, ServerMessage};
use core::fmt::Debug;
use core::mem::MaybeUninit;
use core::time::Duration;
use dccp::{DccpAddr, Listener, Options, Socket};
use dccp_proto::wire::ResetCode;
use dccp_proto::{CloseReason, Event};
use dccp_ring::shared::SharedError;
use dccp_ring::{Bell as _, Label, Shape, shared, silent};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs::File;
use std::io::IoSlice;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const PATIENCE: Duration = Duration::from_secs(10);
const PORT: u16 = 5001;
const SHAPE: Shape = Shape::new(2, 100);
/// Where the ring has `umod_i` and `user_i`, in bytes; and how many arrivals the application has taken.
const APP_INDEX: u64 = 128;
const ARRIVALS_TAKEN: u64 = 128 * 9;

/// A server that lends connections to a listener.
struct World {
    path: PathBuf,
    listener: Listener,
    peer: DccpAddr,
    _server: RingServer,
}

impl World {
    fn new(name: &str, limits: RingLimits) -> Self {
        let options = Options::new().recv_timeout(PATIENCE);
        let listener = Listener::bind(("127.0.0.1:0", PORT), &options).unwrap();
        let path = std::env::temp_dir().join(format!("dccp-{name}-{}", std::process::id()));
        let policy = |caller: &RingCaller, request: &RingRequest| {
            assert_eq!(caller.pid, std::process::id());
            match request.remote.dccp_port {
                PORT => Ok(Options::new()),
                _ => Err("only to port 5001".to_owned()),
            }
        };
        Self {
            _server: RingServer::bind(&path, limits, policy).unwrap(),
            peer: listener.local_addrs()[0],
            listener,
            path,
        }
    }

    fn request(&self) -> RingRequest {
        RingRequest::new(self.peer, SHAPE)
    }

    fn connect(&self) -> Result<RingClient, RingConnectError> {
        RingClient::connect(&self.path, &self.request())
    }

    /// A ring and the other end of its connection.
    fn honest(&self) -> (RingClient, Socket) {
        let ring = self.connect().unwrap();
        (ring, self.listener.accept().unwrap())
    }

    /// A ring, its bell and its channel without the rules, and the other end of its connection.
    fn lawless(&self) -> (Channel, File, Doorbell, Socket) {
        let channel = send_request(&self.path, &ClientMessage::Lend(self.request()).build());
        let (message, fds) = receive(&channel).unwrap();
        let answer = ServerMessage::parse(&message);
        assert!(matches!(answer, Some(ServerMessage::Lent(_))), "{answer:?}");
        let [memory, bell] = <[OwnedFd; 2]>::try_from(fds).unwrap();
        let socket = self.listener.accept().unwrap();
        loop {
            let (message, _) = receive(&channel).unwrap();
            if let Some(ServerMessage::Event(Event::Connected, _)) = ServerMessage::parse(&message)
            {
                return (channel, memory.into(), Doorbell::of(bell), socket);
            }
        }
    }
}

/// An address that no packet is sent to.
fn unused() -> DccpAddr {
    "127.0.0.1:1/1".parse().unwrap()
}

fn send_request(path: &Path, message: &[u8]) -> Channel {
    let channel = Channel::connect(path, PATIENCE).unwrap();
    channel.send(message, &[]).unwrap();
    channel
}

/// The next message; `None`: the server has ended the channel.
fn receive(channel: &Channel) -> Option<(Vec<u8>, Vec<OwnedFd>)> {
    for _ in 0..PATIENCE.as_millis() {
        match channel.recv() {
            Incoming::Message(message, fds) => return Some((message, fds.unwrap())),
            Incoming::End => return None,
            Incoming::Nothing => thread::sleep(Duration::from_millis(1)),
        }
    }
    panic!("the server sends no message");
}

/// The end of a connection, from the messages to its application.
fn end(channel: &Channel) -> CloseReason {
    loop {
        let (message, _) = receive(channel).expect("a reason");
        if let Some(ServerMessage::Event(Event::Closed(reason), _)) = ServerMessage::parse(&message)
        {
            return reason;
        }
    }
}

fn is_refused<T: Debug>(outcome: Result<T, RingConnectError>, why: &str) {
    match outcome {
        Err(RingConnectError::Refused(said)) => assert!(said.contains(why), "{said}"),
        other => panic!("{other:?}"),
    }
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        thread::sleep(PATIENCE / 1000);
    }
    panic!("{what}");
}

#[test]
fn invalid_message_ends_its_channel_and_no_other() {
    let world = World::new("messages", RingLimits::default());
    let (mut honest, _peer) = world.honest();
    let long = [0; 300];
    let lend = ClientMessage::Lend(world.request()).build();
    for junk in [&[9][..], &[1], &[2], &long, &lend[..lend.len() - 1], &[]] {
        assert!(
            receive(&send_request(&world.path, junk)).is_none(),
            "{junk:?}"
        );
    }
    // A second ring through the same channel.
    let (channel, _memory, _bell, _socket) = world.lawless();
    channel.send(&lend, &[]).unwrap();
    while receive(&channel).is_some() {}
    // Descriptors without a purpose.
    let (channel, memory, _bell, _socket) = world.lawless();
    let fd: OwnedFd = memory.into();
    if let Err(error) = channel.send(&ClientMessage::Abort.build(), &[fd.as_fd()]) {
        // So from Linux 6.16 on; a server of an older system closes it.
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
        channel.send(&ClientMessage::Abort.build(), &[]).unwrap();
    }
    assert_eq!(end(&channel), CloseReason::Aborted(ResetCode::ABORTED));
    honest
        .sender()
        .push(b"still here", Label::default())
        .unwrap();
    let reason = honest.close(PATIENCE);
    assert_eq!(reason, Ok(CloseReason::Local));
}

#[test]
fn client_that_breaks_the_rules_of_its_ring_loses_its_connection() {
    let world = World::new("rules", RingLimits::default());
    let (mut honest, _peer) = world.honest();
    // More is ready than is there.
    let (channel, memory, bell, socket) = world.lawless();
    memory.write_at(&7_u64.to_ne_bytes(), APP_INDEX).unwrap();
    bell.ring();
    assert_eq!(end(&channel), CloseReason::Aborted(ResetCode::ABORTED));
    let reset = socket.wait_closed(PATIENCE).unwrap();
    assert!(matches!(
        reset,
        CloseReason::Reset {
            code: ResetCode::ABORTED,
            ..
        }
    ));
    // More was taken than was given.
    let (channel, memory, _bell, socket) = world.lawless();
    memory
        .write_at(&77_u64.to_ne_bytes(), ARRIVALS_TAKEN)
        .unwrap();
    for _ in 0..=SHAPE.arrivals {
        socket.send(b"data").unwrap();
    }
    assert_eq!(end(&channel), CloseReason::Aborted(ResetCode::ABORTED));
    assert!(honest.over().is_none());
}

#[test]
fn bell_that_rings_all_the_time_does_not_stop_the_server() {
    let world = World::new("bell", RingLimits::default());
    let (_channel, _memory, bell, _socket) = world.lawless();
    (0..10_000).for_each(|_| assert!(bell.ring()));
    let (mut honest, _peer) = world.honest();
    assert_eq!(honest.close(PATIENCE), Ok(CloseReason::Local));
}

#[test]
fn forbidden_request_is_refused_with_a_reason() {
    let world = World::new("refusals", RingLimits::default());
    let with = |change: fn(&mut RingRequest)| {
        let mut request = world.request();
        change(&mut request);
        RingClient::connect(&world.path, &request)
    };
    is_refused(with(|r| r.remote.dccp_port = 5002), "only to port 5001");
    is_refused(with(|r| r.shape.slots = 3), "a power of two");
    is_refused(
        with(|r| r.shape = Shape::new(1 << 16, 65535)),
        "the memory left",
    );
    is_refused(with(|r| r.ccid = Some(77)), "77: must be one of");
    is_refused(with(|r| r.service.0 = u32::MAX), "never valid");
    let refused = with(|r| r.service.0 = 7);
    let Err(RingConnectError::Ended(reason)) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(
        reason,
        CloseReason::Reset {
            code: ResetCode::BAD_SERVICE_CODE,
            ..
        }
    ));
}

#[test]
fn server_lends_at_most_its_limits_and_reclaims_memory() {
    let bytes = SHAPE.bytes().unwrap();
    let limits = RingLimits {
        clients: 2,
        memory: 3 * bytes - 1,
    };
    let world = World::new("limits", limits);
    let first = world.connect().unwrap();
    let large = RingRequest::new(world.peer, Shape::new(2, 10_000));
    let left = format!("at most {}, the memory left", 2 * bytes - 1);
    is_refused(RingClient::connect(&world.path, &large), &left);
    let second = world.connect().unwrap();
    is_refused(world.connect(), "too many applications");
    drop((first, second));
    // Its connection must have ended before.
    until("there is room again", || world.connect().is_ok());
}

/// Allows each user one ring.
struct One {
    rings: usize,
    ended: Arc<AtomicUsize>,
}

impl RingPolicy for One {
    fn allow(&mut self, _: &RingCaller, _: &RingRequest) -> Result<Options, String> {
        if self.rings == 1 {
            return Err("one is enough".into());
        }
        self.rings += 1;
        Ok(Options::new())
    }

    fn released(&mut self, _: &RingCaller, _: u32) {
        self.rings -= 1;
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn policy_can_count_what_a_user_has() {
    let world = World::new("other", RingLimits::default());
    let path = world.path.with_extension("one");
    let ended = Arc::new(AtomicUsize::new(0));
    let policy = One {
        rings: 0,
        ended: ended.clone(),
    };
    let server = RingServer::bind(&path, RingLimits::default(), policy).unwrap();
    let await_ended = |n| {
        until(&format!("{n} have ended"), || {
            ended.load(Ordering::Relaxed) == n
        });
    };
    // One that does not come about is over at once.
    let impossible = world.request().ccid(77);
    is_refused(
        RingClient::connect(&path, &impossible),
        "77: must be one of",
    );
    await_ended(1);
    let first = RingClient::connect(&path, &world.request()).unwrap();
    let second = RingClient::connect(&path, &world.request());
    is_refused(second, "one is enough");
    assert_eq!(ended.load(Ordering::Relaxed), 1);
    drop(first);
    await_ended(2);
    // Connections that the server ends have ended, too.
    let _third = RingClient::connect(&path, &world.request()).unwrap();
    drop(server);
    assert_eq!(ended.load(Ordering::Relaxed), 3);
}

#[test]
fn repeated_close_or_abort_ends_the_channel() {
    let world = World::new("again", RingLimits::default());
    for message in [ClientMessage::Close, ClientMessage::Abort].map(|message| message.build()) {
        let (channel, _memory, _bell, _socket) = world.lawless();
        // The server looks at all of them together, before it notices the connection's end.
        let told = (0..100).take_while(|_| channel.send(&message, &[]).is_ok());
        assert!(told.count() >= 2);
        while receive(&channel).is_some() {}
    }
    // An honest application may repeat itself.
    let (mut ring, _peer) = world.honest();
    ring.abort();
    ring.abort();
    let reasons = [(); 2].map(|()| ring.close(PATIENCE));
    let aborted = CloseReason::Aborted(ResetCode::ABORTED);
    assert_eq!(reasons, [Ok(aborted.clone()), Ok(aborted)]);
}

/// A policy that panics unless a request names CCID 2, and whenever a connection ends.
struct Rash;

impl RingPolicy for Rash {
    fn allow(&mut self, _: &RingCaller, request: &RingRequest) -> Result<Options, String> {
        assert_eq!(request.ccid, Some(2), "a test's panic");
        Ok(Options::new())
    }

    fn released(&mut self, _: &RingCaller, _: u32) {
        panic!("a test's panic");
    }
}

#[test]
fn policy_that_panics_refuses_and_the_server_goes_on() {
    let world = World::new("panics", RingLimits::default());
    let path = world.path.with_extension("rash");
    let server = RingServer::bind(&path, RingLimits::default(), Rash).unwrap();
    for _ in 0..2 {
        let refused = RingClient::connect(&path, &world.request());
        is_refused(refused, "policy has failed");
        let mut ring = RingClient::connect(&path, &world.request().ccid(2)).unwrap();
        assert_eq!(ring.close(PATIENCE), Ok(CloseReason::Local));
    }
    drop(server);
}

#[test]
fn silent_clients_take_no_seats() {
    let limits = RingLimits {
        clients: 8,
        ..RingLimits::default()
    };
    let world = World::new("crowd", limits);
    let silent: Vec<Channel> = (0..64)
        .map(|_| Channel::connect(&world.path, PATIENCE).unwrap())
        .collect();
    let rings: Vec<RingClient> = (0..limits.clients)
        .map(|_| world.connect().unwrap())
        .collect();
    is_refused(world.connect(), "too many applications");
    // The oldest ones were told so.
    let (message, _) = receive(&silent[0]).unwrap();
    assert!(matches!(
        ServerMessage::parse(&message),
        Some(ServerMessage::Refused(_))
    ));
    assert!(receive(&silent[0]).is_none());
    drop(rings);
}

#[test]
fn silent_client_is_disconnected() {
    let world = World::new("silence", RingLimits::default());
    let begin = dccp::clock::now();
    let silent = Channel::connect(&world.path, PATIENCE).unwrap();
    assert!(receive(&silent).is_none());
    assert!(dccp::clock::now() - begin >= Duration::from_secs(5));
}

/// Waits for the first application and its request.
fn first_visitor(gate: &Gate) -> Channel {
    let channel = loop {
        match gate.accept() {
            Ok(channel) => break channel,
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    };
    receive(&channel).unwrap();
    channel
}

/// Sends a message with up to 8 descriptors: more than any that a channel sends, so that some are lost on arrival, as when
/// the other process may have no more.
fn send_with(channel: &Channel, message: &[u8], fds: &[OwnedFd]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds: Vec<_> = fds.iter().map(OwnedFd::as_fd).collect();
    if !fds.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&fds)));
    }
    let message = [IoSlice::new(message)];
    sendmsg(channel, &message, &mut ancillary, SendFlags::empty()).unwrap();
}

fn sockets(n: usize) -> Vec<OwnedFd> {
    let one = || UnixStream::pair().unwrap().0.into();
    core::iter::repeat_with(one).take(n).collect()
}

fn is_out_of_descriptors(error: &SharedError) -> bool {
    let SharedError::Memory(error) = error else {
        return false;
    };
    error.raw_os_error() == Some(Errno::MFILE.raw_os_error())
}

/// The outcome for a client whose server sends these messages at once and ends.
fn connect_to_scripted_server(name: &str, last: Event) -> Result<RingClient, RingConnectError> {
    let path = std::env::temp_dir().join(format!("dccp-{name}-{}", std::process::id()));
    let gate = Gate::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let channel = first_visitor(&gate);
        let (transport, memory) = shared::create(SHAPE, silent()).unwrap();
        let (_bell, theirs) = Doorbell::pair().unwrap();
        let fds = [memory.as_fd(), theirs.as_fd()];
        channel
            .send(&ServerMessage::Lent(unused()).build(), &fds)
            .unwrap();
        let told = (1200..1220).map(Event::Mps).chain([last]);
        for event in told {
            let message = ServerMessage::Event(event, None).build();
            channel.send(&message, &[]).unwrap();
        }
        // Its memory goes with it.
        transport
    });
    let request = RingRequest::new(unused(), SHAPE);
    let connected = RingClient::connect(&path, &request);
    drop(server.join().unwrap());
    std::fs::remove_file(&path).unwrap();
    connected
}

#[test]
fn events_do_not_hide_the_begin_or_the_end_of_a_connection() {
    let connected = connect_to_scripted_server("told", Event::Connected);
    assert!(connected.is_ok(), "{connected:?}");
    let closed = Event::Closed(CloseReason::TimedOut);
    let ended = connect_to_scripted_server("told-end", closed);
    assert!(
        matches!(ended, Err(RingConnectError::Ended(CloseReason::TimedOut))),
        "{ended:?}"
    );
}

#[test]
fn server_that_does_not_answer_ends_connect_in_its_time() {
    let short = Duration::from_millis(200);
    let path = std::env::temp_dir().join(format!("dccp-mute-{}", std::process::id()));
    let gate = Gate::bind(&path).unwrap();
    let request = RingRequest::new(unused(), SHAPE);
    let end = || {
        let begin = dccp::clock::now();
        let connected = RingClient::connect_timeout(&path, &request, short);
        let passed = dccp::clock::now() - begin;
        assert!(passed >= short && passed < PATIENCE, "{passed:?}");
        connected.expect_err("nobody answers")
    };
    // It does not answer the request.
    assert!(matches!(end(), RingConnectError::TimedOut));
    // It does not accept, and its backlog is full.
    let brief = Duration::from_millis(1);
    let connect = || Channel::connect(&path, brief).ok();
    let waiting: Vec<Channel> = core::iter::from_fn(connect).take(1000).collect();
    assert!(waiting.len() < 1000);
    assert!(matches!(end(), RingConnectError::TimedOut));
    drop(waiting);
    while gate.accept().is_ok() {}
    // It lends a ring and never reports the connection open.
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let server = thread::spawn(move || {
        let channel = first_visitor(&gate);
        let (transport, memory) = shared::create(SHAPE, silent()).unwrap();
        let (_bell, theirs) = Doorbell::pair().unwrap();
        let fds = [memory.as_fd(), theirs.as_fd()];
        channel
            .send(&ServerMessage::Lent(unused()).build(), &fds)
            .unwrap();
        let _ = is_over.recv();
        transport
    });
    assert!(matches!(end(), RingConnectError::NoAnswer));
    drop(over);
    drop(server.join().unwrap());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn ended_server_leaves_no_false_datagrams_or_fates() {
    // It has taken its memory back.
    let mut ring = connect_to_scripted_server("gone", Event::Connected).unwrap();
    let mut fates = Vec::new();
    ring.recv_fates(&mut fates, 9).unwrap();
    assert_eq!(ring.recv(&mut [0; 9]), Err(RingError::ServerGone));
    assert_eq!(ring.wait_for_fates(PATIENCE), Ok(false));
    ring.recv_fates(&mut fates, 9).unwrap();
    assert!(fates.is_empty(), "{fates:?}");
}

#[test]
fn client_without_room_for_the_descriptors_of_a_ring_gets_an_error() {
    let path = std::env::temp_dir().join(format!("dccp-many-{}", std::process::id()));
    let gate = Gate::bind(&path).unwrap();
    let server = thread::spawn(move || {
        let channel = first_visitor(&gate);
        send_with(
            &channel,
            &ServerMessage::Lent(unused()).build(),
            &sockets(8),
        );
    });
    let request = RingRequest::new(unused(), SHAPE);
    let connected = RingClient::connect(&path, &request);
    server.join().unwrap();
    std::fs::remove_file(&path).unwrap();
    let Err(RingConnectError::Ring(error)) = connected else {
        panic!("{connected:?}");
    };
    assert!(is_out_of_descriptors(&error), "{error}");
}

#[test]
fn second_server_at_a_path_is_refused() {
    let world = World::new("path", RingLimits::default());
    let policy = |_: &RingCaller, _: &RingRequest| Ok(Options::new());
    let second = RingServer::bind(&world.path, RingLimits::default(), policy);
    assert!(matches!(second, Err(RingServerError::Path { .. })));
    world.connect().unwrap();
    let path = world.path.clone();
    drop(world);
    let gone = RingClient::connect(&path, &RingRequest::new(unused(), SHAPE));
    assert!(
        matches!(gone, Err(RingConnectError::NoServer { .. })),
        "{gone:?}"
    );
}
