//! DCCP over IP needs raw sockets: each test runs itself again in a process inside a new network
//! namespace, which vanishes with it.

use crate::faults::is_traced;
use crate::{PORT, options, until};
use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::{CloseReason, ConnectError, Encapsulation, Listener, Options, RecvError, Socket};
use dccp_dev::rerun::is_inside;
use rustix::net::{AddressFamily, SendFlags, SocketType, ipproto};
use std::process::Command;

#[test]
fn sockets_work_over_ip() {
    if !is_inside("namespace::sockets_work_over_ip", "") {
        return;
    }
    let options = options().encapsulation(Encapsulation::Ip);
    for host in ["127.0.0.1:0", "[::1]:0"] {
        let listener = Listener::bind((host, PORT), &options).unwrap();
        let clients: Vec<Socket> = (0..3)
            .map(|_| Socket::connect((host, PORT), &options).unwrap())
            .collect();
        let servers: Vec<Socket> = (0..3).map(|_| listener.accept().unwrap()).collect();
        drop(listener);
        let mut buf = [0; 2000];
        for client in &clients {
            for _ in 0..100 {
                client.send(&[5; 1000]).unwrap();
            }
        }
        for server in &servers {
            for _ in 0..100 {
                assert_eq!(server.recv(&mut buf), Ok(1000));
                assert_eq!(buf[..1000], [5; 1000]);
            }
        }
        for client in &clients {
            assert_eq!(client.close(), Ok(CloseReason::Local));
        }
        for server in &servers {
            assert_eq!(
                server.recv(&mut buf),
                Err(RecvError::Closed(CloseReason::Peer))
            );
            assert_eq!(server.peer_addr().udp_port, 0);
        }
    }
}

#[test]
fn partial_checksums_reach_the_wire() {
    if !is_inside("namespace::partial_checksums_reach_the_wire", "") {
        return;
    }
    let options = options()
        .encapsulation(Encapsulation::Ip)
        .checksum_coverage(1)
        .min_checksum_coverage(1);
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options).unwrap();
    let client = Socket::connect(("127.0.0.1:0", PORT), &options).unwrap();
    let server = listener.accept().unwrap();
    client.send(&[9; 500]).unwrap();
    let mut buf = [0; 500];
    assert_eq!(server.recv(&mut buf), Ok(500));
    assert_eq!(client.snapshot().unwrap().cscov, 1);
}

#[test]
fn link_local_peers_are_reached_by_their_interface() {
    if !is_inside(
        "namespace::link_local_peers_are_reached_by_their_interface",
        "",
    ) {
        return;
    }
    let status = Command::new("ip")
        .args(["address", "add", "fe80::1/64", "dev", "lo", "nodad"])
        .status()
        .unwrap();
    assert!(status.success());
    // The loopback is interface 1.
    let listener = Listener::bind(("[fe80::1%1]:0", PORT), &options()).unwrap();
    let place = listener.local_addrs()[0];
    assert!(place.to_string().starts_with("[fe80::1%1]:"), "{place}");
    let client = Socket::connect(place, &options()).unwrap();
    let server = listener.accept().unwrap();
    assert_eq!(client.peer_addr(), place);
    let back = server.peer_addr().to_string();
    assert!(back.starts_with("[fe80::1%1]:"), "{back}");
    client.send(b"near").unwrap();
    assert_eq!(server.recv(&mut [0; 10]), Ok(4));
    server.send(b"by").unwrap();
    assert_eq!(client.recv(&mut [0; 10]), Ok(2));
    let over_ip = options().encapsulation(Encapsulation::Ip);
    let error = Socket::connect(place, &over_ip).unwrap_err();
    assert!(matches!(error, ConnectError::LinkLocal { .. }), "{error:?}");
}

/// An "unreachable" of a router, about a datagram from `port` of this host to another; 56 bytes with the IP header.
fn unreachable_message(is_ipv6: bool, protocol: u8, port: u16) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    let quoted = [high, low, 0, 9, 0, 8, 0, 0];
    if is_ipv6 {
        let mut header = vec![0x60, 0, 0, 0, 0, 8, protocol, 64];
        header.extend(Ipv6Addr::LOCALHOST.octets());
        header.extend("2001:db8::9".parse::<Ipv6Addr>().unwrap().octets());
        // The kernel computes the checksum.
        return [&[1, 4, 0, 0, 0, 0, 0, 0], &header[..], &quoted].concat();
    }
    let header = [0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    let addresses = [127, 0, 0, 1, 192, 0, 2, 9];
    let mut message = [&[3, 3, 0, 0, 0, 0, 0, 0], &header[..], &addresses, &quoted].concat();
    let words = message.chunks_exact(2);
    let sum: u32 = words
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let folded = u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    message[2..4].copy_from_slice(&(!folded).to_be_bytes());
    message
}

