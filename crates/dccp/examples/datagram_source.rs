//! Makes each datagram when it may leave: a closure is the source, so no datagram is older than the decision to send
//! it, and none waits in a buffer.

use dccp::{Listener, Options, Socket, SourceReply, clock};

/// Readings to send.
const READINGS: u64 = 200;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new();
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;

    let mut readings = 0;
    socket.set_datagram_source(move |request, data| {
        if readings == READINGS {
            return SourceReply::Nothing;
        }
        readings += 1;
        // A sensor would be read here.
        data.extend(request.now.as_nanos().to_be_bytes());
        SourceReply::Datagram
    });

    let mut oldest = 0;
    let mut buf = [0; 8];
    for _ in 0..READINGS {
        assert_eq!(server.recv(&mut buf)?, 8);
        let taken = u64::from_be_bytes(buf);
        oldest = oldest.max(clock::now().as_nanos() - taken);
    }
    socket.close()?;
    println!(
        "{READINGS} readings arrived, none older than {} µs",
        oldest / 1000
    );
    Ok(())
}
