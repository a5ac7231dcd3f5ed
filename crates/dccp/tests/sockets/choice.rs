//! Priority, deadline, key, policy and pull on ordinary sockets.

use crate::{PATIENCE, await_event, options, pair, until};
use core::time::Duration;
use dccp::Fate;
use dccp::{
    DatagramId, Event, FateReport, Instant, RecvError, SendError, SendItem, SendOptions, Socket,
    SourceReply, WhenFull, clock,
};
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A socket whose datagrams wait, because no peer answers.
fn waiting(send_buffer: usize) -> (Socket, UdpSocket) {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let options = options()
        .send_buffer(send_buffer)
        .fate_buffer(100)
        .nonblocking(true);
    let address = silent.local_addr().unwrap();
    let socket = Socket::connect((address, crate::PORT), &options).unwrap();
    (socket, silent)
}

fn fates(socket: &Socket) -> Vec<(u64, Fate)> {
    let mut reports = Vec::new();
    socket.recv_fates(&mut reports, usize::MAX);
    reports
        .iter()
        .map(|FateReport { id, fate, .. }| (id.0, *fate))
        .collect()
}

/// Receives until the connection ends.
fn received(server: &Socket) -> Vec<Vec<u8>> {
    let mut got = Vec::new();
    let mut buf = [0; 2000];
    loop {
        match server.recv(&mut buf) {
            Ok(len) => got.push(buf[..len].to_vec()),
            Err(RecvError::Closed(_)) => return got,
            other => panic!("{other:?}"),
        }
    }
}

fn when_full(policy: WhenFull) -> SendOptions {
    SendOptions::new().when_full(policy)
}

#[test]
fn full_buffer_follows_the_policy_of_the_datagram() {
    let (socket, _silent) = waiting(2);
    socket
        .send_with(b"a", SendOptions::new().priority(1))
        .unwrap();
    socket.send(b"b").unwrap();
    assert_eq!(socket.send(b"c"), Err(SendError::WouldBlock));
    let least = when_full(WhenFull::DropLowestPriority);
    assert_eq!(socket.send_with(b"d", least), Ok(DatagramId(2)));
    assert_eq!(fates(&socket), [(1, Fate::Overflowed)]);
    let oldest = when_full(WhenFull::DropOldest);
    assert_eq!(socket.send_with(b"e", oldest), Ok(DatagramId(3)));
    assert_eq!(fates(&socket), [(0, Fate::Overflowed)]);
    let important = least.priority(2);
    socket.send_with(b"f", important).unwrap();
    socket.send_with(b"g", important).unwrap();
    assert_eq!(socket.send_with(b"h", least), Ok(DatagramId(6)), "but:");
    let all = [2, 3, 6].map(|id| (id, Fate::Overflowed));
    assert_eq!(fates(&socket), all);
    assert_eq!(socket.withdraw_queued(), 2);
    let sent = socket.stats().unwrap().sent;
    assert_eq!((sent.pushed, sent.fates.total()), (7, 7));
}

#[test]
fn policy_error_does_not_wait_on_a_blocking_socket() {
    let (socket, _silent) = waiting(1);
    socket.set_nonblocking(false);
    let error = when_full(WhenFull::Error);
    socket.send_with(b"a", error).unwrap();
    assert_eq!(socket.send_with(b"b", error), Err(SendError::WouldBlock));
    let item = |policy| SendItem::with(b"c", when_full(policy));
    let mut items = [item(WhenFull::Error), item(WhenFull::DropOldest)];
    assert_eq!(socket.send_batch(&mut items), Ok(1));
    let results = items.map(|item| item.result);
    assert_eq!(results, [Err(SendError::WouldBlock), Ok(DatagramId(1))]);
}

#[test]
fn policy_of_the_socket_is_the_default_of_its_datagrams() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let options = options()
        .send_buffer(1)
        .nonblocking(true)
        .when_full(WhenFull::DropOldest);
    let address = silent.local_addr().unwrap();
    let socket = Socket::connect((address, crate::PORT), &options).unwrap();
    socket.send(b"a").unwrap();
    socket.send(b"b").unwrap();
    let wait = when_full(WhenFull::Wait);
    assert_eq!(socket.send_with(b"c", wait), Err(SendError::WouldBlock));
    assert_eq!(socket.stats().unwrap().sent.fates.overflowed, 1);
}

#[test]
fn newer_datagram_with_the_same_key_takes_the_place() {
    let (socket, _silent) = waiting(2);
    let key = |key| SendOptions::new().key(key);
    for n in 0..10 {
        socket.send_with(&[7], key(n % 2)).unwrap();
    }
    let told: Vec<_> = (0..8).map(|id| (id, Fate::Superseded)).collect();
    assert_eq!(fates(&socket), told);
    assert_eq!(socket.queued(), 2);
}