/// Sends the message to this host as fast as it can until `is_over`; returns how often.
fn flood(is_ipv6: bool, message: &[u8], is_over: &AtomicBool) -> u64 {
    let (family, protocol) = if is_ipv6 {
        (AddressFamily::INET6, ipproto::ICMPV6)
    } else {
        (AddressFamily::INET, ipproto::ICMP)
    };
    let socket = rustix::net::socket(family, SocketType::RAW, Some(protocol)).unwrap();
    let to: SocketAddr = if is_ipv6 {
        (Ipv6Addr::LOCALHOST, 0).into()
    } else {
        (Ipv4Addr::LOCALHOST, 0).into()
    };
    let mut sent = 0;
    while !is_over.load(Ordering::Relaxed) {
        sent += u64::from(rustix::net::sendto(&socket, message, SendFlags::empty(), &to).is_ok());
    }
    sent
}

/// Ends the flood, also when the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection to a listener of this host, and the ICMP error that hits the listener's port.
struct Target {
    listener: Listener,
    client: Socket,
    server: Socket,
    is_ipv6: bool,
    message: Vec<u8>,
}

impl Target {
    fn open(host: &str, options: &Options) -> Self {
        let listener = Listener::bind((host, PORT), options).unwrap();
        let address = listener.local_addrs()[0];
        let client = Socket::connect(address, options).unwrap();
        let server = listener.accept().unwrap();
        let is_ipv6 = address.ip.is_ipv6();
        // The UDP port is 0 over IP.
        let (protocol, port) = match address.udp_port {
            0 => (33, PORT),
            port => (17, port),
        };
        Self {
            listener,
            client,
            server,
            is_ipv6,
            message: unreachable_message(is_ipv6, protocol, port),
        }
    }

    /// Pauses of reading ICMP errors so far.
    fn pauses(&self) -> u64 {
        self.server.stats().unwrap().transport.icmp_pauses
    }
}

const WAYS: [(&str, Encapsulation); 3] = [
    ("127.0.0.1:0", Encapsulation::Udp),
    ("[::1]:0", Encapsulation::Udp),
    ("127.0.0.1:0", Encapsulation::Ip),
];

/// 4340-18-10: goal: an open port stays up, whatever ICMP says. Method: a thread floods the server's socket with ICMP
/// errors that quote its port and a host that is not its peer, while `strace` holds each receive call for 2 ms. So
/// several calls in a row return such an error. A port that has read 1,000 of them ignores further ones for a second, and new
/// ports follow.
#[test]
fn flood_of_icmp_errors_ends_no_port() {
    const NAME: &str = "namespace::flood_of_icmp_errors_ends_no_port";
    /// Ports that a flood hits in turn.
    const PORTS: usize = 5;
    if !is_inside(NAME, "") || !is_traced(NAME, "recvmmsg:delay_exit=2000") {
        return;
    }
    for (host, encapsulation) in WAYS {
        let options = options().encapsulation(encapsulation);
        for _ in 0..PORTS {
            port_survives_until_its_pause(&Target::open(host, &options));
        }
    }
}

/// 4340-18-10
#[test]
fn data_and_a_client_pass_beside_a_flood_of_icmp_errors() {
    const NAME: &str = "namespace::data_and_a_client_pass_beside_a_flood_of_icmp_errors";
    if !is_inside(NAME, "") {
        return;
    }
    for (host, encapsulation) in WAYS {
        data_and_a_client_pass_beside_a_flood(host, &options().encapsulation(encapsulation));
    }
}

