//! Applications that accept connections through rings, and those that abuse it.

use super::readiness::is_readable;
use super::*;
use crate::message::MESSAGE_MAX;
use dccp::ConnectError;
use dccp_proto::path::Encap;
use dccp_proto::wire::ServiceCode;

/// Allows listeners at DCCP port 5001, with these options.
struct Lets {
    options: Options,
    ended: Arc<AtomicUsize>,
}

impl RingPolicy for Lets {
    fn allow(&mut self, _: &RingCaller, _: &RingRequest) -> Result<Options, String> {
        Err("only listening".into())
    }

    fn allow_listening(
        &mut self,
        caller: &RingCaller,
        request: &RingListenRequest,
    ) -> Result<Options, String> {
        assert_eq!(caller.pid, std::process::id());
        match request.local.dccp_port {
            PORT => Ok(self.options.clone()),
            _ => Err("only at port 5001".into()),
        }
    }

    fn released(&mut self, _: &RingCaller, _: u32) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// A server that listens for applications.
struct Host {
    path: PathBuf,
    ended: Arc<AtomicUsize>,
    _server: RingServer,
}

impl Host {
    fn new(name: &str, limits: RingLimits, options: Options) -> Self {
        let path = std::env::temp_dir().join(format!("dccp-{name}-{}", std::process::id()));
        let ended = Arc::new(AtomicUsize::new(0));
        let policy = Lets {
            options,
            ended: ended.clone(),
        };
        Self {
            _server: RingServer::bind(&path, limits, policy).unwrap(),
            path,
            ended,
        }
    }

    fn plain(name: &str) -> Self {
        Self::new(name, RingLimits::default(), Options::new())
    }

    fn listen(&self, request: &RingListenRequest) -> RingListener {
        let mut listener = RingListener::bind(&self.path, request).unwrap();
        listener.set_timeout(Some(PATIENCE));
        listener
    }

