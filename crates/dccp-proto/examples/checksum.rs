//! Computes the header checksum over a number of bytes, repeatedly, for counting instructions: `checksum 1400 10000`.

use dccp_proto::wire::PseudoHeader;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().ok());
    let (Some(Some(size)), Some(Some(times)), None) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        eprintln!("usage: checksum BYTES TIMES");
        return ExitCode::from(2);
    };
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let pseudo = PseudoHeader::new(host, host);
    let bytes = vec![7; size];
    for _ in 0..times {
        black_box(pseudo.compute(black_box(&bytes), size));
    }
    ExitCode::SUCCESS
}
