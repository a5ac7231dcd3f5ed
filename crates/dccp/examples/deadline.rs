//! Gives datagrams in a ring a deadline: a late one is not sent. It keeps its room until it is next to leave.

use core::time::Duration;
use dccp::Fate;
use dccp::packet_ring::{Label, Shape};
use dccp::{Listener, Options, RingSocket, Socket};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;
    let mut ring = RingSocket::new(socket, Shape::new(64, 100))?;

    let now = dccp::clock::now();
    let due = [now + Duration::from_mins(1), now].map(dccp::Instant::as_nanos);
    for (tag, deadline_ns) in (0..).zip(due) {
        let label = Label {
            tag,
            deadline_ns: Some(deadline_ns),
            ..Label::default()
        };
        ring.sender().push(b"a frame of a film", label)?;
    }
    ring.socket().close()?;

    let mut fates = Vec::new();
    ring.recv_fates(&mut fates, 2);
    for told in &fates {
        println!("{} was {}", told.tag, told.fate.name());
    }
    let expired = fates.iter().filter(|told| told.fate == Fate::Expired);
    assert!(expired.map(|told| told.tag).eq([1]));
    assert!(server.recv(&mut [0; 100]).is_ok());
    assert!(
        server.recv(&mut [0; 100]).is_err(),
        "the connection is over"
    );
    Ok(())
}
