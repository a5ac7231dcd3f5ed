//! Rings between real processes, one is killed.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use dccp::Fate;
use dccp::packet_ring::{Label, PushError, Shape};
use dccp::{
    CloseReason, DccpAddr, Engine, EngineOptions, Event, Listener, Options, RecvError, RingFate,
    Socket,
};
use dccp_ring_ipc::{
    RingCaller, RingClient, RingError, RingLimits, RingListenRequest, RingListener, RingPolicy,
    RingRequest, RingServer,
};

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const PORT: u16 = 5001;
/// Tells the second process where the server is (or is to be), and where to connect to.
const PATH: &str = "TEST_RING_PATH";
const PEER: &str = "TEST_RING_PEER";

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dccp-{name}-{}", std::process::id()))
}

fn listen() -> (Listener, DccpAddr) {
    let options = Options::new().recv_timeout(PATIENCE);
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options).unwrap();
    let address = listener.local_addrs()[0];
    (listener, address)
}

fn serve(path: &Path) -> RingServer {
    let policy = |_: &RingCaller, _: &RingRequest| Ok(Options::new());
    RingServer::bind(path, RingLimits::default(), policy).unwrap()
}

/// This program runs the test again in a second process.
fn spawn(test: &str, path: &Path, peer: DccpAddr) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(PATH, path)
        .env(PEER, peer.to_string())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Where the server is and where to connect to, in the second process.
fn given() -> Option<(PathBuf, DccpAddr)> {
    let path = std::env::var_os(PATH)?;
    let peer = std::env::var(PEER).ok()?;
    Some((path.into(), peer.parse().ok()?))
}

fn tag(tag: u64) -> Label {
    Label {
        tag,
        ..Label::default()
    }
}

fn connect(path: &Path, peer: DccpAddr) -> RingClient {
    let request = RingRequest::new(peer, Shape::new(16, 100));
    let mut ring = RingClient::connect(path, &request).unwrap();
    ring.set_timeout(Some(PATIENCE));
    ring
}

/// A lent ring and the other end of its connection.
fn join(listener: &Listener, path: &Path, peer: DccpAddr) -> (RingClient, Socket) {
    thread::scope(|scope| {
        let ring = scope.spawn(|| connect(path, peer));
        let socket = listener.accept().unwrap();
        (ring.join().unwrap(), socket)
    })
}

/// The numbers that a socket gets until the connection ends.
fn numbers(socket: &Socket) -> (Vec<u64>, RecvError) {
    let mut got = Vec::new();
    let mut buf = [0; 8];
    loop {
        match socket.recv(&mut buf) {
            Ok(_) => got.push(u64::from_le_bytes(buf)),
            Err(error) => return (got, error),
        }
    }
}

#[test]
fn datagrams_and_fates_cross_two_processes_and_an_echo_comes_back() {
    const N: u64 = 500;
    if let Some((path, peer)) = given() {
        let mut ring = connect(&path, peer);
        assert!(ring.max_packet_size().is_some());
        let (mut pushed, mut echoed, mut fates) = (0, 0, Vec::new());
        let mut buf = [0; 8];
        while echoed < N {
            while pushed < N.min(echoed + 16) {
                match ring.sender().push(&pushed.to_le_bytes(), tag(pushed)) {
                    Ok(_) => pushed += 1,
                    Err(PushError::Full) => ring.wait_for_room().unwrap(),
                    Err(error) => panic!("{error}"),
                }
            }
            let meta = ring.recv_meta(&mut buf).unwrap();
            assert_eq!((meta.len, u64::from_le_bytes(buf)), (8, echoed));
            let meta = meta.delivery;
            // The clock is the same on both sides.
            assert!(meta.arrived <= dccp::clock::now());
            assert!(dccp::clock::now() - meta.arrived < PATIENCE);
            echoed += 1;
            ring.recv_fates(&mut fates, 100).unwrap();
        }
        ring.close(PATIENCE).unwrap();
        while fates.len() as u64 + ring.sender().fates_missed() < N {
            assert!(ring.wait_for_fates(PATIENCE).unwrap());
            ring.recv_fates(&mut fates, 100).unwrap();
        }
        assert!(fates.iter().filter(|f| f.fate == Fate::Acked).count() > 400);
        return;
    }
    let (listener, peer) = listen();
    let path = path("echo");
    let _server = serve(&path);
    let test = "datagrams_and_fates_cross_two_processes_and_an_echo_comes_back";
    let mut child = spawn(test, &path, peer);
    let socket = listener.accept().unwrap();
    let mut buf = [0; 8];
    for n in 0..N {
        assert_eq!(socket.recv(&mut buf), Ok(8));
        assert_eq!(u64::from_le_bytes(buf), n);
        socket.send(&buf).unwrap();
    }
    let (more, error) = numbers(&socket);
    assert!(more.is_empty() && matches!(error, RecvError::Closed(_)));
    assert!(child.wait().unwrap().success());
}

