//! The words of `ping`.

use super::values::{number, service, time};
use super::{DCCP_PORT, Family};
use crate::plan::SERVICE;
use clap::{Args, ValueEnum};
use core::time::Duration;
use dccp::{DEFAULT_UDP_PORT, ServiceCode};

/// The most probes of each way.
const PROBES_MAX: u32 = 100_000;

/// Values of `ping`.
#[derive(Args, Clone, PartialEq, Debug)]
#[command(
    after_help = "Exit codes: 0 each way that was tried is open, 1 it is not, 2 wrong command line, \
    130 interrupted."
)]
pub(crate) struct Ping {
    /// The host to probe
    pub(crate) host: String,
    /// UDP port of the host
    #[arg(short, long, value_name = "PORT", default_value_t = DEFAULT_UDP_PORT, allow_negative_numbers = true, value_parser = number(1..=u16::MAX))]
    pub(crate) port: u16,
    /// DCCP port of the host
    #[arg(long, value_name = "PORT", default_value_t = DCCP_PORT, allow_negative_numbers = true, value_parser = number(1..=u16::MAX))]
    pub(crate) dccp_port: u16,
    /// Carry DCCP over udp or ip, or try both ways
    #[arg(long, value_enum, default_value_t = Ways::Udp)]
    pub(crate) over: Ways,
    /// Probes of each way
    #[arg(short, long, value_name = "N", default_value_t = 4, allow_negative_numbers = true, value_parser = number(1..=PROBES_MAX))]
    pub(crate) count: u32,
    /// Time between two probes
    #[arg(short, long, value_name = "TIME", default_value = "1s", allow_negative_numbers = true, value_parser = time)]
    pub(crate) interval: Duration,
    /// How long an answer is waited for
    #[arg(long, value_name = "TIME", default_value = "1s", allow_negative_numbers = true, value_parser = time)]
    pub(crate) timeout: Duration,
    /// The Service Code to ask for
    #[arg(long, value_name = "NAME", default_value_t = ServiceCode::from_ascii(SERVICE), value_parser = service)]
    pub(crate) service: ServiceCode,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,
}

impl Ping {
    /// The IP versions to use.
    pub(crate) fn family(&self) -> Family {
        super::family(self.ipv4, self.ipv6)
    }
}

/// The ways to carry DCCP that are tried.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ways {
    Udp,
    Ip,
    Both,
}
