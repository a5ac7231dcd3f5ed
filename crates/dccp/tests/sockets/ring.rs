//! Sending and receiving through a packet ring.

use crate::{PATIENCE, options, pair, until};
use dccp::Fate;
use dccp::packet_ring::{ChangeError, Label, PushError, Shape, Ticket};
use dccp::{RecvError, RingFate, RingSocket, SendError, Socket};
use std::collections::BTreeMap;
use std::thread;

fn tag(tag: u64) -> Label {
    Label {
        tag,
        ..Label::default()
    }
}

/// A client with a ring of `slots` slots, and its server.
fn ring(slots: u32) -> (RingSocket, Socket) {
    let (client, server) = pair(&options(), &options().recv_buffer(4000));
    (
        RingSocket::new(client, Shape::new(slots, 1000)).unwrap(),
        server,
    )
}

/// All fates, by tag, once the connection has ended or there are `n`.
fn fates(ring: &mut RingSocket, n: usize) -> BTreeMap<u64, Fate> {
    let mut fates: Vec<RingFate> = Vec::new();
    while fates.len() < n && ring.wait_for_fates(PATIENCE) {
        ring.recv_fates(&mut fates, n);
    }
    fates
        .into_iter()
        .map(|told| (told.tag, told.fate))
        .collect()
}

