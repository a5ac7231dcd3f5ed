//! CCID 4, TFRC for small packets (RFC 5622, RFC 4828): experimental.
//!
//! A flow of small packets gets the rate in bytes that a TCP with large ones would have. It is CCID 3
//! (`cc/ccid3/`) but for what stands here:
//!
//! - the throughput equation uses the packet size of a TCP, and the headers of the small packets are
//!   subtracted from its rate;
//! - a packet leaves 10 ms after the last one at the earliest;
//! - a loss interval of at most two round trips with several losses counts for fewer packets. Where
//!   routers drop by bytes, small packets would otherwise see less loss than they cause. The receiver
//!   reports how many packets were lost in each interval (Dropped Packets).

mod small_packets;

use super::ccid3::{self, Ccid3};
use super::config::CcConfig;
use super::{Ccid, Dependency, HcReceiver, HcSender};
use small_packets::SmallPackets;

/// CCID 4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ccid4;

impl Ccid for Ccid4 {
    fn number(&self) -> u8 {
        4
    }

    fn name(&self) -> &'static str {
        "tfrc-sp"
    }

    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
        ccid3::sender::<SmallPackets>(config)
    }

    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
        ccid3::receiver::<SmallPackets>(config)
    }

    fn needs(&self) -> &[Dependency] {
        Ccid3.needs()
    }

    fn features(&self) -> &[u8] {
        Ccid3.features()
    }

    fn options(&self) -> &[u8] {
        &[128, 192, 193, 194, 195]
    }
}

#[cfg(test)]
mod tests;
