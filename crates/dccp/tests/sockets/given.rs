//! Listeners over UDP sockets that others have bound.

use crate::{PATIENCE, PORT, options};
use core::num::NonZeroUsize;
use dccp::{
    BindError, DccpAddr, Encapsulation, Engine, EngineOptions, Fault, Listener, OpenError, Socket,
};
use rustix::net::{AddressFamily, SocketType, socket};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

fn own_engine() -> Engine {
    Engine::start(&EngineOptions::new()).unwrap()
}

/// A socket as a service manager has it, and its duplicate for the listener.
fn passed(at: &str) -> (UdpSocket, UdpSocket) {
    let held = UdpSocket::bind(at).unwrap();
    let given = held.try_clone().unwrap();
    (held, given)
}

fn echo(client: &Socket, server: &Socket) {
    let mut buf = [0; 9];
    client.send(b"ping").unwrap();
    assert_eq!(server.recv(&mut buf), Ok(4));
    server.send(b"response").unwrap();
    assert_eq!(client.recv(&mut buf), Ok(8));
}

#[test]
fn request_that_waits_in_the_socket_is_answered() {
    for at in ["127.0.0.1:0", "[::1]:0"] {
        let (held, given) = passed(at);
        let to = held.local_addr().unwrap();
        let options = options().engine(&own_engine());
        let client = Socket::connect((to, PORT), &options.clone().nonblocking(true)).unwrap();
        held.set_read_timeout(Some(PATIENCE)).unwrap();
        held.peek_from(&mut [0; 100]).expect("the Request waits");

        let listener = Listener::from_udp_socket(given, PORT, &options).unwrap();
        assert_eq!(listener.local_addrs(), [DccpAddr::from((to, PORT))]);
        let server = listener.accept_timeout(PATIENCE).unwrap();
        client.set_nonblocking(false);
        echo(&client, &server);
    }
}

#[test]
fn socket_of_both_ip_versions_serves_both() {
    let (held, given) = passed("[::]:0");
    let port = held.local_addr().unwrap().port();
    let options = options().engine(&own_engine());
    let listener = Listener::from_udp_socket(given, PORT, &options).unwrap();
    for ip in ["127.0.0.1", "::1"] {
        let ip: IpAddr = ip.parse().unwrap();
        let to = SocketAddr::new(ip, port);
        let client = Socket::connect((to, PORT), &options).unwrap();
        let server = listener.accept_timeout(PATIENCE).unwrap();
        assert_eq!((server.local_addr().ip, server.peer_addr().ip), (ip, ip));
        echo(&client, &server);
        let largest = client.max_packet_size().unwrap();
        assert_eq!(server.max_packet_size().unwrap(), largest, "{ip}");
        client.send(&vec![7; largest]).unwrap();
        let mut buf = vec![0; largest + 1];
        assert_eq!(server.recv(&mut buf), Ok(largest));
    }
}

#[test]
fn socket_can_be_given_again_after_its_listener_is_gone() {
    let (held, _) = passed("127.0.0.1:0");
    let to = held.local_addr().unwrap();
    let engine = own_engine();
    let options = options().engine(&engine);
    for _ in 0..3 {
        let given = held.try_clone().unwrap();
        let listener = Listener::from_udp_socket(given, PORT, &options).unwrap();
        let client = Socket::connect((to, PORT), &options).unwrap();
        echo(&client, &listener.accept_timeout(PATIENCE).unwrap());
        let again = held.try_clone().unwrap();
        let refused = Listener::from_udp_socket(again, PORT + 1, &options);
        assert!(
            matches!(refused, Err(BindError::Open(OpenError::InUse(_)))),
            "{refused:?}"
        );
        client.close().unwrap();
        engine.wait_idle(PATIENCE).unwrap();
    }
}

#[test]
fn dccp_port_zero_is_any_free_port() {
    let (_held, given) = passed("127.0.0.1:0");
    let listener = Listener::from_udp_socket(given, 0, &options()).unwrap();
    let to = listener.local_addrs()[0];
    assert_ne!(to.dccp_port, 0);
    let client = Socket::connect(to, &options()).unwrap();
    echo(&client, &listener.accept_timeout(PATIENCE).unwrap());
}

#[test]
fn socket_that_cannot_carry_dccp_is_refused_with_the_reason() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = UdpSocket::from(OwnedFd::from(tcp));
    let unbound = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    let (_held, connected) = passed("127.0.0.1:0");
    connected.connect("127.0.0.1:9").unwrap();
    let local = socket(AddressFamily::UNIX, SocketType::DGRAM, None).unwrap();
    for (given, reason) in [
        (tcp, "the given socket: must be a UDP socket"),
        (local.into(), "the given socket: must be a UDP socket"),
        (unbound.into(), "the given socket: must be bound to a port"),
        (connected, "the given socket: must not be connected"),
    ] {
        let refused = Listener::from_udp_socket(given, PORT, &options()).unwrap_err();
        assert_eq!(refused.to_string(), reason);
        assert_eq!(
            refused.next_step(),
            "give a UDP socket that is bound to a port and not connected"
        );
    }
}

#[test]
fn options_that_a_given_socket_cannot_have_are_refused() {
    let two = EngineOptions::new().threads(NonZeroUsize::new(2).unwrap());
    let two = Engine::start(&two).unwrap();
    for (options, option) in [
        (options().engine(&two), "option engine: "),
        (
            options().encapsulation(Encapsulation::Ip),
            "option encapsulation: ",
        ),
    ] {
        let (_held, given) = passed("127.0.0.1:0");
        let refused = Listener::from_udp_socket(given, PORT, &options).unwrap_err();
        assert!(refused.to_string().starts_with(option), "{refused}");
        assert_eq!(refused.fault(), Fault::Caller);
    }
}
