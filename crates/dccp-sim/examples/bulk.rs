//! One bulk transfer over CCID 2 in virtual time, for counting instructions:
//!
//! ```sh
//! valgrind --tool=callgrind target/release/examples/bulk 20000
//! ```
//!
//! 1400 bytes a packet, over UDP, 1 Gbit/s, 2 ms there and back.

use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::source::App;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(packets) = std::env::args().nth(1).and_then(|word| word.parse().ok()) else {
        eprintln!("usage: bulk PACKETS");
        return ExitCode::from(2);
    };
    let ours = || Profile::ours().with_ccid(2);
    let setup = Setup {
        over_udp: true,
        client: ours(),
        server: ours(),
        ..Setup::default()
    };
    let setup = setup.links(|link| {
        link.rate = Some(Rate::from_bytes_per_s(125e6));
        link.delay = Duration::from_millis(1);
    });
    let mut pair = Pair::start(setup, App::bulk(1400, packets), App::default());
    pair.run_for(Duration::from_hours(1));
    let received = pair.report(End::Server).received;
    println!("{received} of {packets} packets arrived");
    ExitCode::from(u8::from(received == 0))
}
