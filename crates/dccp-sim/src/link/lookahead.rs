//! Lookahead: the future arrivals of a link on which packets only wait in line.
//!
//! The arrival of such a packet is final when its transmission begins, because nothing overtakes, drops or delays
//! it afterwards. So its receiver may take it late. Its sender may offer it late too, as long as it does so before
//! the next waiting packet would have left the queue. `net/lookahead.rs` keeps to both.

use super::{Arrival, Link, Token};
use crate::loss::Fate;
use dccp_proto::Instant;

impl<T: Token> Link<T> {
    /// If packets only wait in line here, and will from now on: the least time in ns from the offer of a packet
    /// to its arrival.
    pub(crate) fn lookahead(&self) -> Option<u64> {
        let is_orderly = self.queue.is_plain_line()
            && self.transmitter.is_steady()
            && self.faults.are_quiet()
            && self.strays.is_empty()
            // Faults that have ended may have hit packets that are still in flight.
            && self.flight.iter().all(|f| f.fate == Fate::Delivered)
            // `take` begins waiting packets when the last one in flight arrives. After a trace ends there may be none.
            && (self.queue.len() == 0 || !self.flight.is_empty() || !self.is_up);
        // Below 2 ns there is no time to wait.
        (is_orderly && self.delay_min_ns >= 2).then_some(self.delay_min_ns)
    }

    /// When the first packet in flight arrives, and since when that is the next arrival.
    #[inline]
    pub(crate) fn head(&self) -> Option<(Instant, Instant)> {
        self.flight.front().map(|first| (first.at, first.since))
    }

    /// Since when [`next_at`](Self::next_at) has had its value, if known.
    #[inline]
    pub(crate) fn next_since(&self) -> Option<Instant> {
        let is_known = self.is_in_order() && self.is_quiet();
        self.flight.front().filter(|_| is_known).map(|f| f.since)
    }

    /// Takes the first packet in flight, which has arrived. Unlike [`poll`](Self::poll) it does not start waiting
    /// packets, so that packets offered late find the queue as it was. If nothing is left in flight, it does: the
    /// transmitter has then been free for one delay, and no packet is offered that late.
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

    /// Starts the packets that [`take`](Self::take) has left waiting.
    pub(crate) fn catch_up(&mut self) {
        self.advance(self.counters.at);
    }
}