    /// An application that listens, but keeps to no rules.
    fn lawless(&self) -> (Channel, DccpAddr) {
        let channel = send_request(&self.path, &ClientMessage::Listen(request()).build());
        let (message, fds) = receive(&channel).unwrap();
        assert!(fds.is_empty());
        let Some(ServerMessage::Listening(at)) = ServerMessage::parse(&message) else {
            panic!("{message:?}");
        };
        (channel, at)
    }
}

fn request() -> RingListenRequest {
    RingListenRequest::new("127.0.0.1:0/5001".parse().unwrap(), SHAPE)
}

fn connect(to: DccpAddr) -> Socket {
    try_connect(to).unwrap()
}

fn try_connect(to: DccpAddr) -> Result<Socket, ConnectError> {
    Socket::connect(to, &Options::new().recv_timeout(PATIENCE))
}

/// Both ends send a datagram and receive the other's.
fn talk(ring: &mut RingClient, socket: &Socket) {
    let mut buf = [0; 100];
    socket.send(b"to the ring").unwrap();
    assert_eq!(ring.recv(&mut buf), Ok(11));
    assert_eq!(&buf[..11], b"to the ring");
    let label = Label::default();
    ring.sender().push(b"to the socket", label).unwrap();
    assert_eq!(socket.recv(&mut buf), Ok(13));
    assert_eq!(&buf[..13], b"to the socket");
}

fn is_accept_refused(listener: &mut RingListener, why: &str) {
    match listener.accept() {
        Err(RingAcceptError::Refused(said)) => assert!(said.contains(why), "{said}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn accepted_connections_talk_and_outlive_their_listener() {
    let host = Host::plain("accept");
    let codes = [*b"AAAA", *b"BBBB", *b"AAAA"];
    let request = codes
        .into_iter()
        .fold(request(), RingListenRequest::service_code);
    let mut listener = host.listen(&request.ccid(3));
    let to = listener.local_addr();
    assert_ne!(to.udp_port, 0);
    let mut pairs: Vec<_> = [*b"BBBB", *b"AAAA"]
        .map(|code| {
            let options = Options::new().service_code(code).recv_timeout(PATIENCE);
            let socket = Socket::connect(to, &options).unwrap();
            let mut ring = listener.accept().unwrap();
            ring.set_timeout(Some(PATIENCE));
            assert_eq!(ring.service_code(), ServiceCode(u32::from_be_bytes(code)));
            assert_eq!(ring.peer_addr().ip, to.ip);
            assert!(ring.max_packet_size().is_some());
            let Encap::Udp { local_port, .. } = socket.flow().path.encap else {
                panic!("over UDP");
            };
            assert_eq!(ring.peer_addr().udp_port, local_port);
            assert_eq!(socket.snapshot().unwrap().tx_ccid, 3);
            (ring, socket)
        })
        .into();
    for (ring, socket) in &mut pairs {
        talk(ring, socket);
    }
    drop(listener);
    until("nobody listens any more", || try_connect(to).is_err());
    for (mut ring, socket) in pairs {
        talk(&mut ring, &socket);
        assert_eq!(ring.close(PATIENCE), Ok(CloseReason::Local));
        assert!(socket.wait_closed(PATIENCE).is_ok());
    }
}

#[test]
fn listening_is_refused_unless_the_policy_allows_it() {
    let world = World::new("default", RingLimits::default());
    is_refused(
        RingListener::bind(&world.path, &request()),
        "this server allows no listeners",
    );
    let host = Host::plain("impossible");
    let with = |change: fn(&mut RingListenRequest)| {
        let mut request = request();
        change(&mut request);
        RingListener::bind(&host.path, &request)
    };
    is_refused(with(|r| r.local.dccp_port = 5002), "only at port 5001");
    assert_eq!(host.ended.load(Ordering::Relaxed), 0);
    is_refused(with(|r| r.shape.slots = 3), "a power of two");
    is_refused(with(|r| r.ccid = Some(77)), "77: must be one of");
    is_refused(with(|r| r.local.udp_port = 6511), "reserved for the system");
    let many = |r: &mut RingListenRequest| r.services = vec![ServiceCode(7); 33];
    is_refused(with(many), "32 Service Codes at most");
    // Listeners that were not opened have ended.
    until("three have ended", || {
        host.ended.load(Ordering::Relaxed) == 3
    });
}

#[test]
fn datagrams_sent_before_accept_arrive_through_the_ring() {
    let host = Host::plain("before");
    let mut listener = host.listen(&request());
    let socket = connect(listener.local_addr());
    socket.send(b"early").unwrap();
    socket.close().unwrap();
    let mut ring = listener.accept().unwrap();
    ring.set_timeout(Some(PATIENCE));
    let mut buf = [0; 100];
    assert_eq!(ring.recv(&mut buf), Ok(5));
    let over = ring.recv(&mut buf);
    assert!(matches!(over, Err(RingError::Closed(_))), "{over:?}");
}

#[test]
fn accept_after_a_timeout_returns_a_later_connection() {
    let host = Host::plain("later");
    let mut listener = host.listen(&request());
    for at_most in [Duration::ZERO, Duration::from_millis(1)] {
        let none = listener.accept_timeout(at_most);
        assert!(matches!(none, Err(RingAcceptError::TimedOut)), "{none:?}");
    }
    let socket = connect(listener.local_addr());
    let mut ring = listener.accept().unwrap();
    ring.set_timeout(Some(PATIENCE));
    talk(&mut ring, &socket);
}

#[test]
fn connection_without_room_for_its_ring_waits_until_there_is() {
    let bytes = SHAPE.bytes().unwrap();
    let memory = |memory| RingLimits {
        memory,
        ..RingLimits::default()
    };
    let clients = |clients| RingLimits {
        clients,
        ..RingLimits::default()
    };
    let cases = [
        ("memory", memory(2 * bytes - 1), 16, "bytes"),
        ("seats", clients(2), 16, "too many applications"),
        ("few", RingLimits::default(), 1, "all 1 connections"),
    ];
    for (name, limits, connections, why) in cases {
        let host = Host::new(&format!("room-{name}"), limits, Options::new());
        let mut listener = host.listen(&request().connections(connections));
        let sockets = [(); 2].map(|()| connect(listener.local_addr()));
        let mut first = listener.accept().unwrap();
        first.set_timeout(Some(PATIENCE));
        is_accept_refused(&mut listener, why);
        is_accept_refused(&mut listener, why);
        talk(&mut first, &sockets[0]);
        drop(first);
        let mut second = None;
        until("there is room again", || {
            second = listener.accept().ok();
            second.is_some()
        });
        let mut second = second.unwrap();
        second.set_timeout(Some(PATIENCE));
        talk(&mut second, &sockets[1]);
    }
}

#[test]
fn listener_that_never_accepts_holds_at_most_the_backlog() {
    let options = Options::new().backlog(2);
    let host = Host::new("backlog", RingLimits::default(), options);
    let listener = host.listen(&request());
    let waiting = [(); 2].map(|()| connect(listener.local_addr()));
    let refused = try_connect(listener.local_addr());
    assert!(
        matches!(refused, Err(ConnectError::TooBusy { .. })),
        "{refused:?}"
    );
    // Connections that were not accepted end with the listener.
    drop(listener);
    for socket in waiting {
        let reset = socket.wait_closed(PATIENCE).unwrap();
        assert!(matches!(reset, CloseReason::Reset { .. }), "{reset:?}");
    }
}

#[test]
fn listener_has_ended_once_all_its_connections_have() {
    let host = Host::plain("ended");
    let ended = || host.ended.load(Ordering::Relaxed);
    let mut listener = host.listen(&request());
    let sockets = [(); 2].map(|()| connect(listener.local_addr()));
    let rings = sockets.each_ref().map(|_| listener.accept().unwrap());
    let to = listener.local_addr();
    drop(listener);
    until("nobody listens any more", || try_connect(to).is_err());
    let [first, mut second] = rings;
    drop(first);
    assert!(sockets[0].wait_closed(PATIENCE).is_ok());
    talk(&mut second, &sockets[1]);
    assert_eq!(ended(), 0);
    drop(second);
    until("it has ended", || ended() == 1);
    // The port can be had again, and the server itself ends what is left.
    let mut request = request();
    request.local = to;
    let _listener = host.listen(&request);
    let ended = host.ended.clone();
    drop(host);
    assert_eq!(ended.load(Ordering::Relaxed), 2);
}

#[test]
fn untimely_message_ends_its_listener_and_no_other() {
    let host = Host::plain("wrong");
    let mut honest = host.listen(&request());
    let listen = ClientMessage::Listen(request()).build();
    let lend = ClientMessage::Lend(RingRequest::new(honest.local_addr(), SHAPE)).build();
    let accept = ClientMessage::Accept.build();
    // Before it listens.
    assert!(receive(&send_request(&host.path, &accept)).is_none());
    assert!(receive(&send_request(&host.path, &listen[..listen.len() - 1])).is_none());
    // Afterwards.
    let long = [3; MESSAGE_MAX + 1];
    for wrong in [
        &listen,
        &lend,
        &ClientMessage::Close.build(),
        &ClientMessage::Abort.build(),
    ] {
        let (channel, at) = host.lawless();
        channel.send(wrong, &[]).unwrap();
        assert!(receive(&channel).is_none(), "{wrong:?}");
        until("nobody listens any more", || try_connect(at).is_err());
    }
    for (first, second) in [(&accept[..], &accept[..]), (&accept, &long), (&accept, &[])] {
        let (channel, _) = host.lawless();
        channel.send(first, &[]).unwrap();
        // The server may have gone already.
        let _ = channel.send(second, &[]);
        assert!(receive(&channel).is_none(), "{second:?}");
    }
    let socket = connect(honest.local_addr());
    let mut ring = honest.accept().unwrap();
    ring.set_timeout(Some(PATIENCE));
    talk(&mut ring, &socket);
}

#[test]
fn unexpected_descriptors_are_harmless() {
    let host = Host::plain("descriptors");
    let (channel, at) = host.lawless();
    let (mine, _other) = UnixStream::pair().unwrap();
    let fds = [mine.as_fd(), mine.as_fd(), mine.as_fd()];
    let send = |channel: &Channel, message: &[u8]| {
        if let Err(error) = channel.send(message, &fds) {
            // So from Linux 6.16 on; a server of an older system closes them.
            assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
            channel.send(message, &[]).unwrap();
        }
    };
    send(&channel, &ClientMessage::Accept.build());
    let socket = connect(at);
    let (message, fds) = receive(&channel).unwrap();
    let answer = ServerMessage::parse(&message);
    assert!(
        matches!(answer, Some(ServerMessage::Accepted { .. })),
        "{answer:?}"
    );
    let [_memory, _bell, line] = <[OwnedFd; 3]>::try_from(fds).unwrap();
    let line = Channel::of(line);
    send(&line, &ClientMessage::Abort.build());
    assert_eq!(end(&line), CloseReason::Aborted(ResetCode::ABORTED));
    assert!(socket.wait_closed(PATIENCE).is_ok());
    // A wrong message of an accepted connection's application ends that only.
    channel.send(&ClientMessage::Accept.build(), &[]).unwrap();
    let socket = connect(at);
    let (_, mut fds) = receive(&channel).unwrap();
    let line = Channel::of(fds.pop().unwrap());
    line.send(&ClientMessage::Accept.build(), &[]).unwrap();
    assert!(socket.wait_closed(PATIENCE).is_ok());
    channel.send(&ClientMessage::Accept.build(), &[]).unwrap();
    let _socket = connect(at);
    assert!(receive(&channel).is_some());
}

/// The outcome for a client whose server answers like this when asked for a connection.
fn accept_from_who_says(
    name: &str,
    message: &[u8],
    fds: &[OwnedFd],
) -> [Result<RingClient, RingAcceptError>; 2] {
    let path = std::env::temp_dir().join(format!("dccp-{name}-{}", std::process::id()));
    let gate = Gate::bind(&path).unwrap();
    let accepted = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut listener = RingListener::bind(&path, &request()).unwrap();
            listener.set_timeout(Some(PATIENCE));
            [listener.accept(), listener.accept_timeout(Duration::ZERO)]
        });
        let channel = first_visitor(&gate);
        let listening = ServerMessage::Listening(request().local).build();
        channel.send(&listening, &[]).unwrap();
        receive(&channel).unwrap();
        send_with(&channel, message, fds);
        let accepted = client.join().unwrap();
        drop(channel);
        accepted
    });
    std::fs::remove_file(&path).unwrap();
    accepted
}

