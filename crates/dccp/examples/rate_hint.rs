//! Follows the rate hints: a camera of 25 frames per second adapts the size of its frames.
//!
//! The frames are split by hand, to show the hints alone. The example `video` sends frames as messages, so that each
//! frame has one fate.

use core::time::Duration;
use dccp::{Event, Listener, Options, SendOptions, Socket};

/// Frames per second.
const FRAMES_PER_S: u64 = 25;
/// Bits of a frame of the best quality.
const FRAME_MAX: u64 = 8 * 20_000;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new().rate_hints(true);
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let _server = listener.accept()?;

    let mut frame_bits = FRAME_MAX / 100;
    let mut hints = 0;
    for n in 0..10 {
        while let Some(event) = socket.poll_event() {
            if let Event::Rate(hint) = event {
                frame_bits = (hint.bits_per_s / FRAMES_PER_S).min(FRAME_MAX);
                hints += 1;
                println!(
                    "frame {n}: {} kbit/s, {frame_bits} bits",
                    hint.bits_per_s / 1000
                );
            }
        }
        let options = SendOptions::new().lifetime(Duration::from_millis(200));
        let len = usize::try_from(frame_bits / 8)?;
        for part in vec![0; len].chunks(1000) {
            socket.send_with(part, options)?;
        }
        std::thread::sleep(Duration::from_millis(1000 / FRAMES_PER_S));
    }
    let hint = socket.rate_hint()?.ok_or("no hint")?;
    println!(
        "now {} kbit/s, after {} ms in the send buffer",
        hint.bits_per_s / 1000,
        hint.wait.as_millis()
    );
    assert!(hints > 0 && hint.bits_per_s > 0);
    Ok(())
}
