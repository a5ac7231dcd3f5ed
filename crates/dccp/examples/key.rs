//! Gives datagrams a key: a newer one takes the place of the one that waits. So a sensor's reading
//! never waits behind older ones, however slow the path is.

use dccp::packet_ring::{Label, Shape};
use dccp::{Listener, Options, RingSocket, Socket};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;
    let mut ring = RingSocket::new(socket, Shape::new(64, 100))?;

    let mut superseded = 0;
    for reading in 0..50_u8 {
        let label = Label {
            key: Some(u64::from(reading % 2)),
            ..Label::default()
        };
        let pushed = ring.sender().push(&[reading % 2, reading], label)?;
        superseded += usize::from(pushed.superseded.is_some());
    }
    ring.socket().close()?;

    let mut last = [0; 2];
    let mut arrived = 0;
    let mut buf = [0; 100];
    while server.recv(&mut buf).is_ok() {
        arrived += 1;
        last[usize::from(buf[0])] = buf[1];
    }
    let [first, second] = last;
    println!("{arrived} readings arrived, {superseded} were superseded");
    println!("the last of each sensor: {first} and {second}");
    assert_eq!(arrived + superseded, 50);
    assert_eq!(last, [48, 49]);
    Ok(())
}
