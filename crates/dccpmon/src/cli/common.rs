//! Words of all subcommands that reach a server, and of the server.

use super::values::{number, over};
use super::{DCCP_PORT, Family};
use clap::Args;
use dccp::{DEFAULT_UDP_PORT, Encapsulation};

/// Where and how to reach the server.
#[derive(Args, Clone, PartialEq, Debug)]
pub(crate) struct Common {
    /// UDP port of the server
    #[arg(short, long, value_name = "PORT", default_value_t = DEFAULT_UDP_PORT, allow_negative_numbers = true, value_parser = number(1..=u16::MAX))]
    pub(crate) port: u16,
    /// DCCP port of the server
    #[arg(long, value_name = "PORT", default_value_t = DCCP_PORT, allow_negative_numbers = true, value_parser = number(1..=u16::MAX))]
    pub(crate) dccp_port: u16,
    /// Carry DCCP over udp or ip
    #[arg(long, value_name = "udp|ip", value_parser = over)]
    pub(crate) over: Option<Encapsulation>,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long)]
    ipv6: bool,
}

impl Common {
    /// The IP versions to use.
    pub(crate) fn family(&self) -> Family {
        family(self.ipv4, self.ipv6)
    }
}

/// The IP versions that -4 and -6 ask for.
pub(super) fn family(ipv4: bool, ipv6: bool) -> Family {
    match (ipv4, ipv6) {
        (true, _) => Family::V4,
        (_, true) => Family::V6,
        _ => Family::Any,
    }
}
