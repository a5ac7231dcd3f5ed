//! Datagrams that arrived together: one search for their connection and one lock of its queues.

use crate::conn::stats::Stats;
use crate::conn::{App, Connection, State};
use crate::time::Instant;
use crate::wire::{self, ChecksumRule, Datagram, Ecn, Packet};

/// Datagrams of one path with one ECN mark, in order of arrival.
pub(super) struct Train<'t, 'a> {
    pub(super) datagrams: &'t mut dyn Iterator<Item = Datagram<'a>>,
    pub(super) checksum: ChecksumRule,
    pub(super) ecn: Ecn,
}

impl<'a> Train<'_, 'a> {
    /// Returns the next packet. Counts datagrams that are no packets (4340-8.5-1).
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

    /// Counts a packet that goes to no connection, and returns the next one.
    pub(super) fn pass_over(
        &mut self,
        packet: &Packet<'_>,
        stats: &mut Stats,
    ) -> Option<Packet<'a>> {
        stats.on_received(packet, self.ecn);
        self.next(stats)
    }

    /// Passes a packet and the following ones to their connection. Returns the first packet of another.
    ///
    /// Inside the closure that calls it, each packet would cost 12 instructions more.
    #[inline(never)]
    pub(super) fn give_to(
        &mut self,
        conn: &mut Connection,
        packet: &Packet<'a>,
        now: Instant,
        app: &mut App<'_>,
        stats: &mut Stats,
    ) -> Option<Packet<'a>> {
        let ports = (packet.source_port, packet.dest_port);
        conn.handle_packet(now, packet, self.ecn, app);
        loop {
            match self.next(stats) {
                // A connection that is no longer open may have ended, so it is searched again.
                Some(next)
                    if conn.state() == State::Open
                        && (next.source_port, next.dest_port) == ports =>
                {
                    conn.handle_packet(now, &next, self.ecn, app);
                }
                other => return other,
            }
        }
    }
}
