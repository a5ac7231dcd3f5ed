//! The relay on loopback: real datagrams through the emulated link.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use core::time::Duration;
use dccp_emu::clock;
use dccp_emu::relay::Relay;
use dccp_emu::report::Report;
use dccp_proto::Instant;
use dccp_sim::loss::FaultConfig;
use dccp_sim::{LinkConfig, Seed};
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(any_port()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    socket
}

/// Runs a relay to `server` for a while; its address, and its report at the end.
fn relay(server: &UdpSocket, link: LinkConfig, time: Duration) -> (SocketAddr, JoinHandle<Report>) {
    let server = server.local_addr().unwrap();
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        let links = [link.clone(), link];
        let mut relay = Relay::new(any_port(), server, links, Seed(3), Duration::ZERO).unwrap();
        tell.send(relay.local_addr()).unwrap();
        relay.run_until(clock::now() + time).unwrap();
        relay.report()
    });
    (told.recv().unwrap(), thread)
}

#[test]
fn datagrams_reach_the_server_and_the_answers_their_clients() {
    let server = socket();
    let delay = Duration::from_millis(20);
    let link = LinkConfig {
        delay,
        ..LinkConfig::default()
    };
    let (address, running) = relay(&server, link, Duration::from_secs(1));
    let clients = [socket(), socket()];
    let start: Instant = clock::now();
    for (client, text) in clients.iter().zip([b"one", b"two"]) {
        client.send_to(text, address).unwrap();
    }
    let mut buffer = [0; 100];
    for _ in 0..2 {
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(&buffer[..len], from).unwrap();
    }
    for (client, text) in clients.iter().zip([b"one", b"two"]) {
        let (len, from) = client.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from), (&text[..], address));
    }
    assert!(clock::now() - start >= 2 * delay);
    let report = running.join().unwrap();
    assert_eq!(
        (
            report.forward.delivered_packets,
            report.back.delivered_packets
        ),
        (2, 2)
    );
    // IP and UDP headers are counted.
    assert_eq!(report.forward.delivered_bytes, 2 * (3 + 28));
}

#[test]
fn what_the_link_loses_is_counted_and_everything_adds_up() {
    const PACKETS: u64 = 1000;
    let server = socket();
    let faults = FaultConfig {
        loss: 0.1,
        ..FaultConfig::default()
    };
    let link = LinkConfig {
        faults,
        ..LinkConfig::default()
    };
    let (address, running) = relay(&server, link, Duration::from_secs(2));
    let reader = thread::spawn(move || {
        let mut buffer = [0; 100];
        server
            .set_read_timeout(Some(Duration::from_secs(3)))
            .unwrap();
        (0..=PACKETS)
            .take_while(|_| server.recv(&mut buffer).is_ok())
            .count() as u64
    });
    let client = socket();
    for n in 0..PACKETS {
        client.send_to(&n.to_be_bytes(), address).unwrap();
        if n % 50 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    let report = running.join().unwrap().forward;
    let lost: u64 = report.lost_packets.values().sum();
    assert_eq!(
        report.lost_packets.keys().copied().collect::<Vec<_>>(),
        ["random"]
    );
    assert_eq!(report.offered_packets, report.delivered_packets + lost);
    assert_eq!(report.offered_packets + report.overflow_packets, PACKETS);
    assert!((60..140).contains(&lost), "{lost} of 1000 at 10 %");
    let arrived = reader.join().unwrap();
    assert_eq!(arrived, report.delivered_packets - report.refused_packets);
}

#[test]
fn a_flipped_bit_does_not_lead_to_another_client() {
    let server = socket();
    let faults = FaultConfig {
        corrupt: 1.0,
        ..FaultConfig::default()
    };
    let link = LinkConfig {
        faults,
        ..LinkConfig::default()
    };
    let (address, running) = relay(&server, link, Duration::from_secs(1));
    // Three clients, since the numbers 2 and 3 differ in one bit.
    let clients = [socket(), socket(), socket()];
    for client in &clients {
        client.send_to(&[0; 100], address).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..3000 {
        clients[2].send_to(&[0xff; 1], address).unwrap();
    }
    let report = running.join().unwrap();
    let mut sources = Vec::new();
    let mut buffer = [0; 200];
    server
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    while let Ok((len, from)) = server.recv_from(&mut buffer) {
        if len == 1 {
            sources.push(from);
        }
    }
    // Most bits are of the headers, and those packets do not arrive.
    assert!((1..500).contains(&sources.len()), "{}", sources.len());
    sources.dedup();
    assert_eq!(sources.len(), 1, "{sources:?} {report:?}");
}

#[test]
fn one_source_does_not_lock_others_out() {
    let server = socket();
    let (address, running) = relay(&server, LinkConfig::default(), Duration::from_secs(3));
    for n in 0..1100 {
        let client = UdpSocket::bind("127.0.0.2:0").unwrap();
        client.send_to(b"flood", address).unwrap();
        if n % 20 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    let client = socket();
    client.send_to(b"honest", address).unwrap();
    let mut buffer = [0; 100];
    let from = loop {
        let (len, from) = server.recv_from(&mut buffer).expect("the honest one");
        if &buffer[..len] == b"honest" {
            break from;
        }
    };
    server.send_to(b"answer", from).unwrap();
    let (len, _) = client.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..len], b"answer");
    running.join().unwrap();
}
