//! The law and the CCID over real sockets on the loopback interface.

use core::time::Duration;
use dccp::{Listener, Options, Socket};
use own_control::aimd::Aimd;
use own_control::paced::{NUMBER, Paced};

const PATIENCE: Duration = Duration::from_secs(20);
const DATAGRAMS: u32 = 200;

fn options() -> Options {
    Options::new()
        .service_code(*b"OWNC")
        .recv_timeout(PATIENCE)
        .send_timeout(PATIENCE)
}

/// A connected pair: client, server.
fn connect(client: &Options, server: &Options) -> (Socket, Socket) {
    let listener = Listener::bind("127.0.0.1:0/0", server).expect("a listener");
    let client = Socket::connect(listener.local_addrs(), client).expect("a connection");
    let server = listener.accept_timeout(PATIENCE).expect("a connection");
    (client, server)
}

/// Sends numbered datagrams, which must arrive in order. Loopback loses none while its buffers have room.
fn check_transfer(from: &Socket, to: &Socket) {
    for sent in 0..DATAGRAMS {
        from.send(&sent.to_be_bytes()).expect("sent");
        let mut buf = [0; 8];
        let len = to.recv(&mut buf).expect("a datagram");
        assert_eq!(buf[..len], sent.to_be_bytes());
    }
}

#[test]
fn law_governs_the_window_of_its_end_only() {
    let law = Aimd {
        increase: 2.0,
        decrease: 0.3,
    };
    let (client, server) = connect(&options().ccid(2).law(law), &options());
    check_transfer(&client, &server);
    let of = |socket: &Socket| socket.snapshot().expect("a snapshot").tx.law;
    assert_eq!(of(&client), Some("aimd"));
    assert_eq!(of(&server), Some("reno"));
    client.close().expect("closed");
}

#[test]
fn law_with_an_impossible_setting_is_refused() {
    let law = Aimd {
        decrease: 1.5,
        ..Aimd::default()
    };
    let error = Listener::bind("127.0.0.1:0/0", &options().law(law)).expect_err("refused");
    let text = error.to_string();
    assert!(
        text.contains("decrease: 1.5: must be from 0.01 to 0.99"),
        "{text}"
    );
}

#[test]
fn law_for_a_ccid_without_laws_is_refused() {
    let options = options().add_ccid(Paced).ccid(NUMBER).law(Aimd::default());
    let error = Listener::bind("127.0.0.1:0/0", &options).expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("no CCID of `send_ccids` has a law"), "{text}");
}

#[test]
fn both_ends_negotiate_the_ccid_and_data_arrive() {
    let options = options().add_ccid(Paced).ccid(NUMBER);
    let (client, server) = connect(&options, &options);
    check_transfer(&client, &server);
    check_transfer(&server, &client);
    for socket in [&client, &server] {
        let snapshot = socket.snapshot().expect("a snapshot");
        assert_eq!((snapshot.tx_ccid, snapshot.rx_ccid), (NUMBER, NUMBER));
        let inner = snapshot.tx.inner.iter();
        assert!(inner.clone().any(|(name, _)| *name == "packets_per_s"));
    }
    client.close().expect("closed");
}

#[test]
fn peer_without_the_ccid_gets_no_connection() {
    let own = options().add_ccid(Paced).ccid(NUMBER);
    let plain = options().connect_timeout(Duration::from_secs(2));
    let listener = Listener::bind("127.0.0.1:0/0", &own).expect("a listener");
    let refused = Socket::connect(listener.local_addrs(), &plain);
    assert!(refused.is_err(), "{refused:?}");
}
