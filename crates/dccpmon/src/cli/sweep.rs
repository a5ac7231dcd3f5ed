//! Words of `sweep`.

use super::Common;
use super::carrier::Carrier;
use super::values::{Range, count, size_range, time_range};
use std::path::PathBuf;

/// Values of `sweep`.
#[derive(clap::Args, Clone, PartialEq, Debug)]
pub(crate) struct Sweep {
    /// Where `dccpmon serve` runs
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Bytes of the packets: 1400, or 64..1400/100
    #[arg(long, value_name = "A..B/STEP", default_value = "1400", allow_negative_numbers = true, value_parser = size_range)]
    pub(crate) size: Range,
    /// Time between packets: 20us, or 0us..40us/10us; 0us is as fast as possible
    #[arg(long, value_name = "A..B/STEP", default_value = "0us", value_parser = time_range)]
    pub(crate) spacing: Range,
    /// Packets of each point
    #[arg(long, value_name = "N", default_value = "1000", allow_negative_numbers = true, value_parser = count)]
    pub(crate) count: u64,
    /// Search for the smallest spacing without loss
    #[arg(long, conflicts_with = "spacing")]
    pub(crate) knee: bool,
    #[command(flatten)]
    pub(crate) carrier: Carrier,
    /// The server's key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Write each point to this file as soon as it is known, as a line of JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Take the points from the file of --out that it already has
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// One JSON document instead of the table
    #[arg(short = 'J', long)]
    pub(crate) json: bool,
}
