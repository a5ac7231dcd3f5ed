//! The example of the README.

use dccp::{Options, SendOptions, Socket};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new()
        .ccid(3)
        .service_code(*b"VIDE")
        .send_buffer(32);
    let socket = Socket::connect("192.0.2.10:14233/5001", &options)?;
    // Drop the frame if it cannot leave within 100 ms.
    let live = SendOptions::new()
        .priority(1)
        .lifetime(Duration::from_millis(100));
    socket.send_with(b"frame", live)?;
    socket.close()?;
    Ok(())
}
