//! The words of `serve`.

use super::Family;
use super::common::Common;
use super::values::{number, place, rate, time};
use crate::limits::{self, QUEUE_MAX, TESTS_MAX};
use crate::third::destinations::{Destination, Destinations, destination};
use clap::Args;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::Encapsulation;
use std::path::PathBuf;

/// Values of `serve`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Serve {
    pub(crate) udp_port: u16,
    pub(crate) dccp_port: u16,
    /// `None`: over both, as far as the system permits.
    pub(crate) over: Option<Encapsulation>,
    pub(crate) family: Family,
    pub(crate) is_one_off: bool,
    /// Tests at the same time.
    pub(crate) tests: u32,
    /// Requests that may wait for a test to end.
    pub(crate) queue: u32,
    /// The longest test.
    pub(crate) duration: Duration,
    /// Bits per second of a test.
    pub(crate) rate_bps: Option<u64>,
    pub(crate) key_file: Option<PathBuf>,
    /// Hosts to which clients may have this server measure; `None`: to none.
    pub(crate) third_party: Option<Destinations>,
    /// Where counters are offered to Prometheus.
    pub(crate) metrics: Option<SocketAddr>,
}

impl Serve {
    /// All limits, as text.
    pub(super) fn limits(&self) -> String {
        let destinations = self.third_party.as_ref().map(Destinations::to_string);
        limits::text(self.tests, self.duration, destinations.as_deref())
    }
}

#[cfg(test)]
impl Serve {
    /// The values of `dccpmon serve` without options.
    pub(crate) const USUAL: Self = Self {
        udp_port: dccp::DEFAULT_UDP_PORT,
        dccp_port: super::DCCP_PORT,
        over: None,
        family: Family::Any,
        is_one_off: false,
        tests: limits::TESTS,
        queue: 0,
        duration: Duration::from_hours(1),
        rate_bps: None,
        key_file: None,
        third_party: None,
        metrics: None,
    };
}

#[derive(Args, Debug)]
#[command(
    after_help = "A service manager can pass UDP sockets (LISTEN_FDS). Their port replaces the one of --port."
)]
pub(super) struct ServeWords {
    #[command(flatten)]
    common: Common,
    /// End after one test
    #[arg(short = '1', long)]
    one_off: bool,
    /// Tests at the same time
    #[arg(long, value_name = "N", default_value_t = limits::TESTS, allow_negative_numbers = true, value_parser = number(1..=TESTS_MAX))]
    tests: u32,
    /// Clients with --wait that may wait while all tests are taken
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = number(0..=QUEUE_MAX))]
    queue: u32,
    /// The longest test; a client that asks for more gets this
    #[arg(long, value_name = "TIME", default_value = limits::DURATION, allow_negative_numbers = true, value_parser = time)]
    time_limit: Duration,
    /// The highest rate of a test, in bit/s: 100M [default: no limit]
    #[arg(long, value_name = "RATE", allow_negative_numbers = true, value_parser = rate)]
    rate_limit: Option<u64>,
    /// Serve only clients that have the key in FILE
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Measure to other servers that clients name with --from: to those in this list of networks, addresses and
    /// names (192.0.2.0/24,b.example), or without a list to all public addresses
    #[arg(long, value_name = "DEST", num_args = 0.., value_delimiter = ',', value_parser = destination)]
    third_party: Option<Vec<Destination>>,
    /// Offer counters to Prometheus at this address, over HTTP without a key
    #[arg(long, value_name = "ADDR:PORT", value_parser = place)]
    metrics: Option<SocketAddr>,
    /// Print what clients can use of this host, and end
    #[arg(long)]
    pub(super) limits: bool,
}

impl ServeWords {
    /// The values.
    pub(super) fn parts(self) -> Serve {
        Serve {
            udp_port: self.common.port,
            dccp_port: self.common.dccp_port,
            over: self.common.over,
            family: self.common.family(),
            is_one_off: self.one_off,
            tests: self.tests,
            queue: self.queue,
            duration: self.time_limit,
            rate_bps: self.rate_limit,
            metrics: self.metrics,
            key_file: self.key_file,
            third_party: self.third_party.map(Destinations),
        }
    }
}