/// Receives at the server until the connection ends, as the numbers that the datagrams are.
fn received(server: &Socket) -> Vec<u64> {
    let mut got = Vec::new();
    let mut buf = [0; 8];
    loop {
        match server.recv(&mut buf) {
            Ok(8) => got.push(u64::from_le_bytes(buf)),
            Err(RecvError::Closed(_)) => return got,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pushed_datagram_arrives_and_has_a_fate() {
    const N: u64 = 2000;
    let (mut ring, server) = ring(16);
    let server = thread::spawn(move || received(&server));
    let mut n = 0;
    let mut told = Vec::new();
    while n < N {
        match ring.sender().push(&n.to_le_bytes(), tag(n)) {
            Ok(_) => n += 1,
            Err(PushError::Full) => ring.wait_for_room().unwrap(),
            Err(error) => panic!("{error}"),
        }
        ring.recv_fates(&mut told, 100);
    }
    ring.socket().close().unwrap();
    assert!(server.join().unwrap().into_iter().eq(0..N));
    ring.recv_fates(&mut told, 9999);
    let counts = ring.socket().stats().unwrap().sent;
    assert_eq!((counts.pushed, counts.queued, counts.in_flight), (N, 0, 0));
    assert_eq!(counts.fates.total(), N);
    assert_eq!(told.len() as u64 + ring.sender().fates_missed(), N);
    assert!(told.iter().any(|told| told.fate == Fate::Acked));
}

#[test]
fn withdrawn_or_revised_datagram_does_not_arrive_unchanged() {
    const N: u64 = 1000;
    // Two in a round trip: most wait, however late this thread is.
    let slow = options().configure(|config| config.max_window = Some(2));
    let (client, server) = pair(&slow, &options().recv_buffer(4000));
    let mut ring = RingSocket::new(client, Shape::new(1024, 8)).unwrap();
    let sender = ring.sender();
    let mut batch = sender.batch();
    let push = |n: u64| batch.push(&n.to_le_bytes(), tag(n)).unwrap().ticket;
    let tickets: Vec<Ticket> = (0..N).map(push).collect();
    drop(batch);
    let mut expected = Vec::new();
    let mut changed = 0;
    for (n, ticket) in (0..).zip(tickets) {
        let newer: u64 = n + N;
        let change = match n % 3 {
            0 => sender.withdraw(ticket).map(|_| None),
            1 => {
                let revised = sender.revise(ticket, &newer.to_le_bytes(), tag(newer));
                revised.map(|()| Some(newer))
            }
            _ => Ok(Some(n)),
        };
        changed += usize::from(change.is_ok() && n % 3 != 2);
        match change {
            Ok(datagram) => expected.extend(datagram),
            Err(ChangeError::TooLate) => expected.push(n),
            Err(error) => panic!("{error}"),
        }
    }
    assert!(changed > 0);
    ring.socket().close().unwrap();
    assert_eq!(received(&server), expected);
}

#[test]
fn late_and_too_long_datagrams_have_these_fates() {
    let (client, server) = pair(&options().mtu(1500).probe_mtu(false), &options());
    let mps = client.max_packet_size().unwrap();
    let mut ring = RingSocket::new(client, Shape::new(4, 1500)).unwrap();
    let late = Label {
        deadline_ns: Some(0),
        ..tag(1)
    };
    ring.sender().push(b"late", late).unwrap();
    ring.sender().push(&[7; 1500][..=mps], tag(2)).unwrap();
    ring.sender().push(&[7; 1500][..mps], tag(3)).unwrap();
    ring.socket().send(b"by the way").unwrap();
    let mut buf = [0; 1500];
    let mut lengths = [server.recv(&mut buf), server.recv(&mut buf)].map(Result::unwrap);
    lengths.sort_unstable();
    assert_eq!(lengths, [10, mps]);
    let expected = [(1, Fate::Expired), (2, Fate::TooBig), (3, Fate::Acked)];
    assert_eq!(fates(&mut ring, 3), expected.into());
}

#[test]
fn waiting_datagrams_are_withdrawn_at_the_end() {
    const N: u64 = 500;
    let (mut ring, server) = ring(512);
    let mut held = {
        let sender = ring.sender();
        for n in 0..N {
            sender.push(&[7; 1000], tag(n)).unwrap();
        }
        sender.take_back(usize::MAX).unwrap().len() as u64
    };
    ring.socket().abort();
    let told = fates(&mut ring, usize::try_from(N).unwrap());
    assert_eq!(told.len() as u64, N);
    held = held.min(told.values().filter(|&&f| f == Fate::Withdrawn).count() as u64);
    assert!(held > 0, "{told:?}");
    assert!(matches!(ring.wait_for_room(), Err(SendError::Closed(_))));
    assert!(!ring.wait_for_fates(PATIENCE), "nothing more to tell");
    drop(server);
}

#[test]
fn datagram_pushed_after_the_end_is_withdrawn() {
    let (mut ring, server) = ring(4);
    ring.socket().close().unwrap();
    received(&server);
    ring.sender().push(&[7; 8], tag(7)).unwrap();
    assert_eq!(fates(&mut ring, 1), BTreeMap::from([(7, Fate::Withdrawn)]));

    // And where the connection had ended before there was a ring.
    let (client, server) = pair(&options(), &options());
    client.close().unwrap();
    received(&server);
    let mut ring = RingSocket::new(client, Shape::new(4, 8)).unwrap();
    ring.sender().push(&[8; 8], tag(8)).unwrap();
    assert_eq!(fates(&mut ring, 1), BTreeMap::from([(8, Fate::Withdrawn)]));
}

#[test]
fn arriving_datagrams_are_received_through_the_ring() {
    const N: u64 = 2000;
    let (client, server) = pair(&options(), &options());
    // Some come before there is a ring.
    server.send(&0_u64.to_le_bytes()).unwrap();
    until("it is there", || client.ready().recv);
    let mut ring = RingSocket::new(client, Shape::new(2048, 8)).unwrap();
    let sender = thread::spawn(move || {
        for n in 1..N {
            server.send(&n.to_le_bytes()).unwrap();
        }
        server.close().unwrap();
    });
    let mut buf = [9; 16];
    let mut last = None;
    for n in 0..N {
        let meta = ring.recv_meta(&mut buf).unwrap();
        assert_eq!((meta.len, &buf[..8]), (8, &n.to_le_bytes()[..]));
        let meta = meta.delivery;
        assert!(Some(meta.arrived) >= last && meta.arrived <= dccp::clock::now());
        last = Some(meta.arrived);
    }
    sender.join().unwrap();
    assert!(matches!(ring.recv(&mut buf), Err(RecvError::Closed(_))));
    let received = ring.socket().stats().unwrap().received;
    assert_eq!((received.delivered, received.taken), (N, N));
    assert_eq!(received.delivered_bytes, 8 * N);
}

#[test]
fn datagram_without_room_in_the_ring_is_dropped_and_reported() {
    let (client, server) = pair(&options(), &options());
    let shape = Shape {
        arrivals: 8,
        arrival_bytes: 100,
        ..Shape::new(4, 100)
    };
    let mut ring = RingSocket::new(client, shape).unwrap();
    for n in 0..20 {
        server.send_zeros(if n == 3 { 101 } else { 100 }).unwrap();
        thread::sleep(PATIENCE / 10_000);
    }
    until("all fates are known", || {
        server.stats().unwrap().sent.fates.total() == 20
    });
    let fates = server.stats().unwrap().sent.fates;
    assert_eq!((fates.acked, fates.rx_dropped), (8, 12));
    let counts = ring.socket().stats().unwrap().received;
    assert_eq!((counts.delivered, counts.taken), (8, 0));
    assert_eq!((counts.dropped_full, counts.dropped_too_long), (11, 1));
    for _ in 0..8 {
        assert_eq!(ring.recv(&mut [0; 50]), Ok(50));
    }
    assert_eq!(ring.socket().stats().unwrap().received.taken, 8);
    ring.socket().set_nonblocking(true);
    assert_eq!(ring.recv(&mut [0; 50]), Err(RecvError::WouldBlock));
    ring.socket().shutdown(std::net::Shutdown::Read);
    assert_eq!(ring.recv(&mut [0; 50]), Err(RecvError::ShutDown));
}
