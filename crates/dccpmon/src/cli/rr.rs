//! The words of `rr`.

use super::values::{
    Range, ccid, law, length, message_bytes, message_range, needs_packets, number, time, transport,
};
use super::{Bulk, Common};
use crate::load::echo::ASK_MIN;
use crate::load::shape::Shape;
use crate::output::Options;
use crate::result::check::Wanted;
use crate::schema::{Kind, Transport, Varied};
use clap::Args;
use core::time::Duration;
use dccp::Encapsulation;
use dccp_cli::Failure;
use dccp_cli::law::NamedLaw;
use std::path::PathBuf;

/// Bytes of the messages whose size does not vary.
const FIXED: u32 = 64;
/// The most requests of each size.
const COUNT_MAX: u64 = 1_000_000;
/// The longest pause and the longest wait, so that the server sees no test without data.
const PAUSE_MAX: Duration = Duration::from_secs(4);

/// Values of `rr`.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct Rr {
    /// Where `dccpmon serve` runs
    pub(crate) host: String,
    #[command(flatten)]
    common: Common,
    /// Bytes of the messages that vary: 1000, or 64..4864/300
    #[arg(long, value_name = "A..B/STEP", default_value = "64..4864/300", value_parser = message_range)]
    pub(crate) size: Range,
    /// The messages whose size varies
    #[arg(long, value_enum, default_value_t = Varied::Response)]
    pub(crate) vary: Varied,
    /// Bytes of the messages that do not vary [default: 64]
    #[arg(long, value_name = "SIZE", value_parser = message_bytes)]
    fixed: Option<u32>,
    /// Requests of each size
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true, value_parser = number(1..=COUNT_MAX))]
    pub(crate) count: u64,
    /// Time from one request to the next [default: at once]
    #[arg(short, long, value_name = "TIME", allow_negative_numbers = true, value_parser = time)]
    pub(crate) interval: Option<Duration>,
    /// How long a response is waited for
    #[arg(long, value_name = "TIME", default_value = "1s", allow_negative_numbers = true, value_parser = time)]
    pub(crate) timeout: Duration,
    /// The longest time of the whole test
    #[arg(short, long, value_name = "TIME", default_value = "5m", allow_negative_numbers = true, value_parser = time)]
    time: Duration,
    /// Bytes of a datagram [default: 1400, or the path's limit]
    #[arg(short, long, value_name = "SIZE", allow_negative_numbers = true, value_parser = length)]
    length: Option<usize>,
    /// Carry the data over dccp or udp [default: dccp]
    #[arg(long, value_name = "NAME", value_parser = transport, conflicts_with = "udp")]
    transport: Option<Transport>,
    /// The same as --transport udp
    #[arg(short, long)]
    udp: bool,
    /// Congestion control of DCCP: 2 (TCP-like), 3 (TFRC) or 4 (TFRC for small packets) [default: 2]
    #[arg(long, value_name = "N", value_parser = ccid)]
    ccid: Option<u8>,
    /// How the window of CCID 2 moves: reno, highspeed … [default: reno]
    #[arg(long, value_name = "NAME", value_parser = law)]
    law: Option<NamedLaw>,
    /// The server's key
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// One JSON document instead of the table
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
}

impl Rr {
    /// Bytes of the request and of the response of a size.
    pub(crate) fn messages(&self, size: u64) -> (u32, u32) {
        // Larger ones are refused on the command line.
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let fixed = self.fixed.unwrap_or(FIXED);
        match self.vary {
            Varied::Response => (fixed, size),
            Varied::Request => (size, fixed),
            Varied::Both => (size, size),
        }
    }

    /// The test that carries the messages.
    pub(crate) fn test(&self) -> Result<Bulk, Failure> {
        self.check()?;
        Ok(Bulk {
            kind: Kind::Rr,
            has_echoes: false,
            host: self.host.clone(),
            udp_port: self.common.port,
            dccp_port: self.common.dccp_port,
            over: self.common.over.unwrap_or(Encapsulation::Udp),
            family: self.common.family(),
            duration: self.time,
            interval: Duration::from_secs(1),
            transport: self.transport(),
            rate_bps: None,
            shape: Shape::Greedy,
            seed: 0,
            length: self.length,
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
            ccid: self.ccid.unwrap_or(2),
            law: self.law.clone().unwrap_or_default(),
            output: Options::default(),
            wanted: Wanted::default(),
            key_file: self.key_file.clone(),
            is_strict: false,
            congestion: None,
            is_patient: false,
            is_dry_run: false,
            runs_max: 1,
            until_ci: None,
            idle: Some(Duration::ZERO),
            lost_runs: 0,
        })
    }

    fn transport(&self) -> Transport {
        if self.udp {
            Transport::Udp
        } else {
            self.transport.unwrap_or_default()
        }
    }

    fn check(&self) -> Result<(), Failure> {
        needs_packets(self.transport())?;
        let problem =
            if self.transport() != Transport::Dccp && (self.ccid.is_some() || self.law.is_some()) {
                Some((
                    "--ccid, --law: only DCCP has them",
                    "leave them out, or choose --transport dccp",
                ))
            } else if self.law.is_some() && self.ccid.is_some_and(|ccid| ccid != 2) {
                Some(("--law: only CCID 2 has laws", "leave --ccid out, or --law"))
            } else if self.fixed.is_some() && self.vary == Varied::Both {
                Some((
                    "--fixed: the size of both messages varies",
                    "leave --fixed out, or choose --vary response",
                ))
            } else if self.timeout > PAUSE_MAX || self.interval.is_some_and(|i| i > PAUSE_MAX) {
                Some((
                    "--timeout, --interval: must be at most 4s",
                    "write for example --timeout 1s",
                ))
            } else if self.length.is_some_and(|length| length < ASK_MIN) {
                Some((
                    "--length: a request needs 36 bytes",
                    "write for example --length 1400",
                ))
            } else {
                None
            };
        problem.map_or(Ok(()), |(what, next)| Err(Failure::usage(what, next)))
    }
}
