//! The Host Loss Count: packets that this host dropped below DCCP since the connection began (SafeUDP §3).

use crate::cc::HostDrops;
use crate::time::Instant;
use core::time::Duration;

/// A kernel can merge this many datagrams into one buffer, and counts the buffer once if it drops it (GRO).
const MERGED_MAX: u64 = 64;
/// After this time without drops, gaps are not explained by them any more.
const MEMORY: Duration = Duration::from_millis(100);

/// The count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct HostLosses {
    count: u64,
    /// The host's last totals.
    last: Option<HostDrops>,
    /// Buffers that the host has dropped since its drops began, and when it last did.
    dropped: HostDrops,
    dropped_at: Option<Instant>,
    has_dropped: bool,
    /// A buffer with several packets of the flow has come.
    is_merged: bool,
    /// Packets missing in the gaps since then, and how many of them are counted beyond the buffers.
    missing: u64,
    extra: u64,
}

impl HostLosses {
    /// The host has dropped this in all. A total that was reset begins again.
    pub(super) fn on_total(&mut self, total: HostDrops) {
        let last = self.last.replace(total).unwrap_or(total);
        let step = HostDrops {
            in_socket: total.in_socket.saturating_sub(last.in_socket),
            below: total.below.saturating_sub(last.below),
        };
        self.count += step.sum();
        self.dropped.in_socket += step.in_socket;
        self.dropped.below += step.below;
        self.has_dropped |= step.sum() > 0;
    }

    /// This many packets of the flow came in one buffer.
    pub(super) fn on_buffer(&mut self, packets: u64) {
        self.is_merged |= packets > 1;
    }

    /// A gap of this many packets.
    pub(super) fn on_gap(&mut self, packets: u64) {
        self.missing = self.missing.saturating_add(packets);
    }

    /// An acknowledgement leaves. Returns the count. While the host drops buffers, the missing packets were in them.
    pub(super) fn on_ack(&mut self, now: Instant) -> u64 {
        if core::mem::take(&mut self.has_dropped) {
            self.dropped_at = Some(now);
        }
        let is_dropping = self.dropped_at.is_some_and(|at| now - at < MEMORY);
        if is_dropping {
            let in_sockets = self.dropped.in_socket.saturating_mul(self.held());
            let most = self.dropped.below.saturating_add(in_sockets);
            let extra = self.missing.min(most).saturating_sub(self.dropped.sum());
            // A part that reordered packets fill later stays counted.
            let more = extra.saturating_sub(self.extra);
            self.count += more;
            self.extra += more;
        } else {
            self.dropped = HostDrops::default();
            (self.missing, self.extra) = (0, 0);
        }
        self.count
    }

    /// The packets that a buffer may have held that a socket dropped.
    const fn held(&self) -> u64 {
        if self.is_merged { MERGED_MAX } else { 1 }
    }

    /// The count now, in packets.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{START, ms};

    fn in_socket(in_socket: u64) -> HostDrops {
        HostDrops {
            in_socket,
            below: 0,
        }
    }

    #[test]
    fn count_begins_with_the_connection() {
        let mut losses = HostLosses::default();
        losses.on_total(in_socket(1000));
        assert_eq!(losses.on_ack(START), 0);
        losses.on_total(in_socket(1007));
        assert_eq!(losses.on_ack(START), 7);
        // The counter of the host was reset.
        losses.on_total(in_socket(3));
        losses.on_total(in_socket(5));
        assert_eq!(losses.on_ack(START), 9);
    }

    #[test]
    fn buffer_that_was_dropped_held_the_packets_of_the_gap() {
        for (dropped, missing, count) in [(1, 3, 3), (3, 3, 3), (4, 3, 4), (1, 100, 64)] {
            let mut losses = HostLosses::default();
            losses.on_buffer(64);
            losses.on_total(in_socket(0));
            losses.on_total(in_socket(dropped));
            losses.on_gap(missing);
            assert_eq!(losses.on_ack(START), count, "{dropped} {missing}");
        }
    }

    #[test]
    fn few_drops_explain_few_packets_where_nothing_is_merged() {
        let mut losses = HostLosses::default();
        losses.on_total(in_socket(0));
        for n in 0..1000 {
            // Another flow loses a buffer each 90 ms, and the network 20 packets of ours.
            losses.on_buffer(1);
            losses.on_total(in_socket(n + 1));
            losses.on_gap(20);
            assert_eq!(losses.on_ack(START + ms(90 * n)), n + 1);
        }
    }

    #[test]
    fn buffer_that_was_dropped_below_the_socket_held_one_packet() {
        let mut losses = HostLosses::default();
        losses.on_buffer(64);
        losses.on_total(HostDrops::default());
        losses.on_gap(20);
        losses.on_total(HostDrops {
            in_socket: 0,
            below: 3,
        });
        assert_eq!(losses.on_ack(START), 3);
    }

    #[test]
    fn gaps_and_drops_may_be_seen_in_any_order() {
        let mut losses = HostLosses::default();
        losses.on_buffer(10);
        losses.on_total(in_socket(0));
        losses.on_total(in_socket(2));
        assert_eq!(losses.on_ack(START), 2);
        losses.on_gap(2);
        assert_eq!(losses.on_ack(START + ms(1)), 2);
        losses.on_gap(3);
        assert_eq!(losses.on_ack(START + ms(2)), 5);
        losses.on_gap(4);
        losses.on_total(in_socket(3));
        assert_eq!(losses.on_ack(START + ms(3)), 9);
        losses.on_total(in_socket(4));
        assert_eq!(losses.on_ack(START + ms(4)), 10);
    }

    #[test]
    fn gap_a_tenth_of_a_second_after_the_drops_is_the_networks() {
        for (wait, count) in [(99, 6), (100, 1)] {
            let mut losses = HostLosses::default();
            losses.on_buffer(10);
            losses.on_total(in_socket(0));
            losses.on_total(in_socket(1));
            assert_eq!(losses.on_ack(START), 1);
            losses.on_gap(6);
            assert_eq!(losses.on_ack(START + ms(wait)), count, "{wait}");
            losses.on_gap(6);
            assert_eq!(losses.on_ack(START + ms(100)), count);
        }
    }
}
