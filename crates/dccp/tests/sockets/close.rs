//! How connections end.

use crate::{PATIENCE, await_event, listen, options, pair, until};
use core::time::Duration;
use dccp::ResetCode;
use dccp::{CloseError, CloseReason, Event, RecvError, SendError, Socket};
use std::net::{Shutdown, UdpSocket};

/// Reads until the end; gives how much there was and how it ended.
fn read_all(socket: &Socket) -> (usize, CloseReason) {
    let mut buf = [0; 2000];
    let mut n = 0;
    loop {
        match socket.recv(&mut buf) {
            Ok(_) => n += 1,
            Err(RecvError::Closed(reason)) => return (n, reason),
            Err(e) => panic!("{e}"),
        }
    }
}

#[test]
fn closing_sends_what_waits() {
    let (client, server) = pair(&options(), &options());
    for _ in 0..200 {
        client.send_zeros(1000).unwrap();
    }
    assert_eq!(client.close(), Ok(CloseReason::Local));
    assert_eq!(read_all(&server), (200, CloseReason::Peer));
    assert_eq!(
        server.send(b"too late"),
        Err(SendError::Closed(CloseReason::Peer))
    );
    await_event(&server, &Event::PeerClosed);
    await_event(&server, &Event::Closed(CloseReason::Peer));
}

#[test]
fn server_can_close() {
    let (client, server) = pair(&options(), &options());
    server.send(b"bye").unwrap();
    assert_eq!(server.close(), Ok(CloseReason::Local));
    assert_eq!(read_all(&client), (1, CloseReason::Peer));
}

#[test]
fn shutdown_for_writing_drains_and_does_not_wait() {
    let (client, server) = pair(&options(), &options());
    for _ in 0..50 {
        client.send_zeros(1000).unwrap();
    }
    client.shutdown(Shutdown::Write);
    assert_eq!(client.send(b"more"), Err(SendError::ShutDown));
    assert_eq!(read_all(&server), (50, CloseReason::Peer));
    assert_eq!(client.wait_closed(PATIENCE), Ok(CloseReason::Local));
    // The answer stays the same after the end of the connection.
    assert_eq!(client.send(b"more"), Err(SendError::ShutDown));
}

#[test]
fn shutdown_wakes_who_waits() {
    let (client, _server) = pair(&options(), &options());
    client.set_recv_timeout(None);
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| client.recv(&mut [0; 10]));
        std::thread::sleep(Duration::from_millis(50));
        client.shutdown(Shutdown::Read);
        assert_eq!(reader.join().unwrap(), Err(RecvError::ShutDown));
    });
    // The other direction is open still.
    client.send(b"x").unwrap();
}

#[test]
fn shutdown_wakes_who_waits_for_room() {
    // No peer answers, so nothing leaves.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let options = options().nonblocking(true).send_buffer(1);
    let client = Socket::connect((silent.local_addr().unwrap(), crate::PORT), &options).unwrap();
    client.send(b"full").unwrap();
    client.set_nonblocking(false);
    client.set_send_timeout(None);
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| client.send(b"more"));
        std::thread::sleep(Duration::from_millis(50));
        client.shutdown(Shutdown::Write);
        let error = writer.join().unwrap().unwrap_err();
        assert!(
            matches!(error, SendError::ShutDown | SendError::Closed(_)),
            "{error:?}"
        );
    });
}

#[test]
fn dropping_a_socket_closes_in_the_background() {
    let (client, server) = pair(&options(), &options());
    for _ in 0..100 {
        client.send_zeros(1000).unwrap();
    }
    drop(client);
    assert_eq!(read_all(&server), (100, CloseReason::Peer));
}

#[test]
fn aborting_ends_at_once() {
    let (client, server) = pair(&options(), &options());
    client.abort();
    assert_eq!(
        client.wait_closed(PATIENCE),
        Ok(CloseReason::Aborted(ResetCode::ABORTED))
    );
    let (_, reason) = read_all(&server);
    let CloseReason::Reset { code, .. } = reason else {
        panic!("{reason:?}");
    };
    assert_eq!(code, ResetCode::ABORTED);
}

#[test]
fn dropped_listener_aborts_connections_not_accepted() {
    let (listener, address) = listen(&options());
    let client = Socket::connect((address, crate::PORT), &options()).unwrap();
    drop(listener);
    let end = client.wait_closed(PATIENCE).unwrap();
    assert!(matches!(end, CloseReason::Reset { .. }), "{end:?}");
}

