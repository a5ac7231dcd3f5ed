//! Packets that this host refused to send.

use dccp_io::{LocalDrop, LocalDropReason};

/// Packets of a connection that this host did not send, by reason. Congestion control and the fates of datagrams take them
/// for lost by the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct HostDrops {
    /// A queue of this host was full.
    pub queue_full: u64,
    /// They exceeded the MTU of the interface.
    pub too_big: u64,
    /// There was no route, or the socket was lost.
    pub unreachable: u64,
    /// A rule of this host forbids them.
    pub not_permitted: u64,
    /// Any other reason.
    pub other: u64,
}

impl HostDrops {
    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.queue_full + self.too_big + self.unreachable + self.not_permitted + self.other
    }

    pub(crate) fn count(&mut self, drops: LocalDrop) {
        let counter = match drops.reason {
            LocalDropReason::QueueFull => &mut self.queue_full,
            LocalDropReason::TooBig { .. } => &mut self.too_big,
            LocalDropReason::Unreachable => &mut self.unreachable,
            LocalDropReason::NotPermitted => &mut self.not_permitted,
            LocalDropReason::Other(_) => &mut self.other,
        };
        *counter += drops.datagrams as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_reason() {
        let mut drops = HostDrops::default();
        let reasons = [
            LocalDropReason::QueueFull,
            LocalDropReason::TooBig { mtu: None },
            LocalDropReason::Unreachable,
            LocalDropReason::NotPermitted,
            LocalDropReason::Other(5),
        ];
        for (datagrams, reason) in (1..).zip(reasons) {
            let first = 0;
            drops.count(LocalDrop {
                first,
                datagrams,
                reason,
            });
        }
        let expected = HostDrops {
            queue_full: 1,
            too_big: 2,
            unreachable: 3,
            not_permitted: 4,
            other: 5,
        };
        assert_eq!(drops, expected);
        assert_eq!(drops.total(), 15);
    }
}