#[test]
fn datagrams_of_a_killed_client_leave_and_its_connection_closes() {
    const N: u64 = 10;
    if let Some((path, peer)) = given() {
        let mut ring = connect(&path, peer);
        let mut batch = ring.sender().batch();
        (0..N).for_each(|n| _ = batch.push(&n.to_le_bytes(), tag(n)).unwrap());
        drop(batch);
        // Datagrams that it holds when it dies do not leave.
        ring.sender().push(&[255; 8], tag(0)).unwrap();
        let held = ring.sender().take_back(1).unwrap();
        thread::sleep(PATIENCE);
        panic!("nobody has killed {held:?}");
    }
    let (listener, peer) = listen();
    let path = path("killed-client");
    let _server = serve(&path);
    let test = "datagrams_of_a_killed_client_leave_and_its_connection_closes";
    let mut child = spawn(test, &path, peer);
    let socket = listener.accept().unwrap();
    let mut buf = [0; 8];
    assert_eq!(socket.recv(&mut buf), Ok(8));
    child.kill().unwrap();
    child.wait().unwrap();
    let (mut got, error) = numbers(&socket);
    assert!(matches!(error, RecvError::Closed(_)), "{error}");
    // The one that was pushed last may have left before it was taken back.
    got.retain(|&n| n != u64::MAX);
    assert!(got.into_iter().eq(1..N));
    // The server serves the next one.
    let (mut ring, socket) = join(&listener, &path, peer);
    ring.abort();
    assert_eq!(numbers(&socket).0, []);
}

#[test]
fn client_detects_that_its_server_was_killed() {
    if let Some((path, _)) = given() {
        let _server = serve(&path);
        thread::sleep(PATIENCE);
        panic!("nobody has killed the server");
    }
    let (listener, peer) = listen();
    let path = path("killed-server");
    let mut child = spawn("client_detects_that_its_server_was_killed", &path, peer);
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let (mut ring, _socket) = join(&listener, &path, peer);
    ring.sender().push(&[7; 8], tag(7)).unwrap();
    while ring.poll_event().is_some() {}
    assert_eq!(ring.over(), None);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(ring.recv(&mut [0; 8]), Err(RingError::ServerGone));
    assert_eq!(ring.wait_for_room(), Err(RingError::ServerGone));
    assert_eq!(ring.close(PATIENCE), Err(RingError::ServerGone));
    // The ring itself holds as long as its application likes.
    while ring.sender().push(&[8; 8], tag(8)).is_ok() {}
    let mut fates = Vec::new();
    while ring.wait_for_fates(PATIENCE).unwrap() {
        ring.recv_fates(&mut fates, 100).unwrap();
    }
    let is_it = |told: &&RingFate| told.tag == 8 && told.fate == Fate::Withdrawn;
    assert!(fates.iter().filter(is_it).count() >= 15);
    // Another server takes the deserted path.
    drop(serve(&path));
    assert!(!path.exists());
}

#[test]
fn client_detects_the_end_of_its_connection() {
    let (listener, peer) = listen();
    let path = path("end");
    let server = serve(&path);
    let (mut ring, socket) = join(&listener, &path, peer);
    socket.send(b"the last one").unwrap();
    socket.close().unwrap();
    let mut buf = [0; 100];
    assert_eq!(ring.recv(&mut buf), Ok(12));
    let over = ring.recv(&mut buf);
    assert!(matches!(over, Err(RingError::Closed(_))), "{over:?}");
    let events: Vec<Event> = core::iter::from_fn(|| ring.poll_event()).collect();
    assert!(
        matches!(events.last(), Some(Event::Closed(_))),
        "{events:?}"
    );
    drop(server);
}

