//! The Host Loss Count: packets that this host dropped below DCCP since the connection began (SafeUDP §3).

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
    /// The host's last total.
    last_total: Option<u64>,
    /// Buffers that the host has dropped since its drops began, and when it last did.
    dropped: u64,
    dropped_at: Option<Instant>,
    has_dropped: bool,
    /// Packets missing in the gaps since then, and how many of them are counted beyond the buffers.
    missing: u64,
    extra: u64,
}

impl HostLosses {
    /// The host has dropped `total` buffers. A total that was reset begins again.
    pub(super) fn on_total(&mut self, total: u64) {
        let last = self.last_total.replace(total).unwrap_or(total);
        let step = total.saturating_sub(last);
        self.count += step;
        self.dropped += step;
        self.has_dropped |= step > 0;
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
            let most = self.dropped.saturating_mul(MERGED_MAX);
            let extra = self.missing.min(most).saturating_sub(self.dropped);
            // A part that reordered packets fill later stays counted.
            let more = extra.saturating_sub(self.extra);
            self.count += more;
            self.extra += more;
        } else {
            (self.dropped, self.missing, self.extra) = (0, 0, 0);
        }
        self.count
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

    #[test]
    fn count_begins_with_the_connection() {
        let mut losses = HostLosses::default();
        losses.on_total(1000);
        assert_eq!(losses.on_ack(START), 0);
        losses.on_total(1007);
        assert_eq!(losses.on_ack(START), 7);
        // The counter of the host was reset.
        losses.on_total(3);
        losses.on_total(5);
        assert_eq!(losses.on_ack(START), 9);
    }

    #[test]
    fn buffer_that_was_dropped_held_the_packets_of_the_gap() {
        for (dropped, missing, count) in [(1, 3, 3), (3, 3, 3), (4, 3, 4), (1, 100, 64)] {
            let mut losses = HostLosses::default();
            losses.on_total(0);
            losses.on_total(dropped);
            losses.on_gap(missing);
            assert_eq!(losses.on_ack(START), count, "{dropped} {missing}");
        }
    }

    #[test]
    fn gaps_and_drops_may_be_seen_in_any_order() {
        let mut losses = HostLosses::default();
        losses.on_total(0);
        losses.on_total(2);
        assert_eq!(losses.on_ack(START), 2);
        losses.on_gap(2);
        assert_eq!(losses.on_ack(START + ms(1)), 2);
        losses.on_gap(3);
        assert_eq!(losses.on_ack(START + ms(2)), 5);
        losses.on_gap(4);
        losses.on_total(3);
        assert_eq!(losses.on_ack(START + ms(3)), 9);
        losses.on_total(4);
        assert_eq!(losses.on_ack(START + ms(4)), 10);
    }

    #[test]
    fn gap_a_tenth_of_a_second_after_the_drops_is_the_networks() {
        for (wait, count) in [(99, 6), (100, 1)] {
            let mut losses = HostLosses::default();
            losses.on_total(0);
            losses.on_total(1);
            assert_eq!(losses.on_ack(START), 1);
            losses.on_gap(6);
            assert_eq!(losses.on_ack(START + ms(wait)), count, "{wait}");
            losses.on_gap(6);
            assert_eq!(losses.on_ack(START + ms(100)), count);
        }
    }
}
