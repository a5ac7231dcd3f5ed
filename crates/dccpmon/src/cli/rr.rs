//! The words of `rr`.

use super::carrier::Carrier;
use super::values::{Range, length, message_bytes, message_range, number, time};
use super::{Bulk, Common};
use crate::load::echo::ASK_MIN;
use crate::schema::{Kind, Varied};
use clap::Args;
use core::time::Duration;
use dccp_cli::Failure;
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
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true, value_parser = message_bytes)]
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
    #[command(flatten)]
    pub(crate) carrier: Carrier,
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
            duration: self.time,
            length: self.length,
            key_file: self.key_file.clone(),
            ..self.carrier.test(Kind::Rr, &self.host, &self.common)
        })
    }

    fn check(&self) -> Result<(), Failure> {
        self.carrier.check()?;
        self.carrier
            .refuse_safe_udp("requests wait for responses and have no rate of their own")?;
        let problem = if self.fixed.is_some() && self.vary == Varied::Both {
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
