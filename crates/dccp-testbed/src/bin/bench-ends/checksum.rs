//! The cost of the header checksum and of a copy, measured in turns.

use anyhow::Result;
use clap::Args;
use dccp::clock;
use dccp::proto::Seq;
use dccp::proto::wire::{self, ChecksumRule, Kind, Options, Packet, Payload, PseudoHeader};
use serde::Serialize;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

#[derive(Args)]
pub(crate) struct ChecksumArgs {
    /// Bytes of application data
    #[arg(long, default_value_t = 1400)]
    size: usize,
}

/// Nanoseconds for one packet, medians.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "units stand in the names of what is printed"
)]
pub(crate) struct Costs {
    /// Time of the sum over `size` bytes.
    checksum_ns: f64,
    /// Time to seal a packet of `size` bytes whose header is covered.
    sealed_header_ns: f64,
    /// Time to copy `size` bytes.
    copy_ns: f64,
}

/// How often each is timed, and how many calls are timed at once.
const TIMES: usize = 501;
const CALLS: u32 = 1000;

const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

pub(crate) fn measure(args: &ChecksumArgs) -> Result<Costs> {
    let pseudo = PseudoHeader::new(HOST, HOST);
    let data = vec![7; args.size];
    let mut copy = vec![0; args.size];
    let mut packet = packet(&data)?;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..TIMES {
        times[0].push(time(|| {
            black_box(pseudo.compute(black_box(&data), args.size));
        }));
        times[1].push(time(|| {
            let sealed = wire::seal(black_box(&mut packet), 0, ChecksumRule::Ip(pseudo));
            let _ = black_box(sealed);
        }));
        times[2].push(time(|| {
            black_box(&mut copy).copy_from_slice(black_box(&data));
        }));
    }
    let [checksum_ns, sealed_header_ns, copy_ns] = times.map(median);
    Ok(Costs {
        checksum_ns,
        sealed_header_ns,
        copy_ns,
    })
}

/// A packet whose header is covered.
fn packet(data: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let packet = Packet {
        source_port: 1,
        dest_port: 2,
        ccval: 0,
        cscov: 1,
        is_short: false,
        seq: Seq::ZERO,
        kind: Kind::Data,
        options: Options::EMPTY,
        payload: Payload::Bytes(data),
    };
    wire::build(&mut bytes, &packet, ChecksumRule::Udp)?;
    Ok(bytes)
}

/// Nanoseconds of one call.
#[expect(clippy::cast_precision_loss, reason = "some microseconds")]
fn time(mut call: impl FnMut()) -> f64 {
    let begin = clock::now();
    for _ in 0..CALLS {
        call();
    }
    (clock::now() - begin).as_nanos() as f64 / f64::from(CALLS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