/// Allows every listener, with an engine of its own.
struct Lets(Engine);

impl RingPolicy for Lets {
    fn allow(&mut self, _: &RingCaller, _: &RingRequest) -> Result<Options, String> {
        Err("only listening".into())
    }

    fn allow_listening(
        &mut self,
        _: &RingCaller,
        _: &RingListenRequest,
    ) -> Result<Options, String> {
        Ok(Options::new().engine(&self.0))
    }
}

fn serve_listeners(path: &Path) -> RingServer {
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    RingServer::bind(path, RingLimits::default(), Lets(engine)).unwrap()
}

/// Listens in the second process, at the requested address.
fn listen_through(path: &Path, local: DccpAddr) -> RingListener {
    let request = RingListenRequest::new(local, Shape::new(16, 100));
    let mut listener = RingListener::bind(path, &request).unwrap();
    listener.set_timeout(Some(PATIENCE));
    listener
}

/// A UDP port that is free at this moment.
fn free_place() -> DccpAddr {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    (socket.local_addr().unwrap(), PORT).into()
}

/// Connects as soon as the listener is there.
fn connect_in_time(to: DccpAddr) -> Socket {
    let options = Options::new().recv_timeout(PATIENCE);
    for _ in 0..1000 {
        if let Ok(socket) = Socket::connect(to, &options) {
            return socket;
        }
        thread::sleep(PATIENCE / 1000);
    }
    panic!("nobody listens at {to}");
}

#[test]
fn another_process_accepts_connections_and_echoes() {
    const N: u64 = 200;
    if let Some((path, local)) = given() {
        let mut listener = listen_through(&path, local);
        let mut rings = [(); 2].map(|()| listener.accept().unwrap());
        drop(listener);
        let mut buf = [0; 8];
        for ring in &mut rings {
            ring.set_timeout(Some(PATIENCE));
            for n in 0..N {
                assert_eq!(ring.recv(&mut buf), Ok(8));
                let told = u64::from_le_bytes(buf);
                assert_eq!(told, n);
                ring.sender().push(&buf, tag(n)).unwrap();
            }
            let over = ring.recv(&mut buf);
            assert!(matches!(over, Err(RingError::Closed(_))), "{over:?}");
        }
        return;
    }
    let local = free_place();
    let path = path("accepting");
    let _server = serve_listeners(&path);
    let test = "another_process_accepts_connections_and_echoes";
    let mut child = spawn(test, &path, local);
    let sockets = [(); 2].map(|()| connect_in_time(local));
    let mut buf = [0; 8];
    for socket in &sockets {
        for n in 0..N {
            socket.send(&n.to_le_bytes()).unwrap();
            assert_eq!(socket.recv(&mut buf), Ok(8));
            assert_eq!(u64::from_le_bytes(buf), n);
        }
        socket.close().unwrap();
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn port_of_killed_listener_is_free_and_its_connections_are_closed() {
    if let Some((path, local)) = given() {
        let mut listener = listen_through(&path, local);
        let mut ring = listener.accept().unwrap();
        ring.sender().push(&7_u64.to_le_bytes(), tag(7)).unwrap();
        thread::sleep(PATIENCE);
        panic!("nobody has killed {ring:?}");
    }
    let local = free_place();
    let path = path("killed-listener");
    let _server = serve_listeners(&path);
    let test = "port_of_killed_listener_is_free_and_its_connections_are_closed";
    let mut child = spawn(test, &path, local);
    let accepted = connect_in_time(local);
    let waiting = connect_in_time(local);
    let mut buf = [0; 8];
    assert_eq!(accepted.recv(&mut buf), Ok(8));
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    let again = || Listener::bind(local, &Options::new().engine(&engine));
    assert!(again().is_err());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(accepted.wait_closed(PATIENCE), Ok(CloseReason::Peer));
    let reset = waiting.wait_closed(PATIENCE);
    assert!(matches!(reset, Ok(CloseReason::Reset { .. })), "{reset:?}");
    let found = (0..1000).find_map(|_| {
        thread::sleep(PATIENCE / 1000);
        again().ok()
    });
    assert!(found.is_some());
}
