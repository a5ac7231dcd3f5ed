//! Two sockets of one process over the loopback interface.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use core::time::Duration;
use dccp::{CloseReason, Listener, Options, RecvError, Socket};
use std::net::SocketAddr;

const SERVICE: [u8; 4] = *b"TEST";
const PORT: u16 = 5001;

fn options() -> Options {
    let five = Duration::from_secs(5);
    Options::new()
        .service_code(SERVICE)
        .recv_timeout(five)
        .send_timeout(five)
}

fn listen(options: &Options) -> (Listener, SocketAddr) {
    let listener = Listener::bind("127.0.0.1:0", PORT, options).unwrap();
    let address = listener.local_addrs()[0];
    (listener, address)
}

/// A connected pair: client, server.
fn pair(client: &Options, server: &Options) -> (Socket, Socket) {
    let (listener, address) = listen(server);
    let client = Socket::connect(address, PORT, client).unwrap();
    let server = listener.accept().unwrap();
    (client, server)
}

#[test]
fn what_is_sent_comes_back() {
    let (client, server) = pair(&options(), &options());
    let mut buf = [0; 2000];
    for n in 0..100_usize {
        let message = vec![7; n * 10];
        client.send(&message).unwrap();
        let len = server.recv(&mut buf).unwrap();
        assert_eq!(buf[..len], message);
        server.send(&buf[..len]).unwrap();
        assert_eq!(client.recv(&mut buf).unwrap(), len);
    }
    assert_eq!(client.close(), Ok(CloseReason::Local));
    assert_eq!(
        server.recv(&mut buf),
        Err(RecvError::Closed(CloseReason::Peer))
    );
}
