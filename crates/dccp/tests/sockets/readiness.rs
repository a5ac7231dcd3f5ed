//! Non-blocking sockets and their descriptors.

#![cfg(unix)]

use crate::{PORT, await_event, listen, options, pair, until};
use core::time::Duration;
use dccp::{Event, ReadyFd, RecvError, SendError, Socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::{Shutdown, UdpSocket};

/// Whether the descriptor becomes readable within a time.
fn is_readable(fd: &ReadyFd, at_most: Duration) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let time = Timespec::try_from(at_most).unwrap();
    poll(&mut fds, Some(&time)).unwrap() == 1
}

const SOON: Duration = Duration::from_secs(10);
const NOW: Duration = Duration::ZERO;

#[test]
fn descriptor_is_readable_while_a_datagram_waits() {
    let (client, server) = pair(&options(), &options().nonblocking(true));
    // A connection can be accepted before the client's first Ack has opened it.
    await_event(&server, &Event::Connected);
    let fd = server.ready_fd().unwrap();
    assert!(!is_readable(&fd, NOW));
    client.send(b"one").unwrap();
    assert!(is_readable(&fd, SOON));
    assert!(server.ready().recv);
    let mut buf = [0; 10];
    assert_eq!(server.recv(&mut buf), Ok(3));
    assert_eq!(server.recv(&mut buf), Err(RecvError::WouldBlock));
    assert!(!is_readable(&fd, NOW));
    drop(client);
    assert!(is_readable(&fd, SOON), "the end is something to read");
}

#[test]
fn descriptor_is_not_readable_once_the_peer_listens_no_more() {
    let nonblocking = options().nonblocking(true).send_buffer(1);
    let (client, server) = pair(&nonblocking, &options());
    let fd = client.ready_fd().unwrap();
    server.shutdown(Shutdown::Read);
    // Each look ends with a full buffer, so that the client waits for room.
    until("the peer does not listen", || {
        while client.send(b"x").is_ok() {}
        client.send(b"x") == Err(SendError::PeerNotListening)
    });
    while client.poll_event().is_some() {}
    assert!(!is_readable(&fd, NOW), "{:?}", client.ready());
}

#[test]
fn descriptor_of_listener_is_readable_while_a_connection_waits() {
    let (listener, address) = listen(&options().nonblocking(true));
    let fd = listener.ready_fd().unwrap();
    assert!(!is_readable(&fd, NOW));
    let _client = Socket::connect((address, PORT), &options()).unwrap();
    assert!(is_readable(&fd, SOON));
    listener.accept().unwrap();
    assert!(!is_readable(&fd, NOW));
}

#[test]
fn nonblocking_connect_completes_in_the_background() {
    let (listener, address) = listen(&options());
    let client = Socket::connect((address, PORT), &options().nonblocking(true)).unwrap();
    let fd = client.ready_fd().unwrap();
    assert!(is_readable(&fd, SOON));
    until("the connection is open", || client.ready().send);
    assert_eq!(client.poll_event(), Some(Event::Connected));
    listener.accept().unwrap();
}

#[test]
fn descriptor_is_readable_when_there_is_room_again() {
    // The listener does not exist yet, so that the buffer fills.
    let place = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = place.local_addr().unwrap();
    let options = options().nonblocking(true).send_buffer(4);
    let client = Socket::connect((address, PORT), &options).unwrap();
    let fd = client.ready_fd().unwrap();
    for _ in 0..4 {
        client.send(b"x").unwrap();
    }
    assert!(!is_readable(&fd, NOW));
    assert_eq!(client.send(b"x"), Err(SendError::WouldBlock));
    // A Request to a closed port would end the connection with an ICMP message.
    place.recv(&mut [0; 100]).unwrap();
    drop(place);
    let listener = dccp::Listener::bind((address, PORT), &crate::options()).unwrap();
    let server = listener.accept().unwrap();
    let mut buf = [0; 10];
    for _ in 0..4 {
        assert_eq!(server.recv(&mut buf), Ok(1));
    }
    until("there is room", || {
        client.ready().send && is_readable(&fd, NOW)
    });
    while client.poll_event().is_some() {}
    client.send(b"y").unwrap();
    assert_eq!(server.recv(&mut buf), Ok(1));
    until("the descriptor is quiet", || !is_readable(&fd, NOW));
}

#[test]
fn fates_make_the_descriptor_readable() {
    let (client, _server) = pair(&options().fate_buffer(10), &options());
    while client.poll_event().is_some() {}
    let fd = client.ready_fd().unwrap();
    client.send(b"x").unwrap();
    until("a fate is ready", || client.ready().fates);
    until("the descriptor says so", || is_readable(&fd, NOW));
    let mut reports = Vec::new();
    client.recv_fates(&mut reports, 10);
    assert_eq!(reports.len(), 1);
    while client.poll_event().is_some() {}
    assert!(!is_readable(&fd, NOW));
}
