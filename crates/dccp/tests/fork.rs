//! Sockets in a child of the process that made them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use core::time::Duration;
use dccp::{
    AcceptError, BindError, CloseError, Engine, EngineGone, Listener, Options, RecvError,
    SendError, Socket,
};
use fork::{Fork, WEXITSTATUS, WIFEXITED};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::panic::AssertUnwindSafe;

fn pair() -> (Listener, Socket, Socket) {
    let patience = Duration::from_secs(10);
    let options = Options::new().recv_timeout(patience).send_timeout(patience);
    let listener = Listener::bind("127.0.0.1:0/0", &options).unwrap();
    let client = Socket::connect(listener.local_addrs(), &options).unwrap();
    let server = listener.accept_timeout(patience).unwrap();
    (listener, client, server)
}

fn echo(client: &Socket, server: &Socket) {
    client.send(b"hello").unwrap();
    assert_eq!(server.recv_datagram().unwrap().bytes(), b"hello");
}

#[test]
fn child_leaves_the_descriptor_of_a_socket_readable() {
    let (_listener, client, _server) = pair();
    let fd = client.ready_fd().unwrap();
    let is_readable = || {
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 1
    };
    // The begin of the connection is an event.
    assert!(is_readable());
    match fork::fork().unwrap() {
        Fork::Child => {
            let has_event = client.poll_event().is_some();
            std::process::exit(i32::from(!has_event));
        }
        Fork::Parent(child) => {
            let status = fork::waitpid(child).unwrap();
            assert!(WIFEXITED(status) && WEXITSTATUS(status) == 0, "{status}");
        }
    }
    assert!(is_readable());
    while client.poll_event().is_some() {}
    assert!(!is_readable());
}

#[test]
fn sockets_of_the_parent_fail_in_a_forked_child() {
    let (listener, client, server) = pair();
    echo(&client, &server);
    let engine = Engine::shared().unwrap();
    match fork::fork().unwrap() {
        Fork::Child => {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
                let gone = EngineGone::default();
                assert_eq!(client.send(b"x"), Err(SendError::EngineGone(gone)));
                assert_eq!(client.recv(&mut [0; 9]), Err(RecvError::EngineGone(gone)));
                assert_eq!(client.stats().unwrap_err(), gone);
                assert_eq!(client.rate_hint().unwrap_err(), gone);
                assert_eq!(client.close(), Err(CloseError::EngineGone(gone)));
                let accepted = listener.accept().unwrap_err();
                assert_eq!(accepted, AcceptError::EngineGone(gone));
                let idle = engine.wait_idle(Duration::from_secs(1));
                assert_eq!(idle, Err(CloseError::EngineGone(gone)));
                let bound = Listener::bind("127.0.0.1:0/0", &Options::new().engine(&engine));
                assert!(matches!(bound, Err(BindError::EngineGone(_))));
                client.abort();
                drop((listener, client, server, engine));
                // New sockets start an engine of their own.
                let (_listener, client, server) = pair();
                echo(&client, &server);
            }));
            std::process::exit(i32::from(outcome.is_err()));
        }
        Fork::Parent(child) => {
            let status = fork::waitpid(child).unwrap();
            assert!(WIFEXITED(status) && WEXITSTATUS(status) == 0, "{status}");
            // The child changed nothing for the parent.
            echo(&client, &server);
            assert!(listener.accept_timeout(Duration::ZERO).is_err());
        }
    }
}
