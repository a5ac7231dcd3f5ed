//! Connecting and listening.

use crate::{PATIENCE, PORT, listen, options, pair};
use core::time::Duration;
use dccp::{AcceptError, BindError, ConnectError, Fault, Listener, Options, Socket};
use std::net::UdpSocket;

#[test]
fn both_ends_know_the_same_connection() {
    let (client, server) = pair(&options(), &options());
    let (ours, theirs) = (client.flow(), server.flow());
    assert_eq!(ours.path.reversed(), theirs.path);
    assert_eq!(
        (ours.local_port, ours.remote_port),
        (theirs.remote_port, theirs.local_port)
    );
    assert_eq!(ours.remote_port, PORT);
    assert!(ours.local_port >= 0xC000);
    assert_eq!(server.peer_addr().ip, client.flow().path.local);
    assert_eq!(server.service_code(), client.service_code());
    assert!(client.max_packet_size().unwrap() > 1000);
    let seen = client.snapshot().unwrap();
    assert_eq!((seen.tx_ccid, seen.rx_ccid), (2, 2));
}

#[test]
fn each_connection_over_udp_has_a_port_of_its_own() {
    // 6773-3.8-2
    let (listener, address) = listen(&options());
    let sockets: Vec<Socket> = (0..3)
        .map(|_| Socket::connect((address, PORT), &options()).unwrap())
        .collect();
    let mut ports: Vec<u16> = (0..3)
        .map(|_| listener.accept().unwrap().peer_addr().udp_port)
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), sockets.len());
}

#[test]
fn ipv6_works_like_ipv4() {
    let listener = match Listener::bind(("[::1]:0", PORT), &options()) {
        Ok(listener) => listener,
        Err(e) => {
            println!("SKIP connect::ipv6_works_like_ipv4: needs IPv6 on the loopback ({e})");
            return;
        }
    };
    let address = listener.local_addrs()[0];
    let client = Socket::connect(address, &options()).unwrap();
    let server = listener.accept().unwrap();
    client.send(b"six").unwrap();
    let mut buf = [0; 10];
    assert_eq!(server.recv(&mut buf).unwrap(), 3);
    assert!(server.peer_addr().ip.is_ipv6());
}

#[test]
fn all_names_of_this_host_reach_it() {
    let listener = Listener::bind(("0.0.0.0:0", PORT), &options()).unwrap();
    let port = listener.local_addrs()[0].udp_port;
    for host in ["127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"] {
        let client = Socket::connect(((host, port), PORT), &options()).unwrap();
        listener.accept().unwrap();
        assert_eq!(
            client.peer_addr().to_string(),
            format!("127.0.0.1:{port}/{PORT}")
        );
    }
}

#[test]
fn link_local_address_needs_its_interface() {
    let error = Socket::connect(("[fe80::1]:14233", PORT), &options()).unwrap_err();
    assert!(matches!(error, ConnectError::LinkLocal { .. }), "{error:?}");
    assert_eq!(error.fault(), Fault::Caller);
    assert_eq!(
        error.to_string(),
        "address fe80::1: must have its interface, because it is link-local, and works over UDP only"
    );
    assert!(error.next_step().contains("fe80::1%eth0"));
}

#[test]
fn unknown_service_code_is_refused() {
    // 5595-3.3.1-2
    let (_listener, address) = listen(&options());
    let other = Options::new().service_code(*b"ELSE");
    let error = Socket::connect((address, PORT), &other).unwrap_err();
    assert!(
        matches!(error, ConnectError::BadServiceCode { .. }),
        "{error:?}"
    );
    assert_eq!(error.fault(), Fault::Peer);
    assert!(
        error
            .to_string()
            .contains("does not serve Service Code ELSE")
    );
}

#[test]
fn dccp_port_without_a_listener_is_refused() {
    // 5595-3.3.1-1
    let (_listener, address) = listen(&options());
    let error = Socket::connect((address, PORT + 1), &options()).unwrap_err();
    assert!(
        matches!(error, ConnectError::Refused { remote } if remote.dccp_port == PORT + 1),
        "{error:?}"
    );
}

