//! Sending, receiving, fates and counters.

use crate::{PORT, await_event, listen, options, pair, until};
use core::time::Duration;
use dccp::Fate;
use dccp::{DatagramId, Event, RecvBatch, RecvError, SendError, SendItem, Socket};
use std::net::UdpSocket;

#[test]
fn echo_returns_every_datagram() {
    let (client, server) = pair(&options(), &options());
    let mut buf = [0; 2000];
    for n in 0..100_usize {
        let message = vec![7; n * 10];
        assert_eq!(client.send(&message), Ok(DatagramId(n as u64)));
        let len = server.recv(&mut buf).unwrap();
        assert_eq!(buf[..len], message);
        server.send(&buf[..len]).unwrap();
        assert_eq!(client.recv(&mut buf).unwrap(), len);
    }
}

#[test]
fn batches_arrive_whole_and_in_order() {
    const N: usize = 1000;
    let (client, server) = pair(&options(), &options().recv_buffer(2000));
    let bytes: Vec<u8> = (0..N)
        .flat_map(|n| u32::try_from(n).unwrap().to_be_bytes())
        .collect();
    let mut items: Vec<SendItem<'_>> = bytes.chunks(4).map(SendItem::new).collect();
    assert_eq!(client.send_batch(&mut items), Ok(N));
    for (n, item) in (0..).zip(&items) {
        assert_eq!(item.result, Ok(DatagramId(n)));
    }
    let mut batch = RecvBatch::new(64);
    let mut got = Vec::new();
    while got.len() < bytes.len() {
        let n = server.recv_batch(&mut batch).unwrap();
        assert!(n > 0 && n == batch.len() && n <= 64);
        batch.iter().for_each(|d| got.extend_from_slice(d));
    }
    assert_eq!(got, bytes);
}

#[test]
fn zeros_arrive_as_zeros() {
    let (client, server) = pair(&options(), &options());
    client.send_zeros(1000).unwrap();
    let mut buf = [7; 1000];
    let meta = server.recv_meta(&mut buf).unwrap();
    assert_eq!((meta.len, buf), (1000, [0; 1000]));
    assert!(!meta.delivery.is_corrupt && !meta.is_truncated());
}

#[test]
fn truncated_datagram_gives_the_copied_length() {
    let (client, server) = pair(&options(), &options());
    for _ in 0..2 {
        client.send(b"too long").unwrap();
    }
    client.send(b"next").unwrap();
    let mut buf = [0; 3];
    assert_eq!(server.recv(&mut buf), Ok(3));
    assert_eq!(&buf, b"too");
    let meta = server.recv_meta(&mut buf).unwrap();
    assert_eq!((meta.len, meta.datagram_len), (3, 8));
    assert!(meta.is_truncated());
    let datagram = server.recv_datagram().unwrap();
    assert_eq!(datagram.bytes(), b"next");
    assert_eq!(datagram.into_bytes(), b"next");
}

#[test]
fn datagram_larger_than_a_packet_is_refused() {
    let (client, _server) = pair(&options().mtu(1500).probe_mtu(false), &options());
    let mps = client.max_packet_size().unwrap();
    assert!((1300..1500).contains(&mps), "{mps}");
    let len = mps + 1;
    assert_eq!(client.send_zeros(len), Err(SendError::TooBig { len, mps }));
    let mut items = [mps, len, mps].map(SendItem::zeros);
    assert_eq!(client.send_batch(&mut items), Ok(2));
    assert!(items[0].result.is_ok() && items[2].result.is_ok());
    assert_eq!(items[1].result, Err(SendError::TooBig { len, mps }));
}

#[test]
fn receiving_waits_as_long_as_it_may() {
    let (client, server) = pair(&options(), &options());
    let mut buf = [0; 10];
    let short = Duration::from_millis(20);
    server.set_recv_timeout(Some(short));
    assert_eq!(server.recv(&mut buf), Err(RecvError::TimedOut));
    server.set_nonblocking(true);
    assert_eq!(server.recv(&mut buf), Err(RecvError::WouldBlock));
    server.set_nonblocking(false);
    server.set_recv_timeout(None);
    let sender = std::thread::spawn(move || {
        std::thread::sleep(short);
        client.send(b"late").unwrap();
        client
    });
    assert_eq!(server.recv(&mut buf), Ok(4));
    sender.join().unwrap();
}

#[test]
fn send_waits_for_room_until_its_timeout() {
    // No peer answers, so nothing leaves.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let options = options().send_buffer(3).nonblocking(true);
    let socket = Socket::connect((silent.local_addr().unwrap(), PORT), &options).unwrap();
    let mut items = [1, 2, 3, 4, 5].map(SendItem::zeros);
    assert_eq!(socket.send_batch(&mut items), Ok(3));
    assert_eq!(items[3].result, Err(SendError::WouldBlock));
    assert_eq!(socket.queued(), 3);
    assert_eq!(socket.send(b"no"), Err(SendError::WouldBlock));
    socket.set_nonblocking(false);
    socket.set_send_timeout(Some(Duration::from_millis(20)));
    assert_eq!(socket.send(b"no"), Err(SendError::TimedOut));
    assert_eq!(socket.send_batch(&mut items), Err(SendError::TimedOut));
    let sent = socket.stats().unwrap().sent;
    assert_eq!((sent.pushed, sent.queued), (3, 3));
    assert_eq!(socket.withdraw_queued(), 3);
    let sent = socket.stats().unwrap().sent;
    assert_eq!((sent.queued, sent.fates.withdrawn), (0, 3));
    assert!(socket.send(b"yes").is_ok());
}

