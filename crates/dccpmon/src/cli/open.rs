//! The words of `send` and `recv`.

use super::carrier::{Carrier, carrier};
use super::checks::needs_rate;
use super::values::{
    burst, count, length, needs_packets, number, over, rate, shape, spacing, time, transport,
};
use super::{Common, DCCP_PORT};
use crate::load::shape::Shape;
use crate::schema::Transport;
use clap::Args;
use core::time::Duration;
use dccp::{DEFAULT_UDP_PORT, Encapsulation, safeudp};
use dccp_cli::Failure;

/// The rate over UDP if none is given: nothing slows a sender down there.
const UDP_BPS: u64 = 1_000_000;

/// Values of `send`.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct Send {
    /// Where `dccpmon recv` runs
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) common: Common,
    /// How long to send: 10, 10s, 5m
    #[arg(short, long, value_name = "TIME", default_value = "10", allow_negative_numbers = true, value_parser = time)]
    pub(crate) time: Duration,
    /// End after N packets, or after -t
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub(crate) count: Option<u64>,
    /// Time between two lines
    #[arg(long, value_name = "TIME", default_value = "1s", allow_negative_numbers = true, value_parser = time)]
    pub(crate) snapshot: Duration,
    /// Send at this rate, in bit/s: 50M [default: 1M over UDP, as fast as possible over DCCP]
    #[arg(short, long, value_name = "RATE", allow_negative_numbers = true, value_parser = rate, group = "pattern")]
    bitrate: Option<u64>,
    /// Send in this pattern, as that of `bulk`
    #[arg(long, value_name = "SHAPE", value_parser = shape, group = "pattern")]
    shape: Option<Shape>,
    /// The same as --shape burst:N/TIME
    #[arg(long, value_name = "N/TIME", value_parser = burst, group = "pattern")]
    burst: Option<Shape>,
    /// One packet each TIME
    #[arg(long, value_name = "TIME", value_parser = spacing, group = "pattern")]
    spacing: Option<Shape>,
    /// The seed of random shapes
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = number(0..=u64::MAX))]
    pub(crate) seed: u64,
    /// Bytes of a datagram [default: 1400, or the path's limit]
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true, value_parser = length)]
    pub(crate) length: Option<usize>,
    #[command(flatten)]
    pub(crate) carrier: Carrier,
}

impl Send {
    /// The pattern of the data.
    pub(crate) fn pattern(&self) -> Shape {
        let constant = self.bitrate.map(|bps| Shape::Cbr { bps });
        let given = [&constant, &self.shape, &self.burst, &self.spacing];
        match given.into_iter().flatten().next() {
            Some(shape) => shape.clone(),
            None if self.carrier.transport() == Transport::Udp => Shape::Cbr { bps: UDP_BPS },
            None => Shape::Greedy,
        }
    }

    /// Finds options that exclude each other.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.carrier.check()?;
        if self.carrier.ccid() == safeudp::NUMBER && self.pattern() == Shape::Greedy {
            return Err(needs_rate("--ccid"));
        }
        // Only DCCP has packets that --over carries: this mode has no control connection.
        if self.carrier.transport() != Transport::Dccp && self.common.over.is_some() {
            return Err(Failure::usage(
                "--over: only DCCP has it",
                "leave it out, or choose --transport dccp",
            ));
        }
        Ok(())
    }
}

/// Values of `recv`.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct Recv {
    /// UDP port
    #[arg(short, long, value_name = "PORT", default_value_t = DEFAULT_UDP_PORT, allow_negative_numbers = true, value_parser = number(1..=u16::MAX))]
    pub(crate) port: u16,
    /// DCCP port
    #[arg(long, value_name = "PORT", default_value_t = DCCP_PORT, allow_negative_numbers = true, value_parser = number(1..=u16::MAX))]
    pub(crate) dccp_port: u16,
    /// Take DCCP over udp or ip
    #[arg(long, value_name = "udp|ip", default_value = "udp", value_parser = over)]
    pub(crate) over: Encapsulation,
    /// IPv6 instead of IPv4
    #[arg(short = '6', long)]
    pub(crate) ipv6: bool,
    /// Time between two lines
    #[arg(long, value_name = "TIME", default_value = "1s", allow_negative_numbers = true, value_parser = time)]
    pub(crate) snapshot: Duration,
    /// End after this time [default: when interrupted]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = time)]
    pub(crate) time: Option<Duration>,
    /// Take data over dccp or udp [default: dccp]
    #[arg(long, value_name = "NAME", value_parser = transport, conflicts_with = "udp")]
    transport: Option<Transport>,
    /// The same as --transport udp
    #[arg(short, long)]
    udp: bool,
}

impl Recv {
    /// The carrier of the data.
    pub(crate) fn transport(&self) -> Transport {
        carrier(self.udp, self.transport)
    }

    /// Finds a carrier that this mode has no use for.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        needs_packets(self.transport())
    }
}