#[test]
fn important_datagram_leaves_first_and_late_one_never() {
    let (client, server) = pair(&options().fate_buffer(100), &options());
    // Not just now: a turn of the engine may have begun before.
    let late = SendOptions::new().deadline(clock::to_std(Instant::ZERO));
    let soon = SendOptions::new().lifetime(PATIENCE);
    let zeros = [0; 1000];
    // In one call, so that the engine does not come between; more than a window.
    let mut items: Vec<_> = (0..40).map(|_| SendItem::new(&zeros)).collect();
    items.push(SendItem::with(b"late", late.priority(3)));
    items.push(SendItem::with(b"soon", soon.priority(1)));
    items.push(SendItem::with(b"now", soon.priority(2)));
    assert_eq!(client.send_batch(&mut items), Ok(43));
    client.close().unwrap();
    let got = received(&server);
    assert_eq!(got.len(), 42);
    assert_eq!(got[..2], [b"now".to_vec(), b"soon".to_vec()]);
    let told: BTreeMap<_, _> = fates(&client).into_iter().collect();
    assert_eq!(told.len(), 43);
    assert_eq!(told[&40], Fate::Expired);
}

#[test]
fn more_than_a_turns_worth_may_expire_before_the_end() {
    const N: usize = 3000;
    let (client, server) = pair(&options().send_buffer(N + 1), &options());
    let late = SendOptions::new().deadline(clock::to_std(Instant::ZERO));
    let mut items: Vec<_> = (0..N).map(|_| SendItem::with(&[0], late)).collect();
    items.push(SendItem::new(b"last"));
    assert_eq!(client.send_batch(&mut items), Ok(N + 1));
    client.close().unwrap();
    assert_eq!(received(&server), [b"last".to_vec()]);
    let sent = client.stats().unwrap().sent;
    assert_eq!(sent.fates.expired, N as u64);
    assert_eq!(sent.fates.total(), N as u64 + 1);
}

#[test]
fn source_is_polled_when_a_datagram_may_leave() {
    const N: u64 = 500;
    let (client, server) = pair(&options().fate_buffer(1000), &options());
    let mps = client.max_packet_size().unwrap();
    let mut next = 0;
    client.set_datagram_source(move |request, data| {
        assert_eq!(request.id, DatagramId(next));
        assert!(request.max_len >= mps);
        if next == N {
            return SourceReply::Nothing;
        }
        data.extend(next.to_be_bytes());
        next += 1;
        SourceReply::Datagram
    });
    let mut buf = [0; 8];
    for n in 0..N {
        assert_eq!(server.recv(&mut buf), Ok(8));
        assert_eq!(u64::from_be_bytes(buf), n);
    }
    client.close().unwrap();
    let told = fates(&client);
    assert_eq!(told.len() as u64, N);
    assert!(
        told.iter()
            .all(|(_, fate)| matches!(fate, Fate::Acked | Fate::Sent))
    );
    let sent = client.stats().unwrap().sent;
    assert_eq!((sent.pushed, sent.fates.total()), (N, N));
}

#[test]
fn empty_source_is_polled_again_after_a_wake() {
    let (client, server) = pair(&options(), &options());
    let (has, asked) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (left, count) = (has.clone(), asked.clone());
    client.set_datagram_source(move |_, data| {
        count.fetch_add(1, Ordering::Relaxed);
        if left.swap(0, Ordering::Relaxed) == 0 {
            return SourceReply::Nothing;
        }
        data.push(7);
        SourceReply::Datagram
    });
    until("asked", || asked.load(Ordering::Relaxed) == 1);
    let mut buf = [0; 8];
    for n in 1..10 {
        // Datagrams of calls do not need the source.
        client.send(b"mine").unwrap();
        assert_eq!(server.recv(&mut buf), Ok(4));
        has.store(1, Ordering::Relaxed);
        client.data_ready();
        assert_eq!(server.recv(&mut buf), Ok(1), "round {n}");
        until("asked", || asked.load(Ordering::Relaxed) == 1 + 2 * n);
    }
}

#[test]
fn source_may_send_through_its_socket_and_its_panic_removes_it() {
    let (client, server) = pair(&options(), &options());
    let client = Arc::new(client);
    let weak = Arc::downgrade(&client);
    client.set_datagram_source(move |_, _| {
        weak.upgrade().unwrap().send(b"by the way").unwrap();
        panic!("on purpose");
    });
    let mut buf = [0; 20];
    assert_eq!(server.recv(&mut buf), Ok(10));
    await_event(&client, &Event::SourcePanicked);
    client.data_ready();
    client.send(b"still here").unwrap();
    assert_eq!(server.recv(&mut buf), Ok(10));
    server.set_recv_timeout(Some(Duration::from_millis(20)));
    assert_eq!(server.recv(&mut buf), Err(RecvError::TimedOut));
}

