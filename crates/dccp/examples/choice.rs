//! Gives datagrams priorities, lifetimes and keys, without a packet ring: a small camera that sends key frames, other
//! frames and its position.

use core::time::Duration;
use dccp::{Listener, Options, SendOptions, Socket, WhenFull};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new().send_buffer(8).fate_buffer(1000);
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;

    let mut key_frames = 0;
    for n in 0..300_u32 {
        let frame = SendOptions::new()
            .lifetime(Duration::from_millis(40))
            .when_full(WhenFull::DropLowestPriority);
        if n % 50 == 0 {
            socket.send_with(b"key frame", SendOptions::new().priority(2))?;
            key_frames += 1;
        } else {
            socket.send_with(b"frame", frame)?;
        }
        // Only the newest position is of use.
        let position = frame.priority(1).key(0);
        socket.send_with(format!("position {n}").as_bytes(), position)?;
    }
    socket.close()?;

    let mut buf = [0; 100];
    let mut arrived = 0;
    while let Ok(len) = server.recv(&mut buf) {
        arrived += u32::from(&buf[..len] == b"key frame");
    }
    let sent = socket.stats()?.sent;
    for (fate, count) in sent.fates.by_name().filter(|(_, count)| *count > 0) {
        println!("{count} datagrams: {fate}");
    }
    assert_eq!(sent.fates.total(), 600);
    assert_eq!(arrived, key_frames);
    Ok(())
}
