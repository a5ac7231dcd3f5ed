//! CCID 4, TFRC for small packets (RFC 5622, RFC 4828): experimental.
//!
//! A flow of small packets gets the rate in bytes that a TCP with large ones would have. It is CCID 3
//! (`cc/ccid3/`) but for what stands here:
//!
//! - the throughput equation has the packet size of a TCP, and of its rate the headers of the small
//!   packets are taken off;
//! - a packet leaves 10 ms after the last one at the earliest;
//! - a loss interval of two round trips at most, in which several packets were lost, counts for fewer
//!   packets: where routers drop by bytes, small packets would else see less loss than they cause. The
//!   receiver tells how many packets were lost in each interval (Dropped Packets).

mod small_packets;

use super::ccid3::receiver::Receiver;
use super::ccid3::sender::Sender;
use super::config::CcConfig;
use super::{HcReceiver, HcSender};
use small_packets::SmallPackets;

/// The sending half of CCID 4.
pub fn sender(config: &CcConfig) -> Box<dyn HcSender> {
    Box::new(Sender::<SmallPackets>::new(config))
}

/// The receiving half of CCID 4.
pub fn receiver(config: &CcConfig) -> Box<dyn HcReceiver> {
    Box::new(Receiver::<SmallPackets>::new(config))
}

#[cfg(test)]
mod tests;