#[test]
fn silence_is_an_error_that_counts_the_requests() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let options = options().connect_timeout(Duration::from_millis(1500));
    let error = Socket::connect((silent.local_addr().unwrap(), PORT), &options).unwrap_err();
    let ConnectError::NoAnswer {
        requests, waited, ..
    } = error
    else {
        panic!("{error:?}");
    };
    silent.set_nonblocking(true).unwrap();
    let mut packet = [0; 100];
    let types = core::iter::from_fn(|| silent.recv(&mut packet).ok().map(|_| packet[8] >> 1 & 0xF));
    // A Reset follows them.
    let arrived = types
        .filter(|&t| t == dccp_proto::wire::PacketType::Request as u8)
        .count();
    assert_eq!(usize::try_from(requests), Ok(arrived));
    assert!(arrived > 0);
    assert!(waited >= Duration::from_millis(1500), "{waited:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn closed_udp_port_is_reported_by_icmp() {
    // 6773-3.6-1
    let closed = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = Socket::connect((closed, PORT), &options()).unwrap_err();
    assert!(
        matches!(
            error,
            ConnectError::Unreachable {
                kind: 3,
                code: 3,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn several_listeners_share_an_address_and_a_port() {
    // 5595-3.3-1, 5595-3.3-2
    let (first, address) = listen(&options().service_code(*b"MORE"));
    let other = Options::new().service_code(*b"ELSE").recv_timeout(PATIENCE);
    let second = Listener::bind((address, PORT), &other).unwrap();
    let taken = Listener::bind((address, PORT), &options()).unwrap_err();
    assert!(
        matches!(taken, BindError::InUse { port: PORT }),
        "{taken:?}"
    );
    for (code, listener) in [(b"TEST", &first), (b"MORE", &first), (b"ELSE", &second)] {
        let options = Options::new().service_code(*code);
        let _client = Socket::connect((address, PORT), &options).unwrap();
        let server = listener.accept().unwrap();
        assert_eq!(server.service_code().0.to_be_bytes(), *code);
    }
    drop(first);
    let gone = Socket::connect((address, PORT), &options()).unwrap_err();
    assert!(
        matches!(gone, ConnectError::BadServiceCode { .. }),
        "{gone:?}"
    );
    Socket::connect((address, PORT), &other).unwrap();
}

#[test]
fn listeners_of_one_port_have_settings_of_their_own() {
    let with = |code: &[u8; 4], ccids: &[u8]| {
        let options = Options::new().service_code(*code).recv_timeout(PATIENCE);
        options.send_ccids(ccids).recv_ccids(ccids)
    };
    let (first, address) = listen(&with(b"TWO ", &[2]));
    let other = with(b"TREE", &[3]);
    let second = Listener::bind((address, PORT), &other).unwrap();
    for (code, listener, ccid) in [(b"TWO ", &first, 2), (b"TREE", &second, 3)] {
        let _client = Socket::connect((address, PORT), &with(code, &[3, 2])).unwrap();
        let server = listener.accept().unwrap();
        assert_eq!(server.snapshot().unwrap().tx_ccid, ccid);
    }
}

#[test]
fn udp_port_of_the_system_service_is_refused() {
    // 6773-3.8-1
    let error = Listener::bind(("127.0.0.1:6511", PORT), &options()).unwrap_err();
    assert!(matches!(error, BindError::ReservedUdpPort));
    assert_eq!(error.fault(), Fault::Caller);
}

#[test]
fn taken_udp_port_is_a_fault_of_the_system() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = Listener::bind((taken.local_addr().unwrap(), PORT), &options()).unwrap_err();
    assert!(
        matches!(error, BindError::Open(dccp_io::OpenError::InUse(_))),
        "{error:?}"
    );
    assert_eq!(
        error.next_step(),
        "choose another UDP port, or stop the program that has it"
    );
}

#[test]
fn accepting_waits_as_long_as_it_may() {
    let (listener, _) = listen(&options());
    let short = Duration::from_millis(20);
    assert_eq!(
        listener.accept_timeout(short).unwrap_err(),
        AcceptError::TimedOut
    );
    let (impatient, _) = listen(&options().nonblocking(true));
    assert_eq!(impatient.accept().unwrap_err(), AcceptError::WouldBlock);
}

#[test]
fn more_connections_than_the_backlog_are_refused() {
    // 4340-8.1.3-1
    let (listener, address) = listen(&options().backlog(2));
    let clients: Vec<_> = (0..4)
        .map(|_| Socket::connect((address, PORT), &options()))
        .collect();
    let refused = |c: &&Result<Socket, _>| matches!(c, Err(ConnectError::TooBusy { .. }));
    assert_eq!(clients.iter().filter(refused).count(), 2);
    assert_eq!(clients.iter().flatten().count(), 2);
    let stats = listener.stats();
    assert_eq!((stats.refused_backlog, stats.refused_source), (2, 0));
    for _ in 0..2 {
        listener.accept().unwrap();
    }
    let short = Duration::from_millis(100);
    assert_eq!(
        listener.accept_timeout(short).unwrap_err(),
        AcceptError::TimedOut
    );
}

#[test]
fn both_ends_can_use_different_congestion_controls() {
    let server = options().send_ccids(&[3]).recv_ccids(&[2]);
    let client = options().send_ccids(&[2]).recv_ccids(&[3]);
    let (client, server) = pair(&client, &server);
    crate::until("both agreed", || {
        let (c, s) = (client.snapshot().unwrap(), server.snapshot().unwrap());
        (c.tx_ccid, c.rx_ccid) == (2, 3) && (s.tx_ccid, s.rx_ccid) == (3, 2)
    });
    client.send(b"there").unwrap();
    server.send(b"back").unwrap();
    let mut buf = [0; 10];
    assert_eq!(server.recv(&mut buf).unwrap(), 5);
    assert_eq!(client.recv(&mut buf).unwrap(), 4);
}

#[test]
fn many_connections_live_side_by_side() {
    let (listener, address) = listen(&options());
    let clients: Vec<Socket> = (0..50)
        .map(|_| Socket::connect((address, PORT), &options()).unwrap())
        .collect();
    let servers: Vec<Socket> = (0..50).map(|_| listener.accept().unwrap()).collect();
    for (n, client) in (0_u8..).zip(&clients) {
        client.send(&[n; 100]).unwrap();
    }
    let mut buf = [0; 200];
    for server in &servers {
        assert_eq!(server.recv(&mut buf).unwrap(), 100);
        server.send(&buf[..1]).unwrap();
    }
    for (n, client) in (0_u8..).zip(&clients) {
        assert_eq!(client.recv(&mut buf).unwrap(), 1);
        assert_eq!(buf[0], n);
    }
}

#[test]
fn request_without_a_following_ack_is_not_accepted() {
    let (listener, address) = listen(&options().backlog(1));
    // Requests of clients that do not receive the answers.
    for port in [40_001, 40_002] {
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        stranger.send_to(&request(port), address).unwrap();
        let mut answer = [0; 200];
        assert!(stranger.recv(&mut answer).unwrap() >= 28);
        // Response
        assert_eq!(answer[8] >> 1 & 0xF, 1);
    }
    let short = Duration::from_millis(100);
    let nobody = listener.accept_timeout(short).unwrap_err();
    assert_eq!(nobody, AcceptError::TimedOut);
    // Nor do they take the place of those who do.
    let client = Socket::connect((address, PORT), &options()).unwrap();
    let server = listener.accept().unwrap();
    assert_eq!(server.flow().path, client.flow().path.reversed());
}

/// A Request over UDP from this DCCP port.
fn request(port: u16) -> Vec<u8> {
    use dccp_proto::path::{Encap, Path};
    use dccp_proto::wire::{self, Kind, Options, Packet, Payload, ServiceCode};
    let loopback = std::net::Ipv4Addr::LOCALHOST.into();
    let path = Path {
        local: loopback,
        remote: loopback,
        encap: Encap::Udp {
            local_port: 1,
            remote_port: 2,
        },
    };
    let packet = Packet {
        source_port: port,
        dest_port: PORT,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: dccp_proto::Seq::new(7),
        kind: Kind::Request {
            service: ServiceCode(u32::from_be_bytes(*b"TEST")),
        },
        options: Options::EMPTY,
        payload: Payload::EMPTY,
    };
    let mut bytes = Vec::new();
    wire::build(&mut bytes, &packet, path.checksum_rule()).unwrap();
    bytes
}

#[test]
fn port_zero_takes_a_free_dccp_port() {
    let options = options();
    let listeners = [(); 3].map(|()| Listener::bind("127.0.0.1:0/0", &options).unwrap());
    for listener in &listeners {
        let address = listener.local_addrs()[0];
        assert!(
            address.dccp_port >= 0xC000 && address.udp_port > 0,
            "{address}"
        );
        let client = Socket::connect(address, &options).unwrap();
        let server = listener.accept().unwrap();
        assert_eq!(client.peer_addr(), address);
        assert_eq!(server.local_addr(), address);
        assert_eq!(server.peer_addr(), client.local_addr());
    }
}

#[test]
fn address_without_ports_is_the_callers_error() {
    for error in [
        Socket::connect("127.0.0.1", &options()).unwrap_err(),
        Socket::connect(("127.0.0.1", PORT), &options()).unwrap_err(),
    ] {
        assert_eq!(error.fault(), Fault::Caller);
        assert!(error.next_step().contains("192.0.2.10:14233"), "{error}");
    }
}
