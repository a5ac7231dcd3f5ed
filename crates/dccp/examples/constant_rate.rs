//! Sends at a rate of its own under CCID 248, SafeUDP, and follows the advice (docs/safeudp.md).

use core::time::Duration;
use dccp::safeudp::{Info, NUMBER, SafeUdpConfig, SendCode};
use dccp::{Event, Listener, Options, Socket};

/// Bits of application data per second that this application prefers.
const PREFERRED: u64 = 2_000_000;
/// Bytes of a datagram.
const LENGTH: usize = 1000;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = SafeUdpConfig {
        declared_rate: Some(PREFERRED),
        ..SafeUdpConfig::default()
    };
    // Both ends ask for the CCID.
    let options = Options::new().ccid(NUMBER).safe_udp(settings);
    let listener = Listener::bind("127.0.0.1:0/5001", &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;

    let mut rate = PREFERRED;
    for _ in 0..100 {
        while let Some(event) = socket.poll_event() {
            match event {
                // Advice: from the deadline on, the CCID drops what exceeds the rate.
                Event::SafeUdp(SendCode::Congestion {
                    advised_bits_per_s, ..
                }) => rate = rate.min(advised_bits_per_s),
                Event::SafeUdp(SendCode::Info(Info::Cleared)) => rate = PREFERRED,
                Event::SafeUdp(code) => println!("{}", code.name()),
                _ => {}
            }
        }
        socket.send(&[0; LENGTH])?;
        if let Some(SendCode::Dropped { bits_per_s, .. }) = socket.send_code() {
            println!("dropped what exceeds {} kbit/s", bits_per_s / 1000);
        }
        let bits = 8 * u64::try_from(LENGTH)?;
        std::thread::sleep(Duration::from_nanos(1_000_000_000 * bits / rate));
    }
    println!("received {} bytes", server.recv(&mut [0; LENGTH])?);
    assert_eq!(rate, PREFERRED, "nothing limits this path");
    Ok(())
}
