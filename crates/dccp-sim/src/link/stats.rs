//! Counters of a link.

use crate::loss::Losses;
use core::time::Duration;
use dccp_proto::Instant;

/// Counters of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets offered.
    pub offered: u64,
    /// Packets that reached the far end (a duplicated one counts once).
    pub delivered: u64,
    /// Bytes of IP packets that reached the far end.
    pub delivered_bytes: u64,
    /// Packets of `delivered` that arrived twice.
    pub duplicated: u64,
    /// Packets of `delivered` that arrived with a flipped bit.
    pub corrupted: u64,
    /// Packets marked CE by the queue.
    pub marked: u64,
    /// Packets that did not arrive.
    pub lost: Losses,
    /// Packets in the queue or on the way.
    pub inside: u64,
    /// How long the transmitter has been busy.
    pub busy: Duration,
    /// The most packets that ever waited in the queue.
    pub queue_packets_max: usize,
    /// Packets that went from the queue, or past it, into the transmitter.
    pub dequeued: u64,
    /// The time that they had waited: the sum over all of them.
    pub sojourn_sum: Duration,
    /// The longest time that one of them had waited.
    pub sojourn_max: Duration,
    /// Integral of the queue over time in packets × ns, up to `at`.
    pub queue_packet_ns: u128,
    /// Integral of the queue over time in bytes × ns, up to `at`.
    pub queue_byte_ns: u128,
    /// The time of these counters.
    pub at: Instant,
}

/// Counters that are updated with each packet; the rest of [`LinkStats`] is computed on request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) at: Instant,
    pub(super) offered: u64,
    pub(super) delivered: u64,
    pub(super) delivered_bytes: u64,
    pub(super) duplicated: u64,
    pub(super) corrupted: u64,
    pub(super) lost: Losses,
}

impl LinkStats {
    /// The mean queue since an earlier moment, in packets and bytes; `None` if no time has passed.
    #[expect(clippy::cast_precision_loss, reason = "a mean for people")]
    pub fn mean_queue_since(&self, earlier: &Self) -> Option<(f64, f64)> {
        let ns = (self.at - earlier.at).as_nanos();
        let mean = |integral: u128| integral as f64 / ns as f64;
        (ns > 0).then(|| {
            (
                mean(self.queue_packet_ns - earlier.queue_packet_ns),
                mean(self.queue_byte_ns - earlier.queue_byte_ns),
            )
        })
    }

    /// The mean time in the queue of the packets that left it since an earlier moment; `None` if there
    /// were none.
    #[expect(clippy::cast_precision_loss, reason = "packets are below 2^53")]
    pub fn mean_sojourn_since(&self, earlier: &Self) -> Option<Duration> {
        let packets = self.dequeued - earlier.dequeued;
        let time = self.sojourn_sum.checked_sub(earlier.sojourn_sum)?;
        (packets > 0).then(|| time.div_f64(packets as f64))
    }
}
