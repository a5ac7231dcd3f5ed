//! Says something newer, as long as the old has not left: a player's position in a game.

use dccp::packet_ring::{ChangeError, Label, Shape};
use dccp::{Listener, Options, RingSocket, Socket};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;
    let mut ring = RingSocket::new(socket, Shape::new(64, 100))?;

    let mut was_revised = 0;
    for n in 0..20 {
        let old = format!("position {n}");
        let waiting = ring.sender().push(old.as_bytes(), Label::default())?.ticket;
        let new = format!("position {n}, and a half");
        match ring
            .sender()
            .revise(waiting, new.as_bytes(), Label::default())
        {
            Ok(()) => was_revised += 1,
            Err(ChangeError::TooLate) => println!("{old} had left"),
            Err(error) => return Err(error.into()),
        }
    }
    ring.socket().close()?;

    let mut buf = [0; 100];
    let mut newer = 0;
    while let Ok(len) = server.recv(&mut buf) {
        newer += usize::from(buf[..len].ends_with(b"and a half"));
    }
    println!("{newer} of 20 left as they were said last");
    assert_eq!(newer, was_revised);
    Ok(())
}