#[test]
fn calls_that_ask_the_engine_fail_in_a_datagram_source() {
    let (client, server) = pair(&options(), &options());
    let client = Arc::new(client);
    let weak = Arc::downgrade(&client);
    client.set_datagram_source(move |_, data| {
        let Some(client) = weak.upgrade() else {
            return SourceReply::Nothing;
        };
        if client.queued() > 0 {
            return SourceReply::Nothing;
        }
        let stats = client.stats().unwrap_err().to_string();
        let received = client.recv(&mut [0; 9]);
        data.extend(format!("{stats}; {received:?}").as_bytes());
        SourceReply::Datagram
    });
    let answer = server.recv_datagram().unwrap();
    assert_eq!(
        str::from_utf8(answer.bytes()),
        Ok("the engine's own thread cannot wait for the engine; Err(WouldBlock)")
    );
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[test]
fn source_that_panics_when_dropped_does_not_stop_the_engine() {
    let (other, other_server) = pair(&options(), &options());
    for panics_when_asked in [false, true] {
        let (client, server) = pair(&options(), &options());
        let bomb = Bomb;
        let asked = Arc::new(AtomicU64::new(0));
        let count = asked.clone();
        client.set_datagram_source(move |_, _| {
            let _ = &bomb;
            count.fetch_add(1, Ordering::Relaxed);
            assert!(!panics_when_asked, "on purpose");
            SourceReply::Nothing
        });
        until("asked", || asked.load(Ordering::Relaxed) == 1);
        client.close().unwrap();
        assert!(received(&server).is_empty());
    }
    other.send(b"still here").unwrap();
    assert_eq!(other_server.recv(&mut [0; 20]), Ok(10));
}

#[test]
fn source_is_dropped_when_replaced_or_when_the_connection_ends() {
    let (client, server) = pair(&options(), &options());
    let token = Arc::new(());
    let held = token.clone();
    client.set_datagram_source(move |_, _| {
        let _ = &held;
        SourceReply::Nothing
    });
    assert_eq!(Arc::strong_count(&token), 2);
    let held = token.clone();
    client.set_datagram_source(move |_, data| {
        let _ = &held;
        data.extend([7; 5000]);
        SourceReply::Datagram
    });
    until("replaced", || Arc::strong_count(&token) == 2);
    // Endless, and each too long: the connection still ends at a command.
    until("too big", || {
        client.stats().unwrap().sent.fates.too_big > 10
    });
    client.close().unwrap();
    until("dropped", || Arc::strong_count(&token) == 1);
    assert!(received(&server).is_empty());
    let sent = client.stats().unwrap().sent;
    assert_eq!(sent.pushed, sent.fates.total());
    let held = token.clone();
    client.set_datagram_source(move |_, _| {
        let _ = &held;
        SourceReply::Nothing
    });
    assert_eq!(
        Arc::strong_count(&token),
        1,
        "after the end nobody is asked"
    );
}

#[test]
fn every_ccid_reports_arrivals_where_fates_are_requested() {
    const N: usize = 200;
    for ccid in [2, 3, 4] {
        let ours = options().ccid(ccid);
        let (client, server) = pair(&ours.clone().fate_buffer(N), &ours);
        for _ in 0..N {
            client.send(&[7; 500]).unwrap();
        }
        // Whatever is sent later makes the peer report on the last.
        until("acknowledged", || {
            let sent = client.stats().unwrap().sent;
            if sent.queued == 0 {
                client.send(b"more").unwrap();
            }
            sent.fates.acked + sent.fates.acked_ce >= N as u64
        });
        assert_eq!(client.stats().unwrap().sent.fates.sent, 0, "CCID {ccid}");
        drop(server);
    }
}

#[test]
fn datagram_expires_at_its_deadline_while_nothing_may_leave() {
    // No connection: nothing can leave, and yet the deadline frees the room and reports the fate.
    let (socket, _silent) = waiting(1);
    let begin = clock::now();
    let lifetime = Duration::from_millis(50);
    let brief = SendOptions::new().lifetime(lifetime);
    socket.send_with(b"a frame", brief).unwrap();
    assert!(matches!(socket.send(b"full"), Err(SendError::WouldBlock)));
    let mut reports = Vec::new();
    while reports.is_empty() {
        assert!(clock::now() - begin < PATIENCE, "no fate in time");
        std::thread::sleep(Duration::from_millis(1));
        socket.recv_fates(&mut reports, 8);
    }
    assert_eq!(reports[0].fate, Fate::Expired);
    let expired_after = reports[0].told - begin;
    assert!(expired_after >= lifetime);
    assert!(expired_after < lifetime + Duration::from_secs(1));
    socket.send(b"there is room again").unwrap();
}

#[test]
fn tagged_datagrams_are_withdrawn() {
    let (socket, _silent) = waiting(8);
    for tag in [1, 2, 1] {
        let tagged = SendOptions::new().tag(tag);
        socket.send_with(b"part", tagged).unwrap();
    }
    assert_eq!(socket.withdraw_if(|datagram| datagram.tag == 1), 2);
    assert_eq!(socket.queued(), 1);
    assert_eq!(fates(&socket), [(0, Fate::Withdrawn), (2, Fate::Withdrawn)]);
}
