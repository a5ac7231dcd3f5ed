//! The header checksum: its cost alone, and its share of a sender's processor time.

use super::figures_of;
use super::pair::{Exchange, Pair};
use super::timer::{Stopwatch, repeat_for};
use crate::run::outcome::Figures;
use crate::scenario::plan::Coverage;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::number::to_f64;
use dccp_proto::path::Encap;
use dccp_proto::wire::{self, ChecksumRule, Kind, Options, Packet, Payload, PseudoHeader};
use dccp_proto::{Config, Seq};
use std::hint::black_box;

/// Checksums between two readings of the clock.
const CALLS: u64 = 4096;
/// Packets in flight.
const WINDOW: u64 = 200;
/// Packets that a socket takes in one receive batch.
const GROUP: usize = 64;

/// Each half of the time measures one of the two.
pub(super) fn measure(size: usize, coverage: Coverage, time: Duration) -> Result<Figures, String> {
    let (operations, spent) = alone(size, coverage, time / 2)?;
    let packet_ns = of_sender(size, coverage, time / 2)?;
    let figures = figures_of(operations, spent.as_secs_f64());
    Ok(Figures {
        cost_share: figures.cost_ns.map(|cost_ns| cost_ns / packet_ns),
        packet_cost_ns: Some(packet_ns),
        ..figures
    })
}

/// Computes the checksum of one packet again and again. Returns how often, and the processor time.
fn alone(size: usize, coverage: Coverage, time: Duration) -> Result<(u64, Duration), String> {
    let mut packet = Vec::new();
    let parts = Packet {
        source_port: 1,
        dest_port: 2,
        ccval: 0,
        cscov: coverage.cscov(),
        is_short: false,
        seq: Seq::ZERO,
        kind: Kind::Data,
        options: Options::EMPTY,
        payload: Payload::Bytes(&vec![7; size]),
    };
    let host = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let rule = ChecksumRule::Ip(PseudoHeader::new(host, host));
    wire::build(&mut packet, &parts, rule).map_err(|error| error.to_string())?;
    let (mut operations, mut spent) = (0, Duration::ZERO);
    let mut watch = Stopwatch::new();
    repeat_for(time, || {
        watch.lap();
        for _ in 0..CALLS {
            wire::seal(black_box(&mut packet), 0, black_box(rule))?;
        }
        spent += watch.lap();
        operations += CALLS;
        Ok(())
    })
    .map_err(|error: wire::BuildError| error.to_string())?;
    Ok((operations, spent))
}

/// The sender's processor time in nanoseconds for a packet of data, with its share of acknowledgements.
fn of_sender(size: usize, coverage: Coverage, time: Duration) -> Result<f64, String> {
    let mut pair = Pair::new(Exchange {
        size,
        window: WINDOW,
        loss: None,
        group: GROUP,
        encap: Encap::Ip,
        config: Config {
            send_cscov: coverage.cscov(),
            ..Config::default()
        },
    })?;
    pair.warm_up(10 * WINDOW)?;
    let work = pair.measure(time)?;
    let spent = work.taking + work.sending;
    Ok(spent.as_secs_f64() * 1e9 / to_f64(work.packets))
}
