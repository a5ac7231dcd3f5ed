//! CCID 248 attributes missing packets to the right place, over real sockets in a network namespace.

use crate::{PATIENCE, PORT, options};
use core::time::Duration;
use dccp::clock;
use dccp::safeudp::NUMBER;
use dccp::{Engine, EngineOptions, Listener, Options, SendOptions, Socket, SourceReply, WhenFull};
use dccp_dev::rerun::is_inside;
use std::net::UdpSocket;
use std::thread::{scope, sleep};

/// The datagrams of the sending application: 16 Mbit/s.
const LENGTH: usize = 1000;
const INTERVAL: Duration = Duration::from_micros(500);
const WARM_UP: Duration = Duration::from_secs(2);
const DURATION: Duration = Duration::from_secs(10);

fn own_engine() -> Options {
    let engine = Engine::start(&EngineOptions::new()).unwrap();
    options().ccid(NUMBER).engine(&engine)
}

/// Sends at a constant rate, whatever the control says.
fn send(client: &Socket, duration: Duration) {
    let start = clock::now();
    let options = SendOptions::new().when_full(WhenFull::Error);
    for n in 0.. {
        let due = start + INTERVAL * n;
        if due >= start + duration {
            return;
        }
        sleep(due - clock::now());
        // A datagram without room is lost in this host.
        let _ = client.send_with(&[0; LENGTH], options);
    }
}

/// Intervals with signs of the network, and of a host alone.
fn intervals(client: &Socket) -> [f64; 2] {
    let inner = client.snapshot().unwrap().tx.inner;
    ["intervals_network", "intervals_host"].map(|wanted| {
        let mut values = inner.iter().filter(|(name, _)| *name == wanted);
        values.next().unwrap().1
    })
}

/// Sends, counts the intervals, and ends the connection, so that no thread waits for more.
fn run(client: &Socket) -> [f64; 2] {
    // The first buffers show whether the kernel merges datagrams.
    send(client, WARM_UP);
    let before = intervals(client);
    send(client, DURATION);
    let [network, host] = intervals(client);
    let intervals = [network - before[0], host - before[1]];
    client.abort();
    println!("intervals of network and host: {intervals:?}");
    intervals
}

/// At least 99 % of the intervals with signs are those of a host.
fn assert_host([network, host]: [f64; 2]) {
    assert!(host >= 20.0, "{host}");
    assert!(network <= 0.01 * (network + host), "{network} {host}");
}

#[test]
fn application_that_reads_slowly_is_the_receiving_host() {
    if !is_inside(
        "attribution::application_that_reads_slowly_is_the_receiving_host",
        "",
    ) {
        return;
    }
    let reader = own_engine().recv_buffer(100);
    let (client, server) = crate::pair(&own_engine(), &reader);
    scope(|scope| {
        scope.spawn(|| {
            let mut buf = [0; LENGTH];
            while server.recv(&mut buf).is_ok() {
                sleep(INTERVAL * 5 / 4);
            }
        });
        assert_host(run(&client));
    });
}

#[test]
fn host_whose_socket_overflows_is_the_receiving_host() {
    if !is_inside(
        "attribution::host_whose_socket_overflows_is_the_receiving_host",
        "",
    ) {
        return;
    }
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let reader = own_engine();
    let listener = Listener::from_udp_socket(socket.try_clone().unwrap(), PORT, &reader).unwrap();
    // Room for about ten packets.
    rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 10_000).unwrap();
    let client = Socket::connect((to, PORT), &own_engine()).unwrap();
    let server = listener.accept_timeout(PATIENCE).unwrap();
    // Its engine is busy elsewhere for 10 ms, again and again.
    server.set_datagram_source(|_, _| {
        sleep(Duration::from_millis(10));
        SourceReply::Nothing
    });
    scope(|scope| {
        scope.spawn(|| {
            let mut buf = [0; LENGTH];
            while server.recv(&mut buf).is_ok() {}
        });
        scope.spawn(|| {
            while client.close_reason().is_none() {
                sleep(Duration::from_millis(20));
                server.data_ready();
            }
        });
        assert_host(run(&client));
    });
}
