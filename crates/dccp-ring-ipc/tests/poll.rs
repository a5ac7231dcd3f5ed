//! A server whose `poll` fails. The test has a program of its own, because it lowers a limit of the whole process.
#![cfg(target_os = "linux")]

use dccp::packet_ring::Shape;
use dccp::{CloseReason, Listener, Options};
use dccp_ring_ipc::{RingCaller, RingClient, RingError, RingLimits, RingRequest, RingServer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn server_goes_on_while_poll_fails() {
    let options = Options::new().recv_timeout(PATIENCE);
    let listener = Listener::bind("127.0.0.1:0/5001", &options).unwrap();
    let path = std::env::temp_dir().join(format!("dccp-poll-{}", std::process::id()));
    let policy = |_: &RingCaller, _: &RingRequest| Ok(Options::new());
    let _server = RingServer::bind(&path, RingLimits::default(), policy).unwrap();
    let request = RingRequest::new(listener.local_addrs()[0], Shape::new(2, 100));
    let pairs = [(); 2].map(|()| {
        let mut ring = RingClient::connect(&path, &request).unwrap();
        ring.set_timeout(Some(PATIENCE));
        (ring, listener.accept().unwrap())
    });
    let limit = getrlimit(Resource::Nofile);
    let low = Rlimit {
        current: Some(2),
        ..limit
    };
    // The server polls more than two descriptors, which is an error now. Open ones go on working.
    setrlimit(Resource::Nofile, low).unwrap();
    let ends = pairs.map(|(mut ring, peer)| {
        peer.close().unwrap();
        // By then its next call of `poll` has failed.
        thread::sleep(Duration::from_millis(50));
        ring.recv(&mut [0; 9])
    });
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!(
        ends,
        [(); 2].map(|()| Err(RingError::Closed(CloseReason::Peer)))
    );
    RingClient::connect(&path, &request).unwrap();
}
