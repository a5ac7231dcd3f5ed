//! Pushes datagrams into a packet ring, several for one wake-up of the engine, and reads their fates.

use dccp::packet_ring::{Label, Shape};
use dccp::{Listener, Options, RingSocket, Socket};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;
    let mut ring = RingSocket::new(socket, Shape::new(64, 100))?;

    let begin = dccp::clock::now();
    let mut batch = ring.sender().batch();
    for tag in 0..20 {
        let label = Label {
            tag,
            ..Label::default()
        };
        batch.push(format!("datagram {tag}").as_bytes(), label)?;
    }
    drop(batch); // Now the engine sees them.

    let mut buf = [0; 100];
    for tag in 0..20 {
        let len = server.recv(&mut buf)?;
        assert_eq!(&buf[..len], format!("datagram {tag}").as_bytes());
    }
    ring.socket().close()?;
    let mut fates = Vec::new();
    ring.recv_fates(&mut fates, 100);
    for told in &fates {
        let ms = (told.at - begin).as_secs_f64() * 1000.0;
        println!(
            "datagram {}: {} after {ms:.1} ms",
            told.tag,
            told.fate.name()
        );
    }
    assert_eq!(fates.len(), 20);
    Ok(())
}
