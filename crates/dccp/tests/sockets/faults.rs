//! System calls that fail: each test runs itself again under `strace`, which makes calls of the engine's thread fail.

use crate::{PATIENCE, PORT, listen, options, until};
use core::time::Duration;
use dccp::{CloseReason, Engine, EngineOptions, Event, Listener, ListenerEvent, Socket};
use dccp_dev::rerun;
use std::env;
use std::net::UdpSocket;
use std::process::{Command, Stdio};

const TRACED: &str = "DCCP_SOCKETS_TRACED";

/// Whether this process is traced. If not, the test `name` is run again with this fault; where that cannot be, it
/// says so. `strace` counts calls for each thread apart.
pub(crate) fn is_traced(name: &str, fault: &str) -> bool {
    if env::var_os(TRACED).is_some() {
        return true;
    }
    let probe = Command::new("strace")
        .args([
            "-f",
            "-o",
            "/dev/null",
            "-e",
            "inject=getpid:error=EPERM",
            "true",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        println!("SKIP {name}: needs strace, and the right to trace");
        return false;
    }
    let mut tracer = Command::new("strace");
    tracer
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "signal=none"])
        .args(["-e", &format!("inject={fault}")]);
    rerun::run(&mut tracer, name, TRACED);
    false
}

/// The poller's calls, by their names on all architectures.
const WAITS: &str = "?epoll_wait,?epoll_pwait,?epoll_pwait2";

#[test]
fn connection_works_while_every_wait_of_the_engine_fails() {
    let fault = format!("{WAITS}:error=EBADF:when=3+");
    if !is_traced(
        "faults::connection_works_while_every_wait_of_the_engine_fails",
        &fault,
    ) {
        return;
    }
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    let options = options().engine(&engine);
    let (listener, address) = listen(&options);
    let client = Socket::connect((address, PORT), &options).unwrap();
    let server = listener.accept_timeout(PATIENCE).unwrap();
    let mut buf = [0; 2000];
    for _ in 0..100 {
        client.send(&[7; 1000]).unwrap();
        assert_eq!(server.recv(&mut buf), Ok(1000));
    }
    assert_eq!(client.close(), Ok(CloseReason::Local));
}

/// 4340-18-10: each fault costs datagrams, and no connection.
#[test]
fn connection_survives_receive_calls_that_fail_now_and_then() {
    if !is_traced(
        "faults::connection_survives_receive_calls_that_fail_now_and_then",
        "recvmmsg:error=EBADF:when=20+60",
    ) {
        return;
    }
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    let options = options().engine(&engine);
    let (listener, address) = listen(&options);
    let client = Socket::connect((address, PORT), &options).unwrap();
    let server = listener.accept_timeout(PATIENCE).unwrap();
    // A datagram that falls in a gap is lost, so the receiver does not wait for it.
    server.set_recv_timeout(Some(Duration::from_millis(1)));
    let mut losses = 0;
    let mut buf = [0; 2000];
    until("three losses", || {
        client.send(&[7; 1000]).unwrap();
        while server.recv(&mut buf).is_ok() {}
        for socket in [&client, &server] {
            let events = core::iter::from_fn(|| socket.poll_event());
            losses += events
                .filter(|e| matches!(e, Event::SocketLost { .. }))
                .count();
        }
        losses >= 3
    });
    until("data arrive after three losses", || {
        client.send(b"at last").unwrap();
        server.recv(&mut buf) == Ok(7)
    });
}

/// 4340-18-10: another process holds the socket too, as a service manager does, so that its address is never free.
#[test]
fn given_socket_goes_on_after_receive_calls_that_fail() {
    if !is_traced(
        "faults::given_socket_goes_on_after_receive_calls_that_fail",
        "recvmmsg:error=EBADF:when=20+60",
    ) {
        return;
    }
    let held = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = held.local_addr().unwrap();
    let ends = [(); 2].map(|()| Engine::start(&EngineOptions::new()).unwrap());
    let [client, server] = ends.each_ref().map(|engine| options().engine(engine));
    let given = held.try_clone().unwrap();
    let listener = Listener::from_udp_socket(given, PORT, &server).unwrap();
    let client = Socket::connect((to, PORT), &client).unwrap();
    let server = listener.accept_timeout(PATIENCE).unwrap();
    server.set_recv_timeout(Some(Duration::from_millis(1)));
    let mut events = Vec::new();
    let mut buf = [0; 2000];
    until("the socket is lost and restored three times", || {
        client.send(&[7; 1000]).unwrap();
        while server.recv(&mut buf).is_ok() {}
        events.extend(core::iter::from_fn(|| listener.poll_event()));
        let restored = |e: &&ListenerEvent| matches!(e, ListenerEvent::SocketRestored { .. });
        events.iter().filter(restored).count() >= 3
    });
    let is_loss = |e: &&ListenerEvent| matches!(e, ListenerEvent::SocketLost { error, .. } if error.raw_os_error() == Some(9));
    assert!(events.iter().filter(is_loss).count() >= 3, "{events:?}");
    until("data arrive afterwards", || {
        client.send(b"at last").unwrap();
        server.recv(&mut buf) == Ok(7)
    });
    // The listener works too, at the same socket.
    let other = Socket::connect((to, PORT), &options()).unwrap();
    listener.accept_timeout(PATIENCE).unwrap();
    drop((other, held));
}