#[test]
fn invalid_message_of_the_server_ends_the_listener() {
    let accepted = ServerMessage::Accepted {
        local: unused(),
        peer: request().local,
        service: ServiceCode::NONE,
        mps: None,
    };
    let accepted = accepted.build();
    for (message, fds) in [
        (&[9][..], 0),
        (&ServerMessage::Lent(unused()).build(), 0),
        (&accepted, 0),
        (&accepted, 2),
    ] {
        let [first, second] = accept_from_who_says("nonsense", message, &sockets(fds));
        assert!(matches!(first, Err(RingAcceptError::Foreign)), "{first:?}");
        assert!(
            matches!(second, Err(RingAcceptError::ServerGone)),
            "{second:?}"
        );
    }
    // Three that are no ring: this one is lost, others may come.
    // The same if this process has no room for them.
    for (count, is_truncated) in [(3, false), (8, true)] {
        let [first, second] = accept_from_who_says("no-ring", &accepted, &sockets(count));
        let Err(RingAcceptError::Ring(error)) = first else {
            panic!("{first:?}");
        };
        assert_eq!(is_out_of_descriptors(&error), is_truncated, "{error}");
        assert!(
            matches!(second, Err(RingAcceptError::TimedOut)),
            "{second:?}"
        );
    }
}

#[test]
fn ready_fd_of_listener_is_readable_while_a_connection_waits() {
    let host = Host::plain("ready-listener");
    let mut listener = host.listen(&request());
    let fd = listener.ready_fd().unwrap();
    assert!(!is_readable(&fd, Duration::ZERO));
    for _ in 0..2 {
        let socket = connect(listener.local_addr());
        assert!(is_readable(&fd, PATIENCE));
        let mut ring = listener.accept_timeout(Duration::ZERO).unwrap();
        assert!(!is_readable(&fd, Duration::ZERO));
        ring.set_timeout(Some(PATIENCE));
        talk(&mut ring, &socket);
    }
    drop(host);
    assert!(is_readable(&fd, PATIENCE), "the end of the server");
    let over = listener.accept_timeout(Duration::ZERO);
    assert!(matches!(over, Err(RingAcceptError::ServerGone)), "{over:?}");
}
