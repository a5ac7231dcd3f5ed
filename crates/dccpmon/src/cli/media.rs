//! The words of `media`.

use super::carrier::Carrier;
use super::values::{length, number, rate, time};
use super::{Bulk, Common};
use crate::load::shape::Shape;
use crate::schema::Kind;
use clap::Args;
use core::time::Duration;
use dccp_cli::Failure;
use std::path::PathBuf;

/// Values of `media`.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct Media {
    /// Where `dccpmon serve` runs
    pub(crate) host: String,
    #[command(flatten)]
    common: Common,
    /// How long to send: 10, 10s, 5m
    #[arg(short, long, value_name = "TIME", default_value = "10", allow_negative_numbers = true, value_parser = time)]
    time: Duration,
    /// Make packets at this rate, in bit/s
    #[arg(short, long, value_name = "RATE", default_value = "1M", allow_negative_numbers = true, value_parser = rate)]
    pub(crate) bitrate: u64,
    /// Bytes of a packet [default: 1000]
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true, value_parser = length)]
    length: Option<usize>,
    /// One packet in N is important
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true, value_parser = number(1..=1_000_000_u64))]
    pub(crate) important: u64,
    /// Packets that can wait in the packet ring; the oldest that is not important makes room
    #[arg(long, value_name = "N", default_value_t = 64, allow_negative_numbers = true, value_parser = number(2..=4096_u32))]
    pub(crate) ring: u32,
    #[command(flatten)]
    pub(crate) carrier: Carrier,
    /// The server's key
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// One JSON document instead of the table
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
}

impl Media {
    /// The test that carries the packets.
    pub(crate) fn test(&self) -> Result<Bulk, Failure> {
        self.carrier.check()?;
        self.carrier
            .refuse_safe_udp("it delays no packet, so none waits in the ring to be chosen")?;
        Ok(Bulk {
            duration: self.time,
            rate_bps: Some(self.bitrate),
            shape: Shape::Cbr { bps: self.bitrate },
            length: Some(self.length.unwrap_or(1000)),
            key_file: self.key_file.clone(),
            idle: None,
            ..self.carrier.test(Kind::Media, &self.host, &self.common)
        })
    }
}