#[test]
fn every_datagram_has_exactly_one_fate() {
    const N: u64 = 2000;
    let sender = options().fate_buffer(usize::try_from(N).unwrap());
    let (client, server) = pair(&sender, &options().recv_buffer(usize::try_from(N).unwrap()));
    for _ in 0..N {
        client.send_zeros(100).unwrap();
    }
    let mut reports = Vec::new();
    until("all fates are known", || {
        client.recv_fates(&mut reports, usize::MAX);
        reports.len() as u64 >= N
    });
    let mut ids: Vec<u64> = reports.iter().map(|r| r.id.0).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..N).collect::<Vec<_>>());
    let sent = client.stats().unwrap().sent;
    assert_eq!((sent.pushed, sent.queued, sent.in_flight), (N, 0, 0));
    assert_eq!((sent.fates.total(), sent.fates_missed), (N, 0));
    let acked = reports
        .iter()
        .filter(|r| matches!(r.fate, Fate::Acked | Fate::AckedCe))
        .count();
    assert_eq!(acked as u64, sent.fates.acked + sent.fates.acked_ce);
    assert_eq!(acked as u64, server.stats().unwrap().received.delivered);
}

#[test]
fn full_receive_buffer_drops_and_informs_the_sender() {
    let (client, server) = pair(&options(), &options().recv_buffer(10));
    for _ in 0..40 {
        client.send_zeros(100).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    until("all fates are known", || {
        client.stats().unwrap().sent.fates.total() == 40
    });
    let fates = client.stats().unwrap().sent.fates;
    assert_eq!((fates.acked, fates.rx_dropped), (10, 30));
    let received = server.stats().unwrap().received;
    assert_eq!((received.delivered, received.dropped_full), (10, 30));
}

#[test]
fn counters_of_both_ends_agree() {
    let (client, server) = pair(&options(), &options());
    let mut buf = [0; 1000];
    for _ in 0..200 {
        client.send_zeros(500).unwrap();
        server.recv(&mut buf).unwrap();
    }
    until("all fates are known", || {
        client.stats().unwrap().sent.fates.total() == 200
    });
    let (ours, theirs) = (client.stats().unwrap(), server.stats().unwrap());
    assert_eq!(ours.connection.mib.out_datagrams, 200);
    assert_eq!(ours.connection.counters.data_sent, 200);
    assert_eq!(theirs.connection.counters.data_received, 200);
    assert_eq!(theirs.received.taken, 200);
    assert_eq!(theirs.received.delivered_bytes, 100_000);
    let named: Vec<_> = ours.connection.mib.by_name().collect();
    assert!(named.contains(&("DCCPActiveOpens", 1)) && named.contains(&("DCCPOutDatagrams", 200)));
    assert!(ours.transport.sent >= 200);
    assert_eq!(ours.transport.dropped(), 0);
}

#[test]
fn reader_that_stops_is_reported_to_the_sender() {
    // 4340-8.3-6: Drop Code 1
    let (client, server) = pair(&options(), &options());
    server.shutdown(std::net::Shutdown::Read);
    let mut buf = [0; 10];
    assert_eq!(server.recv(&mut buf), Err(RecvError::ShutDown));
    client.send(b"anybody?").unwrap();
    await_event(&client, &Event::PeerNotListening);
    assert_eq!(client.send(b"hello?"), Err(SendError::PeerNotListening));
    server.send(b"still talking").unwrap();
    assert_eq!(client.recv(&mut buf), Ok(10));
}

#[test]
fn slow_receiver_is_reported_to_the_sender() {
    let (client, server) = pair(&options(), &options());
    server.set_slow_receiver(true);
    client.send(b"fast").unwrap();
    client.send(b"faster").unwrap();
    await_event(&client, &Event::SlowReceiver);
}

#[test]
fn threads_share_a_socket() {
    let (client, server) = pair(&options(), &options().recv_buffer(4000));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..500).all(|_| client.send_zeros(50).is_ok()));
        }
        let received = scope.spawn(|| {
            let mut batch = RecvBatch::new(100);
            let mut n = 0;
            while n < 2000 {
                n += server.recv_batch(&mut batch).unwrap();
            }
            n
        });
        assert_eq!(received.join().unwrap(), 2000);
    });
}

/// 4340-18-9: goal: who connects and is not accepted cannot fill the memory. Method: 20 clients send datagrams of 60,000 B
/// until the fate of each is known.
#[test]
fn connections_that_nobody_accepts_hold_few_bytes() {
    const DATAGRAMS: usize = 30;
    let options = options().mtu(65_535).fate_buffer(DATAGRAMS);
    let (listener, address) = listen(&options);
    let clients: Vec<Socket> = (0..20)
        .map(|_| Socket::connect((address, PORT), &options).unwrap())
        .collect();
    for client in &clients {
        for _ in 0..DATAGRAMS {
            client.send(&vec![7; 60_000]).unwrap();
        }
    }
    for client in &clients {
        let mut fates = Vec::new();
        until("all datagrams have their fates", || {
            client.recv_fates(&mut fates, DATAGRAMS);
            fates.len() >= DATAGRAMS
        });
    }
    let mut held = 0;
    for _ in &clients {
        let server = listener.accept().unwrap();
        let received = server.stats().unwrap().received;
        assert!(received.dropped_full > 0, "{received:?}");
        assert!(received.delivered_bytes <= 64 << 10, "{received:?}");
        held += received.delivered_bytes;
    }
    println!("{held} bytes of {}", 20 * DATAGRAMS * 60_000);
}
