//! The words of `media`.

use super::values::{ccid, law, length, needs_packets, number, rate, time, transport};
use super::{Bulk, Common};
use crate::load::shape::Shape;
use crate::output::Options;
use crate::result::check::Wanted;
use crate::schema::{Kind, Transport};
use clap::Args;
use core::time::Duration;
use dccp::Encapsulation;
use dccp_cli::Failure;
use dccp_cli::law::NamedLaw;
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
    /// Carry the data over dccp, or over udp, which cannot choose [default: dccp]
    #[arg(long, value_name = "NAME", value_parser = transport, conflicts_with = "udp")]
    transport: Option<Transport>,
    /// The same as --transport udp
    #[arg(short, long)]
    udp: bool,
    /// Congestion control of DCCP: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets) [default: 2]
    #[arg(long, value_name = "N", value_parser = ccid)]
    ccid: Option<u8>,
    /// Congestion control algorithm of CCID 2: reno, highspeed … [default: reno]
    #[arg(long, value_name = "NAME", value_parser = law)]
    law: Option<NamedLaw>,
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
        let transport = if self.udp {
            Transport::Udp
        } else {
            self.transport.unwrap_or_default()
        };
        needs_packets(transport)?;
        let (ccid, law) = (self.ccid, &self.law);
        if transport != Transport::Dccp && (ccid.is_some() || law.is_some()) {
            return Err(Failure::usage(
                "--ccid, --law: only DCCP has them",
                "leave them out, or choose --transport dccp",
            ));
        }
        if law.is_some() && ccid.is_some_and(|ccid| ccid != 2) {
            return Err(Failure::usage(
                "--law: only CCID 2 has laws",
                "leave --ccid out, or --law",
            ));
        }
        Ok(Bulk {
            kind: Kind::Media,
            has_echoes: false,
            host: self.host.clone(),
            udp_port: self.common.port,
            dccp_port: self.common.dccp_port,
            over: self.common.over.unwrap_or(Encapsulation::Udp),
            family: self.common.family(),
            duration: self.time,
            interval: Duration::from_secs(1),
            transport,
            rate_bps: Some(self.bitrate),
            shape: Shape::Cbr { bps: self.bitrate },
            seed: 0,
            length: Some(self.length.unwrap_or(1000)),
            packets: None,
            flows: 1,
            is_reverse: false,
            is_both: false,
            is_one_connection: false,
            server_ccid: None,
            own: Vec::new(),
            sample: None,
            title: None,
            notes: Vec::new(),
            ccid: ccid.unwrap_or(2),
            law: law.clone().unwrap_or_default(),
            output: Options::default(),
            wanted: Wanted::default(),
            key_file: self.key_file.clone(),
            is_strict: false,
            congestion: None,
            is_patient: false,
            is_dry_run: false,
            runs_max: 1,
            until_ci: None,
            idle: None,
            lost_runs: 0,
        })
    }
}
