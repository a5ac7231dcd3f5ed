//! Takes datagrams back: the important ones first, and what is not worth sending any more not at all.

use dccp::packet_ring::{Label, Shape};
use dccp::{Listener, Options, RingSocket, Socket};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;
    let mut ring = RingSocket::new(socket, Shape::new(64, 100))?;

    for tag in 0..20 {
        let label = Label {
            tag,
            ..Label::default()
        };
        ring.sender().push(&[u8::try_from(tag)?], label)?;
    }
    // Datagrams that have not left are taken back; until `held` is dropped nothing of it leaves.
    let mut held = ring.sender().take_back(usize::MAX)?;
    println!("{} of 20 had not left", held.len());
    held.sort_by(|a, b| b.tag.cmp(&a.tag));
    while held.len() > 3 {
        held.withdraw(3);
    }
    let expected: Vec<u64> = held.labels().map(|label| label.tag).collect();
    drop(held);
    ring.socket().close()?;

    let mut buf = [0; 100];
    let mut got = Vec::new();
    while server.recv(&mut buf).is_ok() {
        got.push(u64::from(buf[0]));
    }
    let arrived: Vec<_> = got.iter().map(u64::to_string).collect();
    println!("arrived: {}", arrived.join(", "));
    assert!(got.ends_with(&expected));
    Ok(())
}
