//! Engines of several threads.

use crate::{PATIENCE, PORT, listen, options, until};
use core::num::NonZeroUsize;
use dccp::{
    AcceptError, BindError, CloseReason, Encapsulation, Engine, EngineOptions, Listener, Options,
    Socket,
};
use std::net::{SocketAddr, UdpSocket};

const CONNECTIONS: usize = 24;

fn threads(n: usize) -> Options {
    let engine = EngineOptions::new().threads(NonZeroUsize::new(n).unwrap());
    options().engine(&Engine::start(&engine).unwrap())
}

fn connect(to: SocketAddr, options: &Options, listener: &Listener) -> (Socket, Socket) {
    let client = Socket::connect((to, PORT), options).unwrap();
    (client, listener.accept().unwrap())
}

fn echo((client, server): &(Socket, Socket), data: u8) {
    let mut buf = [0; 9];
    client.send(&[data]).unwrap();
    assert_eq!(server.recv(&mut buf), Ok(1));
    server.send(&buf[..1]).unwrap();
    assert_eq!(client.recv(&mut buf), Ok(1));
    assert_eq!(buf[0], data);
}

/// Those whose transport receives what the first one is sent.
fn with_first(pairs: &[(Socket, Socket)]) -> Vec<usize> {
    let received = || {
        pairs
            .iter()
            .map(|p| p.1.stats().unwrap().transport.received)
    };
    let before: Vec<u64> = received().collect();
    echo(&pairs[0], 1);
    let changed = received().zip(before).enumerate();
    changed
        .filter(|(_, (now, before))| now != before)
        .map(|(i, _)| i)
        .collect()
}

#[test]
fn connections_are_divided_between_threads_and_all_transfer() {
    let (client, server) = (threads(2), threads(3).configure(|c| c.cookie_threshold = 0));
    let (listener, address) = listen(&server);
    let pairs: Vec<_> = (0..CONNECTIONS)
        .map(|_| connect(address, &client, &listener))
        .collect();
    for (i, pair) in pairs.iter().enumerate() {
        echo(pair, u8::try_from(i).unwrap());
    }
    until("some are another thread's than the first", || {
        let with_first = with_first(&pairs);
        assert!(with_first.contains(&0));
        with_first.len() < pairs.len()
    });
    for (client, server) in pairs {
        assert_eq!(client.close(), Ok(CloseReason::Local));
        assert_eq!(server.wait_closed(PATIENCE), Ok(CloseReason::Peer));
    }
}

#[test]
fn flow_stays_with_its_thread_when_other_threads_are_idle() {
    let (client, server) = (threads(1), threads(3));
    let (listener, address) = listen(&server);
    let mut pairs: Vec<_> = (0..CONNECTIONS)
        .map(|_| connect(address, &client, &listener))
        .collect();
    // A connection that is not accepted ends with its listener.
    let waiting = Socket::connect((address, PORT), &client).unwrap();
    drop(listener);
    assert!(waiting.wait_closed(PATIENCE).is_ok());
    // The address is the engine's as long as a connection lives: it may listen there again.
    let last = pairs.pop().unwrap();
    for (client, server) in pairs {
        client.close().unwrap();
        server.wait_closed(PATIENCE).unwrap();
        echo(&last, 7);
    }
    assert!(UdpSocket::bind(address).is_err());
    let listener = Listener::bind((address, PORT), &server).unwrap();
    for i in 0..8 {
        echo(&connect(address, &client, &listener), i);
        echo(&last, i);
    }
    drop(listener);
    last.0.close().unwrap();
    last.1.wait_closed(PATIENCE).unwrap();
    drop(last);
    until("no thread keeps the address", || {
        UdpSocket::bind(address).is_ok()
    });
}

#[test]
fn no_other_engine_gets_a_part_of_the_flows() {
    let server = threads(2);
    let (listener, address) = listen(&server);
    for other in [threads(2), threads(1)] {
        let second = Listener::bind((address, PORT), &other);
        assert!(matches!(second, Err(BindError::Open(_))), "{second:?}");
    }
    // The same one serves other DCCP ports there.
    let other = Listener::bind((address, PORT + 1), &server).unwrap();
    let client = Socket::connect((address, PORT + 1), &options()).unwrap();
    assert!(other.accept().is_ok());
    drop((client, other));
    let taken = Listener::bind((address, PORT), &server);
    assert!(
        matches!(taken, Err(BindError::InUse { port: PORT })),
        "{taken:?}"
    );
    // The failed call has changed nothing.
    echo(&connect(address, &options(), &listener), 1);
    let none = listener.accept_timeout(core::time::Duration::from_millis(1));
    assert!(matches!(none, Err(AcceptError::TimedOut)), "{none:?}");
}

#[test]
fn over_ip_one_thread_serves_all() {
    let options = threads(2).encapsulation(Encapsulation::Ip);
    let bound = Listener::bind(("127.0.0.1:0", PORT), &options);
    let Err(BindError::Option(problem)) = bound else {
        panic!("{bound:?}");
    };
    assert_eq!(problem.option, "encapsulation");
}

#[test]
fn address_can_be_bound_again_at_once() {
    let server = threads(3);
    let (mut listener, address) = listen(&server);
    for _ in 0..100 {
        drop(listener);
        listener = Listener::bind((address, PORT), &server).unwrap();
    }
}

#[test]
fn address_can_be_bound_again_while_one_of_its_flows_rests() {
    let (client, server) = (threads(1), threads(3));
    let (listener, address) = listen(&server);
    let (one, other) = connect(address, &client, &listener);
    // The server's end waits in TIMEWAIT, at one of the threads.
    one.abort();
    other.wait_closed(PATIENCE).unwrap();
    drop(listener);
    let listener = Listener::bind((address, PORT), &server).unwrap();
    for _ in 0..8 {
        echo(&connect(address, &client, &listener), 3);
    }
}
