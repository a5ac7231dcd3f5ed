//! Datagrams that arrived together: what is the same for all of them is done once.

use crate::conn::stats::Stats;
use crate::wire::{self, ChecksumRule, Datagram, Ecn, Packet};

/// Datagrams of one path with one ECN mark, as they are read one after the other.
pub(super) struct Train<'t, 'a> {
    pub(super) datagrams: &'t mut dyn Iterator<Item = Datagram<'a>>,
    pub(super) checksum: ChecksumRule,
    pub(super) ecn: Ecn,
}

impl<'a> Train<'_, 'a> {
    /// The next packet; what is none is counted (4340-8.5-1).
    pub(super) fn next(&mut self, stats: &mut Stats) -> Option<Packet<'a>> {
        loop {
            match wire::parse(&self.datagrams.next()?, self.checksum) {
                Ok(packet) => return Some(packet),
                Err(error) => {
                    stats.mib.in_errs += 1;
                    stats.drops.count(error.into());
                }
            }
        }
    }
}