#[test]
fn accepted_connections_outlive_their_listener() {
    let (client, server) = pair(&options(), &options());
    client.send(b"hi").unwrap();
    let mut buf = [0; 10];
    assert_eq!(server.recv(&mut buf), Ok(2));
}

#[test]
fn waiting_for_the_end_has_an_end() {
    let (client, _server) = pair(&options(), &options());
    let short = Duration::from_millis(20);
    assert_eq!(client.wait_closed(short), Err(CloseError::TimedOut));
}

#[test]
fn nothing_is_lost_from_the_books_at_the_end() {
    let (client, server) = pair(&options(), &options().recv_buffer(5000));
    for _ in 0..3000 {
        client.send_zeros(200).unwrap();
    }
    client.abort();
    assert_eq!(
        client.wait_closed(PATIENCE),
        Ok(CloseReason::Aborted(ResetCode::ABORTED))
    );
    let sent = client.stats().unwrap().sent;
    assert_eq!((sent.queued, sent.in_flight), (0, 0));
    assert_eq!((sent.pushed, sent.fates.total()), (3000, 3000));
    let (read, _) = read_all(&server);
    let left = sent.pushed - sent.fates.withdrawn;
    assert!(
        read as u64 <= left && sent.fates.acked <= read as u64,
        "{read} {sent:?}"
    );
}

#[test]
fn last_counters_stay_after_the_end() {
    let (client, server) = pair(&options(), &options());
    client.send(b"one").unwrap();
    client.close().unwrap();
    let stats = client.stats().unwrap();
    assert_eq!(stats.connection.mib.out_datagrams, 1);
    assert!(!client.snapshot().unwrap().state.is_alive());
    assert_eq!(read_all(&server).0, 1);
}

#[test]
fn udp_port_of_closed_client_rests() {
    // 4340-8.3-2
    let (client, server) = pair(&options(), &options());
    let port = server.peer_addr().udp_addr();
    client.close().unwrap();
    assert!(UdpSocket::bind(port).is_err(), "{port} is free");
    drop(client);
    assert!(UdpSocket::bind(port).is_err(), "{port} is free");
    let (client, server) = pair(&options(), &options());
    let port = server.peer_addr().udp_addr();
    server.close().unwrap();
    // The server asked the client to close, and the client rests again.
    assert!(UdpSocket::bind(port).is_err(), "{port} is free");
    let (aborted, server) = pair(&options(), &options());
    let port = server.peer_addr().udp_addr();
    aborted.abort();
    until("the port of an aborted connection is free", || {
        UdpSocket::bind(port).is_ok()
    });
    drop(client);
}

#[test]
fn abort_has_sent_its_reset_when_it_returns() {
    for _ in 0..20 {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        silent.set_nonblocking(true).unwrap();
        let at = silent.local_addr().unwrap();
        let client = Socket::connect((at, crate::PORT), &options().nonblocking(true)).unwrap();
        let mut packet = [0; 2000];
        until("the Request has left", || silent.recv(&mut packet).is_ok());
        client.abort();
        // The loopback delivers within the system call.
        let mut last = 0;
        while let Ok(len) = silent.recv(&mut packet) {
            assert!(len >= 16);
            last = packet[8] >> 1 & 15;
        }
        assert_eq!(last, 7, "the type of a Reset");
    }
}

#[test]
fn aborted_socket_says_that_this_end_aborted() {
    let (client, server) = pair(&options(), &options());
    client.abort();
    let reason = CloseReason::Aborted(ResetCode::ABORTED);
    let error = client.send(b"more").unwrap_err();
    assert_eq!(error, SendError::Closed(reason));
    assert_eq!(
        error.to_string(),
        "the connection is over: aborted by this end"
    );
    let (_, reason) = read_all(&server);
    assert!(matches!(
        reason,
        CloseReason::Reset {
            code: ResetCode::ABORTED,
            ..
        }
    ));
}

#[test]
fn flush_waits_until_nothing_is_queued() {
    let (client, _server) = pair(&options(), &options());
    for _ in 0..200 {
        client.send_zeros(1000).unwrap();
    }
    client.flush(PATIENCE).unwrap();
    assert_eq!(client.queued(), 0);
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let client = Socket::connect((at, crate::PORT), &options().nonblocking(true)).unwrap();
    client.send(b"x").unwrap();
    let soon = Duration::from_millis(20);
    assert_eq!(client.flush(soon), Err(SendError::TimedOut));
}