fn data_and_a_client_pass_beside_a_flood(host: &str, options: &Options) {
    let target = Target::open(host, options);
    let address = target.listener.local_addrs()[0];
    let is_over = AtomicBool::new(false);
    let (received, sent) = std::thread::scope(|scope| {
        let end = End(&is_over);
        let flooder = scope.spawn(|| flood(target.is_ipv6, &target.message, &is_over));
        let sender = scope.spawn(|| {
            // Sending lasts long enough for many looks at the error queue.
            for number in 0..10_000 {
                target.client.send(&[5; 1000]).unwrap();
                if number % 20 == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            while !is_over.load(Ordering::Relaxed) {
                target.client.send(b"the end").unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let mut buf = [0; 2000];
        let mut received = 0;
        while target.server.recv(&mut buf).unwrap() != 7 {
            received += 1;
        }
        let late = Socket::connect(address, options).unwrap();
        target
            .listener
            .accept_timeout(Duration::from_secs(1))
            .unwrap();
        drop(end);
        sender.join().unwrap();
        drop(late);
        (received, flooder.join().unwrap())
    });
    println!("{address}: {received} of 10000 datagrams beside {sent} ICMP errors");
    assert!(received > 9_000, "{address}: {received}");
    assert!(target.listener.poll_event().is_none(), "{address}");
    assert!(target.pauses() > 0, "{address}");
}

/// Floods a port, and lets it receive and send, until it ignores ICMP errors.
fn port_survives_until_its_pause(target: &Target) {
    let is_over = AtomicBool::new(false);
    // A datagram that a full socket dropped is not waited for.
    target
        .server
        .set_recv_timeout(Some(Duration::from_millis(1)));
    let mut buf = [0; 2000];
    let mut event = None;
    std::thread::scope(|scope| {
        let _end = End(&is_over);
        scope.spawn(|| flood(target.is_ipv6, &target.message, &is_over));
        until("the port pauses", || {
            target.client.send(&[5; 100]).unwrap();
            let _ = target.server.recv(&mut buf);
            event = target.listener.poll_event();
            event.is_some() || target.pauses() > 0
        });
    });
    let event = event.or_else(|| target.listener.poll_event());
    assert!(event.is_none(), "{event:?}");
}

/// 4340-14.1-7
#[test]
fn connections_work_over_links_with_small_mtus() {
    if !is_inside("namespace::connections_work_over_links_with_small_mtus", "") {
        return;
    }
    for mtu in [552, 400, 296] {
        set_mtu(mtu);
        for encapsulation in [Encapsulation::Udp, Encapsulation::Ip] {
            let options = options().encapsulation(encapsulation).mtu(mtu);
            let listener = Listener::bind(("127.0.0.1:0", PORT), &options).unwrap();
            // The client learns the MTU from its interface.
            let usual = crate::options().encapsulation(encapsulation);
            let client = Socket::connect(listener.local_addrs(), &usual).unwrap();
            let server = listener.accept().unwrap();
            let mps = client.max_packet_size().unwrap();
            assert!((mtu - 100..mtu - 20).contains(&mps), "{mps} of {mtu}");
            let mut buf = [0; 2000];
            for _ in 0..100 {
                client.send(&vec![5; mps]).unwrap();
                assert_eq!(server.recv(&mut buf), Ok(mps));
            }
            assert_eq!(server.stats().unwrap().transport.dropped_too_big, 0);
        }
    }
    for mtu in [1420, 552] {
        set_mtu(mtu);
        accepted_connection_learns_the_mtu_from_the_first_refusal(mtu);
    }
    set_mtu(200);
    let refused = Socket::connect(("127.0.0.1:9", PORT), &options()).unwrap_err();
    assert!(
        matches!(refused, ConnectError::PathTooNarrow { mtu: 200, .. }),
        "{refused:?}"
    );
}

/// 4340-14.1-6: the host refuses what is larger than its interface permits, and that is evidence.
fn accepted_connection_learns_the_mtu_from_the_first_refusal(mtu: usize) {
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options()).unwrap();
    let client = Socket::connect(listener.local_addrs(), &options()).unwrap();
    let server = listener.accept().unwrap();
    let mut buf = [0; 2000];
    let full = server.max_packet_size().unwrap();
    assert!(full > mtu - 20);
    server.send(&vec![5; full]).unwrap();
    while server.max_packet_size().unwrap() > mtu - 20 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let fits = server.max_packet_size().unwrap();
    server.send(&vec![6; fits]).unwrap();
    assert_eq!(client.recv(&mut buf), Ok(fits));
    let transport = server.stats().unwrap().transport;
    assert_eq!((transport.dropped_too_big, transport.icmp_pauses), (1, 0));
}

fn set_mtu(mtu: usize) {
    let status = Command::new("ip")
        .args(["link", "set", "lo", "mtu", &mtu.to_string()])
        .status();
    assert!(status.unwrap().success());
}
