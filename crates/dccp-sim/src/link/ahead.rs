//! What a link whose packets only wait in line tells of its future.
//!
//! When such a packet enters the transmitter, or the timetable, its arrival stands: nothing overtakes, drops or
//! delays it. So who takes packets at the far end may come late, and who offers them may too, as long as each
//! packet is offered before the one that waits would have had to make room for it. `net/late.rs` sees to that.

use super::{Arrival, Link};
use crate::loss::Fate;
use dccp_proto::Instant;

impl<T: Copy> Link<T> {
    /// If packets only wait in line here, and will from now on: the least time in ns from the offer of a packet
    /// to its arrival.
    pub(crate) fn lookahead(&self) -> Option<u64> {
        let is_orderly = self.queue.is_plain_line()
            && self.transmitter.is_steady()
            && self.faults.are_quiet()
            && self.strays.is_empty()
            // Faults that have ended may have met some of them.
            && self.flight.iter().all(|f| f.fate == Fate::Delivered)
            // `take` begins with those that wait behind others. After a trace they may wait behind none.
            && (self.queue.len() == 0 || !self.flight.is_empty() || !self.is_up);
        // Below that, late would be too late.
        (is_orderly && self.delay_min_ns >= 2).then_some(self.delay_min_ns)
    }

    /// When the first packet in flight arrives, and since when that is the next arrival.
    #[inline]
    pub(crate) fn head(&self) -> Option<(Instant, Instant)> {
        self.flight.front().map(|first| (first.at, first.since))
    }

    /// Since when [`next_at`](Self::next_at) has been as it is, as far as that is known.
    #[inline]
    pub(crate) fn next_since(&self) -> Option<Instant> {
        let is_known = self.is_in_order() && self.is_quiet();
        self.flight.front().filter(|_| is_known).map(|f| f.since)
    }

    /// Takes the first packet in flight, which has arrived. Unlike [`poll`](Self::poll) it does not let the
    /// transmitter begin with what waits: packets that are offered late still find the queue as it was. Unless
    /// nothing flies any more: the transmitter has been free since one delay ago, and who offers late keeps no
    /// packet that long.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Arrival<T>> {
        let flying = self.flight.pop_front()?;
        debug_assert_eq!(flying.fate, Fate::Delivered);
        self.counters.at = self.counters.at.max(flying.at);
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(flying.packet.len);
        if self.flight.is_empty() && self.queue.len() > 0 {
            self.begin_waiting(self.transmitter.free_at());
        }
        Some(flying.arrival())
    }

    /// Makes up for what [`take`](Self::take) has not begun with.
    pub(crate) fn catch_up(&mut self) {
        self.advance(self.counters.at);
    }
}
