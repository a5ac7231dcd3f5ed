//! Words of the modes whose data DCCP or UDP carries.

use super::values::{ccid, law, needs_packets, transport};
use super::{Bulk, Common};
use crate::load::shape::Shape;
use crate::output::Options;
use crate::result::check::Wanted;
use crate::schema::{Kind, Transport};
use clap::Args;
use core::time::Duration;
use dccp::{Encapsulation, safeudp};
use dccp_cli::Failure;
use dccp_cli::law::NamedLaw;

/// The carrier of the data and its congestion control.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct Carrier {
    /// Carry the data over dccp, or over udp without congestion control [default: dccp]
    #[arg(long, value_name = "NAME", value_parser = transport, conflicts_with = "udp")]
    transport: Option<Transport>,
    /// The same as --transport udp
    #[arg(short, long)]
    udp: bool,
    /// Congestion control of DCCP: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets); `bulk` and `send` also take 248
    /// [default: 2]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = ccid)]
    ccid: Option<u8>,
    /// How the window of CCID 2 moves: reno, highspeed … [default: reno]
    #[arg(long, value_name = "NAME", value_parser = law)]
    pub(crate) law: Option<NamedLaw>,
}

impl Carrier {
    /// The protocol that carries the data.
    pub(crate) fn transport(&self) -> Transport {
        carrier(self.udp, self.transport)
    }

    /// The congestion control of DCCP.
    pub(crate) fn ccid(&self) -> u8 {
        self.ccid.unwrap_or(2)
    }

    /// Refuses CCID 248 for this reason.
    ///
    /// # Errors
    /// It is chosen.
    pub(crate) fn refuse_safe_udp(&self, why: &str) -> Result<(), Failure> {
        if self.ccid() != safeudp::NUMBER {
            return Ok(());
        }
        Err(Failure::usage(
            format!("--ccid 248: {why}"),
            "choose 2, 3 or 4, or run `dccpmon HOST --ccid 248 -b RATE`",
        ))
    }

    /// Finds options that exclude each other.
    ///
    /// # Errors
    /// The carrier lacks what the other options choose.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        needs_packets(self.transport())?;
        let is_dccp = self.transport() == Transport::Dccp;
        if !is_dccp && (self.ccid.is_some() || self.law.is_some()) {
            return Err(Failure::usage(
                "--ccid, --law: only DCCP has them",
                "leave them out, or choose --transport dccp",
            ));
        }
        if self.law.is_some() && self.ccid() != 2 {
            return Err(Failure::usage(
                "--law: only CCID 2 has laws",
                "leave --ccid out, or --law",
            ));
        }
        Ok(())
    }

    /// A test of one flow to `host` that sends as fast as the carrier allows, with everything else off.
    pub(crate) fn test(&self, kind: Kind, host: &str, common: &Common) -> Bulk {
        Bulk {
            kind,
            host: host.to_owned(),
            udp_port: common.port,
            dccp_port: common.dccp_port,
            over: common.over.unwrap_or(Encapsulation::Udp),
            family: common.family(),
            duration: Duration::from_secs(10),
            interval: Duration::from_secs(1),
            transport: self.transport(),
            rate_bps: None,
            shape: Shape::Greedy,
            seed: 0,
            length: None,
            socket_buffer: None,
            packets: None,
            flows: 1,
            own: Vec::new(),
            is_reverse: false,
            is_both: false,
            is_one_connection: false,
            server_ccid: None,
            has_echoes: false,
            sample: None,
            ccid: self.ccid(),
            obeys: false,
            law: self.law.clone().unwrap_or_default(),
            congestion: None,
            title: None,
            notes: Vec::new(),
            output: Options::default(),
            wanted: Wanted::default(),
            key_file: None,
            is_strict: false,
            is_patient: false,
            is_dry_run: false,
            runs_max: 1,
            until_ci: None,
            idle: Some(Duration::ZERO),
            lost_runs: 0,
        }
    }
}

/// The protocol that `-u` or `--transport` chooses.
pub(super) fn carrier(is_udp: bool, transport: Option<Transport>) -> Transport {
    if is_udp {
        Transport::Udp
    } else {
        transport.unwrap_or_default()
    }
}
